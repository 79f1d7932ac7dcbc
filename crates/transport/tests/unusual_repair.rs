//! Loss recovery that is nobody's standard: packet-pair's offsets and soft time-outs (Keshav 1994, §6), Vegas's timer of
//! fine grain (Brakmo and Peterson 1995, §III-A). Over a pipe of 50 ms each way with scripted losses.

use crate::pipe;

use pipe::Scripted;
use pipe::stream::{Test, config, events, transfer};
use tailback_control::Reliability;
use tailback_core::{BitRate, Bytes, Directive, Span};
use tailback_transport::{RtoConfig, StreamConfig};

#[test]
fn packet_pairs_offsets_repair_at_the_first_sign() {
    // Keshav's example (§6): 5 lost of 1..8; the first acknowledgement with an offset resends it, once.
    let test = transfer(config(Reliability::Offsets), Scripted::window(8), 30)
        .dropping(&[(4, 1)])
        .start()
        .run(Span::from_secs(5));
    let at_100 = test.sent_at(100);
    assert_eq!(at_100.iter().filter(|number| **number == 4).count(), 1);
    assert_eq!(at_100[..6], [8, 9, 10, 11, 4, 12], "before the answer to 6 and 7");
    assert_eq!(test.sender.counters().retransmitted, 1);
    assert!(test.finished());
}

#[test]
fn packet_pairs_soft_timeout_repairs_a_lost_retransmission() {
    let rto = RtoConfig { min: Span::from_secs(5), initial: Span::from_secs(5), ..RtoConfig::default() };
    let config = StreamConfig { rto, ..config(Reliability::Offsets) };
    let test = transfer(config, Scripted::window(30), 200).dropping(&[(4, 1), (4, 2)]).start();
    let test = test.run(Span::from_secs(5));
    let times: Vec<u64> = test.sent().iter().filter(|(_, number)| *number == 4).map(|(at, _)| *at).collect();
    assert_eq!(times.len(), 3);
    assert!(times[2] <= 500, "two round trips without progress, not the timer: {times:?}");
    assert_eq!(test.sender.counters().timeouts, 0);
    assert!(test.finished());
}

/// Packets every 10 ms, so that acknowledgements come one by one.
fn paced(drops: &'static [(u64, u32)], mode: Reliability) -> Test {
    let rto = RtoConfig { min: Span::from_secs(1), ..RtoConfig::default() };
    let rate = Some(BitRate::from_bits_per_sec(800_000));
    let controller = Scripted::new(Directive { rate, ..Directive::window(Bytes::new(40_000)) });
    transfer(StreamConfig { rto, limited_transmit: false, ..config(mode) }, controller, 80)
        .dropping(drops)
        .start()
}

#[test]
fn vegas_sends_again_at_the_first_duplicate() {
    // Number 20 leaves at 200 ms and is missed at 310 ms, when the acknowledgement of 21 arrives. By then the variation of
    // the constant round trip time, 100 ms, has decayed, so that the time-out is not much above 106 ms (Brakmo and Peterson
    // 1995, §III-A); Reno waits for the third duplicate.
    for (mode, at) in [(Reliability::Vegas, 310), (Reliability::Reno, 330)] {
        let test = paced(&[(20, 1)], mode).run(Span::from_secs(5));
        assert!(test.sent_at(at).contains(&20), "{mode:?}: {:?}", test.sent_at(at));
        assert_eq!(test.transmissions(20), 2);
        assert_eq!(test.sender.counters().timeouts, 0);
        assert!(test.finished());
    }
}

#[test]
fn vegas_repairs_neighbours_and_what_is_lost_again_without_the_timer() {
    let drops: &'static [(u64, u32)] = &[(20, 1), (21, 1), (30, 1), (30, 2)];
    let test = paced(drops, Reliability::Vegas).run(Span::from_secs(5));
    assert!(test.finished());
    assert_eq!(test.sender.counters().timeouts, 0, "{:?}", events(&test));
    // 20 is missed at 320 ms. When that repair is acknowledged, at 420 ms, 21 is older than the time-out and leaves at once.
    assert!(test.sent_at(320).contains(&20) && test.sent_at(420).contains(&21));
    assert_eq!((test.transmissions(21), test.transmissions(30)), (2, 3));
}

#[test]
fn vegas_needs_no_three_duplicates() {
    // A window of two packets never gets a second duplicate: Reno waits for the timer.
    for (mode, timeouts) in [(Reliability::Vegas, 0), (Reliability::Reno, 1)] {
        let rate = Some(BitRate::from_bits_per_sec(160_000));
        let controller = Scripted::new(Directive { rate, ..Directive::window(Bytes::new(2000)) });
        let config = StreamConfig { limited_transmit: false, ..config(mode) };
        let test = transfer(config, controller, 40).dropping(&[(20, 1)]).start().run(Span::from_secs(20));
        assert!(test.finished());
        assert_eq!(test.sender.counters().timeouts, timeouts, "{mode:?}");
    }
}
