//! What a discipline says of itself, in its own file: [`QueueConfig`], and what goes in there. No discipline is named here;
//! all of them are in `config.rs`.

use tailback_core::{BitRate, Bytes, Capacity, Checker};

use crate::fair::Share;
use crate::known::{KnownFlows, NamedFlow};

/// What a discipline needs to know of the link it is built for.
#[derive(Clone, Debug)]
pub struct BuildCx {
    /// The link's buffer, already resolved: packets, bytes or unlimited.
    pub capacity: Capacity,
    /// The server's nominal rate.
    pub rate: BitRate,
    /// The size of a typical packet, for thresholds written in packets and for idle times.
    pub mean_packet: Bytes,
    /// What packets do not say of their flows.
    pub flows: KnownFlows,
}

/// One discipline, as a listing shows it.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name in scenarios.
    pub name: &'static str,
    /// The family it belongs to.
    pub family: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Where it is published.
    pub source: &'static str,
}

/// Lists of flows, each with the path of its field.
pub type FlowLists<'a> = Vec<(String, &'a [NamedFlow])>;

/// Queues that a discipline is made of, each with the path of its field.
pub type QueuesWithin<'a> = Vec<(String, &'a dyn Within)>;

/// A queue within another: what is asked of the whole is asked of it too.
pub trait Within {
    /// The switches that turn marks on, each as the path of its field.
    fn ecn_switches(&self) -> Vec<String>;

    /// The lists of flows that shares, classes and levels name.
    fn flow_lists(&self) -> FlowLists<'_>;
}

/// A discipline with its parameters: what it says of itself. Its row in `config.rs` is all that stands elsewhere.
pub trait QueueConfig {
    /// The discipline at work: one that `builtin.rs` holds inline, or a box of any
    /// [`QueueDiscipline`](tailback_core::QueueDiscipline) or [`ArrivalPolicy`](tailback_core::ArrivalPolicy).
    type Queue;

    /// What is known without its parameters.
    fn info(&self) -> &'static Info;

    /// Complains about every parameter that makes no sense.
    fn check(&self, checker: &mut Checker) {
        let _ = checker;
    }

    /// The discipline for the link that `cx` describes.
    fn build(&self, cx: &BuildCx) -> Self::Queue;

    /// Whether its switch `ecn` turns marks on.
    fn ecn(&self) -> bool {
        false
    }

    /// The lists of flows that its own shares, classes and levels name.
    fn flow_lists(&self) -> FlowLists<'_> {
        Vec::new()
    }

    /// The queues that it is made of.
    fn queues_within(&self) -> QueuesWithin<'_> {
        Vec::new()
    }
}

/// Complains about a gain that nothing could be multiplied with.
pub(crate) fn check_gain(name: &'static str, gain: f64, checker: &mut Checker) {
    checker.require(gain > 0.0 && gain <= MOST_GAIN, name, gain, format!("above 0, at most {MOST_GAIN}"));
}

/// A law with more than this jumps from one end to the other at every step. With numbers near the largest that there is, it
/// would compute with infinite ones.
pub(crate) const MOST_GAIN: f64 = 1e6;

/// The flows of a field that lists tables.
pub(crate) fn numbered<'a>(list: &str, flows: impl Iterator<Item = &'a Vec<NamedFlow>>) -> FlowLists<'a> {
    flows.enumerate().map(|(index, flows)| (format!("{list}[{index}].flows"), &flows[..])).collect()
}

/// The flows of shares.
pub(crate) fn shared(shares: &[Share]) -> FlowLists<'_> {
    numbered("shares", shares.iter().map(|share| &share.flows))
}
