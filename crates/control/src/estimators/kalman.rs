//! The three-state Kalman filter of the bottleneck: packets in its queue, its service rate, and the service rate one
//! epoch ago, which alone is observed. The variances of both noises are given, not learnt.
//!
//! Source: S. Keshav, "Packet-Pair Flow Control" (1994), §4.4; the predictor form of Goodwin and Sin (1984), p. 249.
//! With `x = (n_b, μ, μ₋₁)`, `u = λ` and the round trip time `T` of the epoch:
//!
//! | equation | where |
//! | --- | --- |
//! | `x(k+1) = G x(k) + H u(k) + v₁`, `G = [1 -T 0; 0 1 0; 0 1 0]`, `H = (T, 0, 0)` | §4.4.1 |
//! | `y(k) = C x(k) + v₂`, `C = (0 0 1)` | §4.4.1 |
//! | `K = G Σ Cᵀ (C Σ Cᵀ + R)⁻¹` | §4.4.2 |
//! | `x̂(k+1) = G x̂ + K (y - C x̂) + H u` | §4.4.2 |
//! | `Σ(k+1) = G Σ Gᵀ + Q - K (C Σ Cᵀ + R) Kᵀ`, `Q = diag(0, E ω², 0)` | §4.4.2 |
//!
//! The observation is a scalar, so the inverse is a division. `n_b` is not observable from μ₋₁: its estimate is an
//! integral, whose variance grows without bound. That is why §4.3 prefers `n̂_b = S - R μ̂`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Checker;

use super::{Estimator, Sample};

type Matrix = [[f64; 3]; 3];

/// The filter.
#[derive(Clone, Debug)]
pub struct Kalman {
    state: [f64; 3],
    covariance: Matrix,
    /// E ω²: the variance of the service rate's change per epoch, in (packets/s)².
    system: f64,
    /// E v₂²: the variance of its observation.
    observation: f64,
}

impl Kalman {
    /// A filter with the variances of the change of the service rate per epoch and of its observation, both in
    /// (packets/s)², that begins with a state and its covariance.
    pub const fn new(system: f64, observation: f64, state: [f64; 3], covariance: Matrix) -> Self {
        Self { state, covariance, system, observation }
    }

    /// As published: nothing in the queue, no rate, and certain of both.
    pub const fn published(system: f64, observation: f64) -> Self {
        Self::new(system, observation, [0.0; 3], [[0.0; 3]; 3])
    }

    /// One epoch of `round_trip` seconds, sent at `sending` packets/s, that ends with the observation of a service
    /// rate in packets/s.
    pub fn update(&mut self, observed: f64, sending: f64, round_trip: f64) {
        let [queue, rate, before] = self.state;
        let p = &self.covariance;
        let innovation = p[2][2] + self.observation;
        // G Σ Cᵀ: the third column of Σ, moved on by G.
        let moved = [p[0][2] - round_trip * p[1][2], p[1][2], p[1][2]];
        // Certain of the state and of the observation: nothing to learn.
        let gain = moved.map(|entry| if innovation > 0.0 { entry / innovation } else { 0.0 });
        let error = observed - before;
        self.state = [
            queue + round_trip * (sending - rate) + gain[0] * error,
            rate + gain[1] * error,
            rate + gain[2] * error,
        ];
        let mut next = propagate(p, round_trip);
        next[1][1] += self.system;
        for (row, a) in next.iter_mut().zip(gain) {
            for (entry, b) in row.iter_mut().zip(gain) {
                *entry -= a * innovation * b;
            }
        }
        self.covariance = next;
    }

    /// The estimate of packets in the queue at the start of the next epoch.
    pub const fn queue(&self) -> f64 {
        self.state[0]
    }

    /// The prediction of the service rate in the next epoch, in packets/s.
    pub const fn service_rate(&self) -> f64 {
        self.state[1]
    }

    /// The state `(n_b, μ, μ₋₁)`.
    pub const fn state(&self) -> [f64; 3] {
        self.state
    }

    /// The covariance of the state's error.
    pub const fn covariance(&self) -> Matrix {
        self.covariance
    }
}

