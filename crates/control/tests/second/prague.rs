//! TCP Prague, written a second time from the Linux module 0.7 and draft-briscoe-iccrg-prague-congestion-control-04: its real
//! window, without the mode that counts in rates.

use std::ops::Range;

use serde_json::json;
use tailback_core::{CongestionEvent, Feedback, Recovery, Sent};

use super::Second;
use super::classic::{Reno, Windows};
use super::wire::{Fate, Wire, params, scheme};

const REFERENCE: f64 = 0.025;
/// Bytes per second, of segments of 1000 bytes.
const LEAST: f64 = 12.5;

struct Prague {
    /// Whole and real windows: the module's `frac_cwnd` is `cwnd` here.
    reno: Reno,
    windows: Windows,
    srtt: f64,
    alpha: f64,
    saw_mark: bool,
    /// Packets and marks since the last estimate, and whether a window of data was.
    delivered: f64,
    marks: f64,
    whole: bool,
    rounds: u32,
    estimated: f64,
    reduced: f64,
    /// One segment leaves alone.
    alone: bool,
}

impl Prague {
    fn new() -> Self {
        Self {
            reno: Reno::new(10.0, f64::INFINITY),
            windows: Windows::default(),
            srtt: 0.0,
            alpha: 0.0,
            saw_mark: false,
            delivered: 0.0,
            marks: 0.0,
            whole: false,
            rounds: 0,
            estimated: f64::NEG_INFINITY,
            reduced: f64::NEG_INFINITY,
            alone: true,
        }
    }

    fn period(&self) -> f64 {
        self.srtt.max(REFERENCE)
    }

    /// No window but one that marks or losses made so small is below one segment, and none below the least rate.
    fn shrink(&mut self, to: f64) {
        let least = (LEAST * self.srtt).min(1.0);
        self.reno.enter(to.max(least), to.max(1.0));
    }

    fn answer(&mut self, event: CongestionEvent, f: &Feedback<'_>) {
        let had = self.reno.cwnd;
        let flight = self.reno.flight(f).min(had.max(1.0));
        match event {
            CongestionEvent::Loss if had < 4.0 => {
                self.reno.answer(event, flight / 2.0);
                self.reno.cwnd = (had / 2.0).max((LEAST * self.srtt).min(1.0));
                self.reno.ssthresh = (had / 2.0).max(1.0);
            }
            CongestionEvent::Timeout { .. } if had < 1.0 => {
                self.reno.answer(event, flight / 2.0);
                self.reno.cwnd = (had / 2.0).max((LEAST * self.srtt).min(1.0));
                self.reno.ssthresh = 1.0;
            }
            _ => self.reno.answer(event, flight / 2.0),
        }
        if had < 1.0 && matches!(event, CongestionEvent::Loss | CongestionEvent::Timeout { .. }) {
            self.reno.before = None;
        }
        self.alone |= matches!(event, CongestionEvent::Timeout { .. });
    }
}

impl Second for Prague {
    fn sent(&mut self, _now: f64, sent: &Sent) {
        self.windows.sent(sent);
    }

    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        self.srtt = f.rtt.map_or(self.srtt, |rtt| rtt.smoothed.as_secs_f64());
        let (acked, marks) = (f.acked.len() as f64, f64::from(f.echoes.ce));
        self.delivered += acked;
        self.marks += marks;
        if self.windows.ends(f) {
            self.whole = true;
            self.rounds += u32::from(self.reno.cwnd >= self.reno.ssthresh);
        }
        let first = marks > 0.0 && !self.saw_mark;
        if first {
            (self.saw_mark, self.estimated) = (true, now);
        } else if self.whole && now - self.estimated >= self.period() - 1e-10 {
            if self.saw_mark && self.delivered > 0.0 {
                self.alpha = 15.0 / 16.0 * self.alpha + (self.marks / self.delivered).min(1.0) / 16.0;
            }
            (self.delivered, self.marks, self.whole, self.estimated) = (0.0, 0.0, false, now);
        }
        if let Some(event) = f.event {
            return self.answer(event, f);
        }
        if marks > 0.0 && now - self.reduced >= self.period() - 1e-10 {
            self.reduced = now;
            self.shrink(self.reno.cwnd * if first { 0.5 } else { 1.0 - self.alpha / 2.0 });
        }
        let unmarked = acked - marks;
        if unmarked <= 0.0 || f.recovery == Recovery::Fast || !f.window_limited {
            return;
        }
        self.alone = false;
        if self.reno.cwnd < self.reno.ssthresh && self.reno.cwnd >= 1.0 {
            self.reno.open(f, 0.0);
        } else {
            let scale = if self.rounds >= 4 { (self.srtt / REFERENCE).min(1.0).powi(2) } else { 1.0 };
            self.reno.cwnd += (scale * unmarked / self.reno.cwnd).min(unmarked);
        }
    }

    fn window(&self) -> f64 {
        self.reno.cwnd.ceil().max(if self.alone { 1.0 } else { 2.0 })
    }

    fn rate(&self) -> Option<f64> {
        let twice = if self.reno.cwnd.max(1.0) < self.reno.ssthresh / 2.0 { 2.0 } else { 1.0 };
        (self.srtt > 0.0).then(|| (twice * self.reno.cwnd / self.srtt).max(LEAST) * 8000.0)
    }

    fn state(&self) -> String {
        format!(
            "cwnd {:.5} ssthresh {:.4} alpha {:.5} rounds {} srtt {:.6}",
            self.reno.cwnd, self.reno.ssthresh, self.alpha, self.rounds, self.srtt
        )
    }
}

fn run(fate: Fate) {
    run_over(fate, 0..10);
}

fn run_over(fate: Fate, seeds: Range<u64>) {
    for seed in seeds {
        let ours = scheme(json!({"name": "prague"}), &params(10, None));
        Wire::new(ours, Prague::new(), Fate { echo_event: false, ..fate }, seed).run(6000);
    }
}

#[test]
fn prague_with_marks() {
    run(Fate { mark: 0.02, stretch: 3, queue: 5.0, ..Fate::CALM });
    run(Fate { mark: 0.1, base: 5.0, stretch: 3, queue: 2.0, ..Fate::CALM });
}

#[test]
fn prague_with_losses() {
    run(Fate { mark: 0.02, stretch: 3, ..Fate::ROUGH });
    run(Fate { mark: 0.1, base: 5.0, queue: 5.0, stretch: 3, ..Fate::ROUGH });
}

/// Below one segment, which pacing keeps.
#[test]
fn prague_where_most_is_marked() {
    run(Fate { mark: 0.9, base: 2.0, queue: 1.0, ..Fate::CALM });
    let fate = Fate { mark: 0.8, base: 5.0, queue: 5.0, stretch: 3, loss: 0.05, ..Fate::ROUGH };
    run(fate);
    run_over(fate, 4000..4010);
}
