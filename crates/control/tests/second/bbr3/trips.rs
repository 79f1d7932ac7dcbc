//! The smallest round trip time and ProbeRTT, in the second writing of BBR version 3 (§5.3.4).

use super::{Acks, Bbr, LEAST, Mode};

impl Bbr {
    pub(super) fn update_min_rtt(&mut self, now: f64) {
        self.expired = self.probe_min_stamp.is_some_and(|stamp| now > stamp + 5.0);
        if let Some(rtt) = self.rs.rtt.filter(|rtt| *rtt < self.probe_min || self.expired) {
            (self.probe_min, self.probe_min_stamp) = (rtt, Some(now));
        }
        let old = now > self.min_rtt_stamp + 10.0;
        if self.probe_min < self.min_rtt || old {
            self.min_rtt = self.probe_min;
            self.min_rtt_stamp = self.probe_min_stamp.unwrap_or(now);
        }
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.product(self.bw(), 0.5).max(LEAST)
    }

    pub(super) fn check_probe_rtt(&mut self, now: f64, in_flight: f64) {
        if self.mode != Mode::ProbeRtt && self.expired && !self.idle {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.done = None;
            self.acks = Acks::Stopping;
            self.start_round();
        }
        if self.mode == Mode::ProbeRtt {
            self.bubble = (self.delivered + in_flight).max(1.0);
            if self.done.is_none() && in_flight <= self.probe_rtt_cwnd() {
                (self.done, self.round_done) = (Some(now + 0.2), false);
                self.start_round();
            } else if self.done.is_some() {
                self.round_done |= self.round_start;
                if self.round_done {
                    self.check_done(now);
                }
            }
        }
        if self.rs.delivered > 0.0 {
            self.idle = false;
        }
    }

    pub(super) fn check_done(&mut self, now: f64) {
        if self.done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_min_stamp = Some(now);
        self.restore_cwnd();
        self.reset_short();
        if self.full_reached {
            self.start_down(now);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }
}
