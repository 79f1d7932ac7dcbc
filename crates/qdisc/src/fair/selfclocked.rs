//! Self-clocked fair queueing (Golestani, "A Self-Clocked Fair Queueing Scheme for Broadband Applications", 1994),
//! and cell-by-cell round robin, which is the same with lengths counted in cells.
//!
//! A packet's tag is `max(v, tag of the flow's packet before) + length / weight`, where the virtual time v is the tag
//! of the packet in service, and starts from zero in every busy period (1994, §III).
//!
//! The paper loses no packets. Where a flow's oldest is lost (`longest-head`), the next begins where the lost one would have,
//! and those behind follow without a gap, what comes while they wait included: they are not held to the virtual time, which
//! may have passed them. So a flow that loses packet after packet is served all the same, and is ahead of its share by what
//! one packet costs at most. The virtual time does not go back to a tag that it has passed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, Packet, QueueCx, Time};

use super::order::Order;
use super::shares::check_shares;
use super::tagged::{ByTag, TagRule, TaggedFlows};
use super::{BufferConfig, Share};
use crate::fair::PerFlow;
use crate::parts::{BuildCx, FlowLists, Info, QueueConfig, shared};

/// Self-clocked fair queueing (Golestani 1994): fair in bytes, by tags measured against the packet in service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SelfClockedConfig {
    /// Weights; flows named nowhere have weight 1.
    pub shares: Vec<Share>,
    /// How the flows share the link's buffer.
    pub buffer: BufferConfig,
}

/// Round robin cell by cell over 53-byte ATM cells, as the switches of Keshav 1994 have it. A packet of at most
/// 53 B is one cell; a larger one is cut by AAL 5 (ITU-T I.363.5: 8 B of trailer, 48 B of payload per cell) and leaves
/// in the round in which its last cell would.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CellRoundRobinConfig {
    /// Weights, in cells per round; flows named nowhere have weight 1.
    pub shares: Vec<Share>,
    /// How the flows share the link's buffer.
    pub buffer: BufferConfig,
}

impl SelfClockedConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_shares(&self.shares, "shares", checker);
        checker.within("buffer", |checker| self.buffer.check(checker));
    }
}

impl QueueConfig for SelfClockedConfig {
    type Queue = Box<PerFlow<ByTag<SelfClocked>>>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "self-clocked-fair-queueing",
            family: "fair",
            summary: "Fair queueing by tags measured against the packet in service",
            source: "Golestani, A Self-Clocked Fair Queueing Scheme for Broadband Applications, 1994",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        PerFlow::boxed(SelfClocked::in_bytes(), &self.shares, &self.buffer, cx)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        shared(&self.shares)
    }
}

impl CellRoundRobinConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_shares(&self.shares, "shares", checker);
        checker.within("buffer", |checker| self.buffer.check(checker));
    }
}

impl QueueConfig for CellRoundRobinConfig {
    type Queue = Box<PerFlow<ByTag<SelfClocked>>>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "cell-round-robin",
            family: "fair",
            summary: "Each flow with packets sends one 53-byte cell in turn",
            source: "Keshav, Packet-Pair Flow Control, 1994, §2.1",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        PerFlow::boxed(SelfClocked::in_cells(), &self.shares, &self.buffer, cx)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        shared(&self.shares)
    }
}

/// A cell on the wire.
pub const CELL: Bytes = Bytes::new(53);
const CELL_PAYLOAD: u64 = 48;
const AAL5_TRAILER: u64 = 8;

/// How many cells a packet fills.
pub const fn cells(size: Bytes) -> u64 {
    if size.get() <= CELL.get() { 1 } else { (size.get() + AAL5_TRAILER).div_ceil(CELL_PAYLOAD) }
}

/// The tags of self-clocked fair queueing.
#[derive(Clone, Debug)]
pub struct SelfClocked {
    in_cells: bool,
    /// The tag of the packet in service.
    virtual_time: f64,
}

impl SelfClocked {
    /// Fair in bytes.
    pub fn in_bytes() -> ByTag<Self> {
        ByTag::new(Self { in_cells: false, virtual_time: 0.0 })
    }

    /// Fair in cells.
    pub fn in_cells() -> ByTag<Self> {
        ByTag::new(Self { in_cells: true, virtual_time: 0.0 })
    }

    fn length(&self, packet: &Packet) -> u32 {
        // No packet is longer than 64 KiB.
        if self.in_cells { cells(packet.size()) as u32 } else { packet.size().get() as u32 }
    }
}

impl TagRule for SelfClocked {
    /// The tag of the flow's oldest packet. Those of the packets behind it follow from their lengths alone: it is at least v,
    /// unless an older one was lost.
    type Flow = f64;
    /// The packet's length in bytes or cells.
    type Note = u32;

    #[inline]
    fn note(
        &mut self,
        _now: Time,
        flows: &mut TaggedFlows<Self>,
        _order: &mut Order,
        slot: u32,
        packet: &Packet,
        cx: &QueueCx<'_>,
    ) -> u32 {
        let length = self.length(packet);
        if flows.get(slot).is_empty() {
            if cx.idle_since.is_some() && flows.backlog().packets == 0 {
                self.virtual_time = 0.0;
            }
            *flows.state(slot) = self.virtual_time + f64::from(length) / flows.weight(slot);
        }
        length
    }

    #[inline]
    fn tag(flows: &TaggedFlows<Self>, slot: u32) -> Option<f64> {
        let flow = flows.get(slot);
        (!flow.is_empty()).then_some(flow.state)
    }

    fn served(&mut self, _now: Time, _flows: &mut TaggedFlows<Self>, _slot: u32, tag: f64) {
        // A flow that runs empty is forgotten: its last tag is now at most the virtual time.
        self.virtual_time = self.virtual_time.max(tag);
    }

    #[inline]
    fn advanced(&mut self, flows: &mut TaggedFlows<Self>, slot: u32) {
        if let Some(length) = flows.head_note(slot) {
            *flows.state(slot) += f64::from(length) / flows.weight(slot);
        }
    }

    /// The next packet begins where the dropped one would have: what was dropped is no service.
    fn head_dropped(&mut self, flows: &mut TaggedFlows<Self>, slot: u32, length: u32) {
        if let Some(next) = flows.head_note(slot) {
            *flows.state(slot) += (f64::from(next) - f64::from(length)) / flows.weight(slot);
        }
    }

    fn dropped(&mut self, _: &mut TaggedFlows<Self>, _: u32, _: &Packet, _: u32) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ITU-T I.363.5: payload and 8 B of trailer, padded to whole cells of 48 B; a packet of a cell's size is one.
    #[test]
    fn packets_fill_cells() {
        let filled = [40, 53, 54, 88, 89, 1000, 1500].map(|size| cells(Bytes::new(size)));
        assert_eq!(filled, [1, 1, 2, 2, 3, 21, 32]);
    }
}
