//! Acknowledgements that wait as Linux's do: beside a hole for each other, and in order for a program that reads. All else of the
//! receiver is in `receiver.rs`.

use proptest::prelude::*;
use tailback_core::{Annex, Bytes, Checker, Distribution, Input, Kind, Packet, SeqRange, Span, Time};
use tailback_transport::{Receiver, ReceiverConfig, SackCompression};

use crate::pipe::FLOW;
use crate::receiver::{Bench, data};

/// A receiver that compresses selective acknowledgements as Linux does, after a handshake of so many milliseconds.
fn compressing(handshake: u64) -> Bench {
    let sack_compression = Some(SackCompression::default());
    let config = ReceiverConfig { sack_compression, ack_every: 2, ..ReceiverConfig::default() };
    let mut bench = Bench::stream(config);
    let request = Packet::new(Kind::Data, FLOW, 0, Bytes::new(40));
    assert_eq!(bench.give(0, Input::Packet(request)).len(), 1);
    assert_eq!(bench.numbers(handshake, 1), [0; 0]);
    assert_eq!(bench.numbers(handshake, 2), [3]);
    bench
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

#[test]
fn three_acknowledgements_beside_a_hole_leave_at_once_and_further_ones_together() {
    let mut bench = compressing(100);
    for number in [4, 5, 6] {
        assert_eq!(bench.numbers(200, number), [3]);
    }
    assert_eq!(bench.wait, None);
    // A millisecond and the timer's slack.
    assert_eq!(bench.numbers(201, 7), [0; 0]);
    assert_eq!(bench.wait, Some(at(202_100)));
    assert_eq!(bench.numbers(202, 8), [0; 0], "the first one's timer stays");
    assert_eq!(bench.wait, Some(at(202_100)));
    let told = bench.give(203, Input::Timeout);
    let [(packet, Some(annex))] = &told[..] else { panic!("one acknowledgement: {told:?}") };
    assert_eq!(packet.number, 3);
    let Annex::Blocks(said) = annex else { panic!("{annex:?}") };
    assert_eq!(said.as_slice(), [SeqRange { start: 4, end: 9 }]);
    assert_eq!(bench.wait, None);
    assert_eq!(bench.numbers(204, 9), [0; 0], "the same number is missing still");
    // What fills a part of the hole is told at once, with all that waits; and then three more are.
    assert_eq!(bench.numbers(204, 11), [0; 0]);
    assert_eq!(bench.numbers(204, 3), [10]);
    assert_eq!(bench.wait, None);
    for number in [12, 13, 14] {
        assert_eq!(bench.numbers(205, number), [10]);
    }
    assert_eq!(bench.numbers(205, 15), [0; 0]);
    assert_eq!(bench.numbers(205, 15), [0; 0], "a copy beside the hole waits as well");
    assert_eq!(bench.wait, Some(at(206_100)));
    assert_eq!(bench.numbers(205, 9), [10], "a copy of what was told in order");
    assert_eq!(bench.wait, None);
}

#[test]
fn acknowledgements_beside_a_hole_wait_for_a_twentieth_of_the_handshake() {
    let mut bench = compressing(10);
    for number in [4, 5, 6] {
        assert_eq!(bench.numbers(20, number), [3]);
    }
    assert_eq!(bench.numbers(20, 7), [0; 0]);
    assert_eq!(bench.wait, Some(at(20_600)));
}

#[test]
fn a_repeated_request_for_a_connection_does_not_change_the_wait() {
    let mut bench = compressing(10);
    let request = Packet::new(Kind::Data, FLOW, 0, Bytes::new(40));
    assert_eq!(bench.give(11, Input::Packet(request)).len(), 1);
    for number in [4, 5, 6] {
        assert_eq!(bench.numbers(111, number), [3]);
    }
    assert_eq!(bench.numbers(111, 7), [0; 0]);
    assert_eq!(bench.wait, Some(at(111_600)));
}

#[test]
fn what_waits_leaves_before_a_third_range_changes() {
    let mut bench = compressing(100);
    for number in [4, 5, 7] {
        assert_eq!(bench.numbers(200, number), [3]);
    }
    assert_eq!(bench.numbers(200, 5), [0; 0]);
    // A third range begins: what waited leaves, which does not tell of it yet.
    let told = bench.give(201, Input::Packet(data(9)));
    let [(packet, Some(Annex::Blocks(said)))] = &told[..] else { panic!("one acknowledgement: {told:?}") };
    assert_eq!(packet.number, 3);
    assert_eq!(said.as_slice(), [SeqRange { start: 4, end: 6 }, SeqRange { start: 7, end: 8 }]);
    assert_eq!(bench.wait, Some(at(202_100)), "and the new segment waits");
    // It changes a range that is among the two newest.
    assert_eq!(bench.numbers(201, 10), [0; 0]);
}

#[test]
fn no_more_than_so_many_acknowledgements_wait() {
    let mut bench = compressing(100);
    for number in 4..7 {
        assert_eq!(bench.numbers(200, number), [3]);
    }
    for number in 7..51 {
        assert_eq!(bench.numbers(200, number), [0; 0], "{number}");
    }
    assert_eq!(bench.numbers(200, 51), [3]);
    assert_eq!(bench.wait, None);
    assert_eq!(bench.numbers(200, 52), [0; 0]);
}

#[test]
fn who_waits_beside_a_hole_or_for_a_reader_does_not_answer_at_once() {
    let plain = ReceiverConfig::default();
    let compressing = ReceiverConfig { sack_compression: Some(SackCompression::default()), ..plain.clone() };
    let time = Distribution::Constant { value: Span::from_micros(1) };
    let reading = ReceiverConfig { reading: Some(time.into()), ..plain.clone() };
    let answers = [plain, compressing, reading].map(|config| Receiver::new(FLOW, config).answers_at_once());
    assert_eq!(answers, [true, false, false]);
}

#[test]
fn values_that_no_receiver_can_have_are_refused() {
    let compression =
        SackCompression { delay: Span::ZERO, rtt_share: f64::NAN, count: 0, ..Default::default() };
    let reading = Some(Distribution::Constant { value: Span::ZERO }.into());
    let config = ReceiverConfig { sack_compression: Some(compression), reading, ..ReceiverConfig::default() };
    let mut checker = Checker::new();
    config.check(&mut checker);
    let said = checker.finish().unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for field in
        ["sack_compression.delay", "sack_compression.rtt_share", "sack_compression.count", "reading.value"]
    {
        assert!(said.contains(field), "{field}: {said}");
    }
}

#[test]
fn without_selective_acknowledgements_nothing_waits_beside_a_hole() {
    let sack_compression = Some(SackCompression::default());
    let config = ReceiverConfig { sack_compression, max_sack_blocks: 0, ..ReceiverConfig::default() };
    let mut bench = Bench::stream(config);
    for number in 1..9 {
        assert_eq!(bench.numbers(1, number), [0], "{number}");
    }
}

#[test]
fn what_comes_in_order_is_acknowledged_when_it_has_been_read() {
    let reading = Some(Distribution::Constant { value: Span::from_micros(1500) }.into());
    let config = ReceiverConfig { reading, ack_every: 2, ..ReceiverConfig::default() };
    let mut bench = Bench::stream(config);
    let request = Packet::new(Kind::Data, FLOW, 0, Bytes::new(40));
    assert_eq!(bench.give(0, Input::Packet(request)).len(), 1, "nobody reads a request for a connection");
    assert_eq!(bench.numbers(1, 1), [0; 0]);
    assert_eq!(bench.wait, Some(at(101_000)), "one alone waits for the second");
    // The program, which the first has woken, reads both.
    assert_eq!(bench.numbers(2, 2), [0; 0]);
    assert_eq!(bench.wait, Some(at(2500)));
    assert_eq!(bench.give(3, Input::Timeout)[0].0.number, 3);
    assert_eq!(bench.wait, None);
    // A third is read with them.
    assert_eq!(bench.numbers(10, 3), [0; 0]);
    assert_eq!(bench.numbers(11, 4), [0; 0]);
    assert_eq!(bench.numbers(11, 5), [0; 0]);
    assert_eq!(bench.wait, Some(at(11_500)));
    assert_eq!(bench.give(12, Input::Timeout)[0].0.number, 6);
    // Beside a hole nothing waits for the program, nor does what fills one.
    assert_eq!(bench.numbers(20, 7), [6]);
    assert_eq!(bench.numbers(20, 6), [8]);
    let mut pushed = data(8);
    pushed.set_pushed(true);
    assert_eq!(
        bench.give(30, Input::Packet(pushed)).len(),
        0,
        "behind PSH it is read before it is acknowledged"
    );
    assert_eq!(bench.wait, Some(at(31_500)));
    // An acknowledgement that leaves at once tells of what is being read, too.
    assert_eq!(bench.numbers(31, 10), [9]);
    assert_eq!(bench.wait, None);
}

proptest! {
    /// Whatever comes when: nothing waits longer than it may, every acknowledgement tells of all that is there in order, and in
    /// the end everything has been told.
    #[test]
    fn everything_is_told_in_time(
        arrivals in prop::collection::vec((0_u64..3000, 0_u64..40, any::<bool>()), 1..120),
        ack_every in 1_u32..4,
        (compresses, reads) in (any::<bool>(), any::<bool>()),
    ) {
        let (ack_delay, longest) = (Span::from_millis(5), Span::from_micros(700));
        let config = ReceiverConfig {
            ack_every,
            ack_delay,
            sack_compression: compresses.then(SackCompression::default),
            reading: reads.then(|| Distribution::Uniform { from: Span::ZERO, to: longest }.into()),
            ..ReceiverConfig::default()
        };
        let mut bench = Bench::stream(config);
        let (mut now, mut seen, mut told) = (Time::ZERO, std::collections::BTreeSet::new(), 0);
        let mut untold_since = None;
        let expected = |seen: &std::collections::BTreeSet<u64>| (0..=40).find(|number| !seen.contains(number));
        // What is there already comes again at the end.
        let first = arrivals[0].1;
        for (gap, number, is_pushed) in arrivals.into_iter().chain([(10_000, first, true)]) {
            let comes = now + Span::from_micros(gap);
            while let Some(due) = bench.wait.filter(|due| *due <= comes) {
                now = due;
                for (ack, _) in bench.give_at(now, Input::Timeout) {
                    prop_assert_eq!(Some(ack.number), expected(&seen));
                    (told, untold_since) = (ack.number, None);
                }
            }
            now = comes;
            seen.insert(number);
            let mut packet = data(number);
            packet.set_pushed(is_pushed);
            untold_since = untold_since.or(Some(now));
            for (ack, _) in bench.give_at(now, Input::Packet(packet)) {
                prop_assert_eq!(Some(ack.number), expected(&seen));
                (told, untold_since) = (ack.number, None);
            }
            if let Some(since) = untold_since {
                prop_assert!(bench.wait.is_some_and(|due| due <= since + ack_delay), "{since} {:?}", bench.wait);
            }
        }
        prop_assert_eq!(Some(told), expected(&seen), "a duplicate is told at once");
    }
}
