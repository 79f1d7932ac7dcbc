//! Transfers between whom somebody stands who makes up messages, or into which somebody is let who means no good. Transfers in
//! good hands are in `transfer.rs`, the handshake alone is in `handshake.rs`.

#[path = "common/ends.rs"]
mod ends;
#[path = "common/folder.rs"]
mod folder;

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use folder::Folder;
use tailback_core::{Bytes, Span, Time};
use tailback_net::channel::Message;
use tailback_net::secure::envelope::{self, COOKIE, Envelope};
use tailback_net::secure::handshake::Accepted;
use tailback_net::secure::{Initiator, Invitation, KeyPair};
use tailback_net::transfer::{
    Offer, ReceiveConfig, Received, SendConfig, TransferError, Word, receive, send,
};
use tailback_net::{Channel, Clock, MarkedSocket, SecuredChannel};

fn pair() -> KeyPair {
    KeyPair::generate().expect("random numbers")
}

fn free() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("a socket")
}

/// A receiver in a thread that waits for a sender this long, and where it is.
fn waiting(
    folder: &Path,
    keys: &KeyPair,
    patience: Span,
) -> (SocketAddr, JoinHandle<Result<Received, TransferError>>) {
    let config = ReceiveConfig {
        folder: folder.to_owned(),
        address: Some([127, 0, 0, 1].into()),
        port: 0,
        keys: Some(keys.clone()),
        only: None,
        patience,
        overwrite: false,
    };
    let (tell, told) = channel();
    let thread = thread::spawn(move || {
        let clock = Clock::start();
        let mut watch = |_: &_| clock.now() < Time::ZERO + Span::from_secs(60);
        receive(
            &config,
            |word: Word<'_>| {
                if let Word::Listening(at) = word {
                    tell.send(at).expect("heard");
                }
            },
            ends::receiver,
            &mut watch,
        )
    });
    (told.recv().expect("it listens"), thread)
}

/// A sender by hand, and where it speaks.
fn sender(receiver: SocketAddr, keys: &KeyPair) -> (UdpSocket, Initiator) {
    let socket = free();
    socket.connect(receiver).expect("connects");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    (socket, attempt(&pair(), keys))
}

/// A sender's next attempt.
fn attempt(sender: &KeyPair, receiver: &KeyPair) -> Initiator {
    Initiator::new(Some((sender.clone(), Invitation::of(receiver)))).expect("random numbers")
}

/// An initiation with a fresh cookie, which offers a film of 1000 bytes.
fn initiation(socket: &UdpSocket, initiator: &mut Initiator) -> Vec<u8> {
    let mut buffer = [0; 2000];
    socket.send(&initiator.hello(1232)).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (cookie, _) = initiator.cookie(&buffer[..length]).expect("a cookie");
    let offer = Offer {
        name: "film".to_owned(),
        size: Bytes::new(1000),
        hash: [7; 32],
        flow: "cubic 100".to_owned(),
    };
    initiator.initiation(&cookie, &offer.write()).expect("made")
}

/// The answer to one.
fn knock(socket: &UdpSocket, initiator: &mut Initiator) -> Vec<u8> {
    let mut buffer = [0; 2000];
    socket.send(&initiation(socket, initiator)).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    buffer[..length].to_vec()
}

fn begun(socket: UdpSocket, accepted: Accepted, clock: Clock) -> SecuredChannel {
    let marked = MarkedSocket::new(socket).expect("set up");
    SecuredChannel::began(marked, accepted.into(), clock.now()).expect("connected")
}

/// A stranger on the way sees the number of a hello, and makes up its answer: neither a length that was tried nor one that was not is
/// believed.
#[test]
fn a_length_that_somebody_makes_up_is_not_believed() {
    let folder = Folder::new("length");
    let file = folder.path().join("film");
    fs::write(&file, "0123456789").expect("a file");
    let stranger = free();
    let peer = stranger.local_addr().expect("bound");
    let sending = SendConfig {
        file,
        peers: vec![peer],
        keys: Some((pair(), Invitation::of(&pair()))),
        patience: Span::from_millis(700),
        packet: Bytes::new(1500),
        longer: Span::from_secs(600),
    };
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((length, from)) = stranger.recv_from(&mut buffer) {
            if let Some(Envelope::Hello { nonce, code, .. }) = Envelope::read(&buffer[..length]) {
                for length in [0, 96, 1231, 1232, 1471, 1472, 1473, 65_535] {
                    let mut made_up = envelope::cookie(nonce, length, &[7; COOKIE]);
                    made_up.extend(code);
                    let _ = stranger.send_to(&made_up, from);
                }
            }
        }
    });
    let mut found = None;
    let prepare = |sizes| {
        found = Some(sizes);
        Ok(ends::sender("cubic", sizes))
    };
    let error = send(&sending, prepare, &mut |_| true).expect_err("no cookie");
    assert_eq!(found, None);
    assert!(matches!(error, TransferError::NoAnswer { .. }), "{error}");
}

