//! Does more load still bring more throughput? The penalised throughput `γ_k` and the sign of dγ/dλ that linear increase
//! and exponential decrease steer by (Tuan and Park 1999, §3.1). The rate itself is the scheme's business.
//!
//! **What makes the sign hard to see.** A report speaks of packets that left a round trip ago, so it must be compared with
//! the rate of then: the caller pairs each throughput with the load that caused it. And between two reports the load
//! changes by a percent or two, while cross traffic and whole packets move the throughput by more: a bare difference
//! quotient is noise. Two facts help. Without loss, what arrives is what was sent, so more load is more throughput, and
//! no quotient is asked. And with loss `γ_k` falls the faster the larger k is, so a quotient over several reports soon shows
//! its sign.
//!
//! **What fails.** [`Sign::Difference`] takes one report's loss for a decline although a burst of somebody else's caused
//! it, and with k = 0 it hardly ever sees one. [`Sign::Regression`] is late by half its reports. [`Sign::Loss`] does not
//! look at throughput at all: it backs off before the curve's top where losses are rare, and long after it where they are
//! the rule.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Checker;

/// How the sign of dγ/dλ is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sign {
    /// Of the last two reports: negative where packets were lost and throughput and load went opposite ways.
    #[default]
    Difference,
    /// Of the least squares line through the last reports, where one of them tells of loss.
    Regression {
        /// How many reports, from 3 to 1000. Default 8.
        #[serde(default = "eight")]
        reports: u32,
    },
    /// By a measure of congestion in its place (§3.1.1): negative where more than this part of the packets was lost.
    Loss {
        /// The part that is borne, from 0 to below 1. Default 0: any loss.
        #[serde(default)]
        above: f64,
    },
}

const fn eight() -> u32 {
    8
}

tailback_core::choosable!(Sign);

impl Sign {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        match self {
            Self::Difference => {}
            Self::Regression { reports } => {
                let ok = (3..=1000).contains(reports);
                checker.require(ok, "reports", reports, "a whole number from 3 to 1000");
            }
            Self::Loss { above } => {
                let ok = (0.0..1.0).contains(above);
                checker.require(ok, "above", above, "a number from 0 to below 1");
            }
        }
    }
}

/// What one report says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// λ: the rate at which the packets that it speaks of had left, bytes per second.
    pub load: f64,
    /// ν: the rate at which they arrived, bytes per second.
    pub raw: f64,
    /// c: the part of them that was lost, from 0 to 1.
    pub loss: f64,
}

impl Point {
    /// `γ_k = (1 - c)^k ν` (Tuan and Park 1999, eq. 4).
    pub fn penalised(&self, k: f64) -> f64 {
        (1.0 - self.loss).max(0.0).powf(k) * self.raw
    }
}

/// Watches load and throughput.
#[derive(Clone, Debug)]
pub struct LoadThroughput {
    sign: Sign,
    k: f64,
    points: VecDeque<(f64, f64, f64)>,
}

impl LoadThroughput {
    /// Begins without points; `k` is the severity of eq. 4.
    pub fn new(sign: Sign, k: f64) -> Self {
        Self { sign, k, points: VecDeque::new() }
    }

    fn keeps(&self) -> usize {
        match self.sign {
            Sign::Difference => 2,
            Sign::Regression { reports } => reports as usize,
            Sign::Loss { .. } => 1,
        }
    }

    /// Takes a report in: whether more load still brings more throughput. In doubt, as at a rate that does not change, loss
    /// decides.
    pub fn rises(&mut self, point: Point) -> bool {
        while self.points.len() >= self.keeps().max(1) {
            self.points.pop_front();
        }
        self.points.push_back((point.load, point.penalised(self.k), point.loss));
        match self.sign {
            Sign::Loss { above } => point.loss <= above,
            Sign::Difference => point.loss == 0.0 || self.covariance() > 0.0,
            Sign::Regression { .. } => {
                self.points.iter().all(|(.., loss)| *loss == 0.0) || self.covariance() > 0.0
            }
        }
    }

    /// What has the sign of the least squares slope of γ over λ; of the difference quotient where there are two points.
    fn covariance(&self) -> f64 {
        let n = self.points.len() as f64;
        let mean = |of: fn(&(f64, f64, f64)) -> f64| self.points.iter().map(of).sum::<f64>() / n;
        let (load, throughput) = (mean(|point| point.0), mean(|point| point.1));
        self.points.iter().map(|point| (point.0 - load) * (point.1 - throughput)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server of one unit with `c = 1 - 1/λ` above it: the curve's top is at λ = 1 for every k ≥ 1.
    fn at(load: f64) -> Point {
        let loss = (1.0 - 1.0 / load).max(0.0);
        Point { load, raw: load * (1.0 - loss), loss }
    }

    #[test]
    fn finds_the_top_of_a_unimodal_curve_from_both_sides() {
        for sign in [Sign::Difference, Sign::Regression { reports: 3 }, Sign::Loss { above: 0.0 }] {
            let mut watch = LoadThroughput::new(sign, 2.0);
            assert!([0.7, 0.8, 0.9, 0.95].iter().all(|load| watch.rises(at(*load))), "{sign:?}");
            let above = [1.1, 1.2, 1.3].map(|load| watch.rises(at(load)));
            assert!(!above[2], "{sign:?}");
            assert!(!watch.rises(at(1.25)) && !watch.rises(at(1.15)), "falling load, rising γ: {sign:?}");
            let below = [0.9, 0.85, 0.8].map(|load| watch.rises(at(load)));
            assert!(below[2], "{sign:?}");
        }
    }

    #[test]
    fn without_loss_noise_is_no_decline() {
        for sign in [Sign::Difference, Sign::Regression { reports: 4 }] {
            let mut watch = LoadThroughput::new(sign, 2.0);
            let noisy = [(1.0, 1.0), (1.1, 0.9), (1.2, 1.3), (1.3, 1.1)];
            assert!(noisy.iter().all(|(load, raw)| watch.rises(Point { load: *load, raw: *raw, loss: 0.0 })));
        }
    }

    /// At the highest rate load does not change: loss there is congestion all the same.
    #[test]
    fn where_load_does_not_change_loss_decides() {
        for sign in [Sign::Difference, Sign::Regression { reports: 4 }] {
            let mut watch = LoadThroughput::new(sign, 2.0);
            let full = |loss: f64| Point { load: 100.0, raw: 100.0 * (1.0 - loss), loss };
            assert!(watch.rises(full(0.0)) && watch.rises(full(0.0)));
            assert!(!watch.rises(full(0.1)) && !watch.rises(full(0.1)), "{sign:?}");
        }
    }

    #[test]
    fn worked_numbers_of_equation_4() {
        let point = Point { load: 100.0, raw: 90.0, loss: 0.1 };
        assert!((point.penalised(0.0) - 90.0).abs() < 1e-12);
        assert!((point.penalised(2.0) - 72.9).abs() < 1e-12);
    }
}
