//! Weighted fair queueing (Demers, Keshav and Shenker 1989), in the form of packet-by-packet generalised processor
//! sharing (Parekh and Gallager, "A Generalized Processor Sharing Approach to Flow Control: The Single-Node Case",
//! 1993, §IV).
//!
//! Beside the packets runs a fluid server that serves all backlogged flows at once, each in proportion to its weight.
//! Its virtual time grows by `rate / (sum of the weights of flows backlogged in the fluid)`; a packet's tag is the
//! virtual time at which the fluid finishes it: `max(V, tag of the flow's packet before) + length / weight`. Packets
//! are served in the order of tags, so that none ends later than in the fluid by more than the time of one largest
//! packet (1993, Theorem 1).
//!
//! Between two arrivals the fluid server runs at the rate that the link has at the second, whatever it was in between.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker, Packet, QueueCx, Span, Time};

use super::heap::Entry;
use super::order::Order;
use super::shares::{LEAST_WEIGHT, check_shares};
use super::tagged::{ByTag, TagRule, TaggedFlows};
use super::{BufferConfig, Share};
use crate::fair::PerFlow;
use crate::parts::{BuildCx, FlowLists, Info, QueueConfig, shared};

/// Weighted fair queueing by the virtual time of generalised processor sharing (Demers, Keshav and Shenker 1989;
/// Parekh and Gallager 1993).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WeightedFairConfig {
    /// Weights; flows named nowhere have weight 1.
    pub shares: Vec<Share>,
    /// How the flows share the link's buffer.
    pub buffer: BufferConfig,
}

impl WeightedFairConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_shares(&self.shares, "shares", checker);
        checker.within("buffer", |checker| self.buffer.check_for_tags(checker));
    }
}

impl QueueConfig for WeightedFairConfig {
    type Queue = Box<PerFlow<ByTag<Fluid>>>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "weighted-fair-queueing",
            family: "fair",
            summary: "Fair queueing by the virtual time of generalised processor sharing",
            source: "Demers, Keshav and Shenker, Analysis and Simulation of a Fair Queueing Algorithm, 1989; \
         Parekh and Gallager, A Generalized Processor Sharing Approach to Flow Control, 1993",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        PerFlow::boxed(Fluid::by_tag(), &self.shares, &self.buffer, cx)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        shared(&self.shares)
    }
}

/// The fluid server. Virtual time is in bytes per unit of weight.
///
/// It looks for flows that run empty in it, and knows them by what waits in the packets' own order: a flow whose oldest
/// packet has a tag beyond the virtual time has something in the fluid until then at least. So only those need an order
/// of their own whose oldest packet the fluid has overtaken, or that have no packet left.
#[derive(Clone, Debug)]
pub struct Fluid {
    virtual_time: f64,
    /// Before this virtual time the fluid reaches nothing that it must look at; what is told of later may lie behind it.
    quiet_until: f64,
    updated: Time,
    /// The line's rate when that was asked last, and the same in bytes per second.
    rate: BitRate,
    bytes_per_sec: f64,
    /// The fluid has flowed for the arrival at this time, which found that it may not pass by. It must not do so twice, or
    /// what rounding left in it would go too early.
    flowed_for: Option<Time>,
    /// Flows backlogged in the fluid, and the sum of their weights.
    backlogged: u32,
    weights: f64,
    /// When flows that were noticed run empty in the fluid, in virtual time. A key may lag behind its flow's true tag, and
    /// is set right when it comes to the top.
    departures: Order,
    /// Counts entries, to order equal departures: rounding must not depend on which slots are free.
    entries: u32,
}

/// The virtual time at which the fluid will have served all of a flow's packets; negative where it has none. While it
/// has some, the flow bears the mark.
#[derive(Clone, Copy, Debug)]
pub struct Finish(f64);

impl Finish {
    const EMPTY: Self = Self(-1.0);
}

/// A virtual time until which the fluid need not be looked at: it must be, or never.
const SOMETHING: f64 = -1.0;
const NOTHING: f64 = f64::INFINITY;

