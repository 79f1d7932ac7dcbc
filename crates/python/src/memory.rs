//! How much memory the core has in use: all of its allocations are counted. What may be used is the caller's to say.

use std::alloc::System;

use cap::Cap;
use tailback_core::Bytes;
use tailback_scenario::Budget;

/// Counts, and limits nothing: an allocator that refuses ends the process.
#[global_allocator]
static COUNTED: Cap<System> = Cap::new(System, usize::MAX);

/// A budget of so many bytes; a very large one where the caller names none.
pub(crate) fn budget(most: Option<u64>) -> Budget {
    Budget { most: Bytes::new(most.unwrap_or(u64::MAX)), in_use: || COUNTED.allocated() as u64 }
}
