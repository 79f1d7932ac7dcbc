//! What a path does to packets besides losing them: corruption, duplication, reordering, coalescing. Each is its own thing
//! and each draws on its own; the models run in `link`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span};
use tailback_transport::source::Drawn;

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

/// The far end takes packets in batches, as a network card that coalesces interrupts or a host whose program must first wake
/// up: the first packet of a batch waits for a time, and all that arrive meanwhile are taken with it, in their order. This is
/// `rx-usecs` of `ethtool` without a greatest number of packets (`rx-frames`). A packet that waits counts as being on the wire:
/// it arrives, for what is recorded too, when it is taken. What is lost on the wire begins no batch, and what `reordering` holds
/// back joins a batch when it arrives at last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoalescingConfig {
    /// How long a batch waits from its first packet on, drawn for each: a time, or a distribution of times.
    pub time: Drawn<Span>,
}

impl CoalescingConfig {
    /// Complains about values outside their range.
    pub fn check(&self, checker: &mut Checker) {
        checker.within("time", |checker| self.time.check(checker));
    }
}

/// How hosts of their own take packets: all alike, or each in turn as a list says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HostCoalescing {
    /// The same for all.
    Same(CoalescingConfig),
    /// The first host takes the first, the second the second, and so on; after the last comes the first again.
    List(Vec<CoalescingConfig>),
}

impl HostCoalescing {
    /// How many kinds of hosts there are.
    pub fn kinds(&self) -> usize {
        match self {
            Self::Same(_) => 1,
            Self::List(list) => list.len(),
        }
    }

    /// What hosts of a kind do.
    pub fn of(&self, kind: usize) -> Option<&CoalescingConfig> {
        match self {
            Self::Same(config) => Some(config),
            Self::List(list) => list.get(kind),
        }
    }

    /// Complains about an empty list and about values outside their range.
    pub fn check(&self, field: &str, checker: &mut Checker) {
        match self {
            Self::Same(config) => checker.within(field, |checker| config.check(checker)),
            Self::List(list) => {
                checker.require(!list.is_empty(), field, "[]", "a list of at least one table");
                for (index, config) in list.iter().enumerate() {
                    checker.within(format!("{field}[{index}]"), |checker| config.check(checker));
                }
            }
        }
    }
}
