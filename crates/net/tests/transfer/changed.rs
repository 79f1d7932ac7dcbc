//! Files that are not any more what they were when they were offered: both ends hear of it, and nothing is taken for whole.

use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::Duration;

use tailback_net::secure::KeyPair;
use tailback_net::transfer::{Sizes, TransferError, send};

use super::waiting::{Places, SIZE, config, waiting};
use crate::common::ends;

/// Longer than file systems hold times of files apart by.
const TICK: Duration = Duration::from_millis(50);

/// What both ends say of a file to which this is done between its hash and its first byte, and what is left.
fn changed(name: &str, change: impl Fn(&Path)) -> (String, TransferError, Vec<String>) {
    let folder = Places::new(name);
    let file = folder.file(SIZE);
    thread::sleep(TICK);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let sending = receiver.sending(&file, receiver.address);
    let prepare = |sizes: Sizes| {
        change(&file);
        Ok(ends::sender("cubic", sizes))
    };
    let sent = send(&sending, prepare, &mut |_| true).expect_err("changed").to_string();
    let said = sent.replace(&file.display().to_string(), "FILE");
    (said, receiver.end().expect_err("changed"), folder.names())
}

#[test]
fn a_sender_whose_files_bytes_have_changed_says_so_beside_the_receivers_word() {
    let (sent, received, names) = changed("bytes", |file| {
        let mut bytes = fs::read(file).expect("there");
        bytes[SIZE / 2] ^= 1;
        fs::write(file, bytes).expect("written");
    });
    assert_eq!(
        sent,
        "the receiver says: what arrived of film does not have the hash that the sender stated; it was thrown away; FILE has \
         changed since it was offered"
    );
    assert!(matches!(received, TransferError::Hash { .. }), "{received}");
    assert_eq!(names, Vec::<String>::new());
}

#[test]
fn a_file_that_shrinks_or_grows_ends_it_at_both_ends() {
    for size in [SIZE - 1, SIZE + 1, 0] {
        let (sent, received, names) = changed(&format!("size-{size}"), |file| {
            File::options().write(true).open(file).and_then(|file| file.set_len(size as u64)).expect("set");
        });
        assert_eq!(sent, "FILE has changed while it was sent", "{size}");
        // By its name: where it lies is not the receiver's business.
        assert_eq!(received.to_string(), "the sender says: film has changed while it was sent");
        assert!(names.iter().all(|name| name.ends_with(".partial")), "{names:?}");
    }
}
