//! Words of former sessions, and offers that come again: what is under way goes on. Handshakes that come again are in `handshake.rs`,
//! and files that are there already in `kept.rs`.

use std::fs::{self, File};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use tailback_core::{Bytes, Span};
use tailback_net::channel::Message;
use tailback_net::secure::{Initiator, Invitation, KeyPair};
use tailback_net::transfer::{Offer, Phase, ReceiveConfig, Seen, SendConfig, hash_of, read_answer, send};
use tailback_net::{Channel, Clock};

use super::intruders::{attempt, begun, knock, pair, sender};
use super::waiting::{Places, SIZE, config, sent, until_moved, waiting};
use crate::common::ends;
use crate::common::folder::Folder;

/// The sender came again and was let in; what it said in its first session is still on the way.
#[test]
fn words_of_a_former_session_are_not_heard_in_the_next() {
    let (folder, keys, key) = (Folder::new("former"), pair(), pair());
    let receiver = waiting(ReceiveConfig { patience: Span::from_secs(10), ..config(folder.path(), &keys) });
    let clock = Clock::start();
    let [mut former, mut next] = [(); 2].map(|()| {
        let (socket, _) = sender(receiver.address, &keys);
        let mut initiator = attempt(&key, &keys);
        let answer = knock(&socket, &mut initiator);
        begun(socket, initiator.finish(&answer).expect("a session").0, clock)
    });
    let mut buffer = [0; 2000];
    for _ in 0..50 {
        former.say(clock.now(), &Message::Verdict(Err("former".to_owned())));
        next.say(clock.now(), &Message::Ping(1));
        thread::sleep(Duration::from_millis(20));
        while let Ok(arrived) = next.receive(&mut buffer) {
            next.open(clock.now(), &arrived, &mut buffer[..arrived.length]);
        }
        assert_eq!(next.take_message(), None);
    }
    assert!(former.receive(&mut buffer).is_err(), "nothing is said to where they come from");
    next.say(clock.now(), &Message::Verdict(Err("enough".to_owned())));
    assert_eq!(receiver.end().expect_err("ended").to_string(), "the sender says: enough");
}

/// What a receiver answers to an offer of a film with this hash and size from this key.
fn answered(
    receiver: SocketAddr,
    mut initiator: Initiator,
    hash: [u8; 32],
    size: u64,
) -> Result<u64, String> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(receiver).expect("connects");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    let mut buffer = [0; 2000];
    let mut said = initiator.hello(1232);
    for attempt in 0..100 {
        // An older cookie is of no use when another attempt with the same key has a newer one.
        let hello = (attempt % 4 == 3).then(|| initiator.hello(1232));
        socket.send(hello.as_ref().unwrap_or(&said)).expect("sent");
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        if let Some((cookie, _)) = initiator.cookie(&buffer[..length]) {
            let size = Bytes::new(size);
            let offer = Offer { name: "film".to_owned(), size, hash, flow: "cubic 100".to_owned() };
            said = initiator.initiation(&cookie, &offer.write()).expect("made");
        } else if let Some((_, answer)) = initiator.finish(&buffer[..length]) {
            return read_answer(&answer).expect("an answer");
        }
    }
    panic!("no answer")
}

/// By its own sender's key, too, which may be another program of the same user.
#[test]
fn an_offer_of_the_same_file_with_another_length_is_refused_while_that_is_under_way() {
    let folder = Places::new("length");
    let file = folder.file(SIZE / 2);
    let receiver = waiting(config(&folder.target(), &pair()));
    let first = receiver.sending(&file, receiver.address);
    let (key, invitation) = first.keys.clone().expect("keys");
    let (_, hash) = hash_of(&mut File::open(&file).expect("there"), &mut |_| true).expect("read");
    let mut rivals = Vec::new();
    let mut watch = |seen: &Seen| {
        if seen.phase == Phase::Moving && seen.done > Bytes::new(10_000) && rivals.is_empty() {
            for (key, size) in
                [(key.clone(), 1), (key.clone(), SIZE as u64), (pair(), 1), (pair(), SIZE as u64 / 2)]
            {
                let (keys, address) = (Some((key, invitation.clone())), receiver.address);
                let initiator = Initiator::new(keys).expect("random numbers");
                rivals.push(thread::spawn(move || answered(address, initiator, hash, size)));
            }
        }
        true
    };
    let sent = send(&first, |sizes| Ok(ends::sender("fixed-rate", sizes)), &mut watch).expect("sent");
    for rival in rivals {
        assert_eq!(rival.join().expect("no panic"), Err("another transfer is under way".to_owned()));
    }
    assert_eq!((sent.resumed, receiver.end().expect("received").resumed), (Bytes::ZERO, Bytes::ZERO));
    assert_eq!(fs::read(folder.target().join("film")).expect("there"), fs::read(&file).expect("there"));
}

/// Somebody else who was invited knows the hash of a file of which a part has arrived: whatever he offers and sends under it, the part
/// stays, and its sender goes on from there.
#[test]
fn who_knows_the_hash_of_anothers_file_does_not_touch_what_has_arrived_of_it() {
    let folder = Places::new("hash");
    let file = folder.file(SIZE);
    let keys = pair();
    let receiver = waiting(config(&folder.target(), &keys));
    let first = receiver.sending(&file, receiver.address);
    let mut watch = until_moved(400_000);
    send(&first, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("stopped");
    receiver.end().expect_err("stopped");
    let partial = folder.target().join(&folder.names()[0]);
    let before = fs::read(&partial).expect("there");
    let (_, hash) = hash_of(&mut File::open(&file).expect("there"), &mut |_| true).expect("read");
    for size in [0, 1, 400_000, SIZE as u64, u64::MAX] {
        let receiver =
            waiting(ReceiveConfig { patience: Span::from_millis(300), ..config(&folder.target(), &keys) });
        let initiator = attempt(&pair(), &keys);
        let answer = answered(receiver.address, initiator, hash, size);
        assert!(answer == Ok(0) || (size == u64::MAX && answer.is_err()), "{size}: {answer:?}");
        if answer.is_ok() {
            drop(receiver.end());
        }
        assert!(fs::read(&partial).expect("there") == before, "{size}");
    }
    let receiver = waiting(config(&folder.target(), &keys));
    let again = SendConfig { peers: vec![receiver.address], ..first };
    assert_eq!(sent(&again, "cubic").expect("sent").resumed, Bytes::new(before.len() as u64));
    receiver.end().expect("received");
}

/// The same user at another host, or with new keys.
#[test]
fn the_same_file_from_another_key_begins_anew() {
    let folder = Places::new("another-key");
    let file = folder.file(SIZE);
    let keys: KeyPair = pair();
    let receiver = waiting(config(&folder.target(), &keys));
    let first = receiver.sending(&file, receiver.address);
    let mut watch = until_moved(400_000);
    send(&first, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("stopped");
    receiver.end().expect_err("stopped");
    let left = folder.target().join(&folder.names()[0]);
    let receiver = waiting(config(&folder.target(), &keys));
    let keys = Some((pair(), Invitation::of(&keys)));
    let other = SendConfig { keys, peers: vec![receiver.address], ..first };
    assert_eq!(sent(&other, "cubic").expect("sent").resumed, Bytes::ZERO);
    assert_eq!(receiver.end().expect("received").others, [left]);
}
