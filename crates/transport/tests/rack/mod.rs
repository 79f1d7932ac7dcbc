//! Losses found by time (RACK-TLP, RFC 8985): the examples of §3.4, §3.5 and §9.1, the reordering window, and time-outs. A
//! second writing is in `second`.

mod probes;
mod promises;

use crate::pipe;

use pipe::stream::{Test, config, events, transfer};
use pipe::{FLOW, Fate, Pipe, Scripted};
use tailback_control::Reliability;
use tailback_core::{
    AckBlocks, Annex, AppInput, Bytes, Checker, CongestionEvent, Directive, Kind, Packet, SeqRange, Span,
    Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{
    EcnMode, LossDetection, RackConfig, Receiver, ReceiverConfig, Sender, SpuriousDetection, StreamConfig,
};

/// By time, with these settings. Round trips take 100 ms.
fn with(rack: RackConfig) -> StreamConfig {
    StreamConfig { loss_detection: LossDetection::Rack(rack).into(), ..config(Reliability::Sack) }
}

fn by_time() -> StreamConfig {
    with(RackConfig::default())
}

/// Data is written by hand, in segments of 960 B of payload.
fn written(config: StreamConfig, controller: Scripted) -> Test {
    let receiver = ReceiverConfig::default().matching(&config);
    let sender = Sender::new(FLOW, config, controller, AnySource::pushed());
    Pipe::new(sender, Receiver::new(FLOW, receiver), pipe::stream::ONE_WAY)
}

/// The applications writes so many segments now.
fn write(test: &mut Test, segments: u64) {
    test.app(AppInput::Write(Bytes::new(segments * 960)));
}

/// A connection whose first segment has measured a round trip of 100 ms, at 200 ms.
fn measured(config: StreamConfig, controller: Scripted, drops: &'static [(u64, u32)]) -> Test {
    let mut test = written(config, controller).dropping(drops).start();
    write(&mut test, 1);
    let mut test = test.run(Span::from_millis(150));
    // Nothing is left to happen: the clock stands at the acknowledgement.
    test.now = millis(200);
    test
}

/// Of the first segments one is overtaken by one, before any could be by three.
fn overtaken_by_one(number: u64) -> Fate {
    Fate::Late(Span::from_micros(match number {
        0 | 1 => 0,
        2 => 30,
        3 => 20,
        _ => 40,
    }))
}

fn millis(at: u64) -> Time {
    Time::ZERO + Span::from_millis(at)
}

/// §3.4, figure 1: three of four are lost, and the retransmission of one of these.
#[test]
fn a_lost_tail_is_repaired_as_figure_1_says() {
    let drops: &[(u64, u32)] = &[(2, 1), (3, 1), (4, 1), (2, 2)];
    let mut test = measured(by_time(), Scripted::window(20), drops);
    write(&mut test, 4);
    let test = test.run(Span::from_secs(5));
    // P0 to P3 are 1 to 4. P0's acknowledgement comes at 300 ms, the probe two round trips later. Its range shows that P1 and P2 are
    // lost, and that of P2's retransmission that P1's is.
    let sent: Vec<_> = test.sent().into_iter().filter(|(_, number)| *number > 0).collect();
    let expected = [(200, 1), (200, 2), (200, 3), (200, 4), (500, 4), (600, 2), (600, 3), (700, 2)];
    assert_eq!(sent, expected);
    // "Two separate congestion control reactions."
    let (loss, end) = (CongestionEvent::Loss, CongestionEvent::RecoveryEnd);
    assert_eq!(events(&test), [loss, loss, end]);
    assert_eq!((test.sender.counters().timeouts, test.sender.probes()), (0, 1));
}

/// The same of a law that asks for lost retransmissions by themselves: it hears of all losses, and of one event in an episode.
#[test]
fn a_lost_retransmission_is_no_second_event_for_a_law_that_asks_for_them() {
    let config = StreamConfig { lost_retransmissions: true, ..by_time() };
    let drops: &[(u64, u32)] = &[(2, 1), (3, 1), (4, 1), (2, 2)];
    let mut test = measured(config, Scripted::window(20), drops);
    write(&mut test, 4);
    let test = test.run(Span::from_secs(5));
    assert_eq!([600, 700].map(|at| test.sent_at(at)), [vec![2, 3], vec![2]]);
    assert_eq!(events(&test), [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
}

/// The same with proportional rate reduction, which is the one reaction (§9.3).
#[test]
fn a_lost_retransmission_is_no_second_event_where_recovery_reduces_in_proportion() {
    let config = StreamConfig { proportional_rate_reduction: true, ..by_time() };
    let drops: &[(u64, u32)] = &[(2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (3, 2)];
    let mut test = measured(config, Scripted::window(20), drops);
    write(&mut test, 6);
    let test = test.run(Span::from_secs(5));
    // One leaves for the probe that has arrived, two for what advances, of which the first is lost again.
    assert_eq!([600, 700, 800].map(|at| test.sent_at(at)), [vec![2], vec![3, 4], vec![3]]);
    assert_eq!(events(&test), [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
    assert_eq!(test.sender.counters().timeouts, 0);
}

/// §3.5: of three segments the second and third left right before the first one's time-out. The two are not retransmitted.
#[test]
fn a_timeout_spares_what_left_lately() {
    let rack = RackConfig { tail_loss_probe: false, ..RackConfig::default() };
    let mut test = measured(with(rack), Scripted::window(20), &[(1, 1)]);
    write(&mut test, 1);
    // Without an acknowledgement it expires at 200 + 100 + 4 × 37.5 or 50 ms after the first sample, by RFC 6298.
    let expiry = 200 + test.sender.timeout().as_nanos() / 1_000_000;
    let mut test = test.run(Span::from_millis(expiry - 200 - 10));
    write(&mut test, 2);
    let test = test.run(Span::from_millis(30));
    assert_eq!(test.sender.counters().timeouts, 1);
    assert_eq!(test.sent_at(expiry), [1]);
    let test = test.run(Span::from_secs(5));
    assert_eq!([1, 2, 3].map(|number| test.transmissions(number)), [2, 1, 1]);
    assert!(test.finished() || test.sender.counters().retransmitted == 1);
}

/// §9.1, example 1: P1 and P3 of three segments are lost, which left further apart than the reordering window.
#[test]
fn drops_at_the_end_of_a_flight_need_no_timeout() {
    let mut test = measured(by_time(), Scripted::window(20), &[(1, 1), (3, 1)]);
    for _ in 0..3 {
        write(&mut test, 1);
        test = test.run(Span::from_millis(30));
    }
    let test = test.run(Span::from_secs(5));
    // P1 at 200 ms, P2 at 230 ms, whose range comes at 330 ms: "RACK will mark P1 as lost when the SACK of P2 is received", and "when R1
    // is cumulatively acknowledged, RACK will mark P3 as lost".
    let sent: Vec<_> = test.sent().into_iter().filter(|(_, number)| *number > 0).collect();
    assert_eq!(sent, [(200, 1), (230, 2), (260, 3), (330, 1), (430, 3)]);
    assert_eq!(test.sender.counters().timeouts, 0);
}

/// §9.1, example 2: P1 and P2 are lost, and then R1.
#[test]
fn a_lost_retransmission_needs_no_timeout() {
    let mut test = measured(by_time(), Scripted::window(20), &[(1, 1), (2, 1), (1, 2)]);
    for _ in 0..3 {
        write(&mut test, 1);
        test = test.run(Span::from_millis(30));
    }
    let test = test.run(Span::from_secs(5));
    let sent: Vec<_> = test.sent().into_iter().filter(|(_, number)| *number > 0).collect();
    assert_eq!(sent, [(200, 1), (230, 2), (260, 3), (360, 1), (360, 2), (460, 1)]);
    assert_eq!(test.sender.counters().timeouts, 0);
}

/// §9.1, example 3: P1 and P2 come behind P3. Within a quarter of a round trip nothing is lost, beyond it both are.
#[test]
fn reordering_within_the_window_is_none() {
    for (late, again) in [(24, 0), (26, 2)] {
        let mut test = written(by_time(), Scripted::window(20)).start();
        write(&mut test, 1);
        let mut test = test.run(Span::from_millis(200)).script(move |packet, count, _| {
            let is_late = count == 1 && [1, 2].contains(&packet.number);
            if is_late { Fate::Late(Span::from_millis(late)) } else { Fate::Deliver }
        });
        write(&mut test, 3);
        let test = test.run(Span::from_secs(5));
        assert_eq!(test.sender.counters().retransmitted, again, "{late} ms late");
        assert_eq!(test.sender.counters().recoveries, u64::from(again > 0));
        assert_eq!(test.sender.counters().timeouts, 0);
    }
}

/// Three segments beyond a hole are no reordering, as long as there was none: the window is zero (§6.2 step 4). Once there was, they
/// wait for the reordering window, and its timer finds the loss.
#[test]
fn three_ranges_are_a_loss_only_before_reordering_was_seen() {
    for (reordered, at) in [(false, 300), (true, 325)] {
        let mut test = written(by_time(), Scripted::window(20)).start();
        write(&mut test, 1);
        test = test.run(Span::from_millis(100)).script(move |packet, count, _| match packet.number {
            1 if reordered => Fate::Late(Span::from_millis(10)),
            3 if count == 1 => Fate::Drop,
            _ => Fate::Deliver,
        });
        write(&mut test, 2);
        test = test.run(Span::from_millis(100 + 10));
        let start = test.now;
        write(&mut test, 5);
        let test = test.run(Span::from_secs(5));
        let repaired: Vec<Time> =
            test.departures.iter().filter(|one| one.packet.number == 3).map(|one| one.at).collect();
        assert_eq!(repaired.len(), 2);
        assert_eq!(repaired[1].since(start), Span::from_millis(at - 200), "{reordered}");
        assert_eq!(test.sender.counters().timeouts, 0);
    }
}

/// An echo at a window of one has the retransmission timer begin anew (RFC 3168 §6.1.2), and no other: the segment that a range has
/// overtaken is lost a reordering window later. It is of the same window of data as the mark, so that the controller does not hear of
/// another reduction ("only once in response to a series of dropped and/or CE packets from a single window of data").
#[test]
fn an_echo_at_a_window_of_one_leaves_the_reordering_timer_alone() {
    let config = StreamConfig { ecn: EcnMode::Ect0, ..by_time() };
    let one = Directive::window(Bytes::new(1000));
    let test = measured(config, Scripted::window(2).at(millis(250), one), &[]);
    let mut test = test.script(|packet, count, _| match (packet.number, count) {
        (1, 1) => Fate::Drop,
        (2, 1) => Fate::Mark,
        _ => Fate::Deliver,
    });
    write(&mut test, 2);
    let test = test.run(Span::from_secs(5));
    assert_eq!(events(&test), [CongestionEvent::Ecn, CongestionEvent::RecoveryEnd]);
    assert_eq!(test.sent_at(325), [1], "a round trip and a quarter after it left");
    assert_eq!(test.sender.counters().timeouts, 0);
}

/// §6.2 step 4: each round trip that tells of a needless retransmission makes the reordering window longer, up to the smoothed round
/// trip time, and no more than one does.
#[test]
fn needless_retransmissions_make_the_window_longer() {
    // Reordering is seen at once. Every tenth segment is late, from the fifth on.
    let script = |packet: &Packet, _: u32, _: &mut tailback_core::rng::Stream| match packet.number {
        number if number % 10 == 5 && !packet.is_retransmitted() => Fate::Late(Span::from_millis(70)),
        number => overtaken_by_one(number),
    };
    let run = |dsack| {
        let config = by_time();
        let receiver = ReceiverConfig { dsack, ..ReceiverConfig::default() }.matching(&config);
        let source = AnySource::finite(Bytes::new(400 * 960));
        let sender = Sender::new(FLOW, config, Scripted::window(20), source);
        let test = Pipe::new(sender, Receiver::new(FLOW, receiver), pipe::stream::ONE_WAY);
        let test = test.script(script).start().run(Span::from_secs(60));
        assert!(test.finished());
        test
    };
    let (adapts, does_not) = (run(None), run(Some(false)));
    let needless = |test: &Test| {
        let again = test.departures.iter().filter(|one| one.packet.is_retransmitted());
        again.map(|one| one.packet.number).collect::<Vec<_>>()
    };
    let (some, many) = (needless(&adapts), needless(&does_not));
    assert!(some.len() <= 6 && many.len() >= 20, "{some:?} {many:?}");
    assert!(some.iter().all(|number| *number < 120), "{some:?}");
}

/// F-RTO and Eifel detection find a time-out that was none, and nothing that arrives is retransmitted beyond the first.
#[test]
fn a_spurious_timeout_is_taken_back() {
    for spurious in [SpuriousDetection::FRto, SpuriousDetection::Eifel] {
        let rack = RackConfig { tail_loss_probe: false, ..RackConfig::default() };
        let config = StreamConfig { spurious, ..with(rack) };
        let test = transfer(config, Scripted::halving(10), 200).script(|packet, _, _| {
            if packet.number >= 40 { Fate::Late(Span::from_millis(400)) } else { Fate::Deliver }
        });
        // One segment in each half of a second: this controller takes nothing back.
        let test = test.start().run(Span::from_secs(100));
        assert!(test.finished());
        assert!(events(&test).contains(&CongestionEvent::Spurious), "{spurious:?} {:?}", events(&test));
        assert!(test.sender.counters().retransmitted <= 3, "{}", test.sender.counters().retransmitted);
    }
}

/// An acknowledgement that proves a time-out to have been for nothing shows as well as any other what is lost (§6.2), though none
/// comes behind it: three ranges at once, two by the reordering timer. The controller hears of both, in this order.
#[test]
fn what_proves_a_timeout_spurious_shows_losses_too() {
    for (highest, repaired) in [(5, 510), (4, 535)] {
        let rack = RackConfig { tail_loss_probe: false, ..RackConfig::default() };
        let config = StreamConfig { spurious: SpuriousDetection::Eifel, ..with(rack) };
        let controller = Scripted { on_timeout: Some(1000), ..Scripted::window(20) };
        let test = measured(config, controller, &[]);
        let mut test = test.ack_script(|_, _, _| Fate::Drop);
        write(&mut test, 5);
        // The retransmission timer expires at 500 ms. What arrived until then is told late, and only once.
        let mut test = test.run(Span::from_millis(305));
        test.now = millis(510);
        let mut blocks = AckBlocks { count: 1, echo: Some(millis(200)), ..AckBlocks::default() };
        blocks.blocks[0] = SeqRange { start: 3, end: highest + 1 };
        test.forge(Packet::new(Kind::Ack, FLOW, 2, Bytes::new(48)), Some(Annex::Blocks(blocks)));
        let test = test.run(Span::from_millis(50));
        let again = test.departures.iter().filter(|one| one.packet.is_retransmitted());
        let again: Vec<(Time, u64)> = again.map(|one| (one.at, one.packet.number)).collect();
        assert_eq!(again, [(millis(500), 1), (millis(repaired), 2)]);
        let (timeout, loss) = (CongestionEvent::Timeout { consecutive: 1 }, CongestionEvent::Loss);
        assert_eq!(events(&test), [timeout, CongestionEvent::Spurious, loss]);
    }
}

#[test]
fn without_ranges_it_is_refused() {
    let refused = |config: StreamConfig| {
        let mut checker = Checker::new();
        config.check(&mut checker);
        let faults: Vec<String> =
            checker.finish().err().into_iter().flatten().map(|fault| fault.field).collect();
        faults.join(" ")
    };
    assert_eq!(refused(by_time()), "");
    for reliability in [Reliability::NewReno, Reliability::Vegas, Reliability::Offsets] {
        assert_eq!(refused(StreamConfig { reliability, ..by_time() }), "loss_detection");
    }
    for (rack, field) in [
        (RackConfig { reordering_window: 0.0, ..RackConfig::default() }, "reordering_window"),
        (RackConfig { reordering_window: f64::NAN, ..RackConfig::default() }, "reordering_window"),
        (RackConfig { persist: 0, ..RackConfig::default() }, "persist"),
        (RackConfig { min_rtt_window: Span::ZERO, ..RackConfig::default() }, "min_rtt_window"),
        (RackConfig { max_ack_delay: Span::from_secs(11), ..RackConfig::default() }, "max_ack_delay"),
    ] {
        assert_eq!(refused(with(rack)), format!("loss_detection.{field}"));
    }
}

/// D-SACK by RFC 2883 §4: the first range is what arrived twice, below the number that is expected or within the second range.
#[test]
fn a_receiver_names_what_arrived_twice() {
    let said = |dsack, numbers: &[u64]| {
        let config = by_time();
        let receiver = ReceiverConfig { dsack, ..ReceiverConfig::default() }.matching(&config);
        let sender = Sender::new(FLOW, config, Scripted::window(1), AnySource::pushed());
        let mut test = Pipe::new(sender, Receiver::new(FLOW, receiver), pipe::stream::ONE_WAY);
        for number in numbers {
            test.deliver(Packet::new(Kind::Data, FLOW, *number, Bytes::new(1000)));
        }
        let packet = test.acks.last().expect("an acknowledgement").1;
        let annex = test.annexes.take(packet.annex);
        let blocks = match annex {
            Some(Annex::Blocks(blocks)) => blocks,
            _ => AckBlocks::default(),
        };
        let ranges: Vec<_> = blocks.as_slice().iter().map(|range| (range.start, range.end)).collect();
        (packet.number, ranges, packet.size().get())
    };
    let none: Vec<(u64, u64)> = Vec::new();
    assert_eq!(said(None, &[0, 1, 1]), (2, vec![(1, 2)], 48));
    assert_eq!(said(Some(false), &[0, 1, 1]), (2, none, 40));
    assert_eq!(said(None, &[0, 2, 4, 6, 1, 1]), (3, vec![(1, 2), (6, 7), (4, 5)], 64));
    assert_eq!(said(None, &[0, 2, 3, 5, 2]), (1, vec![(2, 3), (2, 4), (5, 6)], 64));
    assert_eq!(said(None, &[0, 2, 2, 3]), (1, vec![(2, 4)], 48), "it is named once");
}