/// The lesser of two numbers, neither of which is none: one instruction, where the standard library's takes six.
#[inline]
fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// As a real, like [`Bytes::as_f64`], which takes any number and therefore has to choose between two conversions. Here it is sure
/// that the number is below 2^63, and a processor converts such a one in one step.
#[inline]
fn real(whole: u64) -> f64 {
    debug_assert!(whole <= u64::MAX >> 1, "as any packet and any span of a run");
    (whole & u64::MAX >> 1) as f64
}

/// In seconds, as [`Span::as_secs_f64`].
#[inline]
fn seconds(span: Span) -> f64 {
    real(span.as_nanos()) * 1e-9
}

/// The greater of two numbers.
#[inline]
fn greatest(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

impl Default for Finish {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Fluid {
    /// The tags of weighted fair queueing.
    pub fn by_tag() -> ByTag<Self> {
        ByTag::new(Self {
            virtual_time: 0.0,
            quiet_until: SOMETHING,
            updated: Time::ZERO,
            rate: BitRate::ZERO,
            bytes_per_sec: 0.0,
            flowed_for: None,
            backlogged: 0,
            weights: 0.0,
            departures: Order::new(),
            entries: 0,
        })
    }

    /// Lets the fluid flow until `now`.
    #[inline]
    fn advance(&mut self, now: Time, rate: BitRate, flows: &mut TaggedFlows<Self>, order: &mut Order) {
        let since = std::mem::replace(&mut self.updated, now);
        if self.backlogged == 0 {
            self.run_dry(flows);
            return;
        }
        if rate != self.rate {
            (self.rate, self.bytes_per_sec) = (rate, rate.bytes_per_sec());
        }
        let service = self.bytes_per_sec * seconds(now.since(since));
        if self.needed(self.quiet_until) > service {
            self.virtual_time += service / self.weights;
        } else {
            self.flow(service, flows, order);
        }
    }

    /// Nothing is left in the fluid.
    #[inline]
    fn run_dry(&mut self, flows: &TaggedFlows<Self>) {
        self.quiet_until = SOMETHING;
        self.weights = 0.0;
        if flows.backlog().packets == 0 {
            // Nothing refers to old tags any more: starting over keeps them exact for ever.
            self.virtual_time = 0.0;
        }
    }

    /// The fluid serves so many bytes, and flows may run empty in it.
    #[inline(never)]
    fn flow(&mut self, mut service: f64, flows: &mut TaggedFlows<Self>, order: &mut Order) {
        while self.backlogged > 0 {
            let (head, next) = (order.unseen(), self.departures.peek());
            if let Some(head) = head
                && next.is_none_or(|top| head.tag() <= top.tag())
                && self.needed(head.tag()) <= service
            {
                order.see();
                self.notice(flows, head.slot());
                continue;
            }
            let tag = |entry: Option<Entry>| entry.map_or(NOTHING, Entry::tag);
            self.quiet_until = least(tag(head), tag(next));
            let Some(top) = next else { break };
            let slot = top.slot();
            let Finish(finish) = flows.get(slot).state;
            if finish != top.tag() {
                self.departures.pop();
                flows.overlook(slot);
                // What still has a packet that the fluid has not reached is found by that again.
                let overtaken = || {
                    let seen = order.seen_up_to()?;
                    Some(flows.head_note(slot)? <= seen)
                };
                if flows.get(slot).is_empty() || overtaken().unwrap_or(false) {
                    self.notice(flows, slot);
                }
                continue;
            }
            let needed = self.needed(finish);
            if needed > service {
                break;
            }
            service -= needed;
            self.virtual_time = self.virtual_time.max(finish);
            self.departures.pop();
            self.backlogged -= 1;
            // Rounding of sums leaves no less than what one flow has, or nothing could be divided by it.
            self.weights = greatest(self.weights - flows.weight(slot), LEAST_WEIGHT);
            *flows.state(slot) = Finish::EMPTY;
            flows.overlook(slot);
            flows.unmark(slot);
        }
        if self.backlogged > 0 {
            self.virtual_time += service / self.weights;
        } else {
            self.run_dry(flows);
        }
    }

    /// The service that takes virtual time to `tag`.
    #[inline]
    fn needed(&self, tag: f64) -> f64 {
        greatest(tag - self.virtual_time, 0.0) * self.weights
    }

    /// The flow, if it is backlogged in the fluid, has to be looked at when it runs empty there.
    fn notice(&mut self, flows: &mut TaggedFlows<Self>, slot: u32) {
        let flow = flows.get(slot);
        let Finish(finish) = flow.state;
        if finish >= 0.0 && !flow.is_noticed() {
            flows.notice(slot);
            let entry = self.departure(finish, slot);
            self.departures.push(entry);
        }
    }

    /// A new entry: the flow runs empty in the fluid at this virtual time.
    fn departure(&mut self, finish: f64, slot: u32) -> Entry {
        self.entries = self.entries.wrapping_add(1);
        self.queued(finish);
        Entry::new(finish, self.entries, slot)
    }
}

impl PerFlow<ByTag<Fluid>> {
    /// Whether the fluid has served by `now` a packet of weight 1 that came alone at `then`. The same expressions as in
    /// [`Fluid::advance`], where virtual time begins at zero.
    #[inline]
    pub(crate) fn fluid_has_served(&self, then: Time, now: Time, size: Bytes, rate: BitRate) -> bool {
        let fluid = self.scheduler.rule();
        let bytes_per_sec = if rate == fluid.rate { fluid.bytes_per_sec } else { rate.bytes_per_sec() };
        real(size.get()) <= bytes_per_sec * seconds(now.since(then))
    }

    /// Whether a packet that finds nothing waiting may pass by: weights are all 1, and the fluid has run empty.
    pub(crate) fn fluid_lets_pass(&mut self, now: Time, rate: BitRate) -> bool {
        if !self.flows.weighs_all_alike() {
            return false;
        }
        let (fluid, order) = self.scheduler.parts();
        fluid.advance(now, rate, &mut self.flows, order);
        let is_empty = fluid.backlogged == 0;
        fluid.flowed_for = (!is_empty).then_some(now);
        is_empty
    }
}

impl TagRule for Fluid {
    type Flow = Finish;
    /// The packet's tag.
    type Note = f64;

    #[expect(clippy::inline_always, reason = "the half of what a packet does that joins")]
    #[inline(always)]
    fn note(
        &mut self,
        now: Time,
        flows: &mut TaggedFlows<Self>,
        order: &mut Order,
        slot: u32,
        packet: &Packet,
        cx: &QueueCx<'_>,
    ) -> f64 {
        if self.flowed_for.take() != Some(now) {
            self.advance(now, cx.rate, flows, order);
        }
        let length = packet.size().as_f64();
        let (weight, length) = if flows.weighs_all_alike() {
            (1.0, length)
        } else {
            let weight = flows.weight(slot);
            (weight, length / weight)
        };
        let flow = flows.get_mut(slot);
        let Finish(last) = flow.state;
        if last >= 0.0 {
            if flow.is_noticed() {
                self.quiet_until = SOMETHING;
            }
            flow.state.0 = greatest(last, self.virtual_time) + length;
            return flow.state.0;
        }
        let finish = self.virtual_time + length;
        flow.state.0 = finish;
        self.backlogged += 1;
        self.weights += weight;
        flows.mark(slot);
        if !flows.get(slot).is_empty() {
            // The fluid was faster and has overtaken what still waits.
            self.notice(flows, slot);
        }
        finish
    }

    #[inline]
    fn tag(flows: &TaggedFlows<Self>, slot: u32) -> Option<f64> {
        flows.head_note(slot)
    }

    #[inline]
    fn queued(&mut self, tag: f64) {
        self.quiet_until = least(self.quiet_until, tag);
    }

    fn served(&mut self, _now: Time, flows: &mut TaggedFlows<Self>, slot: u32, _tag: f64) {
        if flows.get(slot).is_empty() {
            self.notice(flows, slot);
        }
    }

    fn ahead(&self, steps: usize) -> Option<u32> {
        self.departures.ahead(steps)
    }

    fn dropped(&mut self, flows: &mut TaggedFlows<Self>, slot: u32, packet: &Packet, tag: f64) {
        let before = tag - packet.size().as_f64() / flows.weight(slot);
        let newest = flows.newest_note(slot);
        // The fluid forgets the packet too. Between the tags may lie idle time, which it must not count as service.
        self.quiet_until = SOMETHING;
        let Finish(finish) = flows.state(slot);
        if *finish >= 0.0 {
            *finish = newest.unwrap_or(before).max(0.0);
            let finish = *finish;
            if flows.get(slot).is_noticed() {
                // The entry is of the tag that is gone, and would come too late.
                let entry = self.departure(finish, slot);
                self.departures.supersede(entry);
            } else if newest.is_none() {
                self.notice(flows, slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailback_core::{Annexes, Capacity, FlowId, Kind, QueueDiscipline, Span, Stream};

    use super::*;
    use crate::known::{KnownFlows, NamedFlow};

    const RATE: BitRate = BitRate::from_bits_per_sec(8_000_000);

    fn server(capacity: u32) -> PerFlow<ByTag<Fluid>> {
        let share = Share { flows: NamedFlow::numbered(&[0]), weight: 0.3, together: false };
        let cx = BuildCx {
            capacity: Capacity::Packets(capacity),
            rate: RATE,
            mean_packet: Bytes::new(1000),
            flows: KnownFlows::default(),
        };
        PerFlow::new(Fluid::by_tag(), &[share], &BufferConfig::default(), &cx)
    }

    proptest! {
        /// A fluid that is looked at only where something is to be seen serves as one that is looked at for each packet.
        #[test]
        fn a_quiet_fluid_need_not_be_looked_at(
            steps in prop::collection::vec((0_u32..6, 40_u64..1500, 0_u64..2_000_000, 0_u8..3), 1..400),
            capacity in 3_u32..40,
        ) {
            let mut servers = [server(capacity), server(capacity)];
            let (mut rng, mut annexes) = (Stream::new(1, "fluid"), Annexes::new());
            let mut now = Time::ZERO;
            for (number, (flow, size, gap, departures)) in steps.into_iter().enumerate() {
                now += Span::from_nanos(gap);
                let packet = Packet::new(Kind::Data, FlowId(flow), number as u64, Bytes::new(size));
                servers[1].scheduler.parts().0.quiet_until = SOMETHING;
                let [ours, theirs] = servers.each_mut().map(|server| {
                    let mut drops = Vec::new();
                    let (rng, annexes) = (&mut rng, &mut annexes);
                    let mut cx =
                        QueueCx { rng, annexes, rate: RATE, idle_since: None, drops: &mut drops, marks: 0 };
                    server.enqueue(now, packet, &mut cx);
                    let taken: Vec<_> = (0..departures).map(|_| server.take_next(now)).collect();
                    (drops, taken, server.flows.active(), server.scheduler.parts().0.virtual_time)
                });
                prop_assert_eq!(ours, theirs);
            }
        }
    }

    /// A fluid that has run empty while packets wait keeps their tags in force, and starts over once none does.
    #[test]
    fn an_empty_fluid_starts_over() {
        let mut server = server(10);
        let (mut rng, mut annexes, mut drops) = (Stream::new(1, "fluid"), Annexes::new(), Vec::new());
        let mut cx = QueueCx {
            rng: &mut rng,
            annexes: &mut annexes,
            rate: RATE,
            idle_since: None,
            drops: &mut drops,
            marks: 0,
        };
        server.enqueue(Time::ZERO, Packet::new(Kind::Data, FlowId(1), 0, Bytes::new(1000)), &mut cx);
        let virtual_time = |server: &mut PerFlow<ByTag<Fluid>>, millis| {
            let now = Time::ZERO + Span::from_millis(millis);
            let (fluid, order) = server.scheduler.parts();
            fluid.advance(now, RATE, &mut server.flows, order);
            assert_eq!((fluid.backlogged, fluid.updated), (0, now));
            fluid.virtual_time
        };
        assert_eq!(virtual_time(&mut server, 2), 1000.0);
        assert_eq!(virtual_time(&mut server, 3), 1000.0);
        assert!(server.take_next(Time::ZERO).is_some());
        assert_eq!(virtual_time(&mut server, 4), 0.0);
    }
}
