//! Trains of segments: how many leave together, which one bears PSH, and when a sender waits for more. Over a pipe of 50 ms each
//! way, whose acknowledgements come at one instant, one for each segment.

use crate::pipe;

use pipe::{Departure, FLOW, Fate, Pipe, Scripted};
use proptest::prelude::*;
use tailback_core::{Bytes, DataAmount, Packet, Span, Stream, Time};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, Sender, StreamConfig};

type Test = Pipe<Sender<Scripted>, Receiver>;

fn transfer(window: u64, packets: u64) -> Test {
    let config = StreamConfig { segmentation_offload: true, ..StreamConfig::default() };
    with(config, window, packets)
}

fn with(config: StreamConfig, window: u64, packets: u64) -> Test {
    let receiver = ReceiverConfig::default().matching(&config);
    let source = AnySource::finite(Bytes::new(packets * 960));
    let sender = Sender::new(FLOW, config, Scripted::window(window), source);
    Pipe::new(sender, Receiver::new(FLOW, receiver), Span::from_millis(50))
}

/// Numbers and PSH of what left at a time.
fn at(test: &Test, millis: u64) -> Vec<(u64, bool)> {
    let time = Time::ZERO + Span::from_millis(millis);
    let then = test.departures.iter().filter(|departure| departure.at == time);
    then.map(|departure| (departure.packet.number, departure.packet.is_pushed())).collect()
}

#[test]
fn segments_leave_by_twos_and_the_second_is_pushed() {
    let test = transfer(5, 40).start().run(Span::from_secs(10));
    assert!(test.finished());
    assert_eq!(at(&test, 0), [(0, false), (1, true), (2, false), (3, true), (4, false)]);
    // The first acknowledgement finds a sender that has been silent for long. Then it waits for room for two.
    assert_eq!(at(&test, 100), [(5, false), (6, false), (7, true), (8, false), (9, true)]);
}

#[test]
fn a_large_part_of_a_window_leaves_at_once() {
    // One segment is a third of the window: it does not wait for another.
    let test = transfer(3, 30).start().run(Span::from_secs(10));
    assert_eq!(at(&test, 100), [(3, false), (4, false), (5, false)]);
}

#[test]
fn without_trains_nothing_is_pushed_and_nothing_waits() {
    let test = with(StreamConfig::default(), 5, 40).start().run(Span::from_secs(10));
    assert_eq!(at(&test, 100), (5..10).map(|number| (number, false)).collect::<Vec<_>>());
}

#[test]
fn what_leaves_again_is_of_no_train() {
    let test = transfer(8, 60).dropping(&[(10, 1)]).start().run(Span::from_secs(10));
    assert!(test.finished());
    let again: Vec<_> =
        test.departures.iter().filter(|departure| departure.packet.is_retransmitted()).collect();
    assert_eq!(again.iter().map(|departure| departure.packet.number).collect::<Vec<_>>(), [10]);
    assert!(!again[0].packet.is_pushed());
}

/// Whether a segment that is pushed follows another of the same instant.
fn follows(departures: &[Departure], index: usize) -> bool {
    let Some(before) = index.checked_sub(1).map(|index| &departures[index]) else { return false };
    let this = &departures[index];
    before.at == this.at && !before.packet.is_pushed() && before.packet.number + 1 == this.packet.number
}

proptest! {
    #[test]
    fn trains_are_of_two_and_more_and_everything_arrives(
        window in 1_u64..40,
        packets in 1_u64..300,
        lost in prop::collection::vec((0_u64..300, 1_u32..3), 0..8),
        jitter in 0_u64..3000,
        receive_window in prop::option::of(2_u64..40),
    ) {
        let config = StreamConfig {
            segmentation_offload: true,
            send_jitter: Span::from_micros(jitter),
            receive_window: receive_window.map(|packets| DataAmount::Packets(packets as f64)),
            ..StreamConfig::default()
        };
        let script = move |packet: &Packet, count, _: &mut Stream| {
            if lost.contains(&(packet.number, count)) { Fate::Drop } else { Fate::Deliver }
        };
        let test = with(config, window, packets).script(script).start().run(Span::from_secs(3000));
        prop_assert!(test.finished(), "at {}", test.now);
        for (index, departure) in test.departures.iter().enumerate() {
            prop_assert!(!departure.packet.is_pushed() || follows(&test.departures, index), "{}", departure.packet.number);
        }
    }
}
