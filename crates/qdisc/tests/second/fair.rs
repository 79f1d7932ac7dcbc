//! Fair servers written anew: deficit round robin from Shreedhar and Varghese 1995, self-clocked fair queueing from Golestani
//! 1994, weighted fair queueing from Parekh and Gallager 1993, virtual clock from Zhang 1990, framed and hierarchical round
//! robin from Kalmanek, Kanakia and Keshav 1990 with the library's bytes for slots. Who loses where the buffer is full is said
//! in `room`. What is lost was not sent, so rounds and frames charge nothing for it, and those without a packet keep their place.

use std::collections::{HashMap, VecDeque};

use tailback_core::{Backlog, Bytes, Capacity, DropReason, Packet, QueueCx, QueueDiscipline, Time};

use super::room::{Loses, Room};

/// The weight of each flow.
pub type Weight = fn(u32) -> f64;

pub fn count(queues: &HashMap<u32, VecDeque<(f64, Packet)>>) -> Backlog {
    let all = || queues.values().flatten();
    Backlog {
        packets: all().count() as u32,
        bytes: Bytes::new(all().map(|(_, packet)| packet.size().get()).sum()),
    }
}

/// Rounds in which each flow may send its weight in quanta of `cost`.
pub struct Rounds {
    pub quantum: f64,
    pub weight: Weight,
    pub cost: fn(u64) -> f64,
    pub room: Room,
    /// Which queue a flow is in.
    pub class: fn(u32) -> u32,
    queues: HashMap<u32, VecDeque<(f64, Packet)>>,
    active: VecDeque<u32>,
    deficit: HashMap<u32, f64>,
    visited: bool,
}

impl Rounds {
    pub fn new(quantum: f64, weight: Weight, cost: fn(u64) -> f64, capacity: Capacity) -> Self {
        Self {
            quantum,
            weight,
            cost,
            room: Room::new(Loses::Arriving, capacity, Capacity::Unlimited),
            class: |flow| flow,
            queues: HashMap::new(),
            active: VecDeque::new(),
            deficit: HashMap::new(),
            visited: false,
        }
    }
}

