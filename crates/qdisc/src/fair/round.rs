//! Round robin, weighted round robin and deficit round robin (Shreedhar and Varghese 1995): flows with packets stand
//! in a ring, and the server visits them in turn. What a visit is worth is all that differs:
//!
//! | server | a visit gives | a packet costs |
//! | --- | --- | --- |
//! | round robin (Keshav 1994, §2.1, Nagle 1987) | 1 | 1 |
//! | weighted round robin (Keshav 1994, §2.1) | the weight | 1 |
//! | deficit round robin | quantum × weight | its bytes |
//!
//! What a visit leaves over is kept for the next, unless the flow has nothing left to send.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, Packet, QueueCx, Time};

use super::shares::check_shares;
use super::{BufferConfig, Flows, Plain, Scheduler, Share};
use crate::fair::PerFlow;
use crate::parts::{BuildCx, FlowLists, Info, QueueConfig, shared};

/// Round robin, packet by packet: each flow with packets sends one in turn. Fair where packets have one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RoundRobinConfig {
    /// How the flows share the link's buffer.
    pub buffer: BufferConfig,
}

/// Weighted round robin: each flow with packets sends as many as its weight says in turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WeightedRoundRobinConfig {
    /// Weights in packets per round, at least 0.01; fractions add up over rounds. Flows named nowhere have weight 1.
    pub shares: Vec<Share>,
    /// How the flows share the link's buffer.
    pub buffer: BufferConfig,
}

/// Deficit round robin (Shreedhar and Varghese 1995): round robin that is fair in bytes, at constant cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeficitRoundRobinConfig {
    /// Bytes per round for a flow of weight 1. Best at least the largest packet (1995, §3); default 1500 B.
    pub quantum: Bytes,
    /// Weights; quantum × weight must be at least 16 B. Flows named nowhere have weight 1.
    pub shares: Vec<Share>,
    /// How the flows share the link's buffer.
    pub buffer: BufferConfig,
}

impl Default for DeficitRoundRobinConfig {
    fn default() -> Self {
        Self { quantum: Bytes::new(1500), shares: Vec::new(), buffer: BufferConfig::default() }
    }
}

/// A visit must bring at least this share of a packet, so that the server does not turn in empty rounds.
const LEAST_PACKETS: f64 = 0.01;
/// A visit must bring at least this many bytes, for the same reason.
const LEAST_BYTES: f64 = 16.0;

impl RoundRobinConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        checker.within("buffer", |checker| self.buffer.check(checker));
    }
}

impl QueueConfig for RoundRobinConfig {
    type Queue = Box<PerFlow<RoundRobin>>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "round-robin",
            family: "fair",
            summary: "Each flow with packets sends one in turn",
            source: "Nagle, On Packet Switches with Infinite Storage, RFC 970; Keshav, Packet-Pair Flow Control, 1994, §2.1",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        PerFlow::boxed(RoundRobin::plain(), &[], &self.buffer, cx)
    }
}

impl WeightedRoundRobinConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_shares(&self.shares, "shares", checker);
        check_visits(&self.shares, 1.0, LEAST_PACKETS, checker);
        checker.within("buffer", |checker| self.buffer.check(checker));
    }
}

impl QueueConfig for WeightedRoundRobinConfig {
    type Queue = Box<PerFlow<RoundRobin>>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "weighted-round-robin",
            family: "fair",
            summary: "Each flow with packets sends as many as its weight in turn",
            source: "Keshav, Packet-Pair Flow Control, 1994, §2.1",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        PerFlow::boxed(RoundRobin::weighted(), &self.shares, &self.buffer, cx)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        shared(&self.shares)
    }
}

impl DeficitRoundRobinConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        let quantum = self.quantum.as_f64();
        checker.require(quantum >= LEAST_BYTES, "quantum", self.quantum, "at least 16 B");
        check_shares(&self.shares, "shares", checker);
        check_visits(&self.shares, quantum.max(1.0), LEAST_BYTES, checker);
        checker.within("buffer", |checker| self.buffer.check(checker));
    }
}

