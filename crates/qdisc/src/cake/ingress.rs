//! CAKE behind the bottleneck, where it can only drop what has crossed the line already (tc-cake, `ingress` and
//! `autorate-ingress`): a shaper that counts what was dropped too, and an estimate of the rate that arrives. Which packets are
//! dropped is not decided here.

use tailback_core::{BitRate, Bytes, Span, Time};

use super::clock::Clock;

/// The shaper of all tins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    pace: Clock,
    /// Where packets that are dropped count: what leaves alone, at two thirds of the rate. So a flow that does not answer, and of
    /// which nearly all is dropped, stops nobody.
    failsafe: Option<Clock>,
}

/// What of the rate leaves in any case: each packet takes so many times as long, at so many times the rate.
const FAILSAFE: (u64, u64) = (3, 2);

/// The rate of the failsafe's clock.
fn failsafe(rate: BitRate) -> BitRate {
    BitRate::from_bits_per_sec(rate.bits_per_sec().saturating_mul(FAILSAFE.1))
}

impl Shaper {
    pub(super) fn new(rate: BitRate, counts_drops: bool) -> Self {
        let failsafe = counts_drops.then(|| Clock::new(failsafe(rate)));
        Self { pace: Clock::new(rate), failsafe }
    }

    /// Keeps another rate from now on.
    pub(super) fn keep(&mut self, rate: BitRate) {
        self.pace.keep(rate);
        if let Some(clock) = &mut self.failsafe {
            clock.keep(failsafe(rate));
        }
    }

    /// When the next packet may leave.
    pub(super) fn next(&self) -> Time {
        let pace = self.pace.next();
        self.failsafe.map_or(pace, |failsafe| pace.min(failsafe.next()))
    }

    /// A queue that was empty begins.
    pub(super) fn begin(&mut self, now: Time) {
        if let Some(failsafe) = self.failsafe.as_mut().filter(|_| self.pace.next() < now) {
            failsafe.restart(now);
        }
        self.pace.begin(now);
    }

    /// A packet leaves.
    pub(super) fn charge(&mut self, length: u64) {
        self.pace.charge(length);
        if let Some(failsafe) = &mut self.failsafe {
            failsafe.charge(length.saturating_mul(FAILSAFE.0));
        }
    }

    /// Packets were dropped; nothing where these do not count.
    pub(super) fn charge_dropped(&mut self, length: u64) {
        if self.failsafe.is_some() {
            self.pace.charge(length);
        }
    }
}

/// No gap between two packets counts for more.
const LONGEST_GAP: Span = Span::from_secs(1);
/// The shaper follows the estimate no more often.
const PERIOD: Span = Span::from_millis(250);
/// The part of the estimate that it keeps to.
const PART: f64 = 15.0 / 16.0;

/// An average that follows a sample by a quarter upward, and by a 256th downward.
fn follow(average: u64, sample: u64) -> u64 {
    let shift = if sample > average { 2 } else { 8 };
    average - (average >> shift) + (sample >> shift)
}

/// The estimate of the rate that arrives: bytes over the time from one gap longer than usual to the next, so that bursts on the
/// way make no rate, and of that the peak.
///
/// Departures from Linux: there the time of the last change is never noted, so that the shaper follows at every gap. There the
/// first packet ends a window that began with the machine, which takes a 256th off the first estimate; here it begins one. There
/// a window that a filtered packet takes below zero wraps; here it holds nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals {
    /// Bytes per second.
    peak: u64,
    /// Nanoseconds.
    usual_gap: u64,
    last: Time,
    began: Time,
    bytes: u64,
    followed: Time,
}

impl Arrivals {
    /// No packet has arrived; a rate may be known to begin with.
    pub(super) fn new(rate: Option<BitRate>) -> Self {
        let peak = rate.map_or(0, |rate| rate.bits_per_sec() / 8);
        Self { peak, usual_gap: 0, last: Time::NEVER, began: Time::NEVER, bytes: 0, followed: Time::NEVER }
    }

    /// The estimate.
    pub(super) fn rate(&self) -> BitRate {
        BitRate::from_bits_per_sec(self.peak.saturating_mul(8))
    }

