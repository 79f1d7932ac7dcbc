//! Fair servers written anew: deficit round robin from Shreedhar and Varghese 1995, self-clocked fair queueing from Golestani
//! 1994, weighted fair queueing from Parekh and Gallager 1993, virtual clock from Zhang 1990. The buffer has no bound here, or
//! turns the arriving packet away.

use std::collections::{HashMap, VecDeque};

use tailback_core::{Backlog, Bytes, Capacity, DropReason, Packet, QueueCx, QueueDiscipline, Time};
use tailback_qdisc::Limit;

/// The weight of each flow.
pub type Weight = fn(u32) -> f64;

fn count(queues: &HashMap<u32, VecDeque<(f64, Packet)>>) -> Backlog {
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
    pub limit: Limit,
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
            limit: Limit::new(capacity),
            queues: HashMap::new(),
            active: VecDeque::new(),
            deficit: HashMap::new(),
            visited: false,
        }
    }
}

impl QueueDiscipline for Rounds {
    fn enqueue(&mut self, _: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        if !self.limit.admits(&packet, &self.backlog(), cx.idle_since.is_some()) {
            return cx.drop(packet, DropReason::Overflow);
        }
        let flow = packet.flow.0;
        if !self.active.contains(&flow) {
            self.active.push_back(flow);
            self.deficit.insert(flow, 0.0);
        }
        self.queues.entry(flow).or_default().push_back((0.0, packet));
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
    limit: Limit,
    queues: HashMap<u32, VecDeque<(f64, Packet)>>,
    last: HashMap<u32, f64>,
    virtual_time: f64,
    at: Time,
    /// Whether two heads had the same tag, or nearly so.
    pub tied: bool,
}

impl Tagged {
    pub fn new(by: By, weight: Weight, capacity: Capacity) -> Self {
        Self {
            by,
            weight,
            limit: Limit::new(capacity),
            queues: HashMap::new(),
            last: HashMap::new(),
            virtual_time: 0.0,
            at: Time::ZERO,
            tied: false,
        }
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
                (self.virtual_time, self.last) = (0.0, HashMap::new());
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
                    (self.virtual_time, self.last) = (0.0, HashMap::new());
                }
                self.virtual_time
            }
            By::Fluid => {
                self.flow(now, rate);
                self.virtual_time
            }
            By::Reserved(_) => now.as_secs_f64(),
        };
        if !self.limit.admits(&packet, &self.backlog(), cx.idle_since.is_some()) {
            return cx.drop(packet, DropReason::Overflow);
        }
        let flow = packet.flow.0;
        let pace = if let By::Reserved(part) = self.by { rate * part } else { 1.0 };
        let last = self.last.entry(flow).or_insert(f64::NEG_INFINITY);
        *last = last.max(from) + packet.size().as_f64() / (pace * (self.weight)(flow));
        self.queues.entry(flow).or_default().push_back((*last, packet));
    }

    fn dequeue(&mut self, _: Time, _: &mut QueueCx<'_>) -> Option<Packet> {
        let heads = || self.queues.iter().filter_map(|(flow, queue)| Some((queue.front()?.0, *flow)));
        let (tag, flow) = heads().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let near = |other: f64| (other - tag).abs() <= 1e-9 * tag.abs().max(1e-6);
        self.tied |= heads().filter(|head| near(head.0)).count() > 1;
        self.virtual_time = if self.by == By::Itself { tag } else { self.virtual_time };
        self.queues.get_mut(&flow)?.pop_front().map(|(_, packet)| packet)
    }

    fn backlog(&self) -> Backlog {
        count(&self.queues)
    }
}
