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

/// A budget of so many bytes; a very large one where the caller names none.
pub(crate) fn budget(most: Option<u64>) -> Budget {
    Budget { most: Bytes::new(most.unwrap_or(u64::MAX)), in_use: || COUNTED.allocated() as u64 }
}
