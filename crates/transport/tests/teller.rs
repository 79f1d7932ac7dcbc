//! What a sender tells: its controller of reports and marks, its receiver by stamps, its application of gates.

use crate::pipe;

use pipe::{FLOW, Fate, Pipe, Scripted};
use tailback_core::{
    Annex, AppHint, AppInput, Arrival, BitRate, Bytes, ControlInfo, Controller, Cx, Directive, Ecn, Endpoint,
    EndpointCx, Envelope, Event, Feedback, FeedbackPolicy, Gate, Input, Kind, Lane, Outgoing, Output, Packet,
    Report, Span, Stream, Time,
};
use tailback_transport::source::{AnySource, Offer, Source};
use tailback_transport::{
    DatagramConfig, DatagramReceiver, DatagramSender, EcnEcho, EcnMode, Receiver, ReceiverConfig, Sender,
    StreamConfig,
};

const ONE_WAY: Span = Span::from_millis(50);

fn seconds(value: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(value)
}

/// A datagram of 960 bytes every 10 ms, which says so; keeps what it is told.
#[derive(Default)]
struct Camera {
    next: Option<Time>,
    done: u32,
    hints: Vec<AppHint>,
}

impl Source for Camera {
    fn start(&mut self, now: Time, _: &mut Stream) {
        self.next = Some(now);
    }
    fn next_offer(&self) -> Option<Time> {
        self.next
    }
    fn take_offer(&mut self, _: Time, _: &mut Stream) -> Option<Offer> {
        self.next = self.next.map(|at| at + Span::from_millis(10));
        Some(Offer { bytes: Bytes::new(960), new_connection: false, ends_message: true })
    }
    fn tell(&mut self, hint: AppHint) {
        self.hints.push(hint);
    }
    fn stated_rate(&self) -> Option<BitRate> {
        Some(BitRate::from_bits_per_sec(768_000))
    }
    fn on_message_done(&mut self, _: Time, _: &mut Stream) {
        self.done += 1;
    }
    fn is_finished(&self) -> bool {
        false
    }
    fn stop(&mut self, _: Time) {
        self.next = None;
    }
}

/// A receiver's half that reports every 40 ms from the first data on, whether or not data comes, and keeps what stamps say.
#[derive(Default)]
struct Periodic {
    next: Option<Time>,
    stamps: std::sync::Arc<std::sync::Mutex<Vec<(u64, ControlInfo)>>>,
}

impl FeedbackPolicy for Periodic {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        self.next.get_or_insert(now + Span::from_millis(40));
        if let Some(info) = arrival.control() {
            self.stamps.lock().expect("no panic").push((arrival.packet.number, *info));
        }
    }
    fn poll_report(&mut self, now: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        self.next = Some(self.next.filter(|at| *at <= now)? + Span::from_millis(40));
        let report = Report::Custom(Box::new([]));
        Some(Outgoing { report, lane: Lane::IN_BAND, size: Bytes::new(40) })
    }
    fn next_timer(&self) -> Option<Time> {
        self.next
    }
}

/// Keeps what reports bring.
struct Hearing {
    directive: Directive,
    reports: Vec<(Time, Envelope, Option<Span>)>,
    limited: Vec<bool>,
}

impl Controller for Hearing {
    fn on_sent(&mut self, _: Time, sent: &mut tailback_core::Sent, _: &mut Cx<'_>) {
        self.limited.push(sent.app_limited);
    }
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, _: &mut Cx<'_>) {
        if let Some(report) = feedback.report {
            self.reports.push((now, report.clone(), feedback.rtt.map(|rtt| rtt.latest)));
        }
    }
    fn directive(&self) -> Directive {
        self.directive
    }
}

fn hearing(directive: Directive) -> Hearing {
    Hearing { directive, reports: Vec::new(), limited: Vec::new() }
}

fn free() -> Directive {
    Directive { window: None, ..Directive::window(Bytes::MAX) }
}

