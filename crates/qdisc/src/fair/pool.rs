//! Waiting packets of many flows: a few in each flow's own queue, the rest of all flows in one slab, linked per flow.
//! Which queue a packet belongs to is not known here.
//!
//! With many flows, each has little waiting, and every touch of another line of memory costs more than all arithmetic
//! together: so the oldest packets of a flow lie beside its other state. Flows with much waiting are few.

use tailback_core::{Bytes, FlowId, Kind, Packet};

/// No packet, no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// How many packets lie within a queue itself.
const NEAR: usize = 2;

/// One flow's queue. The order of its fields is that of memory: what every call needs comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Queue<N> {
    first: u8,
    count: u8,
    /// Whether the list of later packets is not empty.
    far: bool,
    /// The oldest packets, as a ring.
    near: [(Packet, N); NEAR],
    /// The list of later packets in the pool; empty while there is room near.
    head: u32,
    tail: u32,
}

impl<N: Copy + Default> Queue<N> {
    pub(crate) fn new() -> Self {
        let nothing = Packet::new(Kind::Data, FlowId(0), 0, Bytes::ZERO);
        Self { first: 0, count: 0, far: false, near: [(nothing, N::default()); NEAR], head: NONE, tail: NONE }
    }

    #[inline]
    fn at(&self, position: u8) -> usize {
        usize::from(self.first + position) % NEAR
    }

    /// The oldest packet.
    #[inline]
    pub(crate) fn head(&self) -> Option<(&Packet, N)> {
        let (packet, note) = &self.near[self.at(0)];
        (self.count > 0).then_some((packet, *note))
    }
}

#[derive(Clone, Debug)]
struct Node<N> {
    packet: Packet,
    note: N,
    next: u32,
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

impl<N: Copy + Default> Pool<N> {
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, used: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, queue: &mut Queue<N>, packet: Packet, note: N) {
        if usize::from(queue.count) < NEAR {
            queue.near[queue.at(queue.count)] = (packet, note);
            queue.count += 1;
        } else {
            self.push_far(queue, packet, note);
        }
    }

    fn push_far(&mut self, queue: &mut Queue<N>, packet: Packet, note: N) {
        let fresh = Node { packet, note, next: NONE, previous: queue.tail };
        let index = if self.free == NONE {
            self.nodes.push(fresh);
            u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 packets wait at once")
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = fresh;
            index
        };
        match self.nodes.get_mut(queue.tail as usize) {
            Some(tail) => tail.next = index,
            None => queue.head = index,
        }
        queue.tail = index;
        queue.far = true;
        self.used += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self, queue: &mut Queue<N>) -> Option<(Packet, N)> {
        if queue.count == 0 {
            return None;
        }
        let place = queue.at(0);
        let taken = queue.near[place];
        queue.first = queue.at(1) as u8;
        if queue.far {
            // The place just left is the one behind the newest of those near.
            queue.near[place] = self.pop_far(queue);
        } else {
            queue.count -= 1;
        }
        Some(taken)
    }

    fn pop_far(&mut self, queue: &mut Queue<N>) -> (Packet, N) {
        let index = queue.head;
        let node = &self.nodes[index as usize];
        let taken = (node.packet, node.note);
        if index == queue.tail {
            (queue.head, queue.tail, queue.far) = (NONE, NONE, false);
        } else {
            queue.head = node.next;
        }
        self.release(index);
        taken
    }

    pub(crate) fn pop_newest(&mut self, queue: &mut Queue<N>) -> Option<(Packet, N)> {
        if !queue.far {
            queue.count = queue.count.checked_sub(1)?;
            return Some(queue.near[queue.at(queue.count)]);
        }
        let index = queue.tail;
        let node = &self.nodes[index as usize];
        let taken = (node.packet, node.note);
        if index == queue.head {
            (queue.head, queue.tail, queue.far) = (NONE, NONE, false);
        } else {
            queue.tail = node.previous;
        }
        self.release(index);
        Some(taken)
    }

    pub(crate) fn newest<'a>(&'a self, queue: &'a Queue<N>) -> Option<(&'a Packet, N)> {
        if let Some(node) = self.nodes.get(queue.tail as usize) {
            return Some((&node.packet, node.note));
        }
        let (packet, note) = &queue.near[queue.at(queue.count.checked_sub(1)?)];
        Some((packet, *note))
    }

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

    use super::*;

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
                    3 => prop_assert_eq!(plainly(pool.pop(queue)), plain.pop_front()),
                    _ => prop_assert_eq!(plainly(pool.pop_newest(queue)), plain.pop_back()),
                }
                let head = queue.head().map(|(packet, note)| (packet.number, note));
                prop_assert_eq!(head, plain.front().copied());
                let newest = pool.newest(queue).map(|(packet, note)| (packet.number, note));
                prop_assert_eq!(newest, plain.back().copied());
            }
        }
    }
}
