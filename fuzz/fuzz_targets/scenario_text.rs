//! Any alteration of a scenario's text is refused with reasons, or is a scenario that can be written, read and begun.
#![no_main]

#[path = "../../crates/core/tests/common/choices.rs"]
mod choices;
#[path = "../../crates/scenario/tests/common/altered.rs"]
mod altered;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    altered::exercise(bytes, 32);
});
