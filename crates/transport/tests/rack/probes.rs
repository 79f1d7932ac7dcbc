//! Probes of a tail that may be lost (RFC 8985 §7): when one is sent, what it repairs, and what the controller hears of it.

use super::{by_time, measured, millis, with, write, written};
use crate::pipe;

use pipe::stream::events;
use pipe::{FLOW, Fate, Pipe, Scripted};
use tailback_core::{CongestionEvent, DataAmount, Span, Time};
use tailback_transport::source::AnySource;
use tailback_transport::{RackConfig, Receiver, ReceiverConfig, Sender, StreamConfig};

/// A loss at the tail is repaired two round trips later and not by the timer; the last segment of several is repaired by the probe
/// itself, which the controller hears of once, when new data is acknowledged (§7.4.2).
#[test]
fn a_probe_that_repairs_the_loss_is_one_event() {
    let mut test = measured(by_time(), Scripted::window(20), &[(4, 1)]);
    write(&mut test, 4);
    test = test.run(Span::from_millis(600));
    let sent: Vec<_> = test.sent().into_iter().filter(|(_, number)| *number > 3).collect();
    assert_eq!(sent, [(200, 4), (500, 4)]);
    assert_eq!(events(&test), []);
    write(&mut test, 4);
    let mut test = test.run(Span::from_millis(300));
    assert_eq!(events(&test)[0], CongestionEvent::Loss);
    write(&mut test, 4);
    let test = test.run(Span::from_secs(5));
    assert_eq!(events(&test), [CongestionEvent::Loss, CongestionEvent::RecoveryEnd]);
    assert_eq!((test.sender.counters().timeouts, test.sender.probes()), (0, 1));
}

/// A probe that was for nothing, since the acknowledgement was late, is found out by the duplicate, whether it is named or not.
#[test]
fn a_needless_probe_is_no_event() {
    for dsack in [Some(true), Some(false)] {
        let config = by_time();
        let receiver = ReceiverConfig { dsack, ..ReceiverConfig::default() }.matching(&config);
        let sender = Sender::new(FLOW, config, Scripted::window(20), AnySource::pushed());
        let mut test = Pipe::new(sender, Receiver::new(FLOW, receiver), pipe::stream::ONE_WAY).start();
        write(&mut test, 1);
        let mut test = test.run(Span::from_millis(200)).script(|packet, count, _| {
            let is_late = count == 1 && packet.number == 2;
            if is_late { Fate::Late(Span::from_millis(300)) } else { Fate::Deliver }
        });
        write(&mut test, 2);
        test = test.run(Span::from_secs(1));
        assert_eq!(test.transmissions(2), 2, "a probe");
        for _ in 0..3 {
            write(&mut test, 4);
            test = test.run(Span::from_secs(1));
        }
        assert_eq!(events(&test), [], "{dsack:?}");
        assert_eq!(test.sender.probes(), 1);
    }
}

/// New data is the better probe, if the receiver has room for it (§7.3); it is sent though the window is full.
#[test]
fn new_data_probes_if_the_receiver_has_room() {
    for (room, probe) in [(None, 5), (Some(4.0), 4)] {
        let config = StreamConfig { receive_window: room.map(DataAmount::Packets), ..by_time() };
        let mut test = measured(config, Scripted::window(4), &[(1, 1), (2, 1), (3, 1), (4, 1)]);
        write(&mut test, 20);
        let test = test.run(Span::from_millis(250));
        assert_eq!(test.sent_at(200), [1, 2, 3, 4]);
        assert_eq!(test.sent_at(400), [probe], "{room:?}");
        assert_eq!(test.sender.probes(), 1);
        let test = test.run(Span::from_millis(50));
        assert_eq!(test.sender.counters().timeouts, 0);
    }
}

/// `TLP_calc_PTO` for one segment alone: later by what a receiver may delay its acknowledgement, and never later than the
/// retransmission timer.
#[test]
fn one_segment_alone_is_probed_for_later() {
    for (max_ack_delay, at) in [(0, 400), (60, 460), (1000, 0)] {
        let rack = RackConfig { max_ack_delay: Span::from_millis(max_ack_delay), ..RackConfig::default() };
        let mut test = measured(with(rack), Scripted::window(4), &[(1, 1)]);
        let timeout = test.sender.timeout();
        write(&mut test, 1);
        let test = test.run(Span::from_secs(1));
        let at = if at == 0 { millis(200) + timeout } else { millis(at) };
        let times: Vec<Time> =
            test.departures.iter().filter(|one| one.packet.number == 1).map(|one| one.at).collect();
        assert_eq!(times, [millis(200), at]);
        assert_eq!((test.sender.counters().timeouts, test.sender.probes()), (0, 1));
    }
}

/// "There is no other previous loss probe still in flight" (§7.3), and the retransmission timer is the last resort.
#[test]
fn a_lost_probe_is_followed_by_the_timer() {
    let mut test = written(by_time(), Scripted::halving(10)).start();
    write(&mut test, 1);
    let mut test = test
        .run(Span::from_millis(200))
        .script(|packet, _, _| if packet.number > 0 { Fate::Drop } else { Fate::Deliver });
    write(&mut test, 3);
    let test = test.run(Span::from_secs(30));
    assert_eq!(test.sender.probes(), 1);
    assert!(test.sender.counters().timeouts >= 4);
    let second = test.departures.iter().filter(|one| one.packet.number == 1).nth(1).expect("a time-out");
    assert!(second.at > millis(400) && second.at < millis(1000), "{}", second.at);
}
