//! The queues of many flows: who has how much waiting. Which flow is served next, and which loses when the buffer is
//! full, is decided elsewhere.
//!
//! A flow has a slot while it has packets or somebody keeps it, and gives it back after. With many flows, the lines of
//! memory that a packet needs are what it costs; so all that is known of a flow is half a line.

use tailback_core::{Backlog, Bytes, Packet};

use super::looks::looked;
use super::pool::{Pool, Queue};
use super::shares::{Classifier, Share};
use super::strangers::Strangers;
use super::table::Table;
use crate::known::KnownFlows;

/// One flow or class that is known at the moment.
#[derive(Clone, Debug)]
pub struct Slot<F> {
    queue: Queue,
    /// What waits in it.
    packets: u32,
    /// Which weight it has.
    share: u16,
    /// Who keeps it although its queue may be empty: [`LISTED`], [`MARKED`], [`HELD`].
    keepers: u8,
    bytes: Bytes,
    /// What the scheduler keeps for the flow.
    pub state: F,
}

const _: () = assert!(size_of::<Slot<f64>>() == 32, "two to a line of memory");

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
        Self {
            queue: Queue::new(),
            packets: 0,
            share: Classifier::NO_SHARE,
            keepers: 0,
            bytes: Bytes::ZERO,
            state: F::default(),
        }
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
}

/// A packet that has left its queue, and is about to leave the server.
#[derive(Debug)]
pub(super) struct Leaving<N> {
    place: u32,
    pub(super) size: Bytes,
    /// Whether it was the flow's last.
    pub(super) last: bool,
    note: N,
}

/// More packets than this are not all at hand.
const MANY: u32 = 64;
/// Of the flow that is to be served after so many others the packet is fetched.
const SOON: usize = 4;
/// Of the flow that is to be served after so many others the slot is fetched.
const LATER: usize = 8;

/// To find a flow by its packet, and to sort it in, takes so many times as long as to look at a slot.
const SORTING: usize = 16;

/// More flows than a run has.
const LOW: u32 = 1 << 22;

impl<F: Default, N: Copy> Flows<F, N> {
    /// No flows yet.
    pub fn new(shares: &[Share], known: &KnownFlows) -> Self {
        Self {
            classifier: Classifier::new(shares, known),
            slots: Table::new(),
            strangers: Strangers::default(),
            low: LOW,
            pool: Pool::new(),
            backlog: Backlog::default(),
        }
    }

    /// No flows yet, of which up to `keys` are hashed: so many more than there can be flows that hardly two of those at work
    /// have numbers near each other.
    pub fn hashed(keys: u32) -> Self {
        let low = if keys > LOW { 0 } else { LOW };
        Self { low, ..Self::new(&[], &KnownFlows::default()) }
    }

    /// The slot of the flow or class that `packet` belongs to, taken into use if it is not.
    #[inline]
    pub fn slot_of(&mut self, packet: &Packet) -> u32 {
        if self.classifier.is_trivial() {
            self.slot_of_key(packet.flow.0)
        } else {
            self.slot_by_share(packet)
        }
    }

    #[inline(never)]
    fn slot_by_share(&mut self, packet: &Packet) -> u32 {
        let share = self.classifier.share(packet);
        let number = match self.classifier.class(share) {
            Some(class) => class,
            None => self.number(packet.flow.0),
        };
        self.slots.find(number).unwrap_or_else(|| self.open(number, share))
    }

    /// The slot of the queue that the caller calls `key`, with weight 1, taken into use if it is not.
    #[inline]
    pub fn slot_of_key(&mut self, key: u32) -> u32 {
        let number = self.number(key);
        self.slots.find(number).unwrap_or_else(|| self.open(number, Classifier::NO_SHARE))
    }

    /// By what number the table of slots knows a flow that is no member of a class.
    #[inline]
    fn number(&mut self, flow: u32) -> u32 {
        let classes = self.classifier.classes();
        if flow < self.low { classes + flow } else { classes + self.low + self.strangers.slot(flow) }
    }

    #[inline(never)]
    fn open(&mut self, number: u32, share: u16) -> u32 {
        let slot = self.slots.open(number);
        self.slots.at_mut(slot).share = share;
        slot
    }

