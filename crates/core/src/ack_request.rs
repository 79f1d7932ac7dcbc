//! How a sender asks its receiver to acknowledge: what a controller wishes, and the request that travels to the receiver.
//! When a request leaves, and what a receiver does about it, is decided in `transport`.
//!
//! Source: draft-ietf-quic-ack-frequency. `ACK_FREQUENCY` is [`AckRequest`], `IMMEDIATE_ACK` is
//! [`AckWish::immediate`]. Its threshold counts packets that need no acknowledgement yet, this one counts the one that has
//! it: 1 here is 0 there. Its reordering threshold is always 1: what arrives out of order is acknowledged at once.

use std::num::NonZeroU16;

use crate::time::Span;

/// How often a receiver acknowledges data in order: after so many packets, or so much time after the first of them, whichever
/// comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFrequency {
    /// Data packets per acknowledgement, at least 1.
    pub threshold: u32,
    /// The longest delay of an acknowledgement.
    pub max_delay: Span,
}

impl AckFrequency {
    /// The largest threshold that a receiver heeds, which is the largest that a request has room for.
    pub const MOST: u32 = u16::MAX as u32;
    /// The longest delay that a receiver heeds, as where its delay is configured.
    pub const LONGEST: Span = Span::from_secs(10);

    /// The same within what a receiver heeds, whoever asked.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self { threshold: self.threshold.clamp(1, Self::MOST), max_delay: self.max_delay.min(Self::LONGEST) }
    }
}

/// What a controller wishes of its receiver's acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckWish {
    /// How often it is to acknowledge; `None` for as it is configured.
    pub frequency: Option<AckFrequency>,
    /// Whenever this number changes, the packet that leaves, or the next one that does, is acknowledged at once. At first it is
    /// 0. A packet that is lost is not made up for.
    pub immediate: u32,
}

/// A request as a packet carries it, with its delay in microseconds as in QUIC. The newest counts: a receiver ignores those that
/// a newer one has overtaken.
///
/// Eight bytes, so that a [`ControlInfo`](crate::ControlInfo) with one makes no annex larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRequest {
    max_delay: u32,
    sequence: NonZeroU16,
    /// 0 for as the receiver is configured.
    threshold: u16,
}

impl AckRequest {
    /// The request of this number; beyond what it has room for, threshold and delay are the largest that it has.
    pub fn new(sequence: NonZeroU16, frequency: Option<AckFrequency>) -> Self {
        let Some(AckFrequency { threshold, max_delay }) = frequency else {
            return Self { max_delay: 0, sequence, threshold: 0 };
        };
        let micros = max_delay.as_nanos().div_ceil(1000);
        Self {
            max_delay: u32::try_from(micros).unwrap_or(u32::MAX),
            sequence,
            threshold: u16::try_from(threshold.max(1)).unwrap_or(u16::MAX),
        }
    }

    /// The number of the request after that of number `last`, or of the first.
    pub fn after(last: Option<NonZeroU16>) -> NonZeroU16 {
        last.and_then(|last| last.checked_add(1)).unwrap_or(NonZeroU16::MIN)
    }

    /// Its number. Numbers begin anew with 1 when they have run out.
    pub const fn sequence(&self) -> NonZeroU16 {
        self.sequence
    }

    /// Whether it was made after the one of number `last`, by the nearer way around all numbers (RFC 1982).
    pub const fn is_newer_than(&self, last: NonZeroU16) -> bool {
        self.sequence.get().wrapping_sub(last.get()).cast_signed() > 0
    }

    /// How often the receiver is to acknowledge; `None` for as it is configured.
    pub fn frequency(&self) -> Option<AckFrequency> {
        let max_delay = Span::from_micros(self.max_delay.into());
        (self.threshold > 0).then_some(AckFrequency { threshold: self.threshold.into(), max_delay })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_it_was_made_of_and_a_receiver_bounds_it() {
        let one = NonZeroU16::MIN;
        let most = Span::from_micros(u32::MAX.into());
        for (threshold, delay, told, heeded) in [
            (0, Span::ZERO, (1, Span::ZERO), (1, Span::ZERO)),
            (7, Span::from_nanos(2001), (7, Span::from_micros(3)), (7, Span::from_micros(3))),
            (u32::MAX, Span::MAX, (65_535, most), (AckFrequency::MOST, AckFrequency::LONGEST)),
        ] {
            let asked = AckFrequency { threshold, max_delay: delay };
            let request = AckRequest::new(one, Some(asked)).frequency().expect("a frequency");
            assert_eq!((request.threshold, request.max_delay), told);
            let bounded = request.bounded();
            assert_eq!((bounded.threshold, bounded.max_delay), heeded);
        }
        assert_eq!(AckRequest::new(one, None).frequency(), None);
        assert_eq!(size_of::<Option<AckRequest>>(), 8, "as small as it can be");
    }

    #[test]
    fn numbers_go_around() {
        let number = |number| NonZeroU16::new(number).expect("not 0");
        let newer = |new, old| AckRequest::new(number(new), None).is_newer_than(number(old));
        assert!(newer(2, 1) && !newer(1, 2) && !newer(2, 2));
        assert!(newer(1, u16::MAX) && !newer(u16::MAX, 1));
        assert!(newer(32_768, 1) && !newer(32_770, 1));
        assert_eq!(AckRequest::after(None), number(1));
        assert_eq!(AckRequest::after(Some(number(9))), number(10));
        assert_eq!(AckRequest::after(Some(number(u16::MAX))), number(1), "0 is no number");
    }
}
