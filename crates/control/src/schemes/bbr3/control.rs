//! Rate and window of BBR version 3, and what they are rounded to (draft-ietf-ccwg-bbr-06, §5.6). Bounds by the model are
//! in `mod.rs`.

use tailback_core::{DeliverySample, Span};

use super::super::bbr_shared::Pace;
use super::LEAST_WINDOW;
use crate::parts::ControllerParams;
use crate::reals::{larger, smaller};

/// A quantum lasts a millisecond, and is at most this large.
const MOST_QUANTUM: f64 = 65_536.0;
/// Quanta that the window has room for.
const QUANTA: f64 = 3.0;

/// Rate and window, in bytes and bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Control {
    pub(super) segment: f64,
    pub(super) initial: f64,
    pub(super) most: f64,
    pub(super) window: f64,
    prior: f64,
    pub(super) pace: Pace,
    /// The least that the window has room for at this rate (`BBRQuantizationBudget`): it mostly stays, as the rate does.
    budget: f64,
    /// What of it is for acknowledgements that the receiver was asked to delay.
    for_acks: f64,
    /// The window was full at any time in this round, or in the last one.
    limited: [bool; 2],
}

/// What the window has room for in any case: quanta at a rate, and a few segments. Delayed acknowledgements add to the quanta.
fn budget(rate: f64, segment: f64, for_acks: f64) -> f64 {
    let least = 2.0 * segment;
    let quantum = smaller(larger(rate * 1e-3, least), larger(MOST_QUANTUM, least));
    larger(QUANTA * quantum + for_acks, LEAST_WINDOW * segment)
}

impl Control {
    pub(super) fn new(params: &ControllerParams, gain: f64) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        let most = params.max_window.as_f64().max(segment);
        let initial = params.initial_window.as_f64().clamp(segment, most);
        let pace = Pace::before_any_rtt(gain * initial);
        Self {
            segment,
            initial,
            most,
            window: initial,
            prior: 0.0,
            pace,
            budget: budget(pace.rate(), segment, 0.0),
            for_acks: 0.0,
            limited: [false; 2],
        }
    }

    /// A packet leaves, and so much is in flight with it; whether the window has no room for another.
    pub(super) fn note_sent(&mut self, in_flight: f64) -> bool {
        let is_full = in_flight + self.segment > self.window;
        self.limited[1] |= is_full;
        is_full
    }

    pub(super) fn end_round(&mut self) {
        self.limited = [self.limited[1], false];
    }

    /// Whether the window, not the rate or the application, was in the way.
    pub(super) fn is_limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }

    /// Whether it was so in the last round.
    pub(super) fn was_limited(&self) -> bool {
        self.limited[0]
    }

    /// The receiver was asked to hold back acknowledgements of so many bytes.
    pub(super) fn allow_for_acks(&mut self, bytes: f64) {
        self.for_acks = bytes;
        self.budget = budget(self.pace.rate(), self.segment, bytes);
    }

    /// `BBRQuantizationBudget`.
    #[inline]
    pub(super) fn with_quanta(&self, inflight: f64, up: bool) -> f64 {
        debug_assert_eq!(
            self.budget,
            budget(self.pace.rate(), self.segment, self.for_acks),
            "changed together"
        );
        larger(inflight, self.budget) + if up { 2.0 * self.segment } else { 0.0 }
    }

    /// The first round trip time lets the initial window leave in it, times a gain.
    #[inline]
    pub(super) fn first_rtt(&mut self, smoothed: Option<Span>, gain: f64) {
        if self.pace.first_rtt(smoothed, || gain * self.initial) {
            self.budget = budget(self.pace.rate(), self.segment, self.for_acks);
        }
    }

    /// The rate may fall only once the pipe was full.
    pub(super) fn set_rate(&mut self, gain: f64, bandwidth: f64, full: bool) {
        if self.pace.follow(gain, bandwidth, full) {
            self.budget = budget(self.pace.rate(), self.segment, self.for_acks);
        }
    }

    /// `BBRSetCwnd`: at most by what was acknowledged, up to `most`, bounded by `cap`.
    pub(super) fn grow(&mut self, sample: &DeliverySample, most: f64, full: bool, cap: f64) {
        let acked = sample.newly_acked.as_f64();
        if full {
            self.window = smaller(self.window + acked, most);
        } else if self.window < most || sample.delivered.as_f64() < self.initial {
            self.window += acked;
        }
        let window = larger(self.window, LEAST_WINDOW * self.segment);
        self.window = smaller(smaller(window, cap), self.most);
    }

    /// `BBROnEnterRTO`.
    pub(super) fn time_out(&mut self, in_flight: f64) {
        self.window = in_flight + self.segment;
    }

    /// `BBRSaveCwnd`: the window now, or what was saved before if that is larger and the window was `cut` since.
    pub(super) fn save(&mut self, cut: bool) {
        self.prior = if cut { self.prior.max(self.window) } else { self.window };
    }

    /// `BBRRestoreCwnd`.
    pub(super) fn restore(&mut self) {
        self.window = self.window.max(self.prior).min(self.most);
    }
}
