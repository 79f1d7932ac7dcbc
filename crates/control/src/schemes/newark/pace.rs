//! The factor g of TCP Newark: given, or found by the sender. What the window does is in `mod.rs`.
//!
//! Li and Mills (§III-C) say what g is for: above 1 where "each flow's fair share is less than one packet per round-trip
//! time", below 1 where "only a few flows share a huge pipe". How a sender knows is left open. The rule here is not in the
//! paper:
//!
//! * **Slower.** At a window of one packet an echo cannot halve anything: it doubles g instead. Each packet acknowledged
//!   without an echo raises the rate 1/g, in packets per round trip, by [`STEP`] times g, at most to the double, until g is 1
//!   again: additive increase by [`STEP`] packets per round trip and halving, which makes flows equal as TCP's own law
//!   does. With its increase of a whole packet TCP could not rest there: `p = 2/w²` would be a probability above 1.
//! * **Faster.** After some round trips without an echo or a loss g falls by a tenth in each; slow start needs no help, so
//!   they count in congestion avoidance only. The first echo or loss gives half of the rate back as a window with g at 1, as
//!   far as the largest window allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span, Time};

/// How a sender finds g.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveConfig {
    /// The largest g: how much slower than a packet per round trip a flow may become. 1 to 1000; default 64.
    pub most: f64,
    /// The smallest g: how much faster than a window per round trip. 0.01 to 1; default 0.125.
    pub least: f64,
    /// So many round trips without an echo or a loss are enough to be bold. 1 to 1000; default 4.
    pub patience: u32,
}

impl Default for AdaptiveConfig {
    fn default() -> Self {
        Self { most: 64.0, least: 0.125, patience: 4 }
    }
}

impl AdaptiveConfig {
    /// Complains about every value that is not allowed.
    pub(super) fn check(&self, checker: &mut Checker) {
        checker.require((1.0..=1000.0).contains(&self.most), "most", self.most, "1 to 1000");
        checker.require((0.01..=1.0).contains(&self.least), "least", self.least, "0.01 to 1");
        checker.require((1..=1000).contains(&self.patience), "patience", self.patience, "1 to 1000");
    }
}

/// In packets per round trip: what the rate rises by in each, below a packet per round trip.
pub(super) const STEP: f64 = 1.0 / 128.0;
/// What a quiet round trip multiplies g by.
const BOLD: f64 = 0.9;

/// g, and how long all has been quiet.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    g: f64,
    adaptive: Option<AdaptiveConfig>,
    quiet: u32,
    round_ends: Time,
}

impl Pace {
    /// g to begin with, and how it is found if it is.
    pub(super) fn new(g: f64, adaptive: Option<AdaptiveConfig>) -> Self {
        Self { g, adaptive, quiet: 0, round_ends: Time::ZERO }
    }

    /// g.
    pub(super) fn g(&self) -> f64 {
        self.g
    }

    /// Whether g was found, and is above 1.
    pub(super) fn is_slowed(&self) -> bool {
        self.adaptive.is_some() && self.g > 1.0
    }

    /// So many packets were acknowledged without an echo; `open` where the window grows linearly.
    pub(super) fn calm(&mut self, now: Time, round_trip: Option<Span>, packets: f64, open: bool) {
        let (Some(adaptive), Some(round_trip)) = (&self.adaptive, round_trip) else { return };
        if self.g > 1.0 {
            // Packet by packet the rate w becomes w + STEP / w, so that w² rises by twice STEP.
            let rate = 1.0 / self.g;
            let risen = (rate * rate + 2.0 * STEP * packets).sqrt().min(rate * packets.exp2());
            self.g = (1.0 / risen).max(1.0);
        }
        if now < self.round_ends {
            return;
        }
        self.round_ends = now + round_trip;
        self.quiet = if open { self.quiet.saturating_add(1) } else { 0 };
        if self.quiet > adaptive.patience && self.g <= 1.0 {
            self.g = (self.g * BOLD).max(adaptive.least);
        }
    }

    /// An echo or a loss, at a window of so many packets: the window that is to be halved, at most `max`.
    pub(super) fn hurry(&mut self, now: Time, round_trip: Option<Span>, window: f64, max: f64) -> f64 {
        let Some(adaptive) = &self.adaptive else { return window };
        self.quiet = 0;
        self.round_ends = now + round_trip.unwrap_or(Span::ZERO);
        if self.g < 1.0 {
            let whole = (window / self.g).min(max);
            self.g = (self.g * whole / window).min(1.0);
            return whole;
        }
        if window <= 1.0 {
            self.g = (self.g * 2.0).min(adaptive.most);
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Span = Span::from_millis(100);

    fn at(round: u64) -> Time {
        Time::ZERO + ROUND * round
    }

    #[test]
    fn a_given_factor_never_moves() {
        let mut pace = Pace::new(1.5, None);
        for round in 0..100 {
            pace.calm(at(round), Some(ROUND), 10.0, true);
            assert_eq!(pace.hurry(at(round), Some(ROUND), 1.0, 100.0), 1.0);
            assert_eq!(pace.g(), 1.5);
        }
    }

    #[test]
    fn echoes_at_one_packet_double_it_and_calm_packets_undo_that_evenly() {
        let mut pace = Pace::new(1.0, Some(AdaptiveConfig { most: 8.0, ..AdaptiveConfig::default() }));
        let doubled: Vec<f64> = (0..4)
            .map(|round| {
                assert_eq!(pace.hurry(at(round), Some(ROUND), 1.0, 100.0), 1.0);
                pace.g()
            })
            .collect();
        assert_eq!(doubled, [2.0, 4.0, 8.0, 8.0]);
        pace.calm(at(5), Some(ROUND), 16.0, true);
        // The square of 1/8, and sixteen times 1/64.
        assert!((pace.g() - (1.0_f64 / 64.0 + 0.25).sqrt().recip()).abs() < 1e-9, "{}", pace.g());
        pace.calm(at(5), Some(ROUND), 1e6, true);
        assert_eq!(pace.g(), 1.0, "calm alone does not make it bold");
    }

    #[test]
    fn quiet_rounds_make_it_bold_and_an_echo_turns_the_rate_into_a_window() {
        let mut pace = Pace::new(1.0, Some(AdaptiveConfig::default()));
        for round in 0..6 {
            pace.calm(at(round), Some(ROUND), 10.0, true);
        }
        // Four rounds are waited for, the fifth and sixth count.
        assert!((pace.g() - 0.81).abs() < 1e-12, "{}", pace.g());
        assert!((pace.hurry(at(6), Some(ROUND), 8.1, 100.0) - 10.0).abs() < 1e-12);
        assert_eq!(pace.g(), 1.0);
        for round in 7..60 {
            pace.calm(at(round), Some(ROUND), 10.0, true);
        }
        assert_eq!(pace.g(), 0.125);
        // Where the whole rate is more than the largest window, what is above stays in g.
        assert_eq!(pace.hurry(at(60), Some(ROUND), 50.0, 100.0), 100.0);
        assert_eq!(pace.g(), 0.25);
    }
}
