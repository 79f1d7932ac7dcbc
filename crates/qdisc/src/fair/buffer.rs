//! Who loses when the shared buffer of many flows is full. Order of service is not decided here.

use std::iter::once_with;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Backlog, Capacity, Checker, Packet};

use super::flows::Flows;
use super::longest::Ranking;
use crate::limit::Limit;
use crate::parts::BuildCx;

/// Who loses a packet when the buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The newest packet of the flow that has most waiting (Demers, Keshav and Shenker 1989, §2): a flow below its
    /// share of the buffer loses nothing.
    #[default]
    Longest,
    /// The oldest packet of the flow that has most waiting (Suter, Lakshman, Stiliadis and Choudhury 1998); ns-2's
    /// DRR does so. In self-clocked fair queueing and cell round robin, the flow's packets behind take over the place
    /// of the lost one. Not where tags belong to packets (weighted fair queueing and virtual clock): those behind
    /// would keep theirs, and the flow pay for what it lost.
    LongestHead,
    /// The arriving packet.
    Arriving,
}

/// How the flows share the link's buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BufferConfig {
    /// Who loses a packet when the link's buffer is full: `longest` (the newest packet of the flow with most
    /// waiting, the default), `longest-head` (its oldest) or `arriving`.
    pub victim: Victim,
    /// At most so much of each flow waits, in packets or bytes; beyond, its arrivals are dropped. Default: no limit
    /// but the link's buffer.
    pub per_flow: Option<Capacity>,
}

impl BufferConfig {
    /// Complains about what makes no sense where each packet keeps the tag it came with.
    pub(super) fn check_for_tags(&self, checker: &mut Checker) {
        self.check(checker);
        let allowed = "`longest` or `arriving`: packets behind a dropped one keep their tags, so that its flow would pay for it";
        checker.require(self.victim != Victim::LongestHead, "victim", "`longest-head`", allowed);
    }

    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        if let Some(capacity @ Capacity::MilliBdp(_)) = self.per_flow {
            checker.require(false, "per_flow", capacity, "a number of packets or bytes, or \"unlimited\"");
        }
    }
}

/// The buffer's state: bounds, and who has most.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    total: Limit,
    per_flow: Limit,
    victim: Victim,
    /// Whether flows have bounds of their own, or it is the arriving packet that is dropped.
    may_refuse: bool,
    /// Whether queues are compared by packets, as the buffer counts, rather than bytes.
    in_packets: bool,
    ranking: Ranking,
}

impl Buffer {
    pub(super) fn new(config: &BufferConfig, cx: &BuildCx) -> Self {
        let per_flow = Limit::new(config.per_flow.unwrap_or(Capacity::Unlimited));
        Self {
            total: Limit::new(cx.capacity),
            per_flow,
            victim: config.victim,
            may_refuse: !per_flow.is_unlimited() || config.victim == Victim::Arriving,
            in_packets: matches!(cx.capacity, Capacity::Packets(_)),
            ranking: Ranking::default(),
        }
    }

    /// Whether an arrival may not be taken in, not even at another's cost.
    #[inline]
    pub(super) fn refuses<F: Default, N: Copy>(
        &self,
        packet: &Packet,
        slot: u32,
        flows: &Flows<F, N>,
    ) -> bool {
        self.may_refuse
            && !(self.per_flow.admits(packet, &flows.length(slot), false)
                && (self.victim != Victim::Arriving || self.total.admits(packet, &flows.backlog(), false)))
    }

    /// Whether more waits than may.
    #[inline]
    pub(super) fn is_exceeded_by(&self, backlog: &Backlog) -> bool {
        self.total.exceeded_by(backlog)
    }

    fn measure(in_packets: bool, length: Backlog) -> u64 {
        if in_packets { u64::from(length.packets) } else { length.bytes.get() }
    }

    /// Whether the next packet that joins may change what is known of who has most.
    #[inline]
    pub(super) const fn is_ranking(&self) -> bool {
        self.ranking.is_on()
    }

    /// A packet has joined `slot`.
    #[inline]
    pub(super) fn grown<F: Default, N: Copy>(&mut self, slot: u32, flows: &Flows<F, N>) {
        if self.ranking.is_on() {
            let length = Self::measure(self.in_packets, flows.length(slot));
            self.ranking.grown(slot, length, &flows.backlog(), &self.total);
        }
    }

    /// The last packet of `slot` has left.
    #[inline]
    pub(super) fn emptied(&mut self, slot: u32) {
        self.ranking.emptied(slot);
    }

    /// The flow that loses a packet, and whether it loses its newest.
    pub(super) fn victim<F: Default, N: Copy>(&mut self, arriving: u32, flows: &Flows<F, N>) -> (u32, bool) {
        let in_packets = self.in_packets;
        let length = |slot| Self::measure(in_packets, flows.length(slot));
        let busy = once_with(|| flows.busy()).flatten();
        let longest = self.ranking.longest(busy, length);
        (longest.unwrap_or(arriving), self.victim != Victim::LongestHead)
    }
}
