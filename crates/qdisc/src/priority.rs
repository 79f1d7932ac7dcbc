//! Strict priority of lanes: a lane is served only while all lanes before it are empty. What happens within a lane is
//! up to the discipline that it holds.
//!
//! To the discipline in a lane the line is as fast as the lane gets it, see `turns.rs`: what computes with the rate (PIE's
//! delay, REM's and AVQ's capacity, the fluid of weighted fair queueing) would be off by what the lanes before it take. PIE, PI
//! and REM see the lane's queue as it is whenever they look, and a lane that is empty finds the line idle.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Backlog, BitRate, Capacity, Checker, Lane, Packet, QueueCx, QueueDiscipline, Time};

use crate::builtin::Discipline;
use crate::config::Config;
use crate::fair::shares::{FlowMap, check_members};
use crate::known::NamedFlow;
use crate::limit::Limit;
use crate::parts::{BuildCx, FlowLists, Info, QueueConfig, QueuesWithin, Within, numbered};
use crate::rate::at_rate;
use crate::turns::Turns;

/// Strict priority of two or more lanes, each with a queue of its own. The default is a pair: the out-of-band lane of
/// Xia et al., §IV-B ahead of ordinary traffic, both drop-tail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PriorityConfig {
    /// The lanes, served first to last; a packet whose lane has a higher number joins the last. 2 to 8.
    pub lanes: Vec<LaneConfig>,
    /// Classes of flows whose packets join a lane whatever they are marked with.
    pub classes: Vec<ClassConfig>,
}

/// One lane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LaneConfig {
    /// The lane's queue. Default drop-tail.
    pub queue: Box<Config>,
    /// The lane's buffer, in packets or bytes. Default: as large as the link's, and not shared with other lanes.
    pub buffer: Option<Capacity>,
}

/// A class of flows with a lane of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClassConfig {
    /// The flows, by the names of groups or flows, or by numbers counted from 0 over all groups in their order.
    pub flows: Vec<NamedFlow>,
    /// The lane that their packets join, counted from 0.
    pub lane: u8,
}

impl Default for PriorityConfig {
    fn default() -> Self {
        Self { lanes: vec![LaneConfig::default(), LaneConfig::default()], classes: Vec::new() }
    }
}

impl PriorityConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        let count = self.lanes.len();
        let ok = (2..=Lane::COUNT).contains(&count);
        checker.require(ok, "lanes", format!("{count} lanes"), format!("2 to {} lanes", Lane::COUNT));
        for (index, lane) in self.lanes.iter().enumerate() {
            checker.within(format!("lanes[{index}]"), |checker| {
                checker.within("queue", |checker| lane.queue.check(checker));
                if let Some(capacity @ Capacity::MilliBdp(_)) = lane.buffer {
                    checker.require(false, "buffer", capacity, "packets, bytes or \"unlimited\"");
                }
            });
        }
        let mut named = BTreeSet::new();
        for (index, class) in self.classes.iter().enumerate() {
            let ok = usize::from(class.lane) < count;
            checker.within(format!("classes[{index}]"), |checker| {
                checker.require(ok, "lane", class.lane, format!("a lane from 0 to {}", count.max(1) - 1));
                check_members(&class.flows, &mut named, checker);
            });
        }
    }
}

impl QueueConfig for PriorityConfig {
    type Queue = Box<Priority>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "priority",
            family: "priority",
            summary: "Strict priority of two or more lanes, each with a queue of its own",
            source: "Xia, Harrison, Kalyanaraman, Ramachandran and Venkatesan, Accumulation-based Congestion Control, §IV-B",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(Priority::new(self, cx))
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        numbered("classes", self.classes.iter().map(|class| &class.flows))
    }

    fn queues_within(&self) -> QueuesWithin<'_> {
        let lanes = self.lanes.iter().enumerate();
        lanes.map(|(index, lane)| (format!("lanes[{index}].queue"), &*lane.queue as &dyn Within)).collect()
    }
}

/// By what name each lane tells how many packets wait in it.
const WAITING: [&str; Lane::COUNT] = [
    "lane_0_packets",
    "lane_1_packets",
    "lane_2_packets",
    "lane_3_packets",
    "lane_4_packets",
    "lane_5_packets",
    "lane_6_packets",
    "lane_7_packets",
];

