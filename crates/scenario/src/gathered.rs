//! What was counted and recorded while a run or an emulation went on, as it was before tables were made of it. The tables are
//! `outcome`'s and `columns/`'s.

use std::sync::LazyLock;

use tailback_core::{Observation, Time};
use tailback_link::LinkCounters;
use tailback_sim::{AccumulationSeries, FlowDelays, PacketLog, TimeSeries};

/// The bytes of a row of packets: what its columns add up to when they leave.
pub(crate) const PACKET_ROW: u64 = 39;

/// All counters at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) at: Time,
    pub(crate) links: Vec<LinkCounters>,
    pub(crate) flows: Vec<FlowSnapshot>,
}

impl Snapshot {
    /// Before anything happens: every counter is zero, so that there are none to be kept.
    pub(crate) const START: Self = Self { at: Time::ZERO, links: Vec::new(), flows: Vec::new() };

    /// A link's counters.
    pub(crate) fn link(&self, index: usize) -> &LinkCounters {
        static NOTHING: LazyLock<LinkCounters> = LazyLock::new(LinkCounters::default);
        self.links.get(index).unwrap_or_else(|| &NOTHING)
    }

    /// A flow's counters; aggregates stand behind all flows.
    pub(crate) fn flow(&self, index: usize) -> &FlowSnapshot {
        static NOTHING: LazyLock<FlowSnapshot> = LazyLock::new(FlowSnapshot::default);
        self.flows.get(index).unwrap_or_else(|| &NOTHING)
    }
}

/// A flow's counters at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowSnapshot {
    pub(crate) sender: Observation,
    pub(crate) receiver: Observation,
    pub(crate) discarded: u64,
    pub(crate) finished_at: Option<Time>,
}

/// What recorders gathered.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) series: TimeSeries,
    pub(crate) packets: Option<PacketLog>,
    pub(crate) state: Option<StateLog>,
    /// One per recorded flow; none where it is off.
    pub(crate) accumulation: Vec<AccumulationSeries>,
    /// One per flow; none where it is off.
    pub(crate) delays: Vec<FlowDelays>,
}

/// What controllers published, in columns.
#[derive(Debug, Default)]
pub(crate) struct StateLog {
    pub(crate) time: Vec<f64>,
    pub(crate) flow: Vec<u32>,
    pub(crate) name: Vec<String>,
    pub(crate) value: Vec<f64>,
}
