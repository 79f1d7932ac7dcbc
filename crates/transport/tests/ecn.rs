//! Explicit Congestion Notification at both ends of a stream, rule by rule of RFC 3168 §6.1. Over a pipe of 50 ms each
//! way whose path marks by script. What a window does about an echo is tested with the controllers.

use crate::pipe;

use pipe::{Departure, FLOW, Fate, Pipe, Scripted};
use tailback_control::{MarkResponse, Needs};
use tailback_core::{Bytes, CongestionEvent, Ecn, Kind, Span};
use tailback_transport::source::AnySource;
use tailback_transport::{EcnMode, Receiver, ReceiverConfig, Sender, StreamConfig};

type Test = Pipe<Sender<Scripted>, Receiver>;

fn transfer(ecn: EcnMode, window: u64, packets: u64) -> Test {
    stream(StreamConfig { ecn, ..StreamConfig::default() }, window, packets)
}

fn stream(config: StreamConfig, window: u64, packets: u64) -> Test {
    let receiver = ReceiverConfig::default().matching(&config);
    let source = AnySource::finite(Bytes::new(packets * 960));
    let sender = Sender::new(FLOW, config, Scripted::window(window), source);
    Pipe::new(sender, Receiver::new(FLOW, receiver), Span::from_millis(50))
}

fn count(test: &Test, event: CongestionEvent) -> usize {
    test.sender.controller().log.feedback.iter().filter(|told| told.event == Some(event)).count()
}

fn reduced(test: &Test) -> Vec<&Departure> {
    test.departures.iter().filter(|departure| departure.packet.window_reduced()).collect()
}

/// Marks the first transmission of the numbers given.
fn marking(test: Test, numbers: &'static [u64]) -> Test {
    test.script(
        move |packet, count, _| {
            if count == 1 && numbers.contains(&packet.number) { Fate::Mark } else { Fate::Deliver }
        },
    )
}

#[test]
fn only_new_data_is_ecn_capable() {
    let test = transfer(EcnMode::Ect0, 10, 60).dropping(&[(5, 1), (30, 1)]).start().run(Span::from_secs(10));
    assert!(test.finished());
    for departure in &test.departures {
        let expected = if departure.packet.is_retransmitted() { Ecn::NotEct } else { Ecn::Ect0 };
        assert_eq!(departure.packet.ecn(), expected, "§6.1.5: {}", departure.packet.number);
    }
    assert_eq!(test.departures.iter().filter(|departure| departure.packet.is_retransmitted()).count(), 2);
    assert!(!test.acks.is_empty());
    assert!(test.acks.iter().all(|(_, ack)| ack.ecn() == Ecn::NotEct), "pure acknowledgements, §6.1.4");
}

#[test]
fn the_echo_lasts_until_the_reduction_is_announced() {
    let test = marking(transfer(EcnMode::Ect0, 10, 60), &[12]).start().run(Span::from_secs(10));
    assert_eq!(count(&test, CongestionEvent::Ecn), 1);
    // Number 12 leaves at 100 ms and is echoed from 150 ms on. The sender hears it at 200 ms; the next new segment,
    // number 22, carries CWR and arrives at 250 ms, and with it the echo ends (§6.1.3).
    let announced = reduced(&test);
    assert_eq!(announced.len(), 1);
    assert_eq!((announced[0].packet.number, announced[0].at.as_nanos()), (22, 200_000_000));
    let echoed: Vec<u64> =
        test.acks.iter().filter(|(_, ack)| ack.ecn_echo()).map(|(_, ack)| ack.number).collect();
    assert_eq!(echoed, (13..=22).collect::<Vec<_>>(), "on every acknowledgement from 12's to 21's");
}

#[test]
fn one_reduction_per_window_and_another_in_the_next() {
    // Marks in three windows: 12 and 15 in one, 23 in the next, which was in part sent before the reduction, and 45.
    let test = marking(transfer(EcnMode::Ect0, 10, 80), &[12, 15, 23, 45]).start().run(Span::from_secs(10));
    assert_eq!(count(&test, CongestionEvent::Ecn), 3, "§6.1.2: at most once per window of data");
    assert_eq!(reduced(&test).len(), 3);
    let at: Vec<u64> = test
        .sender
        .controller()
        .log
        .feedback
        .iter()
        .filter(|told| told.event == Some(CongestionEvent::Ecn))
        .map(|told| told.at.as_nanos() / 1_000_000)
        .collect();
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 100), "a round trip apart at least: {at:?}");
}

