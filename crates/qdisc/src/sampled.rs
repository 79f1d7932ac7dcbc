//! Sampling of a queue's length at regular times by a discipline that is only called at arrivals, and what becomes of an
//! arrival at a probability that moves with the samples. How it moves is up to the laws that use this.
//!
//! Between two arrivals a first-in first-out queue only drains, at the constant rate of its server. So its length at
//! a time between them lies on the line from what waited after the earlier to what waits before the later arrival, to
//! within one packet, or is zero while the server is idle. Where the server may leave the queue waiting, whoever uses this
//! is told of departures too (`watched.rs`), and between two calls the length is one and the same.

use tailback_core::{Backlog, DropReason, Packet, QueueCx, Span, Time, Verdict};

use crate::limit::Limit;

/// What becomes of an arrival: dropped where there is no room, dropped or marked with this probability where there is.
pub(crate) fn by_chance(
    limit: &Limit,
    probability: f64,
    ecn: bool,
    packet: &mut Packet,
    backlog: &Backlog,
    cx: &mut QueueCx<'_>,
) -> Verdict {
    if !limit.admits(packet, backlog, cx.idle_since.is_some()) {
        return Verdict::Drop(DropReason::Overflow);
    }
    if probability > 0.0 && cx.rng.chance(probability) && !(ecn && cx.mark_ce(packet)) {
        return Verdict::Drop(DropReason::Early);
    }
    Verdict::Accept
}

/// A queue that waits for longer than so many periods has long waited for more than any law aims at.
const MOST_APART: u32 = 10_000;

/// Regular sampling times, and the queue as the last arrival left it.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    period: Span,
    next: Time,
    left_at: Time,
    left: f64,
}

impl Sampler {
    /// Samples every `period`, which must not be zero.
    pub fn new(period: Span) -> Self {
        Self { period, next: Time::ZERO + period, left_at: Time::ZERO, left: 0.0 }
    }

    /// Calls `law` with the queue's length at each sampling time that has come, and for how many in a row it is that one,
    /// given the length `now`, before an arrival. Lengths are in any unit.
    #[inline]
    pub fn catch_up(&mut self, now: Time, length: f64, idle_since: Option<Time>, law: impl FnMut(f64, u64)) {
        if now >= self.next {
            self.take_samples(now, length, idle_since, law);
        }
    }

    fn take_samples(
        &mut self,
        now: Time,
        length: f64,
        idle_since: Option<Time>,
        mut law: impl FnMut(f64, u64),
    ) {
        let drained = idle_since.unwrap_or(now).max(self.left_at);
        let slope = (length - self.left) / drained.since(self.left_at).as_secs_f64().max(1e-9);
        while self.next <= now {
            let at = self.next;
            if at >= drained && length <= 0.0 {
                return self.hold(now, 0.0, law);
            }
            self.next += self.period;
            law((self.left + slope * at.since(self.left_at).as_secs_f64()).max(0.0), 1);
        }
    }

    /// The same where the length has been this one since the sampling time before.
    #[inline]
    pub(crate) fn hold<T>(&mut self, now: Time, length: T, mut law: impl FnMut(T, u64)) {
        if now >= self.next {
            let times = now.since(self.next).as_nanos() / self.period.as_nanos() + 1;
            self.next += self.period * times;
            law(length, times);
        }
    }

    /// Calls `law` with each sampling time that has come, and for how many in a row it is that one. Of very many, all but the
    /// first are taken to come now.
    pub(crate) fn each(&mut self, now: Time, mut law: impl FnMut(Time, u64)) {
        for _ in 0..MOST_APART {
            if now < self.next {
                return;
            }
            law(self.next, 1);
            self.next += self.period;
        }
        self.hold(now, now, law);
    }

    /// The arrival at `now` has left the queue at `length`.
    #[inline]
    pub fn leave(&mut self, now: Time, length: f64) {
        self.left_at = now;
        self.left = length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(idle_since: Option<u64>, left: f64, now: u64, length: f64) -> Vec<(f64, u64)> {
        let mut sampler = Sampler::new(Span::from_millis(10));
        sampler.leave(Time::ZERO, left);
        let mut seen = Vec::new();
        let ms = |ms: u64| Time::ZERO + Span::from_millis(ms);
        sampler.catch_up(ms(now), length, idle_since.map(ms), |sample, times| {
            seen.push(((sample * 1e6).round() / 1e6, times));
        });
        assert_eq!(sampler.next, Time::ZERO + sampler.period * (now / 10 + 1));
        seen
    }

    #[test]
    fn draws_a_line_between_arrivals() {
        assert_eq!(sampled(None, 8.0, 40, 4.0), [(7.0, 1), (6.0, 1), (5.0, 1), (4.0, 1)]);
        assert!(sampled(None, 8.0, 9, 4.0).is_empty());
    }

    #[test]
    fn each_time_is_seen_until_there_are_very_many() {
        let mut sampler = Sampler::new(Span::from_millis(10));
        let mut seen = Vec::new();
        let second = Time::ZERO + Span::from_secs(1);
        sampler.each(second, |at, times| seen.push((at, times)));
        assert_eq!(seen.len(), 100);
        assert_eq!((seen[0], seen[99]), ((Time::ZERO + Span::from_millis(10), 1), (second, 1)));
        seen.clear();
        let late = second + Span::from_secs(1000);
        sampler.each(late, |at, times| seen.push((at, times)));
        assert_eq!(seen[10_000..], [(late, 90_000)]);
        sampler.each(late, |_, _| unreachable!("all were seen"));
    }

    #[test]
    fn an_idle_queue_is_empty_at_all_times() {
        assert_eq!(sampled(Some(20), 4.0, 1_000_000, 0.0), [(2.0, 1), (0.0, 99_999)]);
    }
}
