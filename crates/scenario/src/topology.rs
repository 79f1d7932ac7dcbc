//! From a scenario's words to nodes, directed links and routed flows. Here templates and graphs are laid out; flows find
//! their ways in `flows`, aggregates theirs in `aggregates`, buffers their sizes in `buffers`; the flows that queues name are looked
//! up in `named`. Nothing is random but the flows' starts, drawn in `build`.

mod aggregates;
mod buffers;
mod flows;
mod named;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tailback_core::{Bytes, Capacity, FieldError, Span, Texts};

use crate::impairment::HostCoalescing;
use crate::link::{AccessConfig, LinkConfig};
use crate::scenario::Scenario;
pub use aggregates::NetworkAggregate;

use crate::template::{Graph, Home, ParkingLot, Star, TopologyConfig};

/// Asked now and then whether work that takes long is still wanted.
pub type GoOn<'a> = &'a mut dyn FnMut() -> bool;

/// It is asked after so many hosts or flows.
pub(crate) const SOME: usize = 1024;

/// A directed link. A large network has very many, so that what they share stands elsewhere, and their names are made on demand
/// ([`Network::link_name`]).
#[derive(Clone, Debug)]
pub struct NetworkLink {
    /// The node at its near end.
    from: u32,
    /// The node at its far end.
    to: u32,
    /// Its propagation delay, which stands in place of the configuration's.
    pub delay: Span,
    /// Its buffer, resolved, which stands in place of the configuration's.
    pub buffer: Capacity,
    /// All else.
    described: Arc<Described>,
}

/// What the scenario says of links. Thousands of access links share one description.
#[derive(Debug)]
struct Described {
    config: LinkConfig,
    path: Arc<str>,
    is_access: bool,
    /// Where packets wait in it to enter an aggregate, whose scheme lets them go.
    governed: Option<Governed>,
}

/// A link that an aggregate's scheme governs.
#[derive(Debug)]
struct Governed {
    name: String,
    /// The largest packet.
    packet: Bytes,
}

impl NetworkLink {
    /// The node at its near end.
    pub fn from(&self) -> usize {
        self.from as usize
    }

    /// The node at its far end.
    pub fn to(&self) -> usize {
        self.to as usize
    }

    /// What the scenario says of it.
    pub fn config(&self) -> &LinkConfig {
        &self.described.config
    }

    /// Where the scenario describes it, for messages: `topology`, `topology.links[2].reverse`.
    pub fn path(&self) -> &Arc<str> {
        &self.described.path
    }

    /// Whether it is an access link of a template.
    pub fn is_access(&self) -> bool {
        self.described.is_access
    }

    /// Where packets wait in it to enter an aggregate, whose scheme lets them go, the largest packet.
    pub fn governed(&self) -> Option<Bytes> {
        self.described.governed.as_ref().map(|governed| governed.packet)
    }
}

const _: () = assert!(size_of::<NetworkLink>() <= 40, "a large network has millions of links");

/// A link in both directions, before it is laid between two nodes.
struct Cable {
    forward: Arc<Described>,
    reverse: Arc<Described>,
}

impl Cable {
    fn new(config: &LinkConfig, path: &str) -> Self {
        let reverse_path = if config.reverse.is_some() { format!("{path}.reverse") } else { path.to_owned() };
        let forward = LinkConfig { reverse: None, ..config.clone() };
        let described = |config, path| Arc::new(Described { config, path, is_access: false, governed: None });
        Self {
            forward: described(forward, path.into()),
            reverse: described(config.reversed(), reverse_path.into()),
        }
    }
}

/// The cables between hosts of their own and their router, dealt out in turn.
struct AccessCables(Vec<Cable>);

/// Which end of an access cable is the host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostEnd {
    First,
    Second,
}