impl QueueDiscipline for Rounds {
    fn enqueue(&mut self, _: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let (flow, idle) = ((self.class)(packet.flow.0), cx.idle_since.is_some());
        let passes = idle && self.backlog().packets == 0;
        if self.room.refuses(&packet, flow, &self.queues, idle) {
            return cx.drop(packet, DropReason::Overflow);
        }
        if !self.active.contains(&flow) {
            self.active.push_back(flow);
            self.deficit.insert(flow, 0.0);
        }
        self.queues.entry(flow).or_default().push_back((0.0, packet));
        while let Some((_, gone)) = self.room.makes(&mut self.queues, passes) {
            cx.drop(gone, DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut QueueCx<'_>) -> Option<Packet> {
        loop {
            let flow = *self.active.front()?;
            let queue = self.queues.get_mut(&flow).unwrap();
            if queue.is_empty() {
                // It is asked for only now, when its last packet is out, as where `Send` returns in Figure 3 of 1995.
                self.active.pop_front();
                self.visited = false;
                continue;
            }
            let deficit = self.deficit.get_mut(&flow).unwrap();
            if !std::mem::replace(&mut self.visited, true) {
                *deficit += self.quantum * (self.weight)(flow);
            }
            let cost = (self.cost)(queue.front().unwrap().1.size().get());
            if cost > *deficit {
                self.active.rotate_left(1);
                self.visited = false;
                continue;
            }
            *deficit -= cost;
            return queue.pop_front().map(|(_, packet)| packet);
        }
    }

    fn backlog(&self) -> Backlog {
        count(&self.queues)
    }
}

/// By what clock tags are given.
#[derive(Clone, Copy, PartialEq)]
pub enum By {
    /// The tag of the packet in service.
    Itself,
    /// The virtual time of a fluid server.
    Fluid,
    /// Real time, at this part of the link's rate for a weight of 1.
    Reserved(f64),
}

/// Service in the order of tags.
pub struct Tagged {
    by: By,
    weight: Weight,
    pub room: Room,
    /// Which queue a flow is in.
    pub class: fn(u32) -> u32,
    queues: HashMap<u32, VecDeque<(f64, Packet)>>,
    last: HashMap<u32, f64>,
    /// The tag of the flow's packet that left last: what holds again where all behind it are lost.
    left: HashMap<u32, f64>,
    virtual_time: f64,
    at: Time,
    /// Lengths are in cells: of 53 bytes, or of AAL 5 for what does not fit one.
    pub cells: bool,
    /// Whether two heads had the same tag, or nearly so.
    pub tied: bool,
}

impl Tagged {
    pub fn new(by: By, weight: Weight, capacity: Capacity) -> Self {
        Self {
            by,
            weight,
            room: Room::new(Loses::Arriving, capacity, Capacity::Unlimited),
            class: |flow| flow,
            queues: HashMap::new(),
            last: HashMap::new(),
            left: HashMap::new(),
            virtual_time: 0.0,
            at: Time::ZERO,
            cells: false,
            tied: false,
        }
    }

    fn length(&self, packet: &Packet) -> f64 {
        match packet.size().get() {
            size if !self.cells => size as f64,
            size if size <= 53 => 1.0,
            size => (size + 8).div_ceil(48) as f64,
        }
    }

    /// A flow does not pay for what it lost: its last tag is that of the packet before, or those behind move up.
    fn give_back(&mut self, flow: u32, gone: &Packet) {
        if self.room.loses == Loses::Oldest {
            let cost = self.length(gone) / (self.weight)(flow);
            let behind = self.queues.get_mut(&flow).into_iter().flatten().map(|(tag, _)| tag);
            behind.chain(self.last.get_mut(&flow)).for_each(|tag| *tag -= cost);
        } else {
            let before = self.queues[&flow].back().map(|(tag, _)| *tag);
            let before = before.or_else(|| self.left.get(&flow).copied()).unwrap_or(f64::NEG_INFINITY);
            self.last.insert(flow, before);
        }
    }

    fn begin_anew(&mut self) {
        (self.virtual_time, self.last, self.left) = (0.0, HashMap::new(), HashMap::new());
    }

    /// The fluid serves flows whose last tag lies ahead, until now; 1993, Eq. 11.
    fn flow(&mut self, now: Time, rate: f64) {
        let mut left = now.since(self.at).as_secs_f64() * rate;
        self.at = now;
        loop {
            let ahead = || self.last.iter().filter(|(_, tag)| **tag > self.virtual_time);
            let weights: f64 = ahead().map(|(flow, _)| (self.weight)(*flow)).sum();
            let Some(next) = ahead().map(|(_, tag)| *tag).min_by(f64::total_cmp) else {
                // The fluid is idle: a busy period begins anew.
                self.begin_anew();
                return;
            };
            let needed = (next - self.virtual_time) * weights;
            if needed > left {
                self.virtual_time += left / weights;
                return;
            }
            left -= needed;
            self.virtual_time = next;
        }
    }
}

impl QueueDiscipline for Tagged {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let rate = cx.rate.bytes_per_sec();
        let from = match self.by {
            By::Itself => {
                if cx.idle_since.is_some() && self.backlog().packets == 0 {
                    self.begin_anew();
                }
                self.virtual_time
            }
            By::Fluid => {
                self.flow(now, rate);
                self.virtual_time
            }
            By::Reserved(_) => now.as_secs_f64(),
        };
        let (flow, idle) = ((self.class)(packet.flow.0), cx.idle_since.is_some());
        let passes = idle && self.backlog().packets == 0;
        if self.room.refuses(&packet, flow, &self.queues, idle) {
            return cx.drop(packet, DropReason::Overflow);
        }
        let length = self.length(&packet);
        let pace = if let By::Reserved(part) = self.by { rate * part } else { 1.0 };
        let waits = self.queues.get(&flow).is_some_and(|queue| !queue.is_empty());
        // Who has lost its oldest while it waited is owed what the clock has gone on since, so that all it sends keeps its place.
        let from = if waits && self.room.loses == Loses::Oldest { f64::NEG_INFINITY } else { from };
        let last = self.last.entry(flow).or_insert(f64::NEG_INFINITY);
        *last = last.max(from) + length / (pace * (self.weight)(flow));
        self.queues.entry(flow).or_default().push_back((*last, packet));
        while let Some((flow, gone)) = self.room.makes(&mut self.queues, passes) {
            self.give_back(flow, &gone);
            cx.drop(gone, DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut QueueCx<'_>) -> Option<Packet> {
        let heads = || self.queues.iter().filter_map(|(flow, queue)| Some((queue.front()?.0, *flow)));
        let (tag, flow) = heads().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let near = |other: f64| (other - tag).abs() <= 1e-9 * tag.abs().max(1e-6);
        self.tied |= heads().filter(|head| near(head.0)).count() > 1;
        // Behind a lost packet a tag may be less than the clock, which does not go back.
        self.virtual_time =
            if self.by == By::Itself { self.virtual_time.max(tag) } else { self.virtual_time };
        self.left.insert(flow, tag);
        self.queues.get_mut(&flow)?.pop_front().map(|(_, packet)| packet)
    }

    fn backlog(&self) -> Backlog {
        count(&self.queues)
    }
}

/// A level of frames.
pub struct Level {
    /// In nanoseconds.
    length: u64,
    flows: &'static [u32],
    /// Bytes in a frame.
    size: f64,
    /// What slower levels may send in a frame, and what of it is left.
    below: f64,
    left: f64,
    number: u64,
    /// Who may send in this frame, and who must wait for the next.
    turns: VecDeque<u32>,
    next: VecDeque<u32>,
}

/// A flow in the frames. What is left of an allotment counts until the flow is found without a packet in a later frame.
#[derive(Default)]
pub struct Allotted {
    credit: f64,
    /// The frame whose allotment it has had.
    had: Option<u64>,
}

/// Round robin on levels of frames, which take turns. A slower level may begin a packet while anything is left of its part of
/// every faster frame; what that is too much counts in the next frame.
pub struct Frames {
    reserve: f64,
    weight: Weight,
    pub room: Room,
    /// Which queue a flow is in.
    pub class: fn(u32) -> u32,
    levels: Vec<Level>,
    flows: HashMap<u32, Allotted>,
    queues: HashMap<u32, VecDeque<(f64, Packet)>>,
    served: usize,
}

impl Frames {
    /// Levels of this length in milliseconds, part of the rate in bytes per second, and flows.
    pub fn new(
        levels: &[(u64, f64, &'static [u32])],
        rate: f64,
        reserve: f64,
        weight: Weight,
        capacity: Capacity,
    ) -> Self {
        let level = |at: usize| {
            let (length, _, flows) = levels[at];
            let size = rate * (length as f64 * 1e-3);
            let below = size * levels[at + 1..].iter().map(|level| level.1).sum::<f64>();
            let (turns, next) = (VecDeque::new(), VecDeque::new());
            Level { length: length * 1_000_000, flows, size, below, left: below, number: 0, turns, next }
        };
        Self {
            reserve,
            weight,
            room: Room::new(Loses::Arriving, capacity, Capacity::Unlimited),
            class: |flow| flow,
            levels: (0..levels.len()).map(level).collect(),
            flows: HashMap::new(),
            queues: HashMap::new(),
            served: 0,
        }
    }

    fn begin(&mut self, now: Time) {
        for level in &mut self.levels {
            let number = now.as_nanos() / level.length;
            if number > level.number {
                level.number = number;
                level.left = level.below + level.left.min(0.0);
                for flow in std::mem::take(&mut level.next) {
                    if !level.turns.contains(&flow) {
                        level.turns.push_back(flow);
                    }
                }
            }
        }
    }

    fn send(&mut self, at: usize) -> Option<Packet> {
        let level = &mut self.levels[at];
        loop {
            let name = level.turns.pop_front()?;
            let (flow, queue) = (self.flows.get_mut(&name)?, self.queues.get_mut(&name)?);
            let has_had = flow.had == Some(level.number);
            let Some(size) = queue.front().map(|(_, packet)| packet.size().as_f64()) else {
                if has_had {
                    if !level.next.contains(&name) {
                        level.next.push_back(name);
                    }
                } else {
                    self.flows.remove(&name);
                }
                continue;
            };
            if !has_had {
                flow.had = Some(level.number);
                flow.credit = flow.credit.min(size) + level.size * self.reserve * (self.weight)(name);
            }
            if flow.credit < size {
                if !level.next.contains(&name) {
                    level.next.push_back(name);
                }
                continue;
            }
            flow.credit -= size;
            let packet = queue.pop_front().map(|(_, packet)| packet);
            if !queue.is_empty() {
                level.turns.push_back(name);
            } else if !level.next.contains(&name) {
                level.next.push_back(name);
            }
            self.served = at;
            for above in &mut self.levels[..at] {
                above.left -= size;
            }
            return packet;
        }
    }
}

impl QueueDiscipline for Frames {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let (name, idle) = ((self.class)(packet.flow.0), cx.idle_since.is_some());
        let passes = idle && self.backlog().packets == 0;
        if self.room.refuses(&packet, name, &self.queues, idle) {
            return cx.drop(packet, DropReason::Overflow);
        }
        self.begin(now);
        let last = self.levels.len() - 1;
        let level = self.levels.iter().position(|level| level.flows.contains(&name)).unwrap_or(last);
        self.flows.entry(name).or_default();
        let queue = self.queues.entry(name).or_default();
        queue.push_back((0.0, packet));
        if queue.len() == 1 && !self.levels[level].turns.contains(&name) {
            self.levels[level].turns.push_back(name);
        }
        while let Some((_, gone)) = self.room.makes(&mut self.queues, passes) {
            cx.drop(gone, DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut QueueCx<'_>) -> Option<Packet> {
        self.begin(now);
        let count = self.levels.len();
        let first = self.served + 1;
        for at in (first..first + count).map(|at| at % count) {
            let open = self.levels[..at].iter().all(|above| above.left > 0.0);
            if open && let Some(packet) = self.send(at) {
                return Some(packet);
            }
        }
        None
    }

    /// At the next frame of any level: plainly, whether or not it helps.
    fn next_ready(&self, now: Time) -> Option<Time> {
        let next = |level: &Level| Time::from_nanos((now.as_nanos() / level.length + 1) * level.length);
        self.levels.iter().map(next).min().filter(|_| self.backlog().packets > 0)
    }

    fn backlog(&self) -> Backlog {
        count(&self.queues)
    }
}