    /// Appends a packet to the flow's queue.
    #[expect(clippy::inline_always, reason = "a call would be a quarter of its cost")]
    #[inline(always)]
    pub fn push(&mut self, slot: u32, packet: Packet, note: N) {
        let flow = self.slots.at_mut(slot);
        flow.packets += 1;
        flow.bytes += packet.size();
        self.pool.push(&mut flow.queue, packet, note);
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
    }

    /// Takes the flow's oldest packet, and what is noted beside it.
    #[inline]
    pub fn pop(&mut self, slot: u32) -> Option<(Packet, N)> {
        let leaving = self.take_oldest(slot)?;
        Some((self.release(&leaving), leaving.note))
    }

    /// Takes the flow's newest packet.
    pub fn pop_newest(&mut self, slot: u32) -> Option<(Packet, N)> {
        let place = self.pool.take_newest(&mut self.slots.at_mut(slot).queue)?;
        let leaving = self.count_out(slot, place);
        Some((self.release(&leaving), leaving.note))
    }

    /// Takes the flow's oldest packet out of its queue, to be released when all else is done: so it is moved once.
    #[inline]
    pub(super) fn take_oldest(&mut self, slot: u32) -> Option<Leaving<N>> {
        let place = self.pool.take_oldest(&mut self.slots.at_mut(slot).queue)?;
        Some(self.count_out(slot, place))
    }

    #[inline]
    fn count_out(&mut self, slot: u32, place: u32) -> Leaving<N> {
        let size = self.pool.packet(place).size();
        let flow = self.slots.at_mut(slot);
        flow.packets -= 1;
        flow.bytes -= size;
        self.backlog.packets -= 1;
        self.backlog.bytes -= size;
        Leaving { place, size, last: flow.queue.is_empty(), note: self.pool.note(place) }
    }

    /// The packet itself.
    #[inline]
    pub(super) fn release(&mut self, leaving: &Leaving<N>) -> Packet {
        self.pool.give_back(leaving.place)
    }

    /// Gives much memory back, if no packet waits.
    #[inline]
    pub(crate) fn give_memory_back(&mut self) {
        if self.backlog.packets == 0 {
            self.pool.give_memory_back();
        }
    }

