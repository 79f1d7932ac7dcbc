//! Mahimahi delivery traces: each line is a time in milliseconds at which the link may deliver one opportunity's worth of
//! bytes (Netravali et al., USENIX ATC 2015, §3.2), and the trace begins again at its end. The configuration lives here,
//! parsing and delivery in `sim`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker};

/// A recorded trace that drives a link in place of a constant rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// The file: one whole number of milliseconds per line, never decreasing, repeated numbers for several opportunities
    /// in one millisecond. Relative to the scenario's file.
    pub file: String,
    /// How much one opportunity delivers. Mahimahi's is 1504 bytes (1500 and its own header); most published traces mean
    /// 1500.
    #[serde(default = "opportunity")]
    pub opportunity: Bytes,
    /// A 128-bit digest of the file's contents, filled in when the scenario is loaded, so that a result is tied to the
    /// trace that it was made with. Where given, it must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

fn opportunity() -> Bytes {
    Bytes::new(1504)
}

impl TraceConfig {
    /// Complains about opportunities that deliver nothing.
    pub fn check(&self, checker: &mut Checker) {
        checker.require(!self.file.is_empty(), "file", "\"\"", "the path of a trace file");
        checker.require(self.opportunity.get() > 0, "opportunity", self.opportunity, "an amount of at least 1 B");
    }
}
