//! A TCP's retransmission time-out in whole ticks of a coarse clock, by the integer arithmetic of Jacobson and Karels (1988,
//! appendix A), which the stacks of that time and ns-2 have; with an exact clock, by RFC 6298. Nobody waits for it here: it
//! is what the throughput equation assumes of the TCP that it imitates.
//!
//! Integers make a difference: while every sample is one tick, the deviation stays at half a tick as it began, and the
//! time-out is three ticks for ever.

use tailback_core::Span;

/// The estimator.
#[derive(Clone, Copy, Debug)]
pub struct TickTimeout {
    tick: Span,
    /// Eighths of a tick, or of a nanosecond with an exact clock.
    smoothed: i64,
    /// Quarters.
    deviation: i64,
}

impl TickTimeout {
    /// Without samples.
    pub const fn new(tick: Span) -> Self {
        Self { tick, smoothed: 0, deviation: 0 }
    }

    fn unit(&self) -> u64 {
        self.tick.as_nanos().max(1)
    }

    /// A round trip was measured.
    pub fn sample(&mut self, round_trip: Span) {
        let unit = self.unit();
        let ticks = i64::try_from((round_trip.as_nanos() + unit / 2) / unit).unwrap_or(i64::MAX >> 8);
        let ticks = ticks.clamp(1, i64::MAX >> 8);
        if self.smoothed == 0 {
            (self.smoothed, self.deviation) = (ticks << 3, ticks << 1);
            return;
        }
        let error = ticks - (self.smoothed >> 3);
        self.smoothed = (self.smoothed + error).max(1);
        self.deviation = (self.deviation + error.abs() - (self.deviation >> 2)).max(1);
    }

    /// The time-out; `None` before the first sample.
    pub fn timeout(&self) -> Option<Span> {
        let ticks = ((self.deviation << 3) + self.smoothed) >> 3;
        (self.smoothed > 0).then(|| Span::from_nanos(self.unit() * ticks.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_of_one_tick_make_three() {
        let mut estimator = TickTimeout::new(Span::from_millis(100));
        assert_eq!(estimator.timeout(), None);
        for _ in 0..100 {
            estimator.sample(Span::from_millis(88));
            assert_eq!(estimator.timeout(), Some(Span::from_millis(300)));
        }
    }

    #[test]
    fn an_exact_clock_gives_four_deviations() {
        let mut estimator = TickTimeout::new(Span::ZERO);
        for sample in 0..2000 {
            estimator.sample(Span::from_millis(if sample % 2 == 0 { 90 } else { 110 }));
        }
        // 100 ms and a mean deviation of some 10 ms, by the smoothed value of the moment.
        let timeout = estimator.timeout().expect("sampled").as_secs_f64();
        assert!((0.135..0.146).contains(&timeout), "{timeout}");
    }
}
