//! What feedback of media says of one packet: whether it arrived, how it was marked and how long before the report, as
//! coarse as on the wire (RFC 8888 §3.1). Who writes and reads such reports is elsewhere.

use crate::packet::Ecn;
use crate::time::{Span, Time};

/// Units of arrival times per second.
const UNITS: u64 = 1024;
/// Units of report timestamps per second: the middle 32 bits of NTP's.
const STAMPS: u64 = 65_536;
/// The offset that says "earlier than can be told".
const TOO_OLD: u16 = 0x1FFE;
/// Bit 15: it arrived; the ECN field is in bits 13 and 14, the offset in the 13 below.
const RECEIVED: u16 = 1 << 15;

/// One packet's word in a report of arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalWord(u16);

impl ArrivalWord {
    /// A packet that has not arrived.
    pub const MISSING: Self = Self(0);

    /// A packet that arrived so long before the report left, rounded to 1/1024 s. What is 8 s old or older is told
    /// without its age.
    pub fn received(age: Span, ecn: Ecn) -> Self {
        let units = (u128::from(age.as_nanos()) * u128::from(UNITS) + 500_000_000) / 1_000_000_000;
        let offset = u16::try_from(units).unwrap_or(TOO_OLD).min(TOO_OLD);
        Self(RECEIVED | (ecn as u16) << 13 | offset)
    }

    /// The word as it travels.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// A word that came over the wire: any is one.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Whether the packet arrived.
    pub const fn is_received(self) -> bool {
        self.0 & RECEIVED != 0
    }

    /// Whether it bore Congestion Experienced.
    pub const fn is_marked(self) -> bool {
        self.is_received() && self.0 >> 13 & 3 == Ecn::Ce as u16
    }

    /// How long before the report it arrived, where that is told.
    pub fn age(self) -> Option<Span> {
        let offset = self.0 & 0x1FFF;
        let told = self.is_received() && offset < TOO_OLD;
        told.then(|| Span::from_nanos(u64::from(offset) * 1_000_000_000 / UNITS))
    }
}

/// A report's time stamp: `now` in whole units of 1/65536 s.
pub fn report_stamp(now: Time) -> Time {
    let units = u128::from(now.as_nanos()) * u128::from(STAMPS) / 1_000_000_000;
    let nanos = units * 1_000_000_000 / u128::from(STAMPS);
    Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_coarse_as_on_the_wire() {
        let word = ArrivalWord::received(Span::from_millis(100), Ecn::Ce);
        // 102.4 units are 102, which is 99.609 ms.
        assert_eq!(word.bits(), 0x8000 | 3 << 13 | 0x66);
        assert_eq!(word.age(), Some(Span::from_nanos(99_609_375)));
        assert!(word.is_marked());
        assert_eq!(ArrivalWord::from_bits(word.bits()), word);
        assert!(!ArrivalWord::received(Span::ZERO, Ecn::Ect1).is_marked());
        assert!(!ArrivalWord::MISSING.is_received());
        assert_eq!(ArrivalWord::MISSING.age(), None);
        let old = ArrivalWord::received(Span::from_secs(8), Ecn::NotEct);
        assert!(old.is_received() && old.age().is_none());
    }

    #[test]
    fn stamps_are_rounded_down() {
        let stamp = report_stamp(Time::from_nanos(1_000_000_000));
        assert_eq!(stamp, Time::from_nanos(1_000_000_000));
        let stamp = report_stamp(Time::from_nanos(20_000));
        assert_eq!(stamp, Time::from_nanos(15_258));
    }
}
