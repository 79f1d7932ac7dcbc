//! A stream over a pipe of 50 ms each way without much trouble: windows, the receiver's window, the opening, random delays
//! and connections one after the other. Repair is in `repair.rs`, the timer in `timer.rs`.

use crate::pipe;

use pipe::stream::{ONE_WAY, config, transfer};
use pipe::{FLOW, Pipe, Scripted};
use tailback_control::Reliability;
use tailback_core::{Bytes, DataAmount, Event, Span, Time};
use tailback_transport::{Receiver, ReceiverConfig, Sender, StreamConfig};

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
