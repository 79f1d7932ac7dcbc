//! When senders and receivers go their straight ways, and what is left out there. That both ways give the same is tested in
//! `straight.rs`.

use tailback_control::Reliability;
use tailback_control::schemes::{Reno, RenoConfig};
use tailback_core::{
    Annexes, Arrival, BitRate, Bytes, Cx, DataAmount, Endpoint, EndpointCx, FeedbackPolicy, Input, Kind,
    Outgoing, Output, Packet, Span, Stream, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, Sender, StreamConfig};

use crate::noting::{Habits, Noting, Odd, Summing};
use crate::pipe::{FLOW, Pipe};

#[test]
fn the_straight_way_is_taken() {
    let config = StreamConfig { reliability: Reliability::Sack, ..StreamConfig::default() };
    let law = Reno::new(&RenoConfig::default(), &config.controller_params());
    let sender = Sender::new(FLOW, config.clone(), law, AnySource::infinite());
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).dropping(&[(30, 1)]).start();
    while test.sender.counters().acked_packets < 10 {
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    assert!(test.sender.goes_straight(), "nothing is missing");
    while test.sender.counters().recoveries == 0 {
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    assert!(!test.sender.goes_straight(), "a segment is missing");
    while test.sender.counters().acked_packets < 200 {
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    assert!(test.sender.goes_straight(), "all is repaired");
}

#[test]
fn a_straight_way_is_taken_with_stamps() {
    let config = StreamConfig { reliability: Reliability::Sack, stamps: true, ..StreamConfig::default() };
    let sender = Sender::new(FLOW, config.clone(), Noting::new(&config, Habits::NONE), AnySource::infinite());
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).start();
    while test.sender.counters().acked_packets < 100 {
        assert!(test.step(Time::from_secs_f64(10.0)));
        assert!(test.sender.goes_straight(), "nothing is missing");
    }
    let law = test.sender.into_controller();
    assert!(law.one_way.iter().all(Option::is_some), "the way of every segment is told");
}

/// Of the steps with something missing, how many find the sender on a straight way, and how many do not.
fn beside_holes(lost: &'static [(u64, u32)], habits: Habits) -> (u32, u32) {
    let config = StreamConfig {
        reliability: Reliability::Sack,
        delivery: true,
        lost_retransmissions: true,
        ..StreamConfig::default()
    };
    let sender = Sender::new(FLOW, config.clone(), Noting::new(&config, habits), AnySource::infinite());
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).dropping(lost).start();
    let (mut straight, mut general) = (0, 0);
    while test.sender.counters().acked_packets < 400 {
        assert!(test.step(Time::from_secs_f64(100.0)));
        if test.sender.counters().recoveries > 0 && test.sender.counters().acked_packets <= 60 {
            let ways = if test.sender.goes_straight() { &mut straight } else { &mut general };
            *ways += 1;
        }
    }
    (straight, general)
}

#[test]
fn a_straight_way_is_taken_beside_a_hole() {
    for rate in [None, Some(BitRate::from_bits_per_sec(5_000_000))] {
        let habits = Habits { rate, watches_sent: rate.is_some(), ..Habits::NONE };
        let (straight, general) = beside_holes(&[(60, 1)], habits);
        assert!(straight > 10 && straight > 4 * general, "{straight} to {general}");
    }
}

#[test]
fn a_straight_way_is_taken_at_a_rate() {
    for watches_sent in [false, true] {
        let config = StreamConfig {
            reliability: Reliability::Sack,
            delivery: true,
            lost_retransmissions: true,
            ..StreamConfig::default()
        };
        let rate = Some(BitRate::from_bits_per_sec(5_000_000));
        let noting =
            Noting::new(&config, Habits { rate, watches_sent, odd: Some(Odd::Gate), ..Habits::NONE });
        let sender = Sender::new(FLOW, config.clone(), noting, AnySource::infinite());
        let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
        let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).start();
        let (mut straight, mut general) = (0, 0);
        while test.sender.counters().acked_packets < 400 {
            assert!(test.step(Time::from_secs_f64(100.0)));
            let ways = if test.sender.goes_straight() { &mut straight } else { &mut general };
            *ways += 1;
        }
        assert!(general > 20, "a closed gate is no matter of a straight way: {general}");
        assert!(straight > 4 * general, "{straight} to {general}");
    }
}

/// A policy of data in sums that is still at hand when a receiver has it.
struct Shared(std::sync::Arc<std::sync::Mutex<Summing>>);

impl FeedbackPolicy for Shared {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, cx: &mut Cx<'_>) {
        self.0.lock().expect("nobody panics").on_arrival(now, arrival, cx);
    }

    fn sums_data(&self) -> bool {
        true
    }

    fn add_data(&mut self, bytes: Bytes) {
        self.0.lock().expect("nobody panics").add_data(bytes);
    }

    fn poll_report(&mut self, now: Time, cx: &mut Cx<'_>) -> Option<Outgoing> {
        self.0.lock().expect("nobody panics").poll_report(now, cx)
    }
}

#[test]
fn a_policy_of_sums_hears_of_data_when_it_reports() {
    let shared = std::sync::Arc::new(std::sync::Mutex::new(Summing::default()));
    let policy = Box::new(Shared(std::sync::Arc::clone(&shared)));
    let mut receiver = Receiver::new(FLOW, ReceiverConfig::default()).with_policy(policy);
    let (mut annexes, mut rng) = (Annexes::new(), Stream::new(1, "sums"));
    let mut give = |kind, number| {
        let mut cx = EndpointCx { rng: &mut rng, annexes: &mut annexes, notes: None };
        receiver.handle(
            Time::ZERO,
            Input::Packet(Packet::new(kind, FLOW, number, Bytes::new(1000))),
            &mut cx,
        );
        let mut reports = Vec::new();
        while let Output::Transmit(packet) = receiver.poll(Time::ZERO, &mut cx) {
            if packet.kind() == Kind::Report {
                reports.push(packet);
            }
        }
        reports.len()
    };
    // In order, beyond a hole, in order, and twice.
    for number in [0, 1, 2, 4, 3, 3] {
        assert_eq!(give(Kind::Data, number), 0);
    }
    assert_eq!(shared.lock().expect("nobody panics").sum, Bytes::new(1000), "only the start asked for it");
    assert_eq!(give(Kind::Control, 0), 1, "a report");
    let seen = shared.lock().expect("nobody panics");
    assert_eq!((seen.sum, seen.single), (Bytes::new(6000), 0));
}

#[test]
fn a_law_that_says_that_nothing_changed_is_not_asked() {
    let config = StreamConfig {
        reliability: Reliability::Sack,
        window_limit: Some(DataAmount::Packets(4.0)),
        ..StreamConfig::default()
    };
    let rate = Some(BitRate::from_bits_per_sec(5_000_000));
    let noting = Noting::new(&config, Habits { rate, says_same: true, ..Habits::NONE });
    let sender = Sender::new(FLOW, config.clone(), noting, AnySource::infinite());
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).start();
    while test.sender.counters().acked_packets < 100 {
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    let same = test.sender.into_controller().same;
    assert!(same > 80, "{same} of 100");
}
