//! What BBR version 3 believes of its path: rates, bounds, whether the pipe is full, how far acknowledgements bunch, and
//! rounds (draft-ietf-ccwg-bbr-06, §5.5). Round trip times are in `rtt.rs`, states in `mod.rs`.

use tailback_core::{BitRate, Bytes, DeliverySample, Time};

use super::super::bbr_shared::{Epoch, Rounds};
use super::BETA;
use crate::estimators::WindowedMax;
use crate::reals::{larger, smaller};

/// `ExtraAckedFilterLen`, in rounds.
const AGGREGATION_ROUNDS: u64 = 10;

/// What the feedback that arrives belongs to (`ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No probe.
    #[default]
    Idle,
    /// A probe began: what arrives left before it.
    Starting,
    /// What arrives left in the probe.
    Feedback,
    /// The probe is over: what arrives still left in it.
    Stopping,
    /// The pipe is being filled.
    Refilling,
}

/// Bounds that loss taught; in bytes and bytes per second, infinite where it taught none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) inflight_long: f64,
    pub(super) inflight_short: f64,
    pub(super) bandwidth_short: f64,
}

impl Bounds {
    pub(super) fn reset_short(&mut self) {
        (self.inflight_short, self.bandwidth_short) = (f64::INFINITY, f64::INFINITY);
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self { inflight_long: f64::INFINITY, inflight_short: f64::INFINITY, bandwidth_short: f64::INFINITY }
    }
}

/// The model; amounts in bytes, rates in bytes per second.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about a sample and a round, independent of each other"
)]
pub(super) struct Model {
    pub(super) bounds: Bounds,
    pub(super) ack_phase: AckPhase,
    /// What arrives was sent by a probe, and may show that it went too high (`bw_probe_samples`).
    pub(super) probing_samples: bool,
    /// The largest rates of the present and the last cycle (`MaxBwFilter`).
    rates: [f64; 2],
    delivered: Bytes,
    pub(super) rounds: Rounds,
    // Signals of the present round of loss.
    rate_latest: f64,
    pub(super) inflight_latest: f64,
    loss_round_end: Bytes,
    pub(super) loss_round_start: bool,
    loss_in_round: bool,
    // Whether the pipe is full.
    full_rate: f64,
    full_rounds: u32,
    full_now: bool,
    full: bool,
    // Aggregation.
    aggregated: WindowedMax,
    epoch: Epoch,
}

impl Model {
    /// `max_bw`.
    pub(super) fn max_rate(&self) -> f64 {
        larger(self.rates[0], self.rates[1])
    }

    #[cfg(test)]
    pub(super) fn set_rate(&mut self, rate: f64) {
        self.rates = [rate; 2];
    }

    /// `bw`: the rate in force.
    pub(super) fn bandwidth(&self) -> f64 {
        smaller(self.max_rate(), self.bounds.bandwidth_short)
    }

    pub(super) const fn delivered(&self) -> Bytes {
        self.delivered
    }

    pub(super) fn aggregated(&self) -> f64 {
        self.aggregated.get().unwrap_or(0.0)
    }

    /// Takes a sample in: signals, rounds, rates, bounds, aggregation, in the draft's order (§5.2.3).
    pub(super) fn take(&mut self, now: Time, sample: &DeliverySample, probing: bool, window: f64) {
        self.delivered = sample.delivered;
        let rate = sample.rate.map_or(0.0, BitRate::bytes_per_sec);
        self.loss_round_start = false;
        self.rate_latest = larger(self.rate_latest, rate);
        self.inflight_latest = larger(self.inflight_latest, volume(sample));
        if sample.prior_delivered >= self.loss_round_end {
            self.loss_round_end = sample.delivered;
            self.loss_round_start = true;
        }
        self.rounds.take(sample, true);
        if rate > 0.0 && (rate >= self.max_rate() || !self.rounds.limited) {
            self.rates[1] = larger(self.rates[1], rate);
        }
        if self.loss_round_start {
            if self.loss_in_round && !probing {
                self.lower_bounds(window);
            }
            self.loss_in_round = false;
        }
        self.take_aggregation(now, sample, window);
    }

