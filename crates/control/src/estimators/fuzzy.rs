//! Fuzzy exponential averaging: an exponential average whose constant is set by a fuzzy controller from the size of
//! its own errors, smoothed by a second average whose constant a second controller sets. Nothing of flow control.
//!
//! Source: S. Keshav, "Packet-Pair Flow Control" (1994), §4.5 and Figs. 3 and 4; figures of the sets and the
//! defuzzifier's trapezia from the appendix, since the text leaves Fig. 3 without numbers. θ̃ is observed, θ̂ estimated:
//!
//! | step | rule |
//! | --- | --- |
//! | `e = |θ̃ - θ̂| / θ̃` | proportional error |
//! | change in error `c = |e - e'|` → β | low → low, high → high (sets on 0..1) |
//! | `ē ← β ē + (1 - β) e` | so that a spike does not wipe out history |
//! | `ē` → α | low → high, medium → medium, high → low (error's middle 0.7, α's middle 0.5) |
//! | `θ̂ ← α θ̂ + (1 - α) θ̃` | the estimate |
//!
//! Both controllers cut each outcome's set at the degree to which its rule applies, take the centroid of the union,
//! and stretch it so that a pure "low" gives 0 and a pure "high" 1. For β this comes to `c² (3 - 2 c)`.
//!
//! Where the program of the appendix differs from the text, the text is the default and the program's way an option:
//! * it divides by the estimate, `e = |θ̃ - θ̂| / θ̂` ([`FuzzyConfig::relative_to`]);
//! * it never stores the smoothed error: `ē` is always `β/2 + (1 - β) e` ([`FuzzyConfig::carry_error`]);
//! * of the sets "low" and "medium" of α it subtracts a crossed trapezium where "low" applies less than "medium",
//!   with the area `low²` in place of `low (1 - low)` ([`FuzzyConfig::overlap`]);
//! * it lets a change in error above 1 into the controller for β, whose sets end at 1: beyond 1.5 the weight of the error's
//!   history is negative ([`FuzzyConfig::limit_change`]);
//! * in its first comparison the estimate counts as 1.5 times the observation, whatever it is
//!   ([`FuzzyConfig::first_ratio`]).
//!
//! [`FuzzyConfig::program`] has all five. `tests/test_fuzzy_program.py` holds it to the listing, written out anew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Checker;

use super::{Estimator, Sample, Trapezium};

/// What an error is relative to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorBase {
    /// The observation (Keshav 1994, §4.5.2).
    #[default]
    Observation,
    /// The estimate (Keshav 1994, appendix).
    Estimate,
}

/// How the part that "low" and "medium" have in common is taken from their union.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// As geometry has it.
    #[default]
    Exact,
    /// As the published program has it: crossed where "low" applies less than "medium".
    Crossed,
}

/// Parameters of fuzzy exponential averaging.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FuzzyConfig {
    /// The error at which "medium" applies fully, between 0 and 1. Default 0.7 (Keshav 1994, appendix, `MP_E`).
    pub middle_error: f64,
    /// The α at which "medium" peaks, between 0 and 1. Default 0.5 (Keshav 1994, appendix, `MP_A`).
    pub middle_weight: f64,
    /// The smoothed error before any observation, from 0 to 1. Default 0.5 (Keshav 1994, appendix).
    pub initial_error: f64,
    /// What an error is relative to: `observation` (the text) or `estimate` (the program).
    pub relative_to: ErrorBase,
    /// Whether the smoothed error is carried from one observation to the next, as the text says; the program forgets
    /// it. Default true.
    pub carry_error: bool,
    /// The union of "low" and "medium": `exact`, or `crossed` as in the program.
    pub overlap: Overlap,
    /// Whether a change in error counts as 1 at most, where its fuzzy sets end; the program has no such limit. Default
    /// true.
    pub limit_change: bool,
    /// In the first comparison the estimate counts as so many times the observation: 1.5 in the program (Keshav 1994,
    /// appendix). None, the default, for the estimate itself.
    pub first_ratio: Option<f64>,
}

