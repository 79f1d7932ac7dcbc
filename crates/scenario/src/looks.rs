//! How many things are looked at while a scenario is laid out: counted in tests alone.

#[cfg(test)]
thread_local! {
    /// Things looked at in this thread.
    static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// One more is looked at.
#[inline]
pub(crate) fn look() {
    #[cfg(test)]
    LOOKS.set(LOOKS.get() + 1);
}

/// How many are looked at by what is done.
#[cfg(test)]
pub(crate) fn looks(act: impl FnOnce()) -> u64 {
    let before = LOOKS.get();
    act();
    LOOKS.get() - before
}
