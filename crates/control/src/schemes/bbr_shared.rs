//! What versions 1 and 3 of BBR have in common, word for word: rounds by what was delivered and samples that do not count, how
//! far acknowledgements bunch, and the rate as it is directed. What a version makes of them is in its own folder.

use tailback_core::{BitRate, Bytes, DeliverySample, Span, Time};

use crate::reals::smaller;

/// The part of the rate that is used: a margin against queues (`bbr_pacing_margin_percent` in Linux, `PacingMarginPercent` in
/// draft-ietf-ccwg-bbr-06).
pub(super) const MARGIN: f64 = 0.99;

/// Rounds: one ends when a packet is acknowledged that left after it began. And which samples are limited by something else than
/// the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    /// Rounds so far.
    pub(super) count: u64,
    end: Bytes,
    /// The sample at hand begins a round.
    pub(super) begins: bool,
    /// The sample at hand measures the application, or BBR's own ProbeRTT.
    pub(super) limited: bool,
    /// Packets that left while so much was delivered, from the one to the other, left in ProbeRTT, which limits the rate like an
    /// application. Before the first ProbeRTT none did: it begins where nothing gets.
    own_limit: (Bytes, Bytes),
}

impl Default for Rounds {
    fn default() -> Self {
        let never = (Bytes::new(u64::MAX), Bytes::ZERO);
        Self { count: 0, end: Bytes::ZERO, begins: false, limited: false, own_limit: never }
    }
}

impl Rounds {
    /// Takes a sample in; one that does not `count` begins no round.
    #[inline]
    pub(super) fn take(&mut self, sample: &DeliverySample, counts: bool) {
        self.begins = counts && sample.prior_delivered >= self.end;
        if self.begins {
            self.end = sample.delivered;
            self.count += 1;
        }
        let (from, to) = self.own_limit;
        self.limited = sample.app_limited || (from..=to).contains(&sample.prior_delivered);
    }

    /// The present round ends when what leaves from now on is acknowledged.
    pub(super) fn restart(&mut self, delivered: Bytes) {
        self.end = delivered;
    }

    /// From here on ProbeRTT limits the rate.
    pub(super) fn limit_from(&mut self, delivered: Bytes) {
        self.own_limit = (delivered, delivered);
    }

    /// Until this is delivered.
    pub(super) fn limit_until(&mut self, delivered: Bytes) {
        self.own_limit.1 = delivered;
    }
}

/// How much more is acknowledged at once than the rate says (`bbr_update_ack_aggregation` in Linux, `BBRUpdateACKAggregation` in
/// the draft, §5.5.9): an epoch lasts for as long as more has arrived in it than was expected.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Epoch {
    began: Time,
    acked: f64,
}

impl Epoch {
    /// A new epoch begins.
    pub(super) fn restart(&mut self, now: Time) {
        (self.began, self.acked) = (now, 0.0);
    }

    /// How long it has lasted, in seconds.
    #[inline]
    pub(super) fn lasted(&self, now: Time) -> f64 {
        now.since(self.began).as_secs_f64()
    }

    /// Takes in what is acknowledged, where so many bytes were `expected` by now; the bytes in excess, at most a window.
    #[inline]
    pub(super) fn excess(&mut self, now: Time, newly_acked: Bytes, expected: f64, window: f64) -> f64 {
        // Which it is nobody can foresee: three choices cost less than a wrong guess.
        let anew = self.acked <= expected;
        self.began = if anew { now } else { self.began };
        self.acked = if anew { 0.0 } else { self.acked };
        let expected = if anew { 0.0 } else { expected };
        self.acked += newly_acked.as_f64();
        smaller(self.acked - expected, window)
    }
}

/// The rate in force.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// In bytes per second.
    rate: f64,
    /// The rate as it is directed: it mostly stays, and a real number is no quick way to a whole one.
    directed: BitRate,
    seen_rtt: bool,
}

impl Pace {
    /// Before any round trip time is known, which then counts as a millisecond: the rate at which this leaves in it.
    pub(super) fn before_any_rtt(bytes: f64) -> Self {
        let rate = bytes * 1e3;
        Self { rate, directed: directed(rate), seen_rtt: false }
    }

    /// In bytes per second.
    #[inline]
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// As a controller directs it.
    #[inline]
    pub(super) fn directed(&self) -> BitRate {
        debug_assert_eq!(self.directed, directed(self.rate), "changed together");
        self.directed
    }

    /// The rate from now on; whether it is another.
    #[inline]
    fn set(&mut self, rate: f64) -> bool {
        let changes = rate != self.rate;
        if changes {
            self.rate = rate;
            self.directed = directed(rate);
        }
        changes
    }

