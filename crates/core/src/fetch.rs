//! Fetching ahead: asks the processor for memory that will be needed soon. What is fetched, and when, is the caller's business.

/// A line of the processor's caches, in bytes.
pub const LINE: usize = 64;

/// Asks for the first `LINES` cache lines of `value`.
#[inline]
pub fn fetch<const LINES: usize, T>(value: &T) {
    const { assert!(LINE * (LINES - 1) < size_of::<T>(), "lines beyond the value") };
    for line in 0..LINES {
        fetch_line(std::ptr::from_ref(value).cast::<u8>().wrapping_add(LINE * line));
    }
}

/// Asks for the first `LINES` cache lines of the value that stands at `index`, without a look whether one does: beyond the end,
/// nothing is gained and nothing harmed.
#[inline]
pub fn fetch_at<const LINES: usize, T>(values: &[T], index: usize) {
    let value = values.as_ptr().wrapping_add(index).cast::<u8>();
    for line in 0..LINES {
        fetch_line(value.wrapping_add(LINE * line));
    }
}

/// The same of `LINES` cache lines from this one of all that the values take.
#[inline]
pub fn fetch_from_line<const LINES: usize, T>(values: &[T], line: usize) {
    let first = values.as_ptr().cast::<u8>().wrapping_add(LINE * line);
    for line in 0..LINES {
        fetch_line(first.wrapping_add(LINE * line));
    }
}

/// Asks for the cache line at an address.
#[inline]
#[expect(
    unsafe_code,
    reason = "the standard library has no safe function that tells the processor what will be read"
)]
#[cfg(target_arch = "x86_64")]
fn fetch_line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is a hint. It reads nothing that a program could see, changes nothing but caches, and never faults,
    // whatever the address; every processor of this kind has it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>()) }
}

/// Other processors are not asked.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
fn fetch_line(_: *const u8) {}
