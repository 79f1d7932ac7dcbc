//! The rate that a law computes with: of the part of the line that its queue gets, and where it divides by the rate. What it
//! computes is up to the law, and who gets what to `turns.rs`.

use tailback_core::{BitRate, QueueCx};

/// What `call` makes of a line of this rate.
#[inline]
pub(crate) fn at_rate<'a, T>(
    rate: BitRate,
    cx: &mut QueueCx<'a>,
    call: impl FnOnce(&mut QueueCx<'a>) -> T,
) -> T {
    let line = std::mem::replace(&mut cx.rate, rate);
    let answer = call(cx);
    cx.rate = line;
    answer
}

/// The rate of the link, or while that stands still (a step of its schedule to 0 bit/s) the one that it had before: what is
/// divided by zero would stay in a law for ever, and a capacity of nothing would take long to grow back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownRate(BitRate);

impl KnownRate {
    /// Of a link that has this rate by default.
    pub(crate) const fn new(nominal: BitRate) -> Self {
        Self(nominal)
    }

    /// The rate to compute with where the link's is `rate`.
    #[inline]
    pub(crate) fn at(&mut self, rate: BitRate) -> BitRate {
        if rate > BitRate::ZERO {
            self.0 = rate;
        }
        self.0
    }
}
