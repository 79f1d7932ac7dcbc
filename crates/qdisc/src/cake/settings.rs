//! What a scenario writes about CAKE. What becomes of it stands in `mod.rs`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker, Span};

use super::framing::Framing;
use super::tins::{Codepoint, Tins};
use crate::fair::shares::check_members;
use crate::known::NamedFlow;

/// CAKE (Høiland-Jørgensen, Täht and Morton 2018; tc-cake): a shaper that knows the line's framing, tins by codepoint, in
/// each of them fair queueing of hosts and flows, and a COBALT law in each queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CakeConfig {
    /// The rate to shape to, framing included: a little less than that of the line behind, so that packets wait here. None
    /// by default: the link's own rate is what they wait for.
    pub rate: Option<BitRate>,
    /// The round trip to expect: COBALT's interval. Its target is a twentieth. Default 100 ms, for the Internet.
    pub rtt: Span,
    /// Between whom the line is shared. Default `"triple-isolate"`.
    pub isolation: Isolation,
    /// How many tins there are. Default `"diffserv3"`.
    pub tins: Tins,
    /// The codepoints of flows; those named nowhere send `CS0`. What goes out of band, ahead of all others, counts as `CS6`.
    pub codepoints: Vec<CodepointsConfig>,
    /// Bytes that the line adds to each packet, at most 256. Default 0 B.
    pub overhead: Bytes,
    /// The smallest frame on the line with its overhead (`mpu`), at most 256 B. Default 0 B.
    pub least_frame: Bytes,
    /// How the line carries frames. Default `"none"`.
    pub framing: Framing,
    /// Whether packets that are dropped count for the shaper as if they had left (`ingress`): for a queue behind the bottleneck,
    /// which can only drop what has crossed the line already. At least two thirds of the rate leave in any case. Default false.
    pub ingress: bool,
    /// Whether the shaper follows an estimate of the rate that arrives (`autorate-ingress`), at 15/16 of it; `rate` is then the
    /// first estimate, without which nothing is shaped until there is one. Default false.
    pub autorate_ingress: bool,
    /// Whether an acknowledgement that waits goes when a later one says all that it says; one that says more than a number, as
    /// ranges do, stays. Default `"off"`.
    pub ack_filter: AckFilter,
}

impl Default for CakeConfig {
    fn default() -> Self {
        Self {
            rate: None,
            rtt: Span::from_millis(100),
            isolation: Isolation::default(),
            tins: Tins::default(),
            codepoints: Vec::new(),
            overhead: Bytes::ZERO,
            least_frame: Bytes::ZERO,
            framing: Framing::default(),
            ingress: false,
            autorate_ingress: false,
            ack_filter: AckFilter::default(),
        }
    }
}

/// Between whom CAKE shares the line. The hosts of a flow are the two nodes between which it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CakeIsolation")]
pub enum Isolation {
    /// Nobody: one queue for each tin.
    #[serde(rename = "flowblind")]
    None,
    /// Hosts that send.
    #[serde(rename = "srchost")]
    Source,
    /// Hosts that receive.
    #[serde(rename = "dsthost")]
    Destination,
    /// Pairs of hosts.
    Hosts,
    /// Flows.
    Flows,
    /// Hosts that send, and the flows of each.
    #[serde(rename = "dual-srchost")]
    DualSource,
    /// Hosts that receive, and the flows of each.
    #[serde(rename = "dual-dsthost")]
    DualDestination,
    /// Hosts on both sides, and the flows of each: a flow gets its part of the busier one of its two hosts.
    #[default]
    TripleIsolate,
}

impl Isolation {
    /// Whether a flow's share is that of a part of the host that sends, and of the one that receives.
    pub(super) const fn of_hosts(self) -> (bool, bool) {
        match self {
            Self::DualSource => (true, false),
            Self::DualDestination => (false, true),
            Self::TripleIsolate => (true, true),
            _ => (false, false),
        }
    }
}

/// Which acknowledgements go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CakeAckFilter")]
pub enum AckFilter {
    /// None.
    #[default]
    Off,
    /// The older of two that both say less than the newest.
    On,
    /// Also the only one, where the newest stands right behind it.
    Aggressive,
}

/// The codepoint of some flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodepointsConfig {
    /// The flows, by the names of groups or flows, or by numbers counted from 0 over all groups in their order.
    pub flows: Vec<NamedFlow>,
    /// The codepoint of their packets, `"EF"` or `"CS1"`.
    pub codepoint: Codepoint,
}

/// More overhead than this no line has (tc-cake).
const MOST_OVERHEAD: Bytes = Bytes::new(256);

impl CakeConfig {
    /// Complains about every parameter that makes no sense.
    pub(super) fn check_all(&self, checker: &mut Checker) {
        if let Some(rate) = self.rate {
            checker.require(rate > BitRate::ZERO, "rate", rate, "a rate above zero");
        }
        checker.require(self.rtt >= Span::from_micros(1), "rtt", self.rtt, "a time of at least 1 µs");
        for (name, bytes) in [("overhead", self.overhead), ("least_frame", self.least_frame)] {
            let allowed = format!("at most {MOST_OVERHEAD}");
            checker.require(bytes <= MOST_OVERHEAD, name, bytes, allowed);
        }
        let mut named = BTreeSet::new();
        for (index, group) in self.codepoints.iter().enumerate() {
            checker.within(format!("codepoints[{index}]"), |checker| {
                check_members(&group.flows, &mut named, checker);
            });
        }
    }
}
