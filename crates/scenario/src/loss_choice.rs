//! Loss as links have it: a model as a table, its bare name, or a probability alone, which stands for independent loss. Which
//! models there are is said in `loss`.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tailback_core::choice::{Choice, Table};

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
        let written = Table::deserialize(deserializer)?;
        if let Some(probability) = written.as_f64() {
            return Ok(Self(LossConfig::Independent(IndependentLoss {
                probability,
                ..IndependentLoss::default()
            })));
        }
        Choice::deserialize(written).map(|Choice(model)| Self(model)).map_err(D::Error::custom)
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
