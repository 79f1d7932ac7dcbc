//! The scheme `sac`, selective aggressiveness control: any scheme that increases, made to increase by prediction (Tuan
//! and Park 2000, §3.2). It scales the increases of the scheme beneath, never the direction, and nothing else. Levels,
//! tables and schedules live in `prediction/`; what an increase is, in the scheme's own file.
//!
//! Per report of throughput, with `S_t` what arrived during the last T1:
//!
//! ```text
//! ℓ   = L1(S_t)
//! ℓ̄'  = E(L2 | L1 = ℓ)
//! a_t = ε(ℓ̄')                                                          (§3.2.2)
//! ```
//!
//! The paper adds `a_t` to a rate that has just been increased, in a unit that it does not print. Here every increase is
//! multiplied by `1 + unit · a_t`, so that one rule serves rates and windows: `unit` says how many of the scheme's own
//! increases an aggressiveness of one is worth. Throughput is what reports say has arrived, or else what is newly
//! acknowledged. Before the first T1 has passed nothing is predicted and nothing scaled.
//!
//! Slower levels (Fig. 4, dashed) multiply the aggressiveness: each by its own ε relative to its ε at the middle level,
//! so that a slower level that expects the middle changes nothing. Nothing is scaled before every level has had its first T1
//! (ours: the paper draws slower levels and says no more of them).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    AckWish, BitRate, Bytes, Checker, Choice, Controller, Cx, Directive, Feedback, Sent, Span, Time,
};

