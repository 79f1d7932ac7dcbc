//! Puts links, flows and routes together into a simulator, and refuses what cannot run. Names, units and files are
//! the scenario's business.

use tailback_core::{FlowId, LinkId, Time};
use tailback_link::{Link, LinkSpec};

use crate::cells_and_multicast::CellsAndMulticast;
use crate::event_queue::EventQueue;
use crate::feeding::Feeding;
use crate::flow::{Flow, FlowSpec};
use crate::gathering::{FEWEST_WIRES, Gathering};
use crate::leaves::LeafOrder;
use crate::links::{Links, SOME};
use crate::neighbours::Neighbours;
use crate::paths::Watch;
use crate::recorder::Recorder;
use crate::refusals::{NetworkError, check_link, check_routes, check_unique};
use crate::routes::{Branch, Routes};
use crate::simulator::Simulator;
use crate::timers;

/// Collects links and flows. Each becomes at once what it will be in the run, so that a large network is never held
/// twice.
pub struct NetworkBuilder {
    seed: u64,
    links: Vec<Link>,
    link_names: Vec<String>,
    flows: Vec<Flow>,
    flow_names: Vec<String>,
    routes: GivenRoutes,
    leaves: LeafOrder,
    /// Multicast groups: the sender's flow and the receivers'.
    groups: Vec<(FlowId, Vec<FlowId>)>,
    in_cells: Vec<FlowId>,
    /// Aggregates: their flows and the links that these govern.
    aggregates: Vec<(FlowId, LinkId)>,
    /// Whether the event queue is the one without a limit of time in any case.
    wheel: bool,
    /// Whether packets go link by link in any case.
    link_by_link: bool,
    /// So many links must lead into one for arrivals there to be taken in late.
    gathered_from: usize,
    /// The first contradiction found.
    problem: Option<NetworkError>,
}

