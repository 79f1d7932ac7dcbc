//! Tests of links on which there is as much as no network holds: they take nothing more, whichever way packets come. What a
//! network makes of that is tested in the crate `sim`.

use tailback_core::{
    Annexes, BitRate, Bytes, Capacity, DropReason, FlowId, Kind, LinkId, Packet, RouteCursor, Span, Time,
};
use tailback_qdisc::{BuildCx, Config, KnownFlows};

use crate::driver::{LinkCx, LinkDriver, LinkTimers};
use crate::feed::MOST;
use crate::impairment::LossModel;
use crate::link::{Link, Offer};
use crate::shared::Laid;
use crate::slots::Slots;
use crate::spec::LinkSpec;

const RATE: BitRate = BitRate::from_bits_per_sec(8_000_000);

/// A link without a bound: a packet takes a millisecond and then a second.
fn link(change: impl FnOnce(&mut LinkSpec)) -> Link {
    let cx = BuildCx {
        capacity: Capacity::Unlimited,
        rate: RATE,
        mean_packet: Bytes::new(1000),
        flows: KnownFlows::default(),
    };
    let mut spec = LinkSpec::new("full", RATE, Span::from_secs(1), Config::default().build(&cx));
    change(&mut spec);
    let mut link = Link::new(spec, 1);
    link.settle(LinkTimers::default(), &mut Nobody);
    link
}

/// Keeps no timers.
struct Nobody;

impl LinkDriver for Nobody {
    const PACKETS: bool = false;
    fn arm(&mut self, _timer: u32, _at: Time) {}
    fn served(&mut self, _now: Time, _link: LinkId, _packet: &Packet, _begins: Time, _ends: Time) {}
    fn dropped(&mut self, _now: Time, _link: LinkId, _packet: &Packet, _reason: DropReason) {}
}

fn packet(number: u64) -> Packet {
    Packet::new(Kind::Data, FlowId(0), number, Bytes::new(1000))
}

#[test]
fn a_link_whose_packets_lie_in_shared_slots() {
    let (mut link, mut slots) = (link(|_| {}), Slots::new(1));
    let mut lay = |link: &mut Link, number| link.lay(Time::ZERO, packet(number), RouteCursor(0), &mut slots);
    assert_eq!(lay(&mut link, 0), Laid::First(Time::ZERO + Span::from_millis(1001)));
    assert_eq!(link.count_on_wire(Capacity::MOST_PACKETS - 1), 1);
    assert_eq!(lay(&mut link, 1), Laid::Behind);
    assert_eq!(lay(&mut link, 2), Laid::Full);
    assert_eq!(link.count_on_wire(2), Capacity::MOST_PACKETS);
    // What had no room took none of the server's time.
    assert_eq!(lay(&mut link, 3), Laid::Behind);
    assert_eq!(link.last_arrives(), Time::ZERO + Span::from_millis(1003));
    assert_eq!(link.arrived.packets, 4);
}

#[test]
fn a_link_with_a_ring_of_its_own() {
    let mut link = link(|_| {});
    let offer =
        |link: &mut Link, number| link.offer(link.entrance(), Time::ZERO, packet(number), RouteCursor(0));
    assert!(matches!(offer(&mut link, 0), Offer::Leads(..)));
    assert_eq!(link.track.ring.count(Capacity::MOST_PACKETS), 1);
    assert!(matches!(offer(&mut link, 1), Offer::Overflow));
    link.track.ring.count(1);
    assert!(matches!(offer(&mut link, 2), Offer::Queued));
}

#[test]
fn a_link_that_feeds_another() {
    let mut link = link(|_| {});
    link.begin_to_feed();
    for number in 0..MOST as u64 {
        assert!(link.feed(Time::ZERO, &packet(number), 1).is_some(), "{number}");
    }
    assert_eq!(link.feed(Time::ZERO, &packet(0), 1), None);
    assert!(matches!(link.offer_beside(Time::ZERO, packet(0), RouteCursor(0)), Offer::Overflow));
    let first_arrives = Time::ZERO + Span::from_millis(1001);
    assert_eq!(link.feed(first_arrives - Span::from_nanos(1), &packet(0), 1), None);
    // The first one has reached the far end, and leaves its place; the server has long been free.
    let next = link.feed(first_arrives, &packet(0), 1);
    assert_eq!(next, Some(first_arrives + Span::from_millis(1001)));
}

#[test]
fn a_link_that_feeds_another_and_has_more_to_say() {
    let never = LossModel::Independent { probability: 0.0 };
    let mut link = link(|spec| spec.loss_before_queue = Some(never));
    link.begin_to_feed();
    let mut annexes = Annexes::new();
    let mut feed = |now, number| {
        let mut cx = LinkCx { now, id: LinkId(0), annexes: &mut annexes, driver: Nobody };
        link.feed_at_length(packet(number), 1, &mut cx)
    };
    for number in 0..MOST as u64 {
        assert!(feed(Time::ZERO, number).is_some(), "{number}");
    }
    assert_eq!(feed(Time::ZERO, 0), None);
    assert!(feed(Time::ZERO + Span::from_millis(1001), 0).is_some());
    let counters = link.counters(Time::ZERO + Span::from_millis(1002));
    assert_eq!(counters.dropped_for(DropReason::Overflow).packets, 1);
    assert!(counters.is_balanced(), "{counters:?}");
}
