//! Values that a scenario switches off with `"none"` where the default is a value: TOML has no null, and leaving a field out means
//! its default. For `#[serde(with = "or_none")]`. How the values themselves are written is in `written.rs`.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserializer, Serialize, Serializer};

use crate::written::Written;

/// The word for no value.
const NONE: &str = "none";

/// Writes the value, or `"none"`.
///
/// # Errors
/// Of the serializer.
pub fn serialize<T: Serialize, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => serializer.serialize_str(NONE),
    }
}

/// Reads the value, or `"none"`. A null says nothing: it stands for what was left out.
///
/// # Errors
/// Where it is neither, with what is allowed.
pub fn deserialize<'de, T: Written, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    struct OrNone<T>(PhantomData<T>);
    impl<T: Written> Visitor<'_> for OrNone<T> {
        type Value = Option<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}, or {NONE:?}", T::EXPECTED)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Option<T>, E> {
            if text.trim() == NONE {
                return Ok(None);
            }
            let or_none = |error| E::custom(format_args!("{error}, or {NONE:?}"));
            text.parse().map(Some).map_err(or_none)
        }
    }
    deserializer.deserialize_any(OrNone(PhantomData))
}

/// What is allowed, for `#[schemars(schema_with)]`.
pub fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [generator.subschema_for::<T>(), { "type": "string", "enum": [NONE] }] })
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    use super::*;
    use crate::DataAmount;

    fn read(text: &str) -> Result<Option<DataAmount>, String> {
        let text: serde::de::value::StrDeserializer<'_, Error> = text.into_deserializer();
        deserialize(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_or_none_is_read() {
        assert_eq!(read("2 packets"), Ok(Some(DataAmount::Packets(2.0))));
        assert_eq!(read("none"), Ok(None));
    }

    #[test]
    fn what_is_neither_is_told_what_is_allowed() {
        let said = r#"an amount in packets or bytes, such as "10 packets" or "15 kB", or "none""#;
        assert_eq!(read("nothing"), Err(format!(r#""nothing" is not {said}"#)));
        let number: serde::de::value::U32Deserializer<Error> = 3_u32.into_deserializer();
        let error = deserialize::<DataAmount, _>(number).expect_err("no unit");
        assert_eq!(error.to_string(), format!("invalid type: integer `3`, expected {said}"));
    }
}
