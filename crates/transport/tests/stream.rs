//! Loss recovery, packet by packet: scenarios of RFC 5681, RFC 6582, RFC 6675, RFC 3042 and RFC 6298 over a pipe of
//! 50 ms each way with scripted losses. Windows are scripted, so each trace follows from the RFC alone.

mod pipe;

use pipe::{FLOW, Pipe, Scripted};
use tailback_control::Reliability;
use tailback_core::{BitRate, Bytes, CongestionEvent, DataAmount, Directive, Event, Span, Time};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, RtoConfig, RttSampling, Sender, StreamConfig};

const ONE_WAY: Span = Span::from_millis(50);

fn config(reliability: Reliability) -> StreamConfig {
    StreamConfig { reliability, ..StreamConfig::default() }
}

type Test = Pipe<Sender<Scripted>, Receiver>;

fn transfer(config: StreamConfig, controller: Scripted, packets: u64) -> Test {
    let receiver = ReceiverConfig::default().matching(&config);
    let source = AnySource::finite(Bytes::new(packets * 960));
    Pipe::new(Sender::new(FLOW, config, controller, source), Receiver::new(FLOW, receiver), ONE_WAY)
}

fn events(test: &Test) -> Vec<CongestionEvent> {
    test.sender.controller().log.feedback.iter().filter_map(|told| told.event).collect()
}

#[test]
fn a_window_without_loss() {
    let test = transfer(config(Reliability::Sack), Scripted::window(4), 10).start().run(Span::from_secs(5));
    assert_eq!(test.sent_at(0), [0, 1, 2, 3]);
    assert_eq!(test.sent_at(100), [4, 5, 6, 7]);
    assert_eq!(test.sent_at(200), [8, 9]);
    assert_eq!(test.events.last(), Some(&(Time::ZERO + Span::from_millis(300), Event::Finished)));
    let size = Bytes::new(9600);
    assert!(test.events.iter().any(|(_, event)| *event == Event::MessageDone { size, began: Time::ZERO }));
    assert_eq!(test.receiver.counters().goodput, size);
    assert_eq!(test.sender.srtt(), Some(Span::from_millis(100)));
    let log = &test.sender.controller().log;
    assert_eq!(log.feedback[2].tags, [2 + 7], "the controller's note comes back");
    assert!(log.feedback[0].window_limited);
    assert!(!log.feedback[9].window_limited, "at the end the application has nothing more");
    assert!(test.annexes.is_empty());
}

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
    assert_eq!(loss.flight, 10_000, "without what limited transmit sent (RFC 5681 §3.2 step 2)");
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
    assert_eq!(test.transmissions(1), 2, "sent again although it had arrived");
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
    // Recovery resends 0; nothing else is lost by rule 1, there is no new data, so rule 4 sends the highest, 9.
    assert_eq!(with.sent_at(100), [0, 9]);
    let without = StreamConfig { rescue: false, ..config(Reliability::Sack) };
    let without = transfer(without, Scripted::window(10), 10).dropping(drops).start().run(Span::from_secs(5));
    assert_eq!(without.sent_at(100), [0]);
    assert!(with.finished() && without.finished());
    assert!(with.now <= without.now || with.transmissions(9) == 2);
}

