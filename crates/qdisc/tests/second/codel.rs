//! CoDel and FlowQueue-CoDel written anew from RFC 8289 §5 and RFC 8290 §4, to be compared with the disciplines packet by
//! packet. The hash of FlowQueue-CoDel was read in the library before it was written here.

use std::collections::{HashMap, VecDeque};

use tailback_core::rng::mix;
use tailback_core::{
    Backlog, Bytes, Capacity, DropReason, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::Limit;

use crate::common::MEAN_PACKET;

/// What RFC 8289 §5.1 keeps, and its two routines, over whatever queue the caller pops.
#[derive(Clone, Debug, Default)]
pub struct Law {
    pub target: Span,
    pub interval: Span,
    pub ecn: bool,
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// One queue.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub waiting: VecDeque<(Time, Packet)>,
    pub bytes: u64,
    /// "An MTU's worth of bytes": of the link's mean packet, or of the largest that left since the law began.
    pub mtu: u64,
}

impl Line {
    pub fn new() -> Self {
        Self { mtu: MEAN_PACKET.get(), ..Self::default() }
    }

    pub fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += packet.size().get();
        self.waiting.push_back((now, packet));
    }

    pub fn pop(&mut self) -> Option<(Time, Packet)> {
        let head = self.waiting.pop_front()?;
        self.bytes -= head.1.size().get();
        Some(head)
    }
}

impl Law {
    pub fn new(target: Span, interval: Span, ecn: bool) -> Self {
        Self { target, interval, ecn, ..Self::default() }
    }

    fn control(&self, from: Time) -> Time {
        from + Span::from_nanos(
            (self.interval.as_nanos() as f64 / f64::from(self.count).sqrt()).round() as u64
        )
    }

    fn resumes(&self, now: Time) -> bool {
        self.count - self.last_count > 1 && now.since(self.drop_next) < self.interval * 16
    }

