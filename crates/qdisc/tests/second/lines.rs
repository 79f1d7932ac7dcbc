//! What is made of one first-in first-out line or of several queues of any kind, written anew: drop-tail, drop-head (Lakshman,
//! Neidhardt and Ott 1996), random drop (Mankin 1990), strict priority, and a token bucket shaper over queues with buckets of
//! their own. The queues within lanes and shapers are the library's.

use std::collections::VecDeque;

use tailback_core::{
    Backlog, BitRate, Bytes, Capacity, DropReason, Packet, QueueCx, QueueDiscipline, Span, Time,
};
use tailback_qdisc::Discipline;

/// Who goes where there is no room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goes {
    Arriving,
    Oldest,
    Any,
}

/// One line.
pub struct Line {
    pub goes: Goes,
    pub capacity: Capacity,
    pub waiting: VecDeque<Packet>,
}

impl Line {
    fn holds(&self, packets: usize, bytes: u64) -> bool {
        match self.capacity {
            Capacity::Packets(most) => packets <= most as usize,
            Capacity::Bytes(most) => bytes <= most.get(),
            _ => true,
        }
    }

    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|packet| packet.size().get()).sum()
    }
}

impl QueueDiscipline for Line {
    fn enqueue(&mut self, _: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let size = packet.size().get();
        let goes_at_once = cx.idle_since.is_some() && self.waiting.is_empty();
        let has_room = goes_at_once || self.holds(self.waiting.len() + 1, self.bytes() + size);
        let ever = self.holds(1, size);
        if !has_room && (self.goes == Goes::Arriving || !ever) {
            return cx.drop(packet, DropReason::Overflow);
        }
        self.waiting.push_back(packet);
        while !has_room && !self.holds(self.waiting.len(), self.bytes()) {
            let at =
                if self.goes == Goes::Any { cx.rng.below(self.waiting.len() as u64) as usize } else { 0 };
            cx.drop(self.waiting.remove(at).unwrap(), DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut QueueCx<'_>) -> Option<Packet> {
        self.waiting.pop_front()
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: Bytes::new(self.bytes()) }
    }
}

fn sum<'a>(queues: impl Iterator<Item = &'a Discipline>) -> Backlog {
    let all: Vec<Backlog> = queues.map(QueueDiscipline::backlog).collect();
    Backlog {
        packets: all.iter().map(|one| one.packets).sum(),
        bytes: Bytes::new(all.iter().map(|one| one.bytes.get()).sum()),
    }
}

/// A lane is served only while all before it are empty, or have nothing for now.
pub struct Priority {
    pub lanes: Vec<Discipline>,
    /// The lane of a flow whatever its packets bear.
    pub class: fn(u32) -> Option<usize>,
}

impl QueueDiscipline for Priority {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let last = self.lanes.len() - 1;
        let lane = (self.class)(packet.flow.0).unwrap_or(usize::from(packet.lane().number()));
        self.lanes[lane.min(last)].enqueue(now, packet, cx);
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        for lane in &mut self.lanes {
            if let Some(packet) = lane.dequeue(now, cx) {
                return Some(packet);
            }
        }
        None
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        self.lanes.iter().filter_map(|lane| lane.next_ready(now)).min()
    }

    fn next_timer(&self) -> Option<Time> {
        self.lanes.iter().filter_map(QueueDiscipline::next_timer).min()
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.next_timer().is_some_and(|due| due <= now)) {
            lane.on_timer(now, cx);
        }
    }

    fn backlog(&self) -> Backlog {
        sum(self.lanes.iter())
    }
}

/// Whole tokens: bits times 10⁹, so that one nanosecond at one bit per second is one.
pub struct Bucket {
    rate: i128,
    depth: i128,
    tokens: i128,
    at: Time,
}

impl Bucket {
    pub fn new(rate: BitRate, depth: u64) -> Self {
        let depth = Self::cost(depth);
        Self { rate: rate.bits_per_sec().into(), depth, tokens: depth, at: Time::ZERO }
    }

