//! Virtual clock (Zhang, "Virtual Clock: A New Traffic Control Algorithm for Packet Switching Networks", 1990): every
//! flow has a reserved rate and a clock that ticks as if it were served at just that rate.
//!
//! At an arrival, `clock ← max(now, clock) + length / rate`, and the packet's tag is the clock. A flow that used idle
//! capacity runs ahead of real time and pays for it later: unlike fair queueing, virtual clock is not fair over short
//! times, but it keeps each flow's reserved rate (delay at most that of a private line of this rate, plus one largest
//! packet: Xie and Lam, "Delay Guarantee of Virtual Clock Server", 1995).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Packet, QueueCx, Time};

use super::agenda::Agenda;
use super::heap::Entry;
use super::order::Order;
use super::shares::{check_reservations, check_reserve, check_shares};
use super::tagged::{ByTag, TagRule, TaggedFlows};
use super::{BufferConfig, Share};
use crate::fair::PerFlow;
use crate::parts::{BuildCx, FlowLists, Info, QueueConfig, shared};

/// Virtual clock (Zhang 1990): each flow is served as if by a private line of its reserved rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VirtualClockConfig {
    /// The part of the link's rate that is reserved for a flow of weight 1, above 0, at most 1. Guarantees hold while
    /// the reservations of the flows present add up to at most 1. Default 0.1.
    pub reserve: f64,
    /// Weights, as multiples of `reserve`; flows named nowhere have weight 1.
    pub shares: Vec<Share>,
    /// How the flows share the link's buffer.
    pub buffer: BufferConfig,
}

impl Default for VirtualClockConfig {
    fn default() -> Self {
        Self { reserve: 0.1, shares: Vec::new(), buffer: BufferConfig::default() }
    }
}

impl VirtualClockConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_reserve(self.reserve, checker);
        check_shares(&self.shares, "shares", checker);
        check_reservations(&self.shares, self.reserve, checker);
        checker.within("buffer", |checker| self.buffer.check_for_tags(checker));
    }
}

impl QueueConfig for VirtualClockConfig {
    type Queue = Box<PerFlow<ByTag<VirtualClock>>>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "virtual-clock",
            family: "fair",
            summary: "Each flow is served as if by a private line of its reserved rate",
            source: "Zhang, Virtual Clock: A New Traffic Control Algorithm for Packet Switching Networks, 1990",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        PerFlow::boxed(VirtualClock::by_tag(self, cx), &self.shares, &self.buffer, cx)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        shared(&self.shares)
    }
}

/// The tags of virtual clock, in seconds since the start.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    /// Bytes per second for a weight of 1.
    rate: f64,
    /// Flows that ran empty with clocks ahead of time: they are remembered until then, so that no pause clears them.
    ahead: Agenda,
}

/// A flow's clock, in seconds since the start. A flow that is remembered bears the mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock(f64);

impl VirtualClock {
    /// The tags for the link that `cx` describes.
    pub fn by_tag(config: &VirtualClockConfig, cx: &BuildCx) -> ByTag<Self> {
        ByTag::new(Self { rate: cx.rate.bytes_per_sec() * config.reserve, ahead: Agenda::new() })
    }

    /// Forgets flows whose clock time has come.
    fn forget(&mut self, now: f64, flows: &mut TaggedFlows<Self>) {
        while let Some(top) = self.ahead.peek() {
            if top.tag() > now {
                return;
            }
            let slot = top.slot();
            self.ahead.pop();
            let Clock(seconds) = flows.get(slot).state;
            if seconds > now && flows.get(slot).is_empty() {
                self.ahead.push(Entry::new(seconds, 0, slot));
            } else {
                flows.unmark(slot);
            }
        }
    }
}

impl TagRule for VirtualClock {
    type Flow = Clock;
    /// The packet's tag.
    type Note = f64;

    fn note(
        &mut self,
        now: Time,
        flows: &mut TaggedFlows<Self>,
        _order: &mut Order,
        slot: u32,
        packet: &Packet,
        _cx: &QueueCx<'_>,
    ) -> f64 {
        let now = now.as_secs_f64();
        self.forget(now, flows);
        let length = packet.size().as_f64() / (self.rate * flows.weight(slot));
        let Clock(clock) = flows.state(slot);
        *clock = clock.max(now) + length;
        *clock
    }

    #[inline]
    fn tag(flows: &TaggedFlows<Self>, slot: u32) -> Option<f64> {
        flows.head_note(slot)
    }

    fn served(&mut self, now: Time, flows: &mut TaggedFlows<Self>, slot: u32, _tag: f64) {
        let flow = flows.get(slot);
        let Clock(clock) = flow.state;
        if flow.is_empty() && !flow.is_marked() && clock > now.as_secs_f64() {
            flows.mark(slot);
            self.ahead.push(Entry::new(clock, 0, slot));
        }
    }

    fn dropped(&mut self, flows: &mut TaggedFlows<Self>, slot: u32, packet: &Packet, tag: f64) {
        let before = tag - packet.size().as_f64() / (self.rate * flows.weight(slot));
        let newest = flows.newest_note(slot);
        let clock = newest.unwrap_or(before).max(0.0);
        flows.state(slot).0 = clock;
        // What it had before may have run ahead of time.
        if newest.is_none() && !flows.get(slot).is_marked() {
            flows.mark(slot);
            self.ahead.push(Entry::new(clock, 0, slot));
        }
    }
}
