//! Any of the estimators, chosen by a scenario. The estimators themselves live in files of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Checker;

use super::{Estimator, Ewma, EwmaConfig, FuzzyAverage, FuzzyConfig, KalmanConfig, Sample, ServiceKalman};

/// An estimator with its parameters, as scenarios name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[schemars(rename = "ServiceEstimator")]
pub enum EstimatorConfig {
    /// Fuzzy exponential averaging (Keshav 1994, §4.5).
    Fuzzy(FuzzyConfig),
    /// The Kalman filter of Keshav 1994, §4.4, with given noise.
    Kalman(KalmanConfig),
    /// Exponential averaging with a fixed constant.
    Ewma(EwmaConfig),
}

impl Default for EstimatorConfig {
    fn default() -> Self {
        Self::Fuzzy(FuzzyConfig::default())
    }
}

impl EstimatorConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        match self {
            Self::Fuzzy(config) => config.check(checker),
            Self::Kalman(config) => config.check(checker),
            Self::Ewma(config) => config.check(checker),
        }
    }

    /// The estimator, without observations.
    pub fn build(&self) -> AnyEstimator {
        match self {
            Self::Fuzzy(config) => AnyEstimator::Fuzzy(FuzzyAverage::new(config)),
            Self::Kalman(config) => AnyEstimator::Kalman(ServiceKalman::new(config)),
            Self::Ewma(config) => AnyEstimator::Ewma(Ewma::new(config)),
        }
    }
}

/// An estimator of a service time.
#[derive(Clone, Debug)]
pub enum AnyEstimator {
    /// Fuzzy exponential averaging.
    Fuzzy(FuzzyAverage),
    /// The Kalman filter.
    Kalman(ServiceKalman),
    /// A fixed exponential average.
    Ewma(Ewma),
}

impl Estimator for AnyEstimator {
    fn update(&mut self, sample: &Sample) -> f64 {
        match self {
            Self::Fuzzy(estimator) => estimator.update(sample),
            Self::Kalman(estimator) => estimator.update(sample),
            Self::Ewma(estimator) => estimator.update(sample),
        }
    }

    fn estimate(&self) -> Option<f64> {
        match self {
            Self::Fuzzy(estimator) => estimator.estimate(),
            Self::Kalman(estimator) => estimator.estimate(),
            Self::Ewma(estimator) => estimator.estimate(),
        }
    }

    fn weight_of_history(&self) -> f64 {
        match self {
            Self::Fuzzy(estimator) => estimator.weight_of_history(),
            Self::Kalman(estimator) => estimator.weight_of_history(),
            Self::Ewma(estimator) => estimator.weight_of_history(),
        }
    }
}
