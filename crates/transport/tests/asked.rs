//! Acknowledgements as the sender asks for them: what a receiver does about a request, and how requests come through a network
//! that loses, doubles and reorders. Their bytes are in `wire.rs`, what a scheme asks for in `crates/control`.

use crate::pipe;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::rc::Rc;

use pipe::{FLOW, Fate, Pipe, Scripted};
use proptest::prelude::*;
use tailback_core::{
    AckFrequency, AckRequest, AckWish, Annex, Annexes, Arrival, Bytes, ControlInfo, Controller, Cx,
    Directive, Ecn, Endpoint, EndpointCx, Feedback, FeedbackPolicy, Input, Kind, Lane, Outgoing, Output,
    Packet, Report, Sent, Span, Stream, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{
    EcnEcho, EcnMode, Receiver, ReceiverConfig, RttSampling, Sender, SpuriousDetection, StreamConfig,
};

#[expect(clippy::unnecessary_wraps, reason = "as a wish has it")]
fn every(threshold: u32, millis: u64) -> Option<AckFrequency> {
    Some(AckFrequency { threshold, max_delay: Span::from_millis(millis) })
}

fn data(number: u64) -> Packet {
    Packet::new(Kind::Data, FLOW, number, Bytes::new(1000))
}

// ── a receiver by hand ──

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

// ── both ends ──

/// A window that stays, and wishes that come into force one after another, by the number of packets acknowledged.
struct Wishing {
    inner: Scripted,
    acked: u64,
    wishes: Vec<(u64, AckWish)>,
}

impl Wishing {
    fn new(window: u64, wishes: &[(u64, AckWish)]) -> Self {
        Self { inner: Scripted::window(window), acked: 0, wishes: wishes.to_vec() }
    }
}

impl Controller for Wishing {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        self.inner.on_sent(now, sent, cx);
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        self.acked += feedback.acked.len() as u64;
        self.inner.on_feedback(now, feedback, cx);
    }

    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.inner.on_timer(now, cx);
    }

    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer()
    }

    fn directive(&self) -> Directive {
        self.inner.directive()
    }

    fn ack_wish(&self) -> AckWish {
        let due = self.wishes.iter().rev().find(|(at, _)| *at <= self.acked);
        due.map_or_else(AckWish::default, |(_, wish)| *wish)
    }
}

fn wish(frequency: Option<AckFrequency>) -> AckWish {
    AckWish { frequency, immediate: 0 }
}

fn config() -> StreamConfig {
    StreamConfig { ack_requests: true, ..StreamConfig::default() }
}

fn pipe(
    config: &StreamConfig,
    law: Wishing,
    source: AnySource,
    delay: u64,
) -> Pipe<Sender<Wishing, AnySource>, Receiver> {
    let receiver = ReceiverConfig { ack_requests: config.ack_requests, ..ReceiverConfig::default() };
    let receiver = Receiver::new(FLOW, receiver.matching(config));
    Pipe::new(Sender::new(FLOW, config.clone(), law, source), receiver, Span::from_millis(delay))
}

/// Data packets per acknowledgement among the last `count` acknowledgements.
fn steps<A, B>(test: &Pipe<A, B>, count: usize) -> Vec<u64> {
    let numbers: Vec<_> = test.acks.iter().map(|(_, packet)| packet.number).collect();
    let pairs: Vec<_> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    pairs[pairs.len() - count..].to_vec()
}

