//! Puts links, flows and routes together into a simulator, and refuses what cannot run. Names, units and files are
//! the scenario's business.

use std::collections::BTreeMap;

use tailback_core::{FlowId, LinkId, Time};

use crate::event_queue::EventQueue;
use crate::flow::{Flow, FlowSpec};
use crate::leaves::Leaves;
use crate::link::{Link, LinkLeaves, LinkSpec};
use crate::recorder::Recorder;
use crate::simulator::Simulator;

/// Why a network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Two links or two flows of one name would share random streams.
    #[error("the name {0:?} is used twice")]
    DuplicateName(String),
    /// A link at rate zero never delivers.
    #[error("link {0:?} has a rate of zero and no trace")]
    ZeroRate(String),
    /// A route without links, or over a link that does not exist.
    #[error("flow {flow:?}: the {direction} route {problem}")]
    BadRoute {
        /// The flow.
        flow: String,
        /// `"forward"` or `"reverse"`.
        direction: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A schedule out of order.
    #[error("link {0:?}: the schedule's changes are not in the order of time")]
    UnorderedSchedule(String),
}

/// The end of a route: the packet is handed to its flow's receiver or sender.
pub(crate) const HOST: u32 = 1 << 31;
pub(crate) const TO_RECEIVER: u32 = HOST;
pub(crate) const TO_SENDER: u32 = HOST | 1;

/// The flattened table of routes; equal routes share their entries, so that it stays small and in cache.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    table: Vec<u32>,
    known: BTreeMap<Vec<u32>, u32>,
}

impl Routes {
    /// Where the route over these links to this end begins.
    pub(crate) fn intern(&mut self, links: &[LinkId], end: u32) -> u32 {
        let route: Vec<u32> = links.iter().map(|link| link.0).chain([end]).collect();
        let table = &mut self.table;
        *self.known.entry(route).or_insert_with_key(|route| {
            let start = table.len() as u32;
            table.extend(route);
            start
        })
    }

    /// The link or end at a cursor.
    #[inline]
    pub(crate) fn at(&self, cursor: u32) -> u32 {
        self.table[cursor as usize]
    }
}

/// Collects links and flows.
#[derive(Debug, Default)]
pub struct NetworkBuilder {
    seed: u64,
    links: Vec<LinkSpec>,
    flows: Vec<FlowSpec>,
}

impl NetworkBuilder {
    /// An empty network whose random streams derive from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed, links: Vec::new(), flows: Vec::new() }
    }

    /// Adds a link.
    pub fn link(&mut self, spec: LinkSpec) -> LinkId {
        self.links.push(spec);
        LinkId::from(self.links.len() - 1)
    }

    /// The flow that the next call of [`NetworkBuilder::flow`] will add: endpoints carry it in their packets.
    pub fn next_flow(&self) -> FlowId {
        FlowId::from(self.flows.len())
    }

    /// Adds a flow.
    pub fn flow(&mut self, spec: FlowSpec) -> FlowId {
        self.flows.push(spec);
        FlowId::from(self.flows.len() - 1)
    }

    /// The simulator, ready to run up to `horizon`.
    ///
    /// # Errors
    /// The first contradiction found; see [`NetworkError`].
    pub fn build<R: Recorder>(self, horizon: Time, recorder: R) -> Result<Simulator<R>, NetworkError> {
        self.check()?;
        let leaves = Leaves::lay_out(self.seed, &self.links, &self.flows);
        let mut events = EventQueue::new(leaves.len(), horizon);
        let links = self
            .links
            .into_iter()
            .enumerate()
            .map(|(index, spec)| Link::new(spec, self.seed, leaves.of_link(index), &mut events))
            .collect();
        let mut routes = Routes::default();
        let mut flows = Vec::with_capacity(self.flows.len());
        for (index, spec) in self.flows.into_iter().enumerate() {
            let forward = routes.intern(&spec.forward, TO_RECEIVER);
            let reverse = routes.intern(&spec.reverse, TO_SENDER);
            let (sender_leaf, receiver_leaf) = leaves.of_flow(index);
            events.arm(sender_leaf, spec.start);
            flows.push(Flow::new(spec, self.seed, forward, reverse, (sender_leaf, receiver_leaf)));
        }
        Ok(Simulator::new(self.seed, horizon, events, leaves, links, flows, routes, recorder))
    }

    fn check(&self) -> Result<(), NetworkError> {
        let mut names: Vec<&str> = self.links.iter().map(|link| link.name.as_str()).collect();
        check_unique(&mut names)?;
        let mut names: Vec<&str> = self.flows.iter().map(|flow| flow.name.as_str()).collect();
        check_unique(&mut names)?;
        for link in &self.links {
            if link.rate.bits_per_sec() == 0 && link.trace.is_none() {
                return Err(NetworkError::ZeroRate(link.name.clone()));
            }
            if !link.schedule.is_sorted_by_key(|change| change.at) {
                return Err(NetworkError::UnorderedSchedule(link.name.clone()));
            }
        }
        self.flows.iter().try_for_each(|flow| check_routes(flow, self.links.len()))
    }
}

fn check_unique(names: &mut [&str]) -> Result<(), NetworkError> {
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(NetworkError::DuplicateName(pair[0].to_owned())),
        None => Ok(()),
    }
}

pub(crate) fn check_routes(flow: &FlowSpec, links: usize) -> Result<(), NetworkError> {
    for (direction, route) in [("forward", &flow.forward), ("reverse", &flow.reverse)] {
        let problem = if route.is_empty() {
            "has no links".to_owned()
        } else if let Some(link) = route.iter().find(|link| link.index() >= links) {
            format!("names link {} of {links}", link.0)
        } else {
            continue;
        };
        return Err(NetworkError::BadRoute { flow: flow.name.clone(), direction, problem });
    }
    Ok(())
}

/// The leaves of a link that has none.
pub(crate) const NO_LEAVES: LinkLeaves = LinkLeaves { wire: 0, service: 0, late: 0 };
