//! What a link tells of itself at one instant: counts that follow from the few that packets touch. What the counts mean
//! stands in `counters.rs`.

use std::cmp::Reverse;

use tailback_core::{Span, Time};

use crate::counters::{Count, LinkCounters};
use crate::direct::State;
use crate::feed::Coming;
use crate::link::{Cold, Link, Mode};
use crate::seen::Seen;
use crate::slots::Slots;

/// What a look at a link finds that does not follow from counts.
struct Found {
    /// Where its packets are.
    state: State,
    /// The integral of waiting packets over time.
    waiting_area: u64,
    /// How long it was busy, where that does not follow from bytes and rate.
    busy: Option<Span>,
}

impl Link {
    /// Everything countable, as of `now`. What was delivered follows from the rest, so that a packet on its way
    /// through need not touch the counters twice; the law tests compare it with what arrived at the next place.
    pub fn counters(&mut self, now: Time) -> LinkCounters {
        self.counters_without(now, &[], &Slots::new(0))
    }

    /// The same where these packets, the last ones that entered, are to come only at `now` or later, and where those that lie
    /// in shared slots do so in these.
    pub fn counters_without(&mut self, now: Time, to_come: &[Coming], slots: &Slots) -> LinkCounters {
        let Found { state, waiting_area, busy } = self.find(now, to_come, slots);
        let nothing = Cold::default();
        let cold = self.cold.as_deref().unwrap_or(&nothing);
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
        let mut arrived = self.arrived;
        for coming in to_come {
            arrived = arrived.minus(Count { packets: 1, bytes: coming.size });
        }
        let dropped = cold.dropped.iter().fold(Count::default(), |sum, count| sum.plus(*count));
        let accepted = arrived.minus(dropped.minus(cold.lost_on_wire));
        let transmitted = accepted.minus(waiting).minus(in_service);
        let into = arrived.plus(cold.duplicated);
        let delivered = into.minus(dropped).minus(waiting).minus(in_service).minus(propagating);
        LinkCounters {
            arrived,
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

    /// What each form of a link knows in its own way.
    fn find(&mut self, now: Time, to_come: &[Coming], slots: &Slots) -> Found {
        let open = (self.mode == Mode::Open).then(|| self.look_open(now, to_come, slots));
        let mut nothing = Cold::default();
        let cold = self.cold.as_deref_mut().unwrap_or(&mut nothing);
        if let Some(staged) = &mut cold.staged {
            let (waiting, in_service) = staged.state(now);
            let mut propagating = match &cold.feed {
                Some(feed) => feed.contents(now, self.track.delay),
                None => self.track.contents(),
            };
            if staged.ahead {
                propagating = propagating.minus(in_service);
            }
            return Found {
                state: State { waiting, in_service, propagating, ..State::default() },
                waiting_area: staged.waiting_area(now),
                busy: Some(staged.busy().saturating_sub(self.server.busy_until().since(now))),
            };
        }
        let (state, waiting_area) = if let Some(feed) = &cold.feed {
            feed.look(now, self.track.delay)
        } else if let Some(open) = open {
            open
        } else {
            let state = self.track.state(now, self.server.busy_until());
            (state, self.track.waiting_area(now, state.waiting))
        };
        Found { state, waiting_area, busy: None }
    }

    /// What a look at a link without a bound finds: where its packets are, and the integral of waiting packets over time.
    fn look_open(&mut self, now: Time, to_come: &[Coming], slots: &Slots) -> (State, u64) {
        let last = self.last_arrives();
        if self.chain.len > Seen::MANY {
            let seen = self.cold.get_or_insert_default().seen.get_or_insert_default();
            let (state, ahead) = seen.look(now, to_come, (slots, &self.chain), (last, self.delay));
            return (state, self.track.area.wrapping_sub(ahead));
        }
        if let Some(cold) = &mut self.cold {
            cold.seen = None;
        }
        self.track.look(now, to_come, (slots.along(&self.chain, last), self.chain.len))
    }
}
