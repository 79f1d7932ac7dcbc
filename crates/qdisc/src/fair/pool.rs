//! Waiting packets of many flows in one slab, each flow's as a doubly linked list: no allocation per flow, and both
//! ends of a list can lose a packet. Which list a packet belongs to is not known here.

use tailback_core::Packet;

/// The index of a packet in the pool.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node<N> {
    packet: Packet,
    next: u32,
    previous: u32,
    note: N,
}

/// The slab.
#[derive(Clone, Debug)]
pub(crate) struct Pool<N> {
    nodes: Vec<Node<N>>,
    /// The first free node; free nodes are linked through `next`.
    free: u32,
    used: usize,
}

/// One list in the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE };
}

/// A slab of more nodes than this gives its memory back when it empties.
const KEEP: usize = 1024;

impl<N: Copy> Pool<N> {
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, used: 0 }
    }

    pub(crate) fn push(&mut self, list: &mut List, packet: Packet, note: N) {
        let fresh = Node { packet, next: NONE, previous: list.tail, note };
        let index = if self.free == NONE {
            self.nodes.push(fresh);
            u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 packets wait at once")
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = fresh;
            index
        };
        match self.nodes.get_mut(list.tail as usize) {
            Some(tail) => tail.next = index,
            None => list.head = index,
        }
        list.tail = index;
        self.used += 1;
    }

    pub(crate) fn pop(&mut self, list: &mut List) -> Option<(Packet, N)> {
        let index = list.head;
        let node = self.nodes.get(index as usize)?;
        let taken = (node.packet, node.note);
        list.head = node.next;
        match self.nodes.get_mut(list.head as usize) {
            Some(head) => head.previous = NONE,
            None => list.tail = NONE,
        }
        self.release(index);
        Some(taken)
    }

    pub(crate) fn pop_newest(&mut self, list: &mut List) -> Option<(Packet, N)> {
        let index = list.tail;
        let node = self.nodes.get(index as usize)?;
        let taken = (node.packet, node.note);
        list.tail = node.previous;
        match self.nodes.get_mut(list.tail as usize) {
            Some(tail) => tail.next = NONE,
            None => list.head = NONE,
        }
        self.release(index);
        Some(taken)
    }

    pub(crate) fn head(&self, list: List) -> Option<(&Packet, N)> {
        self.nodes.get(list.head as usize).map(|node| (&node.packet, node.note))
    }

    pub(crate) fn newest(&self, list: List) -> Option<(&Packet, N)> {
        self.nodes.get(list.tail as usize).map(|node| (&node.packet, node.note))
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
