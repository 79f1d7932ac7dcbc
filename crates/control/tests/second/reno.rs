//! Reno's window, of `reno`, `newreno` and `sack`, written a second time from RFC 5681 §3.1, §3.2 and §4.1, RFC 3465 §2, RFC 3168
//! §6.1.2 and RFC 4015 §3.2, with ns-2's two choices as the configuration names them. How each repairs is not compared here. Known
//! before: the bookkeeping of windows that many schemes share. The scheme's code was read where both differed.

use serde_json::json;
use tailback_core::{CongestionEvent, Feedback, Recovery, Stream};

use super::Second;
use super::wire::{Fate, SEGMENT, Wire, params, scheme};

#[derive(Clone, Copy, Debug)]
struct Options {
    bytes: bool,
    limit: f64,
    from_window: bool,
    grow_on_exit: bool,
}

/// In segments.
struct Reno {
    of: Options,
    cwnd: f64,
    ssthresh: f64,
    initial: f64,
    before: Option<(f64, f64)>,
}

impl Reno {
    fn half(&self, f: &Feedback<'_>) -> f64 {
        let flight = f.outstanding.as_f64() / SEGMENT as f64;
        // In a recovery much of what is outstanding is not in flight.
        if self.of.from_window { self.cwnd / 2.0 } else { flight.min(self.cwnd) / 2.0 }
    }

    fn answer(&mut self, event: CongestionEvent, f: &Feedback<'_>) {
        let half = self.half(f);
        match event {
            CongestionEvent::Loss => {
                self.before = Some((self.cwnd, self.ssthresh));
                self.ssthresh = half.max(2.0);
                self.cwnd = self.cwnd.min(self.ssthresh);
            }
            CongestionEvent::Ecn => {
                self.before = None;
                self.ssthresh = half.max(2.0);
                self.cwnd = self.cwnd.min(half).max(1.0);
            }
            CongestionEvent::Timeout { consecutive } => {
                if consecutive <= 1 {
                    self.before = Some((self.cwnd, self.ssthresh));
                    self.ssthresh = half.max(2.0);
                }
                self.cwnd = 1.0;
            }
            CongestionEvent::Spurious => {
                if let Some(before) = self.before.take().filter(|before| before.0 > self.cwnd) {
                    (self.cwnd, self.ssthresh) = before;
                }
            }
            CongestionEvent::Idle => {
                self.before = None;
                self.cwnd = self.cwnd.min(self.initial);
            }
            CongestionEvent::RecoveryEnd => {}
        }
    }

    fn grow(&mut self, f: &Feedback<'_>) {
        let echo = f.echoes.ce > 0 && f.recovery != Recovery::Timeout;
        if f.advanced.get() == 0 || f.recovery == Recovery::Fast || echo {
            return;
        }
        let acked = f.advanced.as_f64() / SEGMENT as f64;
        let counts_more = self.of.bytes && f.recovery != Recovery::Timeout;
        if self.cwnd < self.ssthresh {
            self.cwnd += acked.min(if counts_more { self.of.limit } else { 1.0 });
        } else {
            self.cwnd += if self.of.bytes { acked } else { 1.0 } / self.cwnd;
        }
    }
}

impl Second for Reno {
    fn heard(&mut self, _now: f64, f: &Feedback<'_>) {
        if let Some(event) = f.event {
            self.answer(event, f);
        }
        // ns-2 does not ask whether the application limits it.
        let exit = self.of.grow_on_exit && f.event == Some(CongestionEvent::RecoveryEnd);
        if f.event.is_none() && f.window_limited || exit {
            self.grow(f);
        }
    }

    fn window(&self) -> f64 {
        self.cwnd
    }

    fn state(&self) -> String {
        format!("{:?} ssthresh {:.4} before {:?}", self.of, self.ssthresh, self.before)
    }
}

fn run(fate: Fate) {
    for seed in 0..24 {
        let mut rng = Stream::new(seed, "options");
        let limit = if rng.chance(0.5) { 2.0 } else { 1.0 + 7.0 * rng.uniform() };
        let [bytes, from_window, grow_on_exit] = std::array::from_fn(|_| rng.chance(0.5));
        let of = Options { bytes, limit, from_window, grow_on_exit };
        let name = ["reno", "newreno", "sack"][rng.below(3) as usize];
        let config = json!({
            "name": name,
            "counting": if bytes { "bytes" } else { "per-ack" },
            "slow_start_limit": limit,
            "halve": if from_window { "window" } else { "flight" },
            "grow_on_exit": grow_on_exit,
        });
        let (initial, ssthresh) = (1 + rng.below(20), rng.chance(0.5).then(|| 2 + rng.below(60)));
        let ours = scheme(config, &params(initial, ssthresh));
        let initial = initial as f64;
        let ssthresh = ssthresh.map_or(f64::INFINITY, |ssthresh| ssthresh as f64);
        Wire::new(ours, Reno { of, cwnd: initial, ssthresh, initial, before: None }, fate, seed).run(4000);
    }
}

#[test]
fn reno_with_losses_and_marks() {
    run(Fate { loss: 0.003, stretch: 5, ..Fate::CALM });
    run(Fate { loss: 0.003, mark: 0.004, ..Fate::ROUGH });
    run(Fate { loss: 0.001, mark: 0.05, stretch: 1, ..Fate::ROUGH });
    run(Fate { loss: 0.05, burst: 0, mark: 0.2, stretch: 2, ..Fate::CALM });
}

#[test]
fn reno_with_timeouts() {
    run(Fate { loss: 0.005, timeout: 0.004, spurious: 0.002, pause: 0.003, ..Fate::ROUGH });
    run(Fate { loss: 0.02, more: 0.2, again: 0.05, timeout: 0.01, stretch: 4, ..Fate::ROUGH });
}
