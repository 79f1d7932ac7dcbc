//! Datagram flows: numbering, acknowledgements, losses and their events, time-outs.

use crate::pipe;

use pipe::{FLOW, Fate, Pipe, Scripted};
use tailback_core::{Bytes, CongestionEvent, Span};
use tailback_transport::source::AnySource;
use tailback_transport::{DatagramConfig, DatagramReceiver, DatagramSender, EcnMode};

fn acks() -> DatagramConfig {
    DatagramConfig { acks: true, ..DatagramConfig::default() }
}

fn transfer(
    config: DatagramConfig,
    controller: Scripted,
    packets: u64,
) -> Pipe<DatagramSender<Scripted>, DatagramReceiver> {
    let source = AnySource::finite(Bytes::new(packets * 960));
    let sender = DatagramSender::new(FLOW, config.clone(), controller, source);
    let receiver = DatagramReceiver::new(FLOW, config);
    Pipe::new(sender, receiver, Span::from_millis(50))
}

#[test]
fn losses_are_told_and_not_repaired() {
    let controller = Scripted { on_loss: Some(4000), ..Scripted::window(8) };
    let test = transfer(acks(), controller, 40).dropping(&[(2, 1), (3, 1), (20, 1)]).start();
    let test = test.run(Span::from_secs(10));
    assert!(test.finished());
    assert_eq!(test.departures.len(), 40);
    let log = &test.sender.controller().log;
    let lost: Vec<u64> = log.feedback.iter().flat_map(|told| told.lost.clone()).collect();
    assert_eq!(lost, [2, 3, 20]);
    let events: Vec<_> = log.feedback.iter().filter_map(|told| told.event).collect();
    assert_eq!(events, [CongestionEvent::Loss; 2], "one per window");
    assert_eq!(test.receiver.counters().delivered_packets, 37);
    let acked: Vec<u64> = log.feedback.iter().flat_map(|told| told.acked.clone()).collect();
    assert_eq!(acked.len(), 37);
    assert!(log.feedback.iter().all(|told| told.rtt.is_some_and(|rtt| rtt == Span::from_millis(100))));
    assert_eq!(test.receiver.counters().goodput.get(), 37 * 960);
}

#[test]
fn silence_is_a_timeout() {
    let test = transfer(acks(), Scripted::window(8), 24)
        .script(|packet, _, _| if (8..16).contains(&packet.number) { Fate::Drop } else { Fate::Deliver })
        .start()
        .run(Span::from_secs(10));
    let log = &test.sender.controller().log;
    let events: Vec<_> = log.feedback.iter().filter_map(|told| told.event).collect();
    assert_eq!(events, [CongestionEvent::Timeout { consecutive: 1 }]);
    assert_eq!(test.departures.len(), 24);
    assert_eq!(log.feedback.last().unwrap().in_flight, 0);
}

#[test]
fn reordering_below_the_threshold_is_no_loss() {
    let late = Span::from_micros(10);
    let test = transfer(acks(), Scripted::window(8), 80)
        .script(move |packet, _, _| match packet.number % 10 {
            4 => Fate::Late(late),
            7 => Fate::Twice,
            _ => Fate::Deliver,
        })
        .start()
        .run(Span::from_secs(10));
    // Number 4 of each ten arrives behind all others sent at its instant: more than three in a window of eight.
    let log = &test.sender.controller().log;
    let acked: Vec<u64> = log.feedback.iter().flat_map(|told| told.acked.clone()).collect();
    let lost = log.feedback.iter().flat_map(|told| told.lost.clone()).count();
    assert_eq!(acked.len() + lost, 80, "each is acknowledged or lost, once");
    assert_eq!(test.receiver.counters().duplicates, 8);
    assert_eq!(log.feedback.last().unwrap().in_flight, 0);
}

#[test]
fn marks_reduce_once_per_window() {
    let config = DatagramConfig { ecn: EcnMode::Ect0, ..acks() };
    let test = transfer(config, Scripted::window(8), 32).script(|_, _, _| Fate::Mark).start();
    let test = test.run(Span::from_secs(10));
    let log = &test.sender.controller().log;
    assert_eq!(log.feedback.iter().map(|told| told.echoes.ce).sum::<u32>(), 32);
    // The first mark counts at once, and then one per window of eight sent after the reduction.
    assert_eq!(test.sender.counters().ecn_reductions, 4);
}

#[test]
fn large_offers_are_split() {
    let source = AnySource::finite(Bytes::new(2500));
    let config = DatagramConfig::default();
    let sender = DatagramSender::new(FLOW, config.clone(), Scripted::window(1), source);
    let test = Pipe::new(sender, DatagramReceiver::new(FLOW, config), Span::from_millis(50)).start();
    let test = test.run(Span::from_secs(1));
    let sizes: Vec<u64> = test.departures.iter().map(|d| d.packet.size().get()).collect();
    assert_eq!(sizes, [1000, 1000, 620], "without acknowledgements no window binds");
    assert!(test.departures[2].packet.is_last());
    assert!(test.finished());
}
