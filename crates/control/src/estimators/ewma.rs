//! Exponential averaging with a fixed constant: the predictor that the fuzzy one (`fuzzy.rs`) adapts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Checker;

use super::{Estimator, Sample};

/// Parameters of exponential averaging.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EwmaConfig {
    /// α: the weight of history, from 0 (the last observation alone) to below 1. Default 0.9.
    pub history: f64,
}

impl Default for EwmaConfig {
    fn default() -> Self {
        Self { history: 0.9 }
    }
}

impl EwmaConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        let ok = (0.0..1.0).contains(&self.history);
        checker.require(ok, "history", self.history, "a number from 0 to below 1");
    }
}

/// `θ̂ ← α θ̂ + (1 - α) θ̃` (Keshav 1994, §4.5.2), beginning with the first observation.
#[derive(Clone, Debug)]
pub struct Ewma {
    history: f64,
    estimate: Option<f64>,
}

impl Ewma {
    /// An average without observations.
    pub fn new(config: &EwmaConfig) -> Self {
        Self { history: config.history, estimate: None }
    }
}

impl Estimator for Ewma {
    fn update(&mut self, sample: &Sample) -> f64 {
        let old = self.estimate.unwrap_or(sample.observed);
        let new = self.history * old + (1.0 - self.history) * sample.observed;
        self.estimate = Some(new);
        new
    }

    fn estimate(&self) -> Option<f64> {
        self.estimate
    }

    fn weight_of_history(&self) -> f64 {
        self.history
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_convolution_with_an_exponential() {
        let mut average = Ewma::new(&EwmaConfig { history: 0.5 });
        assert_eq!(average.estimate(), None);
        let seen = [8.0, 4.0, 2.0, 10.0].map(|value| average.update(&Sample::of(value)));
        assert_eq!(seen, [8.0, 6.0, 4.0, 7.0]);
    }
}
