//! The queues of many flows: who has how much waiting. Which flow is served next, and which loses when the buffer is
//! full, is decided elsewhere.
//!
//! A flow has a slot while it has packets or a scheduler holds it, and gives it back after. A slot is half a line of
//! memory where the scheduler keeps no more than a number for it: with many flows, fetching it is what costs.

use std::hint::black_box;

use tailback_core::{Backlog, Bytes, Packet};

use super::index::Index;
use super::pool::{Pool, Queue};
use super::shares::{Classifier, Share};

/// One flow or class that is known at the moment.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub struct Slot<F> {
    bytes: Bytes,
    queue: Queue,
    packets: u32,
    /// Which weight it has.
    share: u16,
    holds: u8,
    flags: u8,
    /// What the scheduler keeps for the flow.
    pub state: F,
}

const _: () = assert!(size_of::<Slot<f64>>() == 32, "two to a line of memory");

/// It stands in the scheduler's ring or heap.
const LISTED: u8 = 1;
/// It has grown since the ranking by length was brought up to date.
const GROWN: u8 = 2;
/// It is in the ranking by length.
const RANKED: u8 = 4;
/// The scheduler's own.
const MARKED: u8 = 8;

impl<F> Slot<F> {
    /// Waiting packets.
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// Waiting bytes.
    pub const fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Whether the slot stands in the scheduler's ring or heap.
    pub const fn is_listed(&self) -> bool {
        self.flags & LISTED != 0
    }

    /// Whether the scheduler has put its mark on the slot.
    pub const fn is_marked(&self) -> bool {
        self.flags & MARKED != 0
    }
}

/// All queues, with a note `N` beside each packet and a state `F` for each flow.
#[derive(Clone, Debug)]
pub struct Flows<F, N> {
    classifier: Classifier,
    index: Index,
    slots: Vec<Slot<F>>,
    /// The key of each slot, asked for only when the slot is given back.
    keys: Vec<u32>,
    free: Vec<u32>,
    pool: Pool<N>,
    backlog: Backlog,
}

/// What to fetch of a flow, each thing needing those before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fetch {
    /// The slot.
    Slot,
    /// Its oldest packet.
    Head,
    /// The packet after that, which will be the next to be given a place.
    Second,
}

/// More slots than this are given back when no flow is left.
const KEEP: usize = 1024;

impl<F: Default, N: Copy> Flows<F, N> {
    /// No flows yet.
    pub fn new(shares: &[Share]) -> Self {
        Self {
            classifier: Classifier::new(shares),
            index: Index::default(),
            slots: Vec::new(),
            keys: Vec::new(),
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
            None => self.open(key, self.classifier.share(packet)),
        }
    }

    /// The slot of the queue that the caller calls `key`, with weight 1, made if there is none.
    #[inline]
    pub fn slot_of_key(&mut self, key: u32) -> u32 {
        match self.index.get(key) {
            Some(slot) => slot,
            None => self.open(key, Classifier::NO_SHARE),
        }
    }

