//! Arbitrary bytes as an IP packet: reading ends, what is accepted lies within the bytes, and a mark changes nothing else.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailback_core::Ecn;
use tailback_net::router::Header;
use tailback_net::router::ip::{read, set_ecn};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(header) = read(bytes) {
        assert!(header.length <= bytes.len());
        let mut marked = bytes.to_vec();
        set_ecn(&mut marked, Ecn::Ce);
        assert_eq!(read(&marked), Ok(Header { ecn: Ecn::Ce, ..header }));
    }
});
