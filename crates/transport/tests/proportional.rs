//! Proportional rate reduction: the examples of RFC 9937 §8, acknowledgement by acknowledgement, and what it promises of whole
//! transfers. A second writing is in `second`.

use crate::pipe;

use pipe::stream::{config, events, transfer};
use pipe::{Fate, Scripted};
use proptest::prelude::*;
use tailback_control::Reliability;
use tailback_core::{BitRate, Bytes, Checker, CongestionEvent, Directive, Recovery, Span, Time};
use tailback_transport::StreamConfig;

/// Ours, with and without.
fn by_ranges(proportional_rate_reduction: bool) -> StreamConfig {
    StreamConfig { proportional_rate_reduction, ..config(Reliability::Sack) }
}

/// What leaves at each acknowledgement of the RFC's examples, whose number is that of the segment that causes it: a window of
/// twenty segments of which the first `lost` are lost, and which arrive one by one, a millisecond apart.
fn answers(proportional: bool, lost: u64, acks: u64) -> Vec<Vec<u64>> {
    let test = transfer(by_ranges(proportional), Scripted::halving(20), 200);
    let script = move |packet: &tailback_core::Packet, count: u32, _: &mut tailback_core::rng::Stream| {
        if packet.number < lost && count == 1 {
            return Fate::Drop;
        }
        if packet.number < 20 && count == 1 {
            Fate::Late(Span::from_millis(packet.number))
        } else {
            Fate::Deliver
        }
    };
    let test = test.script(script).start().run(Span::from_millis(250));
    // The first twenty, then the two that limited transmit lets go, and the first retransmission a round trip after them.
    let times = (lost..20).map(|number| 100 + number).chain((20..23).map(|number| 181 + lost + number - 1));
    times.take(usize::try_from(acks).unwrap()).map(|time| test.sent_at(time)).collect()
}

/// Figure 1: one of twenty is lost.
#[test]
fn one_loss_is_answered_as_the_rfc_says() {
    let none: Vec<u64> = Vec::new();
    // RFC 6675: half a window of silence, then one for one.
    let mut plain = vec![vec![20], vec![21], vec![0]];
    plain.extend(vec![none.clone(); 9]);
    plain.extend((22..32).map(|number| vec![number]));
    assert_eq!(answers(false, 1, 22), plain);
    // RFC 9937: one for two until the flight is at the threshold, and then one for one.
    let mut spread = vec![vec![20], vec![21], vec![0]];
    for number in 22..29 {
        spread.extend([none.clone(), vec![number]]);
    }
    // The figure has one leave at the nineteenth and none at the twentieth. But at the nineteenth the flight is at the threshold,
    // where the steps of §6.2 leave no room (`MIN(ssthresh - inflight, SndCnt)`), and at the twentieth it is below.
    spread.extend([none.clone(), none, vec![29], vec![30], vec![31]]);
    assert_eq!(answers(true, 1, 22), spread);
}

/// Figure 2: the first fifteen of twenty are lost. RFC 6675 fills the window with a burst, RFC 9937 sends as much as arrives.
#[test]
fn a_burst_of_losses_is_answered_as_the_rfc_says() {
    let burst = vec![vec![20], vec![21], vec![0, 1, 2, 3, 4, 5], vec![6], vec![7]];
    assert_eq!(answers(false, 15, 5), burst);
    assert_eq!(answers(true, 15, 5), vec![vec![20], vec![21], vec![0], vec![1], vec![2]]);
}