impl Default for FuzzyConfig {
    fn default() -> Self {
        Self {
            middle_error: 0.7,
            middle_weight: 0.5,
            initial_error: 0.5,
            relative_to: ErrorBase::Observation,
            carry_error: true,
            overlap: Overlap::Exact,
            limit_change: true,
            first_ratio: None,
        }
    }
}

impl FuzzyConfig {
    /// The program of the appendix, in all five points where it differs from the text.
    pub fn program() -> Self {
        Self {
            relative_to: ErrorBase::Estimate,
            carry_error: false,
            overlap: Overlap::Crossed,
            limit_change: false,
            first_ratio: Some(1.5),
            ..Self::default()
        }
    }

    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        let inside = |value: f64| value > 0.0 && value < 1.0;
        let between = "a number between 0 and 1";
        checker.require(inside(self.middle_error), "middle_error", self.middle_error, between);
        checker.require(inside(self.middle_weight), "middle_weight", self.middle_weight, between);
        let initial = self.initial_error;
        checker.require((0.0..=1.0).contains(&initial), "initial_error", initial, "a number from 0 to 1");
        if let Some(ratio) = self.first_ratio {
            let ok = (0.01..=100.0).contains(&ratio);
            checker.require(ok, "first_ratio", ratio, "a number from 0.01 to 100");
        }
    }

    /// α for a smoothed error: the weight of history.
    fn weight_for(&self, error: f64) -> f64 {
        let error = error.clamp(0.0, 1.0);
        let middle = self.middle_error;
        let low_error = (1.0 - error / middle).max(0.0);
        let high_error = ((error - middle) / (1.0 - middle)).max(0.0);
        let medium = if error < middle { error / middle } else { (1.0 - error) / (1.0 - middle) };
        let (low, high) = (high_error, low_error);
        let peak = self.middle_weight;
        let parts = [
            Trapezium::falling(0.0, peak, low),
            Trapezium::peaked(0.0, peak, 1.0, medium),
            Trapezium::rising(peak, 1.0, high),
        ];
        let overlaps = [self.low_overlap(low, medium), Trapezium::overlap(peak, 1.0, medium.min(high))];
        let least = Trapezium::falling(0.0, peak, 1.0).centroid();
        let most = Trapezium::rising(peak, 1.0, 1.0).centroid();
        ((Trapezium::union_centroid(&parts, &overlaps) - least) / (most - least)).clamp(0.0, 1.0)
    }

    fn low_overlap(&self, low: f64, medium: f64) -> Trapezium {
        let peak = self.middle_weight;
        match self.overlap {
            Overlap::Exact => Trapezium::overlap(0.0, peak, low.min(medium)),
            Overlap::Crossed => Trapezium {
                base: (0.0, peak),
                top: (peak * (1.0 - low).min(medium), peak * low.max(1.0 - medium)),
                height: low.min(medium),
            },
        }
    }
}

/// β for a change in error: the weight of the error's history. The centroid of the union of "low" and "high", cut at
/// `1 - change` and `change` and stretched from 1/3..2/3 to 0..1, is this polynomial.
fn weight_for_change(change: f64) -> f64 {
    change * change * (3.0 - 2.0 * change)
}

/// The fuzzy predictor.
#[derive(Clone, Debug)]
pub struct FuzzyAverage {
    config: FuzzyConfig,
    estimate: Option<f64>,
    /// What the estimate counts as in the next comparison, in observations; only ever set for the first.
    ratio: Option<f64>,
    /// The proportional error of the last observation.
    last_error: f64,
    /// ē.
    smoothed_error: f64,
    /// α of the last update.
    weight: f64,
}

impl FuzzyAverage {
    /// A predictor without observations; the first becomes its estimate.
    pub fn new(config: &FuzzyConfig) -> Self {
        Self {
            estimate: None,
            ratio: config.first_ratio,
            last_error: 0.0,
            smoothed_error: config.initial_error,
            weight: 1.0,
            config: config.clone(),
        }
    }
}

