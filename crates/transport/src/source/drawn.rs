//! A quantity that a source draws, as scenarios write it: a distribution as a table, or one value alone, which is always drawn.
//! Which distributions there are is said where [`Distribution`] is.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Distribution;

/// A distribution that may be written as its one value. Always written out as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn<Q>(pub Distribution<Q>);

impl<Q> Deref for Drawn<Q> {
    type Target = Distribution<Q>;
    fn deref(&self) -> &Distribution<Q> {
        &self.0
    }
}

impl<Q> From<Distribution<Q>> for Drawn<Q> {
    fn from(distribution: Distribution<Q>) -> Self {
        Self(distribution)
    }
}

impl<Q: Serialize> Serialize for Drawn<Q> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, Q: Deserialize<'de> + Default> Deserialize<'de> for Drawn<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<Q>(PhantomData<Q>);
        impl<'de, Q: Deserialize<'de> + Default> serde::de::Visitor<'de> for Visitor<Q> {
            type Value = Distribution<Q>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value, or a table with the name of a distribution and its parameters")
            }
            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Distribution<Q>, E> {
                Q::deserialize(StrDeserializer::new(value)).map(|value| Distribution::Constant { value })
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Distribution<Q>, A::Error> {
                Distribution::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData)).map(Self)
    }
}

impl<Q: JsonSchema> JsonSchema for Drawn<Q> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrDistribution", Q::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (value, table) = (generator.subschema_for::<Q>(), generator.subschema_for::<Distribution<Q>>());
        json_schema!({
            "description": "A value alone is always drawn, as by the distribution `constant`.",
            "anyOf": [value, table],
        })
    }
}