impl AccessCables {
    /// For so many hosts at routers that are joined by such links; what hosts do with packets happens at their end only.
    fn new(access: &AccessConfig, between: &LinkConfig, count: usize, path: &str, host: HostEnd) -> Self {
        let kinds = access.coalescing.as_ref().map_or(1, HostCoalescing::kinds);
        let cable = |kind| {
            let coalescing = access.coalescing.as_ref().and_then(|all| all.of(kind)).cloned();
            let described = |coalescing| {
                let config = LinkConfig { coalescing, ..access.link(0, count, between) };
                Arc::new(Described { config, path: path.into(), is_access: true, governed: None })
            };
            let (towards, away) = (described(coalescing), described(None));
            match host {
                HostEnd::First => Cable { forward: away, reverse: towards },
                HostEnd::Second => Cable { forward: towards, reverse: away },
            }
        };
        Self((0..kinds).map(cable).collect())
    }

    /// That of a host.
    fn of(&self, host: usize) -> &Cable {
        &self.0[host % self.0.len()]
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
    pub nodes: Texts,
    /// The directed links.
    pub links: Vec<NetworkLink>,
    /// The flows, group by group.
    pub flows: Vec<NetworkFlow>,
    /// The aggregates.
    pub aggregates: Vec<NetworkAggregate>,
    /// The names by which queues name flows, each with the numbers of its flows.
    pub named_by_queues: BTreeMap<String, Range<u32>>,
    /// Nodes by name, without the hosts that templates make; those are among `names`.
    by_name: BTreeMap<String, usize>,
    /// The hosts of each flow's own, by the flow's number: known where they were made, so that nobody has to look for a
    /// million of them by name.
    own: Vec<(Option<usize>, Option<usize>)>,
    /// All nodes by name, and all links by their ends, once somebody asks.
    names: OnceCell<BTreeMap<String, usize>>,
    by_ends: OnceCell<BTreeMap<(usize, usize), usize>>,
}

impl Network {
    /// The network of a scenario whose values have passed their checks, and every complaint about nodes and routes. The
    /// network is complete only where there are none.
    pub fn new(scenario: &Scenario) -> (Self, Vec<FieldError>) {
        Self::new_while(scenario, &mut || true).unwrap_or_default()
    }

    /// The same, as long as `go_on` says so, which is asked after every few hosts and flows.
    pub fn new_while(scenario: &Scenario, go_on: GoOn<'_>) -> Option<(Self, Vec<FieldError>)> {
        let mut network = Self::default();
        match &scenario.topology {
            TopologyConfig::Dumbbell(dumbbell) => {
                let lot = ParkingLot {
                    hops: 1,
                    link: dumbbell.bottleneck.clone(),
                    access: dumbbell.access.clone(),
                    receiver_access: dumbbell.receiver_access.clone(),
                };
                network.chain(scenario, &lot, go_on)?;
            }
            TopologyConfig::ParkingLot(lot) => network.chain(scenario, lot, go_on)?,
            TopologyConfig::Star(star) => network.star(star),
            TopologyConfig::Home(home) => network.home(scenario, home, go_on)?,
            TopologyConfig::Graph(graph) => network.graph(graph),
        }
        let mut errors = network.add_flows(scenario, go_on)?;
        if errors.is_empty() {
            errors = network.add_aggregates(scenario);
        }
        if errors.is_empty() {
            errors = network.find_named(scenario);
        }
        if errors.is_empty() {
            network.resolve_buffers(scenario);
        }
        // Only building needs to look nodes up by name; a network of thousands of hosts is kept for long.
        network.by_name = BTreeMap::new();
        network.own = Vec::new();
        network.names = OnceCell::new();
        network.by_ends = OnceCell::new();
        Some((network, errors))
    }

    fn node(&mut self, name: &str) -> usize {
        if let Some(&node) = self.by_name.get(name) {
            return node;
        }
        let node = self.nodes.push(name);
        self.by_name.insert(name.to_owned(), node);
        node
    }

    fn directed(&mut self, (from, to): (usize, usize), delay: Span, described: &Arc<Described>) {
        self.links.push(NetworkLink {
            from: number_of(from),
            to: number_of(to),
            delay,
            buffer: described.config.buffer,
            described: Arc::clone(described),
        });
    }

    /// A link's name, `from->to`.
    pub fn link_name(&self, link: &NetworkLink) -> String {
        let ends = [link.from(), link.to()].map(|node| self.nodes[node].len());
        let mut name = String::with_capacity(ends[0] + "->".len() + ends[1]);
        self.write_link_name(link, &mut name);
        name
    }

