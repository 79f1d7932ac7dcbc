//! A link that is fed: packets enter it ahead of their time, from one other link alone. How that one does it is in `feeder.rs`.

use tailback_core::{Bytes, Packet, RouteCursor, Time};

use crate::link::{Link, Mode, Offer};

impl Link {
    /// Whether packets enter ahead of their time, which only [`Link::counters_without`] then allows for.
    #[inline(always)]
    pub fn is_fed(&self) -> bool {
        self.is_fed
    }

    /// From now on packets may enter ahead of their time. Only an [open](crate::Entrance::Open) link can be fed.
    pub fn begin_to_be_fed(&mut self) {
        debug_assert_eq!(self.mode, Mode::Open);
        self.is_fed = true;
    }

    /// Whether every packet passes later than it enters, also the smallest at the highest rate.
    pub fn takes_time(&self) -> bool {
        !self.track.delay.is_zero()
    }

    /// Whether packets are also handed over at the far end ahead of their time, as nothing befalls them on the wire.
    #[inline(always)]
    pub fn hands_over(&self) -> bool {
        self.hands_over
    }

    /// From now on packets are handed over ahead of their time, or no longer.
    pub fn set_to_hand_over(&mut self, hands_over: bool) {
        self.hands_over = hands_over;
    }

    /// A packet enters at `at`, and may be handed over ahead of its time: when that will be. Where it is not handed over at
    /// once, [`Link::keep`] puts it on the wire. `None` where it has no room.
    #[inline(always)]
    pub fn pass(&mut self, at: Time, size: Bytes) -> Option<Time> {
        self.arrived.add(size);
        if self.track.is_full() {
            return None;
        }
        self.track.count_open(self.server.busy_until().since(at));
        Some(self.server.transmit(at, size).after(self.track.delay))
    }

    /// Puts a packet that [passed](Link::pass) on the wire; whether it is the only one.
    #[inline(always)]
    pub fn keep(&mut self, arrives: Time, packet: Packet, route: RouteCursor) -> bool {
        matches!(self.lay(arrives, packet, route), Offer::Leads(..))
    }

    /// When the head of the wire reaches the far end; `None` while nothing is on it.
    pub fn head_arrives(&self) -> Option<Time> {
        (!self.track.ring.is_empty()).then(|| self.track.ring.head().time)
    }
}
