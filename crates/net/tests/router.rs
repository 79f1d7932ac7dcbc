//! The router: what its links do to real packets, without a clock (the forwarder) and with one (over socket pairs). Between
//! network namespaces it is tested in `namespaces.rs`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::thread;
use std::time::Duration;

use crate::common::links::{MTU, link, patiently, rules, spec};
use etherparse::PacketBuilder;
use proptest::prelude::*;
use tailback_core::{BitRate, DropReason, Ecn, Span, Time};
use tailback_link::{Chance, Change, Impairments, LinkSpec, LossModel, StandaloneLink};
use tailback_net::router::{Budget, Conduct, Forwarder, Outlet, Router, Rule};

/// What has left: when it was due, by which device, and its bytes.
#[derive(Debug, Default)]
struct Left(Vec<(Time, usize, Vec<u8>)>);

impl Outlet for Left {
    fn leave(&mut self, due: Time, _arrived: Time, device: usize, bytes: &[u8]) -> bool {
        self.0.push((due, device, bytes.to_vec()));
        true
    }
}

fn forwarder(links: Vec<StandaloneLink>) -> Forwarder<()> {
    let rules = rules(links.len());
    Forwarder::new(2, links, rules, MTU, ()).expect("rules that fit")
}

/// A datagram of so many bytes in all between these ports.
fn datagram(ports: (u16, u16), ecn: Ecn, size: usize) -> Vec<u8> {
    let mut header =
        etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2])
            .expect("short");
    header.ecn = etherparse::IpEcn::try_new(ecn as u8).expect("two bits");
    let headers = etherparse::IpHeaders::Ipv4(header, etherparse::Ipv4Extensions::default());
    let mut bytes = Vec::new();
    PacketBuilder::ip(headers).udp(ports.0, ports.1).write(&mut bytes, &vec![7; size - 28]).expect("writes");
    bytes
}

/// Lets a packet in by device 0.
fn send(forwarder: &mut Forwarder<()>, at: Time, bytes: &[u8], left: &mut Left) {
    let read = |buffer: &mut [u8]| {
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    };
    assert!(forwarder.receive(at, 0, left, read).expect("reads"));
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

const END: Time = Time::from_nanos(1_000_000_000_000);

#[test]
fn every_link_of_a_route_serves_at_its_own_instants() {
    // 1000 bytes take 1 ms, then 2 ms; three come together, and the clock is not looked at for a second.
    let slow = |rate, delay| link(spec(rate, Span::from_millis(delay), 10, "\"drop-tail\""));
    let mut forwarder = forwarder(vec![slow(8_000_000, 5), slow(4_000_000, 7)]);
    let mut left = Left::default();
    for _ in 0..3 {
        send(&mut forwarder, millis(10), &datagram((1, 2), Ecn::NotEct, 1000), &mut left);
    }
    forwarder.advance(millis(1000), &mut left);
    let due: Vec<Time> = left.0.iter().map(|(due, ..)| *due).collect();
    assert_eq!(due, [millis(25), millis(27), millis(29)]);
    assert!(
        left.0.iter().all(|(_, device, bytes)| *device == 1 && *bytes == datagram((1, 2), Ecn::NotEct, 1000))
    );
    assert_eq!(forwarder.next_event(), Time::NEVER);
    assert_eq!(forwarder.inside(), 0);
}

#[test]
fn marks_in_headers_are_the_marks_that_the_queue_counted() {
    let marking = [
        r#"{"name": "red", "min": "5 packets", "max": "15 packets", "ecn": true}"#,
        r#"{"name": "codel", "ecn": true}"#,
        r#"{"name": "fq-codel", "ecn": true}"#,
        r#"{"name": "pie", "ecn": true, "mark_limit": 1.0}"#,
    ];
    for queue in marking {
        let mut forwarder = forwarder(vec![link(spec(8_000_000, Span::from_millis(5), 1000, queue))]);
        let mut left = Left::default();
        // Twice what the link carries, for two seconds: one flow of each codepoint.
        let codepoints = [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce];
        for number in 0..4000_u64 {
            let at = Time::from_nanos(number * 500_000);
            let ecn = codepoints[number as usize % 4];
            send(&mut forwarder, at, &datagram((ecn as u16, 9), ecn, 1000), &mut left);
        }
        forwarder.advance(END, &mut left);
        let counters = forwarder.link(0);
        assert!(counters.is_balanced() && forwarder.inside() == 0, "{queue}");
        let flows = forwarder.flows().to_vec();
        let of = |ecn: Ecn| *flows.iter().find(|flow| flow.key.ports.0 == ecn as u16).expect("a flow");
        assert_eq!(of(Ecn::NotEct).marked, 0, "{queue}: what is not capable is dropped");
        assert!(of(Ecn::Ect0).marked > 0 && of(Ecn::Ect1).marked > 0, "{queue}");
        let arrived_marked = left.0.iter().filter(|(.., bytes)| bytes[1] & 3 == 3).count() as u64;
        let carried: u64 = flows.iter().map(|flow| flow.marked).sum();
        assert_eq!(arrived_marked, carried + of(Ecn::Ce).left.packets, "{queue}");
        assert_eq!(forwarder.devices()[1].marked, carried, "{queue}");
        assert_eq!(counters.marked, carried, "{queue}: the queue's count");
        // Every header that leaves is right.
        for (.., bytes) in &left.0 {
            let header = etherparse::Ipv4HeaderSlice::from_slice(bytes).expect("a header").to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum(), "{queue}");
        }
    }
}

