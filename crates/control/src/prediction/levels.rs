//! Which level an amount of traffic is: the two quantisers of the paper's appendix A.1. Which level follows which lives
//! in `cond_prob.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Moments, Quantiles};

/// How amounts of traffic become levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Quantiser {
    /// By distance from the running mean, in running standard deviations: with eight levels, boundaries at μ-3σ, …, μ+3σ
    /// (Tuan and Park 1999, appendix A.1).
    #[default]
    SigmaBands,
    /// By rank: all levels equally likely (the alternative that appendix A.1 calls "more universally effective").
    EqualProbability,
}

/// Levels 1 (low) to m (high) of amounts seen so far.
#[derive(Clone, Debug)]
pub struct Levels {
    count: usize,
    moments: Moments,
    /// The moments' deviation: asked for with every report, and changed with every period only.
    deviation: f64,
    /// Only where the quantiser asks for it.
    quantiles: Option<Box<Quantiles>>,
}

impl Levels {
    /// `count` levels, two or more.
    pub fn new(quantiser: Quantiser, count: usize) -> Self {
        let quantiles = (quantiser == Quantiser::EqualProbability).then(|| Box::new(Quantiles::new(count)));
        Self { count: count.max(2), moments: Moments::default(), deviation: 0.0, quantiles }
    }

    /// Takes an amount in: mean, deviation and ranks move.
    pub fn learn(&mut self, amount: f64) {
        self.moments.add(amount);
        self.deviation = self.moments.deviation();
        if let Some(quantiles) = &mut self.quantiles {
            quantiles.add(amount);
        }
    }

    /// How far an amount lies from the mean, in deviations; zero where nothing varied.
    pub fn standard(&self, amount: f64) -> f64 {
        if self.deviation > 0.0 { (amount - self.moments.mean()) / self.deviation } else { 0.0 }
    }

    /// The level of what is expected, in deviations from the mean: between two levels where bands are even.
    pub fn expected(&self, standard: f64) -> f64 {
        if self.quantiles.is_some() {
            return self.level(self.moments.mean() + standard * self.deviation) as f64;
        }
        (0.5 * (self.count + 1) as f64 + standard).clamp(1.0, self.count as f64)
    }

    /// The amount's level by what was learnt so far.
    pub fn level(&self, amount: f64) -> usize {
        if let Some(quantiles) = &self.quantiles {
            return 1 + quantiles.part(amount);
        }
        let off = amount - self.moments.mean();
        // Bands are half open, [lower, upper): the mean itself belongs to the upper half, also where nothing varied.
        let bands = match off {
            _ if self.deviation > 0.0 => (off / self.deviation).floor(),
            _ if off < 0.0 => f64::NEG_INFINITY,
            _ if off > 0.0 => f64::INFINITY,
            _ => 0.0,
        };
        let half = (self.count / 2) as f64;
        (half + 1.0 + bands).clamp(1.0, self.count as f64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigma_bands_of_the_appendix() {
        let mut levels = Levels::new(Quantiser::SigmaBands, 8);
        // Mean 5, deviation 2.
        for amount in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            levels.learn(amount);
        }
        let seen = [-2.0, -1.0, 0.9, 1.0, 2.9, 3.0, 4.9, 5.0, 6.9, 7.0, 9.0, 10.9, 11.0, 99.0];
        let expected = [1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8];
        assert_eq!(seen.map(|amount| levels.level(amount)), expected);
    }

    #[test]
    fn without_variation_the_mean_is_in_the_upper_half() {
        let mut levels = Levels::new(Quantiser::SigmaBands, 8);
        assert_eq!(levels.level(0.0), 5);
        levels.learn(3.0);
        assert_eq!([2.0, 3.0, 4.0].map(|amount| levels.level(amount)), [1, 5, 8]);
    }

    #[test]
    fn equal_probability_ranks() {
        let mut levels = Levels::new(Quantiser::EqualProbability, 4);
        (0..1000).for_each(|amount| levels.learn(f64::from(amount * 617 % 1000)));
        assert_eq!([10.0, 300.0, 600.0, 990.0].map(|amount| levels.level(amount)), [1, 2, 3, 4]);
    }
}
