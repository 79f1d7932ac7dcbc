//! The queues of many flows: who has how much waiting. Which flow is served next, and which loses when the buffer is
//! full, is decided elsewhere.
//!
//! A flow has a slot while it has packets or somebody keeps it, and gives it back after. With many flows, the lines of
//! memory that a packet needs are what it costs; so slots are small, and how long each queue is, which few want to know,
//! is counted apart and only on demand.

use std::hint::black_box;

use tailback_core::{Backlog, Bytes, Packet};

use super::pool::{Pool, Queue};
use super::shares::{Classifier, Share};
use super::strangers::Strangers;
use super::table::Table;

/// One flow or class that is known at the moment.
#[derive(Clone, Debug)]
pub struct Slot<F> {
    queue: Queue,
    /// Which weight it has.
    share: u16,
    /// Who keeps it although its queue may be empty: [`LISTED`], [`MARKED`], [`HELD`].
    keepers: u8,
    /// What the scheduler keeps for the flow.
    pub state: F,
}

const _: () = assert!(size_of::<Slot<f64>>() == 16, "four to a line of memory");

/// It stands in the scheduler's ring or heap.
const LISTED: u8 = 1;
/// The scheduler's own.
const MARKED: u8 = 2;
/// Somebody is at work on it.
const HELD: u8 = 4;
/// The scheduler's own too, beside its mark: it keeps no slot.
const NOTICED: u8 = 8;

impl<F: Default> Default for Slot<F> {
    fn default() -> Self {
        Self { queue: Queue::new(), share: Classifier::NO_SHARE, keepers: 0, state: F::default() }
    }
}

impl<F> Slot<F> {
    /// Whether nothing waits.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the slot stands in the scheduler's ring or heap.
    pub const fn is_listed(&self) -> bool {
        self.keepers & LISTED != 0
    }

    /// Whether the scheduler has noticed the slot.
    pub const fn is_noticed(&self) -> bool {
        self.keepers & NOTICED != 0
    }

    /// Whether the scheduler has put its mark on the slot.
    pub const fn is_marked(&self) -> bool {
        self.keepers & MARKED != 0
    }
}

/// All queues, with a note `N` beside each packet and a state `F` for each flow.
#[derive(Clone, Debug)]
pub struct Flows<F, N> {
    classifier: Classifier,
    slots: Table<Slot<F>>,
    strangers: Strangers,
    /// Flows of lower numbers have these as their slots, after those of the classes.
    low: u32,
    pool: Pool<N>,
    backlog: Backlog,
    /// What waits in each slot, while that is counted.
    lengths: Option<Table<Backlog>>,
    /// Counts departures while much is waiting.
    departures: u8,
}

/// A packet that has left its queue, and is about to leave the server.
#[derive(Debug)]
pub(super) struct Leaving {
    place: u32,
    pub(super) size: Bytes,
}

/// More packets than this are not all at hand.
const MANY: u32 = 4096;
/// What is needed for so many departures is fetched at once.
const TOGETHER: u8 = 16;

/// More flows than a run has.
const LOW: u32 = 1 << 22;

impl<F: Default, N: Copy> Flows<F, N> {
    /// No flows yet.
    pub fn new(shares: &[Share]) -> Self {
        Self {
            classifier: Classifier::new(shares),
            slots: Table::new(),
            strangers: Strangers::default(),
            low: LOW,
            pool: Pool::new(),
            backlog: Backlog::default(),
            lengths: None,
            departures: 0,
        }
    }

    /// No flows yet, of which up to `keys` are hashed: so many more than there can be flows that hardly two of those at work
    /// have numbers near each other.
    pub fn hashed(keys: u32) -> Self {
        let low = if keys > LOW { 0 } else { LOW };
        Self { low, ..Self::new(&[]) }
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
        if flow < self.low { classes + flow } else { classes + self.low + self.strangers.slot(flow) }
    }

    #[inline]
    fn open(&mut self, slot: u32, share: u16) {
        if !self.slots.is_open(slot) {
            self.open_closed(slot, share);
        }
    }

