//! The four states of BBR version 3 that cycle around the rate (draft-ietf-ccwg-bbr-06, §5.3.3), and the long-term bound that
//! they raise and lower. What lost packets do is in `loss.rs`.

use tailback_core::{Bytes, Cx, DeliverySample, Span, Time};

use super::model::AckPhase;
use super::{BETA, Bbr3, LOSS, MOST_ROUNDS, State};
use crate::reals::larger;

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Time, delivered: Bytes, cx: &mut Cx<'_>) {
        self.model.reset_signals();
        self.up_every = f64::INFINITY;
        self.rounds_since_probe = u32::from(cx.rng.chance(0.5));
        self.probe_wait = Span::from_secs_f64(2.0 + cx.rng.uniform());
        self.cycle_began = now;
        self.model.ack_phase = AckPhase::Stopping;
        self.model.rounds.restart(delivered);
        self.state = State::Down;
    }

    pub(super) fn start_refill(&mut self, delivered: Bytes) {
        self.model.bounds.reset_short();
        (self.up_rounds, self.up_acked) = (0, 0.0);
        self.stopped_risky = false;
        self.model.ack_phase = AckPhase::Refilling;
        self.model.rounds.restart(delivered);
        self.state = State::Refill;
    }

    fn start_up(&mut self, now: Time, sample: &DeliverySample) {
        self.model.ack_phase = AckPhase::Starting;
        self.model.rounds.restart(sample.delivered);
        self.model.restart_full(sample.rate);
        self.cycle_began = now;
        self.state = State::Up;
        self.raise_slope();
    }

    /// The long-term bound grows by 1, 2, 4, … segments per round.
    fn raise_slope(&mut self) {
        let growth = self.segment * 2.0_f64.powi(self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_every = (self.control.window / growth).max(1.0) * self.segment;
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let (target, rounds) = (self.target(), f64::from(self.rounds_since_probe));
        // Mostly it is far from time, which is known without a division: a processor takes long for one.
        let may_be = rounds * self.segment >= 0.999 * target;
        now.since(self.cycle_began) > self.probe_wait
            || rounds >= MOST_ROUNDS
            || may_be && rounds >= target / self.segment
    }

    pub(super) fn cycle(&mut self, now: Time, sample: &DeliverySample, in_flight: f64, cx: &mut Cx<'_>) {
        if !self.model.is_full() {
            return;
        }
        if self.adapt_long_bound(sample) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(now) => self.start_refill(sample.delivered),
            State::Down if in_flight <= self.with_headroom() && in_flight <= self.inflight(1.0) => {
                self.state = State::Cruise;
            }
            State::Refill if self.model.rounds.begins => {
                self.model.probing_samples = true;
                self.start_up(now, sample);
            }
            State::Up => self.look_up(now, sample, in_flight, cx),
            _ => {}
        }
    }

    /// Whether Up is over.
    fn look_up(&mut self, now: Time, sample: &DeliverySample, in_flight: f64, cx: &mut Cx<'_>) {
        let bound = self.model.bounds.inflight_long;
        if self.prev_too_high && in_flight >= bound {
            self.stopped_risky = true;
            self.prev_too_high = false;
            self.start_down(now, sample.delivered, cx);
        } else if self.control.is_limited() && self.control.window >= bound {
            // The bound, not the path, keeps the rate flat.
            self.model.restart_full(sample.rate);
        } else if self.model.is_full_now() {
            self.prev_too_high = false;
            self.start_down(now, sample.delivered, cx);
        }
    }

    /// `BBRAdaptLongTermModel`; whether the next probe begins with it.
    fn adapt_long_bound(&mut self, sample: &DeliverySample) -> bool {
        if self.model.rounds.begins {
            match self.model.ack_phase {
                AckPhase::Starting => self.model.ack_phase = AckPhase::Feedback,
                AckPhase::Stopping => {
                    self.model.ack_phase = AckPhase::Idle;
                    self.model.probing_samples = false;
                    if self.state.is_probe_bw() && !self.model.rounds.limited {
                        self.model.advance_filter();
                    }
                    if self.state.is_probe_bw() && self.stopped_risky && !self.prev_too_high {
                        self.start_refill(sample.delivered);
                        return true;
                    }
                }
                _ => {}
            }
        }
        let flown = sample.prior_in_flight.as_f64();
        if sample.lost_since.as_f64() > LOSS * flown {
            return false;
        }
        let bound = &mut self.model.bounds.inflight_long;
        if *bound == f64::INFINITY {
            return false;
        }
        *bound = larger(*bound, flown);
        if self.state == State::Up {
            self.probe_upward(sample);
        }
        false
    }

    fn probe_upward(&mut self, sample: &DeliverySample) {
        if !self.control.is_limited() || self.control.window < self.model.bounds.inflight_long {
            return;
        }
        self.up_acked += sample.newly_acked.as_f64();
        if self.up_acked >= self.up_every {
            let steps = (self.up_acked / self.up_every).floor();
            self.up_acked -= steps * self.up_every;
            self.model.bounds.inflight_long += steps * self.segment;
        }
        if self.model.rounds.begins {
            self.raise_slope();
        }
    }

    /// A probe went too high: the volume at which it did bounds the next ones (`BBRHandleInflightTooHigh`).
    pub(super) fn too_high(
        &mut self,
        now: Time,
        flown: f64,
        limited: bool,
        delivered: Bytes,
        cx: &mut Cx<'_>,
    ) {
        self.prev_too_high = true;
        self.model.probing_samples = false;
        if !limited {
            self.model.bounds.inflight_long = flown.max(self.target() * BETA);
        }
        if self.state == State::Up {
            self.leave_by_loss();
            self.start_down(now, delivered, cx);
        }
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{BitRate, Stream};

    use super::*;
    use crate::parts::ControllerParams;

    /// A probe after one that went too high ends where the bound is reached, or on a flat rate; only then the next may stay.
    #[test]
    fn a_careful_probe_ends_at_the_bound() {
        for (in_flight, flat, state, risky, high) in [
            (20_000.0, false, State::Down, true, false),
            (19_999.0, false, State::Up, false, true),
            (19_999.0, true, State::Down, false, false),
        ] {
            let mut bbr = Bbr3::new(&ControllerParams::unlimited(Bytes::new(1000), 10));
            (bbr.state, bbr.prev_too_high, bbr.model.bounds.inflight_long) = (State::Up, true, 20_000.0);
            let sample =
                DeliverySample { rate: Some(BitRate::from_bits_per_sec(8000)), ..Default::default() };
            bbr.model.rounds.begins = true;
            for _ in 0..if flat { 4 } else { 1 } {
                bbr.model.check_full(&sample);
            }
            let mut rng = Stream::new(1, "controller");
            bbr.look_up(Time::ZERO, &sample, in_flight, &mut Cx { rng: &mut rng, notes: None });
            assert_eq!((bbr.state, bbr.stopped_risky, bbr.prev_too_high), (state, risky, high));
        }
    }
}
