//! The receiver's side: delayed acknowledgements, echoes of marks, details, reports of a feedback policy.

use crate::pipe;

use pipe::{FLOW, Fate, Pipe, Scripted};
use tailback_control::Reliability;
use tailback_core::{
    Annex, Annexes, Arrival, Bytes, CongestionEvent, Cx, Ecn, Endpoint, EndpointCx, Event, FeedbackPolicy,
    Input, Kind, Lane, Outgoing, Output, Packet, Report, SeqRange, Span, Stream, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{
    AckDetail, DatagramConfig, DatagramReceiver, EcnEcho, EcnMode, Receiver, ReceiverConfig, Sender,
    StreamConfig,
};

/// A receiver fed by hand.
pub(crate) struct Bench {
    receiver: Box<dyn Endpoint>,
    annexes: Annexes,
    rng: Stream,
    pub(crate) wait: Option<Time>,
}

impl Bench {
    fn new(receiver: impl Endpoint + 'static) -> Self {
        Self {
            receiver: Box::new(receiver),
            annexes: Annexes::new(),
            rng: Stream::new(1, "receiver"),
            wait: None,
        }
    }

    pub(crate) fn stream(config: ReceiverConfig) -> Self {
        Self::new(Receiver::new(FLOW, config))
    }

    pub(crate) fn give(&mut self, millis: u64, input: Input) -> Vec<(Packet, Option<Annex>)> {
        self.give_at(Time::ZERO + Span::from_millis(millis), input)
    }

    pub(crate) fn give_at(&mut self, now: Time, input: Input) -> Vec<(Packet, Option<Annex>)> {
        let mut cx = EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: None };
        self.receiver.handle(now, input, &mut cx);
        let mut out = Vec::new();
        loop {
            match self.receiver.poll(now, &mut cx) {
                Output::Transmit(packet) => out.push((packet, cx.annexes.take(packet.annex))),
                Output::Event(_) => {}
                Output::Wait(until) => {
                    self.wait = until;
                    return out;
                }
            }
        }
    }

    fn data(&mut self, millis: u64, number: u64) -> Vec<(Packet, Option<Annex>)> {
        self.give(millis, Input::Packet(data(number)))
    }

    pub(crate) fn numbers(&mut self, millis: u64, number: u64) -> Vec<u64> {
        self.data(millis, number).iter().map(|(packet, _)| packet.number).collect()
    }
}

pub(crate) fn data(number: u64) -> Packet {
    Packet::new(Kind::Data, FLOW, number, Bytes::new(1000))
}

fn marked(number: u64) -> Packet {
    let mut packet = data(number);
    packet.set_ecn(Ecn::Ce);
    packet
}

#[test]
fn every_packet_is_acknowledged_unless_told_otherwise() {
    let mut bench = Bench::stream(ReceiverConfig::default());
    assert_eq!(bench.numbers(0, 0), [1]);
    assert_eq!(bench.numbers(1, 1), [2]);
    assert_eq!(bench.numbers(2, 5), [2]);
}

#[test]
fn delayed_acknowledgements_come_in_twos_or_in_time() {
    let mut bench = Bench::stream(ReceiverConfig { ack_every: 2, ..ReceiverConfig::default() });
    assert_eq!(bench.numbers(0, 0), [0; 0]);
    assert_eq!(bench.wait, Some(Time::ZERO + Span::from_millis(100)));
    assert_eq!(bench.numbers(10, 1), [2]);
    assert_eq!(bench.wait, None);
    assert_eq!(bench.numbers(20, 2), [0; 0]);
    assert_eq!(bench.give(119, Input::Timeout).len(), 0, "too early");
    let ack = bench.give(120, Input::Timeout);
    assert_eq!(ack[0].0.number, 3);
    // Out of order, a duplicate, and what fills a hole are answered at once (RFC 5681 §4.2).
    assert_eq!(bench.numbers(130, 5), [3]);
    assert_eq!(bench.numbers(131, 5), [3]);
    assert_eq!(bench.numbers(132, 3), [4], "part of a gap");
    assert_eq!(bench.numbers(133, 4), [6]);
    assert_eq!(bench.numbers(134, 6), [0; 0]);
}

