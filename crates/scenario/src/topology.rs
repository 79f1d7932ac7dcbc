//! From a scenario's words to nodes, directed links and routed flows. Nothing is random here but the flows' starts, and
//! those are drawn in `build`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tailback_core::{BitRate, Bytes, Capacity, FieldError, Span};

use crate::check::some_of;
use crate::flow::FlowConfig;
use crate::link::LinkConfig;
use crate::route::Router;
use crate::scenario::Scenario;
use crate::template::{Graph, ParkingLot, Star, TopologyConfig};

/// A directed link. Thousands of access links share one configuration.
#[derive(Clone, Debug)]
pub struct NetworkLink {
    /// Its name, `from->to`.
    pub name: String,
    /// The node at its near end.
    pub from: usize,
    /// The node at its far end.
    pub to: usize,
    /// Its propagation delay, which stands in place of the configuration's.
    pub delay: Span,
    /// Its buffer, resolved, which stands in place of the configuration's.
    pub buffer: Capacity,
    /// All else.
    pub config: Arc<LinkConfig>,
    /// Where the scenario describes it, for messages: `topology`, `topology.links[2].reverse`.
    pub path: Arc<str>,
    /// Whether it is an access link of a template.
    pub is_access: bool,
}

/// A link in both directions, before it is laid between two nodes.
struct Cable {
    forward: Arc<LinkConfig>,
    reverse: Arc<LinkConfig>,
    paths: (Arc<str>, Arc<str>),
    is_access: bool,
}

impl Cable {
    fn new(config: &LinkConfig, path: &str, is_access: bool) -> Self {
        let reverse_path = if config.reverse.is_some() { format!("{path}.reverse") } else { path.to_owned() };
        Self {
            forward: Arc::new(LinkConfig { reverse: None, ..config.clone() }),
            reverse: Arc::new(config.reversed()),
            paths: (path.into(), reverse_path.into()),
            is_access,
        }
    }
}

/// A flow with its routes.
#[derive(Clone, Debug)]
pub struct NetworkFlow {
    /// Its name.
    pub name: String,
    /// The group in the scenario that it belongs to.
    pub group: usize,
    /// The sending and the receiving node.
    pub ends: (usize, usize),
    /// The links that its data passes.
    pub forward: Vec<usize>,
    /// The links that its acknowledgements pass.
    pub reverse: Vec<usize>,
    /// What it is in a multicast group.
    pub role: Role,
}

/// What a flow is in a multicast group, if in any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// None: one sender, one receiver.
    #[default]
    Alone,
    /// The sender; the flows after it, as many, are the receivers.
    Group(usize),
    /// A receiver.
    Member,
}

/// Nodes, links and flows.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The nodes' names.
    pub nodes: Vec<String>,
    /// The directed links.
    pub links: Vec<NetworkLink>,
    /// The flows, group by group.
    pub flows: Vec<NetworkFlow>,
    by_name: BTreeMap<String, usize>,
    by_ends: BTreeMap<(usize, usize), usize>,
}

impl Network {
    /// The network of a scenario whose values have passed their checks, and every complaint about nodes and routes. The
    /// network is complete only where there are none.
    pub fn new(scenario: &Scenario) -> (Self, Vec<FieldError>) {
        let mut network = Self::default();
        match &scenario.topology {
            TopologyConfig::Dumbbell(dumbbell) => network.chain(
                scenario,
                &ParkingLot {
                    hops: 1,
                    link: dumbbell.bottleneck.clone(),
                    access: dumbbell.access.clone(),
                    receiver_access: dumbbell.receiver_access.clone(),
                },
            ),
            TopologyConfig::ParkingLot(lot) => network.chain(scenario, lot),
            TopologyConfig::Star(star) => network.star(star),
            TopologyConfig::Graph(graph) => network.graph(graph),
        }
        let errors = network.add_flows(scenario);
        if errors.is_empty() {
            network.resolve_buffers(scenario);
        }
        // Only building needs to look nodes up by name; a network of thousands of hosts is kept for long.
        network.by_name = BTreeMap::new();
        network.by_ends = BTreeMap::new();
        (network, errors)
    }

    fn node(&mut self, name: &str) -> usize {
        if let Some(&node) = self.by_name.get(name) {
            return node;
        }
        let node = self.nodes.len();
        self.nodes.push(name.to_owned());
        self.by_name.insert(name.to_owned(), node);
        node
    }

