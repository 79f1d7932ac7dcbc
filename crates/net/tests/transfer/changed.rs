//! Files that are not any more what they were when they were offered: both ends hear of it, and nothing is taken for whole.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use tailback_net::secure::KeyPair;
use tailback_net::transfer::{Phase, Sizes, TransferError, send};

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
         changed since it was offered: the same commands send it as it is now"
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
        let said = "has changed while it was sent: the same commands send it as it is now";
        assert_eq!(sent, format!("FILE {said}"), "{size}");
        // By its name: where it lies is not the receiver's business.
        assert_eq!(received.to_string(), format!("the sender says: film {said}"));
        assert!(names.iter().all(|name| name.ends_with(".partial")), "{names:?}");
    }
}

/// What is done to a file.
type Change = fn(&Path);

/// Whether a sender says that its file has changed to which this is done in a phase of a transfer, which ends well otherwise. When
/// the first bytes move, all of so short a file has been read.
fn changed_later(name: &str, at: Phase, change: impl Fn(&Path)) -> Result<bool, String> {
    let folder = Places::new(name);
    let file = folder.file(SIZE);
    let offered = fs::read(&file).expect("there");
    thread::sleep(TICK);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let sending = receiver.sending(&file, receiver.address);
    let mut left = Some(change);
    let sent = send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut |seen| {
        if seen.phase == at
            && let Some(change) = left.take()
        {
            change(&file);
        }
        true
    });
    let sent = sent.map_err(|error| error.to_string().replace(&file.display().to_string(), "FILE"))?;
    receiver.end().expect("it has all of it");
    assert_eq!(fs::read(folder.target().join("film")).expect("there"), offered, "as it was offered");
    assert_eq!(sent.size.get(), SIZE as u64);
    Ok(sent.has_changed)
}

#[test]
fn a_sender_whose_file_changes_when_it_has_been_read_says_so_though_it_arrives() {
    let grow = |file: &Path| {
        let mut file = File::options().append(true).open(file).expect("there");
        file.write_all(b"more").expect("written");
    };
    let shrink =
        |file: &Path| File::options().write(true).open(file).and_then(|file| file.set_len(9)).expect("set");
    let touch = |file: &Path| {
        let file = File::options().write(true).open(file).expect("there");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("set");
    };
    let replace = |file: &Path| {
        fs::copy(file, file.with_extension("new")).expect("a copy");
        fs::rename(file.with_extension("new"), file).expect("renamed");
    };
    let ways: [(&str, Change); 4] =
        [("grow", grow), ("shrink", shrink), ("touch", touch), ("replace", replace)];
    for (name, change) in ways {
        assert_eq!(changed_later(&format!("later-{name}"), Phase::Moving, change), Ok(true), "{name}");
    }
    let remove: Change = |file| fs::remove_file(file).expect("removed");
    for (name, change) in [("nothing", (|_| {}) as Change), ("remove", remove)] {
        assert_eq!(changed_later(&format!("later-{name}"), Phase::Moving, change), Ok(false), "{name}");
    }
}

#[test]
fn a_file_that_changes_while_its_hash_is_made_is_not_offered() {
    let touch = |file: &Path| fs::write(file, b"another").expect("written");
    let said = changed_later("hashing", Phase::Hashing, touch).expect_err("it is told");
    assert_eq!(said, "FILE has changed while it was sent: the same commands send it as it is now");
}
