//! How often something was looked at of which there are as many as flows: counted in tests, nothing elsewhere.

#[cfg(test)]
thread_local! {
    /// The looks of this thread.
    pub(super) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[inline]
pub(crate) fn looked() {
    #[cfg(test)]
    LOOKS.with(|looks| looks.set(looks.get() + 1));
}

/// The same, at so many.
#[inline]
pub(crate) fn looked_at(count: usize) {
    #[cfg(test)]
    LOOKS.with(|looks| looks.set(looks.get() + count as u64));
    #[cfg(not(test))]
    let _ = count;
}
