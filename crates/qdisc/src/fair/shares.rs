//! How flows are told apart and how much each may have. What a weight means in time is up to each server.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Packet};

use crate::known::{KnownFlows, NamedFlow};

/// A weight for some flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Share {
    /// The flows, by the names of groups or flows, or by numbers counted from 0 over all groups in their order.
    pub flows: Vec<NamedFlow>,
    /// Their weight: service is shared in proportion. From 0.000001 to 1000000; flows named nowhere have weight 1.
    pub weight: f64,
    /// Whether these flows are one class that shares one queue and one weight; otherwise each has its own.
    pub together: bool,
}

impl Default for Share {
    fn default() -> Self {
        Self { flows: Vec::new(), weight: 1.0, together: false }
    }
}

/// Shares are numbered in 16 bits.
const MOST_SHARES: usize = u16::MAX as usize;

/// Weights beyond these would leave nothing of each other in a sum of real numbers: 1 is lost beside 10¹⁸.
pub(crate) const LEAST_WEIGHT: f64 = 1e-6;
const MOST_WEIGHT: f64 = 1e6;

/// Complains about weights that make no sense.
pub(crate) fn check_shares(shares: &[Share], field: &str, checker: &mut Checker) {
    let many = shares.len();
    checker.require(
        many <= MOST_SHARES,
        field,
        format_args!("{many} shares"),
        format_args!("at most {MOST_SHARES}"),
    );
    let mut seen = BTreeSet::new();
    for (index, share) in shares.iter().enumerate() {
        checker.within(format!("{field}[{index}]"), |checker| {
            let weight = share.weight;
            let may_be = (LEAST_WEIGHT..=MOST_WEIGHT).contains(&weight);
            checker.require(may_be, "weight", weight, "a number from 0.000001 to 1000000");
            check_members(&share.flows, &mut seen, checker);
        });
    }
}

/// Complains about a list of flows that is empty, or names one that is in `seen`, where it puts them.
pub(crate) fn check_members(flows: &[NamedFlow], seen: &mut BTreeSet<NamedFlow>, checker: &mut Checker) {
    checker.require(!flows.is_empty(), "flows", "an empty list", "at least one flow");
    for flow in flows {
        checker.require(seen.insert(flow.clone()), "flows", flow, "a flow that is named only once");
    }
}

/// A lesser part of a link is for nobody: a packet would wait for longer than any run lasts, and near the least number that there
/// is for an infinite time.
const LEAST_RESERVE: f64 = 1e-9;

/// Complains about the part of a link that is reserved for a flow of weight 1, where it makes no sense.
pub(crate) fn check_reserve(reserve: f64, checker: &mut Checker) {
    let ok = (LEAST_RESERVE..=1.0).contains(&reserve);
    checker.require(ok, "reserve", reserve, format!("at least {LEAST_RESERVE}, at most 1"));
}

/// Complains about weights of which one alone would have more than the whole link, where a weight of 1 has the part
/// `reserve` of it.
pub(crate) fn check_reservations(shares: &[Share], reserve: f64, checker: &mut Checker) {
    for (index, share) in shares.iter().enumerate() {
        // The slack is for weights like 1/3 × 3.
        let ok = share.weight * reserve <= 1.0 + 1e-9;
        checker.within(format!("shares[{index}]"), |checker| {
            checker.require(
                ok,
                "weight",
                share.weight,
                format_args!("at most {}: the whole link", 1.0 / reserve),
            );
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

/// Tells which share a flow has, and which flows share one queue.
#[derive(Clone, Debug)]
pub(crate) struct Classifier {
    of_flow: FlowMap<u16>,
    /// Whether each share is one class; shares are numbered from 1.
    together: Vec<bool>,
    /// The weight of each share, after the 1 of those that none names.
    weights: Vec<f64>,
}

impl Classifier {
    /// The share of a flow that none names.
    pub(crate) const NO_SHARE: u16 = 0;

    pub(crate) fn new(shares: &[Share], known: &KnownFlows) -> Self {
        let of_flow = shares
            .iter()
            .zip(1..)
            .flat_map(|(share, number)| known.numbers(&share.flows).map(move |flow| (flow, number)))
            .collect();
        let weights = std::iter::once(1.0).chain(shares.iter().map(|share| share.weight)).collect();
        Self { of_flow, together: shares.iter().map(|share| share.together).collect(), weights }
    }

    /// Whether there are no shares.
    #[inline]
    pub(crate) const fn is_trivial(&self) -> bool {
        self.together.is_empty()
    }

    /// How many numbers classes may have.
    #[inline]
    pub(crate) const fn classes(&self) -> u32 {
        self.together.len() as u32
    }

    /// The number of the class that a share is; `None` where each of its flows is alone.
    #[inline]
    pub(crate) fn class(&self, share: u16) -> Option<u32> {
        let class = u32::from(share).checked_sub(1)?;
        self.together[class as usize].then_some(class)
    }

    /// The share that names the flow of `packet`.
    #[inline]
    pub(crate) fn share(&self, packet: &Packet) -> u16 {
        self.of_flow.get(&packet.flow.0).copied().unwrap_or(Self::NO_SHARE)
    }

    /// The weight of a share.
    #[inline]
    pub(crate) fn weight_of(&self, share: u16) -> f64 {
        self.weights[usize::from(share)]
    }
}
