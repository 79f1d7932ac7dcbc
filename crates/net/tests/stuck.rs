//! Receivers that are there, and with which no transfer comes to an end: their senders say so after a stated time. What is
//! waited for how long is tested in `transfer/news.rs`, where time is an argument.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use crate::common::accepting::accepting;
use crate::common::ends;
use crate::common::folder::Folder;
use tailback_core::{AckBlocks, Annex, Bytes, FlowId, Kind, Packet, SeqRange, Span, Time};
use tailback_net::channel::Message;
use tailback_net::secure::{Invitation, KeyPair};
use tailback_net::transfer::{Offer, Prepared, RECEIVE_WINDOW, Seen, SendConfig, TransferError, send};
use tailback_net::{Channel, Clock, Driver, ReceiveBuffer, SecuredChannel};
use tailback_transport::wire::encode;

const PATIENCE: Span = Span::from_secs(1);
/// Only a hang gets there.
const LONG: Span = Span::from_secs(60);
/// How often such a receiver says something: what patience there is must not end by chance.
const PAUSE: Span = Span::from_millis(20);

/// What becomes of a file whose receiver does this in its session, until it is told to stop; and how long it took.
fn ended(
    name: &str,
    does: impl FnOnce(SecuredChannel, &Offer, Clock, &AtomicBool) + Send + 'static,
) -> (TransferError, Span) {
    let folder = Folder::new(name);
    let file = folder.path().join("film");
    fs::write(&file, vec![7; 100_000]).expect("a file");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (address, pair) = (socket.local_addr().expect("bound"), KeyPair::generate().expect("random numbers"));
    let keys = Some((KeyPair::generate().expect("random numbers"), Invitation::of(&pair)));
    let clock = Clock::start();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let receiver = thread::spawn(move || {
        let (channel, offer) = accepting(socket, &pair, clock);
        does(channel, &offer, clock, &stopped);
    });
    let config = SendConfig {
        file,
        peers: vec![address],
        keys,
        patience: PATIENCE,
        packet: Bytes::new(1500),
        longer: Span::from_secs(600),
    };
    let mut watch = |_: &Seen| clock.now() < Time::ZERO + LONG;
    let error = send(&config, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("no end");
    stop.store(true, Ordering::Relaxed);
    receiver.join().expect("no panic");
    (error, clock.now().since(Time::ZERO))
}

/// Says these packets again and again, until it is told to stop.
fn repeat(
    channel: &mut SecuredChannel,
    packets: &[(Packet, Option<Annex>)],
    clock: Clock,
    stop: &AtomicBool,
) {
    let written = packets.iter().map(|(packet, annex)| {
        let mut frame = Vec::new();
        encode(packet, annex.as_ref(), 0, &[], &mut frame).expect("a frame");
        (packet, frame)
    });
    let frames: Vec<_> = written.collect();
    while !stop.load(Ordering::Relaxed) {
        for (packet, frame) in &frames {
            channel.send(clock.now(), frame, packet).expect("sent");
        }
        channel.flush().expect("sent");
        thread::sleep(std::time::Duration::from_nanos(PAUSE.as_nanos()));
    }
}

/// It has every byte, and shows that it is there: a sender would wait for its word for ever.
#[test]
fn a_receiver_that_never_says_how_it_ended_is_not_waited_for() {
    let (error, span) = ended("verdict", |channel, offer, clock, stop| {
        let Prepared { endpoint, header, rng } = ends::receiver(offer).expect("known");
        let buffer = ReceiveBuffer::new(header, RECEIVE_WINDOW);
        let mut driver = Driver::over(channel, clock, FlowId(0), endpoint, buffer, rng).expect("begun");
        while !stop.load(Ordering::Relaxed) {
            driver.turn(PAUSE).expect("it goes on");
            driver.read();
            driver.channel_mut().say(clock.now(), &Message::Ping(1));
        }
    });
    assert_eq!(
        error.to_string(),
        "the receiver has not said how it ended for 12 s, though it is there; 100 kB of 100 kB are there: the same commands \
         go on from there"
    );
    assert!(span >= PATIENCE * 12, "not before its time: {span}");
}

/// It repeats an old acknowledgement: each is a word of it, and none is news.
#[test]
fn a_receiver_that_acknowledges_nothing_new_is_not_waited_for() {
    let (error, span) = ended("known", |mut channel, _, clock, stop| {
        let ack = Packet::new(Kind::Ack, FlowId(0), 0, Bytes::new(40));
        repeat(&mut channel, &[(ack, None)], clock, stop);
    });
    assert_eq!(
        error.to_string(),
        "the receiver has acknowledged nothing new for 12 s, though it is there; 0 B of 100 kB are there: the same commands \
         go on from there"
    );
    assert!(span >= PATIENCE * 12, "not before its time: {span}");
}

/// It acknowledges what was never sent: by its number, by ranges, by ranges that make no sense. Nothing of that is taken for news, and
/// nothing of the file is forgotten for it.
#[test]
fn a_receiver_that_acknowledges_what_was_never_sent_is_not_waited_for() {
    let (error, span) = ended("unsent", |mut channel, _, clock, stop| {
        let range = |start, end| SeqRange { start, end };
        let far = u64::MAX;
        let ranges = [range(0, far), range(1 << 40, 1 << 41), range(far - 1, far), range(9, 3)];
        let blocks = AckBlocks { blocks: ranges, count: 4, trigger: far, ..AckBlocks::default() };
        let numbers = [(far, false), (1 << 40, true), (100_000, true), (0, true)];
        let acks = numbers.map(|(number, has_ranges)| {
            let ack = Packet::new(Kind::Ack, FlowId(0), number, Bytes::new(40));
            (ack, has_ranges.then_some(Annex::Blocks(blocks)))
        });
        repeat(&mut channel, &acks, clock, stop);
    });
    assert_eq!(
        error.to_string(),
        "the receiver has acknowledged nothing new for 12 s, though it is there; 0 B of 100 kB are there: the same commands \
         go on from there"
    );
    assert!(span >= PATIENCE * 12, "not before its time: {span}");
}