/// Whoever is let in and sends nothing but signs of life does not keep others out for ever.
#[test]
fn a_sender_that_only_says_that_it_is_there_is_not_waited_for() {
    let (folder, keys) = (Folder::new("idle"), pair());
    // Longer than the machine may stand still: silence would end it before.
    let patience = Span::from_secs(1);
    let (address, receiver) = waiting(folder.path(), &keys, patience);
    let (socket, mut initiator) = sender(address, &keys);
    let answer = knock(&socket, &mut initiator);
    let (accepted, _) = initiator.finish(&answer).expect("a session");
    let clock = Clock::start();
    let mut channel = begun(socket, accepted, clock);
    let (mut verdict, mut buffer) = (None, [0; 2000]);
    while verdict.is_none() && clock.now() < Time::ZERO + Span::from_secs(30) {
        channel.say(clock.now(), &Message::Ping(1));
        thread::sleep(Duration::from_millis(20));
        while let Ok(arrived) = channel.receive(&mut buffer) {
            channel.open(clock.now(), &arrived, &mut buffer[..arrived.length]);
        }
        verdict = channel.take_message();
    }
    assert!(clock.now() >= Time::ZERO + patience * 12, "not before its time");
    let why = "nothing of the file has come for 12 s, though the sender is there; 0 B of 1 kB are there";
    assert!(matches!(&verdict, Some(Message::Verdict(Err(text))) if text.starts_with(why)), "{verdict:?}");
    channel.say(clock.now(), &Message::Farewell);
    let error = receiver.join().expect("no panic").expect_err("nothing came");
    assert!(matches!(error, TransferError::Idle { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left");
}

/// The answer of the receiver gets lost, until the sender asks for another cookie: it is let in with that.
#[test]
fn a_sender_that_was_let_in_and_does_not_know_it_is_let_in_again() {
    let (folder, keys) = (Folder::new("lost"), pair());
    let (address, receiver) = waiting(folder.path(), &keys, Span::from_secs(10));
    let (socket, mut initiator) = sender(address, &keys);
    let lost = knock(&socket, &mut initiator);
    let answer = knock(&socket, &mut initiator);
    assert!(initiator.finish(&lost).is_none(), "of an initiation before");
    let (accepted, _) = initiator.finish(&answer).expect("a session");
    let clock = Clock::start();
    let mut channel = begun(socket, accepted, clock);
    channel.say(clock.now(), &Message::Verdict(Err("enough".to_owned())));
    assert_eq!(receiver.join().expect("no panic").expect_err("ended").to_string(), "the sender says: enough");
}

/// Somebody on the way kept the initiation of an attempt that the sender has given up, and lets it through when the next one has
/// its session.
#[test]
fn an_initiation_of_an_earlier_attempt_ends_no_session() {
    let (folder, keys, key) = (Folder::new("earlier"), pair(), pair());
    let (address, receiver) = waiting(folder.path(), &keys, Span::from_secs(10));
    let (socket, _) = sender(address, &keys);
    let held = initiation(&socket, &mut attempt(&key, &keys));
    let mut initiator = attempt(&key, &keys);
    let answer = knock(&socket, &mut initiator);
    let (accepted, _) = initiator.finish(&answer).expect("a session");
    socket.send(&held).expect("sent");
    let clock = Clock::start();
    let mut channel = begun(socket, accepted, clock);
    let mut buffer = [0; 2000];
    let (until, mut heard) = (clock.now() + Span::from_secs(2), Time::ZERO);
    while clock.now() < until {
        channel.say(clock.now(), &Message::Ping(1));
        thread::sleep(Duration::from_millis(20));
        while let Ok(arrived) = channel.receive(&mut buffer) {
            channel.open(clock.now(), &arrived, &mut buffer[..arrived.length]);
            heard = channel.heard();
        }
    }
    assert!(until.since(heard) < Span::from_secs(1), "the session is dead");
    channel.say(clock.now(), &Message::Verdict(Err("enough".to_owned())));
    assert_eq!(receiver.join().expect("no panic").expect_err("ended").to_string(), "the sender says: enough");
}