    fn directed(
        &mut self,
        ends: (&str, &str),
        delay: Span,
        config: &Arc<LinkConfig>,
        path: &Arc<str>,
        is_access: bool,
    ) {
        let (from, to) = (self.node(ends.0), self.node(ends.1));
        self.by_ends.insert((from, to), self.links.len());
        self.links.push(NetworkLink {
            name: format!("{}->{}", ends.0, ends.1),
            from,
            to,
            delay,
            buffer: config.buffer,
            config: Arc::clone(config),
            path: Arc::clone(path),
            is_access,
        });
    }

    fn lay(&mut self, from: &str, to: &str, cable: &Cable) {
        let Cable { forward, reverse, paths, is_access } = cable;
        self.directed((from, to), forward.delay, forward, &paths.0, *is_access);
        self.directed((to, from), reverse.delay, reverse, &paths.1, *is_access);
    }

    fn lay_access(&mut self, from: &str, to: &str, cable: &Cable, delay: Span) {
        self.directed((from, to), delay, &cable.forward, &cable.paths.0, true);
        self.directed((to, from), delay, &cable.reverse, &cable.paths.1, true);
    }

    /// Routers in a chain, and hosts of their own for all flows that do not name another's.
    fn chain(&mut self, scenario: &Scenario, lot: &ParkingLot) {
        let hop = Cable::new(&lot.link, "topology", false);
        for number in 0..lot.hops {
            self.lay(&format!("r{number}"), &format!("r{}", number + 1), &hop);
        }
        let last = format!("r{}", lot.hops);
        let (count, mut number) = (scenario.flow_count(), 0);
        let near = &lot.access;
        let far = lot.receiver_access.as_ref().unwrap_or(near);
        let far_path =
            if lot.receiver_access.is_some() { "topology.receiver_access" } else { "topology.access" };
        let near_cable = Cable::new(&near.link(0, count), "topology.access", true);
        let far_cable = Cable::new(&far.link(0, count), far_path, true);
        for flow in &scenario.flows {
            let (from, to) = (flow.from.as_deref().unwrap_or("r0"), flow.to.as_deref().unwrap_or(&last));
            for _ in 0..flow.count {
                if is_router(from, lot.hops) {
                    self.lay_access(&format!("s{number}"), from, &near_cable, near.delay.of(number, count));
                }
                if is_router(to, lot.hops) {
                    self.lay_access(to, &format!("d{number}"), &far_cable, far.delay.of(number, count));
                }
                number += 1;
            }
        }
    }

    fn star(&mut self, star: &Star) {
        let cable = Cable::new(&star.link, "topology", false);
        for host in 0..star.hosts {
            self.lay("hub", &format!("h{host}"), &cable);
        }
    }

    fn graph(&mut self, graph: &Graph) {
        for (index, link) in graph.links.iter().enumerate() {
            let cable = Cable::new(&link.link, &format!("topology.links[{index}]"), false);
            if link.one_way {
                let ends = (link.from.as_str(), link.to.as_str());
                self.directed(ends, link.link.delay, &cable.forward, &cable.paths.0, false);
            } else {
                self.lay(&link.from, &link.to, &cable);
            }
        }
    }

    /// The nodes that a flow names, or its template's defaults.
    fn ends_of(scenario: &Scenario, group: usize, number: usize) -> (Option<String>, Option<String>) {
        let flow = &scenario.flows[group];
        let (from, to) = (flow.from.clone(), flow.to.clone());
        let own = |given: Option<String>, letter: char, hops: u32| match given {
            Some(name) if !is_router(&name, hops) => Some(name),
            _ => Some(format!("{letter}{number}")),
        };
        match &scenario.topology {
            TopologyConfig::Dumbbell(_) => (own(from, 's', 1), own(to, 'd', 1)),
            TopologyConfig::ParkingLot(lot) => (own(from, 's', lot.hops), own(to, 'd', lot.hops)),
            TopologyConfig::Star(star) => {
                let to = to.unwrap_or_else(|| "h0".to_owned());
                let turn = number % (star.hosts as usize - 1);
                let host = if to == format!("h{}", turn + 1) { 0 } else { turn + 1 };
                (from.or_else(|| Some(format!("h{host}"))), Some(to))
            }
            TopologyConfig::Graph(_) => (from, to),
        }
    }

