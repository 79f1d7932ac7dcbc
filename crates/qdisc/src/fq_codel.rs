//! FlowQueue-CoDel (RFC 8290): flows hashed into queues, served by deficit round robin with a short preference for
//! flows that have just begun, each queue under a CoDel law of its own.
//!
//! At an overflow the half of a queue is half of its bytes, and queues are relieved until the buffer holds the rest. A queue
//! that has used up its credit waits for its next turn, as in Linux; RFC 8290 §4.2 says so of one that owes only.
//!
//! There is no fixed table of queues (RFC 8290 §5.1): one that has left both lists gives its memory back. Only where its
//! law was dropping at a rate that it would resume (RFC 8289 §5.6) is that law kept, for as long as it would.

use std::collections::VecDeque;
use std::iter::once_with;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    Backlog, Bytes, Checker, DropReason, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};

use crate::codel::{Constants, Law, Source, check_times};
use crate::fair::Flows;
use crate::fair::longest::Ranking;
use crate::fair::shares::FlowMap;
use crate::limit::Limit;
use crate::parts::{BuildCx, Info, QueueConfig};

/// FlowQueue-CoDel (RFC 8290): fair queueing with a CoDel law in each queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodelConfig {
    /// The standing delay to tolerate. Default 5 ms (RFC 8290 §5.2.2).
    pub target: Span,
    /// The time over which a delay counts as standing. Default 100 ms (RFC 8290 §5.2.1).
    pub interval: Span,
    /// Bytes per round and queue. Default 1514 B (RFC 8290 §5.2.4).
    pub quantum: Bytes,
    /// How many queues flows are hashed into, at least 1; two flows that meet in one share it. Which ones meet depends on
    /// the seed (RFC 8290 §4.1.1). Default 1024 (RFC 8290 §5.2.5).
    pub queues: u32,
    /// Mark ECN-capable packets instead of dropping them early. Default true (RFC 8290 §5.2.6).
    pub ecn: bool,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            quantum: Bytes::new(1514),
            queues: 1024,
            ecn: true,
        }
    }
}

impl FqCodelConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_times(self.target, self.interval, checker);
        checker.require(self.quantum >= Bytes::new(16), "quantum", self.quantum, "at least 16 B");
        checker.require(self.queues > 0, "queues", self.queues, "at least 1");
    }
}

impl QueueConfig for FqCodelConfig {
    type Queue = Box<FqCodel>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "fq-codel",
            family: "active",
            summary: "Fair queueing with a CoDel law in each queue",
            source: "RFC 8290",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(FqCodel::new(self, cx))
    }
}

/// Which list a queue stands in (RFC 8290 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    New,
    Old,
}

/// What is kept for each queue with packets.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    credit: i64,
    /// Its number among those that flows are hashed into.
    number: u32,
    place: Place,
    law: Law,
}

/// One queue among many, as a CoDel law sees it.
struct One<'a> {
    flows: &'a mut Flows<Queue, Time>,
    slot: u32,
}

impl Source for One<'_> {
    fn pop(&mut self) -> Option<(Packet, Time)> {
        self.flows.pop(self.slot)
    }

    fn bytes(&self) -> Bytes {
        self.flows.length(self.slot).bytes
    }
}

/// FlowQueue-CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel {
    limit: Limit,
    constants: Constants,
    quantum: i64,
    queues: u32,
    /// What the hash is perturbed by, drawn for the first packet.
    perturbation: Option<u64>,
    flows: Flows<Queue, Time>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    ranking: Ranking,
    retired: Retired,
}

/// The laws of queues without packets that would resume their rate of drops, by the numbers of their queues.
#[derive(Clone, Debug, Default)]
struct Retired {
    laws: FlowMap<Law>,
    /// Those whose time is over are looked for when there are more than this.
    swept_at: usize,
}

impl Retired {
    fn keep(&mut self, now: Time, number: u32, law: Law, interval: Span) {
        if !law.would_resume(now, interval) {
            return;
        }
        if self.laws.len() >= self.swept_at {
            self.laws.retain(|_, law| law.would_resume(now, interval));
            self.swept_at = 2 * self.laws.len() + 64;
        }
        self.laws.insert(number, law);
    }

    fn take(&mut self, number: u32) -> Law {
        if self.laws.is_empty() { Law::default() } else { self.laws.remove(&number).unwrap_or_default() }
    }
}

/// Into which of so many queues a packet goes.
fn hashed(packet: &Packet, perturbation: u64, queues: u32) -> u32 {
    let hash = tailback_core::rng::mix(perturbation << 32 | u64::from(packet.flow.0));
    // The high half of a product is a fair map of a hash onto 0..queues.
    (((hash >> 32) * u64::from(queues)) >> 32) as u32
}

