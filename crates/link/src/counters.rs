//! Exact counts of what happened at a link. They always balance; see [`LinkCounters::is_balanced`].

use std::cmp::Reverse;

use tailback_core::{Bytes, DropReason, Span, Time};

use crate::direct::State;
use crate::link::{Cold, Link, Mode};

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many packets.
    pub packets: u64,
    /// How many bytes on the wire.
    pub bytes: Bytes,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, size: Bytes) {
        self.packets += 1;
        // No run carries 2⁶⁴ bytes; saturating here costs every hop three instructions.
        self.bytes = Bytes::new(self.bytes.get().wrapping_add(size.get()));
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// A link's counters and state at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkCounters {
    /// Offered to the link, dropped ones included.
    pub arrived: Count,
    /// Transmissions ended.
    pub transmitted: Count,
    /// Handed over at the far end; copies made by duplication included.
    pub delivered: Count,
    /// Dropped, by [`DropReason`].
    pub dropped: [Count; DropReason::NAMES.len()],
    /// Copies made by duplication.
    pub duplicated: Count,
    /// Marks set by the discipline.
    pub marked: u64,
    /// Waiting, not counting the packet in transmission.
    pub waiting: Count,
    /// In transmission.
    pub in_service: Count,
    /// Transmitted and not yet at the far end.
    pub propagating: Count,
    /// How long the server has transmitted.
    pub busy: Span,
    /// What the link could have transmitted: its rate over time, or the opportunities of its trace. Of a governed link, at
    /// its nominal rate.
    pub capacity: Bytes,
    /// How long what waits will take to leave, if nothing overtakes it; `None` while nothing says when.
    pub drain: Option<Span>,
    /// The integral of waiting packets over time, in packet-nanoseconds: differences divided by time give means.
    pub waiting_area: u64,
}

impl LinkCounters {
    /// All drops.
    pub fn dropped_total(&self) -> Count {
        self.dropped.iter().fold(Count::default(), |sum, count| sum.plus(*count))
    }

    /// Drops for one reason.
    pub fn dropped_for(&self, reason: DropReason) -> Count {
        self.dropped[reason as usize]
    }

    /// Whether every packet that came in, or was copied, is accounted for exactly once.
    pub fn is_balanced(&self) -> bool {
        let into = self.arrived.plus(self.duplicated);
        let out = self
            .delivered
            .plus(self.dropped_total())
            .plus(self.waiting)
            .plus(self.in_service)
            .plus(self.propagating);
        into == out
    }
}

impl Link {
    /// Everything countable, as of `now`. What was delivered follows from the rest, so that a packet on its way
    /// through need not touch the counters twice; the law tests compare it with what arrived at the next place.
    pub fn counters(&mut self, now: Time) -> LinkCounters {
        let mut nothing = Cold::default();
        let cold = self.cold.as_deref_mut().unwrap_or(&mut nothing);
        let (state, waiting_area, busy);
        if let Some(staged) = &mut cold.staged {
            let (waiting, in_service) = staged.state();
            state = State { waiting, in_service, propagating: self.track.contents(), ..State::default() };
            waiting_area = staged.waiting_area(now);
            busy = Some(staged.busy().saturating_sub(self.server.busy_until().since(now)));
        } else if self.mode == Mode::Open {
            (state, waiting_area) = self.track.look(now);
            busy = None;
        } else {
            state = self.track.state(now, self.server.busy_until());
            waiting_area = self.track.waiting_area(now, state.waiting);
            busy = None;
        }
        let (capacity, drain) = if let Some(staged) = &cold.staged {
            (staged.capacity(&self.server, now), staged.drain(&self.server, now, state.waiting.bytes))
        } else {
            let rate = self.server.rate();
            (rate.bytes_in(now.since(Time::ZERO)), Some(rate.span_of(state.waiting.bytes)))
        };
        let State { waiting, in_service, mut propagating, service_left } = state;
        for Reverse(late) in &cold.late {
            propagating.add(late.packet.size());
        }
        let dropped = cold.dropped.iter().fold(Count::default(), |sum, count| sum.plus(*count));
        let accepted = self.arrived.minus(dropped.minus(cold.lost_on_wire));
        let transmitted = accepted.minus(waiting).minus(in_service);
        let into = self.arrived.plus(cold.duplicated);
        let delivered = into.minus(dropped).minus(waiting).minus(in_service).minus(propagating);
        LinkCounters {
            arrived: self.arrived,
            transmitted,
            delivered,
            dropped: cold.dropped,
            duplicated: cold.duplicated,
            marked: cold.marked,
            waiting,
            in_service,
            propagating,
            // At a rate that never changed, busy time is what the bytes take.
            busy: busy.unwrap_or_else(|| {
                self.server.rate().span_of(transmitted.bytes + in_service.bytes).saturating_sub(service_left)
            }),
            waiting_area,
            capacity,
            drain,
        }
    }
}
