//! Any bytes are a queue discipline with parameters that its check refuses, or one that keeps its books under
//! whatever a link may do to it.
#![no_main]

#[path = "../../crates/qdisc/tests/common/anything.rs"]
mod anything;
#[path = "../../crates/core/tests/common/choices.rs"]
mod choices;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // High numbers of flows are left to the property test: a fuzzer would find them again and again, and do little else.
    anything::exercise(bytes, &[]);
});
