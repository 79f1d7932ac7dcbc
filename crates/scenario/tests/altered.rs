//! The shipped scenarios with anything done to them: refused with reasons, or a run that begins. Single wrong values are
//! in `bad_input` and `absurd_input`. The fuzz target `scenario_text` runs the same without end.

#[path = "common/altered.rs"]
mod shared;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[test]
fn scenario_text() {
    let taken = Cell::new(0);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(600);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(&prop::collection::vec(any::<u8>(), 0..24), |bytes| {
            taken.set(taken.get() + u32::from(shared::exercise(&bytes, 1)));
            Ok(())
        })
        .expect("an answer to each");
    assert!(taken.get() > cases / 10, "{} of {cases}", taken.get());
}

#[test]
fn they_are_good_as_they_are() {
    for text in shared::TEXTS {
        if let Err(problems) = tailback_scenario::Scenario::from_toml(text) {
            panic!("{problems}");
        }
    }
}