impl NetworkBuilder {
    /// An empty network whose random streams derive from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            links: Vec::new(),
            link_names: Vec::new(),
            flows: Vec::new(),
            flow_names: Vec::new(),
            routes: GivenRoutes::default(),
            leaves: LeafOrder::new(seed),
            groups: Vec::new(),
            in_cells: Vec::new(),
            aggregates: Vec::new(),
            wheel: false,
            link_by_link: false,
            gathered_from: FEWEST_WIRES,
            problem: None,
        }
    }

    /// Makes room for so many links and flows: a list that grows is moved, which takes longest where it is longest.
    pub fn reserve(&mut self, links: usize, flows: usize) {
        self.links.reserve_exact(links);
        self.link_names.reserve_exact(links);
        self.flows.reserve_exact(flows);
        self.flow_names.reserve_exact(flows);
        self.routes.ends.reserve_exact(flows);
        self.leaves.reserve(links, flows);
    }

    /// Adds a link.
    pub fn link(&mut self, spec: LinkSpec) -> LinkId {
        if let Err(problem) = check_link(&spec) {
            self.problem.get_or_insert(problem);
        }
        self.leaves.link(&spec);
        self.link_names.push(spec.name.clone());
        self.links.push(Link::new(spec, self.seed));
        LinkId::from(self.links.len() - 1)
    }

    /// Takes the event queue that has no limit of time, also where the quicker one would do: a run is the same by both, and
    /// this is how to see it.
    pub fn without_limit_of_time(&mut self) {
        self.wheel = true;
    }

    /// Spends an event on every arrival at a link, also where the link is fed by one other link alone, so that packets could
    /// enter it ahead of their time: a run is the same by both, and this is how to see it. [`Simulator::add_flow`] then
    /// takes any route.
    pub fn link_by_link(&mut self) {
        self.link_by_link = true;
    }

    /// Takes arrivals in late, much at a time, where at least so many links lead into one (16, unless this is said): a run is the
    /// same by any number, and this is how to see it.
    #[doc(hidden)]
    pub fn gather_from(&mut self, links: usize) {
        self.gathered_from = links;
    }

    /// The flow that the next call of [`NetworkBuilder::flow`] will add: endpoints carry it in their packets.
    pub fn next_flow(&self) -> FlowId {
        FlowId::from(self.flows.len())
    }

    /// Adds a flow.
    pub fn flow(&mut self, mut spec: FlowSpec) -> FlowId {
        self.leaves.flow(&spec);
        self.flow_names.push(spec.name.clone());
        self.routes.push(&std::mem::take(&mut spec.forward), &std::mem::take(&mut spec.reverse));
        self.flows.push(Flow::new(spec, self.seed));
        FlowId::from(self.flows.len() - 1)
    }

    /// Makes a flow that was added a multicast group: its data is copied to the receivers of `members`, flows added
    /// without a sender of their own to speak of, along the tree that their forward routes make; what their receivers
    /// send goes to the group's sender. A packet that the group's sender sends as of a member's flow goes to that member
    /// alone, along its own route. The group's own forward route and receiver are not used.
    pub fn multicast(&mut self, group: FlowId, members: Vec<FlowId>) {
        if !members.is_empty() {
            self.groups.push((group, members));
        }
    }

    /// Makes a flow that was added an aggregate, whose sender governs a [governed](LinkSpec::governor) link: every route
    /// that leads over this link must go on over the flow's own forward route, and none may be a group's. Packets pass the
    /// flow's sender behind the link, and its receiver behind the last link of the forward route
    /// ([`EdgeEndpoint`](tailback_core::EdgeEndpoint)); what the flow itself sends does not pass the link.
    pub fn aggregate(&mut self, flow: FlowId, governs: LinkId) {
        self.aggregates.push((flow, governs));
    }

    /// Carries a flow's packets as ATM cells (Keshav 1994, §10.1): cut by AAL 5 where they enter the network and put
    /// together where they leave it.
    pub fn carry_in_cells(&mut self, flow: FlowId) {
        self.in_cells.push(flow);
    }

    /// The simulator, ready to run up to `horizon`.
    ///
    /// # Errors
    /// The first contradiction found; see [`NetworkError`].
    pub fn build<R: Recorder>(self, horizon: Time, recorder: R) -> Result<Simulator<R>, NetworkError> {
        self.build_while(horizon, recorder, &mut || true)
    }

    /// The same, as long as `go_on` says so, which is asked after every few links and flows.
    ///
    /// # Errors
    /// Those of [`NetworkBuilder::build`], and [`NetworkError::Stopped`].
    pub fn build_while<R: Recorder>(
        mut self,
        horizon: Time,
        mut recorder: R,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Simulator<R>, NetworkError> {
        self.check()?;
        // Nobody asks for them any more.
        (self.link_names, self.flow_names) = (Vec::new(), Vec::new());
        let mut asked = |index: usize| {
            let stopped = index.is_multiple_of(SOME) && !go_on();
            if stopped { Err(NetworkError::Stopped) } else { Ok(()) }
        };
        asked(0)?;
        let mut leaves = self.leaves.lay_out();
        let mut events =
            if self.wheel { EventQueue::wheel(leaves.len()) } else { EventQueue::new(leaves.len(), horizon) };
        for (index, link) in self.links.iter_mut().enumerate() {
            asked(index)?;
            link.settle(leaves.of_link(index), &mut Watch { events: &mut events, recorder: &mut recorder });
        }
        let links =
            Links::new(self.links, leaves.wires().collect(), leaves.first_wire(), &mut || asked(0).is_ok());
        let mut links = links.ok_or(NetworkError::Stopped)?;
        let mut routes = Routes::default();
        for &(flow, governs) in &self.aggregates {
            routes.aggregate(flow, governs, self.routes.of(flow.index()).0.len());
        }
        routes.reserve(2 * self.flows.len());
        for (index, flow) in self.flows.iter_mut().enumerate() {
            asked(index)?;
            let (forward, reverse) = self.routes.of(index);
            flow.settle(routes.intern_both(&links, forward, reverse), leaves.of_flow(index), &mut events);
        }
        let cells_and_multicast =
            lay_groups(&self.groups, &self.in_cells, &links, &self.routes, &mut self.flows, &mut routes);
        routes.forget();
        leaves.forget();
        let governed = self.aggregates.into_iter().collect();
        // A recorder of packets hears of them in the order of time, and so one of notes.
        let each = R::PACKETS || R::NOTES || self.link_by_link || cells_and_multicast.is_some();
        let (feeding, gathering) = if each {
            Default::default()
        } else {
            let neighbours = Neighbours::of(&routes, links.len(), &self.flows);
            let feeding = Feeding::begin(&mut routes, &mut links, &self.flows, &neighbours);
            timers::find(&routes, &links, &mut self.flows, &neighbours);
            let gathering = Gathering::begin(&mut routes, &mut links, &events, self.gathered_from);
            (feeding, gathering)
        };
        let mut sim = Simulator::new(self.seed, horizon, events, leaves, links, self.flows, routes, recorder);
        sim.carry(cells_and_multicast, governed, feeding, gathering);
        Ok(sim)
    }

    fn check(&mut self) -> Result<(), NetworkError> {
        check_unique(&self.link_names)?;
        check_unique(&self.flow_names)?;
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        self.flow_names.iter().enumerate().try_for_each(|(flow, name)| {
            let (forward, reverse) = self.routes.of(flow);
            check_routes(name, forward, reverse, self.links.len())
        })
    }
}

/// Each flow's routes as they were given, one behind another.
#[derive(Default)]
struct GivenRoutes {
    links: Vec<LinkId>,
    /// Per flow, where its forward and its reverse route end.
    ends: Vec<(usize, usize)>,
}

impl GivenRoutes {
    fn push(&mut self, forward: &[LinkId], reverse: &[LinkId]) {
        self.links.extend(forward);
        let end = self.links.len();
        self.links.extend(reverse);
        self.ends.push((end, self.links.len()));
    }

    /// The forward and the reverse route of a flow.
    fn of(&self, flow: usize) -> (&[LinkId], &[LinkId]) {
        let start = flow.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let (middle, end) = self.ends[flow];
        (&self.links[start..middle], &self.links[middle..end])
    }
}

/// Lays the routes of groups: the sender's becomes a tree, the receivers' ways back end at the sender.
fn lay_groups(
    groups: &[(FlowId, Vec<FlowId>)],
    in_cells: &[FlowId],
    links: &Links,
    given: &GivenRoutes,
    flows: &mut [Flow],
    routes: &mut Routes,
) -> Option<Box<CellsAndMulticast>> {
    for (group, members) in groups {
        let route = |member: &FlowId| (*member, given.of(member.index()).0);
        let tree = routes.intern_tree(links, &members.iter().map(route).collect::<Vec<_>>());
        flows[group.index()].sender_port.route = tree;
        let end = routes.part(Branch::Sender(*group));
        for member in members {
            flows[member.index()].receiver_port.route = routes.intern(links, given.of(member.index()).1, end);
        }
    }
    CellsAndMulticast::new(in_cells, groups.iter().flat_map(|(_, members)| members), flows)
}
