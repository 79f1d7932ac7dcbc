//! Any bytes are what an attacker does to a handshake whose datagrams he sees, repeats, changes and makes up: nobody without the
//! invitation is let in, and whoever is let alone afterwards gets through.
#![no_main]

#[path = "../../crates/net/tests/common/knocks.rs"]
mod knocks;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = knocks::exercise(bytes);
});
