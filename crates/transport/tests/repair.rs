//! Loss recovery, packet by packet: scenarios of RFC 5681, RFC 6582, RFC 6675 and RFC 3042 over a pipe of 50 ms each way
//! with scripted losses. Windows are scripted, so each trace follows from the RFC alone.

use crate::pipe;

use pipe::Scripted;
use pipe::stream::{config, events, transfer};
use tailback_control::Reliability;
use tailback_core::{BitRate, Bytes, CongestionEvent, Directive, Span};
use tailback_transport::{RtoConfig, StreamConfig};

#[test]
fn sack_repairs_one_loss_within_a_round_trip() {
    // Ten in flight, number 0 lost. Three selective acknowledgements: 1, 2, 3 (RFC 6675 §5).
    let test = transfer(config(Reliability::Sack), Scripted::halving(10), 30)
        .dropping(&[(0, 1)])
        .start()
        .run(Span::from_secs(5));
    // All acknowledgements of the first flight arrive at 100 ms. Limited transmit sends 10 and 11 for the first two
    // (RFC 3042); the third begins recovery and resends 0. Window 5 of pipe 9 = 12 - 3: (10, 11, 0' and 4..=9);
    // the acknowledgements of 4..=9 lower it to 3 and so let 12 and 13 go.
    assert_eq!(test.sent_at(100), [10, 11, 0, 12, 13]);
    assert_eq!(events(&test), [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
    assert!(test.finished());
    assert_eq!(test.transmissions(0), 2);
    assert_eq!(test.departures.len(), 31, "nothing else is sent twice");
    let loss = test.sender.controller().log.feedback.iter().find(|told| told.event.is_some()).unwrap();
    assert_eq!(loss.outstanding, 10_000, "without what limited transmit sent (RFC 5681 §3.2 step 2)");
    assert_eq!(loss.lost, [0]);
}

#[test]
fn sack_repairs_many_losses_in_a_window_in_one_episode() {
    let test = transfer(config(Reliability::Sack), Scripted::halving(20), 60)
        .dropping(&[(0, 1), (3, 1), (4, 1), (9, 1), (19, 1)])
        .start()
        .run(Span::from_secs(10));
    assert_eq!(events(&test), [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
    assert_eq!(test.sender.counters().timeouts, 0);
    assert_eq!(test.sender.counters().retransmitted, 5);
    for number in [0, 3, 4, 9] {
        assert!(test.sent_at(100).contains(&number), "{number} is repaired in the first round trip");
    }
    assert!(test.finished());
}

#[test]
fn sack_never_resends_what_has_arrived() {
    let drops: &'static [(u64, u32)] = &[(5, 1), (6, 1), (7, 1), (20, 1), (40, 1), (41, 1), (42, 1)];
    let test = transfer(config(Reliability::Sack), Scripted::window(16), 200).dropping(drops).start();
    let test = test.run(Span::from_secs(30));
    assert!(test.finished());
    assert_eq!(test.receiver.counters().duplicates, 0);
    assert_eq!(test.departures.len(), 200 + drops.len());
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let test = transfer(config(Reliability::Sack), Scripted::halving(10), 30)
        .dropping(&[(0, 1), (0, 2)])
        .start()
        .run(Span::from_secs(5));
    assert_eq!(events(&test)[..2], [CongestionEvent::Loss, CongestionEvent::Timeout { consecutive: 1 }]);
    assert_eq!(test.transmissions(0), 3);
    assert_eq!(test.transmissions(5), 1, "the scoreboard outlives the time-out");
    assert!(test.finished());
}

#[test]
fn a_forgotten_scoreboard_sends_again_from_the_hole() {
    let config = StreamConfig { keep_scoreboard: false, ..config(Reliability::Sack) };
    let controller = Scripted { on_timeout: Some(4000), ..Scripted::halving(10) };
    let test = transfer(config, controller, 30).dropping(&[(0, 1), (0, 2)]).start().run(Span::from_secs(5));
    assert!(test.finished());
    assert_eq!(test.transmissions(0), 3);
    assert_eq!(test.transmissions(1), 2, "retransmitted although it had arrived");
    // Every packet is told acknowledged exactly once all the same.
    let mut told: Vec<u64> =
        test.sender.controller().log.feedback.iter().flat_map(|t| t.acked.clone()).collect();
    told.sort_unstable();
    assert_eq!(told, (0..30).collect::<Vec<_>>());
}

#[test]
fn the_rescue_repairs_a_lost_tail() {
    // The last three of ten and the first are lost: 7, 8, 9 have nothing selectively acknowledged above.
    let drops: &'static [(u64, u32)] = &[(0, 1), (7, 1), (8, 1), (9, 1)];
    let with = transfer(config(Reliability::Sack), Scripted::window(10), 10).dropping(drops).start();
    let with = with.run(Span::from_secs(5));
    // Recovery resends 0. Nothing else is lost by rule 1, and there is no new data; but a rescue would be premature until
    // more than 0 is acknowledged (§5 step 4.3, §4 rule 4). Then rule 4 sends the highest, 9, whose range lets rule 3 send the
    // rest.
    assert_eq!(with.sent_at(100), [0]);
    assert_eq!(with.sent_at(200), [9]);
    assert_eq!(with.sent_at(300), [7, 8]);
    let without = StreamConfig { rescue: false, ..config(Reliability::Sack) };
    let without = transfer(without, Scripted::window(10), 10).dropping(drops).start().run(Span::from_secs(5));
    assert_eq!(without.sent_at(100), [0]);
    assert!(with.finished() && without.finished());
    assert!(with.now <= without.now || with.transmissions(9) == 2);
}

#[test]
fn a_rescue_repeats_nothing_of_what_has_just_left() {
    // Of the last ten the first is lost. 3's duplicate begins recovery and resends 0; with room and without new data a rescue at
    // once would send 9, which has arrived. Of four with a threshold of three it would be 0 itself, twice at one time.
    for packets in [10, 4] {
        let controller = Scripted::window(packets);
        let test = transfer(config(Reliability::Sack), controller, packets).dropping(&[(0, 1)]).start();
        let test = test.run(Span::from_secs(5));
        assert_eq!(test.sent_at(100), [0], "{packets}");
        assert_eq!(
            (test.sender.counters().retransmitted, test.sender.counters().timeouts),
            (1, 0),
            "{packets}"
        );
        assert!(test.finished());
    }
}

#[test]
fn rule_three_fills_the_window_with_what_may_be_lost() {
    // Ten packets and no more data; 0 and 8 lost. 8 has one selectively acknowledged above: not lost by rule 1,
    // but retransmitted by rule 3 when the window has room and there is no new data.
    let config = StreamConfig { rescue: false, ..config(Reliability::Sack) };
    let test = transfer(config, Scripted::window(10), 10)
        .dropping(&[(0, 1), (8, 1)])
        .start()
        .run(Span::from_secs(5));
    assert_eq!(test.sent_at(100), [0, 8]);
    assert_eq!(test.sender.counters().timeouts, 0);
    assert!(test.finished());
}

#[test]
fn the_next_segment_is_chosen_rule_by_rule() {
    // RFC 6675 §4, sixteen packets; 0, 4 and 10 of the first twelve are lost. At 100 ms the duplicates of 1 and 2 let 12 and
    // 13 go (RFC 3042); that of 3 begins recovery with window 6 and resends 0: pipe 14 - 3 - 1 + 1 = 11. Those of 5, 6 and 7
    // lower it to 8, and 7's makes 4 lost (three above it): 7. That of 9 makes it 5, and rule 1 resends 4. That of 11 makes
    // it 5 again; 10 has only one above, so rule 2 sends new data.
    let drops: &'static [(u64, u32)] = &[(0, 1), (4, 1), (10, 1)];
    let test = transfer(config(Reliability::Sack), Scripted::halving(12), 16).dropping(drops).start();
    let test = test.run(Span::from_secs(5));
    assert_eq!(test.sent_at(100), [12, 13, 0, 4, 14]);
    // At 200 ms 12's lets the last new packet go, by rule 2. 13's makes 10 lost: pipe 6 - 1 - 1 = 4, rule 1 resends it, and
    // nothing is left for rules 1 to 3: rule 4 resends the highest, once.
    assert_eq!(test.sent_at(200), [15, 10, 15]);
    assert_eq!(events(&test), [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
    assert_eq!(test.sender.counters().retransmitted, 4);
    assert!(test.finished());
}

#[test]
fn so_many_duplicates_mean_loss() {
    // A packet every 10 ms; number 20 leaves at 200 ms, and the nth duplicate arrives at 300 + 10 n ms.
    for reliability in [Reliability::Reno, Reliability::NewReno, Reliability::Sack] {
        for dup_threshold in [1, 2, 3, 7] {
            let rate = Some(BitRate::from_bits_per_sec(800_000));
            let controller = Scripted::new(Directive { rate, ..Directive::window(Bytes::new(40_000)) });
            let config = StreamConfig { dup_threshold, ..config(reliability) };
            let test = transfer(config, controller, 80).dropping(&[(20, 1)]).start().run(Span::from_secs(5));
            let at = 300 + 10 * u64::from(dup_threshold);
            assert!(test.sent_at(at).contains(&20), "{reliability:?}, {dup_threshold}");
            assert_eq!((test.transmissions(20), test.sender.counters().timeouts), (2, 0));
        }
    }
}

#[test]
fn careful_newreno_wants_more_than_recover_acknowledged() {
    // The first of eight is lost; recovery begins at 100 ms with 7 the highest sent ("recover"). Window 4 and seven duplicates
    // let 8, 9 and 10 go, and 8 is lost. At 200 ms everything up to 7 is acknowledged, 11 leaves, 9 and 10 make two
    // duplicates; the third, 11's, arrives at 300 ms. It "covers" recover, but not "more than recover" (RFC 6582 §3.2 step 1).
    for (careful, begun) in [(None, false), (Some(true), false), (Some(false), true)] {
        let config = StreamConfig { careful, limited_transmit: false, ..config(Reliability::NewReno) };
        let test = transfer(config, Scripted::halving(8), 12).dropping(&[(0, 1), (8, 1)]).start();
        let test = test.run(Span::from_secs(5));
        assert_eq!(test.sent_at(100), [0, 8, 9, 10]);
        assert_eq!(test.sent_at(200), [11]);
        assert_eq!(test.sent_at(300).contains(&8), begun, "{careful:?}");
        assert_eq!(test.sender.counters().timeouts, u64::from(!begun));
        assert!(test.finished());
    }
}

#[test]
fn an_impatient_newreno_leaves_many_holes_to_the_timer() {
    // Seven of twelve are lost, a round trip each. The first partial acknowledgement, at 200 ms, restarts the timer; if no
    // other does (RFC 6582 §3.2 step 3), it expires at 550 ms, in the midst of the repair.
    let drops: &'static [(u64, u32)] = &[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)];
    // No sample is taken before the repair is over: the timer stands at its initial value.
    let rto = RtoConfig { initial: Span::from_millis(350), ..RtoConfig::default() };
    for (impatient, timeouts) in [(true, 1), (false, 0)] {
        let config = StreamConfig { impatient, rto: rto.clone(), ..config(Reliability::NewReno) };
        let test = transfer(config, Scripted::halving(12), 40).dropping(drops).start();
        let test = test.run(Span::from_secs(10));
        assert!(test.finished());
        assert_eq!(test.sender.counters().timeouts, timeouts, "{impatient}");
        assert_eq!(test.sent_at(550).contains(&4), impatient);
    }
}

#[test]
fn newreno_repairs_one_hole_per_round_trip() {
    let test = transfer(config(Reliability::NewReno), Scripted::halving(12), 40)
        .dropping(&[(0, 1), (4, 1), (8, 1)])
        .start()
        .run(Span::from_secs(10));
    // The partial acknowledgements of 0' and 4' each resend the next hole at once (RFC 6582 §3.2 step 3).
    assert!(test.sent_at(100).contains(&0));
    assert!(test.sent_at(200).contains(&4) && !test.sent_at(200).contains(&8));
    assert!(test.sent_at(300).contains(&8));
    assert_eq!(events(&test), [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
    assert_eq!(test.sender.counters().retransmitted, 3);
    assert_eq!(test.sender.counters().timeouts, 0);
    assert!(test.finished());
}

#[test]
fn newreno_inflates_and_deflates_the_window() {
    let test = transfer(config(Reliability::NewReno), Scripted::halving(12), 40)
        .dropping(&[(0, 1), (4, 1)])
        .start()
        .run(Span::from_secs(10));
    // The first flight is 0..=11; 10 duplicates (1..=11 less 4). Two by limited transmit: 12, 13. The third resends
    // 0 with window 6 + 3; flight 14. Duplicates 4..=10 inflate by 7 more: 6 + 10 = 16 lets 14 and 15 go.
    assert_eq!(test.sent_at(100), [12, 13, 0, 14, 15]);
    // The duplicates of 12 and 13, sent ahead of 0', let 16 and 17 go. 0' brings a partial acknowledgement up to 4
    // (4 segments): the hole is retransmitted, inflation 12 - 4 + 1 = 9, so 6 + 9 less 14 outstanding leaves one: 18. The
    // duplicates of 14 and 15 let two more go.
    assert_eq!(test.sent_at(200), [16, 17, 4, 18, 19, 20]);
    assert!(test.finished());
}

#[test]
fn plain_reno_leaves_recovery_with_the_first_new_acknowledgement() {
    let test = transfer(config(Reliability::Reno), Scripted::halving(12), 40)
        .dropping(&[(0, 1), (4, 1)])
        .start()
        .run(Span::from_secs(10));
    let all = events(&test);
    assert_eq!(all[..2], [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
    // The second hole finds the episode's end not yet acknowledged: only the timer repairs it.
    assert_eq!(all[2], CongestionEvent::Timeout { consecutive: 1 });
    let config = StreamConfig { one_recovery_per_window: false, ..config(Reliability::Reno) };
    let test = transfer(config, Scripted::halving(12), 40).dropping(&[(0, 1), (4, 1)]).start();
    let test = test.run(Span::from_secs(10));
    let all = events(&test);
    assert_eq!(all.iter().filter(|event| **event == CongestionEvent::Loss).count(), 2, "{all:?}");
    assert_eq!(test.sender.counters().timeouts, 0);
}

#[test]
fn limited_transmit_sends_two_new_segments_only() {
    for reliability in [Reliability::Reno, Reliability::NewReno, Reliability::Sack] {
        // A window of 3, the first lost: two duplicates come. Without limited transmit nothing answers them.
        let with = transfer(config(reliability), Scripted::window(3), 20).dropping(&[(0, 1)]).start();
        let with = with.run(Span::from_millis(250));
        assert_eq!(with.sent_at(100), [3, 4], "{reliability:?}");
        assert!(with.sent_at(200).contains(&0), "the two bring the third duplicate: {reliability:?}");
        let without = StreamConfig { limited_transmit: false, ..config(reliability) };
        let without = transfer(without, Scripted::window(3), 20).dropping(&[(0, 1)]).start();
        let without = without.run(Span::from_millis(250));
        assert_eq!(without.sent_at(100), [0; 0], "{reliability:?}");
    }
}

#[test]
fn a_whole_window_lost_is_repaired_by_the_timer() {
    for reliability in [Reliability::Reno, Reliability::NewReno, Reliability::Sack, Reliability::Offsets] {
        let controller = Scripted { on_timeout: Some(2000), ..Scripted::window(8) };
        let test = transfer(config(reliability), controller, 40)
            .script(|packet, count, _| {
                let lost = (8..16).contains(&packet.number) && count == 1;
                if lost { pipe::Fate::Drop } else { pipe::Fate::Deliver }
            })
            .start()
            .run(Span::from_secs(10));
        assert!(test.finished(), "{reliability:?}");
        assert_eq!(test.receiver.counters().delivered_packets, 40);
        assert_eq!(
            events(&test).first(),
            Some(&CongestionEvent::Timeout { consecutive: 1 }),
            "{reliability:?}"
        );
        assert_eq!(test.receiver.counters().duplicates, 0, "{reliability:?}");
    }
}
