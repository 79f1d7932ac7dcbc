//! Any alteration of what a sender says of its flow is refused, or makes both endpoints, and is said again in the same words.
#![no_main]

#[path = "../../crates/core/tests/common/choices.rs"]
mod choices;
#[path = "../../crates/scenario/tests/common/offered.rs"]
mod offered;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = offered::exercise(bytes);
});
