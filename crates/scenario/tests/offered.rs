//! What senders of files say of their flows, with anything done to it: refused with reasons, or both endpoints. The fuzz target
//! `offered_flow` runs the same without end.

#[path = "common/offered.rs"]
mod shared;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tailback_scenario::transfer::{flow_of, scenario_of};

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

/// Where something is the default, nothing has to be said: else the receiver, or whoever reads the scenario again, has the default.
#[test]
fn nothing_is_said_where_something_is_the_default() {
    let scheme = |gamma| format!(r#"{{"scheme":{{"name":"accumulation-p"{gamma}}},"reliable":true}}"#);
    for (gamma, is_said) in [(r#","gamma":"none""#, true), ("", false), (r#","gamma":"1 packets""#, false)] {
        let made = scenario_of("film", &scheme(gamma)).expect("it makes sense");
        let said = flow_of(&made);
        assert_eq!(said.contains(r#""gamma":"none""#), is_said, "{said}");
        assert_eq!(scenario_of("film", &said).expect("it makes sense"), made, "{said}");
    }
    let refused =
        scenario_of("film", &scheme(r#","gamma":null"#)).expect_err("a null says nothing").to_string();
    assert!(refused.contains(r#"or "none""#), "{refused}");
    // What the fuzz target has found: it makes a null of it.
    assert!(!shared::exercise(&[119, 192, 254, 186, 235, 235, 235, 112, 254, 255, 0, 43, 235, 170]));
}
