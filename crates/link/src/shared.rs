//! A link without a bound whose packets lie in slots that it shares with others (`slots.rs`). It decides nothing, so that all
//! it touches is the first line of its memory and the packets' slots. A link that no network drives (`standalone.rs`)
//! has a ring of its own instead (`open.rs`).

use tailback_core::{Bytes, Capacity, Packet, RouteCursor, Span, Time};

use crate::link::{Link, Mode};
use crate::slots::Slots;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Laid {
    /// It is behind others on its way.
    Behind,
    /// It is the only one on its way, and arrives then.
    First(Time),
    /// There is no room: more is on the wire than any network holds.
    Full,
}

/// How a packet passes a link.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// When it reaches the far end.
    pub arrives: Time,
    /// By how much the one before it does so earlier.
    gap: Span,
}

impl Link {
    /// Its wire has this number among those that share slots.
    pub fn number_wire(&mut self, wire: u32) {
        self.chain.wire = wire;
    }

    /// Whether the link has no bound and feeds no other: packets come by [`Link::lay`] or [`Link::pass`].
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.mode == Mode::Open
    }

    /// A packet enters at `now`, to go on from `route` at the far end.
    #[inline(always)]
    pub fn lay(&mut self, now: Time, packet: Packet, route: RouteCursor, slots: &mut Slots) -> Laid {
        let Some(pass) = self.pass(now, packet.size()) else { return Laid::Full };
        if self.keep(pass, packet, route, slots) { Laid::First(pass.arrives) } else { Laid::Behind }
    }

    /// A packet enters at `at`, and may be handed over ahead of its time. Where it is not handed over at once, [`Link::keep`]
    /// puts it on the wire. `None` where it has no room.
    #[inline(always)]
    pub fn pass(&mut self, at: Time, size: Bytes) -> Option<Pass> {
        debug_assert!(self.is_open());
        self.arrived.add(size);
        if self.chain.len >= Capacity::MOST_PACKETS {
            return None;
        }
        let before = self.server.busy_until();
        let wait = before.since(at);
        if !wait.is_zero() {
            self.track.count_open(wait);
        }
        let departs = self.server.transmit(at, size);
        Some(Pass { arrives: departs.after(self.delay), gap: departs.since(before) })
    }

    /// Puts a packet that [passed](Link::pass) on the wire; whether it is the only one.
    #[inline(always)]
    pub fn keep(&mut self, pass: Pass, packet: Packet, route: RouteCursor, slots: &mut Slots) -> bool {
        slots.push(&mut self.chain, pass.gap, packet, route)
    }

    /// Fetches the slot behind which the next packet is laid.
    #[inline(always)]
    pub fn fetch_last(&self, slots: &Slots) {
        slots.fetch_last(&self.chain);
    }

    /// Takes the head of the wire, which has this number and arrives at `now`, and says when the next one does.
    #[inline(always)]
    pub fn take_laid(&mut self, wire: u32, now: Time, slots: &mut Slots) -> (Packet, Time) {
        slots.pop(wire, &mut self.chain, now)
    }

    /// The same where somebody else knows when each packet arrives.
    #[inline(always)]
    pub fn take_listed(&mut self, wire: u32, slots: &mut Slots) -> Packet {
        slots.take(wire, &mut self.chain)
    }

    /// Counts so many packets on the wire; how many there were. For tests of what becomes of a packet for which there is no
    /// room: whoever takes a packet or looks must have set it right again.
    #[cfg(any(test, feature = "for-tests"))]
    pub fn count_on_wire(&mut self, packets: u32) -> u32 {
        std::mem::replace(&mut self.chain.len, packets)
    }

    /// When the last packet on the wire reaches the far end.
    pub(crate) fn last_arrives(&self) -> Time {
        self.server.busy_until().after(self.delay)
    }
}