    fn add_flows(&mut self, scenario: &Scenario) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut router =
            Router::new(self.nodes.len(), self.links.iter().map(|link| (link.from, link.to, link.delay)));
        let mut number = 0;
        for (group, flow) in scenario.flows.iter().enumerate() {
            if let Some(receivers) = &flow.receivers {
                errors.extend(self.add_group(scenario, (group, number), receivers, &mut router));
                number += 1;
                continue;
            }
            let mut complaints = BTreeSet::new();
            for member in 0..flow.count {
                let named = Self::ends_of(scenario, group, number);
                match self.routed(flow, named, &mut router) {
                    Ok((ends, forward, reverse)) => {
                        let name = flow.member(member);
                        self.flows.push(NetworkFlow {
                            name,
                            group,
                            ends,
                            forward,
                            reverse,
                            role: Role::Alone,
                        });
                    }
                    Err((field, value, allowed)) => {
                        // Members of a group share their ends' description: say it once.
                        if complaints.insert(field) {
                            errors.push(FieldError {
                                field: format!("flows[{group}].{field}"),
                                value,
                                allowed,
                            });
                        }
                    }
                }
                number += 1;
            }
        }
        errors
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
        let complaint = |field: &str, value: String, allowed: String| FieldError {
            field: format!("flows[{group}].{field}"),
            value,
            allowed,
        };
        if !matches!(scenario.topology, TopologyConfig::Star(_) | TopologyConfig::Graph(_)) {
            let allowed = "none in this topology; the topologies star and graph allow them".to_owned();
            return vec![complaint("receivers", format!("{receivers:?}"), allowed)];
        }
        let (from, _) = Self::ends_of(scenario, group, number);
        let (mut errors, first) = (Vec::new(), self.flows.len());
        for receiver in receivers {
            match self.routed(flow, (from.clone(), Some(receiver.clone())), router) {
                Ok((ends, forward, reverse)) => {
                    if self.flows.len() == first {
                        let (name, role) = (flow.name.clone(), Role::Group(receivers.len()));
                        let (forward, reverse) = (forward.clone(), reverse.clone());
                        self.flows.push(NetworkFlow { name, group, ends, forward, reverse, role });
                    }
                    let (name, role) = (format!("{} to {receiver}", flow.name), Role::Member);
                    self.flows.push(NetworkFlow { name, group, ends, forward, reverse, role });
                }
                Err((field, value, allowed)) => {
                    let field = if field == "to" { "receivers" } else { field };
                    errors.push(complaint(field, value, allowed));
                }
            }
        }
        errors
    }

    #[expect(clippy::type_complexity, reason = "an intermediate of two callers")]
    fn routed(
        &self,
        flow: &FlowConfig,
        (from, to): (Option<String>, Option<String>),
        router: &mut Router,
    ) -> Result<((usize, usize), Vec<usize>, Vec<usize>), (&'static str, String, String)> {
        let from = self.find("from", from.as_deref())?;
        let to = self.find("to", to.as_deref())?;
        if from == to {
            return Err(("to", format!("{:?}", self.nodes[to]), "a node other than `from`".to_owned()));
        }
        let shortest = |router: &mut Router, from, to, field| {
            router.path(from, to).ok_or_else(|| {
                let value = format!("{:?}", self.nodes[to]);
                (field, value, format!("a node that links lead to from {:?}", self.nodes[from]))
            })
        };
        let forward = match &flow.route {
            Some(between) => self.given("route", from, between, to)?,
            None => shortest(router, from, to, "to")?,
        };
        let backwards = || {
            let mut between = flow.route.clone()?;
            between.reverse();
            self.given("route", to, &between, from).ok()
        };
        let reverse = match &flow.return_route {
            Some(between) => self.given("return_route", to, between, from)?,
            None => match backwards() {
                Some(route) => route,
                None => shortest(router, to, from, "from").map_err(|(field, value, _)| {
                    let there = &self.nodes[to];
                    (field, value, format!("a node that acknowledgements can reach from {there:?}"))
                })?,
            },
        };
        Ok(((from, to), forward, reverse))
    }

    fn find(&self, field: &'static str, name: Option<&str>) -> Result<usize, (&'static str, String, String)> {
        let known = || self.nodes.iter().map(String::as_str).collect::<Vec<_>>();
        let Some(name) = name else {
            return Err((field, String::new(), format!("a node of the graph: {}", some_of(&known(), ""))));
        };
        let found = self.by_name.get(name).copied();
        found.ok_or_else(|| (field, format!("{name:?}"), format!("a node: {}", some_of(&known(), name))))
    }

    /// The links along nodes that the user lists.
    fn given(
        &self,
        field: &'static str,
        from: usize,
        between: &[String],
        to: usize,
    ) -> Result<Vec<usize>, (&'static str, String, String)> {
        let mut passed = BTreeSet::from([from]);
        let (mut at, mut links) = (from, Vec::new());
        let middle: Result<Vec<_>, _> = between.iter().map(|name| self.find(field, Some(name))).collect();
        for next in middle?.into_iter().chain([to]) {
            let (here, there) = (&self.nodes[at], &self.nodes[next]);
            if !passed.insert(next) {
                return Err((field, format!("{there:?} twice"), "a route without loops".to_owned()));
            }
            let link = self.by_ends.get(&(at, next)).copied();
            let missing =
                || (field, format!("{here:?} to {there:?}"), "nodes that links join, in order".to_owned());
            links.push(link.ok_or_else(missing)?);
            at = next;
        }
        Ok(links)
    }

    /// The propagation round trip time of a flow.
    pub fn round_trip(&self, flow: &NetworkFlow) -> Span {
        let links = flow.forward.iter().chain(&flow.reverse);
        links.fold(Span::ZERO, |sum, &link| sum + self.links[link].delay)
    }

    /// Per link, the sum and number of the round trip times of the flows whose data, or else acknowledgements, cross it.
    fn round_trips(&self, route: fn(&NetworkFlow) -> &[usize]) -> Vec<(u128, u128)> {
        let mut sums = vec![(0, 0); self.links.len()];
        for flow in &self.flows {
            let nanos = u128::from(self.round_trip(flow).as_nanos());
            for &link in route(flow) {
                sums[link] = (sums[link].0 + nanos, sums[link].1 + 1);
            }
        }
        sums
    }

    /// Per link, the mean propagation round trip time of the flows whose data crosses it, in seconds; not a number where
    /// none does.
    pub fn mean_round_trips(&self) -> Vec<f64> {
        let sums = self.round_trips(|flow| &flow.forward);
        sums.into_iter().map(|sums| mean(sums).map_or(f64::NAN, Span::as_secs_f64)).collect()
    }

    /// Writes every buffer given in bandwidth-delay products in bytes: the link's rate times the mean propagation round
    /// trip time of the flows whose data crosses it; where none does, of those whose acknowledgements do; where none does
    /// either, twice its own delay. At least one packet.
    fn resolve_buffers(&mut self, scenario: &Scenario) {
        if !self.links.iter().any(|link| matches!(link.buffer, Capacity::MilliBdp(_))) {
            return;
        }
        let data = self.round_trips(|flow| &flow.forward);
        let acks = self.round_trips(|flow| &flow.reverse);
        let least = scenario.flows.iter().map(FlowConfig::packet_size).max();
        let least = least.unwrap_or(Bytes::new(1000));
        for (index, link) in self.links.iter_mut().enumerate() {
            let Capacity::MilliBdp(thousandths) = link.buffer else { continue };
            let round_trip = mean(data[index]).or_else(|| mean(acks[index])).unwrap_or(link.delay * 2);
            link.buffer = Capacity::Bytes(bdp(link.config.rate, round_trip, thousandths).max(least));
        }
    }
}

fn mean((sum, count): (u128, u128)) -> Option<Span> {
    sum.checked_div(count).map(|nanos| Span::from_nanos(nanos as u64))
}

fn bdp(rate: BitRate, round_trip: Span, thousandths: u32) -> Bytes {
    Bytes::from_f64(rate.bytes_in(round_trip).as_f64() * f64::from(thousandths) / 1000.0)
}

/// Whether a name is that of one of the routers `r0` to `r<hops>` of a chain.
fn is_router(name: &str, hops: u32) -> bool {
    let number = name.strip_prefix('r').and_then(|text| Some((text, text.parse::<u32>().ok()?)));
    number.is_some_and(|(text, number)| number <= hops && number.to_string() == text)
}
