//! Stable digests: 128-bit FNV-1a, written as 32 hexadecimal digits. They tell results apart and tie them to their
//! scenario; they do not defend against forgery.

use serde_json::Value;

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
/// Its powers: what so many bytes of zero come to, which change nothing by themselves.
const POWERS: [u128; 9] = {
    let mut powers = [1_u128; 9];
    let mut place = 1;
    while place < powers.len() {
        powers[place] = powers[place - 1].wrapping_mul(PRIME);
        place += 1;
    }
    powers
};

/// The digest of some bytes.
pub fn digest(bytes: &[u8]) -> String {
    let mut digester = Digester::default();
    digester.add(bytes);
    digester.finish()
}

/// A digest in the making.
#[derive(Clone, Debug)]
pub struct Digester(u128);

impl Default for Digester {
    fn default() -> Self {
        Self(OFFSET)
    }
}

impl Digester {
    /// Appends bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME));
    }

    /// Appends the eight bytes of a number, the least first. Most of them are zero in most counters, and many in most
    /// quantities.
    pub fn add_number(&mut self, number: u64) {
        let before = number.trailing_zeros() as usize / 8;
        let after = number.leading_zeros() as usize / 8;
        self.0 = self.0.wrapping_mul(POWERS[before]);
        if before < 8 {
            let mut rest = number >> (8 * before);
            for _ in before + after..8 {
                self.0 = (self.0 ^ u128::from(rest & 0xff)).wrapping_mul(PRIME);
                rest >>= 8;
            }
            self.0 = self.0.wrapping_mul(POWERS[after]);
        }
    }

    /// The digest of all bytes so far.
    pub fn finish(&self) -> String {
        format!("{:032x}", self.0)
    }
}

/// JSON with sorted keys and without spaces or nulls, whatever the order in which the value was made.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    append(value, &mut text);
    text
}

/// Appends it to one text: a scenario with a table for each of a thousand flows has a megabyte.
fn append(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (place, (key, value)) in entries.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                append_text(key, text);
                text.push(':');
                append(value, text);
            }
            text.push('}');
        }
        Value::Array(list) => {
            text.push('[');
            for (place, value) in list.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                append(value, text);
            }
            text.push(']');
        }
        Value::String(plain) => append_text(plain, text),
        plain => text.push_str(&plain.to_string()),
    }
}

/// A string in quotes. Few need escapes.
fn append_text(plain: &str, text: &mut String) {
    if plain.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        text.push('"');
        text.push_str(plain);
        text.push('"');
    } else {
        text.push_str(&Value::from(plain).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_published_vectors() {
        // From the FNV reference's test suite (fnv128 of "" and "a").
        assert_eq!(digest(b""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(digest(b"a"), "d228cb696f1a8caf78912b704e4a8964");
    }

    #[test]
    fn a_number_is_its_eight_bytes() {
        let some =
            [0, 1, 0xff, 0x100, 0x00ff_0000, 0x0100_0000_0000_0001, 1 << 63, u64::MAX, 0x1234_0056_0078_0000];
        let quantities = [0.0, -0.0, 1.0, 0.1, f64::NAN, f64::MIN_POSITIVE].map(f64::to_bits);
        let (mut bytes, mut numbers) = (Digester::default(), Digester::default());
        for number in some.into_iter().chain(quantities) {
            bytes.add(&number.to_le_bytes());
            numbers.add_number(number);
            assert_eq!(numbers.0, bytes.0, "{number:x}");
        }
    }

    #[test]
    fn is_blind_to_order_and_nulls() {
        let a: Value = serde_json::from_str(r#"{"b": [1, {"y": null, "x": 2.0}], "a": "é"}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"a": "é", "b": [1, {"x": 2.0}]}"#).unwrap();
        assert_eq!(canonical(&a), canonical(&b));
        assert_eq!(canonical(&a), r#"{"a":"é","b":[1,{"x":2.0}]}"#);
    }

    #[test]
    fn strings_are_written_as_json_writes_them() {
        for plain in ["", "a b", "\"", "\\", "\n\u{1}", "\u{7f}", "é\u{2028}", "/"] {
            let value = serde_json::json!([plain, { plain: plain }]);
            assert_eq!(canonical(&value), value.to_string());
        }
    }
}
