//! The four states that cycle, in the second writing of BBR version 3 (§5.3.3).

use super::{Acks, Bbr, FullBw, Mode, NEVER, SMSS};

impl Bbr {
    pub(super) fn start_down(&mut self, now: f64) {
        self.loss_in_round = false;
        (self.bw_latest, self.latest) = (0.0, 0.0);
        self.up_every = NEVER;
        self.rounds_since = u64::from(self.draws.chance(0.5));
        self.wait = 2.0 + self.draws.uniform();
        self.cycle = now;
        self.acks = Acks::Stopping;
        self.start_round();
        self.mode = Mode::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.reset_short();
        (self.up_rounds, self.up_acked, self.cautious) = (0, 0.0, false);
        self.acks = Acks::Refilling;
        self.start_round();
        self.mode = Mode::Refill;
    }

    pub(super) fn raise_slope(&mut self) {
        let growth = SMSS * 2f64.powi(self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        // As the draft writes it: where just as much was acknowledged, the last bit decides.
        self.up_every = (self.cwnd / growth).max(1.0) * SMSS;
    }

    pub(super) fn start_up(&mut self) {
        self.acks = Acks::Starting;
        self.start_round();
        self.full = FullBw { bw: self.rs.rate, ..FullBw::default() };
        self.mode = Mode::Up;
        self.raise_slope();
    }

    pub(super) fn time_to_probe(&mut self, now: f64) -> bool {
        let rounds = (self.aim() / SMSS).min(63.0);
        let due = now > self.cycle + self.wait || self.rounds_since as f64 >= rounds;
        if due {
            self.start_refill();
        }
        due
    }

    pub(super) fn time_to_go_down(&mut self, in_flight: f64) -> bool {
        if self.too_high && in_flight >= self.long {
            self.cautious = true;
            return true;
        }
        if self.window_limited() && self.cwnd >= self.long {
            self.full = FullBw { bw: self.rs.rate, ..FullBw::default() };
            return false;
        }
        self.full.now
    }

    /// Whether it decided on a state.
    pub(super) fn adapt_long(&mut self) -> bool {
        if self.acks == Acks::Starting && self.round_start {
            self.acks = Acks::Feedback;
        }
        if self.acks == Acks::Stopping && self.round_start {
            self.probe_sample = false;
            self.acks = Acks::Init;
            // A windowed maximum forgets nothing before a newer sample.
            if self.cycles() && !self.rs.limited && self.max_bw[1] > 0.0 {
                self.max_bw = [self.max_bw[1], 0.0];
            }
            if self.cycles() && self.cautious && !self.too_high {
                self.start_refill();
                return true;
            }
        }
        if self.too_high_now() || self.long == NEVER {
            return false;
        }
        self.long = self.long.max(self.rs.tx_in_flight);
        if self.mode == Mode::Up && self.window_limited() && self.cwnd >= self.long {
            self.up_acked += self.rs.acked;
            if self.up_acked >= self.up_every {
                let delta = (self.up_acked / self.up_every).floor();
                self.up_acked -= delta * self.up_every;
                self.long += delta * SMSS;
            }
            if self.round_start {
                self.raise_slope();
            }
        }
        false
    }

    pub(super) fn update_cycle(&mut self, now: f64, in_flight: f64) {
        if !self.full_reached || self.adapt_long() {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down => {
                let room = in_flight <= self.with_headroom();
                if !self.time_to_probe(now) && room && in_flight <= self.budget(self.product(self.bw(), 1.0))
                {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Cruise => {
                self.time_to_probe(now);
            }
            Mode::Refill if self.round_start => {
                self.probe_sample = true;
                self.start_up();
            }
            _ if self.mode == Mode::Up && self.time_to_go_down(in_flight) => {
                self.too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }
}
