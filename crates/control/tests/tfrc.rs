//! When TFRC's receiver reports, by RFC 5348 §6.1 and §6.2: packets every 10 ms with a round trip of 100 ms, one sequence for each
//! rule. The same over random paths is in `second`.

use tailback_core::{Outgoing, Report, Time};

use crate::bench::{Op, Stamp, What, schemes, told};

/// A packet of data so many milliseconds after the one before, and so many numbers on.
fn data(after: u32, step: i8) -> Op {
    Op { after: after * 1000, kind: What::Data, step, marks: 0, stamp: Stamp::Honest }
}

/// What a receiver tells of these arrivals: when, in milliseconds, the loss event rate, and bytes per second.
fn reports(ops: &[Op]) -> Vec<(u64, f64, f64)> {
    let (_, tfrc) = schemes().into_iter().find(|(name, _)| *name == "tfrc").expect("is a scheme");
    let line = |(at, outgoing): (Time, Outgoing)| {
        let Report::Loss { event_rate, receive_rate } = outgoing.report else { panic!("{outgoing:?}") };
        assert_eq!(at.as_nanos() % 1_000_000, 0);
        (at.as_nanos() / 1_000_000, event_rate, receive_rate.bytes_per_sec())
    };
    told(&tfrc, ops).into_iter().map(line).collect()
}

fn times(reports: &[(u64, f64, f64)]) -> Vec<u64> {
    reports.iter().map(|(at, ..)| *at).collect()
}

/// §6.3: the first packet is reported at once, without a rate. §6.2: from then on the timer expires once per round trip.
#[test]
fn the_first_packet_is_reported_at_once_and_then_each_round_trip() {
    let reports = reports(&vec![data(10, 1); 35]);
    assert_eq!(times(&reports), [10, 110, 210, 310]);
    assert_eq!(reports[0].2, 0.0);
    // Whether the packet of this very moment is in is not said: ten or eleven of 1000 B in 100 ms.
    assert!(reports[1..].iter().all(|report| (90_000.0..=110_001.0).contains(&report.2)), "{reports:?}");
}

/// §6.2: where the timer expires and nothing has come, nothing is sent; the next packet is reported at once. Its rate is that
/// of one to two round trips, since the timer expires in silence, too.
#[test]
fn after_a_silence_the_first_packet_is_reported_at_once() {
    let mut ops = vec![data(10, 1); 25];
    ops.push(data(5033, 1));
    ops.extend(vec![data(10, 1); 12]);
    let reports = reports(&ops);
    // The last packets before the silence are reported when the timer expires; then nobody speaks.
    assert_eq!(times(&reports), [10, 110, 210, 310, 5283, 5383]);
    let (_, _, rate) = reports[4];
    assert!((5000.0..=10_000.0).contains(&rate), "1000 B in 100 to 200 ms are not {rate} B/s");
}

/// What is no data is nothing to report, though the timer has expired.
#[test]
fn in_a_silence_nothing_is_reported() {
    let mut ops = vec![data(10, 1); 25];
    ops.push(Op { kind: What::Control(true), ..data(1000, 0) });
    assert_eq!(times(&reports(&ops)), [10, 110, 210, 310]);
}

/// A silence that ends before the timer expires is none.
#[test]
fn a_pause_within_a_round_trip_is_no_silence() {
    let ops = [vec![data(10, 1); 22], vec![data(85, 1)], vec![data(10, 1); 10]].concat();
    assert_eq!(times(&reports(&ops)), [10, 110, 210, 310]);
}

/// §6.1: a new loss event is reported at once, which is when three packets beyond the hole have come (§5.1); the timer starts
/// anew from there.
#[test]
fn a_loss_event_is_reported_at_once() {
    let ops = [vec![data(10, 1); 23], vec![data(10, 2)], vec![data(10, 1); 16]].concat();
    let reports = reports(&ops);
    // The hole shows at 240 ms, and at 260 ms it is a loss.
    assert_eq!(times(&reports), [10, 110, 210, 260, 360]);
    assert!(reports[..3].iter().all(|report| report.1 == 0.0), "{reports:?}");
    assert!(reports[3..].iter().all(|report| report.1 > 0.0), "{reports:?}");
}

/// What is lost within a round trip of the event's begin belongs to it (§5.2), and makes no report of its own.
#[test]
fn more_losses_of_an_event_are_not_reported_at_once() {
    let ops = [vec![data(10, 1); 23], vec![data(10, 2); 4], vec![data(10, 1); 10]].concat();
    assert_eq!(times(&reports(&ops)), [10, 110, 210, 260, 360]);
}