#[test]
fn rule_three_fills_the_window_with_what_may_be_lost() {
    // Ten packets and no more data; 0 and 8 lost. 8 has one selectively acknowledged above: not lost by rule 1,
    // but resent by rule 3 when the window has room and there is no new data.
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
    // (4 segments): the hole is resent, inflation 12 - 4 + 1 = 9, so 6 + 9 less 14 outstanding leaves one: 18. The
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
fn the_timer_backs_off_and_starts_over() {
    // Number 0 is lost four times; initial time-out 1 s, doubled each time (RFC 6298 §5.5).
    for reliability in [Reliability::Reno, Reliability::NewReno, Reliability::Sack] {
        let controller = Scripted { on_timeout: Some(1000), ..Scripted::window(1) };
        let test = transfer(config(reliability), controller, 3)
            .dropping(&[(0, 1), (0, 2), (0, 3), (0, 4)])
            .start()
            .run(Span::from_secs(60));
        let times: Vec<u64> = test.sent().iter().map(|(at, _)| *at).collect();
        assert_eq!(times[..5], [0, 1000, 3000, 7000, 15_000]);
        let expected: Vec<_> = (1..=4).map(|consecutive| CongestionEvent::Timeout { consecutive }).collect();
        assert_eq!(events(&test), expected);
        assert!(test.finished());
    }
}

#[test]
fn karn_ignores_ambiguous_samples() {
    for sampling in [RttSampling::EveryAck, RttSampling::PerRoundTrip] {
        let config = StreamConfig { rtt_sampling: sampling, ..config(Reliability::Sack) };
        let test =
            transfer(config, Scripted::window(1), 1).dropping(&[(0, 1)]).start().run(Span::from_secs(5));
        assert!(test.finished());
        assert_eq!(test.sender.latest_rtt(), None, "{sampling:?}");
    }
    let config = StreamConfig { rtt_sampling: RttSampling::Timestamps, ..config(Reliability::Sack) };
    let test = transfer(config, Scripted::window(1), 1).dropping(&[(0, 1)]).start().run(Span::from_secs(5));
    assert_eq!(
        test.sender.latest_rtt(),
        Some(Span::from_millis(100)),
        "the echo tells which was acknowledged"
    );
    assert!(test.annexes.is_empty());
}

#[test]
fn one_sample_per_round_trip() {
    let config = StreamConfig { rtt_sampling: RttSampling::PerRoundTrip, ..config(Reliability::Sack) };
    let test = transfer(config, Scripted::window(5), 25).start().run(Span::from_secs(5));
    let samples = test.sender.controller().log.feedback.iter().filter(|told| told.rtt.is_some()).count();
    assert_eq!(samples, 5);
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

#[test]
fn the_receive_window_bounds_what_is_outstanding() {
    let config = StreamConfig {
        receive_window: Some(DataAmount::Packets(6.0)),
        rescue: false,
        ..config(Reliability::Sack)
    };
    let test = transfer(config, Scripted::window(100), 50).dropping(&[(0, 1)]).start();
    let test = test.run(Span::from_secs(10));
    assert_eq!(test.sent_at(0).len(), 6);
    assert_eq!(
        test.sent_at(100),
        [0],
        "nothing new fits while 0 is missing, although five have left the network"
    );
    assert!(test.finished());
    assert!(test.sender.controller().log.feedback.iter().all(|told| !told.window_limited));
}

#[test]
fn a_handshake_takes_a_round_trip_and_gives_the_first_sample() {
    let config = StreamConfig { handshake: true, ..config(Reliability::Sack) };
    let test = transfer(config, Scripted::window(4), 8).start().run(Span::from_secs(5));
    assert_eq!(test.sent_at(0), [0]);
    assert_eq!(test.departures[0].packet.size(), Bytes::new(40));
    assert_eq!(test.sent_at(100), [1, 2, 3, 4]);
    let first = &test.sender.controller().log.feedback[0];
    assert_eq!((first.advanced, first.rtt), (0, Some(Span::from_millis(100))));
    assert_eq!(test.receiver.counters().goodput, Bytes::new(8 * 960));
    assert!(test.finished());
}

#[test]
fn jitter_delays_opportunities_but_not_fast_retransmissions() {
    let jitter = Span::from_millis(20);
    let config = StreamConfig { send_jitter: jitter, ..config(Reliability::NewReno) };
    let test =
        transfer(config, Scripted::window(10), 40).dropping(&[(3, 1)]).start().run(Span::from_secs(20));
    assert!(test.finished());
    let first = test.departures[0].at;
    assert!(first > Time::ZERO && first <= Time::ZERO + jitter);
    assert!(
        test.departures[..10].iter().all(|departure| departure.at == first),
        "one delay for all permitted"
    );
    let again = test.departures.iter().find(|departure| departure.packet.is_retransmitted()).unwrap();
    let dups = test.acks.iter().filter(|(_, ack)| ack.number == 3).nth(3).unwrap();
    assert_eq!(again.at, dups.0 + ONE_WAY, "the third duplicate is answered at once");
    // RFC 3042: "the sender SHOULD transmit a segment of previously unsent data" for the first two; ns-2 does so without
    // its random delay, and a delay would set them against the fast retransmission for the same place in a queue.
    for (nth, number) in [(1, 13), (2, 14)] {
        let dup = test.acks.iter().filter(|(_, ack)| ack.number == 3).nth(nth).unwrap();
        let sent = test.departures.iter().find(|departure| departure.packet.number == number).unwrap();
        assert_eq!(sent.at, dup.0 + ONE_WAY, "limited transmit answers at once");
    }
}

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

#[test]
fn sessions_renew_the_connection_and_go_on_numbering() {
    use tailback_core::Stream;
    use tailback_transport::source::{Offer, Source};

    /// Two files, each on its own connection, the second offered long before the first is done.
    struct Two(u8);
    impl Source for Two {
        fn start(&mut self, _: Time, _: &mut Stream) {
            self.0 = 1;
        }
        fn next_offer(&self) -> Option<Time> {
            (self.0 == 1 || self.0 == 2).then_some(Time::ZERO)
        }
        fn take_offer(&mut self, _: Time, _: &mut Stream) -> Option<Offer> {
            self.0 += 1;
            Some(Offer { bytes: Bytes::new(5 * 960), new_connection: self.0 == 3, ends_message: true })
        }
        fn on_message_done(&mut self, _: Time, _: &mut Stream) {}
        fn is_finished(&self) -> bool {
            self.0 == 3
        }
        fn stop(&mut self, _: Time) {}
    }

    let config = config(Reliability::Sack);
    let receiver = ReceiverConfig::default().matching(&config);
    let sender = Sender::new(FLOW, config, Scripted::halving(4), Two(0))
        .with_restart(std::sync::Arc::new(|| Scripted::window(2)));
    let test = Pipe::new(sender, Receiver::new(FLOW, receiver), ONE_WAY).dropping(&[(0, 1)]).start();
    let test = test.run(Span::from_secs(10));
    assert!(test.finished());
    let done: Vec<_> = test.events.iter().filter(|(_, e)| matches!(e, Event::MessageDone { .. })).collect();
    assert_eq!(done.len(), 2);
    let second: Vec<_> = test.sent().into_iter().filter(|(_, number)| *number >= 5).collect();
    assert_eq!(second.len(), 5);
    assert_eq!(second[0].0, second[1].0, "the fresh controller's window is two");
    assert!(second[2].0 > second[1].0);
    assert!(second[0].0 >= done[0].0.as_nanos() / 1_000_000, "not before the first file is done");
    assert_eq!(test.receiver.counters().delivered_packets, 10);
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
