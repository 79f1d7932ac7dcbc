//! The average loss interval of RFC 5348 §5.4 and §5.5: a weighted mean of the last intervals between loss events, in
//! packets, with history discounted after a long time without loss. Which packets are lost, and which losses are one
//! event, is found in `loss_events.rs`.
//!
//! ```text
//! w_i = 1 for i < n/2, else 1 - (i - (n/2 - 1)) / (n/2 + 1)          i = 0 the newest
//! p   = 1 / max(mean of I_0 … I_(n-1), mean of I_1 … I_n)
//! ```
//!
//! The open interval `I_0` enters only where it raises the mean. With discounting, once `I_0` is longer than twice the mean
//! of the closed intervals, all of these weigh `2 · mean / I_0` of what they did, and at least a quarter.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Checker;

/// The least that discounting leaves of a closed interval's weight (RFC 5348 §5.5, THRESHOLD).
const LEAST_DISCOUNT: f64 = 0.25;

/// Parameters of the average loss interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LossIntervalsConfig {
    /// n: how many closed intervals are kept; an even number. Default 8.
    pub intervals: u32,
    /// Whether old intervals lose weight while no loss occurs (RFC 5348 §5.5). Default true.
    pub discounting: bool,
}

impl Default for LossIntervalsConfig {
    fn default() -> Self {
        Self { intervals: 8, discounting: true }
    }
}

impl LossIntervalsConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        let ok = (2..=64).contains(&self.intervals) && self.intervals.is_multiple_of(2);
        checker.require(ok, "intervals", self.intervals, "an even number from 2 to 64");
    }
}

/// A closed interval.
#[derive(Clone, Copy, Debug)]
struct Closed {
    packets: f64,
    /// `DF_i`: what discounting has left of its weight.
    discount: f64,
}

/// The history of loss intervals.
#[derive(Clone, Debug)]
pub struct LossIntervals {
    /// The newest first.
    closed: VecDeque<Closed>,
    weights: Box<[f64]>,
    discounting: bool,
}

impl LossIntervals {
    /// Without any loss so far.
    pub fn new(config: &LossIntervalsConfig) -> Self {
        let n = config.intervals.max(2) as usize;
        Self {
            closed: VecDeque::with_capacity(n + 1),
            weights: (0..n).map(|index| weight(index, n)).collect(),
            discounting: config.discounting,
        }
    }

    /// How many closed intervals are known, at most n.
    pub fn len(&self) -> usize {
        self.closed.len()
    }

    /// Whether there was no loss event yet.
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// Whether n intervals are known.
    pub fn is_full(&self) -> bool {
        self.closed.len() == self.weights.len()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.closed.clear();
    }

    /// A loss event ends an interval of so many packets, at least one.
    pub fn close(&mut self, packets: f64) {
        let factor = self.discount(packets);
        for interval in &mut self.closed {
            interval.discount *= factor;
        }
        self.closed.push_front(Closed { packets: packets.max(1.0), discount: 1.0 });
        self.closed.truncate(self.weights.len());
    }

    /// The same for quantities other than packets, which may be less than one.
    pub(crate) fn close_exactly(&mut self, value: f64) {
        self.closed.push_front(Closed { packets: value, discount: 1.0 });
        self.closed.truncate(self.weights.len());
    }

    /// Puts an interval before all others.
    pub fn seed(&mut self, packets: f64) {
        if !self.is_full() {
            self.closed.push_back(Closed { packets: packets.max(1.0), discount: 1.0 });
        }
    }

    /// n.
    pub fn capacity(&self) -> usize {
        self.weights.len()
    }

    /// The average loss interval in packets, while `open` have come since the last loss event; `None` before the first
    /// loss.
    pub fn mean(&self, open: f64) -> Option<f64> {
        let (sum, weight) = self.closed_sum();
        if weight <= 0.0 {
            return None;
        }
        let factor = self.discount(open);
        let (mut with_open, mut weight_with_open) = (open * self.weights[0], self.weights[0]);
        for (interval, w) in self.closed.iter().zip(&self.weights[1..]) {
            with_open += interval.packets * w * interval.discount * factor;
            weight_with_open += w * interval.discount * factor;
        }
        Some((sum / weight).max(with_open / weight_with_open))
    }