/// "Increases the window by exactly 1 segment per ACK until inflight rises to ssthresh" (§8): each acknowledgement of a
/// retransmission that advances lets two leave.
#[test]
fn good_progress_lets_one_more_leave_for_each_acknowledgement() {
    let drops: &'static [(u64, u32)] = &[
        (0, 1),
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 1),
        (9, 1),
        (10, 1),
        (11, 1),
        (12, 1),
        (13, 1),
        (14, 1),
    ];
    let test = transfer(by_ranges(true), Scripted::halving(20), 200).dropping(drops).start();
    let test = test.run(Span::from_secs(5));
    assert_eq!(test.sent_at(100), [20, 21, 0, 1, 2]);
    // Two that limited transmit had let go let one leave each, and the three retransmissions two each.
    assert_eq!(test.sent_at(200), [3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(events(&test), [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
    assert!(test.finished());
    assert_eq!(test.sender.counters().timeouts, 0);
}

/// What the controller directs is in force again once an episode is over, and after a time-out.
#[test]
fn outside_of_fast_recovery_the_window_is_the_controllers() {
    let plain = transfer(by_ranges(false), Scripted::halving(10), 60).dropping(&[(0, 1), (0, 2)]).start();
    let spread = transfer(by_ranges(true), Scripted::halving(10), 60).dropping(&[(0, 1), (0, 2)]).start();
    let (plain, spread) = (plain.run(Span::from_secs(60)), spread.run(Span::from_secs(60)));
    assert_eq!(events(&plain), events(&spread));
    assert!(events(&spread).contains(&CongestionEvent::Timeout { consecutive: 1 }));
    let late = |test: &pipe::stream::Test| -> Vec<(Time, u64)> {
        let after = test.departures.iter().filter(|one| one.at > Time::ZERO + Span::from_secs(1));
        after.map(|one| (one.at, one.packet.number)).take(5).collect()
    };
    assert_eq!(late(&plain).len(), 5);
    assert_eq!(late(&plain)[0], late(&spread)[0]);
    assert!(plain.finished() && spread.finished());
}

/// It makes a window less: a rate that stands alone is kept, though with three lost of twenty less arrives than leaves.
#[test]
fn a_law_without_a_window_gets_none() {
    let run = |proportional| {
        let rate = Some(BitRate::from_bits_per_sec(800_000));
        let controller = Scripted::new(Directive { window: None, rate, ..Directive::window(Bytes::ZERO) });
        let test = transfer(by_ranges(proportional), controller, 80).dropping(&[(20, 1), (26, 1), (27, 1)]);
        test.start().run(Span::from_secs(5))
    };
    let (plain, spread) = (run(false), run(true));
    assert_eq!(events(&spread), [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
    assert_eq!(plain.sent(), spread.sent());
}

#[test]
fn without_ranges_it_is_refused() {
    for (reliability, said) in [
        (Reliability::Sack, ""),
        (Reliability::NewReno, "proportional_rate_reduction"),
        (Reliability::Offsets, "proportional_rate_reduction"),
    ] {
        let config = StreamConfig { proportional_rate_reduction: true, ..config(reliability) };
        let mut checker = Checker::new();
        config.check(&mut checker);
        let faults: Vec<String> =
            checker.finish().err().into_iter().flatten().map(|fault| fault.field).collect();
        assert_eq!(faults.join(" "), said);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever is lost, all arrives, and in each episode no more leaves than arrives, one segment more for each acknowledgement
    /// that advances, and the first retransmission (§7: "PRR-CRB strictly bounds the data transmitted to be equal to or less than
    /// the amount of data delivered to the receiver").
    #[test]
    fn no_more_leaves_than_arrives(window in 2_u64..60, loss in 0.0..0.3, ack_loss in 0.0..0.3, seed: u64) {
        let config = StreamConfig { user_timeout: Span::MAX, ..by_ranges(true) };
        let test = transfer(config, Scripted::halving(window), 400)
            .seed(seed)
            .script(move |packet, _, rng| {
                if rng.chance(loss) { return Fate::Drop; }
                // One acknowledgement at a time.
                Fate::Late(Span::from_micros(packet.number % 97))
            })
            .ack_script(move |_, _, rng| if rng.chance(ack_loss) { Fate::Drop } else { Fate::Deliver })
            .start()
            .run(Span::from_secs(100_000));
        prop_assert!(test.finished());
        let log = &test.sender.controller().log;
        // So many segments may have left since an episode began.
        let mut account = None;
        for (told, sent) in log.feedback.iter().zip(&log.sent_before) {
            if told.recovery != Recovery::Fast {
                account = None;
                continue;
            }
            // By the next feedback, what this one lets go has left.
            if let Some((began, allowed)) = account {
                prop_assert!(sent - began <= allowed, "{} of {allowed} at {}", sent - began, told.at);
            }
            let (began, allowed) = match account {
                Some(account) if told.event != Some(CongestionEvent::Loss) => account,
                _ => (*sent, 1),
            };
            let more = told.acked.len() + usize::from(told.advanced > 0);
            account = Some((began, allowed + more));
        }
    }
}
