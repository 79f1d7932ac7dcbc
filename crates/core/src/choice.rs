//! A table with a `name`, or the bare name as shorthand for a table of defaults: `queue = "red"` says the same as
//! `queue = { name = "red" }`. Which names there are, and how a table is read, is the business of the wrapped type.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A tagged choice that may be written as its bare name. Always written out as a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice<T>(pub T);

impl<T> Deref for Choice<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Choice<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> From<T> for Choice<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: Serialize> Serialize for Choice<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// A table of a name and its parameters, as it is written.
pub type Table = serde_json::Value;

/// Why a table could not be read.
pub type Unread = serde_json::Error;

/// What can be chosen by name. It is read in its own crate, from one form: compiled once there, and not anew for each crate and each
/// test that reads it, as what serde derives would be.
pub trait Choosable: Sized {
    /// Reads a table with a name and its parameters.
    ///
    /// # Errors
    /// Says which name or parameter is unknown, or has a value of another kind.
    fn from_table(table: Table) -> Result<Self, Unread>;
}

/// Makes these types of the crate at hand what [`Choice`] reads.
#[macro_export]
macro_rules! choosable {
    ($($choice:ty),+ $(,)?) => {
        $(
            impl $crate::choice::Choosable for $choice {
                fn from_table(table: $crate::choice::Table) -> Result<Self, $crate::choice::Unread> {
                    serde::Deserialize::deserialize(table)
                }
            }
        )+
    };
}

impl<T: Choosable> Choosable for Box<T> {
    fn from_table(table: Table) -> Result<Self, Unread> {
        T::from_table(table).map(Self::new)
    }
}

impl<'de, T: Choosable> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Table::deserialize(deserializer)?;
        read(written).map_err(D::Error::custom).map(Self)
    }
}

/// Reads a bare name or a table.
fn read<T: Choosable>(written: Table) -> Result<T, Unread> {
    match written {
        Table::Object(_) => T::from_table(written),
        Table::String(name) => {
            T::from_table(Table::Object([("name".to_owned(), name.into())].into_iter().collect()))
        }
        other => Err(Unread::custom(format_args!(
            "{other} is neither a name nor a table with a name and its parameters"
        ))),
    }
}

impl<T: JsonSchema> JsonSchema for Choice<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrName", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = variant_names(T::json_schema(generator).as_value());
        let table = generator.subschema_for::<T>();
        json_schema!({
            "description": "The bare name stands for the table with this name and every parameter at its default.",
            "anyOf": [{ "type": "string", "enum": names }, table],
        })
    }
}

/// The `name` constants of an internally tagged enum's schema.
fn variant_names(schema: &serde_json::Value) -> Vec<String> {
    let variants = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(|list| list.as_array());
    variants
        .into_iter()
        .flatten()
        .filter_map(|variant| variant.pointer("/properties/name/const")?.as_str())
        .map(str::to_owned)
        .collect()
}
