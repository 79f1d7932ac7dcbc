//! Waiting packets of many flows in one slab, linked per flow. Which queue a packet belongs to is not known here.
//!
//! With many flows, every touch of another line of memory costs more than all arithmetic together. So places just
//! left are used first, being still at hand; and nothing is read of a queue's tail, only written, which nobody waits
//! for.

use std::hint::black_box;

use tailback_core::Packet;

/// No packet, no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Beside a packet of which nothing need be noted. Its alignment is that of the packets' places, so that none spans
/// two lines of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(32))]
pub struct Plain;

/// One flow's queue: where its oldest and its newest packet lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

#[derive(Clone, Debug)]
struct Node<N> {
    packet: Packet,
    note: N,
    next: u32,
    /// Of the oldest packet it may be anything.
    previous: u32,
}

/// The slab.
#[derive(Clone, Debug)]
pub(crate) struct Pool<N> {
    nodes: Vec<Node<N>>,
    /// The first free node; free nodes are linked through `next`.
    free: u32,
    used: usize,
}

/// A slab of more nodes than this gives its memory back when it empties.
const KEEP: usize = 1024;

impl<N: Copy> Pool<N> {
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, used: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, queue: &mut Queue, packet: Packet, note: N) {
        let fresh = Node { packet, note, next: NONE, previous: queue.tail };
        let index = self.free;
        let index = if let Some(node) = self.nodes.get_mut(index as usize) {
            self.free = node.next;
            *node = fresh;
            index
        } else {
            self.nodes.push(fresh);
            u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 packets wait at once")
        };
        match self.nodes.get_mut(queue.tail as usize) {
            Some(tail) => tail.next = index,
            None => queue.head = index,
        }
        queue.tail = index;
        self.used += 1;
    }

    /// Takes the oldest packet, if there is one, straight to where it goes: by way of the stack it would come in
    /// pieces that the processor cannot hand on together.
    #[inline]
    pub(crate) fn pop_into(&mut self, queue: &mut Queue, packet: &mut Packet, note: &mut N) {
        let index = queue.head;
        let Some(oldest) = self.nodes.get(index as usize) else { return };
        (*packet, *note) = (oldest.packet, oldest.note);
        queue.head = oldest.next;
        if queue.head == NONE {
            queue.tail = NONE;
        }
        self.release(index);
    }

    pub(crate) fn pop_newest(&mut self, queue: &mut Queue) -> Option<(Packet, N)> {
        let index = queue.tail;
        let node = self.nodes.get(index as usize)?;
        let taken = (node.packet, node.note);
        if index == queue.head {
            *queue = Queue::new();
        } else {
            queue.tail = node.previous;
            self.nodes[queue.tail as usize].next = NONE;
        }
        self.release(index);
        Some(taken)
    }

    /// The newest packet.
    pub(crate) fn newest(&self, queue: Queue) -> Option<(&Packet, N)> {
        self.nodes.get(queue.tail as usize).map(|node| (&node.packet, node.note))
    }

    /// Has the oldest packet fetched from memory.
    #[inline]
    pub(crate) fn fetch(&self, queue: Queue) {
        black_box(self.nodes.get(queue.head as usize).map(|node| node.next));
    }

    #[inline]
    fn release(&mut self, index: u32) {
        self.used -= 1;
        if self.used == 0 && self.nodes.len() > KEEP {
            self.nodes = Vec::new();
            self.free = NONE;
        } else {
            self.nodes[index as usize].next = self.free;
            self.free = index;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use tailback_core::{Bytes, FlowId, Kind};

    use super::*;

    const _: () = assert!(size_of::<Node<Plain>>() == 32, "two to a line of memory");

    proptest! {
        /// Two queues in one pool behave as two plain ones.
        #[test]
        fn queues_keep_their_order(steps in prop::collection::vec((0_usize..2, 0_u8..5), 1..400)) {
            let mut pool = Pool::new();
            let mut queues = [Queue::new(), Queue::new()];
            let mut plain: [VecDeque<(u64, u32)>; 2] = Default::default();
            for (number, (which, action)) in steps.into_iter().enumerate() {
                let (queue, plain) = (&mut queues[which], &mut plain[which]);
                let plainly = |taken: Option<(Packet, u32)>| taken.map(|(packet, note)| (packet.number, note));
                match action {
                    0..3 => {
                        let packet = Packet::new(Kind::Data, FlowId(0), number as u64, Bytes::ZERO);
                        pool.push(queue, packet, number as u32);
                        plain.push_back((number as u64, number as u32));
                    }
                    3 => {
                        let mut packet = Packet::new(Kind::Data, FlowId(0), u64::MAX, Bytes::ZERO);
                        let mut note = u32::MAX;
                        pool.pop_into(queue, &mut packet, &mut note);
                        let taken = plain.pop_front().unwrap_or((u64::MAX, u32::MAX));
                        prop_assert_eq!((packet.number, note), taken);
                    }
                    _ => prop_assert_eq!(plainly(pool.pop_newest(queue)), plain.pop_back()),
                }
                let newest = pool.newest(*queue).map(|(packet, note)| (packet.number, note));
                prop_assert_eq!(newest, plain.back().copied());
            }
        }
    }
}
