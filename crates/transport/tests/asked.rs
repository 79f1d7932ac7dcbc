//! What a receiver does about its sender's requests of acknowledgements. How requests come through a network is in
//! `asked_between_ends.rs`, their bytes are in `wire.rs`, what a scheme asks for in `crates/control`.

use crate::pipe;

use std::num::NonZeroU16;

use pipe::FLOW;
use tailback_core::{
    AckFrequency, AckRequest, Annex, Annexes, Arrival, Bytes, ControlInfo, Cx, Ecn, Endpoint, EndpointCx,
    FeedbackPolicy, Input, Kind, Lane, Outgoing, Output, Packet, Report, Span, Stream, Time,
};
use tailback_transport::{EcnEcho, Receiver, ReceiverConfig};

#[expect(clippy::unnecessary_wraps, reason = "as a wish has it")]
pub(crate) fn every(threshold: u32, millis: u64) -> Option<AckFrequency> {
    Some(AckFrequency { threshold, max_delay: Span::from_millis(millis) })
}

fn data(number: u64) -> Packet {
    Packet::new(Kind::Data, FLOW, number, Bytes::new(1000))
}

struct Bench {
    receiver: Receiver,
    annexes: Annexes,
    rng: Stream,
    wait: Option<Time>,
}

impl Bench {
    fn new(config: &ReceiverConfig) -> Self {
        let receiver = Receiver::new(FLOW, ReceiverConfig { ack_requests: true, ..config.clone() });
        Self { receiver, annexes: Annexes::new(), rng: Stream::new(1, "receiver"), wait: None }
    }

    /// The numbers that are acknowledged at once.
    fn give(&mut self, millis: u64, input: Input) -> Vec<u64> {
        let now = Time::ZERO + Span::from_millis(millis);
        let mut cx = EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: None };
        self.receiver.handle(now, input, &mut cx);
        let mut numbers = Vec::new();
        loop {
            match self.receiver.poll(now, &mut cx) {
                Output::Transmit(packet) => {
                    cx.annexes.free(packet.annex);
                    numbers.push(packet.number);
                }
                Output::Event(_) => {}
                Output::Wait(until) => {
                    self.wait = until;
                    return numbers;
                }
            }
        }
    }

    fn packet(&mut self, millis: u64, packet: Packet) -> Vec<u64> {
        self.give(millis, Input::Packet(packet))
    }

    fn plain(&mut self, millis: u64, number: u64) -> Vec<u64> {
        self.packet(millis, data(number))
    }

    /// A segment that asks.
    fn asks(&mut self, millis: u64, number: u64, sequence: u16, frequency: Option<AckFrequency>) -> Vec<u64> {
        let request = AckRequest::new(NonZeroU16::new(sequence).expect("not 0"), frequency);
        let mut packet = data(number);
        packet.annex = self.annexes.insert(Annex::Request(request));
        self.packet(millis, packet)
    }

    fn waits_until(&self) -> Option<u64> {
        self.wait.map(|wait| wait.as_nanos() / 1_000_000)
    }
}

const NONE: [u64; 0] = [];

#[test]
fn a_receiver_waits_for_as_many_packets_and_as_long_as_it_is_asked() {
    let mut bench = Bench::new(&ReceiverConfig::default());
    assert_eq!(bench.plain(0, 0), [1]);
    assert_eq!(bench.asks(1, 1, 1, every(3, 20)), NONE, "the packet that asks is the first of three");
    assert_eq!(bench.waits_until(), Some(21));
    assert_eq!(bench.plain(2, 2), NONE);
    assert_eq!(bench.plain(3, 3), [4]);
    assert_eq!(bench.waits_until(), None);
    assert_eq!(bench.plain(10, 4), NONE);
    assert_eq!(bench.give(29, Input::Timeout), NONE);
    assert_eq!(bench.give(30, Input::Timeout), [5]);
    // A shorter delay holds for what waits already.
    assert_eq!(bench.plain(40, 5), NONE);
    assert_eq!(bench.asks(45, 6, 2, every(9, 4)), NONE);
    assert_eq!(bench.waits_until(), Some(49));
    // A longer one does not.
    assert_eq!(bench.asks(46, 7, 3, every(9, 400)), NONE);
    assert_eq!(bench.waits_until(), Some(49));
    assert_eq!(bench.give(49, Input::Timeout), [8]);
    // One at a time again, by request and by configuration.
    assert_eq!(bench.plain(50, 8), NONE);
    assert_eq!(bench.asks(51, 9, 4, every(1, 400)), [10]);
    assert_eq!(bench.plain(52, 10), [11]);
    assert_eq!(bench.asks(53, 11, 5, every(2, 400)), NONE);
    assert_eq!(bench.asks(54, 12, 6, None), [13]);
    assert_eq!(bench.plain(55, 13), [14]);
}

