//! One tin of CAKE: its flows, hashed into sets of eight queues, served by DRR++ with a part of a quantum for each flow of a
//! busy host, and a COBALT law in each (Piece of CAKE, 2018). Which tin is served, and how fast, is decided in
//! `mod.rs`.
//!
//! Two departures from the version in Linux, where memory and work are bounded otherwise: a queue that has run empty is
//! forgotten when somebody asks for it rather than step by step, and hosts are counted exactly, not in a table of 1024. And a
//! third: while nothing at all waits, Linux asks no queue, so that the law of a flow that is alone, with a packet at a time,
//! never hears that its queue is empty, and BLUE keeps for good what one overflow left. Here an idle tin counts as empty, as
//! an idle link does in BLUE (Feng et al., 1999).

use std::collections::VecDeque;

use tailback_core::{BitRate, Bytes, DropReason, Kind, Packet, QueueCx, Stream, Time};

use super::clock::Clock;
use super::cobalt::{Cobalt, Constants};
use super::settings::{AckFilter, Isolation};
use crate::fair::shares::FlowMap;
use crate::ring::Ring;

/// Queues in a tin.
pub(super) const QUEUES: u32 = 1024;
/// Queues in which a flow may be, before it has to share one.
const WAYS: u32 = 8;

/// What is noted beside a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) arrived: Time,
    /// Bytes on the line.
    pub(super) length: u64,
}

/// The two hosts of a packet, from and to.
pub(super) type Hosts = (u32, u32);

/// Where a queue stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// In no list.
    #[default]
    Nowhere,
    /// Among the new ones.
    Sparse,
    /// Among the old ones, since it owes, but empty when it came there.
    Waiting,
    /// Among the old ones.
    Bulk,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    ring: Ring<Stamp>,
    /// Whose it is, or was last.
    key: Option<u64>,
    credit: i64,
    place: Place,
    hosts: Hosts,
    law: Cobalt,
    /// Since when nothing waits.
    emptied: Time,
}

/// The queues of a tin, in sets of which each is made with its first packet: most tins see few flows.
#[derive(Clone, Debug, Default)]
struct Queues(Vec<Option<Box<Set>>>);

/// Queues in which a flow may be.
type Set = [Queue; WAYS as usize];

impl Queues {
    /// Makes the set in which this queue is, if there is none.
    fn ready(&mut self, index: u32) {
        if self.0.is_empty() {
            self.0.resize_with((QUEUES / WAYS) as usize, || None);
        }
        self.0[(index / WAYS) as usize].get_or_insert_default();
    }

    fn get(&self, index: u32) -> Option<&Queue> {
        let set = self.0.get((index / WAYS) as usize)?.as_ref()?;
        Some(&set[(index % WAYS) as usize])
    }

    /// A queue of a set that is made.
    #[inline]
    fn at(&mut self, index: u32) -> &mut Queue {
        let set = self.0[(index / WAYS) as usize].as_mut().expect("a set that is made");
        &mut set[(index % WAYS) as usize]
    }
}

/// How many bulk flows each host has, by sending and by receiving host.
#[derive(Clone, Debug, Default)]
struct Busy {
    from: FlowMap<u32>,
    to: FlowMap<u32>,
    /// All of them.
    flows: u32,
}

impl Busy {
    fn add(&mut self, hosts: Hosts) {
        self.flows += 1;
        *self.from.entry(hosts.0).or_default() += 1;
        *self.to.entry(hosts.1).or_default() += 1;
    }

    fn remove(&mut self, hosts: Hosts) {
        self.flows -= 1;
        for (map, host) in [(&mut self.from, hosts.0), (&mut self.to, hosts.1)] {
            match map.get_mut(&host) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(map.remove(&host)),
            }
        }
    }

    /// Among how many flows a flow's quantum is divided.
    fn load(&self, hosts: Hosts, isolation: Isolation) -> i64 {
        let (by_source, by_destination) = isolation.of_hosts();
        let of = |asked: bool, map: &FlowMap<u32>, host| if asked { map.get(&host).copied() } else { None };
        let from = of(by_source, &self.from, hosts.0).unwrap_or(1);
        let to = of(by_destination, &self.to, hosts.1).unwrap_or(1);
        i64::from(from.max(to).max(1))
    }
}

/// One tin.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub(super) name: &'static str,
    /// Its schedule, where there is a rate.
    pub(super) clock: Option<Clock>,
    /// Bytes per turn of the tin, and what is left of them, where there is none.
    pub(super) turn: i64,
    pub(super) credit: i64,
    constants: Constants,
    /// Bytes per round and flow.
    quantum: i64,
    isolation: Isolation,
    /// Whether packets that are dropped count, and those that were since this was last asked, in bytes on the line.
    counts_drops: bool,
    dropped: u64,
    queues: Queues,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    busy: Busy,
    packets: u32,
}