#[test]
fn any_report_measures_the_round_trip_of_datagrams_and_counts_what_arrived() {
    let config = DatagramConfig { stamps: true, ..DatagramConfig::default() };
    let policy = Box::new(Periodic::default());
    let receiver = DatagramReceiver::new(FLOW, config.clone()).with_policy(policy);
    let sender = DatagramSender::new(FLOW, config, hearing(free()), Camera::default());
    let mut test = Pipe::new(sender, receiver, ONE_WAY).start().run(Span::from_millis(300));
    test.app(AppInput::Close);
    let test = test.run(Span::from_millis(400));
    let reports = &test.sender.controller().reports;
    assert_eq!(reports.len(), 15, "every 40 ms from 90 ms on, though no data comes any more after 350 ms");
    for (at, report, rtt) in reports {
        assert_eq!(*rtt, Some(ONE_WAY * 2), "at {at:?}, however long the echoed stamp was held");
        assert_eq!(report.round_trip(*at), *rtt);
    }
    let (_, first, _) = &reports[0];
    assert_eq!((first.arrived_packets, first.arrived_bytes), (5, Bytes::new(5000)));
    let (_, last, _) = &reports[14];
    assert_eq!((last.arrived_packets, last.echo), (31, Some(seconds(0.3))));
    assert!(last.held > Span::from_millis(250), "{:?}", last.held);
    assert!(
        test.sender.controller().limited.iter().skip(1).all(|limited| *limited),
        "the source sets the pace"
    );
}

#[test]
fn a_sender_held_back_by_its_rate_is_not_limited_by_its_application() {
    let rate = Directive::rate(BitRate::from_bits_per_sec(400_000));
    let config = DatagramConfig::default();
    let sender = DatagramSender::new(FLOW, config.clone(), hearing(rate), Camera::default());
    let test = Pipe::new(sender, DatagramReceiver::new(FLOW, config), ONE_WAY).start();
    let test = test.run(Span::from_millis(500));
    let limited = &test.sender.controller().limited;
    assert!(limited.len() > 20 && limited.iter().skip(2).all(|limited| !limited), "{limited:?}");
}

#[test]
fn stamps_on_datagrams_say_what_was_sent_and_is_known() {
    for acks in [false, true] {
        let config = DatagramConfig { stamps: true, acks, ..DatagramConfig::default() };
        let policy = Periodic::default();
        let stamps = std::sync::Arc::clone(&policy.stamps);
        let receiver = DatagramReceiver::new(FLOW, config.clone()).with_policy(Box::new(policy));
        let sender = DatagramSender::new(FLOW, config, Scripted::new(free()), Camera::default());
        Pipe::new(sender, receiver, ONE_WAY).start().run(Span::from_millis(345));
        let stamps = stamps.lock().expect("no panic");
        assert_eq!(stamps.len(), 30);
        for (number, info) in &*stamps {
            assert_eq!((info.pair, info.packets_sent), (0, number + 1));
            assert_eq!(info.bytes_sent, Bytes::new(1000 * (number + 1)), "itself included");
            assert_eq!(info.sent_at, Time::ZERO + Span::from_millis(10 * number));
            let expected = if acks { 1000 * (number + 1).min(10) } else { 0 };
            assert_eq!(info.in_flight, Bytes::new(expected), "packet {number}");
            assert_eq!(info.app_rate, Some(BitRate::from_bits_per_sec(768_000)));
        }
        assert_eq!(stamps[0].1.rtt, None);
        assert_eq!(stamps[29].1.rtt, Some(ONE_WAY * 2));
    }
}

#[test]
fn what_waits_when_a_gate_closes_is_dropped_at_the_source() {
    // 1000 bytes in 20 ms leave, twice as much is offered: what waits grows until the gate closes at 405 ms.
    let slow = Directive::rate(BitRate::from_bits_per_sec(400_000));
    let until = Some(seconds(4.405));
    let closed = Directive { gate: Gate::Closed { until }, ..slow };
    let controller = Scripted::new(slow).at(seconds(0.405), closed).at(seconds(4.405), slow);
    let config = DatagramConfig::default();
    let sender = DatagramSender::new(FLOW, config.clone(), controller, Camera::default());
    let test = Pipe::new(sender, DatagramReceiver::new(FLOW, config), ONE_WAY).start();
    let test = test.run(Span::from_millis(4415));
    let sent = test.sent();
    let before = sent.iter().filter(|(at, _)| *at <= 405).count() as u64;
    let after: Vec<u64> = sent.iter().map(|(at, _)| *at).filter(|at| *at > 405).collect();
    assert_eq!(after, [4410], "the first that is offered after the gate opened");
    let offered_until_closed = 41;
    let waited = offered_until_closed - before;
    assert!(waited > 15, "{waited}");
    assert_eq!(test.sender.counters().gated, waited + 400, "those that waited, and those offered meanwhile");
    assert_eq!(u64::from(test.sender.source().done), before + waited + 400 + 1, "each is reported");
    assert_eq!(test.sender.source().hints.last().map(|hint| hint.backlog), Some(Bytes::ZERO));
}

