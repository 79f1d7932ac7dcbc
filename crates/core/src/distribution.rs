//! Distributions of times and of amounts of data, as sources and links are configured with them. What is drawn from
//! them, and when, is decided there.
//!
//! Each is given by its mean, so that distributions can be exchanged at equal load; the Pareto distribution also by
//! its smallest value, which it has where its mean is infinite (shape up to 1).

use rand_distr::Distribution as _;
use rand_distr::StandardNormal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Checker, Span, Stream};

/// A quantity that a distribution can be over.
pub trait Quantity: Copy + PartialOrd + std::fmt::Display {
    /// In base units.
    fn to_real(self) -> f64;
    /// From base units, rounded; never below one base unit, so that sources always move on.
    fn from_real(value: f64) -> Self;
}

impl Quantity for Span {
    fn to_real(self) -> f64 {
        self.as_nanos() as f64
    }
    fn from_real(value: f64) -> Self {
        Self::from_nanos((value.round() as u64).max(1))
    }
}

impl Quantity for Bytes {
    fn to_real(self) -> f64 {
        self.as_f64()
    }
    fn from_real(value: f64) -> Self {
        // `Bytes::MAX` means "without end" to a source; no draw may say that.
        Self::new((value.round() as u64).clamp(1, u64::MAX / 2))
    }
}

/// A distribution of times or of amounts of data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{Q}Distribution")]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution<Q> {
    /// Always the same.
    Constant {
        /// The value.
        value: Q,
    },
    /// Exponential.
    Exponential {
        /// The mean.
        mean: Q,
    },
    /// Pareto: `P(X > x) = (min/x)^shape` for x above `min`. Give either `mean` (with a shape above 1) or `min`.
    Pareto {
        /// The mean, `min · shape / (shape - 1)`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean: Option<Q>,
        /// The smallest value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<Q>,
        /// The tail's exponent; below 2 the variance is infinite.
        shape: f64,
    },
    /// Uniform between two ends.
    Uniform {
        /// The lower end.
        from: Q,
        /// The upper end.
        to: Q,
    },
    /// Weibull: `P(X > x) = exp(-(x/scale)^shape)`, with the scale that gives the mean.
    Weibull {
        /// The mean.
        mean: Q,
        /// The exponent; below 1 the tail is heavier than exponential.
        shape: f64,
    },
    /// Log-normal.
    Lognormal {
        /// The mean of the values (not of their logarithms).
        mean: Q,
        /// The standard deviation of the values' natural logarithms.
        sigma: f64,
    },
    /// One of a list of measured values, each as likely as the others; or a measured distribution function, as published
    /// sizes of flows are given.
    Empirical {
        /// The values; repeat one to make it more likely. With `cumulative` in rising order.
        values: Vec<Q>,
        /// The probability that a draw is at most each of the values, up to 1. Between two values draws are spread evenly;
        /// the first value itself is drawn with the first probability, and a value that stands there twice with the
        /// difference of its two. Absent, values are drawn as they are, each as likely as the others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cumulative: Option<Vec<f64>>,
    },
}

impl<Q: Quantity> Distribution<Q> {
    /// Always the same.
    pub const fn constant(value: Q) -> Self {
        Self::Constant { value }
    }

    /// Exponential.
    pub const fn exponential(mean: Q) -> Self {
        Self::Exponential { mean }
    }

    /// Pareto with a mean, for shapes above 1.
    pub const fn pareto(mean: Q, shape: f64) -> Self {
        Self::Pareto { mean: Some(mean), min: None, shape }
    }

    /// One value.
    pub fn sample(&self, rng: &mut Stream) -> Q {
        Q::from_real(match self {
            Self::Constant { value } => value.to_real(),
            Self::Exponential { mean } => mean.to_real() * rng.exponential(),
            Self::Pareto { mean, min, shape } => pareto_min(*mean, *min, *shape) * rng.pareto(*shape),
            Self::Uniform { from, to } => from.to_real() + (to.to_real() - from.to_real()) * rng.uniform(),
            Self::Weibull { mean, shape } => {
                mean.to_real() / gamma(1.0 + 1.0 / shape) * rng.exponential().powf(1.0 / shape)
            }
            Self::Lognormal { mean, sigma } => {
                let normal: f64 = StandardNormal.sample(rng);
                mean.to_real() * (sigma * normal - sigma * sigma / 2.0).exp()
            }
            Self::Empirical { values, cumulative: None } => {
                let index = rng.below(values.len() as u64) as usize;
                values.get(index).map_or(0.0, |value| value.to_real())
            }
            Self::Empirical { values, cumulative: Some(cumulative) } => {
                quantile(values, cumulative, rng.uniform())
            }
        })
    }