    fn open(&mut self, key: u32, share: u16) -> u32 {
        let fresh = Slot {
            bytes: Bytes::ZERO,
            queue: Queue::new(),
            packets: 0,
            share,
            holds: 0,
            flags: 0,
            state: F::default(),
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = fresh;
            self.keys[slot as usize] = key;
            slot
        } else {
            self.slots.push(fresh);
            self.keys.push(key);
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
        let flow = &mut self.slots[slot as usize];
        let taken = self.pool.pop(&mut flow.queue)?;
        Self::uncount(flow, &mut self.backlog, &taken.0);
        Some(taken)
    }

    /// Takes the flow's newest packet.
    pub fn pop_newest(&mut self, slot: u32) -> Option<(Packet, N)> {
        let flow = &mut self.slots[slot as usize];
        let taken = self.pool.pop_newest(&mut flow.queue)?;
        Self::uncount(flow, &mut self.backlog, &taken.0);
        Some(taken)
    }

    #[inline]
    fn uncount(flow: &mut Slot<F>, backlog: &mut Backlog, packet: &Packet) {
        flow.packets -= 1;
        flow.bytes -= packet.size();
        backlog.packets -= 1;
        backlog.bytes -= packet.size();
    }

    /// The flow's oldest packet.
    #[inline]
    pub fn head(&self, slot: u32) -> Option<(&Packet, N)> {
        self.pool.head(self.slots[slot as usize].queue)
    }

    /// The flow's newest packet.
    pub fn newest(&self, slot: u32) -> Option<(&Packet, N)> {
        self.pool.newest(self.slots[slot as usize].queue)
    }

    /// The flow's weight.
    #[inline]
    pub fn weight(&self, slot: u32) -> f64 {
        self.classifier.weight_of(self.slots[slot as usize].share)
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
        self.index.remove(self.keys[slot as usize]);
        self.free.push(slot);
        if self.free.len() == self.slots.len() && self.slots.len() > KEEP {
            self.slots = Vec::new();
            self.keys = Vec::new();
            self.free = Vec::new();
            self.index = Index::default();
        }
    }

    /// The slot at `slot`, which must be in use.
    #[inline]
    pub fn get(&self, slot: u32) -> &Slot<F> {
        &self.slots[slot as usize]
    }

    /// Has the slot fetched from memory, or what is waiting in it if it has been fetched before, ahead of its use.
    #[inline]
    pub(super) fn fetch(&self, slot: u32, what: Fetch) {
        let Some(flow) = self.slots.get(slot as usize) else { return };
        match what {
            Fetch::Slot => drop(black_box(flow.packets)),
            Fetch::Head => self.pool.fetch_head(flow.queue),
            Fetch::Second => self.pool.fetch_second(flow.queue),
        }
    }

    /// The scheduler's state of `slot`, to change it.
    #[inline]
    pub fn state(&mut self, slot: u32) -> &mut F {
        &mut self.slots[slot as usize].state
    }

    #[inline]
    fn set(&mut self, slot: u32, flag: u8, on: bool) {
        let flags = &mut self.slots[slot as usize].flags;
        *flags = if on { *flags | flag } else { *flags & !flag };
    }

    /// Holds the slot as standing in the scheduler's ring or heap.
    #[inline]
    pub fn list(&mut self, slot: u32) {
        self.set(slot, LISTED, true);
        self.hold(slot);
    }

    /// Undoes [`Flows::list`].
    #[inline]
    pub fn unlist(&mut self, slot: u32) {
        self.set(slot, LISTED, false);
        self.unhold(slot);
    }

    /// Holds the slot under a mark whose meaning is the scheduler's own.
    #[inline]
    pub fn mark(&mut self, slot: u32) {
        self.set(slot, MARKED, true);
        self.hold(slot);
    }

    /// Undoes [`Flows::mark`].
    #[inline]
    pub fn unmark(&mut self, slot: u32) {
        self.set(slot, MARKED, false);
        self.unhold(slot);
    }

    /// Notes that `slot` has grown; `false` where that was known already.
    #[inline]
    pub(super) fn note_growth(&mut self, slot: u32) -> bool {
        let flags = &mut self.slots[slot as usize].flags;
        let fresh = *flags & GROWN == 0;
        *flags |= GROWN;
        fresh
    }

    /// Forgets that `slot` has grown; `false` where it has not, or is no slot any more.
    pub(super) fn take_growth(&mut self, slot: u32) -> bool {
        let Some(flow) = self.slots.get_mut(slot as usize) else { return false };
        let grown = flow.flags & GROWN != 0;
        flow.flags &= !GROWN;
        grown
    }

    /// Notes whether `slot` stands in the ranking by length, and tells whether it did.
    #[inline]
    pub(super) fn set_ranked(&mut self, slot: u32, on: bool) -> bool {
        let was = self.slots[slot as usize].flags & RANKED != 0;
        self.set(slot, RANKED, on);
        was
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
