//! What senders of files say of their flows, with anything done to it: refused with reasons, or both endpoints. The fuzz target
//! `offered_flow` runs the same without end.

#[path = "common/offered.rs"]
mod shared;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[test]
fn offered_flow() {
    let taken = Cell::new(0);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(600);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(&prop::collection::vec(any::<u8>(), 0..16), |bytes| {
            taken.set(taken.get() + u32::from(shared::exercise(&bytes)));
            Ok(())
        })
        .expect("an answer to each");
    assert!(taken.get() > cases / 20, "{} of {cases}", taken.get());
}
