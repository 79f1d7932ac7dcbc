//! Transfers between whom somebody stands who makes up messages, or into which somebody is let who means no good. The handshake
//! alone is in `handshake.rs`.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use tailback_core::{Bytes, Span, Time};
use tailback_net::channel::{Message, Opened};
use tailback_net::secure::envelope::{self, COOKIE, Envelope};
use tailback_net::secure::handshake::Accepted;
use tailback_net::secure::{Initiator, Invitation, KeyPair};
use tailback_net::transfer::{Offer, ReceiveConfig, SendConfig, TransferError, send};
use tailback_net::{Channel, Clock, MarkedSocket, SecuredChannel};

use super::waiting::{LONG, Places, SIZE, config, sent, waiting};
use crate::common::accepting::accepting;
use crate::common::ends;
use crate::common::folder::Folder;

pub(crate) fn pair() -> KeyPair {
    KeyPair::generate().expect("random numbers")
}

fn free() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("a socket")
}

/// A sender by hand, and where it speaks.
pub(crate) fn sender(receiver: SocketAddr, keys: &KeyPair) -> (UdpSocket, Initiator) {
    let socket = free();
    socket.connect(receiver).expect("connects");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    (socket, attempt(&pair(), keys))
}

/// A sender's next attempt.
pub(crate) fn attempt(sender: &KeyPair, receiver: &KeyPair) -> Initiator {
    Initiator::new(Some((sender.clone(), Invitation::of(receiver)))).expect("random numbers")
}

/// An initiation with a fresh cookie, which offers a film of 1000 bytes.
fn initiation(socket: &UdpSocket, initiator: &mut Initiator) -> Vec<u8> {
    initiation_of("film", socket, initiator)
}

/// The same of a file of this name.
fn initiation_of(name: &str, socket: &UdpSocket, initiator: &mut Initiator) -> Vec<u8> {
    let mut buffer = [0; 2000];
    socket.send(&initiator.hello(1232)).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (cookie, _) = initiator.cookie(&buffer[..length]).expect("a cookie");
    let offer =
        Offer { name: name.to_owned(), size: Bytes::new(1000), hash: [7; 32], flow: "cubic 100".to_owned() };
    initiator.initiation(&cookie, &offer.write()).expect("made")
}

/// The answer to one.
pub(crate) fn knock(socket: &UdpSocket, initiator: &mut Initiator) -> Vec<u8> {
    let mut buffer = [0; 2000];
    socket.send(&initiation(socket, initiator)).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    buffer[..length].to_vec()
}

