//! Sampling of a queue's length at regular times by a discipline that is only called at arrivals, and what becomes of an
//! arrival at a probability that moves with the samples. How it moves is up to the laws that use this.
//!
//! Between two arrivals a first-in first-out queue only drains, at the constant rate of its server. So its length at
//! a time between them lies on the line from what waited after the earlier to what waits before the later arrival, to
//! within one packet, or is zero while the server is idle.

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

/// Regular sampling times, and the queue as the last arrival left it.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    period: Span,
    next: Time,
    left_at: Time,
    left: f64,
}

/// More samples of an empty queue than this in one gap end the law's changes for good: it is taken as settled.
const MOST: u32 = 100_000;

impl Sampler {
    /// Samples every `period`, which must not be zero.
    pub fn new(period: Span) -> Self {
        Self { period, next: Time::ZERO + period, left_at: Time::ZERO, left: 0.0 }
    }

    /// Calls `law` with the queue's length at each sampling time that has come, given the length `now`, before an
    /// arrival. Lengths are in any unit. Where the queue has been empty since, `law` may answer `true`: no further
    /// sample of an empty queue would change anything.
    #[inline]
    pub fn catch_up(
        &mut self,
        now: Time,
        length: f64,
        idle_since: Option<Time>,
        law: impl FnMut(f64) -> bool,
    ) {
        if now >= self.next {
            self.take_samples(now, length, idle_since, law);
        }
    }

    fn take_samples(
        &mut self,
        now: Time,
        length: f64,
        idle_since: Option<Time>,
        mut law: impl FnMut(f64) -> bool,
    ) {
        let drained = idle_since.unwrap_or(now).max(self.left_at);
        let slope = (length - self.left) / drained.since(self.left_at).as_secs_f64().max(1e-9);
        let mut empty = 0;
        while self.next <= now {
            let at = self.next;
            self.next += self.period;
            if at >= drained && length <= 0.0 {
                empty += 1;
                if law(0.0) || empty > MOST {
                    let missed = now.since(at).as_nanos() / self.period.as_nanos();
                    self.next = at + self.period * (missed + 1);
                }
            } else {
                law((self.left + slope * at.since(self.left_at).as_secs_f64()).max(0.0));
            }
        }
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

    fn sampled(idle_since: Option<u64>, left: f64, now: u64, length: f64) -> Vec<f64> {
        let mut sampler = Sampler::new(Span::from_millis(10));
        sampler.leave(Time::ZERO, left);
        let mut seen = Vec::new();
        let ms = |ms: u64| Time::ZERO + Span::from_millis(ms);
        sampler.catch_up(ms(now), length, idle_since.map(ms), |sample| {
            seen.push((sample * 1e6).round() / 1e6);
            sample == 0.0
        });
        seen
    }

    #[test]
    fn draws_a_line_between_arrivals() {
        assert_eq!(sampled(None, 8.0, 40, 4.0), [7.0, 6.0, 5.0, 4.0]);
        assert!(sampled(None, 8.0, 9, 4.0).is_empty());
    }

    #[test]
    fn an_idle_queue_is_empty_and_sampled_until_settled() {
        assert_eq!(sampled(Some(20), 4.0, 1_000_000, 0.0), [2.0, 0.0]);
    }
}