#[test]
fn a_lost_announcement_is_made_again() {
    // The segment with CWR is lost. The loss reduces the window, too, and the next new segment says so; until then the
    // receiver goes on echoing, which reduces nothing further (§6.1.2).
    let test = transfer(EcnMode::Ect0, 10, 60)
        .script(|packet, count, _| match packet.number {
            12 if count == 1 && packet.kind() == Kind::Data => Fate::Mark,
            _ if packet.window_reduced() && packet.number == 22 => Fate::Drop,
            _ => Fate::Deliver,
        })
        .start()
        .run(Span::from_secs(10));
    assert!(test.finished());
    assert_eq!((count(&test, CongestionEvent::Ecn), count(&test, CongestionEvent::Loss)), (1, 1));
    let announced: Vec<u64> = reduced(&test).iter().map(|departure| departure.packet.number).collect();
    assert_eq!(announced.len(), 2);
    assert!(announced[1] > 22 && !reduced(&test)[1].packet.is_retransmitted(), "on new data: {announced:?}");
    assert!(!test.acks.last().expect("acknowledged").1.ecn_echo());
}

#[test]
fn a_series_of_drops_and_marks_in_one_window_reduces_once() {
    // Whichever shows first: a mark behind the drop, echoed before the third duplicate; or one after it.
    for (mark, reduction) in [(14, CongestionEvent::Ecn), (17, CongestionEvent::Loss)] {
        let test = transfer(EcnMode::Ect0, 10, 60)
            .script(move |packet, count, _| match packet.number {
                12 if count == 1 && packet.kind() == Kind::Data => Fate::Drop,
                number if number == mark && count == 1 && packet.kind() == Kind::Data => Fate::Mark,
                _ => Fate::Deliver,
            })
            .start()
            .run(Span::from_secs(10));
        assert!(test.finished());
        let reductions = count(&test, CongestionEvent::Loss) + count(&test, CongestionEvent::Ecn);
        assert_eq!((reductions, count(&test, reduction)), (1, 1), "{mark}: §6.1.2");
        assert_eq!(test.sender.counters().retransmitted, 1, "and the drop is repaired");
        assert_eq!(test.sender.counters().timeouts, 0);
    }
}

#[test]
fn marks_on_what_was_delivered_before_say_nothing() {
    let test = transfer(EcnMode::Ect0, 4, 20)
        .script(|packet, count, _| match (packet.number, count) {
            (6, 1) if packet.kind() == Kind::Data => Fate::Twice,
            _ => Fate::Deliver,
        })
        .start();
    let mut test = test.run(Span::from_secs(10));
    assert!(test.finished());
    // A copy that the network kept and marked arrives long after.
    let mut copy =
        test.departures.iter().find(|departure| departure.packet.number == 6).expect("sent").packet;
    copy.set_ecn(Ecn::Ce);
    test.deliver(copy);
    let (_, answer) = test.acks.last().expect("a duplicate is acknowledged");
    assert_eq!((answer.number, answer.ecn_echo()), (20, false), "§6.1.5: outside the window");
}

#[test]
fn an_echo_at_a_window_of_one_waits_for_the_timer() {
    // "The sending TCP will then be able to send a new packet only when the retransmit timer expires" (§6.1.2). Number 3 leaves
    // at 300 ms and is echoed at 400 ms. Four samples of 100 ms make RTTVAR 50 · (3/4)³ = 21.1 ms and the time-out the
    // minimum, 200 ms: 4 leaves at 600 ms, and says that the window was reduced.
    let test = marking(transfer(EcnMode::Ect0, 1, 8), &[3]).start().run(Span::from_secs(10));
    let times: Vec<u64> = test.sent().iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 100, 200, 300, 600, 700, 800, 900]);
    assert_eq!(reduced(&test)[0].packet.number, 4);
    let counters = test.sender.counters();
    assert_eq!((counters.timeouts, counters.retransmitted, counters.ecn_reductions), (0, 0, 1));
    assert!(test.finished());
    // With a larger window the next segment leaves at once.
    let test = marking(transfer(EcnMode::Ect0, 2, 8), &[3]).start().run(Span::from_secs(10));
    assert_eq!(
        test.sent().iter().map(|(at, _)| *at).collect::<Vec<_>>(),
        [0, 0, 100, 100, 200, 200, 300, 300]
    );
}

#[test]
fn an_echo_never_silences_a_controller_that_answers_marks_alone() {
    let needs = Needs { ecn: EcnMode::Ect0, marks: MarkResponse::Controller, ..Needs::default() };
    let test = stream(StreamConfig::default().serving(&needs), 1, 8);
    let test = test.script(|_, _, _| Fate::Mark).start().run(Span::from_secs(10));
    let times: Vec<u64> = test.sent().iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 100, 200, 300, 400, 500, 600, 700], "one a round trip, every one of them marked");
    assert_eq!(test.sender.counters().ecn_reductions, 8, "and told to the controller");
}

#[test]
fn a_sender_without_ecn_ignores_echoes() {
    let test = transfer(EcnMode::Off, 10, 40)
        .ack_script(|_, _, _| Fate::Deliver)
        .script(|_, _, _| Fate::Mark)
        .start()
        .run(Span::from_secs(10));
    assert!(test.departures.iter().all(|departure| departure.packet.ecn() == Ecn::NotEct));
    assert_eq!(test.receiver.counters().ce_marked, 0, "what is not capable is never marked");
    assert_eq!(count(&test, CongestionEvent::Ecn), 0);
}