#[test]
fn what_is_pushed_is_acknowledged_at_once() {
    let mut bench = Bench::stream(ReceiverConfig { ack_every: 2, ..ReceiverConfig::default() });
    let mut pushed = data(0);
    pushed.set_pushed(true);
    let acks = bench.give(0, Input::Packet(pushed));
    assert_eq!(acks.iter().map(|(packet, _)| packet.number).collect::<Vec<_>>(), [1]);
    assert_eq!(bench.wait, None);
    assert_eq!(bench.numbers(10, 1), [0; 0]);
}

#[test]
fn a_request_for_a_connection_is_answered_at_once() {
    // Only acknowledgements of data may wait (RFC 5681 §4.2).
    let mut bench = Bench::stream(ReceiverConfig { ack_every: 2, ..ReceiverConfig::default() });
    let request = Packet::new(Kind::Data, FLOW, 0, Bytes::new(40));
    let answer = bench.give(0, Input::Packet(request));
    assert_eq!(answer.iter().map(|(packet, _)| packet.number).collect::<Vec<_>>(), [1]);
    assert_eq!(bench.wait, None);
    assert_eq!(bench.numbers(60, 1), [0; 0], "the request is not one of the two");
    assert_eq!(bench.numbers(61, 2), [3]);
}

#[test]
fn acknowledgements_wait_for_as_many_segments_and_as_long_as_configured() {
    for ack_every in 1..6_u32 {
        for delay in [1, 40, 499] {
            let ack_delay = Span::from_millis(delay);
            let mut bench =
                Bench::stream(ReceiverConfig { ack_every, ack_delay, ..ReceiverConfig::default() });
            for number in 0..12_u64 {
                let due = (number + 1).is_multiple_of(u64::from(ack_every));
                let expected = if due { vec![number + 1] } else { Vec::new() };
                assert_eq!(bench.numbers(1000, number), expected, "{ack_every}");
                let waits = (!due).then_some(Time::ZERO + Span::from_millis(1000 + delay));
                assert_eq!(bench.wait, waits, "from the first that waits, not from the newest");
            }
        }
    }
}

#[test]
fn acknowledgements_grow_with_their_ranges() {
    let mut bench = Bench::stream(ReceiverConfig::default());
    assert_eq!(bench.data(0, 0)[0].0.size(), Bytes::new(40));
    for (number, size) in [(2, 48), (4, 56), (6, 64), (8, 64)] {
        assert_eq!(bench.data(0, number)[0].0.size(), Bytes::new(size));
    }
    let (_, annex) = bench.data(0, 7).remove(0);
    let Some(Annex::Blocks(blocks)) = annex else { panic!("no ranges") };
    let range = |start, end| SeqRange { start, end };
    assert_eq!(blocks.as_slice(), [range(6, 9), range(4, 5), range(2, 3)]);
    let mut plain = Bench::stream(ReceiverConfig { max_sack_blocks: 0, ..ReceiverConfig::default() });
    plain.data(0, 0);
    let (ack, annex) = plain.data(0, 2).remove(0);
    assert_eq!((ack.size(), annex), (Bytes::new(40), None));
}

