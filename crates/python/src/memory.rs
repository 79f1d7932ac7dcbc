//! How much memory the core has in use: all of its allocations are counted. What may be used is the caller's to say.

use cap::Cap;
#[cfg(target_os = "linux")]
use mimalloc::MiMalloc as Allocator;
#[cfg(not(target_os = "linux"))]
use std::alloc::System as Allocator;
use tailback_core::Bytes;
use tailback_scenario::Budget;

/// Counts, and limits nothing: an allocator that refuses ends the process. On Linux it takes memory in large pages where the
/// system has them for who asks: very many flows would otherwise wait as long for where a page is as for what is in it.
#[global_allocator]
static COUNTED: Cap<Allocator> = Cap::new(Allocator, usize::MAX);

/// When freed memory goes back to the system, in milliseconds. The allocator keeps it for a second by default, in which a run of
/// many flows has built its tables beside all that its simulation held. A user's `MIMALLOC_PURGE_DELAY` takes precedence.
#[cfg(target_os = "linux")]
const PURGE_DELAY: std::ffi::c_long = 10;

/// `mi_option_purge_delay` of mimalloc's version 3, which the crate has no name for; a test reads it back through the environment.
#[cfg(target_os = "linux")]
const OPTION: std::ffi::c_int = 15;

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the crate has no safe function that sets an option of the allocator")]
mod allocator {
    use std::ffi::{c_int, c_long};

    // Both only look into a table, and do nothing where it has no such option.
    unsafe extern "C" {
        pub(super) safe fn mi_option_get(option: c_int) -> c_long;
        pub(super) safe fn mi_option_set_default(option: c_int, value: c_long);
    }
}

/// Has freed memory go back to the system soon, unless the user said when.
pub(crate) fn give_back_soon() {
    #[cfg(target_os = "linux")]
    allocator::mi_option_set_default(OPTION, PURGE_DELAY);
}

/// After how many milliseconds freed memory goes back to the system, where the core decides it.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
pub(crate) fn purge_delay() -> Option<i64> {
    Some(allocator::mi_option_get(OPTION))
}

/// Elsewhere the system's own allocator decides.
#[cfg(not(target_os = "linux"))]
pub(crate) fn purge_delay() -> Option<i64> {
    None
}

/// A budget of so many bytes; a very large one where the caller names none.
pub(crate) fn budget(most: Option<u64>) -> Budget {
    Budget { most: Bytes::new(most.unwrap_or(u64::MAX)), in_use: || COUNTED.allocated() as u64 }
}
