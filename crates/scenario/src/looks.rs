//! How many things are looked at while a scenario is laid out: counted for tests alone.

#[cfg(feature = "for-tests")]
thread_local! {
    /// Things looked at in this thread.
    static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// One more is looked at.
#[inline]
pub(crate) fn look() {
    #[cfg(feature = "for-tests")]
    LOOKS.set(LOOKS.get() + 1);
}

/// How many are looked at by what is done.
#[cfg(feature = "for-tests")]
pub fn looks(act: impl FnOnce()) -> u64 {
    let before = LOOKS.get();
    act();
    LOOKS.get() - before
}
