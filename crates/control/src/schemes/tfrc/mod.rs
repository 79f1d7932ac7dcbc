//! TCP-friendly rate control (RFC 5348): its configuration and what it says of itself. The scheme `tfrc`, and with
//! `small_packets` its variant for small packets (TFRC-SP, RFC 4828). The sender is in `sender.rs`, the receiver in
//! `receiver.rs`; loss events, their average interval and the throughput equation are parts that other schemes use, too.
//!
//! Choices: the no-feedback timer takes the rate that a report has just set, where step 3 of §4.3 takes the one before.
//! The initial infinity of `X_recv_set` goes when two rates are known. A first report that tells of losses sets the rate
//! by the equation, too. Departures that the rate held up are noted eight times per round trip. An early report leaves
//! where the loss event rate is above the one reported last. Before a round trip is known, a second stands for it.
//! Packets that are missing before a marked one are lost when three have come after them, as all are: the event begins
//! with the mark, where §5.1 begins it with what is missing. The history is discounted by the length at which its
//! interval closes, and the mean with the open interval is that of §5.5 from the first interval on.
//!
//! Deviations: no message of the protocol is lost for being late, so numbers do not wrap (they have 64 bits); a receiver's
//! clock is as exact as the scenario's; section 8.3's sender that computes the loss event rate itself is not built.

mod receive_rates;
mod receiver;
mod sender;

pub use receiver::TfrcPolicy;
pub use sender::Tfrc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, Span};

use crate::estimators::{LossCounting, LossIntervalsConfig};
use crate::laws::AssumedTimeout;
use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};

/// Parameters of TCP-friendly rate control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TfrcConfig {
    /// How loss intervals are averaged (RFC 5348 §5.4, §5.5).
    pub loss_intervals: LossIntervalsConfig,
    /// q: the weight of history in the smoothed round trip time, from 0 to below 1 (RFC 5348 §4.3). Default 0.9.
    pub rtt_history: f64,
    /// Whether the rate falls when round trips grow, against oscillation (RFC 5348 §4.5). Default true.
    pub damping: bool,
    /// Whether, after slow start, the rate rises by at most a packet per round trip, as a TCP's does and as in ns-2; RFC 5348
    /// lets it follow the equation at once. Default false.
    pub gradual_increase: bool,
    /// The time-out of the TCP that the throughput equation imitates (RFC 5348 §3.1): `four-round-trips`,
    /// `at-least-one-second`, or `measured`, the smoothed round trip and four deviations, in ticks of `timeout_tick`.
    /// Default `four-round-trips`.
    pub assumed_timeout: AssumedTimeout,
    /// With `measured`: the granularity of that TCP's clock, 0 for exact. Default 100 ms.
    pub timeout_tick: Span,
    /// Whether gaps between packets vary at random, by up to this fraction, from 0 to below 1: against synchronisation
    /// with other flows. Default 0.
    pub gap_jitter: f64,
    /// The variant for applications that send small packets (TFRC-SP, RFC 4828): the rate of large packets in bytes, headers
    /// counted, at most one packet in 10 ms, and short loss intervals counted by their losses. Default false.
    pub small_packets: bool,
}

impl Default for TfrcConfig {
    fn default() -> Self {
        Self {
            loss_intervals: LossIntervalsConfig::default(),
            rtt_history: 0.9,
            damping: true,
            gradual_increase: false,
            assumed_timeout: AssumedTimeout::FourRoundTrips,
            timeout_tick: Span::from_millis(100),
            gap_jitter: 0.0,
            small_packets: false,
        }
    }
}

impl TfrcConfig {
    fn counting(&self) -> LossCounting {
        if self.small_packets { LossCounting::ShortIntervalsByLosses } else { LossCounting::Events }
    }

    /// The packet size that the equation takes: the flow's own, or that of a TCP with large packets (RFC 4828 §4.1).
    fn nominal(&self, own: f64) -> f64 {
        if self.small_packets { NOMINAL.as_f64() } else { own }
    }
}

/// TFRC-SP's packets: 1460 bytes and a header of 40 (RFC 4828 §4.1, §4.2).
const NOMINAL: Bytes = Bytes::new(1500);

impl SchemeConfig for TfrcConfig {
    type Controller = crate::parts::BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "tfrc",
            summary: "The rate of a TCP under the same loss events and round trip times, smoothly",
            source: "RFC 5348, RFC 4828",
            reliability: Reliability::Datagram,
            expects_discipline: "any",
        }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn needs(&self) -> Needs {
        Needs { marks: MarkResponse::Controller, stamps: true, ..Needs::over(Reliability::Datagram) }
    }

    fn check(&self, checker: &mut Checker) {
        checker.within("loss_intervals", |inner| self.loss_intervals.check(inner));
        for (name, value) in [("rtt_history", self.rtt_history), ("gap_jitter", self.gap_jitter)] {
            checker.require((0.0..1.0).contains(&value), name, value, "a number from 0 to below 1");
        }
        let tick = self.timeout_tick <= Span::from_secs(10);
        checker.require(tick, "timeout_tick", self.timeout_tick, "at most 10 s");
    }

    fn build(&self, params: &ControllerParams) -> Parts<Self::Controller> {
        let controller: Self::Controller = Box::new(Tfrc::new(self, params));
        Parts::sender(controller).with_policy(Some(TfrcPolicy::new(self, params)))
    }
}
