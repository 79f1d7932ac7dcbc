//! Transfers that come to no end: both ends say within a stated time why not. How they are taken up again is in `resumed.rs`.

use std::net::UdpSocket;
use std::thread;

use tailback_core::{Bytes, Span, Time};
use tailback_net::channel::Message;
use tailback_net::secure::{Invitation, KeyPair};
use tailback_net::transfer::{Phase, ReceiveConfig, Seen, SendConfig, send};
use tailback_net::{Channel, Clock};

use super::waiting::{LONG, Places, SIZE, config, sent, waiting};
use crate::common::accepting::accepting;
use crate::common::ends;
use crate::common::relay::{NARROW, Relay, Treatment};

#[test]
fn a_receiver_that_acknowledges_nothing_is_not_waited_for() {
    // A cookie comes back, and an acknowledgement does not; or neither does.
    thread::scope(|scope| {
        for (cookies, why) in [
            (true, "long packets reach it, and no acknowledgement comes back"),
            (
                false,
                "only its short signs of life come; longer packets are lost on the way there or on the way back",
            ),
        ] {
            // So early that slow start cannot have had the whole file on its way by then, which would then arrive.
            let treatment = Treatment { short_after: 100, cookies, ..Treatment::default() };
            scope.spawn(move || unanswered("cubic", treatment, why));
        }
    });
}

/// As where an interface on the way takes shorter packets only from now on. Whether the scheme has anything on its way at a
/// moment, or takes all of it for lost, is no matter.
#[test]
fn a_way_that_becomes_narrow_is_not_waited_for() {
    thread::scope(|scope| {
        for scheme in ["cubic", "fixed-rate"] {
            let treatment = Treatment { narrow_after: 400, narrow_to: NARROW, ..Treatment::default() };
            let why = "only packets that are too short for a transfer reach it";
            scope.spawn(move || unanswered(scheme, treatment, why));
        }
    });
}

fn unanswered(scheme: &str, treatment: Treatment, why: &str) {
    let what = treatment.narrow_after + u64::from(treatment.cookies);
    let folder = Places::new(&format!("unanswered-{scheme}-{what}"));
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let relay = Relay::new(receiver.address, treatment);
    let sending = SendConfig { patience: Span::from_secs(2), ..receiver.sending(&file, relay.address) };
    let clock = Clock::start();
    let mut watch = |_: &Seen| clock.now() < Time::ZERO + LONG;
    let error = send(&sending, |sizes| Ok(ends::sender(scheme, sizes)), &mut watch).expect_err("unanswered");
    let text = error.to_string();
    let said = format!("the receiver has acknowledged nothing for 2 s ({why}); ");
    assert!(text.starts_with(&said), "{scheme}: {text}");
    // What it says last is short.
    let told = receiver.end().expect_err("nobody sends any more").to_string();
    assert!(told.starts_with(&format!("the sender says: {said}")), "{scheme}: {told}");
}

#[test]
fn silence_ends_both_within_their_patience() {
    let folder = Places::new("silence");
    let file = folder.file(SIZE);
    let patience = Span::from_millis(600);
    let receiving = config(&folder.target(), &KeyPair::generate().expect("random numbers"));
    let receiver = waiting(ReceiveConfig { patience, ..receiving });
    let relay = Relay::new(receiver.address, Treatment { dead_after: 400, ..Treatment::default() });
    let (clock, mut last) = (Clock::start(), Time::ZERO);
    let mut watch = |seen: &Seen| {
        if seen.phase == Phase::Moving && seen.done > Bytes::ZERO && last == Time::ZERO {
            last = clock.now();
        }
        true
    };
    let sending = SendConfig { patience, ..receiver.sending(&file, relay.address) };
    let error = send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("silence");
    let text = error.to_string();
    assert!(text.starts_with("the receiver has said nothing for 600 ms"), "{text}");
    assert!(text.ends_with("the same commands go on from there"), "{text}");
    assert!(
        clock.now().since(last) < Span::from_secs(10),
        "within the patience, and a little for the machine"
    );
    let error = receiver.end().expect_err("silence").to_string();
    assert!(error.starts_with("the sender has said nothing for 600 ms"), "{error}");
}

