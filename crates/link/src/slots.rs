//! Packets on the wires of links without a bound, in slots that all links of a network share. What such a link decides is in
//! `shared.rs`.
//!
//! A slot that a packet leaves is the next that is taken, and is at hand: mostly the packet, or what it is answered with, goes
//! on into it at once. With a ring of its own for each link, every hop would write to memory that was touched long ago, and
//! links would keep room for the most that ever was on each of them.

use std::collections::BTreeMap;

use tailback_core::fetch::fetch_at;
use tailback_core::{Packet, RouteCursor, Span, Time};

/// A packet on its way; which one is behind it on the same wire, and by how many nanoseconds later.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Slot {
    packet: Packet,
    next: u32,
    gap: u32,
}

const _: () = assert!(size_of::<Slot>() == 32, "two slots per cache line");

/// No slot.
const NONE: u32 = u32::MAX;
/// A gap that does not fit stands elsewhere.
const WIDE: u32 = u32::MAX;

/// A wire's head.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Head {
    /// Its slot, or the one of what was there before.
    slot: u32,
    /// What the driver keeps beside it.
    beside: [u32; 3],
}

/// The slots of a network.
#[derive(Debug)]
pub struct Slots {
    laid: Vec<Slot>,
    /// Close together, as whoever looks ahead asks for many.
    heads: Vec<Head>,
    /// The one that was left last; behind it stand the others, by `next`.
    free: u32,
    /// Gaps that do not fit, by the slot in front of them.
    wide: BTreeMap<u32, Span>,
}

/// The packets on one wire.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chain {
    /// The wire's number.
    pub(crate) wire: u32,
    last: u32,
    pub(crate) len: u32,
}

impl Slots {
    /// No slots yet, for so many wires.
    pub fn new(wires: usize) -> Self {
        Self {
            laid: Vec::new(),
            heads: vec![Head { slot: NONE, beside: [0; 3] }; wires],
            free: NONE,
            wide: BTreeMap::new(),
        }
    }

    /// Lays a packet behind those of a chain, of which the last arrives earlier by `gap`. Whether it is the only one.
    #[inline(always)]
    pub(crate) fn push(&mut self, chain: &mut Chain, gap: Span, packet: Packet, route: RouteCursor) -> bool {
        let at = if self.free == NONE { self.another() } else { self.free };
        let slot = &mut self.laid[at as usize];
        self.free = slot.next;
        slot.packet = packet;
        slot.packet.route = route;
        // Where many packets are laid in a row, the next one's was left long ago.
        fetch_at::<1, _>(&self.laid, self.free as usize);
        let leads = chain.len == 0;
        if leads {
            self.heads[chain.wire as usize].slot = at;
        } else {
            let last = &mut self.laid[chain.last as usize];
            last.next = at;
            last.gap = gap.as_nanos().min(WIDE.into()) as u32;
            if last.gap == WIDE {
                self.note_wide(chain.last, gap);
            }
        }
        chain.last = at;
        chain.len += 1;
        leads
    }

    /// Takes the head of the chain of `wire`, of which there must be one and which arrives at `now`; when the next one does.
    #[inline(always)]
    pub(crate) fn pop(&mut self, wire: u32, chain: &mut Chain, now: Time) -> (Packet, Time) {
        debug_assert!(chain.len > 0 && chain.wire == wire, "an empty wire has no head");
        let head = &mut self.heads[wire as usize].slot;
        let at = *head;
        let slot = &mut self.laid[at as usize];
        let (packet, next, gap) = (slot.packet, slot.next, slot.gap);
        slot.next = self.free;
        self.free = at;
        *head = next;
        chain.len -= 1;
        if chain.len == 0 {
            return (packet, Time::NEVER);
        }
        // Its turn comes before many other packets have passed.
        self.fetch(next);
        if gap == WIDE {
            return (packet, now.after(self.wide.remove(&at).unwrap_or(Span::ZERO)));
        }
        (packet, now.after(Span::from_nanos(gap.into())))
    }

    /// The same where somebody else knows when each packet arrives.
    #[inline(always)]
    pub(crate) fn take(&mut self, wire: u32, chain: &mut Chain) -> Packet {
        debug_assert!(chain.len > 0 && chain.wire == wire, "an empty wire has no head");
        let head = &mut self.heads[wire as usize].slot;
        let at = *head;
        let slot = &mut self.laid[at as usize];
        let (packet, next, gap) = (slot.packet, slot.next, slot.gap);
        slot.next = self.free;
        self.free = at;
        *head = next;
        chain.len -= 1;
        // Behind the last one stands what stood there before, of which nothing is kept.
        if gap == WIDE {
            self.wide.remove(&at);
        }
        packet
    }

    #[cold]
    #[inline(never)]
    fn another(&mut self) -> u32 {
        self.laid.push(Slot { next: NONE, ..Slot::default() });
        self.laid.len() as u32 - 1
    }

    #[cold]
    #[inline(never)]
    fn note_wide(&mut self, at: u32, gap: Span) {
        self.wide.insert(at, gap);
    }

    /// The packets of a chain from the head on, each with the time at which it arrives; the last does at `last`.
    pub(crate) fn along(&self, chain: &Chain, last: Time) -> impl Iterator<Item = (Time, &Packet)> {
        let laid = self.from(self.start(chain, last)).take(chain.len as usize);
        laid.map(|(_, arrives, packet)| (arrives, packet))
    }

