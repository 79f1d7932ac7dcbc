//! A track without a bound: nothing is decided as a packet enters, so nobody counts what waits until somebody looks.
//! What waits where there is a bound lives in `direct.rs`.

use tailback_core::{Capacity, Packet, RouteCursor, Span, Time};

use crate::direct::{State, Track};
use crate::feed::Coming;

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
        self.count_open(wait);
        self.lay(departs, packet, route)
    }

    /// Counts a packet that will wait for `wait`.
    #[inline(always)]
    pub(crate) fn count_open(&mut self, wait: Span) {
        self.area = self.area.wrapping_add(wait.as_nanos());
    }

    /// Where the packets are just before `now`, and the integral of waiting packets over time, without the last ones, which
    /// are to come at these times only. Of a link whose packets lie in shared slots, `shared` has them, so many.
    pub(crate) fn look<'a>(
        &'a self,
        now: Time,
        to_come: &[Coming],
        (shared, count): (impl Iterator<Item = (Time, &'a Packet)>, u32),
    ) -> (State, u64) {
        let (mut state, mut area) = (State::default(), self.area);
        let slots = self.ring.iter().map(|slot| (slot.time, &slot.packet)).chain(shared);
        let here = ((self.ring.len() + count) as usize).saturating_sub(to_come.len());
        // When the packet before departs. The one before the head has reached the far end.
        let mut free = Time::ZERO;
        for (index, (arrives, packet)) in slots.enumerate() {
            let departs = arrives - self.delay;
            let ahead = match to_come.get(index - here.min(index)) {
                // Its whole wait lies ahead.
                Some(coming) if index >= here => free.since(coming.at),
                _ => state.place(now, free, departs, packet.size()),
            };
            area = area.wrapping_sub(ahead.as_nanos());
            free = departs;
        }
        (state, area)
    }
}