impl Estimator for FuzzyAverage {
    fn update(&mut self, sample: &Sample) -> f64 {
        let observed = sample.observed;
        let Some(estimate) = self.estimate else {
            self.estimate = Some(observed);
            return observed;
        };
        let compared = self.ratio.take().map_or(estimate, |ratio| ratio * observed);
        let base = match self.config.relative_to {
            ErrorBase::Observation => observed,
            ErrorBase::Estimate => compared,
        };
        let error = (observed - compared).abs() / base;
        let change = (error - self.last_error).abs();
        let beta = weight_for_change(if self.config.limit_change { change.min(1.0) } else { change });
        self.last_error = error;
        let smoothed = beta * self.smoothed_error + (1.0 - beta) * error;
        if self.config.carry_error {
            self.smoothed_error = smoothed;
        }
        self.weight = self.config.weight_for(smoothed);
        let new = self.weight * estimate + (1.0 - self.weight) * observed;
        self.estimate = Some(new);
        new
    }

    fn estimate(&self) -> Option<f64> {
        self.estimate
    }

    fn weight_of_history(&self) -> f64 {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn corners_of_both_controllers() {
        let config = FuzzyConfig::default();
        // A pure rule gives its set's centroid, stretched: low error, history alone; high error, none of it.
        assert!(close(config.weight_for(0.0), 1.0));
        assert!(close(config.weight_for(0.7), 0.5));
        assert!(close(config.weight_for(1.0), 0.0));
        assert!(close(config.weight_for(7.0), 0.0));
        assert!(close(weight_for_change(0.0), 0.0));
        assert!(close(weight_for_change(0.5), 0.5));
        assert!(close(weight_for_change(1.0), 1.0));
    }

    #[test]
    fn by_hand() {
        // Change 0.25: "low" to 0.75 (area 0.46875 about 0.35), "high" to 0.25 (area 0.21875 about 0.5595238), overlap
        // (area 0.1875 about 0.5): the centroid is 0.1927083 / 0.5 = 0.3854167, stretched 0.15625.
        assert!(close(weight_for_change(0.25), 0.156_25));
        // Error 0.35: "low" and "medium" to a half each. α's sets "medium" (area 0.375 about 0.5), "high" (area
        // 0.1875 about 0.8055556), overlap (area 0.125 about 0.75): 0.2447917 / 0.4375 = 0.5595238, stretched 0.5892857.
        let weight = FuzzyConfig::default().weight_for(0.35);
        assert!(close(weight, 0.589_285_714_285_7), "{weight}");
    }

    /// The controllers' laws by numerical integration of the clipped sets (a million steps, in another language).
    #[test]
    fn agrees_with_integrated_vectors() {
        let vectors = [(0.1, 0.811_059_907_8), (0.5, 0.528_875_379_9), (0.85, 0.410_714_285_7)];
        for (error, expected) in vectors {
            let found = FuzzyConfig::default().weight_for(error);
            assert!((found - expected).abs() < 1e-9, "{error}: {found}");
        }
    }

    /// Two steps by hand: 1, then 2, then 2 again.
    #[test]
    fn a_step_is_followed_from_the_second_observation_on() {
        let mut fuzzy = FuzzyAverage::new(&FuzzyConfig { initial_error: 0.0, ..FuzzyConfig::default() });
        fuzzy.update(&Sample::of(1.0));
        // e = 1/2, β = 1/2, ē = 1/4.
        let alpha = FuzzyConfig::default().weight_for(0.25);
        let first = fuzzy.update(&Sample::of(2.0));
        assert!(close(first, alpha + 2.0 * (1.0 - alpha)), "{first}");
        // e = (2 - θ̂) / 2; β from its change since 1/2.
        let error = (2.0 - first) / 2.0;
        let beta = weight_for_change(0.5 - error);
        let alpha = FuzzyConfig::default().weight_for(beta * 0.25 + (1.0 - beta) * error);
        let second = fuzzy.update(&Sample::of(2.0));
        assert!(close(second, alpha * first + 2.0 * (1.0 - alpha)), "{second}");
        assert!(second > first);
    }

    #[test]
    fn the_program_forgets_its_error_and_divides_by_the_estimate() {
        let mut fuzzy = FuzzyAverage::new(&FuzzyConfig::program());
        fuzzy.update(&Sample::of(2.0));
        // The first comparison is with 1.5 · 1 whatever the estimate: e = 1/3, β = 7/27, ē = 7/27 · 1/2 + 20/27 · 1/3.
        let alpha = FuzzyConfig::program().weight_for(7.0 / 54.0 + 20.0 / 81.0);
        let first = fuzzy.update(&Sample::of(1.0));
        assert!(close(first, alpha * 2.0 + (1.0 - alpha)), "{first}");
        let settled = (0..200).fold(0.0, |_, _| fuzzy.update(&Sample::of(1.0)));
        assert!(close(fuzzy.smoothed_error, 0.5) && (settled - 1.0).abs() < 0.02, "{settled}");
        // A change in error of 9: β is far below 0, ē above 1, and the jump is believed at once.
        let mut fuzzy = FuzzyAverage::new(&FuzzyConfig::program());
        let jumped = [1.0, 1.0, 1.0, 10.0].map(|seen| fuzzy.update(&Sample::of(seen)));
        assert!(close(jumped[3], 10.0), "{jumped:?}");
        // The crossed trapezium: low 1/6 and medium 5/6 at error 0.75 differ from the exact union.
        assert!(
            (FuzzyConfig::program().weight_for(0.75) - FuzzyConfig::default().weight_for(0.75)).abs() > 1e-3
        );
    }

    proptest! {
        #[test]
        fn a_larger_error_gives_history_less_weight(a in 0.0..1.0_f64, b in 0.0..1.0_f64) {
            let config = FuzzyConfig::default();
            let (small, large) = (a.min(b), a.max(b));
            prop_assert!(config.weight_for(small) >= config.weight_for(large) - 1e-12);
            prop_assert!(weight_for_change(small) <= weight_for_change(large) + 1e-12);
        }

        /// The polynomial is the centroid of the union of trapezia.
        #[test]
        fn a_change_weighs_as_its_sets_say(change in 0.0..=1.0_f64) {
            let (low, high) = (1.0 - change, change);
            let parts = [Trapezium::falling(0.0, 1.0, low), Trapezium::rising(0.0, 1.0, high)];
            let overlap = [Trapezium::overlap(0.0, 1.0, low.min(high))];
            let stretched = Trapezium::union_centroid(&parts, &overlap) * 3.0 - 1.0;
            prop_assert!((stretched - weight_for_change(change)).abs() < 1e-12);
        }

        /// The estimate stays between the least and the largest observation, in both forms.
        #[test]
        fn estimates_stay_in_range(seen in prop::collection::vec(1e-6..1e3_f64, 1..200), program: bool) {
            let config = if program { FuzzyConfig::program() } else { FuzzyConfig::default() };
            let mut fuzzy = FuzzyAverage::new(&config);
            let (mut least, mut most) = (f64::MAX, 0.0_f64);
            for value in seen {
                least = least.min(value);
                most = most.max(value);
                let estimate = fuzzy.update(&Sample::of(value));
                prop_assert!(estimate >= least * (1.0 - 1e-12) && estimate <= most * (1.0 + 1e-12));
            }
        }

        /// Scaling all observations scales all estimates: errors are proportional.
        #[test]
        fn is_free_of_scale(seen in prop::collection::vec(0.1..10.0_f64, 1..50), scale in 1e-6..1e6_f64) {
            let config = FuzzyConfig::default();
            let (mut one, mut other) = (FuzzyAverage::new(&config), FuzzyAverage::new(&config));
            for value in seen {
                let a = one.update(&Sample::of(value)) * scale;
                let b = other.update(&Sample::of(value * scale));
                prop_assert!((a - b).abs() <= 1e-9 * a.abs());
            }
        }
    }
}
