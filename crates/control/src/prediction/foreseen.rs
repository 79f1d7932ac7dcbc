//! A predictor that knows the future (the perfect prediction of Tuan and Park 1999, §4.3.2): it was told the aggregate's
//! load beforehand, from a first run with the same random streams. Learning lives in `on_line.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span, Time};

use super::{Levels, Quantiser};

/// What is known of the future.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForeseenConfig {
    /// The length of one entry of `loads`.
    pub every: Span,
    /// How much traffic the aggregate brings in each interval from the run's begin on, in any unit.
    pub loads: Vec<f64>,
}

impl ForeseenConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        checker.require(self.every > Span::ZERO, "every", self.every, "a time above zero");
        let ok = !self.loads.is_empty() && self.loads.iter().all(|load| load.is_finite() && *load >= 0.0);
        checker.require(
            ok,
            "loads",
            format_args!("{} numbers", self.loads.len()),
            "one number or more, none below zero",
        );
    }
}

/// The levels of what is to come.
#[derive(Clone, Debug)]
pub struct Foreseen {
    every: u64,
    /// How many entries T2 spans, one at least.
    span: usize,
    /// Loads summed up from the beginning: entry n is what came before interval n.
    sums: Vec<f64>,
    levels: Levels,
}

impl Foreseen {
    /// What the future holds, in levels of whole periods of `future`.
    pub fn new(config: &ForeseenConfig, future: Span, quantiser: Quantiser, levels: usize) -> Self {
        let every = config.every.as_nanos().max(1);
        let span = (future.as_nanos() / every).max(1) as usize;
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        sums.extend(config.loads.iter().map(|load| {
            sum += load;
            sum
        }));
        let mut levels = Levels::new(quantiser, levels);
        (0..sums.len() - 1).step_by(span).filter(|at| at + span < sums.len()).for_each(|at| {
            levels.learn(sums[at + span] - sums[at]);
        });
        Self { every, span, sums, levels }
    }

    /// The level of the traffic to come during T2 from now on; beyond what is known, of the last that is.
    pub fn level(&self, now: Time) -> usize {
        let last = self.sums.len() - 1;
        let begin = (now.as_nanos() / self.every) as usize;
        let begin = begin.min(last.saturating_sub(self.span));
        self.levels.level(self.sums[(begin + self.span).min(last)] - self.sums[begin])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_comes() {
        let second = Span::from_nanos(1_000_000_000);
        let loads = (0..100).map(|n| if n % 20 < 10 { 1.0 } else { 9.0 }).collect();
        let config = ForeseenConfig { every: second, loads };
        let foreseen = Foreseen::new(&config, second * 2, Quantiser::SigmaBands, 8);
        let at = |seconds| foreseen.level(Time::ZERO + second * seconds);
        assert_eq!([at(0), at(8), at(9), at(10), at(18), at(20)], [4, 4, 5, 6, 6, 4]);
        assert_eq!(at(1_000_000), at(98));
    }
}
