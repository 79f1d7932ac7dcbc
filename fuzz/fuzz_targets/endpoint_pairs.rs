//! Any bytes are a transfer by any scheme, a path that loses and delays, and an attacker on it: the transfer ends, or its
//! sender gives up after the stated time.
#![no_main]

#[path = "../../crates/transport/tests/common/attacked.rs"]
mod attacked;
#[path = "../../crates/core/tests/common/choices.rs"]
mod choices;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    attacked::exercise(bytes);
});
