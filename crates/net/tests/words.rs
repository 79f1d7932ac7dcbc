//! What a peer says beside frames, in whatever bytes: it is read and can be shown, or it is refused. The fuzz target
//! `transfer_words` does the same without end.

use std::cell::Cell;

use crate::common::words;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[test]
fn whatever_a_peer_says() {
    let read = Cell::new(0);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4000);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(&prop::collection::vec(any::<u8>(), 0..400), |bytes| {
            read.set(read.get() + u32::from(words::exercise(&bytes)));
            Ok(())
        })
        .expect("an answer to each");
    // Half of them are said rightly, and a third of these not changed afterwards.
    assert!(read.get() > cases / 10, "{} of {cases}", read.get());
}
