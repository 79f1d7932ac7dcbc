//! What a run records. Counters are always exact and always kept; everything here is on top of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span};

/// Which flows, or links, are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Which {
    /// A whole class of them.
    Class(WhichClass),
    /// These, by name. The name of a group of flows stands for all of its members.
    Named(Vec<String>),
}

/// A class of flows or links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhichClass {
    /// Every one.
    All,
    /// Every link but the access links of a template; every flow.
    Main,
    /// None: recording costs nothing.
    None,
}

impl Which {
    /// Every one.
    pub const ALL: Self = Self::Class(WhichClass::All);
    /// All but access links.
    pub const MAIN: Self = Self::Class(WhichClass::Main);
    /// None.
    pub const NONE: Self = Self::Class(WhichClass::None);
}

/// What a run records beyond its counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each a part of the record")]
pub struct RecordConfig {
    /// The width of the bins of all time series: so wide that these take at most 1 GB (10 numbers of 8 bytes per flow
    /// and bin, 10 per link).
    pub bin: Span,
    /// Flows with a time series (goodput, window, rate, round trip time, losses, marks): `"all"`, `"none"`, or a list of
    /// names.
    pub flows: Which,
    /// Links with a time series (arrivals, departures, queue, drops, marks): `"all"`, `"main"` (all but the access links
    /// of a template), `"none"`, or a list of names such as `"r0->r1"`.
    pub links: Which,
    /// Whether the series of `links` also have what their queue disciplines tell of their state at the end of each bin
    /// (averages, prices, probabilities), in columns of its own names; `tailback queues` lists them.
    pub queue_state: bool,
    /// Whether every packet's passage over the links in `links` is logged: 30 bytes each time that a packet is sent,
    /// offered to a link, dropped or delivered. A run ends with an error when its log exceeds 1 GB.
    pub packets: bool,
    /// Whether the named state that controllers publish (thresholds, estimates) is recorded for `flows`: about 50 bytes
    /// each time that a name is told. A run ends with an error when these exceed 1 GB.
    pub state: bool,
    /// Whether the series of `flows` also have the exact accumulation (Xia et al., equation 1: what the flow has
    /// waiting along its path, each router seen a propagation delay ago, in the receiver's time), what it has in
    /// transmission, and the mean of the estimates that its scheme published as `accumulation`.
    pub accumulation: bool,
    /// Whether the table of flows has delays from `warm_up` on: of data packets from sender to receiver, with their
    /// variation, and round trip times as senders sample them, with percentiles of at most 0.4 % error. Up to 30 kB per flow,
    /// and a look-up for each packet.
    pub delays: bool,
}

impl Default for RecordConfig {
    fn default() -> Self {
        Self {
            bin: Span::from_millis(100),
            flows: Which::ALL,
            links: Which::MAIN,
            queue_state: false,
            packets: false,
            state: false,
            accumulation: false,
            delays: false,
        }
    }
}

impl RecordConfig {
    /// Complains about bins of no width, or so narrow that a run of `duration` fills memory.
    pub fn check(&self, duration: Span, checker: &mut Checker) {
        checker.require(!self.bin.is_zero(), "bin", self.bin, "a time longer than zero");
        let bins = duration.as_nanos() / self.bin.as_nanos().max(1);
        let allowed =
            format_args!("bins so wide that at most 10 million of them fill the duration ({duration})");
        checker.require(self.bin.is_zero() || bins <= 10_000_000, "bin", self.bin, allowed);
    }
}