#[test]
fn an_application_is_told_of_gates_at_once() {
    let until = Some(seconds(0.3));
    let rate = Directive::rate(BitRate::from_bits_per_sec(2_000_000));
    let closed = Directive { gate: Gate::Closed { until }, ..rate };
    let controller = || Scripted::new(rate).at(seconds(0.1055), closed).at(seconds(0.3055), rate);
    let config = DatagramConfig::default();
    let sender = DatagramSender::new(FLOW, config.clone(), controller(), Camera::default());
    let test = Pipe::new(sender, DatagramReceiver::new(FLOW, config), ONE_WAY).start();
    let test = test.run(Span::from_millis(400));
    let config = StreamConfig::default();
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let sender = Sender::new(FLOW, config, controller(), Camera::default());
    let stream = Pipe::new(sender, receiver, ONE_WAY).start().run(Span::from_millis(400));
    for (events, hints) in
        [(&test.events, &test.sender.source().hints), (&stream.events, &stream.sender.source().hints)]
    {
        let told: Vec<(u64, Gate)> = events
            .iter()
            .filter_map(|(at, event)| match event {
                Event::Hint(hint) => Some((at.as_nanos() / 100_000, hint.gate)),
                _ => None,
            })
            .collect();
        assert_eq!(told, [(1055, Gate::Closed { until }), (3055, Gate::Open)]);
        assert!(hints.iter().any(|hint| hint.gate == Gate::Closed { until }));
        let may = hints.last().and_then(|hint| hint.rate).map(BitRate::bits_per_sec);
        assert_eq!(may, Some(1_920_000), "of 2 Mbit/s, headers taken off");
    }
}

#[test]
fn a_gate_that_closes_again_and_again_leaves_nothing_stale() {
    // Twice as much is offered as may leave, so that datagrams wait whenever the gate closes.
    let slow = Directive::rate(BitRate::from_bits_per_sec(400_000));
    let suspended = Directive { gate: Gate::Closed { until: None }, ..slow };
    let shut = [(0.405, 0.805), (1.205, 1.605), (2.005, 4.005)];
    let controller = shut.iter().fold(Scripted::new(slow), |controller, &(closes, opens)| {
        controller.at(seconds(closes), suspended).at(seconds(opens), slow)
    });
    let config = DatagramConfig { stamps: true, ..DatagramConfig::default() };
    let policy = Periodic::default();
    let stamps = std::sync::Arc::clone(&policy.stamps);
    let receiver = DatagramReceiver::new(FLOW, config.clone()).with_policy(Box::new(policy));
    let sender = DatagramSender::new(FLOW, config, controller, Camera::default());
    let test = Pipe::new(sender, receiver, ONE_WAY).start().run(Span::from_millis(4400));
    let left: Vec<(Time, u64)> = test
        .departures
        .iter()
        .filter(|departure| departure.packet.kind() == Kind::Data)
        .map(|departure| (departure.at, departure.packet.number))
        .collect();
    for (closes, opens) in shut {
        let (from, opens) = (seconds(closes), seconds(opens));
        assert!(left.iter().all(|(at, _)| *at <= from || *at >= opens), "nothing leaves while it is closed");
        let first = left.iter().find(|(at, _)| *at >= opens).expect("it opens again");
        assert!(
            first.0.since(opens) <= Span::from_millis(10),
            "what leaves first was offered after it opened"
        );
    }
    // 41 + 40 + 40 + 40 offers came while it was open, and half of them could leave; all others are counted and reported.
    let counters = test.sender.counters();
    assert_eq!(u64::from(test.sender.source().done), counters.packets + counters.gated, "each is reported");
    assert!(counters.gated >= 40 + 40 + 200 + 3 * 15, "{}", counters.gated);
    // Stamps are made when a packet leaves: none that left after a pause tells of the time before it.
    for (number, info) in stamps.lock().expect("no panic").iter() {
        let (at, _) = left[usize::try_from(*number).expect("small")];
        assert_eq!((info.sent_at, info.packets_sent), (at, number + 1));
        if let Some(echo) = info.echo {
            // Reports go on through a pause: the one echoed came last, not before the pause.
            assert!(at.since(echo) <= Span::from_millis(200), "{number}: {echo:?} at {at:?}");
        }
    }
}

