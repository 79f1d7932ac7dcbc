//! Two senders at once: the one that came first goes on, and the other one is told. Senders that were killed and come again are in
//! `resumed.rs`.

use std::fs;
use std::thread;

use tailback_core::{Bytes, Span};
use tailback_net::secure::KeyPair;
use tailback_net::transfer::{Phase, Seen, SendConfig, send};

use super::waiting::{Places, SIZE, config, sent, waiting};
use crate::common::ends;
use crate::common::relay::{Relay, Treatment};

/// Of one user, so with one key, or of two, even if they send the same. Another name, or other bytes of the same size, make another
/// file.
#[test]
fn the_second_of_two_senders_is_told_that_another_transfer_is_under_way() {
    let alike = &vec![7; SIZE / 2][..];
    thread::scope(|scope| {
        for (is_one_user, name, bytes) in [
            (true, "other", Some(&alike[..1000])),
            (true, "other", None),
            (true, "film", Some(alike)),
            (false, "other", Some(&alike[..1000])),
            (false, "film", None),
        ] {
            scope.spawn(move || refused(is_one_user, name, bytes));
        }
    });
}

/// The second sends these bytes under this name, or those of the first.
fn refused(is_one_user: bool, name: &str, bytes: Option<&[u8]>) {
    let folder = Places::new(&format!("rivals-{is_one_user}-{name}-{}", bytes.map_or(0, <[u8]>::len)));
    let file = folder.file(SIZE / 2);
    let beside = file.with_file_name("beside");
    fs::create_dir(&beside).expect("a folder");
    let other = beside.join(name);
    fs::write(&other, bytes.map_or_else(|| fs::read(&file).expect("there"), <[u8]>::to_vec))
        .expect("written");
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let first = receiver.sending(&file, receiver.address);
    let keys = if is_one_user { first.keys.clone() } else { receiver.sending(&other, receiver.address).keys };
    let second = SendConfig { file: other, keys, ..first.clone() };
    let mut rival = None;
    let mut watch = |seen: &Seen| {
        if seen.phase == Phase::Moving && rival.is_none() {
            let second = second.clone();
            rival = Some(thread::spawn(move || sent(&second, "cubic")));
        }
        true
    };
    // A packet a tenth of a second: it lasts longer than it takes to know.
    send(&first, |sizes| Ok(ends::sender("fixed-rate", sizes)), &mut watch).expect("sent");
    let error = rival.expect("begun").join().expect("no panic").expect_err("the second").to_string();
    assert_eq!(error, "the receiver refuses: another transfer is under way", "{is_one_user}, {name}");
    receiver.end().expect("received");
    assert_eq!(folder.names(), ["film"]);
}

/// The same file of the same user is the same transfer, whoever of the two is still there: it is taken up, and nobody waits.
#[test]
fn who_sends_the_same_file_takes_it_up_though_the_first_is_still_there() {
    let folder = Places::new("taken-up");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let first = SendConfig { patience: Span::from_secs(2), ..receiver.sending(&file, receiver.address) };
    let mut second = None;
    let mut watch = |seen: &Seen| {
        if seen.phase == Phase::Moving && seen.done > Bytes::new(SIZE as u64 / 10) && second.is_none() {
            let again = SendConfig { patience: Span::from_secs(5), ..first.clone() };
            second = Some(thread::spawn(move || sent(&again, "cubic")));
        }
        true
    };
    let error =
        send(&first, |sizes| Ok(ends::sender("fixed-rate", sizes)), &mut watch).expect_err("taken up");
    assert!(error.to_string().starts_with("the receiver has said nothing for 2 s"), "{error}");
    let sent = second.expect("begun").join().expect("no panic").expect("sent");
    assert!(sent.resumed > Bytes::ZERO, "{sent:?}");
    receiver.end().expect("received");
    assert_eq!(folder.names(), ["film"]);
}

#[test]
fn a_sender_that_was_killed_and_sends_another_file_is_let_in() {
    let folder = Places::new("another-file");
    let file = folder.file(SIZE);
    let other = file.with_file_name("other");
    fs::write(&other, [7; 1000]).expect("written");
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let relay = Relay::new(receiver.address, Treatment { dead_after: 400, ..Treatment::default() });
    let first = SendConfig { patience: Span::from_millis(500), ..receiver.sending(&file, relay.address) };
    sent(&first, "cubic").expect_err("the way is dead");
    let patience = Span::from_secs(5);
    let second = SendConfig { file: other, peers: vec![receiver.address], patience, ..first };
    assert_eq!(sent(&second, "cubic").expect("sent").resumed, Bytes::ZERO);
    receiver.end().expect("received");
}