    fn cost(size: u64) -> i128 {
        i128::from(size) * 8_000_000_000
    }

    /// How long until a packet of this size may pass.
    fn missing(&mut self, now: Time, size: u64) -> Span {
        let gap = i128::from(now.since(self.at).as_nanos());
        (self.tokens, self.at) = ((self.tokens + gap * self.rate).min(self.depth), now);
        // What is larger than the bucket passes when that is full, and leaves a debt.
        let short = Self::cost(size).min(self.depth) - self.tokens;
        if short <= 0 { Span::ZERO } else { Span::from_nanos(((short + self.rate - 1) / self.rate) as u64) }
    }
}

/// A queue under a shaper, and the one packet that has been taken out of it.
pub struct Class {
    /// Of its own, beside the common one.
    pub bucket: Option<Bucket>,
    /// What the line can be at most to the queue.
    pub rate: BitRate,
    pub queue: Discipline,
    pub head: Option<Packet>,
}

impl Class {
    fn with<T>(
        &mut self,
        cx: &mut QueueCx<'_>,
        act: impl FnOnce(&mut Discipline, &mut QueueCx<'_>) -> T,
    ) -> T {
        // A packet that waits for tokens is the one in transmission, as the queue sees it.
        let (line, idle_since) = (cx.rate, cx.idle_since);
        cx.rate = line.min(self.rate);
        cx.idle_since = if self.head.is_some() { None } else { idle_since };
        let answer = act(&mut self.queue, cx);
        (cx.rate, cx.idle_since) = (line, idle_since);
        answer
    }
}

/// Classes take turns; whose turn it is waits for common tokens, and is passed over only while it has none of its own.
pub struct Shaper {
    pub common: Bucket,
    pub classes: Vec<Class>,
    pub class: fn(u32) -> usize,
    pub last: usize,
    pub again: Option<Time>,
}

impl QueueDiscipline for Shaper {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let class = &mut self.classes[(self.class)(packet.flow.0)];
        class.with(cx, |queue, cx| queue.enqueue(now, packet, cx));
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let count = self.classes.len();
        self.again = None;
        for at in (1..=count).map(|step| (self.last + step) % count) {
            let class = &mut self.classes[at];
            if class.head.is_none() {
                class.head = class.with(cx, |queue, cx| queue.dequeue(now, cx));
            }
            let Some(size) = class.head.map(|head| head.size().get()) else {
                let ready = class.queue.next_ready(now);
                self.again = [self.again, ready].into_iter().flatten().min();
                continue;
            };
            let own = class.bucket.as_mut().map_or(Span::ZERO, |bucket| bucket.missing(now, size));
            if own > Span::ZERO {
                self.again = [self.again, Some(now + own)].into_iter().flatten().min();
                continue;
            }
            let common = self.common.missing(now, size);
            if common > Span::ZERO {
                self.again = [self.again, Some(now + common)].into_iter().flatten().min();
                return None;
            }
            self.common.tokens -= Bucket::cost(size);
            if let Some(bucket) = &mut class.bucket {
                bucket.tokens -= Bucket::cost(size);
            }
            self.last = at;
            return class.head.take();
        }
        None
    }

    fn next_ready(&self, _: Time) -> Option<Time> {
        self.again
    }

    fn next_timer(&self) -> Option<Time> {
        self.classes.iter().filter_map(|class| class.queue.next_timer()).min()
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        for class in &mut self.classes {
            if class.queue.next_timer().is_some_and(|due| due <= now) {
                class.with(cx, |queue, cx| queue.on_timer(now, cx));
            }
        }
    }

    fn backlog(&self) -> Backlog {
        let inside = sum(self.classes.iter().map(|class| &class.queue));
        let heads: Vec<Packet> = self.classes.iter().filter_map(|class| class.head).collect();
        let bytes: u64 = heads.iter().map(|head| head.size().get()).sum();
        Backlog { packets: inside.packets + heads.len() as u32, bytes: inside.bytes + Bytes::new(bytes) }
    }
}