    /// RFC 8289 §5.4, `dodequeue`: the head, and whether it may be dropped.
    fn head(&mut self, now: Time, line: &mut Line) -> Option<(Packet, bool)> {
        let Some((came, packet)) = line.pop() else {
            self.first_above = None;
            return None;
        };
        line.mtu = line.mtu.max(packet.size().get());
        if now.since(came) < self.target || line.bytes <= line.mtu {
            self.first_above = None;
            return Some((packet, false));
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.interval);
                Some((packet, false))
            }
            Some(at) => Some((packet, now >= at)),
        }
    }

    /// RFC 8289 §5.5, `dequeue`, with marks instead of drops where RFC 8290 §4.2 has them.
    pub fn dequeue(&mut self, now: Time, line: &mut Line, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let mut head = self.head(now, line);
        if self.dropping {
            if !head.is_some_and(|(_, may)| may) {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                let (mut packet, _) = head.expect("who drops has a packet");
                self.count += 1;
                if self.ecn && cx.mark_ce(&mut packet) {
                    self.drop_next = self.control(self.drop_next);
                    return Some(packet);
                }
                cx.drop(packet, DropReason::Early);
                head = self.head(now, line);
                if head.is_some_and(|(_, may)| may) {
                    self.drop_next = self.control(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if let Some((mut packet, true)) = head {
            if self.ecn && cx.mark_ce(&mut packet) {
                head = Some((packet, true));
            } else {
                cx.drop(packet, DropReason::Early);
                head = self.head(now, line);
            }
            self.dropping = true;
            self.count = if self.resumes(now) { self.count - self.last_count } else { 1 };
            self.drop_next = self.control(now);
            self.last_count = self.count;
        }
        head.map(|(packet, _)| packet)
    }
}

/// CoDel over one queue.
pub struct Codel {
    law: Law,
    line: Line,
    limit: Limit,
}

impl Codel {
    pub fn new(law: Law, capacity: Capacity) -> Self {
        Self { law, line: Line::new(), limit: Limit::new(capacity) }
    }
}

impl QueueDiscipline for Codel {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        if self.limit.admits(&packet, &self.backlog(), cx.idle_since.is_some()) {
            self.line.push(now, packet);
        } else {
            cx.drop(packet, DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.law.dequeue(now, &mut self.line, cx)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.line.waiting.len() as u32, bytes: Bytes::new(self.line.bytes) }
    }
}

/// A queue of FQ-CoDel.
struct Queue {
    law: Law,
    line: Line,
    credits: i64,
}

/// RFC 8290 §4.1.1 asks for a hash that nobody can foresee, and leaves open which. This is the library's: who meets whom
/// has to be the same in both writings.
struct Hash {
    queues: u32,
    perturbation: Option<u64>,
}

impl Hash {
    fn queue_of(&mut self, flow: u32, rng: &mut Stream) -> u32 {
        let perturbation = *self.perturbation.get_or_insert_with(|| rng.below(1 << 32));
        let hash = mix(perturbation << 32 | u64::from(flow));
        (u128::from(hash >> 32) * u128::from(self.queues) / (1 << 32)) as u32
    }
}

/// FQ-CoDel.
pub struct FqCodel {
    law: Law,
    quantum: i64,
    queues: HashMap<u32, Queue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    limit: Limit,
    /// How many queues flows are hashed into, and by what.
    hash: Hash,
    /// Whether two queues were the longest at an overflow; the text does not say which one loses.
    pub tied: bool,
}

impl FqCodel {
    pub fn new(law: Law, quantum: i64, queues: u32, capacity: Capacity) -> Self {
        let limit = Limit::new(capacity);
        let hash = Hash { queues, perturbation: None };
        Self {
            law,
            quantum,
            queues: HashMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            limit,
            hash,
            tied: false,
        }
    }

    /// RFC 8290 §4.1.2: the queue with most bytes loses half of them, at most 64 packets, from its head.
    fn relieve(&mut self, cx: &mut QueueCx<'_>) {
        let (&fattest, queue) = self.queues.iter().max_by_key(|(_, queue)| queue.line.bytes).unwrap();
        let most = queue.line.bytes;
        self.tied |= self.queues.values().filter(|queue| queue.line.bytes == most).count() > 1;
        let queue = self.queues.get_mut(&fattest).unwrap();
        let half = queue.line.bytes / 2;
        let mut gone = 0;
        for _ in 0..64 {
            let (_, packet) = queue.line.pop().unwrap();
            gone += packet.size().get();
            cx.drop(packet, DropReason::Overflow);
            if gone >= half {
                break;
            }
        }
    }
}

impl QueueDiscipline for FqCodel {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let name = self.hash.queue_of(packet.flow.0, cx.rng);
        let passes = cx.idle_since.is_some() && self.backlog().packets == 0;
        let law = self.law.clone();
        let queue = self.queues.entry(name).or_insert_with(|| Queue { law, line: Line::new(), credits: 0 });
        queue.line.push(now, packet);
        if !self.new.contains(&name) && !self.old.contains(&name) {
            queue.credits = self.quantum;
            self.new.push_back(name);
        }
        while !passes && self.limit.exceeded_by(&self.backlog()) {
            self.relieve(cx);
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        loop {
            let from_new = !self.new.is_empty();
            let name = *self.new.front().or_else(|| self.old.front())?;
            let list = if from_new { &mut self.new } else { &mut self.old };
            let queue = self.queues.get_mut(&name).unwrap();
            if queue.credits <= 0 {
                queue.credits += self.quantum;
                list.pop_front();
                self.old.push_back(name);
                continue;
            }
            let Some(packet) = queue.law.dequeue(now, &mut queue.line, cx) else {
                list.pop_front();
                if from_new && !self.old.is_empty() {
                    self.old.push_back(name);
                } else if !queue.law.resumes(now) {
                    (queue.law, queue.line) = (self.law.clone(), Line::new());
                }
                continue;
            };
            queue.credits -= packet.size().get().cast_signed();
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        let packets = self.queues.values().map(|queue| queue.line.waiting.len() as u32).sum();
        Backlog { packets, bytes: Bytes::new(self.queues.values().map(|queue| queue.line.bytes).sum()) }
    }
}
