//! Files that are there already when they are offered: the same commands again say so, and another file of the name stays what
//! it is. What is there in part is in `resumed.rs`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::channel;

use tailback_core::Bytes;
use tailback_net::secure::KeyPair;
use tailback_net::transfer::Word;

use super::waiting::{Places, SIZE, config, sent, telling, waiting};

/// As where the receiver's last word got lost, or somebody is not sure.
#[test]
fn the_same_commands_again_are_well_and_move_nothing() {
    for size in [SIZE, 0] {
        let folder = Places::new(&format!("kept-{size}"));
        let file = folder.file(size);
        let pair = KeyPair::generate().expect("random numbers");
        let there = folder.target().join("film");
        let mut first = None;
        for _ in 0..2 {
            let receiver = waiting(config(&folder.target(), &pair));
            let told = sent(&receiver.sending(&file, receiver.address), "cubic").expect("sent");
            let arrived = receiver.end().expect("arrived");
            assert_eq!((arrived.path.as_path(), told.resumed), (there.as_path(), arrived.resumed));
            let metadata = fs::metadata(&there).expect("there");
            let now = (metadata.ino(), metadata.mtime_nsec());
            if first.replace(now).is_some_and(|before| before == now) {
                assert_eq!(told.resumed, Bytes::new(size as u64));
            }
        }
        assert_eq!(first, fs::metadata(&there).ok().map(|there| (there.ino(), there.mtime_nsec())));
        assert_eq!(fs::read(&there).expect("there"), fs::read(&file).expect("there"));
        assert_eq!(folder.names(), ["film"]);
    }
}

/// Of another size, or of the same size and other bytes: its sender is told, and the receiver goes on waiting.
#[test]
fn another_file_of_the_name_stays() {
    let folder = Places::new("another");
    let file = folder.file(SIZE);
    let name = folder.target().join("film");
    let (tell, told) = channel();
    let hear = move |word: Word<'_>| tell.send(format!("{word:?}")).expect("heard");
    let receiver = telling(config(&folder.target(), &KeyPair::generate().expect("random numbers")), hear);
    let sending = receiver.sending(&file, receiver.address);
    let why = "film is there already, and is another file; expected another name, or recv --overwrite";
    for (there, who) in [(b"an older one".to_vec(), "refuses"), (vec![7; SIZE], "says")] {
        fs::write(&name, &there).expect("written");
        let error = sent(&sending, "cubic").expect_err("another file").to_string();
        assert_eq!(error, format!("the receiver {who}: {why}"));
        assert_eq!(fs::read(&name).expect("there"), there);
        let refused = format!("Refused {{ name: \"film\", why: {why:?} }}");
        assert_eq!(told.recv().expect("told"), refused);
    }
    fs::remove_file(&name).expect("removed");
    sent(&sending, "cubic").expect("sent");
    receiver.end().expect("arrived");
    assert_eq!(told.iter().collect::<Vec<_>>(), ["Accepted"]);
    assert_eq!(folder.names(), ["film"]);
}