#[test]
fn copies_and_damage_do_not_touch_each_other() {
    let chance = |probability| Some(Chance { probability });
    let rough =
        |impairments| link(LinkSpec { impairments, ..spec(80_000_000, Span::ZERO, 1000, "\"drop-tail\"") });
    let twice = rough(Impairments { duplication: chance(1.0), ..Impairments::default() });
    let damaged = rough(Impairments { corruption: chance(0.5), ..Impairments::default() });
    let mut forwarder = forwarder(vec![twice, damaged]);
    let mut left = Left::default();
    let whole = datagram((1, 2), Ecn::NotEct, 500);
    for number in 0..200 {
        send(&mut forwarder, millis(number), &whole, &mut left);
    }
    forwarder.advance(END, &mut left);
    assert_eq!((left.0.len(), forwarder.inside()), (400, 0));
    let mut broken = whole.clone();
    *broken.last_mut().expect("bytes") ^= 1;
    let intact = left.0.iter().filter(|(.., bytes)| *bytes == whole).count();
    assert_eq!(intact + left.0.iter().filter(|(.., bytes)| *bytes == broken).count(), 400);
    assert!((150..250).contains(&intact), "{intact} of 400");
    let mixed = left.0.chunks(2).filter(|pair| pair[0].2 != pair[1].2).count();
    assert!(mixed > 50, "one copy whole, the other not: {mixed}");
}

#[test]
fn what_is_not_forwarded_is_counted_by_its_reason() {
    let mut forwarder: Forwarder<()> = Forwarder::new(
        2,
        Vec::new(),
        vec![Rule { to: 1, destinations: vec!["10.0.0.2".parse().expect("an address")], ..Rule::default() }],
        MTU,
        (),
    )
    .expect("fits");
    let mut left = Left::default();
    let good = datagram((1, 2), Ecn::NotEct, 100);
    let mut elsewhere = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 3], 9)
        .udp(1, 2)
        .write(&mut elsewhere, b"")
        .expect("writes");
    let mut neighbours = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [224, 0, 0, 1], 1)
        .udp(1, 2)
        .write(&mut neighbours, b"")
        .expect("writes");
    let mut padded = good.clone();
    padded.extend([0; 20]);
    for bytes in [&good, &good[..50].to_vec(), &elsewhere, &neighbours, &Vec::new(), &padded] {
        send(&mut forwarder, millis(1), bytes, &mut left);
    }
    let counters = forwarder.devices()[0];
    assert_eq!(counters.arrived.packets, 6);
    assert_eq!((counters.malformed, counters.unreachable, counters.link_local), (2, 1, 1));
    let bytes: Vec<_> = left.0.iter().map(|(.., bytes)| bytes).collect();
    assert_eq!(bytes, [&good, &good], "padding does not go on");
    assert_eq!(forwarder.inside(), 0);
}

#[test]
fn rules_that_lead_nowhere_are_refused_by_their_fields() {
    let refused = |rule| Forwarder::new(2, Vec::new(), vec![rule], MTU, ()).expect_err("refused").to_string();
    let rule = Rule { from: 0, to: 2, ..Rule::default() };
    assert_eq!(refused(rule), "rules[0].to: 2 is not allowed; expected a device below 2");
    let rule = Rule { from: 0, to: 1, route: vec![0], ..Rule::default() };
    assert_eq!(refused(rule), "rules[0].route: 0 is not allowed; expected links below 0");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every packet that comes leaves, is dropped and counted, or is inside; whatever the links do, in whatever order.
    #[test]
    fn nothing_is_lost_without_an_account(
        packets in prop::collection::vec((0..3_000_000_u64, 28..1500_usize, 0..4_u16), 1..300),
        queue in prop::sample::select(vec!["\"drop-tail\"", "\"fq-codel\"", "\"red\"", "\"pie\"", "\"priority\"", "\"deficit-round-robin\""]),
        loss in 0.0..0.3_f64,
        copied in 0.0..0.3_f64,
    ) {
        let lossy = LinkSpec {
            loss_before_queue: Some(LossModel::Independent { probability: loss }),
            impairments: Impairments {
                duplication: Some(Chance { probability: copied }),
                corruption: Some(Chance { probability: 0.1 }),
                ..Impairments::default()
            },
            ..spec(10_000_000, Span::from_millis(3), 20, queue)
        };
        let changing = LinkSpec {
            schedule: vec![Change { at: millis(100), rate: Some(BitRate::from_bits_per_sec(1_000_000)), delay: None }],
            ..spec(20_000_000, Span::from_millis(1), 10, "\"drop-tail\"")
        };
        let mut forwarder = forwarder(vec![link(lossy), link(changing)]);
        let mut left = Left::default();
        let mut now = Time::ZERO;
        for (gap, size, port) in &packets {
            now += Span::from_nanos(*gap);
            send(&mut forwarder, now, &datagram((*port, 2), Ecn::Ect0, *size), &mut left);
        }
        let flows = forwarder.flows().to_vec();
        let sum = |of: fn(&tailback_net::router::FlowTally) -> u64| flows.iter().map(of).sum::<u64>();
        let copies = forwarder.link(0).duplicated.packets;
        prop_assert_eq!(sum(|flow| flow.arrived.packets), packets.len() as u64);
        prop_assert_eq!(sum(|flow| flow.left.packets), left.0.len() as u64);
        prop_assert!(left.0.is_sorted_by_key(|(due, ..)| *due), "in the order of time");
        let gone = sum(|flow| flow.left.packets + flow.dropped.packets);
        let within = packets.len() as u64 + copies - gone;
        // Copies share one place.
        prop_assert!(forwarder.inside() as u64 <= within);
        forwarder.advance(END, &mut left);
        prop_assert_eq!(forwarder.inside(), 0);
        let (first, second) = (forwarder.link(0), forwarder.link(1));
        prop_assert!(first.is_balanced() && second.is_balanced());
        let drops = first.dropped_total().packets + second.dropped_total().packets;
        prop_assert_eq!(left.0.len() as u64, packets.len() as u64 + first.duplicated.packets - drops);
        prop_assert_eq!(first.dropped_for(DropReason::Unreachable).packets, 0);
    }
}