    /// `BBRLossLowerBounds`, with `BBRInitLowerBounds`.
    fn lower_bounds(&mut self, window: f64) {
        let max_rate = self.max_rate();
        let bounds = &mut self.bounds;
        if bounds.bandwidth_short == f64::INFINITY {
            bounds.bandwidth_short = max_rate;
        }
        if bounds.inflight_short == f64::INFINITY {
            bounds.inflight_short = window;
        }
        bounds.bandwidth_short = self.rate_latest.max(BETA * bounds.bandwidth_short);
        bounds.inflight_short = self.inflight_latest.max(BETA * bounds.inflight_short);
    }

    /// The last thing to do with a sample: the next round of loss begins with what this one says.
    pub(super) fn advance_latest(&mut self, sample: &DeliverySample) {
        if self.loss_round_start {
            self.rate_latest = sample.rate.map_or(0.0, BitRate::bytes_per_sec);
            self.inflight_latest = volume(sample);
        }
    }

    /// A packet was lost (`BBRNoteLoss`).
    pub(super) fn note_loss(&mut self, delivered: Bytes) {
        if !self.loss_in_round {
            self.loss_round_end = delivered;
        }
        self.loss_in_round = true;
    }

    /// A cycle begins: what the last one lost and delivered says nothing of it.
    pub(super) fn reset_signals(&mut self) {
        self.loss_in_round = false;
        (self.rate_latest, self.inflight_latest) = (0.0, 0.0);
    }

    /// The cycle is over: its largest rate is the last cycle's.
    pub(super) fn advance_filter(&mut self) {
        if self.rates[1] > 0.0 {
            self.rates = [self.rates[1], 0.0];
        }
    }

    // ── full pipe (draft, §5.3.1.2) ──

    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    /// Rounds in a row in which the rate grew by less than a quarter (`full_bw_count`).
    pub(super) const fn flat_rounds(&self) -> u32 {
        self.full_rounds
    }

    pub(super) const fn is_full_now(&self) -> bool {
        self.full_now
    }

    /// The pipe is full, whatever the rate says.
    pub(super) fn fill(&mut self) {
        self.full = true;
    }

    /// It is not.
    pub(super) fn empty(&mut self) {
        self.full = false;
        self.restart_full(None);
    }

    /// The test begins anew, from a rate.
    pub(super) fn restart_full(&mut self, rate: Option<BitRate>) {
        self.full_rate = rate.map_or(0.0, BitRate::bytes_per_sec);
        (self.full_rounds, self.full_now) = (0, false);
    }

    pub(super) fn check_full(&mut self, sample: &DeliverySample) {
        let Some(rate) = sample.rate else { return };
        if self.full_now || !self.rounds.begins || self.rounds.limited {
            return;
        }
        if rate.bytes_per_sec() >= self.full_rate * 1.25 {
            self.restart_full(Some(rate));
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= 3;
        self.full |= self.full_now;
    }

    // ── aggregation (draft, §5.5.9) ──

    pub(super) fn restart_aggregation(&mut self, now: Time) {
        self.epoch.restart(now);
    }

    fn take_aggregation(&mut self, now: Time, sample: &DeliverySample, window: f64) {
        let expected = self.bandwidth() * self.epoch.lasted(now);
        let extra = self.epoch.excess(now, sample.newly_acked, expected, window);
        let memory = if self.full { AGGREGATION_ROUNDS } else { 1 };
        let round = self.rounds.count;
        self.aggregated.take(round, (round + 1).saturating_sub(memory), extra);
    }

    // ── undo ──

    /// Bounds at least as they were, and no loss in this round.
    pub(super) fn undo(&mut self, before: &Bounds) {
        self.loss_in_round = false;
        self.restart_full(None);
        let bounds = &mut self.bounds;
        bounds.bandwidth_short = bounds.bandwidth_short.max(before.bandwidth_short);
        bounds.inflight_short = bounds.inflight_short.max(before.inflight_short);
        bounds.inflight_long = bounds.inflight_long.max(before.inflight_long);
    }
}

/// What was delivered since the packet left.
fn volume(sample: &DeliverySample) -> f64 {
    if sample.rate.is_none() {
        return 0.0;
    }
    sample.delivered.saturating_sub(sample.prior_delivered).as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_without_a_sample_forgets_no_rate() {
        let mut model = Model { rates: [1e6, 2e6], ..Model::default() };
        model.advance_filter();
        model.advance_filter();
        assert_eq!(model.max_rate(), 2e6);
        model.rates[1] = 1e6;
        model.advance_filter();
        assert_eq!(model.max_rate(), 1e6);
    }
}
