//! Quantities as people write them ("10 Mbit/s", "5 ms", "240 packets"): reading, printing, and their place in the schema.
//! A bare number is an error that says so: units are never guessed.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::Span;
use crate::units::{BitRate, Bytes, Capacity, DataAmount};

/// What was wrong with a written quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is not {expected}")]
pub struct UnitError {
    /// The text as found.
    pub found: String,
    /// What is allowed, with an example.
    pub expected: &'static str,
}

// Both letters that look like a micro sign count as one.
const TIMES: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
];
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
const BDP: [(&str, f64); 1] = [("BDP", 1e3)];

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

/// Whether it is a quantity but for its sign.
fn is_negative(text: &str, units: &[(&str, f64)]) -> bool {
    text.trim().strip_prefix(['-', '\u{2212}']).is_some_and(|rest| quantity(rest, units).is_some())
}

/// Beyond this many nanoseconds, bits or bytes nothing is meant seriously, and sums would saturate.
const BEYOND: f64 = 9e18;

fn error<T>(text: &str, expected: &'static str) -> Result<T, UnitError> {
    Err(UnitError { found: text.to_owned(), expected })
}

const SPAN: &str = "a time with its unit (ns, µs or us, ms, s, min, h), such as \"5 ms\"";
const RATE: &str =
    "a rate with its unit (bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s), such as \"10 Mbit/s\"";
const AMOUNT: &str = "an amount of data with its unit (B, kB, MB, GB, KiB, MiB), such as \"1500 B\"";
const SPAN_SIGN: &str = "a time that is not negative, such as \"5 ms\"";
const RATE_SIGN: &str = "a rate that is not negative, such as \"10 Mbit/s\"";
const AMOUNT_SIGN: &str = "an amount of data that is not negative, such as \"1500 B\"";
const CAPACITY_SIGN: &str = "a buffer that is not negative, such as \"50 packets\"";
const DATA_SIGN: &str = "an amount that is not negative, such as \"10 packets\" or \"15 kB\"";
const SPAN_RANGE: &str = "a time below 9e9 s (285 years)";
const RATE_RANGE: &str = "a rate below 9e9 Gbit/s";
const AMOUNT_RANGE: &str = "an amount below 9e9 GB";
const PACKETS_RANGE: &str = "fewer than 9e18 packets";
const WHOLE_PACKETS: &str = "a whole number of packets, at most 4294967295";
const BDP_RANGE: &str = "at most 4e6 BDP";
const CAPACITY: &str = "a buffer in packets, bytes or bandwidth-delay products (\"50 packets\", \"64 kB\", \"1 BDP\") \
                        or \"unlimited\"";
const DATA: &str = "an amount in packets or bytes, such as \"10 packets\" or \"15 kB\"";

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match quantity(text, &TIMES) {
            Some(nanos) if nanos < BEYOND => Ok(Self::from_nanos(nanos.round() as u64)),
            Some(_) => error(text, SPAN_RANGE),
            None if is_negative(text, &TIMES) => error(text, SPAN_SIGN),
            None => error(text, SPAN),
        }
    }
}

impl FromStr for BitRate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match quantity(text, &RATES) {
            Some(bits) if bits < BEYOND => Ok(Self::from_bits_per_sec_f64(bits)),
            Some(_) => error(text, RATE_RANGE),
            None if is_negative(text, &RATES) => error(text, RATE_SIGN),
            None => error(text, RATE),
        }
    }
}

/// Bytes, where what has no such unit is not what was `expected`, and what is negative should be as in `sign`.
fn bytes(text: &str, expected: &'static str, sign: &'static str) -> Result<Bytes, UnitError> {
    match quantity(text, &AMOUNTS) {
        Some(bytes) if bytes < BEYOND => Ok(Bytes::from_f64(bytes)),
        Some(_) => error(text, AMOUNT_RANGE),
        None if [&AMOUNTS[..], &PACKETS, &BDP].iter().any(|units| is_negative(text, units)) => {
            error(text, sign)
        }
        None => error(text, expected),
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        bytes(text, AMOUNT, AMOUNT_SIGN)
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
            return error(text, WHOLE_PACKETS);
        }
        if let Some(count) = quantity(text, &BDP) {
            if count <= f64::from(u32::MAX) {
                return Ok(Self::MilliBdp(count.round() as u32));
            }
            return error(text, BDP_RANGE);
        }
        bytes(text, CAPACITY, CAPACITY_SIGN).map(Self::Bytes)
    }
}

