//! Rate and window of BBR version 1: what the model and recovery make of them (`bbr_set_pacing_rate` and `bbr_set_cwnd` in
//! Linux). States are in `states.rs`.

use tailback_core::{Bytes, DeliverySample, Recovery, Span};

use super::super::bbr_shared::MARGIN;
use super::model::Model;
use super::states::Mode;
use super::{Bbr1, HIGH_GAIN, LEAST_WINDOW};
use crate::reals::{larger, smaller};

/// What the window aims at, and what that follows from. From one acknowledgement to the next this mostly stays, and the way
/// there has four roundings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aim {
    from: Grounds,
    /// In packets.
    window: f64,
}

/// What the window's aim follows from, all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Grounds {
    gain: f64,
    bandwidth: f64,
    rate: f64,
    aggregated: f64,
    rtt: Span,
    rising: bool,
}

impl Bbr1 {
    #[inline]
    pub(super) fn set_rate(&mut self, bandwidth: f64, smoothed: Option<Span>) {
        self.pace.first_rtt(smoothed, || MARGIN * HIGH_GAIN * self.window * self.segment);
        self.pace.follow(self.pacing_gain, bandwidth, self.full.is_reached());
    }

    /// What the window aims at, in packets.
    #[inline]
    fn aim(&mut self, bandwidth: f64) -> f64 {
        // Bunches count from when the pipe is full (`bbr_ack_aggregation_cwnd`): Startup has room enough.
        let aggregated = if self.full.is_reached() { self.model.most_aggregated() } else { 0.0 };
        let from = Grounds {
            gain: self.window_gain,
            bandwidth,
            rate: self.pace.rate(),
            aggregated,
            rtt: self.model.min_rtt().unwrap_or(Span::ZERO),
            rising: self.is_rising(),
        };
        if from != self.aim.from {
            self.aim = Aim { from, window: self.aim_anew(&from) };
        }
        debug_assert_eq!(self.aim.window, self.aim_anew(&from), "nothing else decides");
        self.aim.window
    }

    #[inline(never)]
    fn aim_anew(&self, from: &Grounds) -> f64 {
        let products = (from.gain * from.bandwidth * from.rtt.as_secs_f64() / self.segment).ceil();
        self.with_trains(products + Model::aggregated(from.aggregated, from.bandwidth, self.segment))
    }

    pub(super) fn save_window(&mut self) {
        let repairing = self.recovery != Recovery::Open || self.mode == Mode::ProbeRtt;
        self.prior_window = if repairing { self.prior_window.max(self.window) } else { self.window };
    }

    /// What recovery makes of the window; whether that is all there is to say about it.
    fn recover(&mut self, sample: &DeliverySample, recovery: Recovery, acked: f64, in_flight: Bytes) -> bool {
        if sample.newly_lost > Bytes::ZERO {
            let lost = self.packets(sample.newly_lost);
            self.window = (self.window - lost).max(1.0);
        }
        let before = std::mem::replace(&mut self.recovery, recovery);
        if recovery == Recovery::Fast && before != Recovery::Fast {
            self.conserving = true;
            self.model.rounds.restart(sample.delivered);
            self.window = self.packets(in_flight) + acked;
        } else if before != Recovery::Open && recovery == Recovery::Open {
            self.window = self.window.max(self.prior_window);
            self.conserving = false;
        }
        if self.conserving {
            self.window = larger(self.window, self.packets(in_flight) + acked);
        }
        self.conserving
    }

    #[inline]
    pub(super) fn set_window(
        &mut self,
        sample: &DeliverySample,
        bandwidth: f64,
        recovery: Recovery,
        in_flight: Bytes,
    ) {
        // Mostly it is one packet.
        let acked = sample.newly_acked.as_f64();
        let acked = if acked == self.segment { 1.0 } else { acked / self.segment };
        if acked > 0.0 && !self.recover(sample, recovery, acked, in_flight) {
            let target = self.aim(bandwidth);
            let unknown = self.model.min_rtt().is_none();
            if self.full.is_reached() {
                self.window = smaller(self.window + acked, target);
            } else if unknown
                || self.window < target
                || sample.delivered.as_f64() < self.initial * self.segment
            {
                self.window += acked;
            }
            self.window = larger(self.window, LEAST_WINDOW);
        }
        self.window = smaller(self.window, self.most);
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(LEAST_WINDOW);
        }
    }
}
