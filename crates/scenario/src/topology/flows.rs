//! Flows in a network: the nodes that they name, and the links on their ways there and back.

use std::collections::BTreeSet;

use tailback_core::FieldError;

use super::{GoOn, Network, NetworkFlow, Role, SOME, is_router};
use crate::check::some_of;
use crate::flow::FlowConfig;
use crate::route::Router;
use crate::scenario::Scenario;
use crate::template::{Home, TopologyConfig};

/// So many members of a group are looked at where one has no way: each complaint looks through the names of all nodes, and they
/// are alike.
const MEMBERS: u32 = 64;

/// Where a flow, or an aggregate, runs.
pub(super) struct Way {
    pub(super) ends: (usize, usize),
    pub(super) forward: Vec<usize>,
    pub(super) reverse: Vec<usize>,
}

/// The nodes between the ends that were given, there and back.
type Given<'a> = (Option<&'a [String]>, Option<&'a [String]>);

impl FlowConfig {
    fn given(&self) -> Given<'_> {
        (self.route.as_deref(), self.return_route.as_deref())
    }
}

/// A complaint about a field of a flow, which [`of_group`] completes.
pub(super) fn complaint(field: &str, value: String, allowed: impl Into<String>) -> FieldError {
    FieldError { field: field.to_owned(), value, allowed: allowed.into() }
}

/// A complaint about a flow with the path of its group.
fn of_group(group: usize, error: FieldError) -> FieldError {
    FieldError { field: format!("flows[{group}].{}", error.field), ..error }
}

impl Network {
    /// The nodes that a flow names, or its template's defaults.
    fn ends_of(scenario: &Scenario, group: usize, number: usize) -> (Option<String>, Option<String>) {
        let flow = &scenario.flows[group];
        let (from, to) = (flow.from.clone(), flow.to.clone());
        let its_own = |given: Option<String>, letter: char, is_router: &dyn Fn(&str) -> bool| match given {
            Some(name) if !is_router(&name) => Some(name),
            _ => Some(format!("{letter}{number}")),
        };
        let own = |given, letter, hops| its_own(given, letter, &|name| is_router(name, hops));
        match &scenario.topology {
            TopologyConfig::Dumbbell(_) => (own(from, 's', 1), own(to, 'd', 1)),
            TopologyConfig::ParkingLot(lot) => (own(from, 's', lot.hops), own(to, 'd', lot.hops)),
            TopologyConfig::Star(star) => {
                let to = to.unwrap_or_else(|| "h0".to_owned());
                let turn = number % (star.hosts as usize - 1);
                let host = if to == format!("h{}", turn + 1) { 0 } else { turn + 1 };
                (from.or_else(|| Some(format!("h{host}"))), Some(to))
            }
            TopologyConfig::Home(_) => {
                let is_end = |name: &str| [Home::ISP, Home::ROUTER].contains(&name);
                (its_own(from, 's', &is_end), its_own(to, 'd', &is_end))
            }
            TopologyConfig::Graph(_) => (from, to),
        }
    }

    pub(super) fn add_flows(&mut self, scenario: &Scenario, go_on: GoOn<'_>) -> Option<Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut router =
            Router::new(self.nodes.len(), self.links.iter().map(|link| (link.from(), link.to(), link.delay)));
        self.flows.reserve_exact(scenario.flow_count());
        let mut number = 0;
        for (group, flow) in scenario.flows.iter().enumerate() {
            if let Some(receivers) = &flow.receivers {
                errors.extend(self.add_group(scenario, (group, number), receivers, &mut router));
                number += 1;
                continue;
            }
            let mut complaints = BTreeSet::new();
            for member in 0..flow.count {
                if !complaints.is_empty() && member >= MEMBERS {
                    number += (flow.count - member) as usize;
                    break;
                }
                if number % SOME == 0 && !go_on() {
                    return None;
                }
                let way = match self.own.get(number) {
                    // The names of the ends are long known and need not be made again.
                    Some(&(Some(from), Some(to))) => self.way_between((from, to), flow.given(), &mut router),
                    _ => self.routed(flow, Self::ends_of(scenario, group, number), &mut router),
                };
                match way {
                    Ok(Way { ends, forward, reverse }) => {
                        let (name, role) = (flow.member(member), Role::Alone);
                        self.flows.push(NetworkFlow { name, group, ends, forward, reverse, role });
                    }
                    // Members of a group share their ends' description: say it once.
                    Err(error) => {
                        if complaints.insert(error.field.clone()) {
                            errors.push(of_group(group, error));
                        }
                    }
                }
                number += 1;
            }
        }
        Some(errors)
    }