/// `G Σ Gᵀ`.
fn propagate(p: &Matrix, t: f64) -> Matrix {
    let forward = |row: [f64; 3]| [row[0] - t * row[1], row[1], row[1]];
    let rows = [forward(p[0]), forward(p[1])];
    // Rows of `Σ Gᵀ`, combined as G combines rows.
    let first = [0, 1, 2].map(|column| rows[0][column] - t * rows[1][column]);
    [first, rows[1], rows[1]]
}

/// Parameters of the Kalman filter as an estimator of a service time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KalmanConfig {
    /// The standard deviation of the service rate's change from one observation to the next, as a part of the first
    /// rate observed. Default 0.05; to be supplied by who knows the network (Keshav 1994, §4.4.2).
    pub system_deviation: f64,
    /// The standard deviation of the observation noise, as a part of the first rate observed. Default 0.1; likewise.
    pub observation_deviation: f64,
}

impl Default for KalmanConfig {
    fn default() -> Self {
        Self { system_deviation: 0.05, observation_deviation: 0.1 }
    }
}

impl KalmanConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        let ok = |value: f64| value > 0.0 && value <= 1e3;
        let allowed = "a part above 0, at most 1000";
        checker.require(ok(self.system_deviation), "system_deviation", self.system_deviation, allowed);
        let observation = self.observation_deviation;
        checker.require(ok(observation), "observation_deviation", observation, allowed);
    }
}

/// The filter as an estimator of service *times*: it works on their reciprocals and begins with the first of them.
#[derive(Clone, Debug)]
pub struct ServiceKalman {
    config: KalmanConfig,
    filter: Option<Kalman>,
    weight: f64,
    /// The longest service time seen: a rate estimated at or below zero gives it.
    longest: f64,
}

impl ServiceKalman {
    /// An estimator without observations.
    pub fn new(config: &KalmanConfig) -> Self {
        Self { config: config.clone(), filter: None, weight: 1.0, longest: 0.0 }
    }
}

impl Estimator for ServiceKalman {
    fn update(&mut self, sample: &Sample) -> f64 {
        let rate = 1.0 / sample.observed;
        self.longest = self.longest.max(sample.observed);
        let variance = |deviation: f64| (deviation * rate).powi(2);
        let filter = self.filter.get_or_insert_with(|| {
            let noise = variance(self.config.observation_deviation);
            let certain = [[0.0, 0.0, 0.0], [0.0, noise, noise], [0.0, noise, noise]];
            Kalman::new(variance(self.config.system_deviation), noise, [0.0, rate, rate], certain)
        });
        let before = filter.service_rate();
        let surprise = rate - filter.state[2];
        filter.update(rate, sample.rate, sample.epoch);
        let moved = filter.service_rate() - before;
        self.weight = if surprise == 0.0 { self.weight } else { 1.0 - moved / surprise };
        self.estimate().unwrap_or(sample.observed)
    }

