//! What queues know of flows that packets do not say themselves: between which hosts they run, and what they are called. How
//! shares, classes and levels name flows stands here too.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A flow by its number, or flows by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NamedFlow {
    /// The flow's number, counted from 0 over all groups in their order.
    Number(u32),
    /// The name of a group, which stands for all of its flows, or of a single flow (`web-3`).
    Name(String),
}

impl NamedFlow {
    /// The name, where it is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Name(name) => Some(name),
        }
    }

    /// The flows of these numbers.
    pub fn numbered(numbers: &[u32]) -> Vec<Self> {
        numbers.iter().copied().map(Self::Number).collect()
    }
}

impl fmt::Display for NamedFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

/// The flows of a network.
#[derive(Clone, Debug, Default)]
pub struct KnownFlows {
    hosts: Option<Arc<[(u32, u32)]>>,
    /// The numbers of each name's flows.
    names: Arc<BTreeMap<String, Range<u32>>>,
}

impl KnownFlows {
    /// The same flows, of which these have these names.
    #[must_use]
    pub fn named(self, names: BTreeMap<String, Range<u32>>) -> Self {
        Self { names: Arc::new(names), ..self }
    }

    /// The sending and the receiving host of a flow, as numbers; hosts of its own where nothing is known of the flow.
    pub fn hosts_of(&self, flow: u32) -> (u32, u32) {
        // Known hosts are numbered from the one end, unknown ones from the other.
        self.hosts.as_ref().and_then(|known| known.get(flow as usize).copied()).unwrap_or((!flow, !flow))
    }

    /// The numbers of flows in a list; a name that is no flow's has none.
    pub fn numbers(&self, list: &[NamedFlow]) -> impl Iterator<Item = u32> {
        list.iter().flat_map(|flow| match flow {
            NamedFlow::Number(number) => *number..number.saturating_add(1),
            NamedFlow::Name(name) => self.names.get(name).cloned().unwrap_or_default(),
        })
    }
}

/// Flows by their hosts, in the order of their numbers.
impl FromIterator<(u32, u32)> for KnownFlows {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(hosts: I) -> Self {
        Self { hosts: Some(hosts.into_iter().collect()), names: Arc::default() }
    }
}
