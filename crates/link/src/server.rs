//! A link's server: how long each packet's transmission takes, exactly. Neither queueing nor propagation lives here.

use tailback_core::{BitRate, Bytes, Span, Time};

/// Transmits one packet after another at a fixed rate, in integer nanoseconds. What a transmission takes beyond a
/// whole nanosecond is carried into the next of the same busy period, so that no rate drifts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    rate: u64,
    remainder: u64,
    busy_until: Time,
}

/// Bits in a byte times nanoseconds in a second.
const BIT_NANOS_PER_BYTE: u64 = 8_000_000_000;

impl Server {
    pub(crate) fn new(rate: BitRate) -> Self {
        Self { rate: rate.bits_per_sec(), remainder: 0, busy_until: Time::ZERO }
    }

    /// Transmits a packet that is ready at `now`; gives the end of its transmission.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, size: Bytes) -> Time {
        // Without a branch: whether a server is idle is nothing that a processor could foresee.
        let start = self.busy_until.max(now);
        let carried = self.remainder & u64::from(now <= self.busy_until).wrapping_neg();
        // A packet has at most 65535 bytes, so the product has 49 bits.
        let work = size.get() * BIT_NANOS_PER_BYTE + carried;
        self.remainder = work % self.rate;
        self.busy_until = start.after(Span::from_nanos(work / self.rate));
        self.busy_until
    }

    /// When the transmissions taken on so far will end.
    #[inline]
    pub(crate) fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Whether the server has nothing to do at `now`; a transmission that ends now has ended.
    #[inline]
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    pub(crate) fn rate(&self) -> BitRate {
        BitRate::from_bits_per_sec(self.rate)
    }

    /// Changes the rate for the next transmission; the one under way ends as begun.
    pub(crate) fn set_rate(&mut self, rate: BitRate) {
        self.rate = rate.bits_per_sec();
        self.remainder = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carries_the_remainder_within_a_busy_period() {
        // 1000 B at 3 Mbit/s take 2 666 666.67 ns: three in a row take exactly 8 ms.
        let mut server = Server::new(BitRate::from_bits_per_sec(3_000_000));
        for _ in 0..2 {
            server.transmit(Time::ZERO, Bytes::new(1000));
        }
        assert_eq!(server.transmit(Time::ZERO, Bytes::new(1000)), Time::from_nanos(8_000_000));
    }
}
