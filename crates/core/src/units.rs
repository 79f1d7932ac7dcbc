//! Amounts of data and rates, and their written forms ("10 Mbit/s", "5 ms", "240 packets").
//! A bare number is an error that says so: units are never guessed.

use std::borrow::Cow;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    /// Without limit.
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

/// What was wrong with a written quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is not {expected}")]
pub struct UnitError {
    /// The text as found.
    pub found: String,
    /// What is allowed, with an example.
    pub expected: &'static str,
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
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The nearest whole number of bytes; negative or NaN gives zero.
    pub fn from_f64(count: f64) -> Self {
        Self(count.round() as u64)
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
        Self(bits.round() as u64)
    }

    /// The rate at which `amount` passes in `span`; a span of zero gives the highest rate.
    pub fn of(amount: Bytes, span: Span) -> Self {
        let nanos = u128::from(span.as_nanos().max(1));
        let bits = u128::from(amount.0) * 8 * 1_000_000_000 / nanos;
        Self(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// Bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// Bytes per second, as a real.
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
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
        let bytes = u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000;
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// This rate times a non-negative real.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::from_bits_per_sec_f64(self.0 as f64 * factor)
    }
}

impl DataAmount {
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

// ── written forms ──

const TIMES: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
const RATES: [(&str, f64); 9] = [
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
];
const AMOUNTS: [(&str, f64); 9] = [
    ("B", 1.0),
    ("byte", 1.0),
    ("bytes", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
const PACKETS: [(&str, f64); 2] = [("packet", 1.0), ("packets", 1.0)];

/// The number before the unit, times the unit's factor; negative and non-finite numbers are refused.
fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic() && c != 'e' && c != 'E')?;
    // "1e6 bit/s": an exponent's letter is followed by a digit or sign, a unit's is not.
    let number: f64 = text[..split].trim().replace('_', "").parse().ok()?;
    let unit = text[split..].trim();
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

fn error<T>(text: &str, expected: &'static str) -> Result<T, UnitError> {
    Err(UnitError { found: text.to_owned(), expected })
}

const SPAN: &str = "a time with its unit (ns, us, ms, s, min, h), such as \"5 ms\"";
const RATE: &str =
    "a rate with its unit (bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s), such as \"10 Mbit/s\"";
const AMOUNT: &str = "an amount of data with its unit (B, kB, MB, GB, KiB, MiB), such as \"1500 B\"";
const CAPACITY: &str = "a buffer in packets, bytes or bandwidth-delay products (\"50 packets\", \"64 kB\", \"1 BDP\") \
                        or \"unlimited\"";
const DATA: &str = "an amount in packets or bytes, such as \"10 packets\" or \"15 kB\"";

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match quantity(text, &TIMES) {
            Some(nanos) if nanos < 9e18 => Ok(Self::from_nanos(nanos.round() as u64)),
            _ => error(text, SPAN),
        }
    }
}

impl FromStr for BitRate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match quantity(text, &RATES) {
            Some(bits) if bits < 9e18 => Ok(Self(bits.round() as u64)),
            _ => error(text, RATE),
        }
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match quantity(text, &AMOUNTS) {
            Some(bytes) if bytes < 9e18 => Ok(Self(bytes.round() as u64)),
            _ => error(text, AMOUNT),
        }
    }
}

impl FromStr for Capacity {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim() == "unlimited" {
            return Ok(Self::Unlimited);
        }
        if let Some(count) = quantity(text, &PACKETS) {
            if count.fract() == 0.0 && count <= f64::from(u32::MAX) {
                return Ok(Self::Packets(count as u32));
            }
            return error(text, CAPACITY);
        }
        if let Some(count) = quantity(text, &[("BDP", 1e3)]) {
            if count <= f64::from(u32::MAX) {
                return Ok(Self::MilliBdp(count.round() as u32));
            }
            return error(text, CAPACITY);
        }
        text.parse().map(Self::Bytes).or_else(|_| error(text, CAPACITY))
    }
}

impl FromStr for DataAmount {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if let Some(count) = quantity(text, &PACKETS) {
            return Ok(Self::Packets(count));
        }
        text.parse().map(Self::Bytes).or_else(|_| error(text, DATA))
    }
}

/// Prints with the largest decimal unit that divides exactly, so that printing and parsing agree.
fn exact(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (factor, unit) = units
        .iter()
        .rev()
        .find(|(factor, _)| value != 0 && value.is_multiple_of(*factor))
        .unwrap_or(&units[0]);
    write!(f, "{} {unit}", value / factor)
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(f, self.0, &[(1, "B"), (1_000, "kB"), (1_000_000, "MB"), (1_000_000_000, "GB")])
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(f, self.0, &[(1, "bit/s"), (1_000, "kbit/s"), (1_000_000, "Mbit/s"), (1_000_000_000, "Gbit/s")])
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => write!(f, "{count} packets"),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::MilliBdp(thousandths) => write!(f, "{} BDP", f64::from(*thousandths) / 1e3),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for DataAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => write!(f, "{count} packets"),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

macro_rules! written {
    ($name:ident, $title:literal, $kind:literal, $expected:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": $kind, "description": $expected })
            }
        }
    };
}
written!(Span, "Span", "time", SPAN);
written!(BitRate, "BitRate", "rate", RATE);
written!(Bytes, "Bytes", "bytes", AMOUNT);
written!(Capacity, "Capacity", "capacity", CAPACITY);
written!(DataAmount, "DataAmount", "data", DATA);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_quantities_with_units() {
        assert_eq!("10 Mbit/s".parse(), Ok(BitRate::from_bits_per_sec(10_000_000)));
        assert_eq!("1.5Gbit/s".parse(), Ok(BitRate::from_bits_per_sec(1_500_000_000)));
        assert_eq!("5 ms".parse(), Ok(Span::from_millis(5)));
        assert_eq!("1e3 us".parse(), Ok(Span::from_millis(1)));
        assert_eq!("240 packets".parse(), Ok(Capacity::Packets(240)));
        assert_eq!("0.5 BDP".parse(), Ok(Capacity::MilliBdp(500)));
        assert_eq!("64 KiB".parse(), Ok(Capacity::Bytes(Bytes::new(65_536))));
        assert_eq!("unlimited".parse(), Ok(Capacity::Unlimited));
        assert_eq!("2.5 packets".parse(), Ok(DataAmount::Packets(2.5)));
    }

    #[test]
    fn refuses_bare_numbers_and_wrong_units() {
        for text in ["10", "10 Mb", "-5 ms", "", "ms", "nan s", "1e400 s", "1.5 packets"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
            assert!(text.parse::<Capacity>().is_err(), "{text}");
        }
        let message = "10".parse::<BitRate>().unwrap_err().to_string();
        assert!(message.contains("\"10\" is not a rate with its unit"), "{message}");
    }

    #[test]
    fn printing_and_reading_agree() {
        for nanos in [0, 1, 999, 1_000, 5_000_000, 60_000_000_000, 1_234_567_891] {
            let span = Span::from_nanos(nanos);
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        for bits in [0, 1, 1_500, 10_000_000, 123_456_789] {
            let rate = BitRate::from_bits_per_sec(bits);
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }

    #[test]
    fn spans_and_rates_convert() {
        let rate = BitRate::from_bits_per_sec(8_000_000);
        assert_eq!(rate.span_of(Bytes::new(1000)), Span::from_millis(1));
        assert_eq!(rate.bytes_in(Span::from_millis(1)), Bytes::new(1000));
        assert_eq!(BitRate::of(Bytes::new(1000), Span::from_millis(1)), rate);
    }
}
