//! How flows are told apart and how much each may have. What a weight means in time is up to each server.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Packet};

/// A weight for some flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Share {
    /// The flows' numbers in the scenario.
    pub flows: Vec<u32>,
    /// Their weight: service is shared in proportion. Above zero; flows named nowhere have weight 1.
    pub weight: f64,
    /// Whether these flows are one class that shares one queue and one weight; otherwise each has its own.
    pub together: bool,
}

impl Default for Share {
    fn default() -> Self {
        Self { flows: Vec::new(), weight: 1.0, together: false }
    }
}

/// Complains about weights that make no sense.
pub(crate) fn check_shares(shares: &[Share], field: &str, checker: &mut Checker) {
    let mut seen: Vec<u32> = Vec::new();
    for (index, share) in shares.iter().enumerate() {
        checker.within(format!("{field}[{index}]"), |checker| {
            let weight = share.weight;
            checker.require(weight.is_finite() && weight > 0.0, "weight", weight, "a number above zero");
            checker.require(!share.flows.is_empty(), "flows", "an empty list", "at least one flow");
            for flow in &share.flows {
                checker.require(!seen.contains(flow), "flows", flow, "a flow that no other share names");
                seen.push(*flow);
            }
        });
    }
}

/// Multiplies and rotates: enough for small integers, and the same in every run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowHasher(u64);

impl Hasher for FlowHasher {
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.0 = (self.0 ^ u64::from(value)).wrapping_mul(0xf135_7aea_2e62_a9c5);
    }
}

/// A map from flow numbers; only looked up, never walked.
pub(crate) type FlowMap<T> = HashMap<u32, T, BuildHasherDefault<FlowHasher>>;

/// Tells queues apart by a key: the flow's number, or a class's beyond all flows.
#[derive(Clone, Debug)]
pub(crate) struct Classifier {
    of_flow: FlowMap<u32>,
    shares: Vec<(f64, bool)>,
}

impl Classifier {
    pub(crate) fn new(shares: &[Share]) -> Self {
        let of_flow = shares
            .iter()
            .enumerate()
            .flat_map(|(index, share)| share.flows.iter().map(move |flow| (*flow, index as u32)))
            .collect();
        Self { of_flow, shares: shares.iter().map(|share| (share.weight, share.together)).collect() }
    }

    /// The key of the queue that `packet` belongs to.
    #[inline]
    pub(crate) fn key(&self, packet: &Packet) -> u32 {
        if self.shares.is_empty() { packet.flow.0 } else { self.class_key(packet.flow.0) }
    }

    fn class_key(&self, flow: u32) -> u32 {
        match self.of_flow.get(&flow) {
            Some(index) if self.shares[*index as usize].1 => u32::MAX - index,
            _ => flow,
        }
    }

    /// The weight of the queue that `packet` belongs to.
    pub(crate) fn weight(&self, packet: &Packet) -> f64 {
        self.of_flow.get(&packet.flow.0).map_or(1.0, |index| self.shares[*index as usize].0)
    }
}