pub(crate) fn begun(socket: UdpSocket, accepted: Accepted, clock: Clock) -> SecuredChannel {
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
    let receiver = waiting(ReceiveConfig { patience, ..config(folder.path(), &keys) });
    // Before the receiver's session begins: on a busy machine this thread may hear late that it has.
    let clock = Clock::start();
    let (socket, mut initiator) = sender(receiver.address, &keys);
    let answer = knock(&socket, &mut initiator);
    let (accepted, _) = initiator.finish(&answer).expect("a session");
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
    let error = receiver.end().expect_err("nothing came");
    assert!(matches!(error, TransferError::Idle { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left");
}

/// The answer of the receiver gets lost, until the sender asks for another cookie: it is let in with that.
#[test]
fn a_sender_that_was_let_in_and_does_not_know_it_is_let_in_again() {
    let (folder, keys) = (Folder::new("lost"), pair());
    let receiver = waiting(ReceiveConfig { patience: Span::from_secs(10), ..config(folder.path(), &keys) });
    let (socket, mut initiator) = sender(receiver.address, &keys);
    let lost = knock(&socket, &mut initiator);
    let answer = knock(&socket, &mut initiator);
    assert!(initiator.finish(&lost).is_none(), "of an initiation before");
    let (accepted, _) = initiator.finish(&answer).expect("a session");
    let clock = Clock::start();
    let mut channel = begun(socket, accepted, clock);
    channel.say(clock.now(), &Message::Verdict(Err("enough".to_owned())));
    assert_eq!(receiver.end().expect_err("ended").to_string(), "the sender says: enough");
}

/// He was killed before he spoke, and offers another file now: nobody waits to see whether he is gone.
#[test]
fn a_sender_that_never_spoke_is_let_in_with_another_file_at_once() {
    let (folder, keys, key) = (Folder::new("unheard"), pair(), pair());
    let receiver = waiting(ReceiveConfig { patience: Span::from_secs(10), ..config(folder.path(), &keys) });
    let (socket, _) = sender(receiver.address, &keys);
    knock(&socket, &mut attempt(&key, &keys));
    let mut initiator = attempt(&key, &keys);
    socket.send(&initiation_of("other", &socket, &mut initiator)).expect("sent");
    let mut buffer = [0; 2000];
    let length = socket.recv(&mut buffer).expect("answered");
    let (accepted, _) = initiator.finish(&buffer[..length]).expect("a session");
    let clock = Clock::start();
    let mut channel = begun(socket, accepted, clock);
    channel.say(clock.now(), &Message::Verdict(Err("enough".to_owned())));
    assert_eq!(receiver.end().expect_err("ended").to_string(), "the sender says: enough");
}

/// Somebody on the way kept the initiation of an attempt that the sender has given up, and lets it through when the next one has
/// its session.
#[test]
fn an_initiation_of_an_earlier_attempt_ends_no_session() {
    let (folder, keys, key) = (Folder::new("earlier"), pair(), pair());
    let receiver = waiting(ReceiveConfig { patience: Span::from_secs(10), ..config(folder.path(), &keys) });
    let (socket, _) = sender(receiver.address, &keys);
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
    assert_eq!(receiver.end().expect_err("ended").to_string(), "the sender says: enough");
}

/// Somebody with the sender's key knocked a while ago and went away. Whether the sender is still there is asked anew for whoever comes
/// next: by then it was killed, and he is let in.
#[test]
fn a_rival_that_went_away_is_not_taken_for_the_next_one() {
    let (folder, keys, key) = (Places::new("went-away"), pair(), pair());
    let patience = Span::from_secs(10);
    let receiver = waiting(ReceiveConfig { patience, ..config(&folder.target(), &keys) });
    let (socket, _) = sender(receiver.address, &keys);
    let mut initiator = attempt(&key, &keys);
    let answer = knock(&socket, &mut initiator);
    let (accepted, _) = initiator.finish(&answer).expect("a session");
    let (other, _) = sender(receiver.address, &keys);
    let once = initiation_of("other", &other, &mut attempt(&key, &keys));
    let clock = Clock::start();
    let mut channel = begun(socket, accepted, clock);
    let mut buffer = [0; 2000];
    for turn in 0..100 {
        channel.say(clock.now(), &Message::Ping(1));
        if turn == 20 {
            other.send(&once).expect("sent");
        }
        thread::sleep(Duration::from_millis(20));
        while let Ok(arrived) = channel.receive(&mut buffer) {
            channel.open(clock.now(), &arrived, &mut buffer[..arrived.length]);
        }
    }
    let file = folder.file(1000);
    let keys = Some((key, Invitation::of(&keys)));
    let next = SendConfig { keys, patience, ..receiver.sending(&file, receiver.address) };
    sent(&next, "cubic").expect("let in");
    receiver.end().expect("received");
    assert_eq!(folder.names(), ["film"]);
}

/// A receiver that says it has what was never sent is not believed: no sender says that hashes are equal at both ends.
#[test]
fn a_receiver_cannot_have_what_was_not_sent() {
    let folder = Places::new("early");
    let file = folder.file(SIZE);
    let socket = free();
    let (address, keys) = (socket.local_addr().expect("bound"), pair());
    let told = Some((pair(), Invitation::of(&keys)));
    let receiver = thread::spawn(move || {
        let clock = Clock::start();
        let (mut channel, _) = accepting(socket, &keys, clock);
        for _ in 0..50 {
            channel.say(clock.now(), &Message::Verdict(Ok(())));
            thread::sleep(Duration::from_millis(20));
        }
    });
    let patience = Span::from_secs(5);
    let sending = SendConfig {
        file,
        peers: vec![address],
        keys: told,
        patience,
        packet: Bytes::new(1500),
        longer: LONG,
    };
    let error = sent(&sending, "cubic").expect_err("it has nothing");
    assert!(matches!(error, TransferError::Early), "{error}");
    receiver.join().expect("no panic");
}

/// An initiation of the very session that is under way, held back by somebody on the way, does not begin another one.
#[test]
fn an_initiation_that_was_held_back_disturbs_no_session() {
    let folder = Places::new("held");
    let receiver = waiting(config(&folder.target(), &pair()));
    let keys = (pair(), Invitation::of(&receiver.pair));
    let socket = free();
    socket.connect(receiver.address).expect("connects");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    let (mut initiator, mut buffer) =
        (Initiator::new(Some(keys.clone())).expect("random numbers"), [0; 2000]);
    socket.send(&initiator.hello(1232)).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (cookie, _) = initiator.cookie(&buffer[..length]).expect("a cookie");
    let flow = "cubic 100".to_owned();
    let offer = |name: &str| {
        Offer { name: name.to_owned(), size: Bytes::new(1000), hash: [7; 32], flow: flow.clone() }.write()
    };
    let held = initiator.initiation(&cookie, &offer("film")).expect("made");
    socket.send(&initiator.initiation(&cookie, &offer("film")).expect("made")).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (accepted, _) = initiator.finish(&buffer[..length]).expect("a session");
    socket.send(&held).expect("sent");

    let clock = Clock::start();
    let marked = MarkedSocket::new(socket).expect("set up");
    let mut channel = SecuredChannel::began(marked, accepted.into(), clock.now()).expect("connected");
    let (until, mut heard) = (clock.now() + Span::from_secs(3), Time::ZERO);
    while clock.now() < until {
        channel.say(clock.now(), &Message::Ping(1));
        thread::sleep(Duration::from_millis(20));
        while let Ok(arrived) = channel.receive(&mut buffer) {
            let was = channel.open(clock.now(), &arrived, &mut buffer[..arrived.length]);
            assert!(matches!(was, Opened::Message), "a second session: {was:?}");
            heard = channel.heard();
        }
    }
    assert!(until.since(heard) < Span::from_secs(1), "the session is dead");

    // The same sender is gone, and begins anew with another file: of the first, of which nothing has come, nothing is left.
    thread::sleep(Duration::from_millis(2100));
    let socket = free();
    socket.connect(receiver.address).expect("connects");
    let mut initiator = Initiator::new(Some(keys)).expect("random numbers");
    socket.send(&initiator.hello(1232)).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (cookie, _) = initiator.cookie(&buffer[..length]).expect("a cookie");
    socket.send(&initiator.initiation(&cookie, &offer("other")).expect("made")).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (accepted, _) = initiator.finish(&buffer[..length]).expect("a session");
    let names = folder.names();
    assert!(names.len() == 1 && names[0].starts_with(".other."), "{names:?}");
    let marked = MarkedSocket::new(socket).expect("set up");
    let mut channel = SecuredChannel::began(marked, accepted.into(), clock.now()).expect("connected");
    channel.say(clock.now(), &Message::Verdict(Err("enough".to_owned())));
    assert_eq!(receiver.end().expect_err("ended").to_string(), "the sender says: enough");
}
