//! The timer that a rate is sent by: loaded when a pair leaves, and not set anew before it expires. What the rate is, the
//! laws say.
//!
//! Source: S. Keshav, "Packet-Pair Flow Control" (1994), §8: the rate "is used by the per-connection timer the next time it
//! is loaded. [...] If multiple updates to the sending rate occur before the current rate timer expires, the latest value
//! [...] is automatically used." So a source that was told to be still while its queue drains stays still, whatever it
//! measures meanwhile; the overflow rule in `laws::bottleneck` says for how long.
//!
//! Deviation, unless [`RateChange::AtTick`] is asked for: no rate is kept for longer than the round trip time expected by
//! now. A timer that was loaded while the bottleneck hardly moved would else hold its rate for minutes after it moves
//! again, with nothing sent to hear of it.

use tailback_core::{BitRate, Bytes, Span, Time};

use super::config::{PacketPairConfig, RateChange};

/// The rate in force.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateTimer {
    change: RateChange,
    in_force: Option<BitRate>,
    loaded: Time,
    /// When the next pair leaves at the rate in force.
    tick: Time,
    /// When the rate in force may change: at the tick, or a round trip after the timer was loaded.
    expires: Time,
    /// What leaves per tick.
    pair: Bytes,
}

impl RateTimer {
    pub(super) fn new(config: &PacketPairConfig, segment: Bytes) -> Self {
        let (change, in_force) = (config.rate_change, config.nominal_rate);
        let (loaded, tick, expires) = (Time::ZERO, Time::ZERO, Time::ZERO);
        Self { change, in_force, loaded, tick, expires, pair: segment * 2 }
    }

    /// A packet leaves: the timer is loaded.
    pub(super) fn load(&mut self, now: Time, rate: Option<BitRate>) {
        self.in_force = rate;
        self.loaded = now;
        self.tick = match rate {
            Some(rate) if self.change != RateChange::AtOnce => now + rate.span_of(self.pair),
            _ => now,
        };
        self.expires = self.tick;
    }

    /// There is a new rate, and a round trip is expected to take so long by now: the rate counts at once where no timer
    /// runs, and where there was none or is none any more.
    pub(super) fn change(&mut self, now: Time, rate: Option<BitRate>, round_trip: Option<Span>) {
        if let (Some(round_trip), RateChange::WithinRoundTrip) = (round_trip, self.change) {
            self.expires = self.tick.min(self.loaded + round_trip);
        }
        if rate.is_none() || self.in_force.is_none() {
            self.in_force = rate;
        }
        self.expire(now, rate);
    }

    /// Takes up the latest rate if the time has come.
    pub(super) fn expire(&mut self, now: Time, rate: Option<BitRate>) {
        if now >= self.expires {
            self.in_force = rate;
        }
    }

    /// When to call [`RateTimer::expire`]; none where the next packet to leave does it.
    pub(super) fn next(&self, rate: Option<BitRate>) -> Option<Time> {
        (self.expires < self.tick && self.in_force != rate).then_some(self.expires)
    }

    pub(super) const fn in_force(&self) -> Option<BitRate> {
        self.in_force
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: BitRate = BitRate::from_bits_per_sec(8_000);
    const FAST: BitRate = BitRate::from_bits_per_sec(800_000);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn timer(rate_change: RateChange) -> RateTimer {
        let mut timer =
            RateTimer::new(&PacketPairConfig { rate_change, ..Default::default() }, Bytes::new(500));
        timer.change(at(0), Some(SLOW), None);
        timer.load(at(0), Some(SLOW));
        timer
    }

    #[test]
    fn a_loaded_timer_keeps_its_rate_until_it_expires() {
        let mut timer = timer(RateChange::AtTick);
        // A pair of 500 bytes at 8 kbit/s: a second.
        timer.change(at(999), Some(FAST), None);
        assert_eq!(timer.in_force(), Some(SLOW));
        timer.change(at(1000), Some(FAST), None);
        assert_eq!(timer.in_force(), Some(FAST));
    }

    #[test]
    fn the_latest_rate_is_loaded() {
        let mut timer = timer(RateChange::AtTick);
        timer.change(at(10), Some(FAST), None);
        timer.load(at(1000), Some(FAST));
        assert_eq!(timer.in_force(), Some(FAST));
        timer.change(at(1009), Some(SLOW), None);
        assert_eq!(timer.in_force(), Some(FAST), "a pair at 800 kbit/s takes 10 ms");
    }

    #[test]
    fn no_rate_counts_at_once_and_so_does_the_first() {
        let mut timer = timer(RateChange::AtTick);
        timer.change(at(10), None, None);
        assert_eq!(timer.in_force(), None);
        timer.change(at(20), Some(FAST), None);
        assert_eq!(timer.in_force(), Some(FAST));
    }

    #[test]
    fn at_once_waits_for_no_tick() {
        let mut timer = timer(RateChange::AtOnce);
        timer.change(at(10), Some(FAST), None);
        assert_eq!(timer.in_force(), Some(FAST));
    }

    #[test]
    fn no_rate_is_kept_beyond_a_round_trip() {
        let mut timer = timer(RateChange::WithinRoundTrip);
        timer.change(at(10), Some(FAST), Some(Span::from_millis(300)));
        assert_eq!((timer.in_force(), timer.next(Some(FAST))), (Some(SLOW), Some(at(300))));
        timer.expire(at(300), Some(FAST));
        assert_eq!((timer.in_force(), timer.next(Some(FAST))), (Some(FAST), None));
    }

    /// Where a round trip takes longer than a pair, the pair's time counts.
    #[test]
    fn no_rate_is_kept_beyond_its_pair() {
        let mut timer = timer(RateChange::WithinRoundTrip);
        timer.change(at(999), Some(FAST), Some(Span::from_secs(2)));
        assert_eq!(timer.in_force(), Some(SLOW));
        timer.change(at(1000), Some(FAST), Some(Span::from_secs(2)));
        assert_eq!(timer.in_force(), Some(FAST));
    }

    #[test]
    fn the_memorandums_timer_runs_to_its_end() {
        let mut timer = timer(RateChange::AtTick);
        timer.change(at(10), Some(FAST), Some(Span::from_millis(300)));
        timer.expire(at(999), Some(FAST));
        assert_eq!((timer.in_force(), timer.next(Some(FAST))), (Some(SLOW), None));
    }
}