    fn estimate(&self) -> Option<f64> {
        let rate = self.filter.as_ref()?.service_rate();
        // The random walk may estimate a rate below any that was seen, even below zero; a service time may not.
        Some(if rate * self.longest > 1.0 { 1.0 / rate } else { self.longest })
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
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn certain_of_everything_it_only_integrates() {
        let mut filter = Kalman::new(0.0, 1.0, [5.0, 2.0, 2.0], [[0.0; 3]; 3]);
        filter.update(9.0, 3.0, 0.5);
        assert_eq!(filter.state(), [5.5, 2.0, 2.0]);
    }

    /// Against the published matrix equations with a general inverse, computed with NumPy.
    #[test]
    fn agrees_with_the_matrix_form() {
        let start = [[0.5, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]];
        let mut filter = Kalman::new(0.25, 1.5, [2.0, 1.0, 1.0], start);
        let steps = [
            ((1.4, 1.2, 0.5), [2.1, 1.0, 1.0], [0.75, -0.5, 1.25, 1.0]),
            ((0.7, 0.9, 0.8), [2.176, 0.88, 0.88], [1.674, -0.98, 1.1, 0.85]),
            (
                (2.1, 1.5, 0.3),
                [1.720_851_063_829_787_4, 1.321_276_595_744_680_8, 1.321_276_595_744_680_8],
                [
                    1.711_968_085_106_383,
                    -0.863_297_872_340_425_7,
                    1.042_553_191_489_361_8,
                    0.792_553_191_489_361_8,
                ],
            ),
            (
                (1.0, 0.2, 1.1),
                [0.730_603_248_259_860_8, 1.210_208_816_705_336_4, 1.210_208_816_705_336_4],
                [
                    3.559_506_960_556_845_5,
                    -1.410_266_821_345_708,
                    1.018_561_484_918_793_6,
                    0.768_561_484_918_793_6,
                ],
            ),
        ];
        for ((observed, sending, round_trip), state, [queue, cross, rate, before]) in steps {
            filter.update(observed, sending, round_trip);
            let covariance = [[queue, cross, cross], [cross, rate, before], [cross, before, before]];
            assert!(filter.state().iter().zip(state).all(|(found, right)| close(*found, right)));
            let found = filter.covariance();
            let mut pairs = found.as_flattened().iter().zip(covariance.as_flattened());
            assert!(pairs.all(|(found, right)| close(*found, *right)), "{found:?}");
        }
    }

    /// Against filterpy, by `tools/kalman_vectors.py`.
    #[test]
    fn agrees_with_another_library() {
        let lines = include_str!("vectors/kalman.csv").lines().skip(2);
        let mut filter: Option<Kalman> = None;
        let mut steps = 0;
        for line in lines {
            let numbers: Vec<f64> = line.split(',').map(|number| number.parse().unwrap()).collect();
            let [system, observation, observed, sent, epoch] = numbers[..5] else { panic!("{line}") };
            let known = filter.take().filter(|filter| filter.system.to_bits() == system.to_bits());
            let mut next = known.unwrap_or_else(|| {
                let start = [[0.5, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]];
                Kalman::new(system, observation, [2.0, 1.0, 1.0], start)
            });
            next.update(observed, sent, epoch);
            let covariance = next.covariance();
            let found = next.state().into_iter().chain(covariance.as_flattened().iter().copied());
            for (found, right) in found.zip(&numbers[5..]) {
                assert!(
                    (found - right).abs() < 1e-9 * right.abs().max(1.0),
                    "step {steps}: {found} for {right}"
                );
            }
            filter = Some(next);
            steps += 1;
        }
        assert_eq!(steps, 180);
    }

    #[test]
    fn settles_at_the_gain_of_the_scalar_riccati_equation() {
        // The pair (μ, μ₋₁) is a random walk observed one step late: the prediction's variance m of μ₋₁ solves
        // m² = q m + q r at rest, as for the scalar filter, and the gain is m / (m + r).
        let (q, r) = (0.04, 1.0);
        let mut filter = Kalman::published(q, r);
        for _ in 0..500 {
            filter.update(1.0, 1.0, 1.0);
        }
        let m: f64 = 0.5 * (q + (q * q + 4.0 * q * r).sqrt());
        assert!(close(filter.covariance()[2][2], m), "{} {m}", filter.covariance()[2][2]);
        assert!(close(filter.service_rate(), 1.0));
    }

    proptest! {
        /// The covariance stays symmetric, and of μ non-negative, whatever is observed.
        #[test]
        fn covariances_stay_covariances(seen in prop::collection::vec((0.1..10.0_f64, 0.0..10.0_f64, 0.01..1.0_f64), 1..200)) {
            let mut filter = Kalman::published(0.1, 0.5);
            for (observed, sending, epoch) in seen {
                filter.update(observed, sending, epoch);
                let p = filter.covariance();
                for (i, row) in p.iter().enumerate() {
                    for (j, entry) in row.iter().enumerate() {
                        prop_assert!(close(*entry, p[j][i]));
                    }
                }
                prop_assert!(p[1][1] >= 0.0 && p[2][2] >= -1e-12);
            }
        }

        /// As an estimator of service times it never leaves what was observed by a sign.
        #[test]
        fn service_times_stay_positive(seen in prop::collection::vec(1e-4..1e2_f64, 1..200)) {
            let mut estimator = ServiceKalman::new(&KalmanConfig::default());
            for observed in seen {
                let estimate = estimator.update(&Sample { observed, rate: 1.0 / observed, epoch: 1.0 });
                prop_assert!(estimate.is_finite() && estimate > 0.0);
            }
        }
    }
}