#[test]
fn a_request_arrives_with_data_and_is_not_repeated_for_ever() {
    let law = Wishing::new(20, &[(0, wish(every(4, 30)))]);
    let mut test = pipe(&config(), law, AnySource::infinite(), 20).start();
    let mut asking = Vec::new();
    let mut seen = 0;
    while test.sender.counters().acked_packets < 200 {
        for departure in &test.departures[seen..] {
            let request = test.annexes.request(departure.packet.annex);
            asking.extend(request.map(|_| departure.packet.number));
        }
        seen = test.departures.len();
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    // The first window asks; the first acknowledgement that comes back answers for it.
    assert_eq!(asking, (0..20).collect::<Vec<_>>());
    assert_eq!(steps(&test, 40), [4; 40]);
}

#[test]
fn nobody_who_does_not_ask_carries_anything() {
    let config = StreamConfig::default();
    let law = Wishing::new(20, &[(0, AckWish { frequency: every(4, 30), immediate: 1 })]);
    let test = pipe(&config, law, AnySource::finite(Bytes::new(100_000)), 20).start().run(Span::from_secs(5));
    assert!(test.finished());
    for departure in &test.departures {
        assert!(!departure.packet.annex.is_some() && !departure.packet.is_pushed());
    }
    assert_eq!(steps(&test, 80), [1; 80]);
}

#[test]
fn the_last_packet_of_the_data_and_any_that_the_controller_names_are_acknowledged_at_once() {
    let asked = AckWish { frequency: every(1000, 400), immediate: 0 };
    let named = AckWish { immediate: 1, ..asked };
    let law = Wishing::new(20, &[(0, asked), (20, named)]);
    let test =
        pipe(&config(), law, AnySource::finite(Bytes::new(960 * 50)), 20).start().run(Span::from_secs(5));
    assert!(test.finished());
    let pushed: Vec<_> =
        test.departures.iter().filter(|one| one.packet.is_pushed()).map(|one| one.packet.number).collect();
    assert_eq!(pushed, [20, 49]);
    // 400 ms for the first window, and from then on nothing waits so long but what neither flag ends.
    let acks: Vec<_> = test.acks.iter().map(|(at, ack)| (at.as_nanos() / 1_000_000, ack.number)).collect();
    assert_eq!(acks, [(420, 20), (460, 21), (860, 41), (900, 50)]);
}

#[test]
fn the_timer_waits_for_an_acknowledgement_that_was_asked_to_wait() {
    // A round trip of 40 ms and a least time-out of 200 ms. With 8 packets on their way, acknowledgements come by fours, and
    // round trips are short; with 3, each waits for 500 ms.
    let run = |wishes: &[(u64, AckWish)], seconds: f64| {
        let mut law = Wishing::new(8, wishes);
        law.inner = law.inner.at(Time::from_secs_f64(1.0), Directive::window(Bytes::new(3000)));
        let mut config = config();
        config.rto.initial = Span::from_millis(300);
        pipe(&config, law, AnySource::infinite(), 20).start().run(Span::from_secs_f64(seconds))
    };
    let asked = wish(every(4, 500));
    let test = run(&[(0, asked)], 20.0);
    assert_eq!(test.sender.counters().timeouts, 0);
    assert!(
        test.acks.windows(2).any(|pair| pair[1].0.since(pair[0].0) > Span::from_millis(500)),
        "some waited"
    );
    // Of the first packets, which are on their way when the first timer begins, all wait.
    let test = run(&[(0, wish(every(1000, 500)))], 0.9);
    assert_eq!(test.sender.counters().timeouts, 0);
    // With the request, the allowance goes.
    let test = run(&[(0, asked), (50, wish(None))], 1.0);
    assert_eq!(test.sender.timeout(), Span::from_millis(200));
}

/// After a time-out one packet leaves again, and all waits for its acknowledgement.
#[test]
fn what_a_time_out_sends_again_is_acknowledged_at_once() {
    let mut law = Wishing::new(20, &[(0, wish(every(10, 400)))]);
    // As controllers do after a time-out, until more is known.
    law.inner = law.inner.at(Time::from_secs_f64(0.7), Directive::window(Bytes::new(1000)));
    law.inner = law.inner.at(Time::from_secs_f64(5.0), Directive::window(Bytes::new(3000)));
    let config = StreamConfig { spurious: SpuriousDetection::Off, ..config() };
    let test = pipe(&config, law, AnySource::infinite(), 20)
        .script(|packet, count, _| {
            // A whole window is lost, and the first retransmission.
            let gone =
                (200..220).contains(&packet.number) && count == 1 || (packet.number, count) == (200, 2);
            if gone { Fate::Drop } else { Fate::Deliver }
        })
        .start()
        .run(Span::from_secs(8));
    assert_eq!(test.sender.counters().timeouts, 2);
    let again: Vec<_> = test.departures.iter().filter(|one| one.packet.is_retransmitted()).collect();
    let lone: Vec<_> = again.iter().filter(|one| one.at < Time::from_secs_f64(5.0)).collect();
    assert_eq!(lone[..3].iter().map(|one| one.packet.number).collect::<Vec<_>>(), [200, 200, 201]);
    assert_eq!(lone.len(), 21, "each alone, and none waits");
    for one in &lone[1..] {
        assert!(one.packet.is_pushed());
        assert!(test.acks.iter().any(|(at, ack)| {
            ack.number == one.packet.number + 1 && *at == one.at + Span::from_millis(20)
        }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is lost, doubled and late on both ways meanwhile: what was asked last is in force in the end.
    #[test]
    fn the_newest_request_comes_into_force(
        wishes in prop::collection::vec((prop::option::weighted(0.8, (1_u32..12, 1_u64..200)), 1_u64..60), 1..8),
        loss in 0.0..0.5_f64,
        late in 0.0..0.5_f64,
        twice in 0.0..0.2_f64,
        timestamps in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut at = 0;
        let wishes: Vec<_> = wishes
            .iter()
            .map(|(asked, after)| {
                let frequency = asked.and_then(|(threshold, delay)| every(threshold, delay));
                let begins = (at, wish(frequency));
                at += after;
                begins
            })
            .collect();
        let last = wishes.last().expect("one at least").1.frequency;
        let rtt_sampling = if timestamps { RttSampling::Timestamps } else { RttSampling::EveryAck };
        let config = StreamConfig { rtt_sampling, spurious: SpuriousDetection::Off, ecn: EcnMode::Off, ..config() };
        let quiet = at + 200;
        // Of both ways, after so many packets of data.
        let sent = Rc::new(Cell::new(0_u64));
        let told = Rc::clone(&sent);
        let fate = move |calm: bool, rng: &mut Stream| {
            if calm {
                Fate::Deliver
            } else if rng.chance(loss) {
                Fate::Drop
            } else if rng.chance(late) {
                Fate::Late(Span::from_millis(1 + rng.below(90)))
            } else if rng.chance(twice) {
                Fate::Twice
            } else {
                Fate::Deliver
            }
        };
        let test = pipe(&config, Wishing::new(24, &wishes), AnySource::finite(Bytes::new(960 * (quiet + 1000))), 20)
            .seed(seed)
            .script(move |_, _, rng| {
                sent.set(sent.get() + 1);
                fate(sent.get() > quiet, rng)
            })
            .ack_script(move |_, _, rng| fate(told.get() > quiet, rng))
            .start()
            .run(Span::from_secs(100_000));
        prop_assert!(test.finished());
        // At the end nothing was in the way, and each acknowledgement has its reason: as many packets as were asked for, or as
        // much time since the first of them. The very last packet bears PSH.
        let arrival: BTreeMap<_, _> =
            test.departures.iter().map(|one| (one.packet.number, one.at + Span::from_millis(20))).collect();
        // What a time-out retransmitted for nothing is a duplicate, and acknowledged at once.
        let again: Vec<_> = test
            .departures
            .iter()
            .filter_map(|one| one.packet.is_retransmitted().then_some(one.at + Span::from_millis(20)))
            .collect();
        let tail = &test.acks[test.acks.len() - 22..test.acks.len() - 1];
        let mut reasons = 0;
        for pair in tail.windows(2) {
            let (known, (at, told)) = (pair[0].1.number, (pair[1].0, pair[1].1.number));
            let asked = last.unwrap_or(AckFrequency { threshold: 1, max_delay: Span::ZERO });
            let (packets, waited) = (told - known, at.since(arrival[&known]));
            let by_count = packets == u64::from(asked.threshold) && waited <= asked.max_delay;
            let by_time = packets < u64::from(asked.threshold) && waited == asked.max_delay;
            reasons += u32::from(by_count || by_time);
            prop_assert!(
                by_count || by_time || again.contains(&at),
                "{} packets, {:?}, of {:?}",
                packets,
                waited,
                last
            );
        }
        prop_assert!(reasons >= 10, "{} of 20", reasons);
        prop_assert!(test.annexes.is_empty());
    }
}