/// A receiver that was started again knows nothing of the session. That nobody listens there was so for a moment only.
#[test]
fn what_the_network_said_before_is_no_reason() {
    thread::scope(|scope| {
        for (is_started_again, hint) in [(true, ""), (false, " (nobody listens there)")] {
            scope.spawn(move || {
                let folder = Places::new(&format!("again-{is_started_again}"));
                let file = folder.file(SIZE);
                // Where no other test takes the port meanwhile.
                let socket = UdpSocket::bind("127.0.0.77:0").expect("a socket");
                let address = socket.local_addr().expect("bound");
                let pair = KeyPair::generate().expect("random numbers");
                let keys = Some((pair.clone(), Invitation::of(&pair)));
                let receiver = thread::spawn(move || {
                    drop(accepting(socket, &pair, Clock::start()));
                    thread::sleep(std::time::Duration::from_millis(700));
                    is_started_again.then(|| UdpSocket::bind(address).expect("free again"))
                });
                let patience = Span::from_secs(5);
                let packet = Bytes::new(1500);
                let sending = SendConfig { file, peers: vec![address], keys, patience, packet, longer: LONG };
                let error = sent(&sending, "cubic").expect_err("nobody").to_string();
                drop(receiver.join().expect("no panic"));
                let said = format!("the receiver has said nothing for 5 s{hint}; 0 B of 1500 kB are there");
                assert!(error.starts_with(&said), "{error}");
            });
        }
    });
}

/// It says so until its sender has heard it, and need not wait any longer.
#[test]
fn a_receiver_that_says_why_it_ends_hears_that_it_was_heard() {
    let folder = Places::new("heard");
    let file = folder.file(SIZE);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (address, pair) = (socket.local_addr().expect("bound"), KeyPair::generate().expect("random numbers"));
    let keys = Some((pair.clone(), Invitation::of(&pair)));
    let receiver = thread::spawn(move || {
        let clock = Clock::start();
        let (mut channel, _) = accepting(socket, &pair, clock);
        let mut buffer = vec![0; 65_536];
        while clock.now() < Time::ZERO + LONG {
            channel.say(clock.now(), &Message::Verdict(Err("enough".to_owned())));
            thread::sleep(std::time::Duration::from_millis(20));
            while let Ok(arrived) = channel.receive(&mut buffer) {
                for datagram in arrived.datagrams_mut(&mut buffer) {
                    channel.open(clock.now(), &arrived, datagram);
                }
            }
            if channel.take_message() == Some(Message::Farewell) {
                return true;
            }
        }
        false
    });
    let packet = Bytes::new(1500);
    let patience = Span::from_secs(5);
    let sending = SendConfig { file, peers: vec![address], keys, patience, packet, longer: LONG };
    let error = sent(&sending, "cubic").expect_err("enough").to_string();
    assert_eq!(error, "the receiver says: enough");
    assert!(receiver.join().expect("no panic"), "nobody said that it was heard");
}

#[test]
fn nobody_there_is_one_clear_error() {
    let folder = Places::new("nobody");
    let file = folder.file(10);
    let pair = KeyPair::generate().expect("random numbers");
    let gone = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let peer = gone.expect("was bound");
    let keys = Some((pair.clone(), Invitation::of(&pair)));
    let patience = Span::from_millis(500);
    let packet = Bytes::new(1500);
    let sending = SendConfig { file, peers: vec![peer], keys, patience, packet, longer: LONG };
    let error = sent(&sending, "cubic").expect_err("nobody").to_string();
    assert_eq!(error, format!("{peer} did not answer for 500 ms (nobody listens there)"));
}

#[test]
fn each_address_is_tried_and_named_with_its_reason() {
    let folder = Places::new("addresses");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let gone = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let deaf = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (gone, deaf_at) = (gone.expect("was bound"), deaf.local_addr().expect("bound"));
    // Of a link, which is not said; and for nobody alone, which sockets are not let do.
    let (link, all) = ("[fe80::1]:9".parse().expect("one"), "255.255.255.255:9".parse().expect("one"));
    let right = receiver.sending(&file, receiver.address);

    let patience = Span::from_millis(700);
    let none = SendConfig { peers: vec![link, gone, deaf_at], patience, ..right.clone() };
    let error = sent(&none, "cubic").expect_err("nobody").to_string();
    let why = "a link-local address is one of an interface; expected it behind, as in %eth0";
    assert_eq!(
        error,
        format!(
            "none of these addresses answered for 700 ms: {link} ({why}), {gone} (nobody listens there), \
             {deaf_at} (no word from there)"
        )
    );
    // Where nothing can come of waiting, nobody waits.
    let clock = Clock::start();
    let hopeless = SendConfig { peers: vec![all], patience: LONG, ..right.clone() };
    let error = sent(&hopeless, "cubic").expect_err("not allowed").to_string();
    assert!(error.starts_with("cannot reach 255.255.255.255:9: Permission denied"), "{error}");
    let error =
        sent(&SendConfig { peers: vec![link, all], ..hopeless }, "cubic").expect_err("neither").to_string();
    assert!(error.starts_with("cannot reach any of these addresses: [fe80::1]:9 (a link-local"), "{error}");
    assert!(clock.now() < Time::ZERO + LONG);

    let one_is_right = SendConfig { peers: vec![link, all, gone, deaf_at, receiver.address], ..right };
    assert_eq!(sent(&one_is_right, "cubic").expect("sent").peer, receiver.address);
    receiver.end().expect("received");
}