/// Strict priority lanes.
#[derive(Debug)]
pub struct Priority {
    lanes: Vec<Discipline>,
    /// Of each lane's buffer.
    limits: Vec<Limit>,
    lane_of: FlowMap<u8>,
    turns: Turns,
}

impl Priority {
    /// Empty lanes for the link that `cx` describes.
    pub fn new(config: &PriorityConfig, cx: &BuildCx) -> Self {
        let capacities = || config.lanes.iter().map(|lane| lane.buffer.unwrap_or(cx.capacity));
        let lanes =
            config.lanes.iter().zip(capacities()).map(|(lane, capacity)| {
                lane.queue.build(&BuildCx { capacity, ..cx.clone() }).into_attended()
            });
        let lanes: Vec<Discipline> = lanes.collect();
        let (turns, limits) = (
            Turns::new(lanes.iter().map(Discipline::asks_the_rate), cx.rate),
            capacities().map(Limit::new).collect(),
        );
        let classes = config.classes.iter();
        let lane_of =
            classes.flat_map(|class| cx.flows.numbers(&class.flows).map(|flow| (flow, class.lane))).collect();
        Self { lanes, limits, lane_of, turns }
    }

    pub(crate) fn measure_time(&mut self) {
        self.lanes.iter_mut().for_each(Discipline::measure_time);
    }

    fn lane(&self, packet: &Packet) -> usize {
        let own = packet.lane().number();
        let lane = if self.lane_of.is_empty() {
            own
        } else {
            self.lane_of.get(&packet.flow.0).copied().unwrap_or(own)
        };
        usize::from(lane).min(self.lanes.len() - 1)
    }

    /// Asks a lane, to which the line is as fast as the lane gets it.
    #[inline]
    fn ask<T>(
        &mut self,
        number: usize,
        cx: &mut QueueCx<'_>,
        act: impl FnOnce(&mut Discipline, &mut QueueCx<'_>) -> T,
    ) -> T {
        let (rate, lane) = (self.turns.rate(number), &mut self.lanes[number]);
        at_rate(rate, cx, |cx| act(lane, cx))
    }
}

impl QueueDiscipline for Priority {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let lane = self.lane(&packet);
        let idle_since = cx.idle_since;
        if self.turns.has_passed(lane) && self.lanes[lane].backlog().packets == 0 {
            // Packets of other lanes are not its own. But behind them a packet waits, and needs room.
            let may_wait = || self.limits[lane].admits(&packet, &Backlog::default(), false);
            if idle_since.is_some() || may_wait() {
                cx.idle_since = Some(self.turns.done(lane));
            }
        }
        self.ask(lane, cx, |lane, cx| lane.enqueue(now, packet, cx));
        cx.idle_since = idle_since;
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        for number in 0..self.lanes.len() {
            let packet = self.ask(number, cx, |lane, cx| lane.dequeue(now, cx));
            if let Some(packet) = &packet {
                let waits = |lane: usize| self.lanes[lane].backlog().packets > 0;
                self.turns.served(number, packet.size(), now, cx.idle_since, waits);
            }
            self.turns.asked(number, cx.rate);
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        self.lanes.iter().filter_map(|lane| lane.next_ready(now)).min()
    }

    fn next_timer(&self) -> Option<Time> {
        self.lanes.iter().filter_map(Discipline::next_timer).min()
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        for number in 0..self.lanes.len() {
            if self.lanes[number].next_timer().is_some_and(|due| due <= now) {
                self.ask(number, cx, |lane, cx| lane.on_timer(now, cx));
            }
        }
    }

    fn on_rate(&mut self, now: Time, rate: BitRate, cx: &mut QueueCx<'_>) {
        for number in 0..self.lanes.len() {
            let before = self.turns.rate(number);
            self.turns.asked(number, rate);
            let (lane, rate) = (&mut self.lanes[number], self.turns.rate(number));
            at_rate(before, cx, |cx| lane.on_rate(now, rate, cx));
        }
    }

    fn backlog(&self) -> Backlog {
        let mut sum = Backlog::default();
        for lane in &self.lanes {
            let backlog = lane.backlog();
            sum.packets += backlog.packets;
            sum.bytes += backlog.bytes;
        }
        sum
    }

    /// What waits in each lane, then the state of the last, which ordinary traffic takes.
    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        for (name, lane) in WAITING.into_iter().zip(&self.lanes) {
            note(name, f64::from(lane.backlog().packets));
        }
        if let Some(lane) = self.lanes.last() {
            lane.observe(now, note);
        }
    }
}