#[test]
fn the_trigger_gives_packet_pairs_offset() {
    // Keshav's example (§6): 1, 2, 3, 4, 6, 7, 8 are answered by (1,0), (2,0), (3,0), (4,0), (4,2), (4,3), (4,4).
    let config = ReceiverConfig { ack_detail: AckDetail::Trigger, ..ReceiverConfig::default() };
    let mut bench = Bench::stream(config);
    bench.data(0, 0);
    let mut pairs = Vec::new();
    for number in [1, 2, 3, 4, 6, 7, 8] {
        let (ack, annex) = bench.data(0, number).remove(0);
        let Some(Annex::Blocks(blocks)) = annex else { panic!("no detail") };
        let last = ack.number - 1;
        pairs.push((last, blocks.trigger - last));
    }
    assert_eq!(pairs, [(1, 0), (2, 0), (3, 0), (4, 0), (4, 2), (4, 3), (4, 4)]);
}

#[test]
fn the_echo_is_latched_until_the_window_was_reduced() {
    let mut bench = Bench::stream(ReceiverConfig::default());
    let mut echoes = Vec::new();
    let mut reduced = data(4);
    reduced.set_window_reduced(true);
    let mut both = marked(6);
    both.set_window_reduced(true);
    for packet in [data(0), marked(1), data(2), data(3), reduced, data(5), both, data(7)] {
        echoes.push(bench.give(0, Input::Packet(packet))[0].0.ecn_echo());
    }
    assert_eq!(echoes, [false, true, true, true, false, false, true, true]);
}

#[test]
fn per_packet_echoes_say_what_each_packet_carried() {
    let config = ReceiverConfig { ecn_echo: EcnEcho::PerPacket, ack_every: 2, ..ReceiverConfig::default() };
    let mut bench = Bench::stream(config);
    let mut echoes = Vec::new();
    for packet in [data(0), data(1), data(2), marked(3), data(4), data(5), marked(6)] {
        echoes
            .extend(bench.give(0, Input::Packet(packet)).iter().map(|(ack, _)| (ack.number, ack.ecn_echo())));
    }
    assert_eq!(echoes, [(2, false), (4, true), (6, false), (7, true)]);
}

/// The receiver of RFC 8257 §3.2, Fig. 1, with delayed acknowledgements: where the mark changes, what waits is acknowledged
/// at once with the old echo, so that the bytes acknowledged with an echo are exactly those marked.
#[test]
fn the_echo_follows_the_marks_and_a_change_is_told_at_once() {
    let config = ReceiverConfig { ecn_echo: EcnEcho::StateChange, ack_every: 2, ..ReceiverConfig::default() };
    let mut bench = Bench::stream(config);
    let mut echoes = Vec::new();
    for packet in
        [data(0), marked(1), marked(2), marked(3), data(4), data(5), data(6), marked(7), data(8), data(9)]
    {
        let acks = bench.give(0, Input::Packet(packet));
        echoes.push(acks.iter().map(|(ack, _)| (ack.number, ack.ecn_echo())).collect::<Vec<_>>());
    }
    let expected: [&[(u64, bool)]; 10] = [
        &[],
        &[(1, false)],
        &[(3, true)],
        &[],
        &[(4, true)],
        &[(6, false)],
        &[],
        &[(7, false)],
        &[(8, true)],
        &[(10, false)],
    ];
    assert_eq!(echoes, expected);
}

/// Where nothing waits to be acknowledged, a change is told by the packet's own acknowledgement, and by no other.
#[test]
fn where_each_packet_is_acknowledged_a_change_of_marks_brings_no_further_one() {
    let mut bench =
        Bench::stream(ReceiverConfig { ecn_echo: EcnEcho::StateChange, ..ReceiverConfig::default() });
    for (next, packet) in (1..).zip([data(0), marked(1), marked(2), data(3), marked(4), data(5)]) {
        let is_marked = packet.ecn() == Ecn::Ce;
        let acks = bench.give(0, Input::Packet(packet));
        let told: Vec<_> = acks.iter().map(|(ack, _)| (ack.number, ack.ecn_echo())).collect();
        assert_eq!(told, [(next, is_marked)]);
    }
}

