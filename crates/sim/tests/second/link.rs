//! A link whose rate and delay change while packets are on their way, or that a delivery trace drives, written anew from what its
//! description and a scenario's fields say of themselves: what becomes of each packet, and when. One loop over instants; all counts
//! are made afterwards from the packets' times.
//!
//! What no text says was seen in the comparison:
//!
//! * A part of a nanosecond that a transmission took too little is not made up for by the next where the rate changes in between.
//! * Of a link that never changes, busy time is told as what the bytes take, which is up to a nanosecond more for each busy period.
//!   That of a trace, which knows no beginnings, is not compared.
//! * A trace takes a packet out of the queue at the opportunity that begins to deliver it, and not before.
//! * A link that stands still is idle where no packet waits: where nothing may wait, the first packet that comes then is kept.
//!
//! At one instant a change comes first, then what leaves, then what arrives, and whatever may begin transmission then does: at the
//! new rate.

use std::collections::VecDeque;

use tailback_core::{Bytes, Capacity};
use tailback_link::{Count, LinkCounters};

/// Nanoseconds that a byte takes at one bit per second.
const BYTE: u128 = 8_000_000_000;

/// From a time on, another rate, another delay, or both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) at: u64,
    pub(super) rate: Option<u64>,
    pub(super) delay: Option<u64>,
}

/// What decides when the next packet may leave, before a line of packets in their order.
#[derive(Clone, Debug)]
pub(super) enum Gate {
    Open,
    /// Whole tokens: bits times 10⁹. A packet needs tokens for its size, or a full bucket if that is less.
    Bucket {
        rate: u64,
        depth: u64,
    },
    /// A virtual clock: what a packet takes at the rate, with so many bytes more, at least so many, and in cells or not.
    Clock {
        rate: u64,
        overhead: u64,
        least: u64,
        cells: bool,
    },
}

/// A link from its description. Times in nanoseconds, rates in bits per second.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) rate: u64,
    pub(super) delay: u64,
    pub(super) steps: Vec<Step>,
    /// Milliseconds, and the bytes of an opportunity.
    pub(super) trace: Option<(Vec<u64>, u64)>,
    pub(super) gate: Gate,
    pub(super) capacity: Capacity,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fate {
    pub(super) number: u64,
    pub(super) size: u64,
    pub(super) arrived: u64,
    pub(super) dropped: bool,
    pub(super) begins: Option<u64>,
    pub(super) leaves: Option<u64>,
    pub(super) reaches: Option<u64>,
}

/// The gate at work.
struct Keeper {
    gate: Gate,
    /// What is larger than the bucket leaves a debt.
    tokens: i128,
    counted: u64,
    /// When the virtual clock says that the line is free, and the part of a nanosecond beside, over its rate.
    free: u64,
    part: u128,
}

impl Keeper {
    fn new(gate: &Gate) -> Self {
        let tokens = if let Gate::Bucket { depth, .. } = gate { cost(*depth) } else { 0 };
        Self { gate: gate.clone(), tokens, counted: 0, free: 0, part: 0 }
    }

    /// A packet comes that finds none before it: there is no credit for the time before.
    fn begins(&mut self, now: u64) {
        if self.free < now {
            (self.free, self.part) = (now, 0);
        }
    }

    /// From when on a packet of this size may leave.
    fn ready(&mut self, now: u64, size: u64) -> u64 {
        match self.gate {
            Gate::Open => now,
            Gate::Bucket { rate, depth } => {
                let rate = i128::from(rate);
                let come = i128::from(now - self.counted) * rate;
                (self.tokens, self.counted) = ((self.tokens + come).min(cost(depth)), now);
                let missing = (cost(size).min(cost(depth)) - self.tokens).max(0);
                now + ((missing + rate - 1) / rate) as u64
            }
            Gate::Clock { .. } => self.free.max(now),
        }
    }

    /// A packet leaves.
    fn take(&mut self, size: u64) {
        match self.gate {
            Gate::Open => {}
            Gate::Bucket { .. } => self.tokens -= cost(size),
            Gate::Clock { rate, overhead, least, cells } => {
                let frame = (size + overhead).max(least);
                let on_line = if cells { frame.div_ceil(48) * 53 } else { frame };
                let all = u128::from(on_line) * BYTE + self.part;
                self.free += (all / u128::from(rate)) as u64;
                self.part = all % u128::from(rate);
            }
        }
    }
}

fn cost(size: u64) -> i128 {
    i128::from(size) * BYTE.cast_signed()
}

impl Described {
    /// Plays packets in, each with its time of arrival and its size, in order, until `end`.
    pub(super) fn play(&self, arrivals: &[(u64, u64)], end: u64) -> Vec<Fate> {
        Player::new(self, arrivals).play(end)
    }