    /// The slot of a chain's head, and when it arrives.
    pub(crate) fn start(&self, chain: &Chain, last: Time) -> (u32, Time) {
        (self.head(chain).unwrap_or(NONE), last - self.length(chain))
    }

    /// The packet in this slot, which arrives then, and those behind it; where its chain ends is for the caller to know.
    pub(crate) fn from(&self, start: (u32, Time)) -> impl Iterator<Item = (u32, Time, &Packet)> {
        let next = |&(at, arrives): &(u32, Time)| Some((self.laid[at as usize].next, arrives + self.gap(at)));
        let laid = std::iter::successors(Some(start), next);
        laid.map(|(at, arrives)| (at, arrives, &self.laid[at as usize].packet))
    }

    /// The slot of a chain's head, if it has one.
    pub(crate) fn head(&self, chain: &Chain) -> Option<u32> {
        self.heads.get(chain.wire as usize).map(|head| head.slot).filter(|_| chain.len > 0)
    }

    /// How much later the last of a chain arrives than the first.
    fn length(&self, chain: &Chain) -> Span {
        let (mut all, mut at) = (Span::ZERO, self.head(chain).unwrap_or(NONE));
        for _ in 1..chain.len {
            all += self.gap(at);
            at = self.laid[at as usize].next;
        }
        all
    }

    fn gap(&self, at: u32) -> Span {
        let gap = self.laid[at as usize].gap;
        let wide = if gap == WIDE { self.wide.get(&at) } else { None };
        wide.copied().unwrap_or(Span::from_nanos(gap.into()))
    }

    /// Keeps beside the head of a wire what a driver wants to know of the wire when it [fetches](Slots::fetch_head) that: so it
    /// needs one line of memory for both.
    pub fn keep_beside(&mut self, wire: u32, beside: [u32; 3]) {
        self.heads[wire as usize].beside = beside;
    }

    /// Fetches the head of a wire, if there is such a wire, and gives what is kept beside it. Where the wire is empty, another
    /// slot is fetched, which spares a branch that no processor would foresee.
    #[inline(always)]
    pub fn fetch_head(&self, wire: u32) -> Option<[u32; 3]> {
        let head = self.heads.get(wire as usize)?;
        self.fetch(head.slot);
        Some(head.beside)
    }

    /// Fetches what says where the head of a wire is.
    #[inline(always)]
    pub fn fetch_entry(&self, wire: u32) {
        fetch_at::<1, _>(&self.heads, wire as usize);
    }

    /// What is kept beside the head of a wire, if there is such a wire.
    #[inline(always)]
    pub fn beside(&self, wire: u32) -> Option<[u32; 3]> {
        self.heads.get(wire as usize).map(|head| head.beside)
    }

    /// Fetches the slot of a chain's last packet.
    #[inline(always)]
    pub(crate) fn fetch_last(&self, chain: &Chain) {
        self.fetch(chain.last);
    }

    #[inline(always)]
    fn fetch(&self, at: u32) {
        fetch_at::<1, _>(&self.laid, at as usize);
    }

    /// The head of a wire; what was there before where it is empty.
    #[inline(always)]
    pub fn upcoming(&self, wire: u32) -> Option<&Packet> {
        let head = self.heads.get(wire as usize)?;
        self.laid.get(head.slot as usize).map(|slot| &slot.packet)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use tailback_core::{Bytes, FlowId, Kind};

    use super::*;

    fn packet(number: u64) -> Packet {
        Packet::new(Kind::Data, FlowId(0), number, Bytes::new(1000))
    }

    proptest! {
        /// Several chains, each against a queue with times.
        #[test]
        fn chains_are_queues(
            operations in prop::collection::vec((0_usize..3, any::<bool>(), prop_oneof![0_u64..100, 0_u64..1 << 34, (1_u64 << 32) - 2..(1 << 32) + 1]), 0..500),
        ) {
            let mut slots = Slots::new(3);
            let mut chains = [0, 1, 2].map(|wire| (Chain { wire, ..Chain::default() }, Time::ZERO));
            let mut models = [const { VecDeque::<(Time, u64)>::new() }; 3];
            let mut most = 0;
            for (number, (which, pushes, gap)) in (0..).zip(operations) {
                let ((chain, last), model) = (&mut chains[which], &mut models[which]);
                if pushes {
                    let gap = Span::from_nanos(gap);
                    *last = last.after(gap);
                    let leads = slots.push(chain, gap, packet(number), RouteCursor(7));
                    prop_assert_eq!(leads, model.is_empty());
                    model.push_back((*last, number));
                } else if let Some((now, number)) = model.pop_front() {
                    prop_assert_eq!(slots.along(chain, *last).next().map(|(at, _)| at), Some(now));
                    let (packet, next) = slots.pop(which as u32, chain, now);
                    prop_assert_eq!((packet.number, packet.route), (number, RouteCursor(7)));
                    prop_assert_eq!(next, model.front().map_or(Time::NEVER, |next| next.0));
                }
                let there: Vec<_> = slots.along(chain, *last).map(|(at, packet)| (at, packet.number)).collect();
                prop_assert!(there.iter().eq(model.iter()), "{:?} {:?}", there, model);
                most = most.max(models.iter().map(VecDeque::len).sum());
            }
            prop_assert_eq!(slots.laid.len(), most, "slots are used again");
            prop_assert!(slots.wide.len() <= models.iter().map(VecDeque::len).sum());
        }
    }
}
