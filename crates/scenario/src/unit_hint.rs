//! What was meant by a quantity in units of other tools ("10 Mbps", "5 msec", "50 pkts"), and by a percentage where a plain
//! number belongs. Units are never guessed: this is for the complaint only.

/// Units as others write them, in small letters, and ours.
const OTHERS: &[(&str, &str)] = &[
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("tbps", "Tbit/s"),
    ("b/s", "bit/s"),
    ("kb/s", "kbit/s"),
    ("mb/s", "Mbit/s"),
    ("gb/s", "Gbit/s"),
    ("bit/s", "bit/s"),
    ("kbit/s", "kbit/s"),
    ("mbit/s", "Mbit/s"),
    ("gbit/s", "Gbit/s"),
    ("bit", "bit/s"),
    ("kbit", "kbit/s"),
    ("mbit", "Mbit/s"),
    ("gbit", "Gbit/s"),
    ("nsec", "ns"),
    ("usec", "µs"),
    ("msec", "ms"),
    ("msecs", "ms"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hour", "h"),
    ("hours", "h"),
    ("kb", "kB"),
    ("mb", "MB"),
    ("gb", "GB"),
    ("pkt", "packets"),
    ("pkts", "packets"),
    ("segments", "packets"),
    ("bdp", "BDP"),
];

/// Bytes a second as others write them: a small "b" is a bit, and eight times less.
const BYTES: &[(&str, &str)] = &[
    ("Bps", "B/s"),
    ("kBps", "kB/s"),
    ("KBps", "kB/s"),
    ("KB/s", "kB/s"),
    ("mB/s", "MB/s"),
    ("MBps", "MB/s"),
    ("GBps", "GB/s"),
];

/// The quantity in our units, where it is one that `fits`.
pub(crate) fn meant(text: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    let text = text.trim();
    let split = text.find(char::is_alphabetic)?;
    let unit = text[split..].trim();
    let known = BYTES.iter().find(|(other, _)| *other == unit);
    let (_, ours) = known.or_else(|| OTHERS.iter().find(|(other, _)| *other == unit.to_lowercase()))?;
    let meant = format!("{} {ours}", text[..split].trim());
    fits(&meant).then_some(meant)
}

/// The number that a percentage is, as one would write it: `0.01` for `"1 %"`.
pub(crate) fn percentage(text: &str) -> Option<f64> {
    let digits = text.trim().strip_suffix('%')?.trim_end();
    let plain = !digits.is_empty() && digits.chars().all(|sign| sign.is_ascii_digit() || sign == '.');
    // Read as a whole, so that 0.1 % is the number that people write as 0.001.
    plain.then(|| format!("{digits}e-2").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_the_numbers_that_people_write() {
        for (text, number) in
            [("1 %", 0.01), ("0.1%", 0.001), (" 2.5 % ", 0.025), ("150 %", 1.5), ("7 %", 0.07)]
        {
            assert_eq!(percentage(text), Some(number), "{text}");
        }
        for text in ["1", "%", "-1 %", "one %", "1 % 2 %", "1..2 %", "inf %", "1e1 %"] {
            assert_eq!(percentage(text), None, "{text}");
        }
    }
    use tailback_core::{BitRate, Capacity, Span};

    #[test]
    fn other_tools_units_are_understood_where_they_fit() {
        let rate = |text: &str| meant(text, |text| text.parse::<BitRate>().is_ok());
        assert_eq!(rate("10 Mbps").as_deref(), Some("10 Mbit/s"));
        assert_eq!(rate("2.5Gbps").as_deref(), Some("2.5 Gbit/s"));
        assert_eq!(rate("2 GBps").as_deref(), Some("2 GB/s"));
        assert_eq!(rate("40 KB/s").as_deref(), Some("40 kB/s"));
        assert_eq!(rate("10 msec"), None);
        assert_eq!(rate("ten Mbps"), None);
        assert_eq!(meant("5 msec", |text| text.parse::<Span>().is_ok()).as_deref(), Some("5 ms"));
        assert_eq!(meant("50 pkts", |text| text.parse::<Capacity>().is_ok()).as_deref(), Some("50 packets"));
    }
}
