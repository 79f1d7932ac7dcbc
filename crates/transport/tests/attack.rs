//! Whatever an attacker on the path makes of a transfer, by any scheme: it ends, or its sender gives up after the stated
//! time, and keeps to what its controller directs.

#[path = "common/attacked.rs"]
mod attacked;
use crate::pipe;

use std::cell::Cell;

use pipe::{FLOW, Pipe};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tailback_control::Reliability;
use tailback_control::schemes::{Reno, RenoConfig};
use tailback_core::{AckBlocks, Annex, Bytes, Event, Kind, Packet, SeqRange, Span, Time};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, Sender, StreamConfig};

#[test]
fn every_scheme_survives_an_attacker() {
    let (ended, gave_up) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: 3000, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&prop::collection::vec(any::<u8>(), 0..600), |bytes| {
            let (_, hopeless) = attacked::exercise(&bytes);
            let count = if hopeless { &gave_up } else { &ended };
            count.set(count.get() + 1);
            Ok(())
        })
        .expect("the laws hold");
    assert!(
        ended.get() > 10 * gave_up.get() && gave_up.get() > 0,
        "{} ended, {} gave up",
        ended.get(),
        gave_up.get()
    );
}

/// A transfer of 20 segments of which the first transmissions of some are lost.
fn transfer(reliability: Reliability, drops: &'static [(u64, u32)]) -> Pipe<Sender<Reno>, Receiver> {
    let config = StreamConfig { reliability, ..StreamConfig::default() };
    let law = Reno::new(&RenoConfig::default(), &config.controller_params());
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let sender = Sender::new(FLOW, config, law, AnySource::finite(Bytes::new(20 * 960)));
    Pipe::new(sender, receiver, Span::from_millis(20)).dropping(drops).start()
}

fn ack(number: u64) -> Packet {
    Packet::new(Kind::Ack, FLOW, number, Bytes::new(40))
}

#[test]
fn what_was_falsely_acknowledged_by_a_range_is_retransmitted() {
    for reliability in [Reliability::Sack, Reliability::Offsets] {
        let mut test = transfer(reliability, &[(0, 1), (3, 1), (3, 2)]);
        for number in [0, 3] {
            let mut blocks = AckBlocks { count: 1, trigger: number, ..AckBlocks::default() };
            blocks.blocks[0] = SeqRange { start: number, end: number + 1 };
            test.forge(ack(0), Some(Annex::Blocks(blocks)));
        }
        let test = test.run(Span::from_secs(60));
        assert!(test.finished(), "{reliability:?}");
        assert_eq!(test.receiver.counters().goodput, Bytes::new(20 * 960), "{reliability:?}");
    }
}

#[test]
fn a_sender_that_waits_for_nothing_gives_up() {
    let mut test = transfer(Reliability::Sack, &[(0, 1)]);
    test.forge(ack(1), None);
    let test = test.run(Span::from_secs(3600));
    let gave_up: Vec<Time> =
        test.events.iter().filter(|(_, event)| *event == Event::GaveUp).map(|(at, _)| *at).collect();
    let [at] = gave_up[..] else { panic!("{gave_up:?}") };
    // The user timeout, and at most once the longest time-out behind it.
    let (least, most) = (Time::ZERO + Span::from_secs(300), Time::ZERO + Span::from_secs(365));
    assert!((least..most).contains(&at), "{at}");
    assert!(test.departures.last().expect("sent").at < at, "nothing leaves afterwards");
}
