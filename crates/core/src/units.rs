//! Amounts of data and rates, and the arithmetic between them. How they are written lives in `written`.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use crate::rounding::{nearest, real};
use crate::time::Span;

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

/// How much a buffer holds. In packets it counts *waiting* packets; the one in transmission is extra.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// At most so many waiting packets.
    Packets(u32),
    /// At most so many waiting bytes.
    Bytes(Bytes),
    /// In thousandths of the path's bandwidth-delay product, resolved when a scenario is built.
    MilliBdp(u32),
    /// Without limit, [`Capacity::MOST_PACKETS`] aside.
    Unlimited,
}

/// An amount of data written in packets or bytes, resolved once the packet size is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DataAmount {
    /// So many full packets; fractions are allowed for thresholds and setpoints.
    Packets(f64),
    /// So many bytes.
    Bytes(Bytes),
}

impl Capacity {
    /// What no buffer exceeds, unlimited ones included: 2^24 packets, which take half a gigabyte of memory.
    pub const MOST_PACKETS: u32 = 1 << 24;
}

impl Bytes {
    /// No data.
    pub const ZERO: Self = Self(0);
    /// More than any run moves.
    pub const MAX: Self = Self(u64::MAX);

    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bytes as a real, for laws and reports.
    #[inline]
    pub fn as_f64(self) -> f64 {
        real(self.0)
    }

    /// The nearest whole number of bytes; negative or NaN gives zero.
    pub fn from_f64(count: f64) -> Self {
        Self(nearest(count))
    }

    /// The difference, or zero where `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl BitRate {
    /// No data at all.
    pub const ZERO: Self = Self(0);

    /// `bits` bits per second.
    pub const fn from_bits_per_sec(bits: u64) -> Self {
        Self(bits)
    }

    /// The nearest whole number of bits per second; negative or NaN gives zero.
    pub fn from_bits_per_sec_f64(bits: f64) -> Self {
        Self(nearest(bits))
    }

    /// The rate at which `amount` passes in `span`; a span of zero gives the highest rate.
    #[inline]
    pub fn of(amount: Bytes, span: Span) -> Self {
        let nanos = span.as_nanos().max(1);
        // Below 2 GB 64 bits are enough, and a division of 128 takes several times as long.
        if let Some(bits) = amount.0.checked_mul(8_000_000_000) {
            return Self(bits / nanos);
        }
        let bits = u128::from(amount.0) * 8_000_000_000 / u128::from(nanos);
        Self(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// Bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// Bytes per second, as a real.
    #[inline]
    pub fn bytes_per_sec(self) -> f64 {
        real(self.0) / 8.0
    }

    /// How long `amount` takes at this rate, rounded up to a nanosecond; a rate of zero takes for ever.
    pub fn span_of(self, amount: Bytes) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        let nanos = (u128::from(amount.0) * 8_000_000_000).div_ceil(u128::from(self.0));
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How much passes in `span`, rounded down.
    pub fn bytes_in(self, span: Span) -> Bytes {
        self.bytes_beside(span, 0).0
    }

    /// How much passes in `span` beside a part of a byte that has passed before: whole bytes, and the part that is left. Parts are in
    /// bits times nanoseconds per second, so that 8·10⁹ are a byte. A sum over many spans loses nothing by them.
    pub fn bytes_beside(self, span: Span, part: u64) -> (Bytes, u64) {
        let all = u128::from(self.0) * u128::from(span.as_nanos()) + u128::from(part);
        let (bytes, left) = (all / 8_000_000_000, all % 8_000_000_000);
        (Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)), left as u64)
    }

    /// This rate times a non-negative real.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::from_bits_per_sec_f64(self.0 as f64 * factor)
    }
}

impl DataAmount {
    /// What [`DataAmount::is_sensible`] allows, for complaints.
    pub const SENSIBLE: &str = "an amount above zero, at most 16777216 packets or 16 GB";

    /// Whether it is more than nothing and not more than any network holds: [`Capacity::MOST_PACKETS`] or 16 GB.
    pub fn is_sensible(self) -> bool {
        match self {
            Self::Packets(count) => count > 0.0 && count <= f64::from(Capacity::MOST_PACKETS),
            Self::Bytes(bytes) => bytes > Bytes::ZERO && bytes <= Bytes(16_000_000_000),
        }
    }

    /// The amount in bytes, for packets of `packet` bytes, rounded to the nearest byte.
    pub fn in_bytes(self, packet: Bytes) -> Bytes {
        match self {
            Self::Packets(count) => Bytes::from_f64(count * packet.as_f64()),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The amount in packets of `packet` bytes.
    pub fn in_packets(self, packet: Bytes) -> f64 {
        match self {
            Self::Packets(count) => count,
            Self::Bytes(bytes) => bytes.as_f64() / packet.as_f64(),
        }
    }
}

macro_rules! additive {
    ($name:ident) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }
        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(self.0.saturating_mul(factor))
            }
        }
        impl Div<u64> for $name {
            type Output = Self;
            fn div(self, divisor: u64) -> Self {
                Self(self.0 / divisor)
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self(0), Add::add)
            }
        }
    };
}
additive!(Bytes);
additive!(BitRate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_rates_convert() {
        let rate = BitRate::from_bits_per_sec(8_000_000);
        assert_eq!(rate.span_of(Bytes::new(1000)), Span::from_millis(1));
        assert_eq!(rate.bytes_in(Span::from_millis(1)), Bytes::new(1000));
        assert_eq!(BitRate::of(Bytes::new(1000), Span::from_millis(1)), rate);
    }
}
