//! The long-term bandwidth of a policer, in the second writing of BBR version 1 (`bbr_lt_bw_sampling`).

use super::{Bbr, MSS, Mode};

#[derive(Clone, Debug, Default)]
pub(super) struct LongTerm {
    sampling: bool,
    rounds: u32,
    pub(super) in_use: bool,
    pub(super) bw: f64,
    delivered: f64,
    stamp: f64,
    lost: f64,
}

impl Bbr {
    pub(super) fn lt_interval(&mut self, now: f64) {
        self.lt.stamp = now;
        (self.lt.delivered, self.lt.lost, self.lt.rounds) = (self.delivered, self.lost, 0);
    }

    pub(super) fn lt_reset(&mut self, now: f64) {
        (self.lt.bw, self.lt.in_use, self.lt.sampling) = (0.0, false, false);
        self.lt_interval(now);
    }

    pub(super) fn long_term(&mut self, now: f64, losses: bool, app_limited: bool) {
        if self.lt.in_use {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.lt.rounds += 1;
                if self.lt.rounds >= 48 {
                    self.lt_reset(now);
                    self.begin_cycle(now);
                }
            }
            return;
        }
        if !self.lt.sampling {
            if !losses {
                return;
            }
            self.lt_interval(now);
            self.lt.sampling = true;
        }
        if app_limited {
            self.lt_reset(now);
            return;
        }
        self.lt.rounds += u32::from(self.round_start);
        if self.lt.rounds < 4 {
            return;
        }
        if self.lt.rounds > 16 {
            self.lt_reset(now);
            return;
        }
        if !losses {
            return;
        }
        let (lost, delivered) = (self.lost - self.lt.lost, self.delivered - self.lt.delivered);
        if delivered <= 0.0 || lost * 256.0 < 50.0 * delivered {
            return;
        }
        let time = now - self.lt.stamp;
        if time < 1e-3 {
            return;
        }
        let bw = delivered / time;
        if self.lt.bw > 0.0 {
            let diff = (bw - self.lt.bw).abs();
            if diff <= self.lt.bw / 8.0 || diff * MSS * 0.99 <= 500.0 {
                self.lt.bw = f64::midpoint(bw, self.lt.bw);
                (self.lt.in_use, self.lt.rounds, self.pacing_gain) = (true, 0, 1.0);
                return;
            }
        }
        self.lt.bw = bw;
        self.lt_interval(now);
    }
}
