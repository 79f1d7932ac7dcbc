//! What a bad path does to packets besides losing them: corruption, duplication, reordering. Each is its own thing
//! and each draws on its own; the models run in `sim`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span};

use crate::loss::probability;
use crate::spread::{Draw, SpanRange};

/// Packets are damaged on the wire: they use buffer and capacity, arrive, and the receiver discards them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CorruptionConfig {
    /// Probability that a packet is damaged, 0 to 1.
    pub probability: f64,
}

impl Default for CorruptionConfig {
    fn default() -> Self {
        Self { probability: 0.001 }
    }
}

impl CorruptionConfig {
    /// Complains about values outside their range.
    pub fn check(&self, checker: &mut Checker) {
        probability(checker, "probability", self.probability);
    }
}

/// Packets arrive twice: the copy right behind the original.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DuplicationConfig {
    /// Probability that a packet is duplicated, 0 to 1.
    pub probability: f64,
}

impl Default for DuplicationConfig {
    fn default() -> Self {
        Self { probability: 0.001 }
    }
}

impl DuplicationConfig {
    /// Complains about values outside their range.
    pub fn check(&self, checker: &mut Checker) {
        probability(checker, "probability", self.probability);
    }
}

/// Packets are held back at the far end, so that later ones overtake them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReorderingConfig {
    /// Probability that a packet is held back, 0 to 1.
    pub probability: f64,
    /// How long it is held back beyond the link's delay: one time, or `{ from, to }` for a uniform draw.
    pub hold: Draw,
}

impl Default for ReorderingConfig {
    fn default() -> Self {
        let hold = SpanRange { from: Span::ZERO, to: Span::from_millis(10) };
        Self { probability: 0.01, hold: Draw::Uniform(hold) }
    }
}

impl ReorderingConfig {
    /// Complains about values outside their range.
    pub fn check(&self, checker: &mut Checker) {
        probability(checker, "probability", self.probability);
        self.hold.check("hold", checker);
    }
}
