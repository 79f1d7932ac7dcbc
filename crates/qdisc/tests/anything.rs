//! Disciplines with any parameters that are accepted, under anything that a link may do to them: no panic, no packet
//! or byte made or lost, no more waiting than the buffer holds. The fuzz target `queue_steps` runs the same without end.

#[path = "common/anything.rs"]
mod shared;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const CASES: u32 = 10_000;

#[test]
fn queue_steps() {
    let exercised = Cell::new(0);
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&prop::collection::vec(any::<u8>(), 0..400), |bytes| {
            exercised
                .set(exercised.get() + u32::from(shared::exercise(&bytes, &[70_000, 5_000_000, u32::MAX])));
            Ok(())
        })
        .expect("the books balance");
    // Most parameters drawn make sense, or the test would say little.
    assert!(exercised.get() > CASES / 4, "{} of {CASES}", exercised.get());
}