    /// With the first smoothed round trip time, `bytes` leave in it; whether the rate is another.
    #[inline]
    pub(super) fn first_rtt(&mut self, smoothed: Option<Span>, bytes: impl FnOnce() -> f64) -> bool {
        let Some(smoothed) = smoothed.filter(|smoothed| !self.seen_rtt && !smoothed.is_zero()) else {
            return false;
        };
        self.seen_rtt = true;
        self.set(bytes() / smoothed.as_secs_f64())
    }

    /// The rate follows `gain` times the bandwidth; it may fall only once the pipe was full. Whether it is another.
    #[inline]
    pub(super) fn follow(&mut self, gain: f64, bandwidth: f64, full: bool) -> bool {
        let rate = gain * bandwidth * MARGIN;
        rate > 0.0 && (full || rate > self.rate) && self.set(rate)
    }
}

/// A rate in bytes per second, as it is directed.
fn directed(rate: f64) -> BitRate {
    BitRate::from_bits_per_sec_f64((rate * 8.0).clamp(1e3, 1e14))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(prior: u64, delivered: u64) -> DeliverySample {
        DeliverySample {
            prior_delivered: Bytes::new(prior),
            delivered: Bytes::new(delivered),
            ..DeliverySample::default()
        }
    }

    #[test]
    fn a_round_ends_with_the_first_packet_that_left_in_it() {
        let mut rounds = Rounds::default();
        let mut begins = |prior, delivered, counts| {
            rounds.take(&sample(prior, delivered), counts);
            rounds.begins
        };
        assert!(begins(0, 1000, true));
        assert!(!begins(0, 2000, true), "it left before the first was acknowledged");
        assert!(!begins(1000, 3000, false), "a sample that does not count");
        assert!(begins(1000, 4000, true));
        assert_eq!(rounds.count, 2);
        rounds.restart(Bytes::new(9000));
        rounds.take(&sample(4000, 9000), true);
        assert!(!rounds.begins);
    }

    #[test]
    fn what_left_in_probe_rtt_is_limited() {
        let mut rounds = Rounds::default();
        let limited = |rounds: &mut Rounds, prior| {
            rounds.take(&sample(prior, prior + 1000), true);
            rounds.limited
        };
        rounds.limit_until(Bytes::new(7000));
        assert!(!limited(&mut rounds, 5000), "no limit has begun");
        rounds.limit_from(Bytes::new(4000));
        assert!(limited(&mut rounds, 4000) && !limited(&mut rounds, 5000));
        rounds.limit_until(Bytes::new(6000));
        assert!(limited(&mut rounds, 6000) && !limited(&mut rounds, 3999) && !limited(&mut rounds, 6001));
    }

    #[test]
    fn an_epoch_counts_what_exceeds_the_rate_and_begins_anew_where_nothing_does() {
        let mut epoch = Epoch::default();
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        // A megabyte per second is expected: 1000 bytes per millisecond.
        let mut excess = |millis, acked, window| {
            let expected = 1e6 * epoch.lasted(at(millis));
            epoch.excess(at(millis), Bytes::new(acked), expected, window)
        };
        assert_eq!(excess(0, 4000, 1e6), 4000.0);
        assert_eq!(excess(2, 3000, 1e6), 5000.0, "7000 in 2 ms");
        assert_eq!(excess(2, 3000, 6000.0), 6000.0, "at most a window");
        assert_eq!(excess(50, 1000, 1e6), 1000.0, "a new epoch, in which only this has come");
        epoch.restart(at(60));
        assert_eq!(epoch.lasted(at(61)), 1e-3);
    }

    #[test]
    fn a_rate_falls_only_once_the_pipe_was_full() {
        let mut pace = Pace::before_any_rtt(1000.0);
        assert_eq!(pace.rate(), 1e6);
        assert!(pace.first_rtt(Some(Span::from_millis(10)), || 1000.0), "100 kB/s");
        assert_eq!(pace.directed(), BitRate::from_bits_per_sec(800_000));
        assert!(!pace.first_rtt(Some(Span::from_millis(1)), || 1000.0), "only the first");
        assert!(!pace.follow(0.5, 1e5, false) && !pace.follow(0.0, 1e5, true));
        assert!(pace.follow(2.0, 1e6, false) && pace.rate() == 2e6 * MARGIN);
        assert!(pace.follow(0.5, 1e6, true) && pace.rate() == 5e5 * MARGIN);
        assert!(!pace.follow(0.5, 1e6, true), "it is the same");
    }
}