    /// Appends it to a text.
    pub(crate) fn write_link_name(&self, link: &NetworkLink, text: &mut String) {
        if let Some(governed) = &link.described.governed {
            text.push_str(&governed.name);
            return;
        }
        let (from, to) = (&self.nodes[link.from()], &self.nodes[link.to()]);
        text.push_str(from);
        text.push_str("->");
        text.push_str(to);
    }

    /// All links but those that the scenario describes as it does one of the few before, as it does thousands of access links.
    pub(crate) fn differing_links(&self) -> impl Iterator<Item = &NetworkLink> {
        let (mut known, mut next) = ([const { None }; 8], 0);
        self.links.iter().filter(move |link| {
            let described = Arc::as_ptr(&link.described);
            if known.contains(&Some(described)) {
                return false;
            }
            known[next % known.len()] = Some(described);
            next += 1;
            true
        })
    }

    /// Makes room for two hosts of each flow: a list that grows is moved, which takes longest where it is longest.
    fn reserve_hosts(&mut self, flows: usize) {
        self.nodes.reserve(2 * flows);
        self.links.reserve_exact(4 * flows);
        self.own.reserve_exact(flows);
    }

    /// A host that a template makes, of whose name there is no other. There may be millions: their names are written without the
    /// machinery for texts.
    fn host(&mut self, letter: &str, number: usize) -> usize {
        self.nodes.push_joined([letter, itoa::Buffer::new().format(number)])
    }

    /// The node of this name.
    fn named(&self, name: &str) -> Option<usize> {
        let all = || self.nodes.iter().map(str::to_owned).zip(0..).collect();
        self.by_name.get(name).or_else(|| self.names.get_or_init(all).get(name)).copied()
    }

    /// The link from one node to another.
    fn between(&self, from: usize, to: usize) -> Option<usize> {
        let all =
            || self.links.iter().zip(0..).map(|(link, index)| ((link.from(), link.to()), index)).collect();
        self.by_ends.get_or_init(all).get(&(from, to)).copied()
    }

    fn lay(&mut self, from: &str, to: &str, cable: &Cable) {
        let (from, to) = (self.node(from), self.node(to));
        let Cable { forward, reverse } = cable;
        self.directed((from, to), forward.config.delay, forward);
        self.directed((to, from), reverse.config.delay, reverse);
    }

    fn lay_access(&mut self, (from, to): (usize, usize), cable: &Cable, delay: Span) {
        self.directed((from, to), delay, &cable.forward);
        self.directed((to, from), delay, &cable.reverse);
    }

    /// Routers in a chain, and hosts of their own for all flows that do not name another's.
    fn chain(&mut self, scenario: &Scenario, lot: &ParkingLot, go_on: GoOn<'_>) -> Option<()> {
        let hop = Cable::new(&lot.link, "topology");
        for number in 0..lot.hops {
            self.lay(&format!("r{number}"), &format!("r{}", number + 1), &hop);
        }
        let last = format!("r{}", lot.hops);
        let (count, mut number) = (scenario.flow_count(), 0);
        let near = &lot.access;
        let far = lot.receiver_access.as_ref().unwrap_or(near);
        let far_path =
            if lot.receiver_access.is_some() { "topology.receiver_access" } else { "topology.access" };
        let near_cables = AccessCables::new(near, &lot.link, count, "topology.access", HostEnd::First);
        let far_cables = AccessCables::new(far, &lot.link, count, far_path, HostEnd::Second);
        self.reserve_hosts(count);
        for flow in &scenario.flows {
            let (from, to) = (flow.from.as_deref().unwrap_or("r0"), flow.to.as_deref().unwrap_or(&last));
            let [near_router, far_router] =
                [from, to].map(|name| is_router(name, lot.hops).then(|| self.node(name)));
            for _ in 0..flow.count {
                if number % SOME == 0 && !go_on() {
                    return None;
                }
                let near_host = near_router.map(|router| {
                    let host = self.host("s", number);
                    self.lay_access((host, router), near_cables.of(number), near.delay.of(number, count));
                    host
                });
                let far_host = far_router.map(|router| {
                    let host = self.host("d", number);
                    self.lay_access((router, host), far_cables.of(number), far.delay.of(number, count));
                    host
                });
                self.own.push((near_host, far_host));
                number += 1;
            }
        }
        Some(())
    }