    /// What could have left until `now`.
    pub(super) fn could(&self, now: u64) -> u64 {
        if let Some((times, size)) = &self.trace {
            return opportunities(times).take_while(|at| *at <= now).count() as u64 * size;
        }
        let (mut bits, mut rate, mut since) = (0_u128, self.rate, 0);
        for step in self.steps.iter().filter(|step| step.at <= now) {
            bits += u128::from(rate) * u128::from(step.at - since);
            (rate, since) = (step.rate.unwrap_or(rate), step.at);
        }
        ((bits + u128::from(rate) * u128::from(now - since)) / BYTE) as u64
    }
}

/// The times of a trace that begins again at its end.
fn opportunities(times: &[u64]) -> impl Iterator<Item = u64> + '_ {
    let period = times[times.len() - 1];
    (0..).flat_map(move |round| times.iter().map(move |at| (round * period + at) * 1_000_000))
}

struct Player<'a> {
    link: &'a Described,
    fates: Vec<Fate>,
    keeper: Keeper,
    now: u64,
    rate: u64,
    delay: u64,
    /// The line, the oldest first; and the packet that was taken out of it and waits for tokens.
    waiting: VecDeque<usize>,
    head: Option<usize>,
    /// In transmission, and when it ends where no trace decides.
    busy: Option<(usize, u64)>,
    /// What of it is delivered already.
    delivered: u64,
    /// The part of a nanosecond that the busy period has come to, over the rate.
    part: u128,
    last_end: Option<u64>,
    newest: u64,
    idle: bool,
}

impl<'a> Player<'a> {
    fn new(link: &'a Described, arrivals: &[(u64, u64)]) -> Self {
        let fate = |(number, &(arrived, size)): (usize, &(u64, u64))| Fate {
            number: number as u64,
            size,
            arrived,
            ..Fate::default()
        };
        Self {
            link,
            fates: arrivals.iter().enumerate().map(fate).collect(),
            keeper: Keeper::new(&link.gate),
            now: 0,
            rate: link.rate,
            delay: link.delay,
            waiting: VecDeque::new(),
            head: None,
            busy: None,
            delivered: 0,
            part: 0,
            last_end: None,
            newest: 0,
            idle: true,
        }
    }

    fn play(mut self, end: u64) -> Vec<Fate> {
        let link = self.link;
        let mut steps = link.steps.iter().peekable();
        let trace = link.trace.as_ref();
        let mut opportunities = trace.into_iter().flat_map(|(times, _)| opportunities(times)).peekable();
        let (mut next, mut ready) = (0, None);
        loop {
            let ends = self.busy.map(|busy| busy.1).filter(|_| trace.is_none());
            let arrival = self.fates.get(next).map(|fate| fate.arrived);
            let step = steps.peek().map(|step| step.at);
            let events = [ends, arrival, step, opportunities.peek().copied(), ready];
            let Some(now) = events.into_iter().flatten().min().filter(|now| *now <= end) else { break };
            self.now = now;
            while let Some(step) = steps.next_if(|step| step.at == now) {
                if let Some(rate) = step.rate {
                    (self.rate, self.part) = (rate, 0);
                }
                self.delay = step.delay.unwrap_or(self.delay);
            }
            if ends == Some(now) {
                self.leave();
            }
            while opportunities.next_if_eq(&now).is_some() {
                self.use_opportunity(trace.map_or(0, |trace| trace.1));
            }
            // A trace asks for packets at its opportunities alone.
            if trace.is_none() {
                ready = self.start();
            }
            while self.fates.get(next).is_some_and(|fate| fate.arrived == now) {
                self.take_in(next);
                next += 1;
                if trace.is_none() {
                    ready = self.start();
                }
            }
        }
        self.fates
    }

    /// A packet arrives.
    fn take_in(&mut self, packet: usize) {
        let size = |packet: &usize| self.fates[*packet].size;
        let bytes = self.waiting.iter().map(size).sum::<u64>() + size(&packet);
        let fits = match self.link.capacity {
            Capacity::Packets(most) => self.waiting.len() < most as usize,
            Capacity::Bytes(most) => Bytes::new(bytes) <= most,
            _ => true,
        };
        // What finds nobody before it does not wait.
        let alone = self.waiting.is_empty() && self.head.is_none();
        if alone {
            self.keeper.begins(self.now);
        }
        if fits || (alone && self.idle) {
            self.waiting.push_back(packet);
        } else {
            self.fates[packet].dropped = true;
        }
    }

