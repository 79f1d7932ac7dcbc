//! The queues of many flows: who has how much waiting. Which flow is served next, and which loses when the buffer is
//! full, is decided elsewhere.
//!
//! A flow has a slot while it has packets or a scheduler holds it, and gives it back after. Slots are small, for with
//! many flows it is the lines of memory that a packet needs which it costs.

use std::hint::black_box;

use tailback_core::{Backlog, Bytes, Packet};

use super::pool::{Pool, Queue};
use super::shares::{Classifier, FlowMap, Share};
use super::table::Table;

/// One flow or class that is known at the moment.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub struct Slot<F> {
    queue: Queue,
    bytes: Bytes,
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
/// The scheduler's own.
const MARKED: u8 = 2;

impl<F: Default> Default for Slot<F> {
    fn default() -> Self {
        Self {
            queue: Queue::new(),
            bytes: Bytes::ZERO,
            packets: 0,
            share: Classifier::NO_SHARE,
            holds: 0,
            flags: 0,
            state: F::default(),
        }
    }
}

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
    slots: Table<Slot<F>>,
    strangers: Strangers,
    pool: Pool<N>,
    backlog: Backlog,
}

/// What to fetch of a flow, each thing needing those before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fetch {
    /// The slot.
    Slot,
    /// The oldest packet.
    Head,
}

/// Flows of lower numbers have these as their slots, after those of the classes.
const LOW: u32 = 1 << 22;

/// Slots of the few flows whose numbers no table should be as long as.
#[derive(Clone, Debug, Default)]
struct Strangers {
    slots: FlowMap<u32>,
    /// The flow of each such slot, and the slots that are free.
    flows: Vec<u32>,
    free: Vec<u32>,
}

impl Strangers {
    /// The slot of `flow`, counted from zero.
    fn slot(&mut self, flow: u32) -> u32 {
        *self.slots.entry(flow).or_insert_with(|| {
            let slot = self.free.pop().unwrap_or(self.flows.len() as u32);
            if slot as usize == self.flows.len() {
                self.flows.push(flow);
            } else {
                self.flows[slot as usize] = flow;
            }
            slot
        })
    }

    fn forget(&mut self, slot: u32) {
        self.slots.remove(&self.flows[slot as usize]);
        self.free.push(slot);
        if self.slots.is_empty() {
            *self = Self::default();
        }
    }
}

impl<F: Default, N: Copy> Flows<F, N> {
    /// No flows yet.
    pub fn new(shares: &[Share]) -> Self {
        Self {
            classifier: Classifier::new(shares),
            slots: Table::new(),
            strangers: Strangers::default(),
            pool: Pool::new(),
            backlog: Backlog::default(),
        }
    }

    /// The slot of the flow or class that `packet` belongs to, taken into use if it is not.
    #[inline]
    pub fn slot_of(&mut self, packet: &Packet) -> u32 {
        if self.classifier.is_trivial() {
            return self.slot_of_key(packet.flow.0);
        }
        let share = self.classifier.share(packet);
        let slot = match self.classifier.class(share) {
            Some(class) => class,
            None => self.number(packet.flow.0),
        };
        self.open(slot, share);
        slot
    }

    /// The slot of the queue that the caller calls `key`, with weight 1, taken into use if it is not.
    #[inline]
    pub fn slot_of_key(&mut self, key: u32) -> u32 {
        let slot = self.number(key);
        self.open(slot, Classifier::NO_SHARE);
        slot
    }

    #[inline]
    fn number(&mut self, flow: u32) -> u32 {
        let classes = self.classifier.classes();
        if flow < LOW { classes + flow } else { classes + LOW + self.strangers.slot(flow) }
    }

    #[inline]
    fn open(&mut self, slot: u32, share: u16) {
        if !self.slots.is_open(slot) {
            self.slots.open(slot).share = share;
        }
    }

    /// Appends a packet to the flow's queue.
    #[inline]
    pub fn push(&mut self, slot: u32, packet: Packet, note: N) {
        let flow = self.slots.at_mut(slot);
        self.pool.push(&mut flow.queue, packet, note);
        flow.packets += 1;
        flow.bytes += packet.size();
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
    }

    /// Takes the flow's oldest packet.
    #[inline]
    pub fn pop(&mut self, slot: u32) -> Option<(Packet, N)> {
        let flow = self.slots.at_mut(slot);
        let taken = self.pool.pop(&mut flow.queue)?;
        Self::uncount(flow, &mut self.backlog, &taken.0);
        Some(taken)
    }

    /// Takes the flow's newest packet.
    pub fn pop_newest(&mut self, slot: u32) -> Option<(Packet, N)> {
        let flow = self.slots.at_mut(slot);
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
    pub fn head(&self, slot: u32) -> Option<&Packet> {
        self.pool.head(self.slots.at(slot).queue)
    }

    /// What is noted beside the flow's oldest packet.
    #[inline]
    pub fn head_note(&self, slot: u32) -> Option<N> {
        self.pool.head_note(self.slots.at(slot).queue)
    }

    /// What is noted beside the flow's newest packet.
    pub fn newest_note(&self, slot: u32) -> Option<N> {
        self.pool.newest_note(self.slots.at(slot).queue)
    }

    /// The flow's weight.
    #[inline]
    pub fn weight(&self, slot: u32) -> f64 {
        if self.classifier.is_trivial() {
            return 1.0;
        }
        self.classifier.weight_of(self.slots.at(slot).share)
    }

    /// Keeps the slot although its queue may be empty, until [`Flows::unhold`] undoes it.
    #[inline]
    pub fn hold(&mut self, slot: u32) {
        self.slots.at_mut(slot).holds += 1;
    }

    /// Undoes one [`Flows::hold`], and gives the slot back if nothing needs it.
    #[inline]
    pub fn unhold(&mut self, slot: u32) {
        let flow = self.slots.at_mut(slot);
        flow.holds -= 1;
        if flow.packets == 0 && flow.holds == 0 {
            self.close(slot);
        }
    }

    fn close(&mut self, slot: u32) {
        self.slots.close(slot);
        if let Some(stranger) = slot.checked_sub(self.classifier.classes() + LOW) {
            self.strangers.forget(stranger);
        }
    }

    /// The slot at `slot`, which must be in use.
    #[inline]
    pub fn get(&self, slot: u32) -> &Slot<F> {
        self.slots.at(slot)
    }

    /// The slot at `slot`, which must be in use, to change what the scheduler keeps there.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Slot<F> {
        self.slots.at_mut(slot)
    }

    /// Has the slot fetched from memory, or its oldest packet if that has been fetched before, ahead of its use.
    #[inline]
    pub(super) fn fetch(&self, slot: u32, what: Fetch) {
        let Some(flow) = self.slots.get(slot) else { return };
        match what {
            Fetch::Slot => drop(black_box(flow.packets)),
            Fetch::Head => self.pool.fetch(flow.queue),
        }
    }

    /// The scheduler's state of `slot`, to change it.
    #[inline]
    pub fn state(&mut self, slot: u32) -> &mut F {
        &mut self.slots.at_mut(slot).state
    }

    #[inline]
    fn set(&mut self, slot: u32, flag: u8, on: bool) {
        let flags = &mut self.slots.at_mut(slot).flags;
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

    /// All that waits.
    #[inline]
    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// The slots in use.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        self.slots.places()
    }

    /// How many flows have a slot: those with packets and those that a scheduler holds.
    pub fn active(&self) -> usize {
        self.slots.open_places()
    }
}
