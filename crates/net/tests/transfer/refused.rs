//! What a receiver does not want, and what is in the way of a file: both ends hear of it. Who makes up messages is in
//! `intruders.rs`.

use std::fs;
use std::sync::mpsc::channel;

use tailback_core::Span;
use tailback_net::secure::{Invitation, KeyPair};
use tailback_net::transfer::{Phase, ReceiveConfig, Seen, SendConfig, TransferError, Word, send};

use super::waiting::{Places, SIZE, config, sent, telling, waiting};
use crate::common::ends;

#[test]
fn who_was_not_invited_and_what_is_not_wanted_is_refused() {
    let folder = Places::new("refused");
    let file = folder.file(1000);
    let pair = KeyPair::generate().expect("random numbers");
    let only = KeyPair::generate().expect("random numbers");
    let receiver = waiting(ReceiveConfig { only: Some(only.public), ..config(&folder.target(), &pair) });
    let right = receiver.sending(&file, receiver.address);

    let stranger = KeyPair::generate().expect("random numbers");
    let uninvited = Some((only.clone(), Invitation { secret: [1; 16], ..Invitation::of(&pair) }));
    let patience = Span::from_millis(700);
    let error =
        sent(&SendConfig { keys: uninvited, patience, ..right.clone() }, "cubic").expect_err("uninvited");
    assert!(matches!(error, TransferError::NoAnswer { .. }), "{error}");
    let other = Some((stranger, Invitation::of(&pair)));
    let error = sent(&SendConfig { keys: other, ..right.clone() }, "cubic").expect_err("another's key");
    assert_eq!(error.to_string(), "the receiver refuses: this sender's key is not the one that may send");

    let known = Some((only, Invitation::of(&pair)));
    let allowed = SendConfig { keys: known, ..right };
    fs::write(folder.target().join("film"), "an older one").expect("written");
    let error = sent(&allowed, "cubic").expect_err("there already");
    assert_eq!(
        error.to_string(),
        "the receiver refuses: film is there already, and is another file; expected another name, or recv --overwrite"
    );
    fs::remove_file(folder.target().join("film")).expect("removed");
    sent(&allowed, "cubic").expect("sent at last");
    receiver.end().expect("received");
    assert_eq!(folder.names(), ["film"]);
}

/// Somebody who waits for a file hears why it does not come, and nothing of a file that does not.
#[test]
fn a_receiver_is_told_of_what_it_refuses() {
    let folder = Places::new("told");
    let file = folder.file(1000);
    let name = folder.target().join("film");
    fs::write(&name, "an older one").expect("written");
    let pair = KeyPair::generate().expect("random numbers");
    let (tell, told) = channel();
    let hear = move |word: Word<'_>| tell.send(format!("{word:?}")).expect("heard");
    let receiver = telling(config(&folder.target(), &pair), hear);
    let sending = receiver.sending(&file, receiver.address);
    sent(&sending, "cubic").expect_err("there already");
    fs::remove_file(name).expect("removed");
    sent(&sending, "cubic").expect("sent");
    receiver.end().expect("received");
    let words: Vec<String> = told.iter().collect();
    let why = "film is there already, and is another file; expected another name, or recv --overwrite";
    assert_eq!(words, [format!("Refused {{ name: \"film\", why: {why:?} }}"), "Accepted".to_owned()]);
}

#[test]
fn what_takes_the_files_name_meanwhile_stays_and_is_named() {
    let folder = Places::new("taken");
    let file = folder.file(SIZE);
    let pair = KeyPair::generate().expect("random numbers");
    let receiver = waiting(config(&folder.target(), &pair));
    let name = folder.target().join("film");
    let sending = receiver.sending(&file, receiver.address);
    let mut watch = |seen: &Seen| {
        if seen.phase == Phase::Moving {
            fs::write(&name, "mine").expect("written");
        }
        true
    };
    let error = send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("taken");
    let said = "another file has taken this name meanwhile; what has arrived is kept: `recv --overwrite` and the same commands put \
                it there";
    // By its name: where it lies is not the sender's business.
    assert_eq!(error.to_string(), format!("the receiver says: film: {said}"));
    assert_eq!(receiver.end().expect_err("taken").to_string(), format!("{}: {said}", name.display()));
    assert_eq!(fs::read(&name).expect("there"), b"mine");
    assert_eq!(folder.names().len(), 2, "what has arrived is kept");
    let again = waiting(ReceiveConfig { overwrite: true, ..config(&folder.target(), &pair) });
    let resumed = sent(&SendConfig { peers: vec![again.address], ..sending }, "cubic").expect("sent").resumed;
    assert_eq!(resumed.get(), SIZE as u64);
    again.end().expect("received");
    assert_eq!(fs::read(&name).expect("there"), fs::read(&file).expect("there"));
}