#[test]
fn both_marks_of_tdqm_come_back_once() {
    let mut bench = Bench::stream(ReceiverConfig { ack_every: 2, ..ReceiverConfig::default() });
    let mut rho = data(0);
    rho.set_rho(true);
    let mut eta = data(2);
    eta.set_eta(true);
    let mut echoes = Vec::new();
    for packet in [rho, data(1), eta, data(3), data(4), data(5)] {
        let acks = bench.give(0, Input::Packet(packet));
        echoes.extend(acks.iter().map(|(ack, _)| (ack.rho(), ack.eta())));
    }
    assert_eq!(echoes, [(true, false), (false, true), (false, false)]);
}

#[test]
fn ecn_reduces_at_most_once_per_window() {
    let config = StreamConfig { ecn: EcnMode::Ect0, ..StreamConfig::default() };
    let receiver = ReceiverConfig::default().matching(&config);
    let sender = Sender::new(FLOW, config, Scripted::window(10), AnySource::finite(Bytes::new(60 * 960)));
    let test = Pipe::new(sender, Receiver::new(FLOW, receiver), Span::from_millis(50))
        .script(|packet, _, _| if (3..9).contains(&packet.number) { Fate::Mark } else { Fate::Deliver })
        .start()
        .run(Span::from_secs(10));
    assert_eq!(test.receiver.counters().ce_marked, 6);
    let log = &test.sender.controller().log;
    let events: Vec<_> = log.feedback.iter().filter_map(|told| told.event).collect();
    assert_eq!(events, [CongestionEvent::Ecn]);
    let reduced: Vec<u64> =
        test.departures.iter().filter(|d| d.packet.window_reduced()).map(|d| d.packet.number).collect();
    assert_eq!(reduced.len(), 1, "CWR once: {reduced:?}");
    assert!(log.feedback.iter().map(|told| told.echoes.ce).sum::<u32>() > 1, "though the echo was latched");
    assert!(test.departures.iter().all(|d| d.packet.ecn() == Ecn::Ect0));
}

#[test]
fn retransmissions_are_not_ecn_capable() {
    let config = StreamConfig { ecn: EcnMode::Ect1, ..StreamConfig::default() };
    let receiver = ReceiverConfig::default().matching(&config);
    let sender = Sender::new(FLOW, config, Scripted::window(10), AnySource::finite(Bytes::new(60 * 960)));
    let test =
        Pipe::new(sender, Receiver::new(FLOW, receiver), Span::from_millis(50)).dropping(&[(5, 1)]).start();
    let test = test.run(Span::from_secs(10));
    for departure in &test.departures {
        let expected = if departure.packet.is_retransmitted() { Ecn::NotEct } else { Ecn::Ect1 };
        assert_eq!(departure.packet.ecn(), expected, "RFC 3168 §6.1.5");
    }
    assert!(test.departures.iter().any(|d| d.packet.window_reduced()), "a loss reduces the window, too");
}

/// Reports every third new data packet, out of band, and whenever 30 ms have passed.
struct EveryThird {
    count: u32,
    due: bool,
    timer: Option<Time>,
    seen: std::sync::Arc<std::sync::Mutex<Vec<(u64, bool)>>>,
}

impl FeedbackPolicy for EveryThird {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        self.seen.lock().unwrap().push((arrival.packet.number, arrival.is_new));
        if arrival.is_data() && arrival.is_new {
            self.count += 1;
            self.due = self.count.is_multiple_of(3);
            self.timer = Some(now + Span::from_millis(30));
        }
    }
    fn poll_report(&mut self, now: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        let late = self.timer.is_some_and(|at| at <= now);
        if late {
            self.timer = None;
        }
        (std::mem::take(&mut self.due) || late).then(|| Outgoing {
            report: Report::Custom(Box::new([f64::from(self.count)])),
            lane: Lane::OUT_OF_BAND,
            size: Bytes::new(52),
        })
    }
    fn next_timer(&self) -> Option<Time> {
        self.timer
    }
}

