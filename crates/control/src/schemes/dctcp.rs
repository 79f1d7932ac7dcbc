//! Data Center TCP: a window that is reduced by the fraction of its data that was marked. The scheme `dctcp`. Its
//! receiver's echo, with the state `DCTCP.CE`, is `EcnEcho::StateChange` in `transport`.
//!
//! Source: RFC 8257 (Data Center TCP), §3.3. Once per window of data, with M the fraction of the bytes acknowledged whose
//! acknowledgements bore an echo:
//!
//! | rule | RFC 8257 |
//! | --- | --- |
//! | `α ← (1 - g) α + g M`, from 1, `g = 1/16` | §3.3 steps 5 and 6, §4.2 |
//! | echo: `cwnd ← cwnd (1 - α/2)`, at most once per window | §3.3 step 9 |
//! | loss: `cwnd` halved; time-out: one segment | §3.4 |
//! | growth, and none on acknowledgements with an echo | RFC 5681, RFC 3168 §6.1.2 |
//!
//! Laws for N synchronised flows behind a queue that marks above K packets, with `W = (C·RTT + K)/N` (Alizadeh et al. 2010,
//! §3.3): `α² (1 - α/4) = (2W + 1)/(W + 1)²`; each window swings by `(W + 1) α/2`; the queue peaks at `K + N`.
//!
//! Departures of others: Linux keeps α in 1024ths and takes what is below 1/16 of one g for zero; it grows no window in the
//! state "congestion window reduced", a window of data after each reduction; it falls back to Reno where ECN is not
//! negotiated. ns-3 makes α's start and g settable, as this does.
//!
//! Deviations: retransmissions are not ECN-capable, as everywhere in Tailback.
//!
//! Open problems: RFC 8257 §5 and §6: it starves conventional flows in one queue, is unfair to long round trips, and
//! must not meet the open Internet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, CongestionEvent, Controller, Cx, Directive, Feedback, Time};

use crate::laws::{Aimd, Rounds};
use crate::needs::{EcnEcho, EcnMode, MarkResponse, Needs, Reliability};
use crate::parts::{ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// Parameters of DCTCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DctcpConfig {
    /// g: the weight of the newest window's marks in α. Above 0, at most 1; default 1/16 (RFC 8257 §4.2).
    pub g: f64,
    /// α before the first window, 0 to 1. Default 1, the cautious choice (RFC 8257 §4.2).
    pub initial_alpha: f64,
    /// How the receiver echoes marks: `state-change` (RFC 8257 §3.2), `counted` (the exact number, as in RFC 9768), or, to
    /// see why DCTCP needs a receiver of its own, `latched` (RFC 3168) or `per-packet`. Default `state-change`.
    pub echo: EcnEcho,
}

impl Default for DctcpConfig {
    fn default() -> Self {
        Self { g: 1.0 / 16.0, initial_alpha: 1.0, echo: EcnEcho::StateChange }
    }
}

impl SchemeConfig for DctcpConfig {
    type Controller = Box<dyn Controller + Send>;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "dctcp",
            summary: "A window reduced by the fraction of its data that was marked",
            source: "RFC 8257",
            reliability: Reliability::Sack,
            expects_discipline: "step, or another that marks early",
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            ecn: EcnMode::Ect0,
            echo: Some(self.echo),
            marks: MarkResponse::Controller,
            ..Needs::over(Reliability::Sack)
        }
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(Dctcp::new(self, params)))
    }

    fn check(&self, checker: &mut Checker) {
        checker.require(self.g > 0.0 && self.g <= 1.0, "g", self.g, "above 0, at most 1");
        let alpha = self.initial_alpha;
        checker.require((0.0..=1.0).contains(&alpha), "initial_alpha", alpha, "0 to 1");
        let heard = !matches!(self.echo, EcnEcho::Hidden | EcnEcho::Codepoints);
        checker.require(
            heard,
            "echo",
            "hidden or codepoints",
            "state-change, counted, latched or per-packet",
        );
    }
}

/// DCTCP's window.
#[derive(Clone, Debug)]
pub struct Dctcp {
    aimd: Aimd,
    g: f64,
    /// Echoes count packets; else each says that all which its acknowledgement covers was marked.
    counted: bool,
    rounds: Rounds,
    /// `DCTCP.Alpha`.
    alpha: f64,
    /// `DCTCP.BytesAcked` and `DCTCP.BytesMarked`.
    acked: f64,
    marked: f64,
}

impl Dctcp {
    /// A connection's start.
    pub fn new(config: &DctcpConfig, params: &ControllerParams) -> Self {
        Self {
            aimd: Aimd::new(params),
            g: config.g,
            counted: config.echo == EcnEcho::Counted,
            rounds: Rounds::default(),
            alpha: config.initial_alpha,
            acked: 0.0,
            marked: 0.0,
        }
    }

    /// The estimate of the fraction of marked data.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Steps 1 to 8.
    #[inline]
    fn measure(&mut self, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let bytes = feedback.advanced.as_f64();
        self.acked += bytes;
        if self.counted {
            self.marked += f64::from(feedback.echoes.ce) * self.aimd.law.segment();
        } else if feedback.echoes.ce > 0 {
            self.marked += bytes;
        }
        if self.rounds.end(feedback) && self.acked > 0.0 {
            let fraction = (self.marked / self.acked).min(1.0);
            self.alpha = ((1.0 - self.g) * self.alpha + self.g * fraction).clamp(0.0, 1.0);
            (self.acked, self.marked) = (0.0, 0.0);
            cx.note("alpha", self.alpha);
        }
    }
}

impl Controller for Dctcp {
    fn watches_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        self.measure(feedback, cx);
        match feedback.event {
            Some(CongestionEvent::Ecn) => {
                let to = self.aimd.law.window * (1.0 - self.alpha / 2.0);
                self.aimd.reduce_to(CongestionEvent::Ecn, to, cx);
            }
            Some(event) => self.aimd.on_event(event, feedback, 0.5, cx),
            None if Aimd::may_grow(feedback) => self.aimd.grow(feedback, 1.0),
            None => {}
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(self.aimd.law.bytes())
    }
}