impl FromStr for DataAmount {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if let Some(count) = quantity(text, &PACKETS) {
            return if count < BEYOND { Ok(Self::Packets(count)) } else { error(text, PACKETS_RANGE) };
        }
        bytes(text, DATA, DATA_SIGN).map(Self::Bytes)
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
        exact(f, self.get(), &[(1, "B"), (1_000, "kB"), (1_000_000, "MB"), (1_000_000_000, "GB")])
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(
            f,
            self.bits_per_sec(),
            &[(1, "bit/s"), (1_000, "kbit/s"), (1_000_000, "Mbit/s"), (1_000_000_000, "Gbit/s")],
        )
    }
}

/// How many packets, in words for people.
fn packets(f: &mut fmt::Formatter<'_>, count: f64) -> fmt::Result {
    write!(f, "{count} packet{}", if count == 1.0 { "" } else { "s" })
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => packets(f, f64::from(*count)),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::MilliBdp(thousandths) => write!(f, "{} BDP", f64::from(*thousandths) / 1e3),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for DataAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => packets(f, *count),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

/// The text of a quantity in scenarios that were read, where one packet always was "1 packets": their hashes are of this text.
fn as_hashed(text: String) -> String {
    if text == "1 packet" { "1 packets".to_owned() } else { text }
}

/// A quantity that is written with its unit.
pub trait Written: FromStr<Err = UnitError> {
    /// What is allowed, with an example.
    const EXPECTED: &'static str;
}

macro_rules! written {
    ($name:ident, $title:literal, $kind:literal, $expected:ident) => {
        impl Written for $name {
            const EXPECTED: &'static str = $expected;
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&as_hashed(self.to_string()))
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
    fn what_is_negative_is_told_so() {
        let told = [
            "-5 ms".parse::<Span>().unwrap_err(),
            "-10 Mbit/s".parse::<BitRate>().unwrap_err(),
            "- 1500 B".parse::<Bytes>().unwrap_err(),
            "-50 packets".parse::<Capacity>().unwrap_err(),
            "-1 BDP".parse::<Capacity>().unwrap_err(),
            "-64 kB".parse::<Capacity>().unwrap_err(),
            "\u{2212}10 packets".parse::<DataAmount>().unwrap_err(),
        ];
        for error in told {
            assert!(error.to_string().contains("that is not negative, such as"), "{error}");
        }
        assert!(
            !"-5 packets".parse::<Span>().unwrap_err().to_string().contains("negative"),
            "the unit is wrong"
        );
    }

    #[test]
    fn what_has_its_unit_but_is_too_much_is_told_so() {
        let told = |error: UnitError| error.to_string();
        assert!(told("1e12 s".parse::<Span>().unwrap_err()).contains("below 9e9 s"));
        assert!(told("1e300 bit/s".parse::<BitRate>().unwrap_err()).contains("below 9e9 Gbit/s"));
        assert!(told("1e10 GB".parse::<Capacity>().unwrap_err()).contains("below 9e9 GB"));
        assert!(told("5000000000 packets".parse::<Capacity>().unwrap_err()).contains("at most 4294967295"));
        assert!(told("1e300 packets".parse::<DataAmount>().unwrap_err()).contains("fewer than 9e18"));
    }

    #[test]
    fn one_packet_is_one_to_people_and_as_ever_in_hashes() {
        for (text, shown, hashed) in [
            ("1 packets", "1 packet", r#""1 packets""#),
            ("0 packet", "0 packets", r#""0 packets""#),
            ("21 packets", "21 packets", r#""21 packets""#),
        ] {
            let (buffer, amount) = (text.parse::<Capacity>().unwrap(), text.parse::<DataAmount>().unwrap());
            assert_eq!((buffer.to_string().as_str(), amount.to_string().as_str()), (shown, shown));
            assert_eq!(serde_json::to_string(&buffer).unwrap(), hashed);
            assert_eq!(serde_json::to_string(&amount).unwrap(), hashed);
        }
        assert_eq!("1.5 packets".parse::<DataAmount>().unwrap().to_string(), "1.5 packets");
    }

    #[test]
    fn printing_and_reading_agree() {
        for nanos in [0, 1, 999, 1_000, 800_000, 5_000_000, 60_000_000_000, 1_234_567_891] {
            let span = Span::from_nanos(nanos);
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        assert_eq!(Span::from_micros(800).to_string(), "800 µs");
        for bits in [0, 1, 1_500, 10_000_000, 123_456_789] {
            let rate = BitRate::from_bits_per_sec(bits);
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }
}
