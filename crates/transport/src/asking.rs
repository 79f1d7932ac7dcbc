//! How a sender asks its receiver to acknowledge: when a request leaves, how long it is repeated, and which packets ask to be
//! acknowledged at once. What is asked for is the controller's, what is done about it the receiver's (`receiver/asked.rs`).
//!
//! Source: draft-ietf-quic-ack-frequency. A request rides on data. From the packet with which the wish changes, each one that
//! leaves carries the newest request, retransmissions too, until the first new segment among them is acknowledged: whatever copy
//! of that one arrived had the request with it. So a lost request needs no timer, and one that is overtaken is ignored by its
//! number. An acknowledgement that is wanted at once is asked for by PSH, once: it is not made up for where it is lost.

use std::num::NonZeroU16;

use tailback_core::{AckFrequency, AckRequest, AckWish, Span};

/// What a receiver was asked.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    /// The newest request, and its number; none before any.
    asked: Option<AckFrequency>,
    sequence: Option<NonZeroU16>,
    /// The first new segment that carried it, until that one is acknowledged.
    since: Option<u64>,
    /// The last change of [`AckWish::immediate`] that was followed.
    immediate: u32,
    /// The longest delay among requests that may be in force: of the one that is known to have arrived, and those after it.
    longest: Span,
}

/// The longest time for which a receiver that heeds this holds an acknowledgement back. For what it was configured to, there is
/// the least time-out.
fn delay_of(asked: Option<AckFrequency>) -> Span {
    asked.map_or(Span::ZERO, |asked| asked.bounded().max_delay)
}

impl Asking {
    /// The longest time for which the receiver may hold an acknowledgement back, having been asked to.
    pub(crate) fn longest_delay(&self) -> Span {
        self.longest
    }

    /// A packet leaves. `next` is its number, or that of the next new segment where it is a retransmission; all below `acked` is
    /// acknowledged. The request that it carries, and whether it is to be acknowledged at once.
    pub(crate) fn leaves(&mut self, wish: AckWish, next: u64, acked: u64) -> (Option<AckRequest>, bool) {
        if self.since.is_some_and(|since| acked > since) {
            self.since = None;
            self.longest = delay_of(self.asked);
        }
        if wish.frequency != self.asked {
            self.asked = wish.frequency;
            self.sequence = Some(AckRequest::after(self.sequence));
            self.since = Some(next);
            self.longest = self.longest.max(delay_of(wish.frequency));
        }
        let number = self.since.and(self.sequence);
        let at_once = std::mem::replace(&mut self.immediate, wish.immediate) != wish.immediate;
        (number.map(|number| AckRequest::new(number, self.asked)), at_once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "as a wish has it")]
    fn every(threshold: u32, millis: u64) -> Option<AckFrequency> {
        Some(AckFrequency { threshold, max_delay: Span::from_millis(millis) })
    }

    fn wish(frequency: Option<AckFrequency>) -> AckWish {
        AckWish { frequency, immediate: 0 }
    }

    #[test]
    fn a_request_is_repeated_until_a_segment_is_acknowledged_whose_every_copy_had_it() {
        let mut asking = Asking::default();
        let mut told = |frequency, next, acked| {
            let request = asking.leaves(wish(frequency), next, acked).0;
            request.map(|request| (request.sequence().get(), request.frequency()))
        };
        assert_eq!(told(None, 5, 0), None, "nothing was ever asked");
        assert_eq!(told(every(4, 20), 6, 0), Some((1, every(4, 20))));
        assert_eq!(told(every(4, 20), 7, 6), Some((1, every(4, 20))), "6 is not acknowledged");
        assert_eq!(told(every(4, 20), 8, 7), None);
        // With another one on its way, the older is not asked for any more, nor waited for.
        assert_eq!(told(every(2, 5), 9, 8), Some((2, every(2, 5))));
        assert_eq!(told(None, 10, 8), Some((3, None)));
        assert_eq!(told(None, 11, 10), Some((3, None)));
        assert_eq!(told(None, 12, 11), None);
    }

    #[test]
    fn the_longest_delay_that_may_be_in_force_counts() {
        let mut asking = Asking::default();
        let mut after = |frequency, next, acked| {
            asking.leaves(wish(frequency), next, acked);
            asking.longest_delay()
        };
        assert_eq!(after(every(4, 20), 0, 0), Span::from_millis(20), "not yet, but it may be");
        assert_eq!(after(every(4, 5), 1, 0), Span::from_millis(20), "the newer may be lost");
        assert_eq!(after(every(4, 5), 2, 1), Span::from_millis(20));
        assert_eq!(after(every(4, 5), 3, 2), Span::from_millis(5));
        assert_eq!(after(every(4, 90_000), 4, 4), AckFrequency::LONGEST, "as a receiver has it");
        assert_eq!(after(None, 5, 4), AckFrequency::LONGEST);
        assert_eq!(after(None, 6, 6), Span::ZERO);
    }

    #[test]
    fn each_change_asks_for_one_acknowledgement_at_once() {
        let mut asking = Asking::default();
        let asked = [0, 0, 1, 1, 2, 7, 7, 0].map(|immediate| {
            let (request, at_once) = asking.leaves(AckWish { frequency: None, immediate }, 0, 0);
            assert_eq!(request, None);
            at_once
        });
        assert_eq!(asked, [false, false, true, false, true, true, false, true]);
    }
}
