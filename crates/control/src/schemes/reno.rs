//! Reno's window law: slow start, congestion avoidance, halving; shared by the schemes `reno`, `newreno` and
//! `sack`, which differ in loss recovery only. It is that of `laws/aimd.rs` with one segment and one half. Loss recovery lives in
//! `transport`.
//!
//! Source: RFC 5681 (TCP Congestion Control) §3.1, §3.2; RFC 3465 (Appropriate Byte Counting); RFC 3168 §6.1.2
//! (ECN); RFC 7661 §4 in spirit (no growth that was not used). With `w` the window and `FlightSize` the data outstanding, in
//! segments:
//!
//! | when | rule | where |
//! | --- | --- | --- |
//! | ack, `w < ssthresh` | `w += min(N, 1)`; by byte counting `min(N, L)` | RFC 5681 eq. 2, RFC 3465 §2.2 |
//! | ack, otherwise | `w += 1/w`; by byte counting `w += N/w` | RFC 5681 eq. 3, RFC 3465 §2.1 |
//! | loss | `ssthresh = max(FlightSize/2, 2)`, `w = ssthresh` | RFC 5681 eq. 4, §3.2 |
//! | ECN echo that counts | `ssthresh = max(FlightSize/2, 2)`, `w = max(FlightSize/2, 1)` | RFC 3168 §6.1.2 |
//! | any ack with an ECN echo | `w` does not grow, but in the repair of a time-out | RFC 3168 §6.1.2 |
//! | first time-out | `ssthresh = max(FlightSize/2, 2)`, `w = 1` | RFC 5681 eq. 4, §3.1 |
//! | further time-outs | `w = 1`, `ssthresh` held | RFC 5681 §3.1 |
//! | data after an idle time-out | `w = min(initial window, w)` | RFC 5681 §4.1 |
//! | the last loss or time-out was spurious | `w` and `ssthresh` as before it | RFC 4015 §3.2, `w` at once |
//!
//! Deviations: fast recovery's window inflation (RFC 5681 §3.2 steps 3 and 4) belongs to the reliability, which
//! counts what left the network; this window holds still meanwhile. RFC 3465 §2.1 adds whole segments once per
//! window of acknowledged bytes; here their fractions are added at once, which has the same slope. With
//! `halve = "window"`, ns-2 sets the threshold to 2 at repeated time-outs; here it is held, as the RFC says.
//! That an echo at a window of one segment silences the sender for a time-out (RFC 3168 §6.1.2) is the transport's doing.
//!
//! Open problems: bias against long round trip times (growth per round trip, not per second), and a sawtooth that
//! keeps drop-tail queues full.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, CongestionEvent, Controller, Cx, Directive, Feedback, Time};

use crate::laws::{Aimd, Counting, Halve, WindowLaw, echo_forbids_growth};
use crate::needs::Reliability;
use crate::parts::{ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// Parameters of Reno's window law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RenoConfig {
    /// What an acknowledgement counts for: `per-ack` (RFC 5681, ns-2) or `bytes` (RFC 3465).
    pub counting: Counting,
    /// L of RFC 3465 §2.2: with `counting = "bytes"`, at most so many segments of growth per acknowledgement in
    /// slow start. In segments, at least 1; default 2.
    pub slow_start_limit: f64,
    /// What the threshold is half of: `flight`, the data in flight (RFC 5681 equation 4), or `window` (ns-2).
    pub halve: Halve,
    /// Whether the acknowledgement that ends fast recovery also grows the window, as in ns-2's Reno and NewReno;
    /// default false: RFC 5681 §3.2 step 6 and RFC 6582 §3.2 step 3 set the window to the threshold and no more.
    pub grow_on_exit: bool,
}

impl Default for RenoConfig {
    fn default() -> Self {
        Self { counting: Counting::PerAck, slow_start_limit: 2.0, halve: Halve::Flight, grow_on_exit: false }
    }
}

/// A scheme of Reno's window law.
#[derive(Clone, Copy, Debug)]
pub struct RenoScheme<'a> {
    config: &'a RenoConfig,
    info: &'static SchemeInfo,
}

impl<'a> RenoScheme<'a> {
    /// The scheme `reno`.
    pub const fn reno(config: &'a RenoConfig) -> Self {
        let info = &SchemeInfo {
            name: "reno",
            summary: "AIMD window with fast retransmit and fast recovery",
            source: "RFC 5681",
            reliability: Reliability::Reno,
            expects_discipline: "any",
        };
        Self { config, info }
    }

    /// The scheme `newreno`.
    pub const fn newreno(config: &'a RenoConfig) -> Self {
        let info = &SchemeInfo {
            name: "newreno",
            summary: "Reno's window with recovery by partial acknowledgements",
            source: "RFC 6582",
            reliability: Reliability::NewReno,
            expects_discipline: "any",
        };
        Self { config, info }
    }

    /// The scheme `sack`.
    pub const fn sack(config: &'a RenoConfig) -> Self {
        let info = &SchemeInfo {
            name: "sack",
            summary: "Reno's window with scoreboard recovery by selective acknowledgements",
            source: "RFC 5681, RFC 2018, RFC 6675",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        };
        Self { config, info }
    }
}

impl SchemeConfig for RenoScheme<'_> {
    type Controller = Reno;

    fn info(&self) -> &'static SchemeInfo {
        self.info
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts<Reno> {
        Parts::sender(Reno::new(self.config, params))
    }

    fn check(&self, checker: &mut Checker) {
        let limit = self.config.slow_start_limit;
        checker.require((1.0..=1e6).contains(&limit), "slow_start_limit", limit, "1 to 1000000 segments");
    }
}

/// Reno's window law.
#[derive(Clone, Debug)]
pub struct Reno {
    aimd: Aimd,
    grow_on_exit: bool,
}

/// Segments added per round trip, and the part of the flight that a reduction keeps.
const INCREASE: f64 = 1.0;
const KEPT: f64 = 0.5;

impl Reno {
    /// A connection's start.
    pub fn new(config: &RenoConfig, params: &ControllerParams) -> Self {
        let law = WindowLaw::new(params, config.counting, config.slow_start_limit, config.halve);
        Self { aimd: Aimd::of(law), grow_on_exit: config.grow_on_exit }
    }

    fn on_event(&mut self, event: CongestionEvent, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if event == CongestionEvent::RecoveryEnd && self.grow_on_exit && !echo_forbids_growth(feedback) {
            self.aimd.grow(feedback, INCREASE);
        }
        self.aimd.on_event(event, feedback, KEPT, cx);
    }
}

impl Controller for Reno {
    fn watches_sent(&self) -> bool {
        false
    }

    #[expect(clippy::inline_always, reason = "feedback that it does not read is then never put into memory")]
    #[inline(always)]
    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(event) = feedback.event {
            return self.on_event(event, feedback, cx);
        }
        if Aimd::may_grow(feedback) {
            self.aimd.grow(feedback, INCREASE);
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(self.aimd.law.bytes())
    }
}