    fn open_closed(&mut self, slot: u32, share: u16) {
        self.slots.open(slot).share = share;
        if let Some(lengths) = &mut self.lengths {
            lengths.open(slot);
        }
    }

    /// Appends a packet to the flow's queue.
    #[inline]
    pub fn push(&mut self, slot: u32, packet: Packet, note: N) {
        self.pool.push(&mut self.slots.at_mut(slot).queue, packet, note);
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
        if let Some(lengths) = &mut self.lengths {
            let length = lengths.at_mut(slot);
            length.packets += 1;
            length.bytes += packet.size();
        }
    }

    /// Takes the flow's oldest packet, and what is noted beside it.
    #[inline]
    pub fn pop(&mut self, slot: u32) -> Option<(Packet, N)> {
        let leaving = self.take_oldest(slot)?;
        Some(self.release(&leaving))
    }

    /// Takes the flow's newest packet.
    pub fn pop_newest(&mut self, slot: u32) -> Option<(Packet, N)> {
        let place = self.pool.take_newest(&mut self.slots.at_mut(slot).queue)?;
        let leaving = self.count_out(slot, place);
        Some(self.release(&leaving))
    }

    /// Takes the flow's oldest packet out of its queue, to be released when all else is done: so it is moved once.
    #[inline]
    pub(super) fn take_oldest(&mut self, slot: u32) -> Option<Leaving> {
        let place = self.pool.take_oldest(&mut self.slots.at_mut(slot).queue)?;
        Some(self.count_out(slot, place))
    }

    #[inline]
    fn count_out(&mut self, slot: u32, place: u32) -> Leaving {
        let size = self.pool.packet(place).size();
        self.backlog.packets -= 1;
        self.backlog.bytes -= size;
        if let Some(lengths) = &mut self.lengths {
            let length = lengths.at_mut(slot);
            length.packets -= 1;
            length.bytes -= size;
        }
        Leaving { place, size }
    }

    /// The packet itself, and what is noted beside it.
    #[inline]
    pub(super) fn release(&mut self, leaving: &Leaving) -> (Packet, N) {
        let note = self.pool.note(leaving.place);
        (self.pool.give_back(leaving.place), note)
    }

    /// What waits in the flow's queue; its packets are looked through, unless [`Flows::count_lengths`] asks for better.
    pub fn length(&self, slot: u32) -> Backlog {
        if let Some(lengths) = &self.lengths {
            return *lengths.at(slot);
        }
        let mut length = Backlog::default();
        for packet in self.pool.packets(self.slots.at(slot).queue) {
            length.packets += 1;
            length.bytes += packet.size();
        }
        length
    }

    /// Counts from now on what waits in each queue. That costs memory, which most packets need not wait for.
    pub fn count_lengths(&mut self) {
        if self.lengths.is_none() {
            let mut lengths = Table::new();
            for slot in self.slots.places() {
                *lengths.open(slot) = self.length(slot);
            }
            self.lengths = Some(lengths);
        }
    }

