//! Stand-ins until `transport` names its sources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker};

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum SourceConfig {
    /// One transfer, finite or without end.
    Bulk(BulkConfig),
}

/// One transfer, finite or without end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkConfig {
    /// How much; without end where absent.
    pub size: Option<Bytes>,
}

impl Default for SourceConfig {
    fn default() -> Self {
        Self::Bulk(BulkConfig::default())
    }
}

impl SourceConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, _: &mut Checker) {}
}