// ── with a clock ──

/// A socket pair: the router's end, and ours.
fn pair() -> (OwnedFd, UnixDatagram) {
    let (router, ours) = UnixDatagram::pair().expect("a socket pair");
    router.set_nonblocking(true).expect("does not block");
    ours.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    (router.into(), ours)
}

/// Runs a router between two socket pairs while `work` has them.
fn with_router<T>(
    links: Vec<LinkSpec>,
    work: impl FnOnce(&UnixDatagram, &UnixDatagram) -> T,
) -> (T, Router<()>) {
    let ((near, here), (far, there)) = (pair(), pair());
    let (stop, tell) = io::pipe().expect("a pipe");
    let routing = thread::spawn(move || {
        let rules = rules(links.len());
        let links = links.into_iter().map(link).collect();
        let mut router = Router::new(vec![near, far], links, rules, MTU, ()).expect("a router");
        router.run(Time::NEVER, &[stop.as_fd()]).expect("runs");
        router
    });
    let result = work(&here, &there);
    drop(tell);
    (result, routing.join().expect("the router ends"))
}

#[test]
fn a_delay_is_never_too_short_and_its_lateness_is_known() {
    let delay = Span::from_millis(20);
    let specs = vec![spec(1_000_000_000, delay, 100, "\"drop-tail\"")];
    let clock = tailback_net::Clock::start();
    let (waited, mut router) = with_router(specs, |here, there| {
        (0..20)
            .map(|_| {
                let began = clock.now();
                here.send(&datagram((1, 2), Ecn::NotEct, 100)).expect("sends");
                patiently(|| there.recv(&mut [0; MTU])).expect("arrives");
                clock.now().since(began)
            })
            .min()
    });
    assert!(waited >= Some(delay), "{waited:?}");
    assert_eq!(
        (router.lateness().count(), router.delays()[1].count(), router.delays()[0].count()),
        (20, 20, 0)
    );
    assert!(router.delays()[1].quantile(0.0) >= Span::from_millis(19), "cells of 0.8 %");
    // A budget of nothing is always missed, and an endless one never.
    let (nothing, endless) =
        (Budget { median: Span::ZERO, p99: Span::ZERO }, Budget { median: Span::MAX, p99: Span::MAX });
    let conduct = Conduct::of(&mut router, 0);
    assert_eq!(conduct.reasons(&nothing).len(), 2);
    assert_eq!(conduct.reasons(&endless), []);
}

#[test]
fn a_router_stops_also_while_packets_pour_in() {
    let ((near, here), (far, there)) = (pair(), pair());
    here.set_nonblocking(true).expect("does not block");
    let (stop, tell) = io::pipe().expect("a pipe");
    let (told, over) = std::sync::mpsc::channel();
    let pouring = thread::spawn(move || {
        let packet = datagram((1, 2), Ecn::NotEct, 64);
        // Until the router's end is gone.
        while !matches!(here.send(&packet), Err(error) if error.kind() != io::ErrorKind::WouldBlock) {}
        drop(there);
    });
    let routing = thread::spawn(move || {
        let mut router = Router::new(vec![near, far], Vec::new(), rules(0), MTU, ()).expect("a router");
        router.run(Time::NEVER, &[stop.as_fd()]).expect("runs");
        told.send(()).expect("somebody listens");
        router.inside().devices()[0].arrived.packets
    });
    drop(tell);
    over.recv_timeout(Duration::from_secs(20)).expect("stops");
    routing.join().expect("the router ends");
    pouring.join().expect("the sender ends");
}
