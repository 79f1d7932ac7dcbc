//! Senders that keep to the form of what is said, and lie: nothing beyond what was offered is written, and what was there stays.
//! Receivers that lie are in `stuck.rs` and `intruders.rs`.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use tailback_core::{Bytes, FlowId, Span, Time};
use tailback_net::channel::Message;
use tailback_net::secure::{Initiator, Invitation, KeyPair};
use tailback_net::transfer::{Hash, Offer, Sizes, TransferError, hash_of, read_answer};
use tailback_net::{Clock, Driver, MarkedSocket, SecuredChannel, SendBuffer};

use super::waiting::{LONG, Places, Waiting, config, waiting};
use crate::common::ends;

const SIZES: Sizes = Sizes { packet: Bytes::new(1500), around: Bytes::new(98) };

/// What the receiver says at last of a film of this size and hash, when the sender sends so much; and how much it said it has.
fn ended(receiver: &Waiting, (size, hash): (u64, Hash), sent: &[u8]) -> (u64, Option<Message>) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(receiver.address).expect("connects");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    let pair = KeyPair::generate().expect("random numbers");
    let mut initiator = Initiator::new(Some((pair, Invitation::of(&receiver.pair)))).expect("random numbers");
    let mut buffer = [0; 2000];
    socket.send(&initiator.hello(1232)).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (cookie, _) = initiator.cookie(&buffer[..length]).expect("a cookie");
    let (prepared, flow) = ends::sender("cubic", SIZES);
    let offer = Offer { name: "film".to_owned(), size: Bytes::new(size), hash, flow };
    socket.send(&initiator.initiation(&cookie, &offer.write()).expect("made")).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (accepted, answer) = initiator.finish(&buffer[..length]).expect("a session");
    let have = read_answer(&answer).expect("an answer").expect("accepted");

    let clock = Clock::start();
    let marked = MarkedSocket::new(socket).expect("set up");
    let channel = SecuredChannel::began(marked, accepted.into(), clock.now()).expect("connected");
    let buffer = SendBuffer::new(prepared.header);
    let mut driver =
        Driver::over(channel, clock, FlowId(0), prepared.endpoint, buffer, prepared.rng).expect("begun");
    driver.write(sent).expect("sent");
    driver.close().expect("closed");
    let mut said = None;
    while said.is_none() && clock.now() < Time::ZERO + LONG {
        driver.turn(Span::from_millis(20)).expect("it goes on");
        said = driver.channel_mut().take_message();
    }
    driver.channel_mut().say(clock.now(), &Message::Farewell);
    (have, said)
}

fn hash(path: &Path) -> Hash {
    let mut file = fs::File::open(path).expect("there");
    hash_of(&mut file, &mut |_| true).expect("read").1
}

/// Of a file that begins, and of one of which something is there.
#[test]
fn who_sends_more_than_he_offered_is_refused() {
    let folder = Places::new("more");
    let pair = KeyPair::generate().expect("random numbers");
    for size in [1000, 5000] {
        let receiver = waiting(config(&folder.target(), &pair));
        let (have, said) = ended(&receiver, (size, [7; 32]), &[7; 9000]);
        let why = |text: &str| text.contains(": more bytes than were offered; ");
        assert!(matches!(&said, Some(Message::Verdict(Err(text))) if why(text)), "{said:?}");
        let error = receiver.end().expect_err("more came");
        assert!(matches!(error, TransferError::Unwritten { .. }), "{error}");
        assert_eq!(have, 0);
        for name in folder.names() {
            let length = fs::metadata(folder.target().join(name)).expect("there").len();
            assert!(length <= size, "{length} of {size}");
        }
    }
}

/// It is under its name already, and whole: what still comes is none of it.
#[test]
fn what_is_there_stays_whatever_is_sent_for_it() {
    let folder = Places::new("alike");
    let bytes = vec![5; 4_000_000];
    let name = folder.target().join("film");
    fs::write(&name, &bytes).expect("written");
    for hash in [hash(&name), [7; 32]] {
        let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
        let (have, said) = ended(&receiver, (bytes.len() as u64, hash), &[7; 9000]);
        assert_eq!(have, bytes.len() as u64);
        assert!(matches!(said, Some(Message::Verdict(_))), "{said:?}");
        assert_eq!(folder.names(), ["film"]);
        assert_eq!(fs::read(&name).expect("there"), bytes);
    }
}

/// All bytes came, and they are others: nothing of them is left.
#[test]
fn who_offers_another_hash_leaves_nothing() {
    let folder = Places::new("hash");
    for (size, sent) in [(0, &[][..]), (3000, &[7; 3000][..])] {
        let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
        let (_, said) = ended(&receiver, (size, [7; 32]), sent);
        let why = "what arrived of film does not have the hash that the sender stated; it was thrown away";
        assert_eq!(said, Some(Message::Verdict(Err(why.to_owned()))), "{size}");
        assert!(matches!(receiver.end().expect_err("others"), TransferError::Hash { .. }));
        assert_eq!(folder.names(), Vec::<String>::new());
    }
}
