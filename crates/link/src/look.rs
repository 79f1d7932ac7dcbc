//! What a link tells of itself at one instant: counts that follow from the few that packets touch. What the counts mean
//! stands in `counters.rs`.

use std::cmp::Reverse;

use tailback_core::Time;

use crate::counters::{Count, LinkCounters};
use crate::direct::State;
use crate::feed::Coming;
use crate::link::{Cold, Link, Mode};
use crate::seen::Seen;
use crate::slots::Slots;

impl Link {
    /// Everything countable, as of `now`. What was delivered follows from the rest, so that a packet on its way
    /// through need not touch the counters twice; the law tests compare it with what arrived at the next place.
    pub fn counters(&mut self, now: Time) -> LinkCounters {
        self.counters_without(now, &[], &Slots::new(0))
    }

    /// The same where these packets, the last ones that entered, are to come only at `now` or later, and where those that lie
    /// in shared slots do so in these.
    pub fn counters_without(&mut self, now: Time, to_come: &[Coming], slots: &Slots) -> LinkCounters {
        let open = (self.mode == Mode::Open).then(|| self.look_open(now, to_come, slots));
        let mut nothing = Cold::default();
        let cold = self.cold.as_deref_mut().unwrap_or(&mut nothing);
        let (state, waiting_area, busy);
        if let Some(staged) = &mut cold.staged {
            let (waiting, in_service) = staged.state(now);
            let mut propagating = match &cold.feed {
                Some(feed) => feed.contents(now, self.track.delay),
                None => self.track.contents(),
            };
            if staged.ahead {
                propagating = propagating.minus(in_service);
            }
            state = State { waiting, in_service, propagating, ..State::default() };
            waiting_area = staged.waiting_area(now);
            busy = Some(staged.busy().saturating_sub(self.server.busy_until().since(now)));
        } else if let Some(feed) = &cold.feed {
            (state, waiting_area) = feed.look(now, self.track.delay);
            busy = None;
        } else if let Some(open) = open {
            (state, waiting_area) = open;
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
