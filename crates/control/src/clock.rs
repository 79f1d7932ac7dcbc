//! Clocks of endpoints: one that shows whole ticks, and a receiver's that runs fast or slow. What is measured with them is the
//! schemes' business.

use tailback_core::{Checker, Span, Time};

/// By how much the receiver's clock runs faster than the sender's, as a part: it says so much more at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drift(f64);

impl Drift {
    /// What schemes are configured with: parts in a million.
    pub fn parts_in_a_million(parts: f64) -> Self {
        Self(parts * 1e-6)
    }

    /// Complains about a scheme's field `clock_drift`.
    pub fn check(checker: &mut Checker, parts: f64) {
        checker.require(parts.abs() <= 1000.0, "clock_drift", parts, "-1000 to 1000");
    }

    /// What the receiver's clock shows at a time.
    pub fn read(self, now: Time) -> Time {
        let nanos = now.as_nanos();
        Time::from_nanos(nanos.saturating_add_signed((nanos as f64 * self.0) as i64))
    }
}

/// A clock of some granularity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    tick: Span,
}

impl Clock {
    /// A clock that shows multiples of `tick`, or every instant where that is zero.
    pub(crate) const fn new(tick: Span) -> Self {
        Self { tick }
    }

    /// What it shows at a time.
    pub(crate) fn read(self, time: Time) -> Time {
        let tick = self.tick.as_nanos();
        time.as_nanos().checked_div(tick).map_or(time, |ticks| Time::from_nanos(ticks * tick))
    }

    /// The time between two instants by this clock.
    #[inline]
    pub(crate) fn between(self, from: Time, to: Time) -> Span {
        if self.tick.is_zero() { to.since(from) } else { self.read(to).since(self.read(from)) }
    }

    /// Its granularity.
    pub(crate) const fn tick(self) -> Span {
        self.tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_whole_ticks() {
        let at = |millis: u64| Time::ZERO + Span::from_millis(millis);
        let coarse = Clock::new(Span::from_millis(10));
        assert_eq!(coarse.read(at(49)), at(40));
        assert_eq!(coarse.between(at(49), at(51)), Span::from_millis(10));
        assert_eq!(coarse.between(at(51), at(59)), Span::ZERO);
        let exact = Clock::new(Span::ZERO);
        assert_eq!(exact.between(at(49), at(51)), Span::from_millis(2));
    }
}
