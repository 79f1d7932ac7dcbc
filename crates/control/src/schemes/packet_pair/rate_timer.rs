//! The timer that a rate is sent by: loaded when a pair leaves, and by default not set anew before it expires. What the
//! rate is, the laws say.
//!
//! Source: S. Keshav, "Packet-Pair Flow Control" (1994), §8: the rate "is used by the per-connection timer the next time it
//! is loaded. [...] If multiple updates to the sending rate occur before the current rate timer expires, the latest value
//! [...] is automatically used." So a source that was told to be still while its queue drains stays still, whatever it
//! measures meanwhile; the overflow rule in `laws::bottleneck` says for how long.
//!
//! Deviation: with nothing outstanding no more news can come, and a timer that was loaded while the bottleneck hardly moved
//! would keep its rate for minutes after it moves again; so the latest rate counts then.

use tailback_core::{BitRate, Bytes, Time};

use super::config::{PacketPairConfig, RateChange};

/// The rate in force.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateTimer {
    change: RateChange,
    in_force: Option<BitRate>,
    expires: Time,
    /// What leaves per tick.
    pair: Bytes,
}

impl RateTimer {
    pub(super) fn new(config: &PacketPairConfig, segment: Bytes) -> Self {
        Self {
            change: config.rate_change,
            in_force: config.nominal_rate,
            expires: Time::ZERO,
            pair: segment * 2,
        }
    }

    /// A packet leaves: the timer is loaded.
    pub(super) fn load(&mut self, now: Time, rate: Option<BitRate>) {
        self.in_force = rate;
        self.expires = match rate {
            Some(rate) if self.change == RateChange::AtTick => now + rate.span_of(self.pair),
            _ => now,
        };
    }

    /// There is a new rate while so much is outstanding: it counts at once where no timer runs, where there was no rate or
    /// is none any more, and with nothing outstanding.
    pub(super) fn change(&mut self, now: Time, rate: Option<BitRate>, outstanding: Bytes) {
        if now >= self.expires || outstanding == Bytes::ZERO || rate.is_none() || self.in_force.is_none() {
            self.in_force = rate;
        }
    }

    pub(super) const fn in_force(&self) -> Option<BitRate> {
        self.in_force
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_core::Span;

    const SLOW: BitRate = BitRate::from_bits_per_sec(8_000);
    const FAST: BitRate = BitRate::from_bits_per_sec(800_000);

    const SOME: Bytes = Bytes::new(500);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn timer(rate_change: RateChange) -> RateTimer {
        let mut timer =
            RateTimer::new(&PacketPairConfig { rate_change, ..Default::default() }, Bytes::new(500));
        timer.change(at(0), Some(SLOW), SOME);
        timer.load(at(0), Some(SLOW));
        timer
    }

    #[test]
    fn a_loaded_timer_keeps_its_rate_until_it_expires() {
        let mut timer = timer(RateChange::AtTick);
        // A pair of 500 bytes at 8 kbit/s: a second.
        timer.change(at(999), Some(FAST), SOME);
        assert_eq!(timer.in_force(), Some(SLOW));
        timer.change(at(1000), Some(FAST), SOME);
        assert_eq!(timer.in_force(), Some(FAST));
    }

    #[test]
    fn the_latest_rate_is_loaded() {
        let mut timer = timer(RateChange::AtTick);
        timer.change(at(10), Some(FAST), SOME);
        timer.load(at(1000), Some(FAST));
        assert_eq!(timer.in_force(), Some(FAST));
        timer.change(at(1009), Some(SLOW), SOME);
        assert_eq!(timer.in_force(), Some(FAST), "a pair at 800 kbit/s takes 10 ms");
    }

    #[test]
    fn no_rate_counts_at_once_and_so_does_the_first() {
        let mut timer = timer(RateChange::AtTick);
        timer.change(at(10), None, SOME);
        assert_eq!(timer.in_force(), None);
        timer.change(at(20), Some(FAST), SOME);
        assert_eq!(timer.in_force(), Some(FAST));
    }

    #[test]
    fn at_once_waits_for_no_tick() {
        let mut timer = timer(RateChange::AtOnce);
        timer.change(at(10), Some(FAST), SOME);
        assert_eq!(timer.in_force(), Some(FAST));
    }

    #[test]
    fn with_nothing_outstanding_nobody_waits() {
        let mut timer = timer(RateChange::AtTick);
        timer.change(at(10), Some(FAST), Bytes::ZERO);
        assert_eq!(timer.in_force(), Some(FAST));
    }
}