    /// Begins the next transmission if it may; or when it will be time to ask again.
    fn start(&mut self) -> Option<u64> {
        if self.busy.is_some() {
            return None;
        }
        // A link without a rate asks for no packet.
        if self.rate == 0 && self.link.trace.is_none() {
            self.idle |= self.head.is_none() && self.waiting.is_empty();
            return None;
        }
        self.head = self.head.or_else(|| self.waiting.pop_front());
        self.idle = true;
        let packet = self.head?;
        let size = self.fates[packet].size;
        let ready = self.keeper.ready(self.now, size);
        if ready > self.now {
            return Some(ready);
        }
        self.keeper.take(size);
        (self.head, self.idle) = (None, false);
        self.fates[packet].begins = Some(self.now);
        // A busy period goes on where a transmission begins as another ends.
        if self.last_end != Some(self.now) {
            self.part = 0;
        }
        let rate = u128::from(self.rate.max(1));
        let all = u128::from(size) * BYTE + self.part;
        self.busy = Some((packet, self.now + (all / rate) as u64));
        (self.part, self.delivered) = (all % rate, 0);
        None
    }

    /// The packet in transmission leaves; none overtakes another on the wire.
    fn leave(&mut self) {
        let Some((packet, _)) = self.busy.take() else { return };
        self.newest = self.newest.max(self.now + self.delay);
        self.fates[packet].leaves = Some(self.now);
        self.fates[packet].reaches = Some(self.newest);
        self.last_end = Some(self.now);
    }

    /// So many bytes may leave now, of several packets or of a part of one; what finds no packet is wasted.
    fn use_opportunity(&mut self, mut bytes: u64) {
        while bytes > 0 {
            self.start();
            let Some((packet, _)) = self.busy else { break };
            let left = self.fates[packet].size - self.delivered;
            if left > bytes {
                self.delivered += bytes;
                break;
            }
            bytes -= left;
            self.leave();
        }
        self.idle = self.busy.is_none();
    }
}

/// What can be counted at a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    pub(super) arrived: Count,
    pub(super) dropped: Count,
    pub(super) transmitted: Count,
    pub(super) delivered: Count,
    pub(super) waiting: Count,
    pub(super) in_service: Count,
    pub(super) propagating: Count,
    /// In nanoseconds.
    pub(super) busy: u64,
    pub(super) capacity: u64,
    /// In packet-nanoseconds.
    pub(super) waiting_area: u64,
}

impl Counts {
    /// As of `now`, from what becomes of packets.
    pub(super) fn at(now: u64, link: &Described, fates: &[Fate]) -> Self {
        let count = |counts: &dyn Fn(&Fate) -> bool| {
            let counted = || fates.iter().filter(|fate| fate.arrived <= now && counts(fate));
            let bytes = Bytes::new(counted().map(|fate| fate.size).sum());
            Count { packets: counted().count() as u64, bytes }
        };
        let by = |time: Option<u64>| time.is_some_and(|time| time <= now);
        let until = |time: Option<u64>| time.map_or(now, |time| time.min(now));
        let there = || fates.iter().filter(|fate| fate.arrived <= now && !fate.dropped);
        Self {
            arrived: count(&|_| true),
            dropped: count(&|fate| fate.dropped),
            transmitted: count(&|fate| by(fate.leaves)),
            delivered: count(&|fate| by(fate.reaches)),
            waiting: count(&|fate| !fate.dropped && !by(fate.begins)),
            in_service: count(&|fate| by(fate.begins) && !by(fate.leaves)),
            propagating: count(&|fate| by(fate.leaves) && !by(fate.reaches)),
            busy: there().map(|fate| until(fate.leaves) - until(fate.begins)).sum(),
            capacity: link.could(now),
            waiting_area: there().map(|fate| until(fate.begins) - fate.arrived).sum(),
        }
    }

    /// What a link of the library tells; busy time as here, where that is told roughly and agrees.
    pub(super) fn told(counters: &LinkCounters, anew: &Self, link: &Described) -> Self {
        let rough = link.steps.is_empty() && matches!(link.gate, Gate::Open);
        let most = match (&link.trace, rough) {
            (Some(_), _) => u64::MAX,
            (_, true) => 1 + anew.arrived.packets,
            _ => 0,
        };
        let busy = counters.busy.as_nanos();
        Self {
            arrived: counters.arrived,
            dropped: counters.dropped_total(),
            transmitted: counters.transmitted,
            delivered: counters.delivered,
            waiting: counters.waiting,
            in_service: counters.in_service,
            propagating: counters.propagating,
            busy: if busy.abs_diff(anew.busy) <= most { anew.busy } else { busy },
            capacity: counters.capacity.get(),
            waiting_area: counters.waiting_area,
        }
    }
}
