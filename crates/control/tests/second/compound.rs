//! Compound TCP, written a second time from draft-sridharan-tcpm-ctcp-02.

use serde_json::json;
use tailback_core::{CongestionEvent, Feedback, Recovery, Sent};

use super::Second;
use super::classic::{Reno, Windows};
use super::wire::{Fate, Wire, params, scheme};

struct Compound {
    /// Its window is cwnd alone.
    reno: Reno,
    dwnd: f64,
    windows: Windows,
    base: f64,
    round: f64,
}

impl Second for Compound {
    fn sent(&mut self, _now: f64, sent: &Sent) {
        self.windows.sent(sent);
    }

    fn heard(&mut self, _now: f64, f: &Feedback<'_>) {
        if let Some(rtt) = f.rtt {
            let rtt = rtt.latest.as_secs_f64();
            (self.base, self.round) = (self.base.min(rtt), self.round.min(rtt));
        }
        let win = self.window();
        if self.windows.ends(f) {
            let trip = std::mem::replace(&mut self.round, f64::INFINITY);
            if f.recovery != Recovery::Fast && self.reno.cwnd >= self.reno.ssthresh && trip.is_finite() {
                let diff = win * (1.0 - self.base / trip);
                if diff >= 30.0 {
                    self.dwnd = (self.dwnd - diff).max(0.0);
                } else if win >= 38.0 && Reno::opens_or_ends(f) {
                    self.dwnd += (0.125 * win.powf(0.75) - 1.0).max(0.0);
                }
            }
        }
        let win = self.window();
        match f.event {
            Some(event @ (CongestionEvent::Loss | CongestionEvent::Ecn)) => {
                let half = self.reno.cwnd / 2.0;
                let kept = win.min(f.outstanding.as_f64() / 1000.0) / 2.0;
                self.reno.answer(event, half);
                self.dwnd = (kept - half).clamp(0.0, (win - self.reno.cwnd).max(0.0));
            }
            Some(event) => self.reno.answer(event, self.reno.flight(f) / 2.0),
            None => {}
        }
        if let Some(CongestionEvent::Timeout { .. } | CongestionEvent::Idle) = f.event {
            self.dwnd = 0.0;
        }
        if Reno::opens(f) {
            let acked = Reno::new_data(f);
            if self.reno.cwnd < self.reno.ssthresh {
                self.reno.cwnd += acked.min(if f.recovery == Recovery::Timeout { 1.0 } else { 2.0 });
            } else {
                self.reno.cwnd += acked / self.window();
            }
        }
    }

    fn window(&self) -> f64 {
        self.reno.cwnd + self.dwnd
    }

    fn state(&self) -> String {
        format!(
            "cwnd {:.4} dwnd {:.4} ssthresh {:.3} base {:.6}",
            self.reno.cwnd, self.dwnd, self.reno.ssthresh, self.base
        )
    }
}

fn run(fate: Fate) {
    for seed in 0..10 {
        let second = Compound {
            reno: Reno::new(10.0, f64::INFINITY),
            dwnd: 0.0,
            windows: Windows::default(),
            base: f64::INFINITY,
            round: f64::INFINITY,
        };
        Wire::new(scheme(json!({"name": "compound"}), &params(10, None)), second, fate, seed).run(6000);
    }
}

#[test]
fn compound_with_losses() {
    run(Fate { loss: 0.002, queue: 20.0, ..Fate::CALM });
    run(Fate { loss: 0.002, mark: 0.002, stretch: 3, ..Fate::ROUGH });
}
