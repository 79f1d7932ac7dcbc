//! Compound TCP: Reno's window and, beside it, one that grows quickly while the queue is short and withdraws as it
//! builds. The scheme `compound`.
//!
//! Source: Tan, Song, Zhang and Sridharan, "A Compound TCP Approach for High-speed and Long Distance Networks", 2006, §III,
//! with draft-sridharan-tcpm-ctcp-02. The window is `win = cwnd + dwnd`, in segments. `cwnd` is Reno's, but grows by
//! `1/win` per acknowledgement. Once per round trip, with `diff = win (1 - RTT_base/RTT)` the segments queued:
//!
//! | | |
//! | --- | --- |
//! | `diff < γ` | `dwnd ← dwnd + max(α win^k - 1, 0)` |
//! | `diff ≥ γ` | `dwnd ← max(dwnd - ζ diff, 0)` |
//! | loss | `dwnd ← max(win (1 - β) - cwnd/2, 0)`, `cwnd ← cwnd/2` |
//! | time-out | `dwnd ← 0`, `cwnd ← 1` |
//!
//! with `α = 1/8`, `β = 1/2`, `k = 3/4`, `γ = 30`, `ζ = 1`. In slow start, and while `win` is below 38 segments, `dwnd`
//! does not grow.
//!
//! Departures of others: Windows tunes γ to the buffer it finds (the draft's §5.2), so that short queues do not stop
//! `dwnd`; here γ is fixed, as in the paper. The RTT of a round is its smallest, as in Windows by the draft.
//!
//! Decided here: a time-out's slow start threshold is half of `cwnd`, which is also what a loss halves. Half of what is in
//! flight (RFC 5681, equation 4) would be half of `win` and so count `dwnd`, too, which a time-out takes back altogether:
//! slow start would double into what only a short queue had allowed. A long recovery does not raise it either.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, CongestionEvent, Controller, Cx, Directive, Feedback, Recovery, Time};

use crate::laws::{Aimd, Rounds};
use crate::needs::Reliability;
use crate::parts::{BoxedController, ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// Parameters of Compound TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompoundConfig {
    /// γ: with fewer segments queued the delay window grows. Above 0, at most 1000000; default 30.
    pub gamma: f64,
}

impl Default for CompoundConfig {
    fn default() -> Self {
        Self { gamma: 30.0 }
    }
}

const ALPHA: f64 = 0.125;
const BETA: f64 = 0.5;
const K: f64 = 0.75;
const ZETA: f64 = 1.0;
/// Below this window it is Reno.
const LEAST_WINDOW: f64 = 38.0;

impl SchemeConfig for CompoundConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "compound",
            summary: "Reno's window beside one that grows quickly while the queue is short",
            source: "Tan, Song, Zhang and Sridharan 2006; draft-sridharan-tcpm-ctcp-02",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn check(&self, checker: &mut Checker) {
        let ok = self.gamma > 0.0 && self.gamma <= 1e6;
        checker.require(ok, "gamma", self.gamma, "above 0, at most 1000000 segments");
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(Compound {
            aimd: Aimd::new(params),
            most: (params.max_window.as_f64() / params.segment.as_f64().max(1.0)).max(1.0),
            gamma: self.gamma,
            delay: 0.0,
            rounds: Rounds::default(),
            base: f64::INFINITY,
            round: f64::INFINITY,
        }))
    }
}

/// The two windows of Compound TCP, in segments.
#[derive(Clone, Debug)]
pub struct Compound {
    /// `cwnd`.
    aimd: Aimd,
    most: f64,
    gamma: f64,
    /// `dwnd`.
    delay: f64,
    rounds: Rounds,
    /// The smallest round trip time, ever and in this round, in seconds.
    base: f64,
    round: f64,
}

impl Compound {
    /// `win`.
    #[inline]
    fn window(&self) -> f64 {
        (self.aimd.law.window + self.delay).min(self.most)
    }

    fn end_round(&mut self, feedback: &Feedback<'_>) {
        let rtt = std::mem::replace(&mut self.round, f64::INFINITY);
        let window = self.window();
        let repairing = feedback.recovery == Recovery::Fast;
        if self.aimd.law.in_slow_start() || repairing || rtt == f64::INFINITY {
            return;
        }
        let queued = window * (1.0 - self.base / rtt);
        let change = if queued >= self.gamma {
            // A small window, or one that was not used, may not grow; its queue is there all the same.
            -ZETA * queued
        } else if Aimd::may_grow(feedback) && window >= LEAST_WINDOW {
            (ALPHA * window.powf(K) - 1.0).max(0.0)
        } else {
            0.0
        };
        self.delay = (self.delay + change).clamp(0.0, self.most);
    }

    fn on_event(&mut self, event: CongestionEvent, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let (before, half) = (self.window(), self.aimd.law.window / 2.0);
        match event {
            CongestionEvent::Loss | CongestionEvent::Ecn => {
                self.aimd.reduce_to(event, half, cx);
                let kept = before.min(feedback.outstanding.as_f64() / self.aimd.law.segment()) * (1.0 - BETA);
                self.delay = (kept - half).clamp(0.0, (before - self.aimd.law.window).max(0.0));
            }
            CongestionEvent::Timeout { .. } => {
                self.aimd.on_event(event, feedback, 0.5, cx);
                self.delay = 0.0;
            }
            CongestionEvent::Idle => {
                self.aimd.reduce_to(event, half, cx);
                self.delay = 0.0;
            }
            CongestionEvent::Spurious | CongestionEvent::RecoveryEnd => self.aimd.reduce_to(event, half, cx),
        }
    }
}

impl Controller for Compound {
    fn watches_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.round = self.round.min(rtt.latest.as_secs_f64());
            self.base = self.base.min(self.round);
        }
        if self.rounds.end(feedback) {
            self.end_round(feedback);
        }
        if let Some(event) = feedback.event {
            return self.on_event(event, feedback, cx);
        }
        if !Aimd::may_grow(feedback) || feedback.advanced == Bytes::ZERO {
            return;
        }
        let law = &mut self.aimd.law;
        if law.in_slow_start() {
            law.slow_start(feedback.advanced, feedback.recovery == Recovery::Timeout);
        } else {
            law.set(law.window + law.counted(feedback.advanced) / (law.window + self.delay));
        }
        cx.note("delay_window", self.delay * self.aimd.law.segment());
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(Bytes::new((self.window() * self.aimd.law.segment()) as u64))
    }
}