use crate::any::AnyController;
use crate::needs::{Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
use crate::prediction::{
    CondProb, ForecastConfig, Forecaster, Foreseen, ForeseenConfig, MAX_LEVELS, OnLine, Periods, Quantiser,
    Reading, Schedule,
};
use crate::scheme::Scheme;

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
            over: Choice(Box::new(Scheme::Lied(super::LiedConfig::default()))),
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
    fn scales(&self) -> impl Iterator<Item = (String, Periods, &Schedule)> {
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

/// One level of prediction.
struct Scale {
    learner: OnLine,
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
    fn new(config: &SacConfig, periods: Periods, schedule: &Schedule, is_first: bool) -> Self {
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
    fn report(&mut self, now: Time, amount: f64, cx: &mut Cx<'_>) -> Option<f64> {
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

/// Selective aggressiveness over a controller.
pub struct Sac {
    inner: AnyController,
    scales: Vec<Scale>,
    unit: f64,
    gain: f64,
    /// Data bytes that had arrived by the newest report.
    arrived: u64,
    /// How long a table learns, and when it stops.
    freeze: Option<Span>,
    freeze_at: Option<Time>,
    /// Whether a random table is to be drawn at the first report.
    random: Option<usize>,
}

impl Sac {
    /// A connection's start, over a controller that begins too.
    pub fn new(config: &SacConfig, inner: AnyController) -> Self {
        let scales = config.scales().enumerate();
        let freeze = match *config.predictor {
            PredictorConfig::Online { freeze_after } => freeze_after,
            _ => None,
        };
        Self {
            inner,
            scales: scales
                .map(|(n, (_, periods, schedule))| Scale::new(config, periods, schedule, n == 0))
                .collect(),
            unit: config.unit,
            gain: 1.0,
            arrived: 0,
            freeze,
            freeze_at: None,
            random: (*config.predictor == PredictorConfig::Random).then_some(config.levels as usize),
        }
    }

    /// What the batch says has arrived since the last one, in bytes; `None` where it says nothing of it.
    fn arrived(&mut self, feedback: &Feedback<'_>) -> Option<u64> {
        if let Some(envelope) = feedback.report {
            let total = envelope.arrived_bytes.get();
            // Reports may overtake each other: what an older one says is known.
            let fresh = total.saturating_sub(self.arrived);
            self.arrived = self.arrived.max(total);
            return Some(fresh);
        }
        let acked = feedback.acked.iter().map(|acked| acked.size.get()).sum();
        (acked > 0).then_some(acked)
    }

    /// What the controller beneath hears of a batch, which may change what is expected.
    fn scaled<'a>(&mut self, now: Time, feedback: &Feedback<'a>, cx: &mut Cx<'_>) -> Feedback<'a> {
        if let Some(arrived) = self.arrived(feedback) {
            self.predict(now, arrived, cx);
        }
        Feedback { gain: feedback.gain * self.gain, ..*feedback }
    }

    fn predict(&mut self, now: Time, arrived: u64, cx: &mut Cx<'_>) {
        if let Some(levels) = self.random.take() {
            let table = CondProb::random(levels, cx.rng);
            for scale in &mut self.scales {
                scale.learner.replace(table.clone());
                scale.learner.freeze();
            }
        }
        let amount = arrived as f64;
        let mut aggressiveness = 1.0;
        let mut known = true;
        for scale in &mut self.scales {
            match scale.report(now, amount, cx) {
                Some(factor) => aggressiveness *= factor,
                None => known = false,
            }
        }
        self.gain = if known { 1.0 + self.unit * aggressiveness } else { 1.0 };
        self.learn_until(now);
    }

    fn learn_until(&mut self, now: Time) {
        let Some(freeze) = self.freeze else { return };
        if now >= *self.freeze_at.get_or_insert(now + freeze) {
            self.scales.iter_mut().for_each(|scale| scale.learner.freeze());
            self.freeze = None;
        }
    }
}

#[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
impl Controller for Sac {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        self.inner.on_sent(now, sent, cx);
    }

    fn hear_sent(
        &mut self,
        now: Time,
        sent: &mut Sent,
        cx: &mut Cx<'_>,
    ) -> Option<(Directive, Option<Time>)> {
        self.inner.hear_sent(now, sent, cx)
    }

    fn watches_sent(&self) -> bool {
        self.inner.watches_sent()
    }

    fn watches_pauses_only(&self) -> bool {
        self.inner.watches_pauses_only()
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let scaled = self.scaled(now, feedback, cx);
        self.inner.on_feedback(now, &scaled, cx);
    }

    fn answer<'a, T>(
        &mut self,
        now: Time,
        feedback: impl FnOnce() -> Feedback<'a>,
        cx: &mut Cx<'_>,
        obey: impl FnOnce(Option<(&Directive, Option<Time>)>) -> T,
    ) -> T {
        let scaled = self.scaled(now, &feedback(), cx);
        self.inner.answer(now, || scaled, cx, obey)
    }

    fn hear_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> bool {
        let scaled = self.scaled(now, feedback, cx);
        self.inner.hear_feedback(now, &scaled, cx)
    }

    fn react(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> (Directive, Option<Time>) {
        let scaled = self.scaled(now, feedback, cx);
        self.inner.react(now, &scaled, cx)
    }

    fn orders(&self) -> (Directive, Option<Time>) {
        self.inner.orders()
    }

    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.inner.on_timer(now, cx);
    }

    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer()
    }

    fn directive(&self) -> Directive {
        self.inner.directive()
    }

    fn ack_wish(&self) -> AckWish {
        self.inner.ack_wish()
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Acked, PairPosition, Stream};

    use super::*;
    use crate::schemes::RenoConfig;

    fn params() -> ControllerParams {
        let segment = Bytes::new(1000);
        let initial_window = Bytes::new(10_000);
        ControllerParams {
            segment,
            initial_window,
            initial_ssthresh: Some(segment),
            max_window: Bytes::new(1 << 40),
        }
    }

    fn over_reno(config: &SacConfig) -> (AnyController, AnyController) {
        let reno = || Scheme::Reno(RenoConfig::default()).build(&params()).controller;
        let sac = SacConfig { over: Choice(Box::new(Scheme::Reno(RenoConfig::default()))), ..config.clone() };
        (reno(), Scheme::Sac(sac).build(&params()).controller)
    }

    /// One segment acknowledged every ten milliseconds; growth of the window of both during the second half.
    fn growth(config: &SacConfig) -> (f64, f64) {
        let (mut plain, mut scaled) = over_reno(config);
        let mut stream = Stream::new(1, "sac");
        let mut cx = Cx { rng: &mut stream, notes: None };
        let mut halfway = (0.0, 0.0);
        let windows = |plain: &AnyController, scaled: &AnyController| {
            let window = |controller: &AnyController| controller.directive().window.unwrap().as_f64();
            (window(plain), window(scaled))
        };
        for n in 0..1000_u64 {
            let now = Time::from_nanos(n * 10_000_000);
            let sent_at = now;
            let acked = [Acked {
                number: n,
                size: params().segment,
                sent_at,
                retransmitted: false,
                pair: PairPosition::default(),
                tag: 0,
            }];
            let batch = Feedback { acked: &acked, advanced: params().segment, ..Feedback::empty() };
            plain.on_feedback(now, &batch, &mut cx);
            scaled.on_feedback(now, &batch, &mut cx);
            if n == 499 {
                halfway = windows(&plain, &scaled);
            }
        }
        let end = windows(&plain, &scaled);
        (end.0.powi(2) - halfway.0.powi(2), end.1.powi(2) - halfway.1.powi(2))
    }

    #[test]
    fn an_increase_is_scaled_by_one_plus_aggressiveness() {
        // A window that grows by gain / window per acknowledgement has a square that grows by twice the gain.
        for (factor, gain) in [(0.0, 1.0), (1.0, 2.0), (3.0, 4.0)] {
            let schedule = Schedule::Threshold { theta: 8.0, factor, shift: 0.0 };
            let (plain, scaled) = growth(&SacConfig { schedule: schedule.into(), ..SacConfig::default() });
            assert!((scaled / plain - gain).abs() < 0.02, "{factor}: {}", scaled / plain);
        }
    }

    #[test]
    fn a_decrease_is_not_touched() {
        let schedule = Schedule::Threshold { theta: 8.0, factor: 100.0, shift: 0.0 };
        let (mut plain, mut scaled) =
            over_reno(&SacConfig { schedule: schedule.into(), ..SacConfig::default() });
        let mut stream = Stream::new(1, "sac");
        let mut cx = Cx { rng: &mut stream, notes: None };
        let batch = Feedback {
            event: Some(tailback_core::CongestionEvent::Timeout { consecutive: 1 }),
            outstanding: Bytes::new(10_000),
            ..Feedback::empty()
        };
        for controller in [&mut plain, &mut scaled] {
            controller.on_feedback(Time::from_nanos(5_000_000_000), &batch, &mut cx);
        }
        assert_eq!(plain.directive(), scaled.directive());
    }

    #[test]
    fn over_itself_and_over_what_does_not_increase_is_refused() {
        let wrong = |over: Scheme| {
            let mut checker = Checker::new();
            Scheme::Sac(SacConfig { over: Choice(Box::new(over)), ..SacConfig::default() })
                .check(&mut checker);
            checker.finish().unwrap_err().remove(0).field
        };
        assert_eq!(wrong(Scheme::Sac(SacConfig::default())), "over");
        assert_eq!(wrong(Scheme::FixedRate(super::super::FixedRateConfig::default())), "over");
    }
}
