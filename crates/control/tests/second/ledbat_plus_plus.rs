//! LEDBAT++, written a second time from draft-irtf-iccrg-ledbat-plus-plus-06, §4, and RFC 6817's filters.

use serde_json::json;
use tailback_core::{CongestionEvent, Feedback, Recovery};

use super::Second;
use super::classic::Reno;
use super::wire::{Fate, Wire, params, scheme};

/// T in seconds, and whether there are slowdowns.
#[derive(Clone, Copy)]
struct Parameters {
    target: f64,
    slowdowns: bool,
}

const USUAL: Parameters = Parameters { target: 0.060, slowdowns: true };

#[derive(Clone, Copy, Debug, PartialEq)]
enum Slowdown {
    /// None before the first slow start has ended.
    Never,
    Due(f64),
    /// Two segments until then; when it began.
    Held {
        until: f64,
        began: f64,
    },
    Climbing {
        began: f64,
    },
}

struct LedbatPlusPlus {
    of: Parameters,
    reno: Reno,
    first: bool,
    /// In a slow start, the first or a later one.
    climbs: bool,
    /// The newest four, and a minimum per minute.
    newest: Vec<f64>,
    minutes: Vec<f64>,
    minute: f64,
    srtt: f64,
    slowdown: Slowdown,
}

impl LedbatPlusPlus {
    fn new(of: Parameters) -> Self {
        Self {
            of,
            reno: Reno::new(10.0, f64::INFINITY),
            first: true,
            climbs: true,
            newest: Vec::new(),
            minutes: Vec::new(),
            minute: f64::NEG_INFINITY,
            srtt: 0.0,
            slowdown: Slowdown::Never,
        }
    }

    fn base(&self) -> f64 {
        self.minutes.iter().rev().take(10).copied().fold(f64::INFINITY, f64::min)
    }

    fn queue(&self) -> f64 {
        (self.newest.iter().rev().take(4).copied().fold(f64::INFINITY, f64::min) - self.base()).max(0.0)
    }

    /// A slow start is over.
    fn arrive(&mut self, now: f64) {
        if let Slowdown::Climbing { began } = self.slowdown {
            self.slowdown = Slowdown::Due(now + 9.0 * (now - began));
        } else if self.first && self.of.slowdowns {
            self.slowdown = Slowdown::Due(now + 2.0 * self.srtt);
        }
        (self.first, self.climbs) = (false, false);
    }

    fn answer(&mut self, now: f64, event: CongestionEvent, f: &Feedback<'_>) {
        let half = self.reno.flight(f) / 2.0;
        match (event, self.slowdown) {
            (CongestionEvent::Loss | CongestionEvent::Ecn, Slowdown::Held { .. }) => {
                self.reno.ssthresh = (self.reno.ssthresh / 2.0).max(2.0);
            }
            (CongestionEvent::Loss | CongestionEvent::Ecn, _) => {
                self.reno.answer(event, half);
                if self.climbs {
                    self.arrive(now);
                }
            }
            (CongestionEvent::Timeout { .. } | CongestionEvent::Idle, slowdown) => {
                let there = self.reno.ssthresh;
                self.reno.answer(event, half);
                self.climbs = true;
                if let Slowdown::Held { began, .. } = slowdown {
                    if event == (CongestionEvent::Timeout { consecutive: 1 }) {
                        self.reno.ssthresh = (there / 2.0).max(2.0);
                    }
                    self.slowdown = Slowdown::Climbing { began };
                }
            }
            _ => self.reno.answer(event, half),
        }
    }

    fn gain(&self) -> f64 {
        1.0 / (2.0 * self.of.target / self.base()).ceil().min(16.0)
    }
}

