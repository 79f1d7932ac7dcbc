//! Aggregates in a network: their ways from edge to edge, the links where packets wait to enter, and the flows that pass.

use std::sync::Arc;

use tailback_core::{BitRate, FieldError, Span};

use super::flows::complaint;
use super::{Described, Governed, Network, NetworkFlow, Role};
use crate::aggregate::AggregateConfig;
use crate::link::LinkConfig;
use crate::looks::look;
use crate::route::Router;
use crate::scenario::Scenario;

/// An aggregate with its way.
#[derive(Clone, Debug)]
pub struct NetworkAggregate {
    /// Its name.
    pub name: String,
    /// The nodes of its edges.
    pub ends: (usize, usize),
    /// The link where packets wait to enter.
    pub edge: usize,
    /// The links from edge to edge.
    pub forward: Vec<usize>,
    /// The links that its reports pass.
    pub reverse: Vec<usize>,
    /// The flows whose data, and those whose acknowledgements it takes in.
    pub members: (Vec<usize>, Vec<usize>),
}

impl Network {
    /// Lays the aggregates over flows that have their routes.
    pub(super) fn add_aggregates(&mut self, scenario: &Scenario) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if scenario.aggregates.is_empty() {
            return errors;
        }
        let links = self.links.iter().map(|link| (link.from(), link.to(), link.delay));
        let mut router = Router::new(self.nodes.len(), links);
        let crossing = self.crossing();
        for (number, config) in scenario.aggregates.iter().enumerate() {
            if let Err(error) = self.add_aggregate(number, config, &mut router, &crossing) {
                let field = format!("aggregates[{number}].{}", error.field);
                errors.push(FieldError { field, ..error });
            }
        }
        errors
    }

    fn add_aggregate(
        &mut self,
        number: usize,
        config: &AggregateConfig,
        router: &mut Router,
        crossing: &[Vec<u32>],
    ) -> Result<(), FieldError> {
        let AggregateConfig { name, from, to, route, return_route, .. } = config;
        if self.by_name.contains_key(name) {
            return Err(complaint("name", format!("{name:?}"), "a name that no node has"));
        }
        let named = (Some(from.as_str()), Some(to.as_str()));
        let way = self.way(named, (route.as_deref(), return_route.as_deref()), router)?;
        let slowest = way.forward.iter().map(|&link| self.links[link].config().nominal_rate()).min();
        let edge = self.links.len();
        let members = self.take_in(&way.forward, edge, crossing)?;
        if members.0.is_empty() && members.1.is_empty() {
            let allowed = format!("a node that at least one flow passes after {from:?}, by the same links");
            return Err(complaint("to", format!("{to:?}"), allowed));
        }
        let link = LinkConfig {
            rate: slowest.unwrap_or(BitRate::ZERO),
            delay: Span::ZERO,
            buffer: config.buffer,
            queue: config.queue.clone(),
            ..LinkConfig::default()
        };
        let described = Described {
            config: link,
            path: format!("aggregates[{number}]").into(),
            is_access: false,
            governed: Some(Governed { name: format!("{from}->{name}"), packet: config.segment_size }),
        };
        self.directed((way.ends.0, way.ends.0), Span::ZERO, &Arc::new(described));
        self.aggregates.push(NetworkAggregate {
            name: name.clone(),
            ends: way.ends,
            edge,
            forward: way.forward,
            reverse: way.reverse,
            members,
        });
        Ok(())
    }

    /// By link, the flows whose data or acknowledgements cross it, in order: an aggregate looks at no others.
    fn crossing(&self) -> Vec<Vec<u32>> {
        let mut crossing = vec![Vec::new(); self.links.len()];
        for (index, flow) in (0..).zip(&self.flows) {
            for &link in flow.forward.iter().chain(&flow.reverse) {
                if crossing[link].last() != Some(&index) {
                    crossing[link].push(index);
                }
            }
        }
        crossing
    }

    /// Leads every route over these links through `edge` first; whose routes, forth and back, these are.
    fn take_in(
        &mut self,
        span: &[usize],
        edge: usize,
        crossing: &[Vec<u32>],
    ) -> Result<(Vec<usize>, Vec<usize>), FieldError> {
        let (mut forth, mut back) = (Vec::new(), Vec::new());
        let others = &self.aggregates;
        for &index in &crossing[span[0]] {
            look();
            let index = index as usize;
            let NetworkFlow { name, forward, reverse, role, .. } = &mut self.flows[index];
            for (route, members) in [(forward, &mut forth), (reverse, &mut back)] {
                let Some(at) = route.windows(span.len()).position(|links| links == span) else { continue };
                if *role != Role::Alone {
                    let value = format!("the multicast flow {name:?}");
                    return Err(complaint("to", value, "a way that no flow with `receivers` takes"));
                }
                // The edges of all aggregates before this one are the links behind those of the network.
                let of_edge =
                    |link: &usize| link.checked_sub(crossing.len()).filter(|other| *other < others.len());
                let shares = |other: &usize| others[*other].forward.iter().any(|link| span.contains(link));
                if let Some(other) = route.iter().filter_map(of_edge).filter(shares).min() {
                    let value = format!("the flow {name:?}");
                    let other = &others[other].name;
                    let allowed = format!("a way that shares no link with {other:?}, which takes it in too");
                    return Err(complaint("to", value, allowed));
                }
                route.insert(at, edge);
                members.push(index);
            }
        }
        Ok((forth, back))
    }
}
