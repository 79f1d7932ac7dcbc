//! Transfers that broke off and are taken up again. How they break off is in `given_up.rs`.

use std::fs;
use std::net::SocketAddr;

use tailback_core::{Bytes, Span};
use tailback_net::secure::KeyPair;
use tailback_net::transfer::{ReceiveConfig, SendConfig, TransferError, send};

use super::waiting::{Places, SIZE, config, sent, until_moved, waiting};
use crate::common::ends;
use crate::common::relay::{Relay, Treatment};

#[test]
fn an_interrupted_transfer_goes_on_where_it_was() {
    let folder = Places::new("resumes");
    let file = folder.file(SIZE);
    let pair = KeyPair::generate().expect("random numbers");
    let receiver = waiting(config(&folder.target(), &pair));
    let mut watch = until_moved(400_000);
    let sending = receiver.sending(&file, receiver.address);
    let error = send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("stopped");
    assert!(matches!(error, TransferError::Stopped), "{error}");
    let error = receiver.end().expect_err("stopped");
    let said = error.to_string();
    assert!(said.starts_with("the sender says: stopped; "), "{said}");
    assert!(said.ends_with(" of 1500 kB are there: the same commands go on from there"), "{said}");
    let names = folder.names();
    assert!(names.len() == 1 && names[0].ends_with(".partial"), "{names:?}");

    let receiver = waiting(config(&folder.target(), &pair));
    let again = SendConfig { peers: vec![receiver.address], ..sending };
    let again = sent(&again, "vegas").expect("sent");
    assert!(again.resumed >= Bytes::new(400_000) && again.resumed < Bytes::new(SIZE as u64));
    assert_eq!(receiver.end().expect("received").resumed, again.resumed);
    assert_eq!(fs::read(folder.target().join("film")).expect("there"), fs::read(&file).expect("there"));
    assert_eq!(folder.names(), ["film"]);
}

#[test]
fn a_sender_that_was_killed_and_comes_again_is_taken_up() {
    let folder = Places::new("again");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    // Its way goes dead, so that nobody hears how it ends.
    let relay = Relay::new(receiver.address, Treatment { dead_after: 400, ..Treatment::default() });
    let first = SendConfig { patience: Span::from_secs(1), ..receiver.sending(&file, relay.address) };
    sent(&first, "cubic").expect_err("the way is dead");
    let again = SendConfig { peers: vec![receiver.address], ..first };
    assert!(sent(&again, "cubic").expect("sent").resumed > Bytes::ZERO);
    receiver.end().expect("received");
}

#[test]
fn a_sender_that_comes_again_is_answered_from_the_address_that_it_knows() {
    let folder = Places::new("elsewhere");
    let file = folder.file(SIZE);
    let pair = KeyPair::generate().expect("random numbers");
    let receiver = waiting(ReceiveConfig { address: None, ..config(&folder.target(), &pair) });
    // None of which the system would choose by itself.
    let there = SocketAddr::from(([127, 0, 0, 2], receiver.address.port()));
    let relay = Relay::new(there, Treatment { dead_after: 400, ..Treatment::default() });
    let first = SendConfig { patience: Span::from_secs(1), ..receiver.sending(&file, relay.address) };
    sent(&first, "cubic").expect_err("the way is dead");
    let again = SendConfig { peers: vec![there], patience: Span::from_secs(5), ..first };
    assert!(sent(&again, "cubic").expect("sent").resumed > Bytes::ZERO);
    receiver.end().expect("received");
}

#[test]
fn a_damaged_partial_file_is_found_out_and_thrown_away() {
    let folder = Places::new("damaged");
    let file = folder.file(SIZE);
    let pair = KeyPair::generate().expect("random numbers");
    let receiver = waiting(config(&folder.target(), &pair));
    let mut watch = until_moved(400_000);
    let sending = receiver.sending(&file, receiver.address);
    send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("stopped");
    receiver.end().expect_err("stopped");
    let partial = folder.target().join(&folder.names()[0]);
    let mut bytes = fs::read(&partial).expect("there");
    bytes[1234] ^= 1;
    fs::write(&partial, bytes).expect("written");

    let receiver = waiting(config(&folder.target(), &pair));
    let again = SendConfig { peers: vec![receiver.address], ..sending };
    let error = sent(&again, "cubic").expect_err("damaged").to_string();
    assert!(error.starts_with("the receiver says: what arrived of film does not have the hash"), "{error}");
    assert!(matches!(receiver.end().expect_err("damaged"), TransferError::Hash { .. }));
    assert_eq!(folder.names(), Vec::<String>::new());
}
