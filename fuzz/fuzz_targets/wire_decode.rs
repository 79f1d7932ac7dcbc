//! Any bytes are refused or decode to a packet whose frame is exactly these bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tailback_transport::wire::{decode, encode};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(frame) = decode(bytes) {
        let mut again = Vec::new();
        encode(&frame.packet, frame.annex.as_ref(), frame.offset, frame.payload, &mut again)
            .expect("what was decoded is short enough");
        assert_eq!(again, bytes);
    }
});
