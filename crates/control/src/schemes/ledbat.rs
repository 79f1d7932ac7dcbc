//! LEDBAT: a background transport that keeps a fixed delay in the queue, judged by one-way delays, and gives way to
//! others. The scheme `ledbat`; its successor is `ledbat_plus_plus.rs`.
//!
//! Source: RFC 6817 (Shalunov, Hazel, Iyengar and Kühlewind), §2.4.2 and §2.5; the filters of delays, shared with its
//! successor, are in `estimators/queueing_delay.rs`. With q the queueing delay on the way there and W the window in segments:
//!
//! | | |
//! | --- | --- |
//! | acknowledgement | `W += GAIN (TARGET - q)/TARGET · acked/W`, `GAIN = 1`, `TARGET = 100 ms` |
//! | bounds | at most what was outstanding and `ALLOWED_INCREASE = 1` more; at least 2 |
//! | loss, at most once per round trip | half, at least 2 |
//! | nothing acknowledged for the time-out | 1 |
//! | begin | 2, without slow start |
//!
//! Laws: one flow settles at `q = TARGET`; it never grows faster than Reno; a flow that comes late takes the queue of the
//! first for the path, aims at `TARGET` above it, and the first starves (the latecomer's advantage, which LEDBAT++ ends by its
//! slowdowns).
//!
//! Departures of others: libutp and ns-3 begin with slow start; ns-3 falls back to NewReno without timestamps.
//!
//! Deviations: delays are as exact as the receiver's clock; the RFC asks for milliseconds or finer. The minutes of the base
//! delay begin with its first delay, not with the clock's minutes.
//!
//! Decided here, where the RFC says nothing: the window does not grow while a loss is repaired, nor by an acknowledgement that
//! echoes a mark (RFC 3168 §6.1.2), and a batch that tells of an event moves it by that alone. What was no loss is taken back.
//! After a pause the window is that of the beginning at most (RFC 5681 §4.1). The round trip that no present delay may be older
//! than is the smoothed one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    Bytes, Checker, CongestionEvent, Controller, Cx, Directive, Feedback, OneWay, Recovery, Span, Time,
};

use crate::clock::Drift;
use crate::estimators::QueueingDelay;
use crate::laws::{Aimd, echo_forbids_growth};
use crate::needs::{Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// Parameters of LEDBAT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedbatConfig {
    /// TARGET: the queueing delay to settle at. Above 0 s; default 100 ms, which is also the most that RFC 6817 §2.5 allows.
    pub target: Span,
    /// GAIN: segments per round trip that the window grows by without queue. Above 0, at most 1 (RFC 6817 §2.5); default 1.
    pub gain: f64,
    /// `ALLOWED_INCREASE`: segments that the window may exceed what was outstanding. Above 0, at most 1000; default 1.
    pub allowed_increase: f64,
    /// By how many parts in a million the receiver's clock runs fast (or, below 0, slow), -1000 to 1000. Default 0. Fast, it
    /// adds to what LEDBAT takes for queueing, until the base delay forgets (RFC 6817 §2.4.2: `BASE_HISTORY`, ten minutes).
    pub clock_drift: f64,
}

impl Default for LedbatConfig {
    fn default() -> Self {
        Self { target: Span::from_millis(100), gain: 1.0, allowed_increase: 1.0, clock_drift: 0.0 }
    }
}

/// `MIN_CWND` and `INIT_CWND`, in segments.
const LEAST: f64 = 2.0;

impl SchemeConfig for LedbatConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "ledbat",
            summary: "A background transport that keeps a fixed one-way queueing delay and gives way",
            source: "RFC 6817",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn needs(&self) -> Needs {
        Needs { stamps: true, ..Needs::over(Reliability::Sack) }
    }

    fn check(&self, checker: &mut Checker) {
        let ok = !self.target.is_zero() && self.target <= Span::from_millis(100);
        checker.require(ok, "target", self.target, "above 0 s, at most 100 ms");
        checker.require(self.gain > 0.0 && self.gain <= 1.0, "gain", self.gain, "above 0, at most 1");
        let allowed = self.allowed_increase;
        let ok = allowed > 0.0 && allowed <= 1000.0;
        checker.require(ok, "allowed_increase", allowed, "above 0, at most 1000");
        Drift::check(checker, self.clock_drift);
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        let least = Bytes::new((LEAST * params.segment.as_f64()) as u64);
        let initial_window = params.initial_window.min(least);
        let aimd = Aimd::new(&ControllerParams { initial_window, ..*params });
        let drift = Drift::parts_in_a_million(self.clock_drift);
        let (delay, round_trip) = (QueueingDelay::default(), Span::ZERO);
        Parts::sender(Box::new(Ledbat { aimd, config: self.clone(), drift, delay, round_trip }))
    }
}

/// LEDBAT's window.
#[derive(Clone, Debug)]
pub struct Ledbat {
    aimd: Aimd,
    config: LedbatConfig,
    drift: Drift,
    delay: QueueingDelay,
    /// The smoothed one.
    round_trip: Span,
}

impl Ledbat {
    fn on_event(&mut self, event: CongestionEvent, cx: &mut Cx<'_>) {
        let to = (self.aimd.law.window / 2.0).max(LEAST);
        self.aimd.reduce_to(event, to, cx);
    }

    fn steer(&mut self, feedback: &Feedback<'_>) {
        let Some(queueing) = self.delay.queueing() else { return };
        let off_target = 1.0 - queueing.ratio(self.config.target);
        let law = &mut self.aimd.law;
        let window = law.window;
        let change = self.config.gain * off_target * law.segments(feedback.advanced) / window;
        let held = feedback.recovery == Recovery::Fast || echo_forbids_growth(feedback);
        if held && change > 0.0 {
            return;
        }
        let most = law.segments(feedback.outstanding) + self.config.allowed_increase;
        let to = (window + change).min(most).max(LEAST);
        law.set(if held { to.min(window) } else { to });
    }
}

impl Controller for Ledbat {
    fn watches_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.round_trip = rtt.smoothed;
        }
        if let Some(way) = feedback.one_way {
            let by_its_clock = OneWay { arrived: self.drift.read(way.arrived), ..way };
            self.delay.forget(now, self.round_trip);
            self.delay.take(now, by_its_clock.relative());
            cx.note("queueing_delay", self.delay.queueing().unwrap_or(Span::ZERO).as_secs_f64());
        }
        if let Some(event) = feedback.event {
            return self.on_event(event, cx);
        }
        if feedback.advanced > Bytes::ZERO {
            self.steer(feedback);
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(self.aimd.law.bytes())
    }
}
