//! The whole scenario as data: what TOML files, JSON and Python objects say the same about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Span, Time};

use crate::aggregate::AggregateConfig;
use crate::flow::FlowConfig;
use crate::record::RecordConfig;
use crate::template::TopologyConfig;

/// A scenario: network, flows, what to record, for how long, with which seed.
///
/// Quantities carry their units (`"10 Mbit/s"`, `"5 ms"`, `"240 packets"`); a bare number in their place is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A title for results and figures.
    #[serde(default)]
    pub name: String,
    /// What the scenario is for; free text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How long the run lasts, in simulated time.
    pub duration: Span,
    /// Metrics are taken from here on; time series begin at 0 all the same.
    #[serde(default)]
    pub warm_up: Span,
    /// The seed of all random streams. The same scenario with the same seed gives the same result, bit by bit.
    #[serde(default = "seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// The network.
    pub topology: TopologyConfig,
    /// The groups of flows.
    pub flows: Vec<FlowConfig>,
    /// Control from edge to edge: one loop for all flows between two edge routers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregates: Vec<AggregateConfig>,
    /// What is recorded besides counters.
    #[serde(default)]
    pub record: RecordConfig,
}

const fn seed() -> u64 {
    1
}

impl Scenario {
    /// The end of the run.
    pub fn end(&self) -> Time {
        Time::ZERO + self.duration
    }

    /// How many flows there are in all groups.
    pub fn flow_count(&self) -> usize {
        self.flows.iter().map(|group| group.count as usize).sum()
    }
}