    /// The mean in base units (nanoseconds or bytes); infinite for Pareto with a shape up to 1.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant { value } => value.to_real(),
            Self::Exponential { mean } | Self::Weibull { mean, .. } | Self::Lognormal { mean, .. } => {
                mean.to_real()
            }
            Self::Pareto { shape, .. } if *shape <= 1.0 => f64::INFINITY,
            Self::Pareto { mean, min, shape } => pareto_min(*mean, *min, *shape) * shape / (shape - 1.0),
            Self::Uniform { from, to } => f64::midpoint(from.to_real(), to.to_real()),
            Self::Empirical { values, cumulative: None } => {
                values.iter().map(|value| value.to_real()).sum::<f64>() / values.len().max(1) as f64
            }
            Self::Empirical { values, cumulative: Some(cumulative) } => pieces(values, cumulative)
                .map(|((low, below), (high, up_to))| (up_to - below) * f64::midpoint(low, high))
                .sum(),
        }
    }

    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        let mut positive = |field: &str, value: Q| {
            checker.require(value.to_real() > 0.0, field, value, "more than zero");
        };
        match self {
            Self::Constant { value } => positive("value", *value),
            Self::Exponential { mean } => positive("mean", *mean),
            Self::Uniform { from, to } => {
                positive("to", *to);
                checker.require(from <= to, "from", from, format_args!("at most `to` ({to})"));
            }
            Self::Weibull { mean, shape } => {
                positive("mean", *mean);
                checker.require((0.05..=100.0).contains(shape), "shape", shape, "0.05 to 100");
            }
            Self::Lognormal { mean, sigma } => {
                positive("mean", *mean);
                checker.require((0.0..=10.0).contains(sigma), "sigma", sigma, "0 to 10");
            }
            Self::Empirical { values, cumulative } => {
                checker.require(!values.is_empty(), "values", "[]", "at least one value");
                let sum: f64 = values.iter().map(|value| value.to_real()).sum();
                checker.require(values.is_empty() || sum > 0.0, "values", "0", "not zero only");
                if let Some(cumulative) = cumulative {
                    check_cumulative(values, cumulative, checker);
                }
            }
            Self::Pareto { mean, min, shape } => {
                let given = [("mean", mean), ("min", min)];
                for (field, value) in given {
                    if let Some(value) = value {
                        positive(field, *value);
                    }
                }
                check_pareto(mean.is_some(), min.is_some(), *shape, checker);
            }
        }
    }
}

fn check_pareto(mean: bool, min: bool, shape: f64, checker: &mut Checker) {
    checker.require(shape > 0.0 && shape <= 100.0, "shape", shape, "above 0, at most 100");
    checker.require(mean != min, "mean", "both or none of `mean` and `min`", "exactly one of them");
    let finite = !mean || shape > 1.0;
    checker.require(finite, "shape", shape, "above 1 where `mean` is given (else the mean is infinite)");
}

/// The steps of a distribution function: the value and the probability at the beginning and at the end of each. The first is
/// a jump from 0 at the first value.
fn pieces<'a, Q: Quantity>(
    values: &'a [Q],
    cumulative: &'a [f64],
) -> impl Iterator<Item = ((f64, f64), (f64, f64))> + 'a {
    let points = values.iter().map(|value| value.to_real()).zip(cumulative.iter().copied());
    points.scan(None, |before, point| {
        let (value, _) = point;
        Some((before.replace(point).unwrap_or((value, 0.0)), point))
    })
}

/// The value that a share `part` of draws lies below, part in [0, 1).
fn quantile<Q: Quantity>(values: &[Q], cumulative: &[f64], part: f64) -> f64 {
    let after = cumulative.partition_point(|&up_to| up_to <= part);
    let Some((high, up_to)) = values.get(after).zip(cumulative.get(after)) else {
        return values.last().map_or(0.0, |value| value.to_real());
    };
    let before = after.checked_sub(1).and_then(|at| values.get(at).zip(cumulative.get(at)));
    // `up_to` is above `part`, and `below` is not, so there is something to divide by.
    before.map_or(high.to_real(), |(low, below)| {
        low.to_real() + (high.to_real() - low.to_real()) * ((part - below) / (up_to - below))
    })
}