/// At an overflow, half of the longest queue is dropped, but no more packets than this (RFC 8290 §4.1).
const BATCH: u32 = 64;

impl FqCodel {
    /// FlowQueue-CoDel for the link that `cx` describes.
    pub fn new(config: &FqCodelConfig, cx: &BuildCx) -> Self {
        let &FqCodelConfig { target, interval, quantum, queues, ecn } = config;
        Self {
            limit: Limit::new(cx.capacity),
            constants: Constants { target, interval, ecn, packet: cx.mean_packet },
            quantum: quantum.get().min(1 << 40).cast_signed(),
            queues,
            perturbation: None,
            flows: Flows::hashed(queues),
            new: VecDeque::new(),
            old: VecDeque::new(),
            ranking: Ranking::default(),
            retired: Retired::default(),
        }
    }

    fn queue_of(&mut self, packet: &Packet, rng: &mut Stream) -> u32 {
        let perturbation = *self.perturbation.get_or_insert_with(|| rng.below(1 << 32));
        hashed(packet, perturbation, self.queues)
    }

    fn relieve(&mut self, cx: &mut QueueCx<'_>) {
        let (flows, queues, perturbation) = (&self.flows, self.queues, self.perturbation.unwrap_or_default());
        let length = |slot| flows.length(slot).bytes.get();
        let busy = once_with(|| flows.busy_of_keys(|packet| hashed(packet, perturbation, queues))).flatten();
        let Some(slot) = self.ranking.longest(busy, length) else { return };
        let half = self.flows.length(slot).bytes / 2;
        let mut dropped = Bytes::ZERO;
        for _ in 0..BATCH {
            let Some((packet, _)) = (One { flows: &mut self.flows, slot }).pop() else { break };
            dropped += packet.size();
            cx.drop(packet, DropReason::Overflow);
            if dropped >= half {
                break;
            }
        }
        if self.flows.get(slot).is_empty() {
            self.ranking.emptied(slot);
        }
    }

    /// The queue at the front of a list, and whether it is the list of new ones.
    fn front(&self) -> Option<(u32, bool)> {
        let new = self.new.front().map(|slot| (*slot, true));
        new.or_else(|| self.old.front().map(|slot| (*slot, false)))
    }

    fn retire_front(&mut self, now: Time, was_new: bool, to_old: bool) {
        let list = if was_new { &mut self.new } else { &mut self.old };
        let Some(slot) = list.pop_front() else { return };
        if to_old {
            self.flows.state(slot).place = Place::Old;
            self.old.push_back(slot);
        } else {
            let queue = self.flows.state(slot);
            queue.place = Place::Nowhere;
            self.retired.keep(now, queue.number, queue.law, self.constants.interval);
            self.flows.unlist(slot);
        }
    }
}

impl QueueDiscipline for FqCodel {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let straight = cx.idle_since.is_some() && self.flows.backlog().packets == 0;
        let number = self.queue_of(&packet, cx.rng);
        let slot = self.flows.slot_of_key(number);
        self.flows.push(slot, packet, now);
        let backlog = self.flows.backlog();
        self.ranking.grown(slot, self.flows.length(slot).bytes.get(), &backlog, &self.limit);
        let queue = self.flows.state(slot);
        if queue.place == Place::Nowhere {
            queue.place = Place::New;
            queue.credit = self.quantum;
            queue.number = number;
            queue.law = self.retired.take(number);
            self.new.push_back(slot);
            self.flows.list(slot);
        }
        while !straight && self.limit.exceeded_by(&self.flows.backlog()) {
            self.relieve(cx);
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        loop {
            let Some((slot, was_new)) = self.front() else {
                self.flows.give_memory_back();
                return None;
            };
            if self.flows.state(slot).credit <= 0 {
                self.flows.state(slot).credit += self.quantum;
                self.retire_front(now, was_new, true);
                continue;
            }
            let mut law = self.flows.get(slot).state.law;
            let mut source = One { flows: &mut self.flows, slot };
            let taken = law.dequeue(now, &self.constants, &mut source, cx);
            self.flows.state(slot).law = law;
            if self.flows.get(slot).is_empty() {
                self.ranking.emptied(slot);
            }
            if let Some(packet) = taken {
                self.flows.state(slot).credit -= packet.size().get().cast_signed();
                let old = &self.old;
                self.flows.foresee(|steps| old.get(steps).copied(), |_| None);
                return Some(packet);
            }
            // A new queue that runs empty goes round once more as an old one, or it would stay new for ever.
            self.retire_front(now, was_new, was_new && !self.old.is_empty());
        }
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }

    fn observe(&self, _: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note("active_queues", (self.new.len() + self.old.len()) as f64);
    }
}
