//! A table with a `name`, or the bare name as shorthand for a table of defaults: `queue = "red"` says the same as
//! `queue = { name = "red" }`. Which names there are is the business of the wrapped type.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
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

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a table with a name and its parameters")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<T, E> {
                T::deserialize(MapDeserializer::new(std::iter::once(("name", name))))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData)).map(Self)
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
