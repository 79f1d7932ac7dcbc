//! Any bytes are what a peer of a transfer says beside frames: messages, offers and answers are read and can be shown, or are refused.
#![no_main]

#[path = "../../crates/net/tests/common/words.rs"]
mod words;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = words::exercise(bytes);
});
