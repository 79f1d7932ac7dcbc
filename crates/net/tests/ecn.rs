//! ECN over real sockets: the field of the IP header leaves with a packet and arrives with it, over IPv4 and IPv6 on
//! loopback, and a mark that a router on the way puts there slows the sender down without a loss.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::plain::driver;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{set_ip_tos, set_ipv6_tclass};
use tailback_control::SCHEMES;
use tailback_core::{Bytes, Ecn, Event, FlowId, Kind, Packet, Span, Stream, Time};
use tailback_net::{Clock, MarkedSocket, ReceiveBuffer, SendBuffer};
use tailback_transport::source::AnySource;
use tailback_transport::wire::{decode, encode};
use tailback_transport::{EcnMode, Receiver, ReceiverConfig, Sender, StreamConfig};

const FLOW: FlowId = FlowId(3);
const LOOPBACKS: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];
/// Far beyond what is needed; only a hang gets there.
const DEADLINE: Time = Time::from_nanos(60_000_000_000);
const TURN: Span = Span::from_millis(5);

fn sockets(address: &str) -> (UdpSocket, UdpSocket) {
    let bind = || UdpSocket::bind(address).expect("a loopback socket");
    let (a, b) = (bind(), bind());
    a.connect(b.local_addr().expect("bound")).expect("connects");
    b.connect(a.local_addr().expect("bound")).expect("connects");
    (a, b)
}

/// Datagrams that arrive within a deadline, until there are so many.
fn collect(socket: &MarkedSocket, count: usize) -> Vec<(Vec<u8>, Ecn)> {
    let (clock, mut all, mut buffer) = (Clock::start(), Vec::new(), vec![0; 65_536]);
    while all.len() < count && clock.now() < DEADLINE {
        wait(socket);
        if let Ok(arrived) = socket.receive(&mut buffer) {
            all.extend(arrived.datagrams(&buffer).map(|datagram| (datagram.to_vec(), arrived.ecn)));
        }
    }
    all
}

fn wait(socket: &MarkedSocket) {
    let timeout = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)).expect("polls");
}

fn data(number: u64, ecn: Ecn) -> Packet {
    let mut packet = Packet::new(Kind::Data, FLOW, number, Bytes::new(44));
    packet.set_ecn(ecn);
    packet
}

fn frame(packet: &Packet) -> Vec<u8> {
    let mut frame = Vec::new();
    encode(packet, None, packet.number * 4, b"four", &mut frame).expect("encodes");
    frame
}

#[test]
fn every_codepoint_crosses_both_protocols() {
    for address in LOOPBACKS {
        let (here, there) = sockets(address);
        let (here, there) =
            (MarkedSocket::new(here).expect("set up"), MarkedSocket::new(there).expect("set up"));
        let codepoints = [Ecn::Ect0, Ecn::NotEct, Ecn::Ce, Ecn::Ect1, Ecn::NotEct];
        for (index, ecn) in codepoints.into_iter().enumerate() {
            here.send(&vec![7; index], ecn).expect("sends");
        }
        let arrived = collect(&there, codepoints.len());
        let expected: Vec<_> =
            codepoints.iter().enumerate().map(|(index, ecn)| (vec![7; index], *ecn)).collect();
        assert_eq!(arrived, expected, "{address}");
    }
}

#[test]
fn marks_of_the_ip_header_reach_the_endpoint() {
    for address in LOOPBACKS {
        let (here, there) = sockets(address);
        let receiver = Receiver::new(FLOW, ReceiverConfig::default());
        let buffer = ReceiveBuffer::new(Bytes::new(40), Bytes::new(10_000));
        let mut driver =
            driver(there, FLOW, receiver, buffer, Stream::new(1, "receiver"), None).expect("a driver");
        // The peer is a plain socket whose TOS a router could have rewritten: capable, marked, marked but not capable.
        let tos = |value: u8| {
            if here.local_addr().expect("bound").is_ipv4() {
                set_ip_tos(&here, value).expect("sets the TOS");
            } else {
                set_ipv6_tclass(&here, value.into()).expect("sets the traffic class");
            }
        };
        for (number, ecn, value) in
            [(0, Ecn::Ect0, 2), (1, Ecn::Ect0, 3), (2, Ecn::NotEct, 3), (2, Ecn::NotEct, 0)]
        {
            tos(value);
            here.send(&frame(&data(number, ecn))).expect("sends");
        }
        let clock = Clock::start();
        while driver.counters().received < 4 && clock.now() < DEADLINE {
            driver.turn(TURN).expect("goes on");
        }
        let counters = driver.counters();
        assert_eq!(
            (counters.received, counters.marked, counters.refused),
            (4, 2, 1),
            "{address}: RFC 6040 §4.2"
        );
        assert_eq!(driver.endpoint().counters().ce_marked, 1);
        assert_eq!(driver.endpoint().next_expected(), 3);
        let here = MarkedSocket::new(here).expect("set up");
        let acks = collect(&here, 3);
        let echoes: Vec<bool> =
            acks.iter().map(|(bytes, _)| decode(bytes).expect("a frame").packet.ecn_echo()).collect();
        assert_eq!(echoes, [false, true, true], "{address}: echoed from the mark on");
        assert!(acks.iter().all(|(_, ecn)| *ecn == Ecn::NotEct), "RFC 3168 §6.1.4");
    }
}

