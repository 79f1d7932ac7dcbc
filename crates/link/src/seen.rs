//! What looks remember of a long wire in shared slots, so that each packet on it is walked to once, and not at every look. What
//! a look tells is in `look.rs`; a short wire is walked whole (`open.rs`).

use std::collections::VecDeque;

use tailback_core::{Bytes, Span, Time};

use crate::counters::Count;
use crate::direct::State;
use crate::feed::Coming;
use crate::slots::{Chain, Slots};

/// A packet that was on the wire.
#[derive(Clone, Copy, Debug)]
struct Entry {
    departs: Time,
    size: u32,
    slot: u32,
}

impl Entry {
    fn count(&self) -> Count {
        Count { packets: 1, bytes: Bytes::new(self.size.into()) }
    }
}

/// The packets of a wire at the last look, from the head on, without those that were to come only.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    entries: VecDeque<Entry>,
    /// How many of these have begun transmission.
    begun: usize,
    /// The same with their bytes, and the others.
    on_the_way: Count,
    waiting: Count,
    /// Sum of the times at which the others begin; wraps harmlessly.
    beginnings: u64,
}

impl Seen {
    /// With more packets on the wire than that, what looks have seen is worth remembering.
    pub(crate) const MANY: u32 = 64;

    /// What [`Track::look`](crate::direct::Track::look) gives of the packets of `chain`, of which the last arrives at `last`, with
    /// the wait that lies ahead in the place of the integral. From its departure to its arrival a packet takes `delay`.
    pub(crate) fn look(
        &mut self,
        now: Time,
        to_come: &[Coming],
        (slots, chain): (&Slots, &Chain),
        (last, delay): (Time, Span),
    ) -> (State, u64) {
        let here = (chain.len as usize).saturating_sub(to_come.len());
        self.go_on(now, delay);
        if self.entries.len() > here || self.entries.front().map(|first| first.slot) != slots.head(chain) {
            *self = Self::default();
        }
        let seen = self.entries.len();
        let (start, known) = match self.entries.back() {
            Some(newest) => ((newest.slot, newest.departs + delay), 1),
            None => (slots.start(chain, last), 0),
        };
        let unseen = slots.from(start).skip(known);
        let (mut free, mut to_wait) = (self.free(seen), 0_u64);
        for (index, (slot, arrives, packet)) in (seen..chain.len as usize).zip(unseen) {
            let departs = arrives - delay;
            if index < here {
                let size = packet.size();
                self.entries.push_back(Entry { departs, size: size.get() as u32, slot });
                self.waiting.add(size);
                self.beginnings = self.beginnings.wrapping_add(free.as_nanos());
            } else {
                // Its whole wait lies ahead.
                to_wait = to_wait.wrapping_add(free.since(to_come[index - here].at).as_nanos());
            }
            free = departs;
        }
        self.go_on(now, delay);
        let ahead = self.beginnings.wrapping_sub(now.as_nanos().wrapping_mul(self.waiting.packets));
        (self.state(now), ahead.wrapping_add(to_wait))
    }

    /// When the server is free for the one at `index`: as the one before it departs. That before the first one has reached the
    /// far end, and when it departed no longer matters.
    fn free(&self, index: usize) -> Time {
        index.checked_sub(1).map_or(Time::ZERO, |before| self.entries[before].departs)
    }

    /// Lets begin and arrive what has done so before `now`.
    fn go_on(&mut self, now: Time, delay: Span) {
        while let Some(next) = self.entries.get(self.begun)
            && self.free(self.begun) < now
        {
            let one = next.count();
            self.beginnings = self.beginnings.wrapping_sub(self.free(self.begun).as_nanos());
            (self.waiting, self.on_the_way) = (self.waiting.minus(one), self.on_the_way.plus(one));
            self.begun += 1;
        }
        while let Some(first) = self.entries.front().filter(|first| first.departs + delay < now) {
            self.on_the_way = self.on_the_way.minus(first.count());
            self.begun -= 1;
            self.entries.pop_front();
        }
    }

    /// Where the packets are just before `now`.
    fn state(&self, now: Time) -> State {
        let mut state = State { waiting: self.waiting, propagating: self.on_the_way, ..State::default() };
        let newest = self.begun.checked_sub(1).map(|newest| self.entries[newest]);
        if let Some(newest) = newest.filter(|newest| newest.departs >= now) {
            state.in_service = newest.count();
            state.propagating = state.propagating.minus(state.in_service);
            state.service_left = newest.departs.since(now);
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailback_core::{BitRate, Capacity, FlowId, Kind, Packet, RouteCursor};
    use tailback_qdisc::{BuildCx, Config, KnownFlows};

    use super::*;
    use crate::link::Link;
    use crate::spec::LinkSpec;

    /// A link without a bound, where a byte takes a nanosecond.
    fn link(delay: Span) -> Link {
        let rate = BitRate::from_bits_per_sec(8_000_000_000);
        let cx = BuildCx {
            capacity: Capacity::Unlimited,
            rate,
            mean_packet: Bytes::new(10),
            flows: KnownFlows::default(),
        };
        Link::new(LinkSpec::new("wire", rate, delay, Config::default().build(&cx)), 1)
    }

    proptest! {
        /// Every look finds the same as a walk along the whole wire, whatever enters, leaves or is to come only.
        #[test]
        fn looks_agree_with_whole_walks(
            delay in prop_oneof![Just(0_u64), 0_u64..200],
            steps in prop::collection::vec((0_u64..60, any::<bool>(), prop::collection::vec((0_u64..40, 0_u64..60), 0..6)), 1..80),
        ) {
            let delay = Span::from_nanos(delay);
            let (mut link, mut slots, mut seen) = (link(delay), Slots::new(1), Seen::default());
            let (mut now, mut head, mut entered) = (Time::ZERO, Time::NEVER, Vec::new());
            for (pause, looks, enter) in steps {
                now += Span::from_nanos(pause);
                while head < now {
                    (_, head) = link.take_laid(0, head, &mut slots);
                }
                entered.retain(|coming: &Coming| coming.at >= now);
                if looks {
                    let last = link.last_arrives();
                    let walk = (slots.along(&link.chain, last), link.chain.len);
                    let (state, area) = link.track.look(now, &entered, walk);
                    let (seen, ahead) = seen.look(now, &entered, (&slots, &link.chain), (last, delay));
                    prop_assert_eq!(format!("{:?}", seen), format!("{:?}", state));
                    prop_assert_eq!(link.track.area.wrapping_sub(ahead), area);
                }
                for (gap, size) in enter {
                    let at = entered.last().map_or(now, |newest| newest.at) + Span::from_nanos(gap);
                    let packet = Packet::new(Kind::Data, FlowId(0), 0, Bytes::new(size));
                    entered.push(Coming { to: 0, at, size: packet.size() });
                    let pass = link.pass(at, packet.size()).expect("the wire has room");
                    if link.keep(pass, packet, RouteCursor(0), &mut slots) {
                        head = pass.arrives;
                    }
                }
            }
        }
    }
}
