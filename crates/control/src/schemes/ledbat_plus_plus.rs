//! LEDBAT++: a background transport that keeps a small queue, judged by round trips, gives way to others, and empties the
//! queue from time to time so that everybody sees the true base delay. The scheme `ledbat-plus-plus`.
//!
//! Source: draft-irtf-iccrg-ledbat-plus-plus-06 (Balasubramanian, Ertugay, Havey and Bagnulo), §4, and RFC 6817 for the
//! filters (`estimators/queueing_delay.rs`). With q the queueing delay, T the target, windows in segments:
//!
//! | | |
//! | --- | --- |
//! | gain | `G = 1/min(16, ⌈2 T/base⌉)`, `T = 60 ms` |
//! | slow start | `W += G` per segment acknowledged; the first ends when `q > 3/4 T` |
//! | `q ≤ T` | `W += G` per round trip |
//! | `q > T` | `W += max(G - C W (q/T - 1), -W/2)` per round trip, `C = 1`, never below 2 |
//! | slowdown | 2 round trips after the first slow start: threshold = W, W = 2 for 2 round trips, slow start to the threshold |
//! | next slowdown | after 9 times as long as the last took |
//! | loss, at most once per episode | half; time-out: 1 segment, slow start to half |
//!
//! Departures of others: freenet divides by 4 in a slowdown instead of going to 2; Windows, where it was first built, also
//! shrinks the receive window (rLEDBAT, RFC 9840).
//!
//! Deviations: the decrease of a round trip is spread over its acknowledgements. A slowdown that is due during
//! recovery or slow start waits until it is over.
//!
//! Decided here: a loss, a mark or a time-out during a slowdown halves the window to return to, not the two segments in
//! force. A time-out and a pause end the two round trips; the slow start that follows counts as the slowdown's. The first
//! slow start may also end with a loss, or at `initial_ssthresh`, and a slowdown follows all the same. Slow start stops at the
//! threshold; its later ones heed no delay. A window of one segment stays until it grows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    Bytes, Checker, CongestionEvent, Controller, Cx, Directive, Feedback, Recovery, Span, Time,
};

use crate::estimators::QueueingDelay;
use crate::laws::Aimd;
use crate::needs::Reliability;
use crate::parts::{BoxedController, ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// Parameters of LEDBAT++.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedbatPlusPlusConfig {
    /// T: the queueing delay to settle at. Above 0 s, at most 10 s; default 60 ms.
    pub target: Span,
    /// Whether the queue is emptied from time to time. Default true; without, a late flow takes a standing queue for the path.
    pub slowdowns: bool,
}

impl Default for LedbatPlusPlusConfig {
    fn default() -> Self {
        Self { target: Span::from_millis(60), slowdowns: true }
    }
}

/// The window of a slowdown, and the least of any, in segments.
const LEAST: f64 = 2.0;
/// How many times as long as a slowdown the time to the next is.
const PAUSE: u64 = 9;

impl SchemeConfig for LedbatPlusPlusConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "ledbat-plus-plus",
            summary: "A background transport that keeps a small queue, gives way, and empties the queue from time to time",
            source: "draft-irtf-iccrg-ledbat-plus-plus-06",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn check(&self, checker: &mut Checker) {
        let ok = !self.target.is_zero() && self.target <= Span::from_secs(10);
        checker.require(ok, "target", self.target, "above 0 s, at most 10 s");
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(LedbatPlusPlus {
            aimd: Aimd::new(params),
            config: self.clone(),
            delay: QueueingDelay::default(),
            smoothed: Span::ZERO,
            stage: Stage::First,
            due: Time::NEVER,
            began: None,
        }))
    }
}

/// What the window does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first slow start.
    First,
    /// A later one, up to the threshold.
    Climb,
    /// Around the target.
    Steady,
    /// Held at two segments until then.
    Frozen(Time),
}

/// The window of LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    aimd: Aimd,
    config: LedbatPlusPlusConfig,
    delay: QueueingDelay,
    smoothed: Span,
    stage: Stage,
    /// When the next slowdown is due.
    due: Time,
    /// When the present slowdown began, until its climb is over.
    began: Option<Time>,
}

impl LedbatPlusPlus {
    /// G.
    fn gain(&self) -> f64 {
        let base = self.delay.base().unwrap_or(Span::ZERO).as_secs_f64();
        let ratio = (2.0 * self.config.target.as_secs_f64() / base).ceil();
        1.0 / ratio.clamp(1.0, 16.0)
    }

