//! Queue and wire in one ring, since a first-in first-out queue that acts on arrivals only knows every departure at
//! entry. Which packets may enter is decided in `link.rs`.

use tailback_core::{Backlog, Bytes, Packet, RouteCursor, Span, Time};

use crate::counters::Count;
use crate::ring::Ring;

/// A packet on its way, and when it reaches the far end.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub(crate) struct Slot {
    pub(crate) time: Time,
    pub(crate) packet: Packet,
}

const _: () = assert!(size_of::<Slot>() == 32, "two slots per cache line");

/// Packets in the order in which they reach the far end. Those up to `started` have begun transmission; the rest
/// wait. In the staged form of a link only transmitted packets are here, so that none waits.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) ring: Ring<Slot>,
    pub(crate) delay: Span,
    waiting_bytes: Bytes,
    /// Sum of transmission starts minus sum of arrivals, over packets that had to wait; wraps harmlessly. Adding
    /// `now` once per waiting packet gives the integral of the queue over time.
    pub(crate) area: u64,
    pub(crate) started: u32,
    /// The number of the timer of its head; it stands here as there is room for it.
    pub(crate) timer: u32,
}

/// Where the packets of a track are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    pub(crate) waiting: Count,
    pub(crate) in_service: Count,
    pub(crate) propagating: Count,
    /// Time until the transmission under way ends.
    pub(crate) service_left: Span,
}

impl State {
    /// Counts a packet for which the server was free at `free` and that departs at `departs` where it is just before `now`;
    /// what lies ahead of its wait, which was counted whole as it entered.
    pub(crate) fn place(&mut self, now: Time, free: Time, departs: Time, size: Bytes) -> Span {
        if free >= now {
            self.waiting.add(size);
            return free.since(now);
        }
        if departs >= now {
            self.in_service.add(size);
            self.service_left = departs.since(now);
        } else {
            self.propagating.add(size);
        }
        Span::ZERO
    }
}

impl Track {
    pub(crate) fn new(delay: Span) -> Self {
        Self { ring: Ring::new(), delay, waiting_bytes: Bytes::ZERO, area: 0, started: 0, timer: 0 }
    }

    pub(crate) fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// What waits at `now`, where a transmission that ends now has ended.
    #[inline(always)]
    pub(crate) fn backlog(&mut self, now: Time) -> Backlog {
        self.advance(now);
        Backlog { packets: self.ring.len() - self.started, bytes: self.waiting_bytes }
    }

    /// Lets begin what has begun by `now`. A waiting packet begins when the one before it departs.
    #[inline(always)]
    fn advance(&mut self, now: Time) {
        while self.started < self.ring.len() {
            let Some(before) = self.started.checked_sub(1).and_then(|index| self.ring.get(index)) else {
                break;
            };
            let departs = before.time - self.delay;
            if departs > now {
                break;
            }
            self.begin(departs);
        }
    }

    #[inline]
    fn begin(&mut self, at: Time) {
        if let Some(slot) = self.ring.get(self.started) {
            self.waiting_bytes -= slot.packet.size();
            self.area = self.area.wrapping_add(at.as_nanos());
            self.started += 1;
        }
    }

    /// Takes in a packet whose transmission ends at `departs`; it begins now if the server is `idle`, otherwise it
    /// waits. Gives its arrival at the far end if it is the only one on its way.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        now: Time,
        idle: bool,
        departs: Time,
        packet: Packet,
        route: RouteCursor,
    ) -> Option<Time> {
        if idle {
            self.started += 1;
        } else {
            self.waiting_bytes += packet.size();
            self.area = self.area.wrapping_sub(now.as_nanos());
        }
        self.lay(departs, packet, route)
    }

    /// Lays a packet into the ring. Gives its arrival at the far end if it is the only one on its way.
    #[inline(always)]
    pub(crate) fn lay(&mut self, departs: Time, packet: Packet, route: RouteCursor) -> Option<Time> {
        let time = departs.after(self.delay);
        let was_empty = self.ring.is_empty();
        self.ring.push(Slot { time, packet }).packet.route = route;
        was_empty.then_some(time)
    }

    /// Takes in a packet whose stay before the wire is counted elsewhere. Gives its arrival at the far end if it is the only
    /// one on its way.
    #[inline(always)]
    pub(crate) fn push_arriving(
        &mut self,
        arrives: Time,
        packet: Packet,
        route: RouteCursor,
    ) -> Option<Time> {
        self.started += 1;
        self.lay(arrives - self.delay, packet, route)
    }

    /// Takes in a packet that has just been transmitted. No packet overtakes another, also when the delay falls.
    #[inline]
    pub(crate) fn push_transmitted(&mut self, now: Time, packet: Packet) -> Option<Time> {
        let last = self.ring.len().checked_sub(1).and_then(|index| self.ring.get(index));
        let time = (now + self.delay).max(last.map_or(Time::ZERO, |slot| slot.time));
        let was_empty = self.ring.is_empty();
        self.ring.push(Slot { time, packet });
        self.started += 1;
        was_empty.then_some(time)
    }

    /// Takes in a packet whose transmission has just begun and ends at `departs`, at a link whose delay never changes. Gives
    /// its arrival at the far end if it is the only one on its way.
    #[inline]
    pub(crate) fn push_begun(&mut self, departs: Time, packet: Packet) -> Option<Time> {
        self.started += 1;
        self.lay(departs, packet, packet.route)
    }

    /// Takes the head, and says when the next one is due.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> (Packet, Time) {
        let slot = *self.ring.head();
        let next = self.ring.remove_head().map_or(Time::NEVER, |head| head.time);
        self.started -= 1;
        if self.started == 0 {
            // Nothing behind the head had been seen to begin: the next, if any, began when the head departed.
            self.begin(slot.time - self.delay);
        }
        (slot.packet, next)
    }

    /// See [`Ring::upcoming`].
    #[inline(always)]
    pub(crate) fn upcoming(&self) -> Option<&Packet> {
        self.ring.upcoming().map(|slot| &slot.packet)
    }

    /// Where the packets are just before `now`: readers come between events, when everything before `now` has
    /// happened and nothing at it.
    pub(crate) fn state(&mut self, now: Time, busy_until: Time) -> State {
        self.advance(now - Span::from_nanos(1));
        let mut state = State {
            waiting: Count { packets: u64::from(self.ring.len() - self.started), bytes: self.waiting_bytes },
            ..State::default()
        };
        let transmitting = busy_until >= now && self.started > 0;
        let on_wire = self.started - u32::from(transmitting);
        for slot in self.ring.iter().take(on_wire as usize) {
            state.propagating.add(slot.packet.size());
        }
        if transmitting && let Some(slot) = self.ring.get(on_wire) {
            state.in_service.add(slot.packet.size());
            state.service_left = (slot.time - self.delay).since(now);
        }
        state
    }

    /// The integral of waiting packets over time up to `now`; `waiting` is what [`Track::state`] gave for `now`.
    pub(crate) fn waiting_area(&self, now: Time, waiting: Count) -> u64 {
        self.area.wrapping_add(waiting.packets.wrapping_mul(now.as_nanos()))
    }

    /// Everything in the ring, for the staged form, where all of it propagates.
    pub(crate) fn contents(&self) -> Count {
        let mut all = Count::default();
        for slot in self.ring.iter() {
            all.add(slot.packet.size());
        }
        all
    }
}