    /// What waits in the flow's queue.
    #[inline]
    pub fn length(&self, slot: u32) -> Backlog {
        let flow = self.slots.at(slot);
        Backlog { packets: flow.packets, bytes: flow.bytes }
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

    /// Undoes [`Flows::hold`], if that was called, and gives the slot back if nothing needs it.
    #[inline]
    pub(super) fn unhold(&mut self, slot: u32) {
        self.let_go(slot, HELD);
    }

    /// Undoes [`Flows::hold`] where packets wait.
    #[inline]
    pub(super) fn unhold_busy(&mut self, slot: u32) {
        self.slots.at_mut(slot).keepers &= !HELD;
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

    #[inline(never)]
    fn close(&mut self, slot: u32) {
        let number = self.slots.number(slot);
        self.slots.close(slot);
        if let Some(stranger) = number.checked_sub(self.classifier.classes() + self.low) {
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
        self.slots.fetch(slot);
    }

    /// After a departure: `ahead` tells which flow is likely to be served after so many others, and `beside` which will
    /// be looked at for another reason. Where more is waiting than is at hand, each was touched long ago. So what will be
    /// needed of them is fetched in time.
    #[inline]
    pub(crate) fn foresee(
        &self,
        ahead: impl Fn(usize) -> Option<u32>,
        beside: impl Fn(usize) -> Option<u32>,
    ) {
        if self.backlog.packets <= MANY {
            return;
        }
        // All are asked before anything is fetched, so that nothing is read twice.
        let (soon, later, beside) = (ahead(SOON), ahead(LATER), beside(LATER));
        if let Some(flow) = soon.and_then(|slot| self.slots.get(slot)) {
            self.pool.fetch(flow.queue);
        }
        if let Some(slot) = later {
            self.fetch(slot);
        }
        if let Some(slot) = beside {
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
    fn slots(&self) -> impl Iterator<Item = u32> {
        self.slots.places()
    }

    /// The slots of flows with packets, in the order of [`Flows::slots`].
    pub(super) fn busy(&self) -> Vec<u32> {
        self.busy_by(|packet| self.number_of(packet))
    }

    /// The same, where a packet is in the queue that the caller calls `key(packet)`.
    pub(crate) fn busy_of_keys(&self, key: impl Fn(&Packet) -> u32) -> Vec<u32> {
        self.busy_by(|packet| self.number_of_key(key(packet)))
    }

    /// The same, where `number` tells by what number the table of slots knows the queue of a packet. Where few wait, and many
    /// queues have slots or high numbers, they are found by the packets.
    fn busy_by(&self, number: impl Fn(&Packet) -> Option<u32>) -> Vec<u32> {
        if SORTING * self.pool.places() >= self.slots.span() {
            return self.slots().filter(|slot| !self.get(*slot).is_empty()).collect();
        }
        let numbers = self.pool.waiting().filter_map(number);
        let mut numbers: Vec<u32> = numbers.inspect(|_| looked()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().filter_map(|number| self.slots.find(number)).collect()
    }

    /// By what number the table of slots knows the flow or class of a packet that waits.
    fn number_of(&self, packet: &Packet) -> Option<u32> {
        let class = self.classifier.class(self.classifier.share(packet));
        class.or_else(|| self.number_of_key(packet.flow.0))
    }

    /// By what number it knows a flow that is no member of a class, and has a slot.
    fn number_of_key(&self, flow: u32) -> Option<u32> {
        let classes = self.classifier.classes();
        if flow < self.low {
            return Some(classes + flow);
        }
        self.strangers.find(flow).map(|stranger| classes + self.low + stranger)
    }

    /// How many flows have a slot: those with packets and those that a scheduler holds.
    pub fn active(&self) -> usize {
        self.slots.open_places()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use tailback_core::{Bytes, FlowId, Kind};

    use super::super::Plain;
    use super::*;
    use crate::known::NamedFlow;

    proptest! {
        /// Found by its packets or by its slot, a flow with packets has the same place in the order.
        #[test]
        fn who_has_packets_is_known_by_them(
            steps in prop::collection::vec((0_usize..6, 0_u8..5), 1..200), far: bool, together: bool,
        ) {
            let numbers = if far { [0, 9, 3_000_000, 4_100_000, 5_000_000, u32::MAX] } else { [0, 1, 2, 3, 40, 41] };
            let share = |flows: &[u32], together| Share { flows: NamedFlow::numbered(flows), weight: 2.0, together };
            let shares = [share(&numbers[1..3], together), share(&numbers[3..4], false)];
            let mut flows = Flows::<f64, Plain>::new(if together { &shares } else { &[] }, &KnownFlows::default());
            for (flow, action) in steps {
                let packet = Packet::new(Kind::Data, FlowId(numbers[flow]), 0, Bytes::new(40));
                let slot = flows.slot_of(&packet);
                flows.list(slot);
                match action {
                    0..3 => flows.push(slot, packet, Plain),
                    3 => drop(flows.pop(slot)),
                    _ => drop(flows.pop_newest(slot)),
                }
                let busy: Vec<u32> = flows.slots().filter(|slot| !flows.get(*slot).is_empty()).collect();
                prop_assert_eq!(flows.busy(), busy);
            }
        }

        /// Lengths are those that the packets themselves have.
        #[test]
        fn lengths_are_true(steps in prop::collection::vec((0_u32..4, 0_u8..6, 0_u64..2000), 1..200)) {
            let mut flows = Flows::<f64, Plain>::new(&[], &KnownFlows::default());
            let mut plain = vec![VecDeque::new(); 4];
            for (flow, action, size) in steps {
                let packet = Packet::new(Kind::Data, FlowId(flow), 0, Bytes::new(size));
                let slot = flows.slot_of(&packet);
                flows.list(slot);
                let waiting = &mut plain[flow as usize];
                match action {
                    0..3 => {
                        flows.push(slot, packet, Plain);
                        waiting.push_back(packet);
                    }
                    3 => prop_assert_eq!(flows.pop(slot).map(|taken| taken.0), waiting.pop_front()),
                    _ => prop_assert_eq!(flows.pop_newest(slot).map(|taken| taken.0), waiting.pop_back()),
                }
                flows.unlist(slot);
                let sum = |packets: &VecDeque<Packet>| Backlog {
                    packets: packets.len() as u32,
                    bytes: Bytes::new(packets.iter().map(|packet| packet.size().get()).sum()),
                };
                let busy = plain.iter().filter(|packets| !packets.is_empty());
                prop_assert!(flows.slots().map(|slot| flows.length(slot)).eq(busy.map(sum)));
                prop_assert_eq!(flows.backlog(), sum(&plain.iter().flatten().copied().collect()));
            }
        }
    }
}
