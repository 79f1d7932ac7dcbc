//! A rate that never changes, whatever happens. The scheme `fixed-rate`: unresponsive traffic, constant bit rate
//! and, with Poisson tokens, a randomised one. No source beyond the token bucket.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Burst, Checker, Controller, Cx, DataAmount, Directive, Feedback, Time, Tokens};

use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};

/// Parameters of the fixed rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FixedRateConfig {
    /// The rate on the wire, headers included. Default 1 Mbit/s.
    pub rate: BitRate,
    /// How much may leave back to back after a pause: the depth of the token bucket. Default 1 packet.
    pub burst: DataAmount,
    /// How tokens arrive: `constant`, evenly, or `poisson`, one packet's worth at a time. Default constant.
    pub tokens: Tokens,
    /// Whether lost data is repaired (by selective acknowledgements). Default false: datagrams.
    pub reliable: bool,
}

impl Default for FixedRateConfig {
    fn default() -> Self {
        Self {
            rate: BitRate::from_bits_per_sec(1_000_000),
            burst: DataAmount::Packets(1.0),
            tokens: Tokens::Constant,
            reliable: false,
        }
    }
}

impl SchemeConfig for FixedRateConfig {
    type Controller = FixedRate;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "fixed-rate",
            summary: "A rate that never changes, with even or Poisson tokens",
            source: "none",
            reliability: Reliability::Datagram,
            expects_discipline: "any",
        }
    }

    fn family(&self) -> Family {
        Family::Unresponsive
    }

    fn needs(&self) -> Needs {
        let reliability = if self.reliable { Reliability::Sack } else { Reliability::Datagram };
        Needs { marks: MarkResponse::Controller, ..Needs::over(reliability) }
    }

    fn lives_on_reports(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts<FixedRate> {
        Parts::sender(FixedRate::new(self, params))
    }

    fn check(&self, checker: &mut Checker) {
        checker.require(self.rate > BitRate::ZERO, "rate", self.rate, "a rate above zero");
        let whole = !matches!(self.burst, DataAmount::Packets(packets) if packets < 1.0);
        let ok = whole && self.burst.is_sensible();
        checker.require(ok, "burst", self.burst, "1 to 16777216 packets, or 1 B to 16 GB");
    }
}

/// A rate that never changes.
#[derive(Clone, Debug)]
pub struct FixedRate {
    rate: BitRate,
    burst: Burst,
}

impl FixedRate {
    /// A connection's start.
    pub fn new(config: &FixedRateConfig, params: &ControllerParams) -> Self {
        let depth = config.burst.in_bytes(params.segment);
        Self { rate: config.rate, burst: Burst { depth, tokens: config.tokens } }
    }
}

impl Controller for FixedRate {
    fn watches_sent(&self) -> bool {
        false
    }

    fn on_feedback(&mut self, _: Time, _: &Feedback<'_>, _: &mut Cx<'_>) {}

    fn directive(&self) -> Directive {
        Directive { burst: self.burst, ..Directive::rate(self.rate) }
    }
}
