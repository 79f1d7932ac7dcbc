//! How many of a flow's packets wait in the network, estimated at the sender from round trip times: the estimator of
//! TCP Vegas and its variant with a bounded memory. What is done about it is decided by a law.
//!
//! Sources: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995, §III-B;
//! Xia et al., "Accumulation-based Congestion Control", §IV-A:
//!
//! ```text
//! backlog = (expected rate - actual rate) · base
//!         = (window / base - window / rtt) · base          (7)
//!         = window / rtt · (rtt - base)                    (8)
//! ```
//!
//! once per round trip, with the mean round trip time of the round. `base` is the smallest round trip time seen, or,
//! for Vegas-k (Mo, La, Anantharam and Walrand 1999), the smallest of the last k rounds.
//!
//! As in the published code, a round of one packet sets `base` anew, however long it took: nothing of the flow can
//! have waited.
//!
//! A round in which a retransmission was acknowledged is not judged, and such an acknowledgement is no sample of the
//! round trip time (Karn's rule): what it covers beside the repair has waited at the receiver, and what was outstanding
//! before it left the network long ago. Where the figures of a long wait and of a window that is gone were compared, the
//! window would shrink after each repair for no queue at all.
//!
//! Open problems, shown in §IV-C: `base` holds queues that never drain and does not notice longer routes; delay on
//! the way back counts as backlog.

use std::collections::VecDeque;

use tailback_core::{Bytes, Feedback, Span, Time};

use crate::clock::Clock;

/// What a round trip showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTrip {
    /// Packets waiting in the network, by equation 8; may be negative by noise.
    pub backlog: f64,
    /// The mean round trip time of the round.
    pub rtt: Span,
    /// The propagation delay believed.
    pub base: Span,
}

/// The smallest round trip time, of all rounds or of the last k.
#[derive(Clone, Debug)]
struct Base {
    history: Option<usize>,
    /// The smallest of each of the last rounds; with unbounded history at most one entry.
    rounds: VecDeque<Span>,
}

impl Base {
    fn begin_round(&mut self, smallest: Span) {
        if let Some(history) = self.history {
            self.rounds.push_back(smallest);
            while self.rounds.len() > history {
                self.rounds.pop_front();
            }
        } else {
            let known = self.rounds.pop_front().unwrap_or(Span::MAX);
            self.rounds.push_back(known.min(smallest));
        }
    }

    fn reset(&mut self, base: Span) {
        self.rounds.clear();
        self.rounds.push_back(base);
    }

    fn get(&self) -> Span {
        self.rounds.iter().copied().min().unwrap_or(Span::MAX)
    }
}

/// The estimator, fed with everything that a controller sees.
#[derive(Clone, Debug)]
pub struct BacklogEstimator {
    segment: f64,
    clock: Clock,
    base: Base,
    /// One beyond the highest number sent.
    next: u64,
    /// The round ends when this number is acknowledged.
    round_end: u64,
    round_began: Time,
    sum: Span,
    samples: u64,
    smallest: Span,
    /// A retransmission was acknowledged in this round.
    repaired: bool,
}

impl BacklogEstimator {
    /// An estimator for segments of `segment` bytes that remembers so many rounds, or all of them.
    pub fn new(segment: Bytes, history: Option<u32>) -> Self {
        Self {
            segment: segment.as_f64().max(1.0),
            clock: Clock::new(Span::ZERO),
            base: Base { history: history.map(|rounds| rounds.max(1) as usize), rounds: VecDeque::new() },
            next: 0,
            round_end: 0,
            round_began: Time::ZERO,
            sum: Span::ZERO,
            samples: 0,
            smallest: Span::MAX,
            repaired: false,
        }
    }

    /// The same with a clock that shows multiples of `tick`.
    pub fn with_clock(self, tick: Span) -> Self {
        Self { clock: Clock::new(tick), ..self }
    }

    /// A packet of this number leaves.
    #[inline]
    pub fn on_sent(&mut self, number: u64) {
        self.next = self.next.max(number + 1);
    }

    /// The smallest round trip time believed, once one was measured.
    pub fn base(&self) -> Option<Span> {
        Some(self.base.get().min(self.smallest)).filter(|base| *base < Span::MAX)
    }

