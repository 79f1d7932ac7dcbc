//! The one schema: JSON Schema (draft 2020-12) made from the structs, with defaults, units and documentation. The
//! reference in the docs, the Python types and the first pass of validation all come from it.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::scenario::Scenario;

/// The schema of a scenario. Quantities are strings with the formats `time`, `rate`, `bytes`, `capacity` and `data`.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let generator = SchemaSettings::draft2020_12().into_generator();
        generator.into_root_schema_for::<Scenario>().to_value()
    });
    &SCHEMA
}
