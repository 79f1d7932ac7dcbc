//! Who is recorded, by what `record` says: found once for all flows and links, so that a long list of names costs a look-up for
//! each of them. What is recorded of them is said in `record`.

use std::collections::BTreeSet;

use crate::record::{Which, WhichClass};
use crate::scenario::Scenario;
use crate::topology::{Network, NetworkFlow, NetworkLink};

/// Names, or a class of them.
enum Wanted<'a> {
    Class(WhichClass),
    Named(BTreeSet<&'a str>),
}

impl<'a> Wanted<'a> {
    fn new(which: &'a Which) -> Self {
        match which {
            Which::Class(class) => Self::Class(*class),
            Which::Named(names) => Self::Named(names.iter().map(String::as_str).collect()),
        }
    }
}

/// The flows, aggregates and links of a scenario that have a time series.
pub(crate) struct Chosen<'a> {
    scenario: &'a Scenario,
    network: &'a Network,
    flows: Wanted<'a>,
    links: Wanted<'a>,
}

impl<'a> Chosen<'a> {
    /// Those of a scenario on its network.
    pub(crate) fn new(scenario: &'a Scenario, network: &'a Network) -> Self {
        let (flows, links) = (Wanted::new(&scenario.record.flows), Wanted::new(&scenario.record.links));
        Self { scenario, network, flows, links }
    }

    /// Whether a flow has a time series.
    pub(crate) fn has_flow(&self, flow: &NetworkFlow) -> bool {
        match &self.flows {
            Wanted::Class(class) => *class != WhichClass::None,
            Wanted::Named(names) => {
                let group = &self.scenario.flows[flow.group].name;
                names.contains(flow.name.as_str()) || names.contains(group.as_str())
            }
        }
    }

    /// Whether an aggregate has a time series.
    pub(crate) fn has_aggregate(&self, name: &str) -> bool {
        match &self.flows {
            Wanted::Class(class) => *class != WhichClass::None,
            Wanted::Named(names) => names.contains(name),
        }
    }

    /// Whether a link has a time series.
    pub(crate) fn has_link(&self, link: &NetworkLink) -> bool {
        match &self.links {
            Wanted::Class(WhichClass::All) => true,
            Wanted::Class(WhichClass::Main) => !link.is_access(),
            Wanted::Class(WhichClass::None) => false,
            Wanted::Named(names) => names.contains(self.network.link_name(link).as_str()),
        }
    }
}
