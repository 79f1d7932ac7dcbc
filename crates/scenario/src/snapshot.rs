//! All counters of a run or an emulation at one instant, of which tables are made. The tables are `outcome`'s and `columns/`'s;
//! what recorders recorded meanwhile is `sim`'s.

use std::sync::LazyLock;

use tailback_core::Time;
use tailback_link::LinkCounters;
use tailback_sim::FlowSnapshot;

/// All counters at one instant.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) at: Time,
    pub(crate) links: Vec<LinkCounters>,
    pub(crate) flows: Vec<FlowSnapshot>,
}

impl Snapshot {
    /// Before anything happens: every counter is zero, so that there are none to be kept.
    pub(crate) const START: Self = Self { at: Time::ZERO, links: Vec::new(), flows: Vec::new() };

    /// Whether nothing has happened yet, so that what is counted from here on is all that there is.
    pub(crate) fn is_start(&self) -> bool {
        self.links.is_empty() && self.flows.is_empty()
    }

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