    /// A packet arrives, and the filter takes out another one of so many bytes, or none; the rate to shape to, where that changes.
    pub(super) fn arrive(&mut self, now: Time, size: Bytes, gone: Bytes) -> Option<BitRate> {
        if self.last.is_never() {
            (self.last, self.began, self.followed) = (now, now, now);
            // As after a long silence: the first gaps are not long ones, whatever they are.
            self.usual_gap = follow(0, LONGEST_GAP.as_nanos());
            return None;
        }
        self.bytes = (self.bytes + size.get()).saturating_sub(gone.get());
        let gap = now.since(std::mem::replace(&mut self.last, now)).min(LONGEST_GAP).as_nanos();
        self.usual_gap = follow(self.usual_gap, gap);
        if gap <= self.usual_gap {
            return None;
        }
        let span = now.since(self.began);
        let rate = BitRate::of(Bytes::new(std::mem::take(&mut self.bytes)), span);
        self.began = now;
        self.peak = follow(self.peak, rate.bits_per_sec() / 8);
        if now.since(self.followed) <= PERIOD {
            return None;
        }
        self.followed = now;
        Some(self.rate().mul_f64(PART))
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Stream;

    use super::*;

    const MEGABIT: u64 = 1_000_000;

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// 1000 B at 8 Mbit/s take 1 ms. Nine of ten are dropped: by the pace the next would leave after 10 ms, by the failsafe
    /// after 1.5 ms.
    #[test]
    fn what_was_dropped_counts_but_does_not_stop_the_rest() {
        let mut shaper = Shaper::new(BitRate::from_bits_per_sec(8 * MEGABIT), true);
        shaper.begin(at(0));
        shaper.charge(1000);
        assert_eq!(shaper.next(), at(1000));
        shaper.charge_dropped(250);
        assert_eq!(shaper.next(), at(1250));
        shaper.charge_dropped(9000);
        assert_eq!(shaper.next(), at(1500));
        let mut shaper = Shaper::new(BitRate::from_bits_per_sec(8 * MEGABIT), false);
        shaper.begin(at(0));
        shaper.charge(1000);
        shaper.charge_dropped(9000);
        assert_eq!(shaper.next(), at(1000));
    }

    /// Bytes as they arrive in so many seconds at a rate, in bursts of four with gaps drawn at random; what the shaper then keeps to.
    fn followed(arrivals: &mut Arrivals, (began, ends): (u64, u64), megabits: u64) -> Option<BitRate> {
        let mut rng = Stream::new(1, "gaps");
        let (mut micros, mut kept) = (began, None);
        while micros < ends {
            for _ in 0..4 {
                kept = arrivals.arrive(at(micros), Bytes::new(1000), Bytes::ZERO).or(kept);
                micros += 10;
            }
            // Four packets of 1000 B take 32000/megabits µs.
            micros += rng.below(2 * 32_000 / megabits - 80);
        }
        kept
    }

    /// The usual gap is 250 ms at first, and stays so where all are: none is longer. One that is 4 ns longer (the average follows by a
    /// quarter) ends the window, of which it tells the rate.
    #[test]
    fn a_gap_as_long_as_the_usual_one_is_no_long_one() {
        let mut arrivals = Arrivals::new(None);
        let mut arrive = |nanos| {
            arrivals.arrive(Time::from_nanos(nanos), Bytes::new(1000), Bytes::ZERO);
            arrivals.rate()
        };
        for n in 0..=4 {
            assert_eq!(arrive(n * 250_000_000), BitRate::ZERO);
        }
        // 5000 B in 1.25 s, of which the average takes a quarter at first.
        assert_eq!(arrive(1_250_000_004), BitRate::from_bits_per_sec(8 * 999));
    }

    /// 15/16 of what arrives, by the peaks: up within some gaps, down by a 256th at each.
    #[test]
    fn the_estimate_follows_what_arrives() {
        let mut arrivals = Arrivals::new(None);
        let mut began = 0;
        for (megabits, seconds) in [(10, 10), (40, 10), (5, 200)] {
            let ends = began + seconds * 1_000_000;
            let kept = followed(&mut arrivals, (began, ends), megabits)
                .map_or(0.0, |rate| rate.bits_per_sec() as f64);
            let wanted = 15e6 / 16.0 * megabits as f64;
            assert!((0.8..1.8).contains(&(kept / wanted)), "{kept} beside {wanted}");
            began = ends;
        }
    }
}