    /// Queueing delay over target.
    fn load(&self) -> f64 {
        self.delay.queueing().unwrap_or(Span::ZERO).ratio(self.config.target)
    }

    /// Slow start has reached its end.
    fn settle(&mut self, now: Time) {
        let first = self.stage == Stage::First;
        self.stage = Stage::Steady;
        if let Some(began) = self.began.take() {
            self.due = now + now.since(began) * PAUSE;
        } else if first && self.config.slowdowns {
            self.due = now + self.smoothed * 2;
        }
    }

    /// Begins and ends slowdowns.
    fn keep_time(&mut self, now: Time) {
        match self.stage {
            Stage::Frozen(until) if now >= until => self.stage = Stage::Climb,
            Stage::Steady if now >= self.due => {
                let law = &mut self.aimd.law;
                law.forget();
                law.ssthresh = law.window;
                law.set(law.window.min(LEAST));
                self.began = Some(now);
                self.due = Time::NEVER;
                self.stage = Stage::Frozen(now + self.smoothed * 2);
            }
            _ => {}
        }
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let frozen = matches!(self.stage, Stage::Frozen(_));
        match event {
            CongestionEvent::Loss | CongestionEvent::Ecn if frozen => {
                // What was lost left before the slowdown: the window to return to is what is halved.
                self.aimd.law.ssthresh = (self.aimd.law.ssthresh / 2.0).max(LEAST);
            }
            CongestionEvent::Loss | CongestionEvent::Ecn => {
                self.aimd.on_event(event, feedback, 0.5, cx);
                if self.stage != Stage::Steady {
                    self.settle(now);
                }
            }
            CongestionEvent::Timeout { .. } | CongestionEvent::Idle => {
                let there = self.aimd.law.ssthresh;
                self.aimd.on_event(event, feedback, 0.5, cx);
                if frozen && matches!(event, CongestionEvent::Timeout { consecutive: 0 | 1 }) {
                    // As above. Where the last packets before a slowdown are lost, nothing but the timer can tell.
                    self.aimd.law.ssthresh = (there / 2.0).max(LEAST);
                }
                if self.stage != Stage::First {
                    self.stage = Stage::Climb;
                }
            }
            CongestionEvent::RecoveryEnd | CongestionEvent::Spurious => {
                self.aimd.on_event(event, feedback, 0.5, cx);
            }
        }
    }

    fn steady(&mut self, feedback: &Feedback<'_>) {
        let (gain, load) = (self.gain(), self.load());
        let law = &mut self.aimd.law;
        let window = law.window;
        let per_round = if load <= 1.0 { gain } else { (gain - window * (load - 1.0)).max(-window / 2.0) };
        if per_round < 0.0 || Aimd::may_grow(feedback) {
            let share = (law.segments(feedback.advanced) / window).min(1.0);
            law.set((window + per_round * share).max(LEAST.min(window)));
        }
    }

    fn climb(&mut self, now: Time, feedback: &Feedback<'_>) {
        if Aimd::may_grow(feedback) {
            let growth = self.gain() * self.aimd.law.segments(feedback.advanced);
            let law = &mut self.aimd.law;
            law.set((law.window + growth).min(law.ssthresh.max(law.window)));
        }
        let full = self.stage == Stage::First && self.load() > 0.75;
        if full {
            self.aimd.law.ssthresh = self.aimd.law.window;
        }
        if full || !self.aimd.law.in_slow_start() {
            self.settle(now);
        }
    }
}

impl Controller for LedbatPlusPlus {
    fn watches_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.smoothed = rtt.smoothed;
            self.delay.take(now, rtt.latest);
            cx.note("queueing_delay", self.delay.queueing().unwrap_or(Span::ZERO).as_secs_f64());
        }
        if let Some(event) = feedback.event {
            return self.on_event(now, event, feedback, cx);
        }
        if feedback.advanced == Bytes::ZERO || feedback.recovery == Recovery::Fast {
            return;
        }
        self.keep_time(now);
        match self.stage {
            Stage::First | Stage::Climb => self.climb(now, feedback),
            Stage::Steady => self.steady(feedback),
            Stage::Frozen(_) => {}
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(self.aimd.law.bytes())
    }
}
