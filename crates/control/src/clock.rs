//! A clock that shows whole ticks, as those of endpoints do. What is measured with it is the schemes' business.

use tailback_core::{Span, Time};

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