    fn star(&mut self, star: &Star) {
        let cable = Cable::new(&star.link, "topology");
        for host in 0..star.hosts {
            self.lay("hub", &format!("h{host}"), &cable);
        }
    }

    /// An access line, with devices and servers of their own for all flows that do not name another's.
    fn home(&mut self, scenario: &Scenario, home: &Home, go_on: GoOn<'_>) -> Option<()> {
        self.lay(Home::ISP, Home::ROUTER, &Cable::new(&home.line, "topology"));
        let count = scenario.flow_count();
        let sides =
            [(Home::ISP, "topology.servers", &home.servers), (Home::ROUTER, "topology.lan", &home.lan)];
        let sides = sides.map(|(name, path, access)| {
            let cables = AccessCables::new(access, &home.line, count, path, HostEnd::First);
            (self.node(name), cables, &access.delay)
        });
        let [servers, lan] = &sides;
        self.reserve_hosts(count);
        for (number, device) in home.devices.iter().enumerate() {
            let ends = (self.node(device), lan.0);
            self.lay_access(ends, lan.1.of(number), lan.2.of(number, home.devices.len()));
        }
        let mut number = 0;
        for flow in &scenario.flows {
            let side = |name: Option<&str>, usual| match name.unwrap_or(usual) {
                Home::ISP => Some(servers),
                Home::ROUTER => Some(lan),
                _ => None,
            };
            let (near, far) = (side(flow.from.as_deref(), Home::ISP), side(flow.to.as_deref(), Home::ROUTER));
            for _ in 0..flow.count {
                if number % SOME == 0 && !go_on() {
                    return None;
                }
                let [near, far] = [(near, "s"), (far, "d")].map(|(side, letter)| {
                    let (router, cables, delay) = side?;
                    let host = self.host(letter, number);
                    self.lay_access((host, *router), cables.of(number), delay.of(number, count));
                    Some(host)
                });
                self.own.push((near, far));
                number += 1;
            }
        }
        Some(())
    }

    fn graph(&mut self, graph: &Graph) {
        for (index, link) in graph.links.iter().enumerate() {
            let cable = Cable::new(&link.link, &format!("topology.links[{index}]"));
            if link.one_way {
                let ends = (self.node(&link.from), self.node(&link.to));
                self.directed(ends, link.link.delay, &cable.forward);
            } else {
                self.lay(&link.from, &link.to, &cable);
            }
        }
    }
}

/// A node's number in four bytes.
fn number_of(node: usize) -> u32 {
    u32::try_from(node).expect("a scenario has fewer than 2^32 nodes")
}

/// Whether a name is that of one of the routers `r0` to `r<hops>` of a chain.
fn is_router(name: &str, hops: u32) -> bool {
    let number = name.strip_prefix('r').and_then(|text| Some((text, text.parse::<u32>().ok()?)));
    number.is_some_and(|(text, number)| number <= hops && number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_thousands_of_access_links_a_few_differ() {
        let network = |text: &str| {
            let text = format!("duration = \"10 s\"\n{text}");
            Network::new(&Scenario::from_toml(&text).unwrap_or_else(|problems| panic!("{problems}"))).0
        };
        let paths = |network: &Network| -> Vec<String> {
            network.differing_links().map(|link| link.path().to_string()).collect()
        };
        let flows = "[[flows]]\nscheme = { name = \"sack\" }\n";
        let dumbbell = network(&format!("topology = {{ template = \"dumbbell\" }}\n{flows}count = 1000\n"));
        let access = "topology.access";
        assert_eq!(paths(&dumbbell), ["topology", "topology", access, access, access, access]);
        let links =
            (0..12).map(|node| format!("[[topology.links]]\nfrom = \"n{node}\"\nto = \"n{}\"\n", node + 1));
        let graph = links.collect::<String>();
        let graph = network(&format!(
            "[topology]\ntemplate = \"graph\"\n{graph}{flows}from = \"n0\"\nto = \"n12\"\n"
        ));
        assert_eq!((graph.links.len(), paths(&graph).len()), (24, 24));
    }
}
