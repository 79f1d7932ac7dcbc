//! Waiting packets of many flows in one slab, linked per flow. Which queue a packet belongs to is not known here.
//!
//! With many flows, lines of memory that must be fetched cost more than all arithmetic together. So the links lie apart
//! from the packets: a packet that joins a queue needs the link of the one before, of which many share a line, and not
//! the packet before, which lies where nobody has looked for long. Places just left are used first, being still at hand.

use tailback_core::Packet;
use tailback_core::fetch::fetch_at;

/// No packet, no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Beside a packet of which nothing need be noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plain;

/// One flow's queue: where its oldest and its newest packet lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    oldest: u32,
    newest: u32,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self { oldest: NONE, newest: NONE }
    }

    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.newest == NONE
    }
}

/// A packet's place in its queue, and what is noted beside it.
#[derive(Clone, Copy, Debug)]
struct Link<N> {
    /// Of the newest packet it may be anything.
    next: u32,
    /// Of the oldest packet it may be anything.
    previous: u32,
    note: N,
}

/// The slab.
#[derive(Clone, Debug)]
pub(crate) struct Pool<N> {
    packets: Vec<Packet>,
    links: Vec<Link<N>>,
    /// The first free place; free places are linked through `next`.
    free: u32,
}

/// A slab of more places than this gives its memory back when it empties.
const KEEP: usize = 1024;

impl<N: Copy> Pool<N> {
    pub(crate) const fn new() -> Self {
        Self { packets: Vec::new(), links: Vec::new(), free: NONE }
    }

    #[inline]
    pub(crate) fn push(&mut self, queue: &mut Queue, packet: Packet, note: N) {
        let place = self.free;
        let previous = std::mem::replace(&mut queue.newest, place);
        if let Some(link) = self.links.get_mut(place as usize) {
            self.free = link.next;
            (link.previous, link.note) = (previous, note);
            self.packets[place as usize] = packet;
        } else {
            queue.newest = self.grow(packet, Link { next: NONE, previous, note });
        }
        if let Some(link) = self.links.get_mut(previous as usize) {
            link.next = queue.newest;
        } else {
            queue.oldest = queue.newest;
        }
    }

    /// Makes a place; rare enough not to stand where packets join.
    #[inline(never)]
    fn grow(&mut self, packet: Packet, link: Link<N>) -> u32 {
        let place = u32::try_from(self.links.len()).expect("fewer than 2^32 packets wait at once");
        self.links.push(link);
        self.packets.push(packet);
        place
    }

    /// Takes the oldest packet out of its queue, if there is one. It stays in its place until that is given back.
    #[inline]
    pub(crate) fn take_oldest(&mut self, queue: &mut Queue) -> Option<u32> {
        let place = queue.oldest;
        let link = self.links.get(place as usize)?;
        if place == queue.newest {
            *queue = Queue::new();
        } else {
            queue.oldest = link.next;
        }
        Some(place)
    }

    /// Likewise the newest.
    pub(crate) fn take_newest(&mut self, queue: &mut Queue) -> Option<u32> {
        let place = queue.newest;
        let link = self.links.get(place as usize)?;
        if place == queue.oldest {
            *queue = Queue::new();
        } else {
            queue.newest = link.previous;
        }
        Some(place)
    }

    /// The packet in a place.
    #[inline]
    pub(crate) fn packet(&self, place: u32) -> &Packet {
        &self.packets[place as usize]
    }

    /// What is noted beside the packet in a place.
    #[inline]
    pub(crate) fn note(&self, place: u32) -> N {
        self.links[place as usize].note
    }

    /// The oldest packet.
    #[inline]
    pub(crate) fn head(&self, queue: Queue) -> Option<&Packet> {
        self.packets.get(queue.oldest as usize)
    }

    /// What is noted beside the oldest packet.
    #[inline]
    pub(crate) fn head_note(&self, queue: Queue) -> Option<N> {
        self.links.get(queue.oldest as usize).map(|link| link.note)
    }

    /// What is noted beside the newest packet.
    pub(crate) fn newest_note(&self, queue: Queue) -> Option<N> {
        self.links.get(queue.newest as usize).map(|link| link.note)
    }

    /// How many packets have waited at once, since memory was last given back.
    pub(crate) const fn places(&self) -> usize {
        self.links.len()
    }

    /// All packets in queues, in no order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        let mut is_free = vec![false; self.places()];
        let mut free = self.free;
        while let Some(link) = self.links.get(free as usize) {
            is_free[free as usize] = true;
            free = link.next;
        }
        self.packets.iter().zip(is_free).filter(|(_, is_free)| !is_free).map(|(packet, _)| packet)
    }

    /// Has the oldest packet fetched from memory, and what is noted beside it.
    #[inline]
    pub(crate) fn fetch(&self, queue: Queue) {
        fetch_at::<1, _>(&self.packets, queue.oldest as usize);
        fetch_at::<1, _>(&self.links, queue.oldest as usize);
    }

    /// Gives a place back, whose packet has been taken out of its queue.
    #[inline]
    pub(crate) fn give_back(&mut self, place: u32) -> Packet {
        self.links[place as usize].next = self.free;
        self.free = place;
        self.packets[place as usize]
    }

    /// Gives much memory back, once no packet waits.
    #[inline]
    pub(crate) fn give_memory_back(&mut self) {
        if self.links.len() > KEEP {
            *self = Self::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use tailback_core::{Bytes, FlowId, Kind};

    use super::*;

    const _: () = assert!(size_of::<Link<Plain>>() == 8, "eight to a line of memory");

    proptest! {
        /// Two queues in one pool behave as two plain ones.
        #[test]
        fn queues_keep_their_order(steps in prop::collection::vec((0_usize..2, 0_u8..5), 1..400)) {
            let mut pool = Pool::new();
            let mut queues = [Queue::new(), Queue::new()];
            let mut plain: [VecDeque<(u64, u32)>; 2] = Default::default();
            for (number, (which, action)) in steps.into_iter().enumerate() {
                let (queue, plain) = (&mut queues[which], &mut plain[which]);
                let leave = |pool: &mut Pool<u32>, place| {
                    let note = pool.note(place);
                    (pool.give_back(place).number, note)
                };
                match action {
                    0..3 => {
                        let packet = Packet::new(Kind::Data, FlowId(0), number as u64, Bytes::ZERO);
                        pool.push(queue, packet, number as u32);
                        plain.push_back((number as u64, number as u32));
                    }
                    3 => {
                        let taken = pool.take_oldest(queue).map(|place| leave(&mut pool, place));
                        prop_assert_eq!(taken, plain.pop_front());
                    }
                    _ => {
                        let taken = pool.take_newest(queue).map(|place| leave(&mut pool, place));
                        prop_assert_eq!(taken, plain.pop_back());
                    }
                }
                prop_assert_eq!(pool.head(*queue).map(|packet| packet.number), plain.front().map(|head| head.0));
                prop_assert_eq!(pool.head_note(*queue), plain.front().map(|head| head.1));
                prop_assert_eq!(pool.newest_note(*queue), plain.back().map(|newest| newest.1));
            }
        }
    }
}
