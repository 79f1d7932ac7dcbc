//! The aggressiveness schedule ε: how much to add to an increase at an expected level (Tuan and Park 1999, §3.2.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Checker;

/// How aggressive to be at an expected level of contention, in the increases of the scheme beneath.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// `ε(x) = 1/x + shift`: the practical schedule of §4.3.2.
    Inverse {
        /// Added at every level (Fig. 11). Default 0.
        #[serde(default)]
        shift: f64,
    },
    /// `factor` where the expected level is at most `theta`, else 0; plus `shift`.
    Threshold {
        /// θ: the highest expected level that is met with aggressiveness, from 1 on; at the number of levels, always.
        theta: f64,
        /// θ*: the aggressiveness up to there. Default 1.
        #[serde(default = "one")]
        factor: f64,
        /// Added at every level (Fig. 11). Default 0.
        #[serde(default)]
        shift: f64,
    },
    /// One value for each level, from level 1 on, with straight lines between.
    Table {
        /// The values.
        values: Vec<f64>,
    },
}

const fn one() -> f64 {
    1.0
}

tailback_core::choosable!(Schedule);

impl Default for Schedule {
    fn default() -> Self {
        Self::Inverse { shift: 0.0 }
    }
}

impl Schedule {
    /// Complains about every value that is not allowed, for so many levels.
    pub fn check(&self, checker: &mut Checker, levels: usize) {
        let fits = |value: f64| (0.0..=1e6).contains(&value);
        let amount = "a number from 0 to 1000000";
        match self {
            Self::Inverse { shift } => checker.require(fits(*shift), "shift", shift, amount),
            Self::Threshold { theta, factor, shift } => {
                let ok = (1.0..=levels as f64).contains(theta);
                checker.require(ok, "theta", theta, format_args!("a level from 1 to {levels}"));
                checker.require(fits(*factor), "factor", factor, amount);
                checker.require(fits(*shift), "shift", shift, amount);
            }
            Self::Table { values } => {
                let ok = values.len() == levels && values.iter().all(|value| fits(*value));
                let allowed = format!("{levels} numbers from 0 to 1000000, one for each level");
                checker.require(ok, "values", format_args!("{values:?}"), allowed);
            }
        }
    }

    /// ε of an expected level.
    pub fn aggressiveness(&self, expected: f64) -> f64 {
        match self {
            Self::Inverse { shift } => 1.0 / expected.max(1.0) + shift,
            Self::Threshold { theta, factor, shift } => {
                (if expected <= *theta { *factor } else { 0.0 }) + shift
            }
            Self::Table { values } => between(values, expected - 1.0),
        }
    }
}

/// The value at a place between whole indices, by a straight line; the ends go on.
fn between(values: &[f64], place: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let place = place.clamp(0.0, last as f64);
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    values[below] + (values[above] - values[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_of_the_paper() {
        // Table 1, last column: 1 / 1.3 and 1 / 6.5.
        let inverse = Schedule::default();
        assert!((inverse.aggressiveness(1.3) - 0.769).abs() < 1e-3);
        assert!((inverse.aggressiveness(6.5) - 0.153).abs() < 1e-3);
        let threshold = Schedule::Threshold { theta: 3.0, factor: 2.0, shift: 0.5 };
        assert_eq!([2.9, 3.0, 3.1].map(|level| threshold.aggressiveness(level)), [2.5, 2.5, 0.5]);
        let table = Schedule::Table { values: vec![4.0, 2.0, 1.0] };
        assert_eq!([0.5, 1.5, 3.0, 9.0].map(|level| table.aggressiveness(level)), [4.0, 3.0, 1.0, 1.0]);
    }

    #[test]
    fn wrong_values_are_named() {
        let wrong = |schedule: Schedule| {
            let mut checker = Checker::new();
            schedule.check(&mut checker, 8);
            checker.finish().unwrap_err().remove(0).field
        };
        assert_eq!(wrong(Schedule::Inverse { shift: f64::NAN }), "shift");
        assert_eq!(wrong(Schedule::Threshold { theta: 9.0, factor: 1.0, shift: 0.0 }), "theta");
        assert_eq!(wrong(Schedule::Table { values: vec![1.0; 7] }), "values");
    }
}