impl QueueConfig for DeficitRoundRobinConfig {
    type Queue = Box<PerFlow<RoundRobin>>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "deficit-round-robin",
            family: "fair",
            summary: "Round robin that is fair in bytes, by carrying over what a visit left",
            source: "Shreedhar and Varghese, Efficient Fair Queuing Using Deficit Round Robin, 1995",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        PerFlow::boxed(RoundRobin::deficit(self.quantum), &self.shares, &self.buffer, cx)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        shared(&self.shares)
    }
}

fn check_visits(shares: &[Share], quantum: f64, least: f64, checker: &mut Checker) {
    for (index, share) in shares.iter().enumerate() {
        // Weights of zero and less have been complained about already.
        let ok = share.weight <= 0.0 || share.weight * quantum >= least;
        checker.within(format!("shares[{index}]"), |checker| {
            checker.require(ok, "weight", share.weight, format!("at least {}", least / quantum));
        });
    }
}

/// What a packet costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    Packet,
    Bytes,
}

/// The ring of flows with packets.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    cost: Cost,
    quantum: f64,
    weighted: bool,
    /// What the cheapest packet cost that has ever come.
    least_cost: f64,
    ring: VecDeque<u32>,
    /// Whether the flow at the front has been given what its visit is worth.
    visiting: bool,
}

/// What is left to a flow of its visits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit(f64);

impl RoundRobin {
    const fn new(cost: Cost, quantum: f64, weighted: bool) -> Self {
        Self { cost, quantum, weighted, least_cost: f64::INFINITY, ring: VecDeque::new(), visiting: false }
    }

    /// One packet per flow and round.
    pub const fn plain() -> Self {
        Self::new(Cost::Packet, 1.0, false)
    }

    /// As many packets per flow and round as its weight says.
    pub const fn weighted() -> Self {
        Self::new(Cost::Packet, 1.0, true)
    }

    /// `quantum` bytes per unit of weight and round.
    pub fn deficit(quantum: Bytes) -> Self {
        Self::new(Cost::Bytes, quantum.as_f64(), true)
    }

    fn cost_of(&self, size: Bytes) -> f64 {
        match self.cost {
            Cost::Packet => 1.0,
            Cost::Bytes => size.as_f64(),
        }
    }
}

impl Scheduler for RoundRobin {
    type Flow = Credit;
    type Note = Plain;

    #[inline]
    fn note(
        &mut self,
        _: Time,
        _: &mut Flows<Credit, Plain>,
        _: u32,
        packet: &Packet,
        _: &QueueCx<'_>,
    ) -> Plain {
        let cost = self.cost_of(packet.size());
        if cost < self.least_cost {
            self.least_cost = cost;
        }
        Plain
    }

    fn activated(&mut self, flows: &mut Flows<Credit, Plain>, slot: u32) {
        // A flow that lost its last packet to another's arrival still stands in the ring.
        if !flows.get(slot).is_listed() {
            *flows.state(slot) = Credit::default();
            flows.list(slot);
            self.ring.push_back(slot);
        }
    }

    fn select(&mut self, _now: Time, flows: &mut Flows<Credit, Plain>) -> Option<u32> {
        loop {
            let slot = *self.ring.front()?;
            let flow = flows.get(slot);
            if flow.is_empty() {
                self.visiting = false;
                self.ring.pop_front();
                flows.unlist(slot);
                continue;
            }
            let Credit(mut credit) = flow.state;
            if !self.visiting {
                self.visiting = true;
                credit += if self.weighted { self.quantum * flows.weight(slot) } else { self.quantum };
                *flows.state(slot) = Credit(credit);
            }
            // The packet is looked at only where it may leave, since looking at it takes longer than all else.
            if credit >= self.least_cost
                && let Some(packet) = flows.head(slot)
                && credit >= self.cost_of(packet.size())
            {
                return Some(slot);
            }
            self.visiting = false;
            self.ring.pop_front();
            self.ring.push_back(slot);
        }
    }

    fn ahead(&self, steps: usize) -> Option<u32> {
        self.ring.get(steps).copied()
    }

    fn served(&mut self, _: Time, flows: &mut Flows<Credit, Plain>, slot: u32, size: Bytes) {
        // A flow that has run empty stands until this packet is out: if another arrives by then, its visit goes on.
        flows.state(slot).0 -= self.cost_of(size);
    }
}
