//! Parameters of selective aggressiveness control, what of them is allowed, and what the scheme says of itself. What they do is in
//! `mod.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker, Choice, Span};

use super::Sac;
use crate::needs::{Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
use crate::prediction::{ForecastConfig, ForeseenConfig, MAX_LEVELS, Periods, Quantiser, Reading, Schedule};
use crate::scheme::Scheme;
use crate::schemes::LiedConfig;

/// Where a prediction comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PredictorConfig {
    /// A table that the connection learns itself, from its own throughput.
    Online {
        /// When to stop learning, from the first report on; never by default.
        #[serde(default)]
        freeze_after: Option<Span>,
    },
    /// A table that is known beforehand: a warm start, which short connections need (§4.3.4).
    Table {
        /// Counts or relative frequencies of L2, one list for each L1.
        counts: Vec<Vec<f64>>,
        /// Whether the connection goes on learning. Default false.
        #[serde(default)]
        learns: bool,
    },
    /// A table of random densities, drawn from the connection's own random stream (§4.3.4).
    Random,
    /// Perfect knowledge of the aggregate's future (§4.3.2).
    Perfect(ForeseenConfig),
    /// Another method than conditional expectation, from several periods of the connection's own throughput.
    Forecast {
        /// The method, by name or as a table with its parameters.
        method: Choice<ForecastConfig>,
    },
}

tailback_core::choosable!(PredictorConfig);

impl Default for PredictorConfig {
    fn default() -> Self {
        Self::Online { freeze_after: None }
    }
}

/// A further, slower level of prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SlowerConfig {
    /// T1 of this level. Default 20 s.
    pub history: Span,
    /// T2 of this level. Default 20 s.
    pub horizon: Span,
    /// ε of this level. Default `inverse`.
    pub schedule: Choice<Schedule>,
}

impl Default for SlowerConfig {
    fn default() -> Self {
        Self { history: Span::from_secs(20), horizon: Span::from_secs(20), schedule: Choice::default() }
    }
}

/// Parameters of selective aggressiveness control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SacConfig {
    /// The scheme whose increases are scaled, by name or as a table with its parameters. Default `lied`.
    pub over: Choice<Box<Scheme>>,
    /// T1: the recent past that is judged. Default 2 s.
    pub history: Span,
    /// T2: the near future that is predicted. Default 2 s.
    pub horizon: Span,
    /// m: how many levels of traffic there are. Default 8.
    pub levels: u32,
    /// How amounts of traffic become levels. Default `sigma-bands`.
    pub quantiser: Quantiser,
    /// What the level of one's own throughput says. Default `contention`.
    pub reading: Reading,
    /// How many of the scheme's own increases an aggressiveness of 1 adds to each. Default 1.
    pub unit: f64,
    /// ε: how aggressive to be at an expected level. Default `inverse`.
    pub schedule: Choice<Schedule>,
    /// Where the expectation comes from. Default `online`.
    pub predictor: Choice<PredictorConfig>,
    /// Further, slower levels, at most seven. Default none.
    pub slower: Vec<SlowerConfig>,
}

impl Default for SacConfig {
    fn default() -> Self {
        Self {
            over: Choice(Box::new(Scheme::Lied(LiedConfig::default()))),
            history: Span::from_secs(2),
            horizon: Span::from_secs(2),
            levels: 8,
            quantiser: Quantiser::default(),
            reading: Reading::default(),
            unit: 1.0,
            schedule: Choice::default(),
            predictor: Choice::default(),
            slower: Vec::new(),
        }
    }
}

impl SacConfig {
    /// Its levels: what each is called in complaints, the first by nothing, its periods and its schedule.
    pub(super) fn scales(&self) -> impl Iterator<Item = (String, Periods, &Schedule)> {
        let first = (String::new(), Periods { past: self.history, future: self.horizon }, &*self.schedule);
        let slower = self.slower.iter().enumerate().map(|(n, slower)| {
            let periods = Periods { past: slower.history, future: slower.horizon };
            (format!("slower[{n}]"), periods, &*slower.schedule)
        });
        std::iter::once(first).chain(slower)
    }

    fn check_predictor(&self, checker: &mut Checker) {
        let levels = self.levels as usize;
        checker.within("predictor", |checker| match &*self.predictor {
            PredictorConfig::Table { counts, .. } => {
                let row =
                    |row: &Vec<f64>| row.len() == levels && row.iter().all(|x| x.is_finite() && *x >= 0.0);
                let ok = counts.len() == levels && counts.iter().all(row);
                let allowed = format!("{levels} lists of {levels} numbers, none below zero");
                checker.require(ok, "counts", format_args!("{} lists", counts.len()), allowed);
            }
            PredictorConfig::Perfect(future) => future.check(checker),
            PredictorConfig::Forecast { method } => checker.within("method", |checker| method.check(checker)),
            PredictorConfig::Online { .. } | PredictorConfig::Random => {}
        });
        let ok = self.slower.is_empty() || matches!(*self.predictor, PredictorConfig::Online { .. });
        let allowed = "none beside a predictor other than `online`: tables and futures are of one level";
        checker.require(ok, "slower", format_args!("{} levels", self.slower.len()), allowed);
    }
}

#[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
impl SchemeConfig for SacConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "sac",
            summary: "Any scheme that increases, made to increase by predicted traffic levels",
            source: "Tuan and Park, Multiple time scale congestion control for self-similar network traffic, 1999",
            reliability: Reliability::Datagram,
            expects_discipline: "any",
        }
    }

    fn check(&self, checker: &mut Checker) {
        let levels = self.levels as usize;
        let ok = (2..=MAX_LEVELS).contains(&levels);
        checker.require(ok, "levels", self.levels, format_args!("a whole number from 2 to {MAX_LEVELS}"));
        let ok = (0.0..=1e6).contains(&self.unit);
        checker.require(ok, "unit", self.unit, "a number from 0 to 1000000");
        checker.require(
            self.slower.len() <= 7,
            "slower",
            format_args!("{} levels", self.slower.len()),
            "at most 7",
        );
        for (path, periods, schedule) in self.scales() {
            let check = |checker: &mut Checker| {
                let fits = |span: Span| span >= Span::from_millis(1) && span <= Span::from_secs(86_400);
                let allowed = "a time from 1 ms to 86400 s";
                checker.require(fits(periods.past), "history", periods.past, allowed);
                checker.require(fits(periods.future), "horizon", periods.future, allowed);
                checker.within("schedule", |checker| schedule.check(checker, levels));
            };
            if path.is_empty() { check(checker) } else { checker.within(path, check) }
        }
        self.check_predictor(checker);
        let over = self.over.name();
        let allowed = "a scheme that increases by addition, and not `sac` itself (slower levels are its field `slower`)";
        checker.require(self.over.heeds_gain() && over != "sac", "over", over, allowed);
        checker.within("over", |checker| self.over.check(checker));
    }

    fn family(&self) -> Family {
        self.over.family()
    }

    fn needs(&self) -> Needs {
        self.over.needs()
    }

    fn held(&self, segment: Bytes) -> Option<f64> {
        self.over.held(segment)
    }

    fn guaranteed_rate(&self) -> Option<(&'static str, BitRate)> {
        self.over.guaranteed_rate()
    }

    fn lives_on_reports(&self) -> bool {
        self.over.lives_on_reports()
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts<BoxedController> {
        let Parts { controller, policy } = self.over.build(params);
        Parts { controller: Box::new(Sac::new(self, controller)), policy }
    }
}