#[test]
fn a_real_application_hears_what_it_may_send() {
    let rate = |kbits: u64| Directive::rate(BitRate::from_bits_per_sec(kbits * 1000));
    let closed = Directive { gate: Gate::Closed { until: None }, ..rate(500) };
    // 2 % is no news, and so is a rate that comes back before anybody was told of the change.
    let controller = || {
        Scripted::new(rate(1000))
            .at(seconds(0.1055), rate(1020))
            .at(seconds(0.2055), rate(500))
            .at(seconds(0.3055), closed)
            .at(seconds(0.4055), rate(2000))
    };
    let told = |events: &[(Time, Event)]| -> Vec<(u64, u64, bool)> {
        let hint = |(at, event): &(Time, Event)| match event {
            Event::Hint(AppHint { rate: Some(rate), gate, .. }) => {
                Some((at.as_nanos() / 1_000_000, rate.bits_per_sec() / 1000, gate.is_open()))
            }
            _ => None,
        };
        events.iter().filter_map(hint).collect()
    };
    let config = DatagramConfig::default();
    let sender = DatagramSender::new(FLOW, config.clone(), controller(), Camera::default()).with_hints();
    let datagrams = Pipe::new(sender, DatagramReceiver::new(FLOW, config), ONE_WAY).start();
    let datagrams = datagrams.run(Span::from_millis(600));
    let config = StreamConfig::default();
    let receiver = || Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let sender = Sender::new(FLOW, config.clone(), controller(), Camera::default()).with_hints();
    let stream = Pipe::new(sender, receiver(), ONE_WAY).start().run(Span::from_millis(600));
    for events in [&datagrams.events, &stream.events] {
        assert_eq!(told(events), [(0, 960, true), (205, 480, true), (305, 480, false), (405, 1920, true)]);
    }
    // Where a window rules, the rate is the window per round trip: none is known before the first.
    let window = Scripted::window(10).at(seconds(0.3055), Directive::window(Bytes::new(20_000)));
    let sender = Sender::new(FLOW, config.clone(), window, Camera::default()).with_hints();
    let windowed = Pipe::new(sender, receiver(), ONE_WAY).start().run(Span::from_millis(600));
    assert_eq!(told(&windowed.events), [(100, 768, true), (305, 1536, true)]);
    // Nobody is told who did not ask.
    let sender = Sender::new(FLOW, config.clone(), Scripted::window(10), Camera::default());
    let quiet = Pipe::new(sender, receiver(), ONE_WAY).start().run(Span::from_millis(600));
    assert_eq!(told(&quiet.events), []);
}

/// A stream whose data is marked where `marked` says so.
fn marked(
    config: &ReceiverConfig,
    lost_acks: &'static [u64],
    marked: impl Fn(u64) -> bool + 'static,
    dropped: &'static [u64],
) -> Pipe<Sender<Scripted>, Receiver> {
    let stream = StreamConfig { ecn: EcnMode::Ect0, ..StreamConfig::default() };
    let receiver = Receiver::new(FLOW, config.clone().matching(&stream));
    let source = AnySource::finite(Bytes::new(60 * 960));
    let sender = Sender::new(FLOW, stream, Scripted::window(8), source);
    Pipe::new(sender, receiver, ONE_WAY)
        .script(move |packet, count, _| {
            if packet.kind() != Kind::Data {
                Fate::Deliver
            } else if count == 1 && dropped.contains(&packet.number) {
                Fate::Drop
            } else if marked(packet.number) {
                Fate::Mark
            } else {
                Fate::Deliver
            }
        })
        .ack_script(move |ack, _, _| if lost_acks.contains(&ack.number) { Fate::Drop } else { Fate::Deliver })
        .start()
        .run(Span::from_secs(5))
}

fn echoed(test: &Pipe<Sender<Scripted>, Receiver>) -> u32 {
    test.sender.controller().log.feedback.iter().map(|told| told.echoes.ce).sum()
}

