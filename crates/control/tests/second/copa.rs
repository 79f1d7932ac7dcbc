//! Copa, written a second time from Arun and Balakrishnan, NSDI 2018, §2 and §3, and what the authors' `rtt-window.cc` measures.

use serde_json::json;
use tailback_core::{CongestionEvent, Feedback, Recovery, Sent};

use super::Second;
use super::classic::Windows;
use super::wire::{Fate, Wire, params, scheme};

/// Round trip times and when they were seen.
#[derive(Default)]
struct Seen(Vec<(f64, f64)>);

impl Seen {
    fn over(&self, since: f64) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().rev().take_while(move |(at, _)| *at >= since).map(|(_, rtt)| *rtt)
    }

    fn least(&self, since: f64) -> f64 {
        self.over(since).fold(f64::INFINITY, f64::min)
    }

    fn most(&self, since: f64) -> f64 {
        self.over(since).fold(0.0, f64::max)
    }
}

struct Copa {
    cwnd: f64,
    slow_start: bool,
    /// 1/δ of the mode, and whether it competes, where it may.
    inverse_delta: f64,
    competes: Option<bool>,
    velocity: f64,
    up: bool,
    /// Windows in a row in one direction.
    alike: u32,
    seen: Seen,
    standing: f64,
    emptied: f64,
    /// Where the windows of `RTTstanding` and the largest begin.
    since: [f64; 2],
    windows: Windows,
    /// cwnd when this window began.
    then: f64,
    /// Half of what a time-out took.
    repaired_to: f64,
}

impl Copa {
    fn new(may_compete: bool) -> Self {
        Self {
            cwnd: 10.0,
            slow_start: true,
            inverse_delta: 2.0,
            competes: may_compete.then_some(false),
            velocity: 1.0,
            up: true,
            alike: 0,
            seen: Seen::default(),
            standing: 0.0,
            emptied: 0.0,
            since: [0.0; 2],
            windows: Windows::default(),
            then: 10.0,
            repaired_to: 10.0,
        }
    }

    fn turn(&mut self, up: bool) {
        (self.up, self.velocity, self.alike) = (up, 1.0, 0);
    }

    fn answer(&mut self, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss if self.competes == Some(true) => {
                self.inverse_delta = (self.inverse_delta / 2.0).max(2.0);
            }
            CongestionEvent::Timeout { consecutive } => {
                if consecutive == 1 {
                    self.repaired_to = (self.cwnd / 2.0).max(2.0);
                }
                self.slow_start = false;
                self.turn(true);
                self.cwnd = 1.0;
            }
            CongestionEvent::Idle => self.cwnd = self.cwnd.min(10.0),
            _ => {}
        }
    }

    /// Once per window: which way, how quickly, and in which mode.
    fn end_window(&mut self, now: f64, srtt: f64) {
        let up = self.cwnd >= self.then;
        if up == self.up {
            self.alike += 1;
            self.velocity *= if self.alike >= 3 { 2.0 } else { 1.0 };
        } else {
            self.turn(up);
        }
        self.then = self.cwnd;
        let competed = self.competes;
        self.competes = competed.map(|_| now - self.emptied >= 5.0 * srtt);
        let grows = self.competes == Some(true) && competed == Some(true);
        self.inverse_delta = if grows { self.inverse_delta + 1.0 } else { 2.0 };
    }
}

impl Second for Copa {
    fn sent(&mut self, _now: f64, sent: &Sent) {
        self.windows.sent(sent);
    }

    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        if let Some(event) = f.event {
            self.answer(event);
        }
        let ends = self.windows.ends(f);
        let acked = f.acked.len() as f64;
        let Some(rtt) = f.rtt else {
            if f.recovery == Recovery::Timeout && self.cwnd < self.repaired_to {
                self.cwnd = (self.cwnd + acked).min(self.repaired_to).max(2.0);
            }
            return;
        };
        let (latest, srtt) = (rtt.latest.as_secs_f64(), rtt.smoothed.as_secs_f64());
        self.seen.0.push((now, latest));
        let least = self.seen.least(now - 10.0);
        // What has left a window does not come back where the smoothed round trip time grows.
        self.since[0] = self.since[0].max(now - srtt / 2.0);
        self.since[1] = self.since[1].max(now - 4.0 * srtt);
        self.standing = self.seen.least(self.since[0]);
        let swing = self.seen.most(self.since[1]) - least;
        if latest - least <= (0.1 * swing).max(self.standing / self.cwnd) {
            self.emptied = now;
        }
        if ends {
            self.end_window(now, srtt);
        }
        let up = self.cwnd / self.standing <= self.inverse_delta / (self.standing - least);
        if self.slow_start && up {
            self.cwnd += if f.window_limited { acked } else { 0.0 };
            return;
        }
        if std::mem::take(&mut self.slow_start) || (up != self.up && self.velocity > 1.0) {
            self.turn(up);
        }
        let step = acked * self.velocity * self.inverse_delta / self.cwnd;
        if !up {
            self.cwnd = (self.cwnd - step).max(2.0);
        } else if f.window_limited {
            self.cwnd = (self.cwnd + step).max(2.0);
        }
    }

    fn window(&self) -> f64 {
        self.cwnd
    }

    fn rate(&self) -> Option<f64> {
        (self.standing > 0.0).then(|| 2.0 * self.cwnd * 8000.0 / self.standing)
    }

    fn state(&self) -> String {
        format!(
            "slow {} 1/delta {:.2} competes {:?} v {} up {:?} alike {} standing {:.6}",
            self.slow_start,
            self.inverse_delta,
            self.competes,
            self.velocity,
            self.up,
            self.alike,
            self.standing
        )
    }
}

fn run(may_compete: bool, fate: Fate) {
    for seed in 0..10 {
        let ours = scheme(json!({"name": "copa", "competitive": may_compete}), &params(10, None));
        Wire::new(ours, Copa::new(may_compete), fate, seed).run(6000);
    }
}

#[test]
fn copa_without_competition() {
    run(false, Fate { queue: 20.0, stretch: 3, ..Fate::CALM });
    run(false, Fate { stretch: 3, ..Fate::ROUGH });
}

#[test]
fn copa_with_competition() {
    run(true, Fate { queue: 20.0, stretch: 3, ..Fate::CALM });
    run(true, Fate { stretch: 3, ..Fate::ROUGH });
}
