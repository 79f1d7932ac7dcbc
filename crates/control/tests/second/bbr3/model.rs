//! Rates, bounds, aggregation and the full pipe in the second writing of BBR version 3 (§5.3.1, §5.5).

use super::{BETA, Bbr, FullBw, NEVER};

impl Bbr {
    pub(super) fn update_latest(&mut self) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(self.rs.rate);
        self.latest = self.latest.max(self.rs.delivered);
        if self.rs.prior >= self.loss_round {
            self.loss_round = self.delivered;
            self.loss_round_start = true;
        }
    }

    pub(super) fn update_congestion(&mut self) {
        self.round_start = self.rs.prior >= self.next_round;
        if self.round_start {
            self.start_round();
            self.rounds += 1;
            self.full_window = [false, self.full_window[0]];
            self.rounds_since += 1;
        }
        if self.rs.rate > 0.0 && (self.rs.rate >= self.most_bw() || !self.rs.limited) {
            self.max_bw[1] = self.max_bw[1].max(self.rs.rate);
        }
        if !self.loss_round_start {
            return;
        }
        if !self.probes() && self.loss_in_round {
            if self.bw_short == NEVER {
                self.bw_short = self.most_bw();
            }
            if self.short == NEVER {
                self.short = self.cwnd;
            }
            self.bw_short = self.bw_latest.max(BETA * self.bw_short);
            self.short = self.latest.max(BETA * self.short);
        }
        self.loss_in_round = false;
    }

    pub(super) fn update_aggregation(&mut self, now: f64) {
        // Whole nanoseconds: where an epoch lasts just two round trip times, the last bit decides whether the window may grow.
        let lasted = ((now - self.extra_start) * 1e9).round() * 1e-9;
        let mut expected = self.bw() * lasted;
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_start, expected) = (0.0, now, 0.0);
        }
        self.extra_delivered += self.rs.acked;
        let extra = (self.extra_delivered - expected).min(self.cwnd);
        let length = if self.full_reached { 10 } else { 1 };
        let rounds = self.rounds;
        self.extra.push((rounds, extra));
        self.extra.retain(|(round, _)| round + length > rounds);
    }

    pub(super) fn most_extra(&self) -> f64 {
        self.extra.iter().fold(0.0, |most, (_, extra)| most.max(*extra))
    }

    pub(super) fn reset_short(&mut self) {
        (self.bw_short, self.short) = (NEVER, NEVER);
    }

    pub(super) fn check_full(&mut self) {
        // What was measured over less than a round trip says nothing, as the head of the scheme decides.
        if self.full.now || !self.round_start || self.rs.limited || self.rs.rate == 0.0 {
            return;
        }
        if self.rs.rate >= self.full.bw * 1.25 {
            self.full = FullBw { bw: self.rs.rate, ..FullBw::default() };
            return;
        }
        self.full.count += 1;
        self.full.now = self.full.count >= 3;
        self.full_reached |= self.full.now;
    }
}
