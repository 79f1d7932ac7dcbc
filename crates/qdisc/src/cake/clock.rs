//! CAKE's shaper: a virtual clock that says when the line is free again. It has no bucket, hence no burst to set (Piece of
//! CAKE, 2018: "deficit mode"). Who is served when it is free is not decided here, nor what counts (`ingress.rs`).

use tailback_core::{BitRate, Span, Time};

/// Bits in a byte times nanoseconds in a second.
const BIT_NANOS_PER_BYTE: u128 = 8_000_000_000;

/// The clock of a shaper, or of a tin's share of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Bits per second; at least 1.
    rate: u64,
    /// When the next packet may leave.
    next: Time,
    /// What transmissions took beyond whole nanoseconds, in parts of one over the rate.
    carried: u64,
}

impl Clock {
    pub(super) fn new(rate: BitRate) -> Self {
        Self { rate: rate.bits_per_sec().max(1), next: Time::ZERO, carried: 0 }
    }

    /// Keeps another rate from now on; what is charged already stays so.
    pub(super) fn keep(&mut self, rate: BitRate) {
        (self.rate, self.carried) = (rate.bits_per_sec().max(1), 0);
    }

    pub(super) const fn next(&self) -> Time {
        self.next
    }

    /// What `length` bytes take, with what was carried.
    fn span(&self, length: u64) -> (Span, u64) {
        let work = u128::from(length) * BIT_NANOS_PER_BYTE + u128::from(self.carried);
        let rate = u128::from(self.rate);
        let nanos = u64::try_from(work / rate).unwrap_or(u64::MAX);
        (Span::from_nanos(nanos), (work % rate) as u64)
    }

    /// A queue that was empty begins: there is no credit for the time before.
    pub(super) fn begin(&mut self, now: Time) {
        if self.next < now {
            self.restart(now);
        }
    }

    /// The next packet may leave now, whatever was charged.
    pub(super) fn restart(&mut self, now: Time) {
        (self.next, self.carried) = (now, 0);
    }

    /// Charges a packet. A server that came late catches up, so that the rate is exact while there is something to send.
    pub(super) fn charge(&mut self, length: u64) {
        let (span, carried) = self.span(length);
        self.next = self.next.after(span);
        self.carried = carried;
    }

    /// Charges a packet to a tin, which may be served ahead of its schedule, but is never more than one packet ahead.
    pub(super) fn charge_tin(&mut self, now: Time, length: u64) {
        if self.next < now {
            self.charge(length);
        } else {
            let (span, _) = self.span(length);
            self.next = self.next.max(now.after(span));
            self.carried = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_exact() {
        // 1000 B at 3 Mbit/s take 2 666 666.67 ns: three in a row take exactly 8 ms, whoever comes late.
        let mut clock = Clock::new(BitRate::from_bits_per_sec(3_000_000));
        clock.begin(Time::from_nanos(5));
        for _ in 0..3 {
            clock.charge(1000);
        }
        assert_eq!(clock.next(), Time::from_nanos(8_000_005));
        clock.begin(Time::from_nanos(7));
        assert_eq!(clock.next(), Time::from_nanos(8_000_005), "no credit, but no debt forgiven either");
    }

    #[test]
    fn a_tin_is_never_more_than_a_packet_ahead() {
        let mut clock = Clock::new(BitRate::from_bits_per_sec(8_000_000));
        for _ in 0..5 {
            clock.charge_tin(Time::from_nanos(10), 1000);
        }
        assert_eq!(clock.next(), Time::from_nanos(1_000_010));
    }
}
