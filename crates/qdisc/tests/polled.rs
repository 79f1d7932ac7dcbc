//! Every discipline behind a server that polls by a jittery clock, as a real router does: packets come in batches and
//! go out in batches, early or late; timers are late; flows and packets are numbered as hashes are. The exact server of
//! the other tests lives in `common`.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::{RATE, all, link};
use proptest::prelude::*;
use tailback_core::{
    Annexes, Bytes, Capacity, DropReason, Ecn, FlowId, Kind, Lane, Packet, QueueCx, QueueDiscipline, Span,
    Stream, Time,
};
use tailback_qdisc::{Config, Discipline};

/// Flow numbers far apart, some of them the largest that there are.
const FLOWS: [u32; 6] = [0xdead_beef, 7, u32::MAX - 90, 4_194_304, 0x8000_0000, 4_194_303];

/// What happens at one turn of the poll.
#[derive(Clone, Debug)]
struct Turn {
    /// Microseconds since the turn before; none where the clock is coarse.
    gap: u64,
    /// Flow, bytes, ECN field and lane of each packet that came meanwhile.
    arrivals: Vec<(usize, u64, u8, u8)>,
    /// How many packets the device takes.
    room: usize,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let gap = prop_oneof![Just(0_u64), 1_u64..300, 300_u64..9000, Just(700_000)];
    let arrival = (0..FLOWS.len(), 40_u64..=9000, 0_u8..4, 0_u8..8);
    let turn = (gap, prop::collection::vec(arrival, 0..9), 0_usize..6);
    prop::collection::vec(turn.prop_map(|(gap, arrivals, room)| Turn { gap, arrivals, room }), 1..80)
}

struct Poll {
    queue: Discipline,
    rng: Stream,
    annexes: Annexes,
    drops: Vec<(Packet, DropReason)>,
    now: Time,
    idle_since: Option<Time>,
    /// The packets inside, and each flow's in order of arrival.
    inside: BTreeMap<u64, Packet>,
    order: BTreeMap<u32, Vec<u64>>,
}

impl Poll {
    fn call<T>(&mut self, act: impl FnOnce(&mut Discipline, Time, &mut QueueCx<'_>) -> T) -> T {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: RATE,
            idle_since: self.idle_since,
            drops: &mut self.drops,
            marks: 0,
        };
        let result = act(&mut self.queue, self.now, &mut cx);
        for (packet, _) in self.drops.drain(..) {
            assert!(self.inside.remove(&packet.number).is_some(), "dropped what was not inside");
            self.order.entry(packet.flow.0).or_default().retain(|number| *number != packet.number);
        }
        result
    }

    fn arrive(&mut self, number: u64, (flow, size, ecn, lane): (usize, u64, u8, u8)) {
        // Numbers neither grow nor are dense.
        let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut packet = Packet::new(Kind::Data, FlowId(FLOWS[flow]), number, Bytes::new(size));
        packet.set_ecn([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ecn)]);
        packet.set_lane(Lane::new(lane).unwrap_or_default());
        self.inside.insert(number, packet);
        self.order.entry(packet.flow.0).or_default().push(number);
        self.call(|queue, now, cx| queue.enqueue(now, packet, cx));
        self.idle_since = None;
    }

    fn fire(&mut self) {
        if self.queue.next_timer().is_some_and(|due| due <= self.now) {
            self.call(QueueDiscipline::on_timer);
        }
    }

    /// Takes one packet; whether there was one.
    fn take(&mut self, reorders: bool) -> bool {
        let Some(packet) = self.call(QueueDiscipline::dequeue) else {
            let waiting = self.queue.backlog().packets > 0;
            let ready = self.queue.next_ready(self.now);
            assert!(!waiting || ready.is_some_and(|ready| ready > self.now), "{ready:?} at {}", self.now);
            if !waiting {
                self.idle_since.get_or_insert(self.now);
            }
            return false;
        };
        let before = self.inside.remove(&packet.number).expect("it was inside");
        assert_eq!((before.flow, before.size()), (packet.flow, packet.size()));
        assert!(packet.ecn() == before.ecn() || (before.is_ecn_capable() && packet.ecn() == Ecn::Ce));
        let order = self.order.entry(packet.flow.0).or_default();
        let place = order.iter().position(|number| *number == packet.number).expect("it was in order");
        assert!(place == 0 || reorders, "a flow is reordered");
        order.remove(place);
        true
    }

    fn check(&self) {
        let backlog = self.queue.backlog();
        assert_eq!(backlog.packets as usize, self.inside.len(), "packets in = out + dropped + inside");
        let bytes: Bytes = self.inside.values().fold(Bytes::ZERO, |sum, packet| sum + packet.size());
        assert_eq!(backlog.bytes, bytes);
    }
}

fn play(config: &Config, capacity: Capacity, turns: &[Turn]) {
    let reorders = matches!(config, Config::Priority(_) | Config::Cake(_) | Config::DualPi2(_));
    let mut poll = Poll {
        queue: config.build(&link(capacity)).into_discipline(),
        rng: Stream::new(1, "poll"),
        annexes: Annexes::new(),
        drops: Vec::new(),
        // A wall clock does not begin at zero.
        now: Time::ZERO + Span::from_secs(1_000_000),
        idle_since: Some(Time::ZERO),
        inside: BTreeMap::new(),
        order: BTreeMap::new(),
    };
    let mut number = 0;
    for turn in turns {
        poll.now += Span::from_micros(turn.gap);
        for arrival in &turn.arrivals {
            number += 1;
            poll.arrive(number, *arrival);
        }
        poll.fire();
        for _ in 0..turn.room {
            if !poll.take(reorders) {
                break;
            }
        }
        poll.check();
    }
    // All comes out in the end, though nobody polls at just the time that was asked for.
    let mut left = 200_000;
    while poll.queue.backlog().packets > 0 {
        poll.fire();
        while poll.take(reorders) {}
        poll.check();
        let ready = poll.queue.next_ready(poll.now).unwrap_or(poll.now);
        poll.now = ready + Span::from_micros(137);
        left -= 1;
        assert!(left > 0, "{} never gives its packets out", config.name());
    }
}

proptest! {
    #![proptest_config(common::cases(20))]

    #[test]
    fn every_discipline_bears_a_jittery_clock(turns in turns(), room in prop_oneof![Just(None), (1_u32..40).prop_map(Some)]) {
        let capacity = room.map_or(Capacity::Unlimited, Capacity::Packets);
        for config in all() {
            play(&config, capacity, &turns);
        }
    }
}

#[test]
fn the_numbers_are_sparse() {
    let distinct: BTreeSet<u32> = FLOWS.into_iter().collect();
    assert_eq!(distinct.len(), FLOWS.len());
    assert!(FLOWS.iter().all(|flow| *flow > 6), "none is the place of another in a table of six");
}