fn check_cumulative<Q: Quantity>(values: &[Q], cumulative: &[f64], checker: &mut Checker) {
    let counted = format_args!("as many as `values`, {}", values.len()).to_string();
    checker.require(cumulative.len() == values.len(), "cumulative", cumulative.len(), counted);
    let falls = |pair: &&[Q]| pair.first() > pair.last();
    if let Some([_, value]) = values.windows(2).find(falls) {
        checker.require(false, "values", value, "in rising order where `cumulative` is given");
    }
    let mut before = 0.0;
    for probability in cumulative {
        if !(before..=1.0).contains(probability) {
            let allowed = "probabilities from 0 to 1 that do not fall";
            checker.require(false, "cumulative", probability, allowed);
            return;
        }
        before = *probability;
    }
    checker.require(
        cumulative.is_empty() || before >= 1.0,
        "cumulative",
        before,
        "1 as the last probability",
    );
}

fn pareto_min<Q: Quantity>(mean: Option<Q>, min: Option<Q>, shape: f64) -> f64 {
    match (mean, min) {
        (_, Some(min)) => min.to_real(),
        (Some(mean), None) => mean.to_real() * (shape - 1.0) / shape,
        (None, None) => 1.0,
    }
}

/// The gamma function for arguments of at least 1, by Lanczos' approximation (g = 7, n = 9; Numerical Recipes §6.1),
/// to about 15 digits.
fn gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let sum = COEFFICIENTS
        .iter()
        .zip(1_u32..)
        .fold(0.999_999_999_999_809_9, |sum, (coefficient, i)| sum + coefficient / (x + f64::from(i)));
    let t = x + 7.5;
    std::f64::consts::TAU.sqrt() * t.powf(x + 0.5) * (-t).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(distribution: &Distribution<Span>, count: usize) -> Vec<f64> {
        let mut rng = Stream::new(11, "distribution");
        (0..count).map(|_| distribution.sample(&mut rng).to_real()).collect()
    }

    fn all() -> Vec<Distribution<Span>> {
        let mean = Span::from_millis(20);
        vec![
            Distribution::constant(mean),
            Distribution::exponential(mean),
            Distribution::pareto(mean, 2.5),
            Distribution::Pareto { mean: None, min: Some(Span::from_millis(12)), shape: 2.5 },
            Distribution::Uniform { from: Span::from_millis(5), to: Span::from_millis(35) },
            Distribution::Weibull { mean, shape: 0.6 },
            Distribution::Lognormal { mean, sigma: 0.8 },
            Distribution::Empirical { values: [1, 2, 57].map(Span::from_millis).to_vec(), cumulative: None },
            measured(&[5, 15, 50], &[0.25, 0.5, 1.0]),
        ]
    }

    fn measured(millis: &[u64], cumulative: &[f64]) -> Distribution<Span> {
        let values = millis.iter().copied().map(Span::from_millis).collect();
        Distribution::Empirical { values, cumulative: Some(cumulative.to_vec()) }
    }

    #[test]
    fn measured_distribution_functions_are_met_at_their_points_and_are_straight_between_them() {
        // A quarter at 1 ms, a quarter between 1 and 5 ms, none between 5 and 8 ms, a tenth at 8 ms.
        let distribution = measured(&[1, 5, 8, 8, 20], &[0.25, 0.5, 0.5, 0.6, 1.0]);
        let draws = draws(&distribution, 400_000);
        // Four standard errors of a share of 400 000 are 0.0032 at most.
        for (millis, share) in
            [(0.999, 0.0), (1.0, 0.25), (3.0, 0.375), (5.0, 0.5), (7.999, 0.5), (8.0, 0.6), (14.0, 0.8)]
        {
            let found =
                draws.iter().filter(|&&draw| draw <= millis * 1e6).count() as f64 / draws.len() as f64;
            assert!((found - share).abs() < 0.0032, "{found} up to {millis} ms instead of {share}");
        }
        assert!(draws.iter().all(|draw| (1e6..=20e6).contains(draw)));
        assert!((distribution.mean() - (0.25 + 0.25 * 3.0 + 0.1 * 8.0 + 0.4 * 14.0) * 1e6).abs() < 1e-3);
    }

    #[test]
    fn draws_have_the_stated_mean() {
        for distribution in all() {
            let draws = draws(&distribution, 400_000);
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            assert!((distribution.mean() - 20e6).abs() < 1.0, "{distribution:?}: {}", distribution.mean());
            assert!((mean - 20e6).abs() < 0.01 * 20e6, "{distribution:?}: {mean}");
        }
    }

    #[test]
    fn pareto_tails_have_their_exponent() {
        // Hill's estimator over the largest 2 % of 200 000 draws; its standard error is shape/√4000, 1.6 %.
        for shape in [1.05, 1.5, 1.95] {
            let mut draws = draws(&Distribution::pareto(Span::from_secs(1), shape), 200_000);
            draws.sort_by(f64::total_cmp);
            let (threshold, tail) = (draws[draws.len() - 4001], &draws[draws.len() - 4000..]);
            let hill = 4000.0 / tail.iter().map(|x| (x / threshold).ln()).sum::<f64>();
            assert!((hill / shape - 1.0).abs() < 0.05, "{hill} instead of {shape}");
        }
    }

    #[test]
    fn weibull_and_lognormal_have_their_medians() {
        let median = |distribution: &Distribution<Span>| {
            let mut draws = draws(distribution, 200_000);
            draws.sort_by(f64::total_cmp);
            draws[draws.len() / 2]
        };
        // Weibull: scale · (ln 2)^(1/shape), with scale = mean/Γ(1 + 1/shape) and Γ(1 + 2) = 2.
        let weibull = median(&Distribution::Weibull { mean: Span::from_millis(20), shape: 0.5 });
        assert!((weibull / (10e6 * 0.480_453) - 1.0).abs() < 0.02, "{weibull}");
        // Log-normal: mean · exp(-σ²/2).
        let lognormal = median(&Distribution::Lognormal { mean: Span::from_millis(20), sigma: 1.0 });
        assert!((lognormal / (20e6 * 0.606_531) - 1.0).abs() < 0.02, "{lognormal}");
    }

    #[test]
    fn the_gamma_function_knows_its_factorials() {
        for (x, expected) in
            [(1.0, 1.0), (2.0, 1.0), (5.0, 24.0), (11.0, 3_628_800.0), (1.5, 0.886_226_925_452_758)]
        {
            assert!((gamma(x) / expected - 1.0).abs() < 1e-12, "{x}: {}", gamma(x));
        }
    }

    #[test]
    fn draws_are_never_zero_nor_without_end() {
        let mut rng = Stream::new(1, "extremes");
        let huge = Distribution::Pareto { mean: None, min: Some(Bytes::new(1 << 60)), shape: 0.01 };
        let empty = Distribution::<Bytes>::Empirical { values: vec![], cumulative: None };
        let emptier = Distribution::<Bytes>::Empirical { values: vec![], cumulative: Some(vec![]) };
        for _ in 0..1000 {
            assert!(huge.sample(&mut rng) < Bytes::MAX);
            assert_eq!(empty.sample(&mut rng), Bytes::new(1));
            assert_eq!(emptier.sample(&mut rng), Bytes::new(1));
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let bad: [(Distribution<Span>, &str); 13] = [
            (Distribution::constant(Span::ZERO), "value"),
            (Distribution::pareto(Span::from_secs(1), 1.0), "shape"),
            (Distribution::Pareto { mean: None, min: None, shape: 1.5 }, "mean"),
            (Distribution::Uniform { from: Span::from_secs(2), to: Span::from_secs(1) }, "from"),
            (Distribution::Weibull { mean: Span::from_secs(1), shape: f64::NAN }, "shape"),
            (Distribution::Lognormal { mean: Span::from_secs(1), sigma: -1.0 }, "sigma"),
            (Distribution::Empirical { values: vec![], cumulative: None }, "values"),
            (measured(&[1, 2], &[1.0]), "cumulative"),
            (measured(&[2, 1], &[0.5, 1.0]), "values"),
            (measured(&[1, 2, 3], &[0.5, 0.4, 1.0]), "cumulative"),
            (measured(&[1, 2], &[15.0, 100.0]), "cumulative"),
            (measured(&[1, 2], &[0.5, 0.9]), "cumulative"),
            (measured(&[1, 2], &[f64::NAN, 1.0]), "cumulative"),
        ];
        for (distribution, field) in bad {
            let mut checker = Checker::new();
            distribution.check(&mut checker);
            let errors = checker.finish().expect_err("bad");
            assert_eq!(errors.len(), 1, "{errors:?}");
            assert_eq!(errors[0].field, field);
        }
        for distribution in all() {
            let mut checker = Checker::new();
            distribution.check(&mut checker);
            assert_eq!(checker.finish(), Ok(()), "{distribution:?}");
        }
    }
}