    /// Undoes [`Flows::count_lengths`].
    pub fn forget_lengths(&mut self) {
        self.lengths = None;
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

    /// Whether every flow has weight 1.
    #[inline]
    pub(super) fn weighs_all_alike(&self) -> bool {
        self.classifier.is_trivial()
    }

    #[inline]
    fn keep(&mut self, slot: u32, keeper: u8) {
        self.slots.at_mut(slot).keepers |= keeper;
    }

    /// Gives the slot back if nothing but `keeper` needs it.
    #[inline]
    fn let_go(&mut self, slot: u32, keeper: u8) {
        let flow = self.slots.at_mut(slot);
        flow.keepers &= !keeper;
        if flow.keepers == 0 && flow.is_empty() {
            self.close(slot);
        }
    }

    /// Keeps the slot although its queue may be empty, until [`Flows::unhold`] undoes it.
    #[inline]
    pub(super) fn hold(&mut self, slot: u32) {
        self.keep(slot, HELD);
    }

    /// Undoes [`Flows::hold`], and gives the slot back if nothing needs it.
    #[inline]
    pub(super) fn unhold(&mut self, slot: u32) {
        self.let_go(slot, HELD);
    }

    /// Notes that the scheduler, which has marked the slot, has noticed it.
    #[inline]
    pub fn notice(&mut self, slot: u32) {
        self.keep(slot, NOTICED);
    }

    /// Undoes [`Flows::notice`]; to be done before the mark is taken off.
    #[inline]
    pub fn overlook(&mut self, slot: u32) {
        self.slots.at_mut(slot).keepers &= !NOTICED;
    }

    /// Keeps the slot as standing in the scheduler's ring or heap.
    #[inline]
    pub fn list(&mut self, slot: u32) {
        self.keep(slot, LISTED);
    }

    /// Undoes [`Flows::list`].
    #[inline]
    pub fn unlist(&mut self, slot: u32) {
        self.let_go(slot, LISTED);
    }

    /// Keeps the slot under a mark whose meaning is the scheduler's own.
    #[inline]
    pub fn mark(&mut self, slot: u32) {
        self.keep(slot, MARKED);
    }

    /// Undoes [`Flows::mark`].
    #[inline]
    pub fn unmark(&mut self, slot: u32) {
        self.let_go(slot, MARKED);
    }

    fn close(&mut self, slot: u32) {
        self.slots.close(slot);
        if let Some(lengths) = &mut self.lengths {
            lengths.close(slot);
        }
        if let Some(stranger) = slot.checked_sub(self.classifier.classes() + self.low) {
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

    /// Has the slot fetched from memory ahead of its use.
    #[inline]
    pub(super) fn fetch(&self, slot: u32) {
        black_box(self.slots.get(slot).map(|flow| flow.keepers));
    }

    /// After a departure: `ahead` tells which flow is likely to be served after so many others, and `beside` which will
    /// be looked at for another reason. Where much is waiting, each was touched long ago. So what will be needed of
    /// them is fetched in time, and for several together, which takes no longer than for one.
    #[inline]
    pub(crate) fn foresee(
        &mut self,
        ahead: impl Fn(usize) -> Option<u32>,
        beside: impl Fn(usize) -> Option<u32>,
    ) {
        if self.backlog.packets <= MANY {
            return;
        }
        self.departures = self.departures.wrapping_add(1);
        if !self.departures.is_multiple_of(TOGETHER) {
            return;
        }
        let together = usize::from(TOGETHER);
        for slot in (together..2 * together).map_while(&ahead) {
            self.fetch(slot);
        }
        for slot in (0..together).map_while(ahead) {
            if let Some(flow) = self.slots.get(slot) {
                self.pool.fetch(flow.queue);
            }
        }
        for slot in (0..together).map_while(beside) {
            self.fetch(slot);
        }
    }

    /// The scheduler's state of `slot`, to change it.
    #[inline]
    pub fn state(&mut self, slot: u32) -> &mut F {
        &mut self.slots.at_mut(slot).state
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailback_core::{Bytes, FlowId, Kind};

    use super::super::Plain;
    use super::*;

    proptest! {
        /// Lengths counted from any moment on are those that the packets themselves have.
        #[test]
        fn counted_lengths_are_true(
            steps in prop::collection::vec((0_u32..4, 0_u8..6, 0_u64..2000), 1..200),
            start in 0_usize..100,
        ) {
            let mut counted = Flows::<f64, Plain>::new(&[]);
            let mut plain = Flows::<f64, Plain>::new(&[]);
            for (step, (flow, action, size)) in steps.into_iter().enumerate() {
                if step == start {
                    counted.count_lengths();
                }
                let packet = Packet::new(Kind::Data, FlowId(flow), 0, Bytes::new(size));
                for flows in [&mut counted, &mut plain] {
                    let slot = flows.slot_of(&packet);
                    flows.list(slot);
                    match action {
                        0..3 => flows.push(slot, packet, Plain),
                        3 => drop(flows.pop(slot)),
                        _ => drop(flows.pop_newest(slot)),
                    }
                    flows.unlist(slot);
                }
                prop_assert!(counted.slots().eq(plain.slots()));
                for slot in plain.slots() {
                    prop_assert_eq!(counted.length(slot), plain.length(slot));
                }
            }
        }
    }
}