#[test]
fn what_asks_for_nothing_more_gives_the_configuration_back() {
    let config =
        ReceiverConfig { ack_every: 2, ack_delay: Span::from_millis(30), ..ReceiverConfig::default() };
    let mut bench = Bench::new(&config);
    assert_eq!(bench.asks(0, 0, 1, every(5, 7)), NONE);
    assert_eq!(bench.waits_until(), Some(7));
    assert_eq!(bench.asks(1, 1, 2, None), [2]);
    assert_eq!(bench.plain(2, 2), NONE);
    assert_eq!(bench.waits_until(), Some(32));
    assert_eq!(bench.plain(3, 3), [4]);
}

#[test]
fn a_request_that_was_overtaken_is_ignored() {
    let mut bench = Bench::new(&ReceiverConfig::default());
    assert_eq!(bench.asks(0, 0, 7, every(2, 50)), NONE);
    assert_eq!(bench.asks(1, 1, 6, every(9, 50)), [2], "after two, not nine");
    assert_eq!(bench.asks(2, 2, 7, every(9, 50)), NONE, "the same number says nothing either");
    assert_eq!(bench.plain(3, 3), [4]);
    assert_eq!(bench.asks(4, 4, 8, every(3, 50)), NONE);
    assert_eq!(bench.plain(5, 5), NONE);
    assert_eq!(bench.plain(6, 6), [7]);
    // What lies far behind by number is ahead where numbers have gone around.
    assert_eq!(bench.asks(7, 7, 40_000, every(2, 50)), NONE);
    assert_eq!(bench.plain(8, 8), NONE, "older, by the nearer way");
    assert_eq!(bench.plain(9, 9), [10]);
}

#[test]
fn what_must_be_told_is_told_at_once_whatever_was_asked() {
    let mut bench = Bench::new(&ReceiverConfig::default());
    assert_eq!(bench.asks(0, 0, 1, every(100, 500)), NONE);
    assert_eq!(bench.plain(1, 2), [1], "out of order");
    assert_eq!(bench.plain(2, 2), [1], "a duplicate");
    assert_eq!(bench.plain(3, 1), [3], "what fills a hole");
    assert_eq!(bench.plain(4, 3), NONE);
    let mut pushed = data(4);
    pushed.set_pushed(true);
    assert_eq!(bench.packet(5, pushed), [5], "PSH");
    assert_eq!(bench.plain(6, 5), NONE);
    assert_eq!(bench.packet(7, Packet::new(Kind::Data, FLOW, 6, Bytes::new(40))), [7], "a connection");
    assert_eq!(bench.plain(8, 7), NONE);
}

#[test]
fn the_first_of_a_row_of_marks_is_told_at_once() {
    let marked = |number| {
        let mut packet = data(number);
        packet.set_ecn(Ecn::Ce);
        packet
    };
    for ecn_echo in [EcnEcho::Latched, EcnEcho::StateChange, EcnEcho::PerPacket, EcnEcho::Counted] {
        let each = matches!(ecn_echo, EcnEcho::PerPacket | EcnEcho::Counted);
        let mut bench = Bench::new(&ReceiverConfig { ecn_echo, ..ReceiverConfig::default() });
        assert_eq!(bench.asks(0, 0, 1, every(100, 500)), NONE);
        assert_eq!(bench.plain(1, 1), NONE);
        // Where the echo is a state, what came before the change is acknowledged by itself.
        let first = bench.packet(2, marked(2));
        assert_eq!(first.last(), Some(&3), "{ecn_echo:?}");
        assert_eq!(first.len(), 1 + usize::from(ecn_echo == EcnEcho::StateChange), "{ecn_echo:?}");
        assert_eq!(bench.packet(3, marked(3)).len(), usize::from(each), "{ecn_echo:?}");
    }
}

