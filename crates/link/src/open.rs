//! A track without a bound: nothing is decided as a packet enters, so nobody counts what waits until somebody looks.
//! What waits where there is a bound lives in `direct.rs`.

use tailback_core::{Capacity, Packet, RouteCursor, Span, Time};

use crate::direct::{State, Track};

impl Track {
    /// Whether so much is here as no network holds, which only a link that nothing drains ever reaches.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.ring.len() >= Capacity::MOST_PACKETS
    }

    /// Takes in a packet that will wait for `wait` and depart at `departs`. Gives its arrival at the far end if it is
    /// the only one on its way.
    #[inline(always)]
    pub(crate) fn push_open(
        &mut self,
        wait: Span,
        departs: Time,
        packet: Packet,
        route: RouteCursor,
    ) -> Option<Time> {
        self.started += 1;
        self.area = self.area.wrapping_add(wait.as_nanos());
        self.lay(departs, packet, route)
    }

    /// Where the packets are just before `now`, and the integral of waiting packets over time.
    pub(crate) fn look(&self, now: Time) -> (State, u64) {
        let (mut state, mut area) = (State::default(), self.area);
        // When the packet before departs. The one before the head has reached the far end.
        let mut free = Time::ZERO;
        for slot in self.ring.iter() {
            let size = slot.packet.size();
            let departs = slot.time - self.delay;
            if free >= now {
                state.waiting.add(size);
                // Its wait was counted whole as it entered: what of it lies ahead is taken off.
                area = area.wrapping_sub(free.since(now).as_nanos());
            } else if departs >= now {
                state.in_service.add(size);
                state.service_left = departs.since(now);
            } else {
                state.propagating.add(size);
            }
            free = departs;
        }
        (state, area)
    }
}
