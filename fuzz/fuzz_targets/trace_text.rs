//! Any text is a trace whose times do not go back, or an error that names a line of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tailback_transport::source::parse_trace;

fuzz_target!(|text: &str| {
    match parse_trace(text) {
        Ok(entries) => assert!(entries.windows(2).all(|pair| pair[0].at <= pair[1].at)),
        Err(error) => assert!(error.line <= text.lines().count()),
    }
});