#[test]
fn counted_marks_outlive_delayed_merged_and_lost_acknowledgements() {
    let every_third = |number: u64| number.is_multiple_of(3);
    for ack_every in [1, 2, 4] {
        for lost_acks in [&[][..], &[3, 4, 5, 6, 7, 8, 13, 14, 22, 31, 40, 41, 42]] {
            let config =
                ReceiverConfig { ecn_echo: EcnEcho::Counted, ack_every, ..ReceiverConfig::default() };
            let test = marked(&config, lost_acks, every_third, &[]);
            assert!(test.finished());
            assert_eq!(echoed(&test), 20, "every {ack_every}, {lost_acks:?} lost");
        }
    }
    // By flags, the marks of lost acknowledgements are gone.
    let flags = ReceiverConfig { ecn_echo: EcnEcho::PerPacket, ..ReceiverConfig::default() };
    assert!(echoed(&marked(&flags, &[4, 7, 13], every_third, &[])) < 20);
}

#[test]
fn counted_marks_of_datagrams_outlive_lost_and_overtaken_acknowledgements() {
    for (ecn_echo, all) in [(EcnEcho::Counted, true), (EcnEcho::PerPacket, false)] {
        let config = DatagramConfig { acks: true, ecn: EcnMode::Ect0, ecn_echo, ..DatagramConfig::default() };
        let receiver = DatagramReceiver::new(FLOW, config.clone());
        let sender = DatagramSender::new(FLOW, config, Scripted::window(20), Camera::default());
        let mut test = Pipe::new(sender, receiver, ONE_WAY)
            .script(|packet, _, _| if packet.number.is_multiple_of(3) { Fate::Mark } else { Fate::Deliver })
            .ack_script(|ack, _, _| match ack.number {
                // Of marked and unmarked ones; the last of all arrives.
                1 | 4 | 5 | 10..=13 | 31 => Fate::Drop,
                20 | 22 => Fate::Late(Span::from_millis(35)),
                _ => Fate::Deliver,
            })
            .start()
            .run(Span::from_millis(595));
        test.app(AppInput::Close);
        let test = test.run(Span::from_secs(1));
        assert_eq!(test.sender.counters().packets, 60);
        let echoed: u32 = test.sender.controller().log.feedback.iter().map(|told| told.echoes.ce).sum();
        assert_eq!(echoed == 20, all, "{ecn_echo:?}: {echoed} of 20 marks");
        assert!(echoed <= 20, "none is told twice");
        assert!(test.annexes.is_empty());
    }
}

#[test]
fn a_loss_hides_no_mark() {
    let config = ReceiverConfig { ecn_echo: EcnEcho::Counted, ..ReceiverConfig::default() };
    // The third duplicate acknowledgement brings the loss and, being caused by a marked segment, a mark.
    let test = marked(&config, &[], |number| number == 13, &[10]);
    let log = &test.sender.controller().log;
    let lossy = log.feedback.iter().find(|told| !told.lost.is_empty()).expect("a loss");
    assert_eq!((lossy.event, lossy.echoes.ce), (Some(tailback_core::CongestionEvent::Loss), 1));
    assert_eq!(echoed(&test), 1);
}

#[test]
fn all_three_kinds_of_marks_are_counted() {
    let config = ReceiverConfig { ecn_echo: EcnEcho::Counted, ack_every: 4, ..ReceiverConfig::default() };
    let mut receiver = Receiver::new(FLOW, config);
    let mut annexes = tailback_core::Annexes::new();
    let mut rng = Stream::new(1, "receiver");
    let mut counts = Vec::new();
    for number in 0..8 {
        let mut packet = Packet::new(Kind::Data, FLOW, number, Bytes::new(1000));
        packet.set_rho(number.is_multiple_of(2));
        packet.set_eta(number == 1);
        packet.set_ecn(if number == 5 { Ecn::Ce } else { Ecn::Ect1 });
        let mut cx = EndpointCx { rng: &mut rng, annexes: &mut annexes, notes: None };
        receiver.handle(Time::ZERO, Input::Packet(packet), &mut cx);
        while let Output::Transmit(ack) = receiver.poll(Time::ZERO, &mut cx) {
            assert!(!ack.ecn_echo() && !ack.rho() && !ack.eta(), "counts, not flags");
            if let Some(Annex::Blocks(blocks)) = cx.take_annex(&ack) {
                counts.push((ack.number, blocks.marks.ce, blocks.marks.rho, blocks.marks.eta));
            }
        }
    }
    assert_eq!(counts, [(4, 0, 2, 1), (6, 1, 3, 1)], "congestion experienced is acknowledged at once");
}