impl Tin {
    pub(super) fn new(
        (name, turn): (&'static str, i64),
        clock: Option<Clock>,
        (constants, quantum): (Constants, i64),
        (isolation, counts_drops): (Isolation, bool),
    ) -> Self {
        Self {
            counts_drops,
            dropped: 0,
            name,
            clock,
            turn,
            credit: 0,
            constants,
            quantum,
            isolation,
            queues: Queues::default(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            busy: Busy::default(),
            packets: 0,
        }
    }

    pub(super) const fn packets(&self) -> u32 {
        self.packets
    }

    /// Keeps another rate from now on.
    pub(super) fn keep(&mut self, now: Time, rate: BitRate, (constants, quantum): (Constants, i64)) {
        let fresh = || {
            let mut clock = Clock::new(rate);
            clock.begin(now);
            clock
        };
        self.clock.get_or_insert_with(fresh).keep(rate);
        (self.constants, self.quantum) = (constants, quantum);
    }

    /// Bytes on the line that were dropped since this was last asked; 0 where they do not count.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// A packet of `length` bytes on the line leaves, in this tin's turn.
    pub(super) fn charge(&mut self, now: Time, length: u64) {
        self.credit -= length.cast_signed();
        self.charge_clock(now, length);
    }

    fn charge_clock(&mut self, now: Time, length: u64) {
        if let Some(clock) = &mut self.clock {
            clock.charge_tin(now, length);
        }
    }

    /// A packet is dropped, whoever's turn it is: it takes the line's time where that counts, and no part of a turn, as in Linux
    /// (`cake_drop`, and the filter in `cake_enqueue`).
    fn count_dropped(&mut self, now: Time, length: u64) {
        if self.counts_drops {
            self.charge_clock(now, length);
            self.dropped += length;
        }
    }

    /// Whether no flow stands in a list.
    pub(super) fn is_idle(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    /// How many flows are among the new ones, and among the old ones.
    pub(super) fn flows(&self) -> (usize, usize) {
        (self.new.len(), self.old.len())
    }

    /// The queues with packets, in the order of their numbers: all stand in a list.
    pub(super) fn waiting(&self) -> Vec<u32> {
        let listed = self.new.iter().chain(&self.old).copied();
        let mut waiting: Vec<u32> = listed.filter(|queue| self.length(*queue) > Bytes::ZERO).collect();
        waiting.sort_unstable();
        waiting
    }

    /// The bytes that wait in a queue.
    pub(super) fn length(&self, queue: u32) -> Bytes {
        self.queues.get(queue).map_or(Bytes::ZERO, |queue| queue.ring.bytes())
    }

    fn queue(&mut self, index: u32) -> &mut Queue {
        self.queues.at(index)
    }

    /// Whether another flow may have this queue.
    fn is_free(&mut self, index: u32, now: Time) -> bool {
        let constants = self.constants;
        let queue = self.queue(index);
        if queue.place != Place::Nowhere
            || now.since(queue.emptied) < constants.interval && queue.key.is_some()
        {
            return false;
        }
        queue.law.rest(queue.emptied, now, &constants);
        queue.law.is_at_rest()
    }

    /// The queue of `key`, which hashes to `hash`: its own, or one of eight that is free, or the first of them.
    fn find(&mut self, now: Time, key: u64, hash: u64, hosts: Hosts) -> u32 {
        let home = (hash % u64::from(QUEUES)) as u32;
        self.queues.ready(home);
        let set = home - home % WAYS;
        let ways = (0..WAYS).map(|way| set + (home + way) % WAYS);
        if let Some(own) = ways.clone().find(|index| self.queue(*index).key == Some(key)) {
            return own;
        }
        if let Some(free) = ways.clone().find(|index| self.is_free(*index, now)) {
            let queue = self.queue(free);
            (queue.key, queue.law) = (Some(key), Cobalt::default());
            return free;
        }
        // All are taken: two flows share one, and it counts for the host of the newer.
        let queue = self.queues.at(home);
        let before = std::mem::replace(&mut queue.hosts, hosts);
        queue.key = Some(key);
        if queue.place == Place::Bulk {
            self.busy.remove(before);
            self.busy.add(hosts);
        }
        home
    }

    /// Takes a packet in; its queue, to be enlisted.
    pub(super) fn push(
        &mut self,
        packet: Packet,
        stamp: Stamp,
        (key, hash): (u64, u64),
        hosts: Hosts,
    ) -> u32 {
        let now = stamp.arrived;
        if let Some(clock) = self.clock.as_mut().filter(|_| self.packets == 0) {
            clock.begin(now);
        }
        let index = self.find(now, key, hash, hosts);
        let constants = self.constants;
        let was_idle = self.packets == 0;
        let queue = self.queues.at(index);
        queue.ring.push(packet, stamp);
        self.packets += 1;
        let may_rest = match queue.place {
            Place::Nowhere => true,
            Place::Waiting => false,
            Place::Sparse | Place::Bulk => was_idle,
        };
        if may_rest {
            queue.law.rest(queue.emptied, now, &constants);
        }
        index
    }

    /// Gives the queue that a packet has just joined its place among those to be served.
    pub(super) fn enlist(&mut self, index: u32, hosts: Hosts) {
        let queue = self.queues.at(index);
        match queue.place {
            Place::Nowhere => {
                queue.hosts = hosts;
                queue.credit = self.quantum / self.busy.load(hosts, self.isolation);
                queue.place = Place::Sparse;
                self.new.push_back(index);
            }
            Place::Waiting => {
                queue.place = Place::Bulk;
                self.busy.add(queue.hosts);
            }
            Place::Sparse | Place::Bulk => {}
        }
    }

    /// Takes out the acknowledgement that the newest packet of this queue makes superfluous, if there is one (tc-cake,
    /// `ack-filter`). Such that say more than a number stay.
    pub(super) fn filter(&mut self, now: Time, index: u32, filter: AckFilter) -> Option<Packet> {
        let queue = self.queues.at(index);
        let older = queue.ring.len().checked_sub(1).filter(|older| *older > 0)?;
        let newest = queue.ring.iter().nth(older)?.0;
        if filter == AckFilter::Off || newest.kind() != Kind::Ack {
            return None;
        }
        let (mut eligible, mut found) = (None, false);
        for (place, (packet, _)) in queue.ring.iter().take(older).enumerate() {
            if packet.flow != newest.flow || packet.kind() != Kind::Ack {
                continue;
            }
            // The last one before an echo begins or ends tells when that was.
            if eligible.is_some_and(|(_, echo)| echo != packet.ecn_echo()) {
                (eligible, found) = (None, false);
            }
            if packet.annex.is_some() || packet.rho() || packet.eta() || packet.number >= newest.number {
                continue;
            }
            if eligible.is_some() {
                found = true;
                break;
            }
            eligible = Some((place, packet.ecn_echo()));
        }
        let (place, echo) = eligible?;
        let alone = filter == AckFilter::Aggressive && place + 1 == older && echo == newest.ecn_echo();
        if !found && !alone {
            return None;
        }
        self.packets -= 1;
        let (packet, stamp) = queue.ring.remove(place)?;
        self.count_dropped(now, stamp.length);
        Some(packet)
    }

    /// Drops the oldest packet of a queue because the buffer is full.
    pub(super) fn drop_oldest(&mut self, now: Time, index: u32) -> Option<Packet> {
        let queue = self.queues.at(index);
        let (packet, stamp) = queue.ring.pop()?;
        queue.law.overflowed(now, &self.constants);
        self.packets -= 1;
        self.count_dropped(now, stamp.length);
        Some(packet)
    }

    /// What a flow may send in a round; the fraction of a byte by chance, so that it is not lost every time.
    fn allowance(&self, hosts: Hosts, rng: &mut Stream) -> i64 {
        match self.busy.load(hosts, self.isolation) {
            1 => self.quantum,
            load => (self.quantum + rng.below(load.unsigned_abs()).cast_signed()) / load,
        }
    }

    /// The next packet, its bytes on the line, and its queue; `None` where a list had but an empty queue, which has left it.
    pub(super) fn take(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<(Packet, u64, u32)> {
        'flows: loop {
            let was_new = !self.new.is_empty();
            let index = *if was_new { self.new.front()? } else { self.old.front()? };
            let queue = self.queues.at(index);
            if queue.credit <= 0 {
                // Who owes is no sparse flow.
                if queue.place == Place::Sparse {
                    queue.place = if queue.ring.is_empty() { Place::Waiting } else { Place::Bulk };
                    if queue.place == Place::Bulk {
                        self.busy.add(queue.hosts);
                    }
                }
                let hosts = queue.hosts;
                let more = self.allowance(hosts, cx.rng);
                self.queue(index).credit += more;
                self.leave(was_new);
                self.old.push_back(index);
                continue;
            }
            while let Some((mut packet, stamp)) = queue.ring.pop() {
                self.packets -= 1;
                let bulk = if self.counts_drops { self.busy.flows } else { 0 };
                let drop = queue.law.judge(now, stamp.arrived, &mut packet, (&self.constants, bulk), cx);
                // The last one may be marked, but is not dropped.
                if !drop || queue.ring.is_empty() {
                    queue.credit -= stamp.length.cast_signed();
                    queue.emptied = now;
                    return Some((packet, stamp.length, index));
                }
                cx.drop(packet, DropReason::Early);
                if self.counts_drops {
                    // It was this flow's turn: who owes now waits for the next.
                    queue.credit -= stamp.length.cast_signed();
                    self.credit -= stamp.length.cast_signed();
                    self.count_dropped(now, stamp.length);
                    continue 'flows;
                }
            }
            if queue.place == Place::Bulk {
                self.busy.remove(queue.hosts);
            }
            (queue.place, queue.emptied) = (Place::Nowhere, now);
            self.leave(was_new);
            return None;
        }
    }

    fn leave(&mut self, was_new: bool) {
        let list = if was_new { &mut self.new } else { &mut self.old };
        list.pop_front();
    }
}

#[cfg(test)]
mod tests;