    /// A multicast group: its sender's flow, then one for each receiver.
    fn add_group(
        &mut self,
        scenario: &Scenario,
        (group, number): (usize, usize),
        receivers: &[String],
        router: &mut Router,
    ) -> Vec<FieldError> {
        let flow = &scenario.flows[group];
        if !matches!(scenario.topology, TopologyConfig::Star(_) | TopologyConfig::Graph(_)) {
            let allowed = "none in this topology; the topologies star and graph allow them";
            return vec![of_group(group, complaint("receivers", format!("{receivers:?}"), allowed))];
        }
        let (from, _) = Self::ends_of(scenario, group, number);
        let (mut errors, first) = (Vec::new(), self.flows.len());
        for receiver in receivers {
            match self.routed(flow, (from.clone(), Some(receiver.clone())), router) {
                Ok(Way { ends, forward, reverse }) => {
                    if self.flows.len() == first {
                        let (name, role) = (flow.name.clone(), Role::Group(receivers.len()));
                        let (forward, reverse) = (forward.clone(), reverse.clone());
                        self.flows.push(NetworkFlow { name, group, ends, forward, reverse, role });
                    }
                    let (name, role) = (format!("{} to {receiver}", flow.name), Role::Member);
                    self.flows.push(NetworkFlow { name, group, ends, forward, reverse, role });
                }
                Err(error) => {
                    let field =
                        if error.field == "to" { "receivers".to_owned() } else { error.field.clone() };
                    errors.push(of_group(group, FieldError { field, ..error }));
                }
            }
        }
        errors
    }

    fn routed(
        &self,
        flow: &FlowConfig,
        (from, to): (Option<String>, Option<String>),
        router: &mut Router,
    ) -> Result<Way, FieldError> {
        self.way((from.as_deref(), to.as_deref()), flow.given(), router)
    }

    /// The way between two nodes, over the nodes between them that were given, or the shortest.
    pub(super) fn way(
        &self,
        (from, to): (Option<&str>, Option<&str>),
        (route, return_route): Given<'_>,
        router: &mut Router,
    ) -> Result<Way, FieldError> {
        let ends = (self.find("from", from)?, self.find("to", to)?);
        self.way_between(ends, (route, return_route), router)
    }

    fn way_between(
        &self,
        (from, to): (usize, usize),
        (route, return_route): Given<'_>,
        router: &mut Router,
    ) -> Result<Way, FieldError> {
        if from == to {
            return Err(complaint("to", format!("{:?}", &self.nodes[to]), "a node other than `from`"));
        }
        let shortest = |router: &mut Router, from, to, field| {
            router.path(from, to).ok_or_else(|| {
                let value = format!("{:?}", &self.nodes[to]);
                complaint(field, value, format!("a node that links lead to from {:?}", &self.nodes[from]))
            })
        };
        let forward = match route {
            Some(between) => self.given("route", from, between, to)?,
            None => shortest(router, from, to, "to")?,
        };
        let backwards = || {
            let mut between = route?.to_vec();
            between.reverse();
            self.given("route", to, &between, from).ok()
        };
        let reverse = match return_route {
            Some(between) => self.given("return_route", to, between, from)?,
            None => match backwards() {
                Some(route) => route,
                None => shortest(router, to, from, "from").map_err(|error| {
                    let there = &self.nodes[to];
                    FieldError {
                        allowed: format!("a node that acknowledgements can reach from {there:?}"),
                        ..error
                    }
                })?,
            },
        };
        Ok(Way { ends: (from, to), forward, reverse })
    }

    fn find(&self, field: &str, name: Option<&str>) -> Result<usize, FieldError> {
        let known = || self.nodes.iter().collect::<Vec<_>>();
        let Some(name) = name else {
            return Err(complaint(
                field,
                String::new(),
                format!("a node of the graph: {}", some_of(&known(), "")),
            ));
        };
        self.named(name).ok_or_else(|| {
            complaint(field, format!("{name:?}"), format!("a node: {}", some_of(&known(), name)))
        })
    }

    /// The links along nodes that the user lists.
    fn given(
        &self,
        field: &str,
        from: usize,
        between: &[String],
        to: usize,
    ) -> Result<Vec<usize>, FieldError> {
        let mut passed = BTreeSet::from([from]);
        let (mut at, mut links) = (from, Vec::new());
        let middle: Result<Vec<_>, _> = between.iter().map(|name| self.find(field, Some(name))).collect();
        for next in middle?.into_iter().chain([to]) {
            let (here, there) = (&self.nodes[at], &self.nodes[next]);
            if !passed.insert(next) {
                return Err(complaint(field, format!("{there:?} twice"), "a route without loops"));
            }
            let link = self.between(at, next);
            let missing =
                || complaint(field, format!("{here:?} to {there:?}"), "nodes that links join, in order");
            links.push(link.ok_or_else(missing)?);
            at = next;
        }
        Ok(links)
    }
}