#[test]
fn what_a_peer_may_ask_is_bounded() {
    let mut bench = Bench::new(&ReceiverConfig::default());
    let endless = Some(AckFrequency { threshold: u32::MAX, max_delay: Span::MAX });
    assert_eq!(bench.asks(0, 0, 1, endless), NONE);
    assert_eq!(bench.waits_until(), Some(AckFrequency::LONGEST.as_nanos() / 1_000_000));
    for number in 1..u64::from(AckFrequency::MOST) - 1 {
        assert_eq!(bench.plain(1, number), NONE);
    }
    assert_eq!(bench.plain(1, u64::from(AckFrequency::MOST) - 1), [u64::from(AckFrequency::MOST)]);
    // No delay at all is one acknowledgement for what comes at one instant.
    let next = u64::from(AckFrequency::MOST);
    assert_eq!(bench.asks(20, next, 2, Some(AckFrequency { threshold: 9, max_delay: Span::ZERO })), NONE);
    assert_eq!(bench.waits_until(), Some(20));
    assert_eq!(bench.give(20, Input::Timeout), [next + 1]);
    assert_eq!(bench.waits_until(), None);
}

#[test]
fn a_receiver_whose_scheme_does_not_ask_heeds_nobody() {
    let mut bench = Bench::new(&ReceiverConfig::default());
    bench.receiver = Receiver::new(FLOW, ReceiverConfig::default());
    assert!(bench.receiver.answers_at_once());
    assert_eq!(bench.asks(0, 0, 1, every(9, 50)), [1]);
    assert_eq!(bench.plain(1, 1), [2]);
    assert!(bench.annexes.is_empty());
    let asked = Receiver::new(FLOW, ReceiverConfig { ack_requests: true, ..ReceiverConfig::default() });
    assert!(!asked.answers_at_once(), "it may come to wait");
}

#[test]
fn a_stamped_packet_asks_too_and_is_echoed() {
    let mut bench = Bench::new(&ReceiverConfig::default());
    let request = AckRequest::new(NonZeroU16::MIN, every(2, 50));
    let info = ControlInfo { request: Some(request), sent_at: Time::from_nanos(5), ..ControlInfo::default() };
    let mut packet = data(0);
    packet.annex = bench.annexes.insert(Annex::Control(info));
    assert_eq!(bench.packet(1, packet), NONE);
    let mut cx = EndpointCx { rng: &mut bench.rng, annexes: &mut bench.annexes, notes: None };
    bench.receiver.handle(Time::from_nanos(9), Input::Packet(data(1)), &mut cx);
    let Output::Transmit(ack) = bench.receiver.poll(Time::from_nanos(9), &mut cx) else { panic!("two came") };
    let Some(Annex::Blocks(said)) = cx.annexes.take(ack.annex) else { panic!("a time is echoed") };
    assert_eq!((ack.number, said.echo), (2, Some(Time::from_nanos(5))));
}

/// A policy that reports each packet that it is told of by itself, and what it saw beside data.
struct Telling {
    sums: bool,
    due: Vec<f64>,
}

impl FeedbackPolicy for Telling {
    fn on_arrival(&mut self, _: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        self.due.push(f64::from(u8::from(arrival.annex.is_some())));
    }

    fn sums_data(&self) -> bool {
        self.sums
    }

    fn poll_report(&mut self, _: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        let report = Report::Custom(Box::new([self.due.pop()?]));
        Some(Outgoing { report, lane: Lane::IN_BAND, size: Bytes::new(40) })
    }
}

/// The request is the receiver's alone: a policy is told of plain data, in sums where it takes these.
#[test]
fn a_receiver_with_a_policy_heeds_requests_too() {
    for sums in [false, true] {
        let config = ReceiverConfig { ack_requests: true, ..ReceiverConfig::default() };
        let policy = Telling { sums, due: Vec::new() };
        let mut bench = Bench::new(&config);
        bench.receiver = Receiver::new(FLOW, config).with_policy(Box::new(policy));
        let request = AckRequest::new(NonZeroU16::MIN, every(2, 50));
        let mut asking = data(0);
        asking.annex = bench.annexes.insert(Annex::Request(request));
        let mut seen = Vec::new();
        for packet in [asking, data(1), data(2), data(3)] {
            let mut cx = EndpointCx { rng: &mut bench.rng, annexes: &mut bench.annexes, notes: None };
            bench.receiver.handle(Time::ZERO, Input::Packet(packet), &mut cx);
            while let Output::Transmit(answer) = bench.receiver.poll(Time::ZERO, &mut cx) {
                match cx.annexes.take(answer.annex) {
                    Some(Annex::Report(told)) => assert_eq!(told.report, Report::Custom(Box::new([0.0]))),
                    _ => seen.push(answer.number),
                }
            }
        }
        assert_eq!(seen, [2, 4], "{sums}");
        assert_eq!(bench.receiver.counters().reports, if sums { 0 } else { 4 });
    }
}
