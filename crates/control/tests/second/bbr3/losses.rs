//! What losses do in the second writing of BBR version 3, and what is taken back where there were none (§5.5.10, §5.5.11).

use tailback_core::{DeliverySample, Feedback};

use super::{BETA, Bbr, FullBw, LOSS, Mode, Saved};

impl Bbr {
    /// Where a recovery begins, as the text says, and not with each round of loss.
    pub(super) fn save_state(&mut self) {
        self.save_cwnd();
        self.saved = Saved { from: None, bw: self.bw_short, short: self.short, long: self.long };
    }

    pub(super) fn too_high_now(&self) -> bool {
        self.rs.lost > self.rs.tx_in_flight * LOSS
    }

    pub(super) fn handle_too_high(&mut self, now: f64) {
        self.too_high = true;
        self.probe_sample = false;
        if !self.rs.limited {
            self.long = self.rs.tx_in_flight.max(self.aim() * BETA);
        }
        if self.mode == Mode::Up {
            self.saved.from = Some(Mode::Up);
            self.start_down(now);
        }
    }

    pub(super) fn lose(&mut self, now: f64, f: &Feedback<'_>, sample: &DeliverySample) {
        for (lost, then) in f.lost.iter().zip(&sample.losses) {
            if !self.loss_in_round {
                self.loss_round = self.delivered;
            }
            self.loss_in_round = true;
            if self.last_lost.is_none_or(|last| last + 1 != lost.number) {
                self.pieces += 1;
            }
            self.last_lost = Some(lost.number);
            if !self.probe_sample {
                continue;
            }
            self.rs.tx_in_flight = then.in_flight.as_f64();
            self.rs.lost = then.lost_since.as_f64();
            self.rs.limited = then.app_limited || self.in_bubble.get(&lost.number).copied().unwrap_or(false);
            if self.too_high_now() {
                let size = then.size.as_f64();
                let (before, lost_before) = (self.rs.tx_in_flight - size, self.rs.lost - size);
                self.rs.tx_in_flight = before + ((LOSS * before - lost_before) / (1.0 - LOSS)).max(0.0);
                self.handle_too_high(now);
            }
        }
    }

    pub(super) fn spurious(&mut self) {
        self.restore_cwnd();
        self.loss_in_round = false;
        self.full = FullBw::default();
        self.bw_short = self.bw_short.max(self.saved.bw);
        self.short = self.short.max(self.saved.short);
        self.long = self.long.max(self.saved.long);
        match self.saved.from {
            Some(Mode::Startup) if self.mode != Mode::Startup => {
                self.full_reached = false;
                if self.mode != Mode::ProbeRtt {
                    self.mode = Mode::Startup;
                }
            }
            Some(Mode::Up) if self.mode != Mode::Up && self.mode != Mode::ProbeRtt => self.start_refill(),
            _ => {}
        }
        self.saved.from = None;
    }

    pub(super) fn check_startup(&mut self) {
        let whole = self.recovering_from.is_some_and(|from| self.rs.prior >= from);
        if self.mode == Mode::Startup
            && !self.full_reached
            && self.loss_round_start
            && whole
            && self.pieces >= 6
            && self.too_high_now()
        {
            self.saved.from = Some(Mode::Startup);
            self.full_reached = true;
            self.long = self.bdp().max(self.latest);
        }
        if self.loss_round_start {
            (self.pieces, self.last_lost) = (0, None);
        }
        if self.mode == Mode::Startup && self.full_reached {
            self.mode = Mode::Drain;
            self.drain_began = self.rounds;
        }
    }
}
