//! Loss as links have it: a model as a table, its bare name, or a probability alone, which stands for independent loss. Which
//! models there are is said in `loss`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tailback_core::Choice;

use crate::loss::{IndependentLoss, LossConfig};

/// A loss model. Always written out as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct LossChoice(pub LossConfig);

impl Deref for LossChoice {
    type Target = LossConfig;
    fn deref(&self) -> &LossConfig {
        &self.0
    }
}

impl Serialize for LossChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LossChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = LossConfig;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability, a name, or a table with a name and its parameters")
            }
            fn visit_f64<E: serde::de::Error>(self, probability: f64) -> Result<LossConfig, E> {
                Ok(LossConfig::Independent(IndependentLoss { probability, ..IndependentLoss::default() }))
            }
            fn visit_u64<E: serde::de::Error>(self, probability: u64) -> Result<LossConfig, E> {
                self.visit_f64(probability as f64)
            }
            fn visit_i64<E: serde::de::Error>(self, probability: i64) -> Result<LossConfig, E> {
                self.visit_f64(probability as f64)
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<LossConfig, E> {
                Choice::deserialize(serde::de::value::StrDeserializer::new(name)).map(|Choice(model)| model)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<LossConfig, A::Error> {
                LossConfig::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Visitor).map(Self)
    }
}

impl JsonSchema for LossChoice {
    fn schema_name() -> Cow<'static, str> {
        Choice::<LossConfig>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let named = Choice::<LossConfig>::json_schema(generator);
        let mut alternatives =
            vec![json_schema!({ "type": "number", "minimum": 0, "maximum": 1 }).to_value()];
        alternatives
            .extend(named.get("anyOf").and_then(|list| list.as_array()).into_iter().flatten().cloned());
        json_schema!({
            "description": "A number is the probability of independent loss. The bare name stands for the table with this \
                            name and every parameter at its default.",
            "anyOf": alternatives,
        })
    }
}