#[test]
fn a_policy_reports_beside_acknowledgements() {
    let seen = std::sync::Arc::default();
    let policy =
        || Box::new(EveryThird { count: 0, due: false, timer: None, seen: std::sync::Arc::clone(&seen) });
    let stream = Receiver::new(FLOW, ReceiverConfig::default()).with_policy(policy());
    let datagrams = DatagramReceiver::new(FLOW, DatagramConfig::default()).with_policy(policy());
    for (mut bench, acks) in [(Bench::new(stream), 1), (Bench::new(datagrams), 0)] {
        seen.lock().unwrap().clear();
        let reports = |out: Vec<(Packet, Option<Annex>)>| {
            out.into_iter().filter(|(packet, _)| packet.kind() == Kind::Report).collect::<Vec<_>>()
        };
        assert_eq!(bench.data(1, 0).len(), acks);
        assert_eq!(bench.data(2, 0).len(), acks);
        assert_eq!(bench.data(3, 1).len(), acks);
        let out = reports(bench.data(4, 2));
        let (report, annex) = &out[0];
        assert_eq!((report.lane(), report.size()), (Lane::OUT_OF_BAND, Bytes::new(52)));
        assert_eq!(report.number, 4_000_000, "the time it left");
        let Some(Annex::Report(envelope)) = annex else { panic!("{annex:?}") };
        assert_eq!(envelope.report, Report::Custom(Box::new([3.0])));
        assert_eq!((envelope.arrived_packets, envelope.arrived_bytes), (4, Bytes::new(4000)), "copies count");
        assert_eq!((envelope.echo, envelope.held), (None, Span::ZERO), "no packet was stamped");
        assert_eq!(bench.wait, Some(Time::ZERO + Span::from_millis(34)));
        assert_eq!(reports(bench.give(34, Input::Timeout)).len(), 1);
        assert_eq!(*seen.lock().unwrap(), [(0, true), (0, false), (1, true), (2, true)]);
        assert_eq!(bench.receiver.observe().sent_packets, 4 * acks as u64 + 2);
    }
}

#[test]
fn reports_reach_the_controller_and_are_echoed_in_stamps() {
    let seen = std::sync::Arc::default();
    let policy =
        Box::new(EveryThird { count: 0, due: false, timer: None, seen: std::sync::Arc::clone(&seen) });
    let config = StreamConfig { stamps: true, ..StreamConfig::default() };
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config)).with_policy(policy);
    let sender = Sender::new(FLOW, config, Scripted::window(3), AnySource::finite(Bytes::new(12 * 960)));
    let test = Pipe::new(sender, receiver, Span::from_millis(50)).start().run(Span::from_secs(3));
    assert!(test.finished());
    let reports = test.sender.controller().log.feedback.iter().filter(|told| told.report).count() as u64;
    assert_eq!(reports, test.receiver.counters().reports);
    assert!(reports >= 4);
    assert!(test.annexes.is_empty(), "{} annexes left", test.annexes.len());
}

#[test]
fn data_is_announced_where_that_is_wanted() {
    let config = StreamConfig { reliability: Reliability::NewReno, ..StreamConfig::default() };
    let receiver = ReceiverConfig { delivery_events: true, ..ReceiverConfig::default() }.matching(&config);
    let sender = Sender::new(FLOW, config, Scripted::window(10), AnySource::finite(Bytes::new(10_000)));
    let test =
        Pipe::new(sender, Receiver::new(FLOW, receiver), Span::from_millis(50)).dropping(&[(4, 1)]).start();
    let test = test.run(Span::from_secs(10));
    let sizes: Vec<u64> = test
        .events
        .iter()
        .filter_map(|(_, event)| if let Event::Delivered(bytes) = event { Some(bytes.get()) } else { None })
        .collect();
    assert_eq!(sizes.iter().sum::<u64>(), 10_000);
    assert_eq!(sizes[4], 10_000 - 4 * 960, "all behind the hole at once");
}