    /// The loss event rate: 0 before the first loss.
    pub fn event_rate(&self, open: f64) -> f64 {
        self.mean(open).map_or(0.0, |mean| (1.0 / mean).min(1.0))
    }

    fn closed_sum(&self) -> (f64, f64) {
        self.closed.iter().zip(&self.weights).fold((0.0, 0.0), |(sum, total), (interval, w)| {
            (sum + interval.packets * w * interval.discount, total + w * interval.discount)
        })
    }

    /// DF: what the closed intervals' weights are multiplied by while the open one is so long.
    fn discount(&self, open: f64) -> f64 {
        let (sum, weight) = self.closed_sum();
        if !self.discounting || weight <= 0.0 {
            return 1.0;
        }
        let mean = sum / weight;
        if open > 2.0 * mean { (2.0 * mean / open).max(LEAST_DISCOUNT) } else { 1.0 }
    }
}

fn weight(index: usize, n: usize) -> f64 {
    let half = n / 2;
    if index < half { 1.0 } else { 1.0 - (index as f64 - (half as f64 - 1.0)) / (half as f64 + 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(discounting: bool, lengths: &[f64]) -> LossIntervals {
        let mut made = LossIntervals::new(&LossIntervalsConfig { discounting, ..Default::default() });
        // The oldest is closed first.
        for length in lengths.iter().rev() {
            made.close(*length);
        }
        made
    }

    #[test]
    fn the_weights_are_those_of_the_rfc() {
        let made = LossIntervals::new(&LossIntervalsConfig::default());
        let expected = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
        for (weight, expected) in made.weights.iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-12, "{:?}", made.weights);
        }
    }

    #[test]
    fn the_mean_weighs_the_newest_four_alike() {
        // (10 + 20 + 30 + 40 + 0.8·50 + 0.6·60 + 0.4·70 + 0.2·80) / 6 = 220 / 6.
        let made = history(false, &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]);
        assert!((made.mean(0.0).unwrap() - 220.0 / 6.0).abs() < 1e-12);
        // An open interval of 100: (100 + 10 + 20 + 30 + 0.8·40 + 0.6·50 + 0.4·60 + 0.2·70) / 6 = 260 / 6.
        assert!((made.mean(100.0).unwrap() - 260.0 / 6.0).abs() < 1e-12);
        // A short one changes nothing.
        assert_eq!(made.mean(1.0), made.mean(0.0));
    }

    #[test]
    fn fewer_intervals_are_averaged_over_fewer_weights() {
        let made = history(true, &[10.0, 30.0]);
        assert_eq!(made.mean(0.0), Some(20.0));
        assert_eq!(history(true, &[]).mean(1e9), None);
        assert_eq!(history(true, &[]).event_rate(1e9), 0.0);
        assert_eq!(history(true, &[0.0]).event_rate(0.0), 1.0, "an interval is a packet at least");
    }

    #[test]
    fn discounting_forgets_faster_after_a_long_time_without_loss() {
        let lengths = [10.0; 8];
        // I_0 = 40 = four times the mean of 10: DF = 20/40; (40 + 0.5·10·5) / (1 + 0.5·5) = 65 / 3.5.
        let open = 40.0;
        assert!((history(true, &lengths).mean(open).unwrap() - 65.0 / 3.5).abs() < 1e-12);
        // Without: (40 + 10·5) / 6.
        assert!((history(false, &lengths).mean(open).unwrap() - 15.0).abs() < 1e-12);
        // At most to a quarter: (1000 + 0.25·10·5) / (1 + 0.25·5).
        assert!((history(true, &lengths).mean(1000.0).unwrap() - 1012.5 / 2.25).abs() < 1e-9);
    }

    #[test]
    fn a_discount_stays_with_the_intervals_that_it_struck() {
        let mut made = history(true, &[10.0; 8]);
        made.close(40.0);
        // (40 + 0.5·10·(1 + 1 + 1 + 0.8 + 0.6 + 0.4 + 0.2)) / (1 + 0.5·5) = 65 / 3.5, now from closed intervals alone.
        assert!((made.mean(0.0).unwrap() - 65.0 / 3.5).abs() < 1e-12);
    }
}
