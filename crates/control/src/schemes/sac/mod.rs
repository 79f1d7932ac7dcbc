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

mod config;
mod scale;

pub use config::{PredictorConfig, SacConfig, SlowerConfig};
use scale::Scale;
use tailback_core::{AckWish, Controller, Cx, Directive, Feedback, Sent, Span, Time};

use crate::any::AnyController;
use crate::prediction::CondProb;

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