impl Second for LedbatPlusPlus {
    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        if let Some(rtt) = f.rtt {
            let latest = rtt.latest.as_secs_f64();
            self.srtt = rtt.smoothed.as_secs_f64();
            self.newest.push(latest);
            if now - self.minute >= 60.0 {
                self.minute = now;
                self.minutes.push(latest);
            }
            let last = self.minutes.last_mut().expect("one");
            *last = last.min(latest);
        }
        if let Some(event) = f.event {
            return self.answer(now, event, f);
        }
        if f.advanced.get() == 0 || f.recovery == Recovery::Fast {
            return;
        }
        match self.slowdown {
            // Nanoseconds are sums of ours, and floats here.
            Slowdown::Due(due) if now >= due - 1e-10 && !self.climbs => {
                self.slowdown = Slowdown::Held { until: now + 2.0 * self.srtt, began: now };
                self.reno.enter(self.reno.cwnd.min(2.0), self.reno.cwnd);
            }
            Slowdown::Held { until, began } if now >= until - 1e-10 => {
                self.slowdown = Slowdown::Climbing { began };
                self.climbs = true;
            }
            _ => {}
        }
        if matches!(self.slowdown, Slowdown::Held { .. }) {
            return;
        }
        let (cwnd, gain, acked) = (self.reno.cwnd, self.gain(), Reno::new_data(f));
        if self.climbs {
            if Reno::opens(f) {
                self.reno.cwnd = (cwnd + gain * acked).min(self.reno.ssthresh.max(cwnd));
            }
            if self.first && self.queue() > 0.75 * self.of.target {
                self.reno.ssthresh = self.reno.cwnd;
            }
            if self.reno.cwnd >= self.reno.ssthresh {
                self.arrive(now);
            }
            return;
        }
        let excess = self.queue() / self.of.target - 1.0;
        let change = if excess <= 0.0 { gain } else { (gain - cwnd * excess).max(-cwnd / 2.0) };
        if change < 0.0 || Reno::opens(f) {
            self.reno.cwnd = (cwnd + change * (acked / cwnd).min(1.0)).max(cwnd.min(2.0));
        }
    }

    fn window(&self) -> f64 {
        self.reno.cwnd
    }

    fn state(&self) -> String {
        format!(
            "ssthresh {:.3} base {:.6} queue {:.6} gain {:.4} {:?}",
            self.reno.ssthresh,
            self.base(),
            self.queue(),
            self.gain(),
            self.slowdown
        )
    }
}

fn run(of: Parameters, fate: Fate) {
    let Parameters { target, slowdowns } = of;
    let target = format!("{} ms", target * 1e3);
    for seed in 0..10 {
        let config = json!({"name": "ledbat-plus-plus", "target": target, "slowdowns": slowdowns});
        let ours = scheme(config, &params(10, None));
        Wire::new(ours, LedbatPlusPlus::new(of), fate, seed).run(6000);
    }
}

/// Twice its target, so that it meets both sides of it.
const BUSY: Fate = Fate { queue: 120.0, stretch: 3, ..Fate::CALM };

#[test]
fn ledbat_plus_plus_in_calm() {
    run(USUAL, Fate { queue: 20.0, ..Fate::CALM });
    run(USUAL, Fate { base: 20.0, stretch: 1, ..BUSY });
    run(USUAL, Fate { base: 5.0, stretch: 1, ..BUSY });
}

#[test]
fn ledbat_plus_plus_with_losses() {
    run(USUAL, Fate { loss: 0.005, ..BUSY });
    run(USUAL, Fate { queue: 120.0, ..Fate::ROUGH });
    run(USUAL, Fate { queue: 120.0, timeout: 0.01, ..Fate::ROUGH });
    run(USUAL, Fate { mark: 0.02, timeout: 0.002, ..BUSY });
    run(USUAL, Fate { base: 300.0, loss: 0.001, timeout: 0.004, spurious: 0.001, ..BUSY });
}

/// Ten minutes are over within a few thousand steps, and the way becomes longer and shorter meanwhile.
#[test]
fn ledbat_plus_plus_forgets_its_base_after_ten_minutes() {
    let fate = Fate { base: 200.0, route: (0.002, 200.0), pause: 0.02, limited: 0.05, ..Fate::CALM };
    run(USUAL, fate);
    run(USUAL, Fate { base: 1200.0, queue: 50.0, pause: 0.01, ..fate });
}

#[test]
fn ledbat_plus_plus_with_parameters_of_every_kind() {
    run(Parameters { slowdowns: false, ..USUAL }, Fate { queue: 120.0, ..Fate::ROUGH });
    run(Parameters { target: 0.015, ..USUAL }, Fate { queue: 40.0, ..Fate::ROUGH });
    run(Parameters { target: 0.250, ..USUAL }, Fate { queue: 500.0, ..Fate::ROUGH });
}