/// Passes datagrams on between two sockets until told to stop, and marks every `every`-th capable one in its IP
/// header; how many it marked.
fn router(
    toward_sender: &MarkedSocket,
    toward_receiver: &MarkedSocket,
    every: u64,
    stop: &AtomicBool,
) -> u64 {
    let (mut capable, mut marked, mut buffer) = (0_u64, 0, vec![0; 65_536]);
    while !stop.load(Ordering::Relaxed) {
        wait(toward_sender);
        for (from, to) in [(toward_sender, toward_receiver), (toward_receiver, toward_sender)] {
            while let Ok(arrived) = from.receive(&mut buffer) {
                for datagram in arrived.datagrams(&buffer) {
                    let mut ecn = arrived.ecn;
                    if ecn != Ecn::NotEct {
                        capable += 1;
                        if capable.is_multiple_of(every) {
                            (ecn, marked) = (Ecn::Ce, marked + 1);
                        }
                    }
                    // A full buffer is a loss, which the endpoints repair.
                    let _ = to.send(datagram, ecn);
                }
            }
        }
    }
    marked
}

#[test]
fn marks_on_the_way_slow_the_sender_without_a_loss() {
    let info = SCHEMES.iter().find(|info| info.name == "sack").expect("registered");
    let config = StreamConfig {
        ecn: EcnMode::Ect0,
        window_limit: Some(tailback_core::DataAmount::Packets(32.0)),
        ..StreamConfig::default()
    };
    let header = config.header;
    let parts = (info.default)().build(&config.controller_params());
    let receiver_config = ReceiverConfig { delivery_events: true, ..ReceiverConfig::default() };
    let receiver = Receiver::new(FLOW, receiver_config.matching(&config));
    let sender = Sender::new(FLOW, config, parts.controller, AnySource::pushed());
    let (sender_side, router_a) = sockets(LOOPBACKS[0]);
    let (router_b, receiver_side) = sockets(LOOPBACKS[0]);
    let stop = Arc::new(AtomicBool::new(false));

    let told = Arc::clone(&stop);
    let relay = thread::spawn(move || {
        let (a, b) =
            (MarkedSocket::new(router_a).expect("set up"), MarkedSocket::new(router_b).expect("set up"));
        router(&a, &b, 50, &told)
    });
    let told = Arc::clone(&stop);
    let reader = thread::spawn(move || {
        let buffer = ReceiveBuffer::new(header, Bytes::new(1_000_000));
        let rng = Stream::new(1, "receiver");
        let mut driver = driver(receiver_side, FLOW, receiver, buffer, rng, None).expect("a driver");
        let mut arrived = Vec::new();
        while !told.load(Ordering::Relaxed) {
            driver.turn(TURN).expect("goes on");
            arrived.extend(driver.read());
        }
        (arrived, driver.counters().marked, driver.endpoint().counters().ce_marked)
    });

    let payload: Vec<u8> = (0..500_000_u32).map(|i| (i % 251) as u8).collect();
    let rng = Stream::new(1, "sender");
    let mut driver = driver(sender_side, FLOW, sender, SendBuffer::new(header), rng, None).expect("a driver");
    driver.write(&payload).expect("writes");
    driver.close().expect("closes");
    let clock = Clock::start();
    while !driver.turn(TURN).expect("goes on").contains(&Event::Finished) {
        assert!(clock.now() < DEADLINE, "{} bytes are left", driver.kept());
    }
    stop.store(true, Ordering::Relaxed);
    let marked = relay.join().expect("the router ends");
    let (arrived, seen, counted) = reader.join().expect("the receiver ends");
    assert_eq!(arrived, payload);
    assert!(marked >= 10, "521 packets, one in 50 marked: {marked}");
    assert_eq!((seen, counted), (marked, marked), "no mark is lost");
    let counters = driver.endpoint().counters();
    assert!(counters.ecn_reductions > 0 && counters.ecn_reductions <= marked, "{counters:?}");
}
