//! The queues of many flows: who has how much waiting. Which flow is served next, and which loses when the buffer is
//! full, is decided elsewhere.
//!
//! A flow has a slot while it has packets or a scheduler holds it, and gives it back after.

use tailback_core::{Backlog, Bytes, Packet};

use super::index::Index;
use super::pool::{Pool, Queue};
use super::shares::{Classifier, Share};

/// One flow or class that is known at the moment. Its fields lie in memory as they stand here, so that all but the
/// packets share a line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Slot<F, N> {
    key: u32,
    packets: u32,
    bytes: Bytes,
    weight: f64,
    holds: u32,
    rank: Rank,
    listed: bool,
    /// What the scheduler keeps for the flow.
    pub state: F,
    queue: Queue<N>,
}

/// Where a flow stands in the ranking of queues by length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rank {
    /// It is in the ranking.
    pub(super) listed: bool,
    /// It has grown since the ranking was brought up to date.
    pub(super) grown: bool,
}

impl<F, N> Slot<F, N> {
    /// Waiting packets.
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// Waiting bytes.
    pub const fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// The flow's weight.
    pub const fn weight(&self) -> f64 {
        self.weight
    }
}

/// All queues, with a note `N` beside each packet and a state `F` for each flow.
#[derive(Clone, Debug)]
pub struct Flows<F, N> {
    classifier: Classifier,
    index: Index,
    slots: Vec<Slot<F, N>>,
    free: Vec<u32>,
    pool: Pool<N>,
    backlog: Backlog,
}

/// More slots than this are given back when no flow is left.
const KEEP: usize = 1024;

impl<F: Default, N: Copy + Default> Flows<F, N> {
    /// No flows yet.
    pub fn new(shares: &[Share]) -> Self {
        Self {
            classifier: Classifier::new(shares),
            index: Index::default(),
            slots: Vec::new(),
            free: Vec::new(),
            pool: Pool::new(),
            backlog: Backlog::default(),
        }
    }

    /// The slot of the flow or class that `packet` belongs to, made if there is none.
    #[inline]
    pub fn slot_of(&mut self, packet: &Packet) -> u32 {
        let key = self.classifier.key(packet);
        match self.index.get(key) {
            Some(slot) => slot,
            None => self.open(key, self.classifier.weight(packet)),
        }
    }

    /// The slot of the queue that the caller calls `key`, with weight 1, made if there is none.
    #[inline]
    pub fn slot_of_key(&mut self, key: u32) -> u32 {
        match self.index.get(key) {
            Some(slot) => slot,
            None => self.open(key, 1.0),
        }
    }

    fn open(&mut self, key: u32, weight: f64) -> u32 {
        let fresh = Slot {
            key,
            packets: 0,
            bytes: Bytes::ZERO,
            weight,
            holds: 0,
            rank: Rank::default(),
            listed: false,
            state: F::default(),
            queue: Queue::new(),
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = fresh;
            slot
        } else {
            self.slots.push(fresh);
            (self.slots.len() - 1) as u32
        };
        self.index.insert(key, slot);
        slot
    }

    /// Appends a packet to the flow's queue.
    #[inline]
    pub fn push(&mut self, slot: u32, packet: Packet, note: N) {
        let flow = &mut self.slots[slot as usize];
        flow.packets += 1;
        flow.bytes += packet.size();
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
        self.pool.push(&mut flow.queue, packet, note);
    }

    /// Takes the flow's oldest packet.
    #[inline]
    pub fn pop(&mut self, slot: u32) -> Option<(Packet, N)> {
        let taken = self.pool.pop(&mut self.slots[slot as usize].queue)?;
        self.uncount(slot, &taken.0);
        Some(taken)
    }

    /// Takes the flow's newest packet.
    pub fn pop_newest(&mut self, slot: u32) -> Option<(Packet, N)> {
        let taken = self.pool.pop_newest(&mut self.slots[slot as usize].queue)?;
        self.uncount(slot, &taken.0);
        Some(taken)
    }

    fn uncount(&mut self, slot: u32, packet: &Packet) {
        let flow = &mut self.slots[slot as usize];
        flow.packets -= 1;
        flow.bytes -= packet.size();
        self.backlog.packets -= 1;
        self.backlog.bytes -= packet.size();
    }

    /// The flow's oldest packet.
    #[inline]
    pub fn head(&self, slot: u32) -> Option<(&Packet, N)> {
        self.slots[slot as usize].queue.head()
    }

    /// The flow's newest packet.
    pub fn newest(&self, slot: u32) -> Option<(&Packet, N)> {
        self.pool.newest(&self.slots[slot as usize].queue)
    }

    /// Keeps the slot although its queue may be empty, until [`Flows::unhold`] undoes it.
    #[inline]
    pub fn hold(&mut self, slot: u32) {
        self.slots[slot as usize].holds += 1;
    }

    /// Undoes one [`Flows::hold`], and gives the slot back if nothing needs it.
    #[inline]
    pub fn unhold(&mut self, slot: u32) {
        let flow = &mut self.slots[slot as usize];
        flow.holds -= 1;
        if flow.packets == 0 && flow.holds == 0 {
            self.close(slot);
        }
    }

    fn close(&mut self, slot: u32) {
        self.index.remove(self.slots[slot as usize].key);
        self.free.push(slot);
        if self.free.len() == self.slots.len() && self.slots.len() > KEEP {
            self.slots = Vec::new();
            self.free = Vec::new();
            self.index = Index::default();
        }
    }

    /// The slot at `slot`, which must be in use.
    #[inline]
    pub fn get(&self, slot: u32) -> &Slot<F, N> {
        &self.slots[slot as usize]
    }

    /// The scheduler's state of `slot`, to change it.
    #[inline]
    pub fn state(&mut self, slot: u32) -> &mut F {
        &mut self.slots[slot as usize].state
    }

    /// Whether `slot` stands in the scheduler's ring or heap.
    #[inline]
    pub fn is_listed(&self, slot: u32) -> bool {
        self.slots[slot as usize].listed
    }

    /// Holds the slot as standing in the scheduler's ring or heap.
    #[inline]
    pub fn list(&mut self, slot: u32) {
        self.slots[slot as usize].listed = true;
        self.hold(slot);
    }

    /// Undoes [`Flows::list`].
    #[inline]
    pub fn unlist(&mut self, slot: u32) {
        self.slots[slot as usize].listed = false;
        self.unhold(slot);
    }

    /// Where `slot` stands in the ranking; `None` where there is no such slot any more.
    #[inline]
    pub(super) fn rank(&mut self, slot: u32) -> Option<&mut Rank> {
        self.slots.get_mut(slot as usize).map(|flow| &mut flow.rank)
    }

    /// All that waits.
    #[inline]
    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// How many flows have a slot: those with packets and those that a scheduler holds.
    pub fn active(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
