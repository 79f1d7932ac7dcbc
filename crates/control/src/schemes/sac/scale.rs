//! One level of prediction in selective aggressiveness control: who predicts, and how aggressive that makes. What is made of it is
//! in `mod.rs`; how to predict, in `prediction/`.

use tailback_core::{Cx, Time};

use super::config::{PredictorConfig, SacConfig};
use crate::prediction::{CondProb, Forecaster, Foreseen, OnLine, Periods, Schedule};

/// One level of prediction.
pub(super) struct Scale {
    pub(super) learner: OnLine,
    /// Who knows or predicts in the table's place.
    foreseen: Option<Box<Foreseen>>,
    forecaster: Option<Box<Forecaster>>,
    schedule: Schedule,
    /// What 1 is for this level's aggressiveness: 1 for the first level, ε of the middle one for slower levels.
    unit: f64,
    aggressiveness: Option<f64>,
    /// The level that the table was last asked about and what came out: both move seldom, reports come often.
    asked: Option<(usize, f64)>,
}

impl Scale {
    pub(super) fn new(config: &SacConfig, periods: Periods, schedule: &Schedule, is_first: bool) -> Self {
        let levels = config.levels as usize;
        let table = match &*config.predictor {
            PredictorConfig::Table { counts, .. } => CondProb::given(counts),
            _ => CondProb::new(levels),
        };
        let mut learner = OnLine::new(periods, config.quantiser, config.reading, table);
        if matches!(*config.predictor, PredictorConfig::Table { learns: false, .. }) {
            learner.freeze();
        }
        let foreseen = match &*config.predictor {
            PredictorConfig::Perfect(future) => {
                Some(Box::new(Foreseen::new(future, periods.future, config.quantiser, levels)))
            }
            _ => None,
        };
        let forecaster = match &*config.predictor {
            PredictorConfig::Forecast { method } => Some(Box::new(Forecaster::new(
                method,
                periods.future,
                config.quantiser,
                config.reading,
                levels,
            ))),
            _ => None,
        };
        let middle = 0.5 * f64::from(config.levels + 1);
        let unit = if is_first { 1.0 } else { schedule.aggressiveness(middle) };
        Self {
            learner,
            foreseen,
            forecaster,
            schedule: schedule.clone(),
            unit,
            aggressiveness: None,
            asked: None,
        }
    }

    /// What arrived is taken in; the aggressiveness in force from now on, or none where nothing can be said yet.
    pub(super) fn report(&mut self, now: Time, amount: f64, cx: &mut Cx<'_>) -> Option<f64> {
        if let Some((first, second)) = self.learner.report(now, amount) {
            cx.note("level_1", first as f64);
            cx.note("level_2", second as f64);
            self.asked = None;
        }
        let expected = if let Some(foreseen) = &self.foreseen {
            foreseen.level(now) as f64
        } else if let Some(forecaster) = &mut self.forecaster {
            forecaster.report(now, amount, cx.rng)?
        } else {
            let level = self.learner.level(now)?;
            if let Some((_, factor)) = self.asked.filter(|(asked, _)| *asked == level) {
                return Some(factor);
            }
            let expected = self.learner.table().expected(level);
            self.asked = Some((level, self.schedule.aggressiveness(expected) / self.unit));
            expected
        };
        let aggressiveness = self.schedule.aggressiveness(expected);
        if self.aggressiveness != Some(aggressiveness) {
            self.aggressiveness = Some(aggressiveness);
            cx.note("expected_level", expected);
            cx.note("aggressiveness", aggressiveness);
        }
        Some(aggressiveness / self.unit)
    }
}