    /// Feedback arrived; a round trip, where this ended one.
    #[inline]
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>) -> Option<RoundTrip> {
        let highest = feedback.acked.last()?;
        if feedback.acked.iter().any(|acked| acked.retransmitted) {
            self.repaired = true;
        } else {
            let rtt = self.clock.between(highest.sent_at, now);
            self.sum += rtt;
            self.samples += 1;
            self.smallest = self.smallest.min(rtt);
        }
        if highest.number < self.round_end || feedback.advanced == Bytes::ZERO {
            return None;
        }
        self.end_round(now, feedback)
    }

    fn end_round(&mut self, now: Time, feedback: &Feedback<'_>) -> Option<RoundTrip> {
        let sent = self.next.saturating_sub(self.round_end) as f64;
        let rtt = if self.samples > 0 {
            self.sum / self.samples
        } else {
            self.clock.between(self.round_began, now)
        };
        let measured = self.samples > 0;
        let repaired = std::mem::take(&mut self.repaired);
        if measured {
            self.base.begin_round(self.smallest);
            if sent <= 1.0 && !repaired {
                self.base.reset(rtt);
            }
        }
        self.round_end = self.next;
        self.round_began = now;
        self.sum = Span::ZERO;
        self.samples = 0;
        self.smallest = Span::MAX;
        let base = self.base.get();
        if !measured || repaired || rtt.is_zero() || base == Span::MAX {
            return None;
        }
        // Equation 7's window is what was outstanding when the round's last acknowledgement came.
        let outstanding = feedback.outstanding.as_f64() / self.segment;
        let backlog = outstanding - sent * base.ratio(rtt);
        Some(RoundTrip { backlog, rtt, base })
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Acked, PairPosition};

    use super::*;

    /// One round of `window` packets, all with one round trip time.
    fn round(
        estimator: &mut BacklogEstimator,
        start: &mut u64,
        window: u64,
        at: u64,
        rtt: u64,
    ) -> Option<RoundTrip> {
        let sent_at = Time::ZERO + Span::from_millis(at);
        (*start..*start + window).for_each(|number| estimator.on_sent(number));
        let mut last = None;
        for number in *start..*start + window {
            let acked = [Acked {
                number,
                size: Bytes::new(1000),
                sent_at,
                retransmitted: false,
                pair: PairPosition::Single,
                tag: 0,
            }];
            let feedback = Feedback {
                acked: &acked,
                advanced: Bytes::new(1000),
                outstanding: Bytes::new(1000 * window),
                ..Feedback::empty()
            };
            last = estimator.on_feedback(sent_at + Span::from_millis(rtt), &feedback).or(last);
        }
        *start += window;
        last
    }

    #[test]
    fn the_backlog_is_window_times_queueing_share() {
        let mut estimator = BacklogEstimator::new(Bytes::new(1000), None);
        let mut next = 0;
        round(&mut estimator, &mut next, 20, 0, 100);
        round(&mut estimator, &mut next, 20, 100, 100);
        round(&mut estimator, &mut next, 20, 200, 125);
        let seen = round(&mut estimator, &mut next, 20, 400, 125).expect("a round ended");
        assert_eq!(seen.base, Span::from_millis(100));
        // Equation 8: 20 / 125 · (125 - 100).
        assert!((seen.backlog - 4.0).abs() < 1e-9, "{seen:?}");
    }

    #[test]
    fn a_round_with_a_repair_is_not_judged() {
        let mut estimator = BacklogEstimator::new(Bytes::new(1000), None);
        let mut next = 0;
        round(&mut estimator, &mut next, 20, 0, 100);
        round(&mut estimator, &mut next, 20, 100, 100);
        // The first of ten is lost and retransmitted 100 ms later: one acknowledgement for all, 200 ms after they left.
        (next..next + 10).for_each(|number| estimator.on_sent(number));
        let acked: Vec<Acked> = (next..next + 10)
            .map(|number| Acked {
                number,
                size: Bytes::new(1000),
                sent_at: Time::ZERO + Span::from_millis(if number == next { 300 } else { 200 }),
                retransmitted: number == next,
                pair: PairPosition::Single,
                tag: 0,
            })
            .collect();
        let feedback = Feedback {
            acked: &acked,
            advanced: Bytes::new(10_000),
            outstanding: Bytes::new(10_000),
            ..Feedback::empty()
        };
        assert_eq!(estimator.on_feedback(Time::ZERO + Span::from_millis(400), &feedback), None);
        next += 10;
        round(&mut estimator, &mut next, 10, 400, 125);
        let seen = round(&mut estimator, &mut next, 10, 600, 125).expect("a round ended");
        // Neither the long wait nor the window that is gone are part of it: 10 / 125 · (125 - 100).
        assert!((seen.backlog - 2.0).abs() < 1e-9, "{seen:?}");
    }

    #[test]
    fn a_bounded_memory_forgets_the_shorter_route() {
        for (history, base) in [(None, 100), (Some(3), 150)] {
            let mut estimator = BacklogEstimator::new(Bytes::new(1000), history);
            let mut next = 0;
            for at in 0..5 {
                round(&mut estimator, &mut next, 10, 1000 * at, 100);
            }
            for at in 5..12 {
                round(&mut estimator, &mut next, 10, 1000 * at, 150);
            }
            assert_eq!(estimator.base(), Some(Span::from_millis(base)), "{history:?}");
        }
    }
}
