//! Puts links, flows and routes together into a simulator, and refuses what cannot run. Names, units and files are
//! the scenario's business.

use tailback_core::{BitRate, FlowId, LinkId, Span, StreamName, Texts, Time};
use tailback_link::{LinkSpec, UnlaidLink};
use tailback_transport::AnyReceiver;

use crate::cells_and_multicast::CellsAndMulticast;
use crate::event_queue::EventQueue;
use crate::feeding::Feeding;
use crate::flow::{Flow, FlowSpec};
use crate::gathering::{FEWEST_WIRES, Gathering};
use crate::leaves::LeafOrder;
use crate::links::{Links, SOME};
use crate::neighbours::{Neighbours, Way, Ways};
use crate::paths::Watch;
use crate::recorder::Recorder;
use crate::refusals::{NetworkError, check_link, check_routes, check_unique};
use crate::routes::{Branch, Equals, Routes};
use crate::simulator::Simulator;
use crate::timers;

/// Collects links and flows. Each becomes at once what it will be in the run, so that a large network is never held
/// twice.
pub struct NetworkBuilder {
    seed: u64,
    links: Vec<UnlaidLink>,
    /// In case something is wrong with one of them.
    link_names: Texts,
    flows: Vec<Flow>,
    flow_names: Texts,
    /// Per flow, whether its receiver acts on packets alone and answers each at once.
    answer_at_once: Vec<bool>,
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
            link_names: Texts::default(),
            flows: Vec::new(),
            flow_names: Texts::default(),
            answer_at_once: Vec::new(),
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
        self.link_names.reserve(links);
        self.flows.reserve_exact(flows);
        self.flow_names.reserve(flows);
        self.answer_at_once.reserve_exact(flows);
        self.routes.ends.reserve_exact(flows);
        self.leaves.reserve(links, flows);
    }

    /// Adds a link.
    pub fn link(&mut self, spec: LinkSpec) -> LinkId {
        if let Err(problem) = check_link(&spec) {
            self.problem.get_or_insert(problem);
        }
        self.leaves.link(&spec);
        self.link_names.push(&spec.name);
        self.links.push(UnlaidLink::new(spec, self.seed));
        LinkId::from(self.links.len() - 1)
    }

    /// Adds a link that has a rate, a delay and a drop-tail queue without a bound, and nothing else: as [`NetworkBuilder::link`]
    /// would, for the millions of access links of a large network.
    pub fn open_link(&mut self, name: &str, rate: BitRate, delay: Span) -> LinkId {
        if rate == BitRate::ZERO {
            self.problem.get_or_insert_with(|| NetworkError::ZeroRate(name.to_owned()));
        }
        self.leaves.open_link(StreamName::new(name));
        self.link_names.push(name);
        self.links.push(UnlaidLink::open(rate, delay));
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
    pub fn flow(&mut self, spec: FlowSpec) -> FlowId {
        let name = StreamName::new(&spec.name);
        self.leaves.flow(name);
        self.flow_names.push(&spec.name);
        self.routes.push(&spec.forward, &spec.reverse);
        let answers = matches!(&spec.receiver, AnyReceiver::Stream(receiver) if receiver.answers_at_once());
        self.answer_at_once.push(answers);
        self.flows.push(Flow::new(spec, name, self.seed));
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
        let (leaves, numbers) = std::mem::replace(&mut self.leaves, LeafOrder::new(self.seed)).lay_out();
        self.check(numbers.may_be_alike)?;
        // Nobody asks for them any more.
        (self.link_names, self.flow_names) = Default::default();
        let mut asked = |index: usize| {
            let stopped = index.is_multiple_of(SOME) && !go_on();
            if stopped { Err(NetworkError::Stopped) } else { Ok(()) }
        };
        asked(0)?;
        let mut events =
            if self.wheel { EventQueue::wheel(leaves.len()) } else { EventQueue::new(leaves.len(), horizon) };
        let first = leaves.first_wire();
        let wires = leaves.wires().zip(first..).map(|(link, wire)| (link, numbers.of_link(link, wire)));
        let mut watch = Watch { events: &mut events, recorder: &mut recorder };
        let links =
            Links::new(std::mem::take(&mut self.links), first, wires, &mut watch, &mut || asked(0).is_ok());
        let mut links = links.ok_or(NetworkError::Stopped)?;
        let (mut routes, mut starts) = self.lay_routes(&links, &mut asked)?;
        let cells_and_multicast =
            lay_groups(&self.groups, &self.in_cells, &links, &self.routes, &mut starts, &mut routes);
        routes.forget();
        drop(self.routes);
        let ways = |(&(there, back), &answers_at_once): (&(u32, u32), &bool)| {
            let [there, back] = [there, back].map(|route| Way::of(&routes, route));
            Ways { there, back, answers_at_once }
        };
        let ways: Vec<Ways> = starts.iter().zip(&self.answer_at_once).map(ways).collect();
        let governed = self.aggregates.into_iter().collect();
        // A recorder of packets hears of them in the order of time, and so one of notes.
        let each = R::PACKETS || R::NOTES || self.link_by_link || cells_and_multicast.is_some();
        let neighbours = if each { None } else { Some(Neighbours::of(&routes, links.len(), &ways)) };
        let (feeding, gathering) = neighbours.as_ref().map_or_else(Default::default, |neighbours| {
            let feeding = Feeding::begin(&mut routes, &mut links, &ways, neighbours);
            let gathering =
                Gathering::begin(&mut routes, &mut links, neighbours, &events, self.gathered_from);
            (feeding, gathering)
        });
        let mut calls_ahead = false;
        for (index, (flow, ways)) in self.flows.iter_mut().zip(&ways).enumerate() {
            asked(index)?;
            flow.settle((ways.there.route, ways.back.route), numbers.of_flow(index), &mut events);
            flow.heard_over =
                neighbours.as_ref().and_then(|neighbours| timers::heard_over(&links, ways, neighbours));
            calls_ahead |= flow.heard_over.is_some();
        }
        let flows = (self.flows, ways.as_slice(), calls_ahead);
        let mut sim = Simulator::new(self.seed, horizon, events, leaves, links, flows, routes, recorder);
        sim.carry(cells_and_multicast, governed, feeding, gathering);
        Ok(sim)
    }

    /// The routes of all flows but those of groups, and where each begins, there and back.
    fn lay_routes(
        &self,
        links: &Links,
        asked: &mut impl FnMut(usize) -> Result<(), NetworkError>,
    ) -> Result<(Routes, Vec<(u32, u32)>), NetworkError> {
        let mut routes = Routes::default();
        for &(flow, governs) in &self.aggregates {
            routes.aggregate(flow, governs, self.routes.of(flow.index()).0.len());
        }
        routes.reserve(2 * self.flows.len(), self.routes.links.len());
        let equals = Equals::of(links.len(), self.routes.all());
        // Parts of groups' routes may be equal to others.
        let is_whole = self.groups.is_empty();
        let mut starts = Vec::with_capacity(self.flows.len());
        for index in 0..self.flows.len() {
            asked(index)?;
            let (forward, reverse) = self.routes.of(index);
            let both = [forward, reverse];
            let may_be_equal = both.map(|route| !is_whole || equals.may_have(route));
            starts.push(routes.lay_both(links, both, may_be_equal));
        }
        Ok((routes, starts))
    }

    fn check(&mut self, may_be_alike: bool) -> Result<(), NetworkError> {
        if may_be_alike {
            check_unique(&self.link_names)?;
            check_unique(&self.flow_names)?;
        }
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        if self.routes.are_sound(self.links.len()) {
            return Ok(());
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
    /// Whether one is empty, and the least number that no link has.
    has_empty: bool,
    beyond: usize,
}

impl GivenRoutes {
    fn push(&mut self, forward: &[LinkId], reverse: &[LinkId]) {
        self.links.extend_from_slice(forward);
        let end = self.links.len();
        self.links.extend_from_slice(reverse);
        self.ends.push((end, self.links.len()));
        self.has_empty |= forward.is_empty() || reverse.is_empty();
        let beyond = forward.iter().chain(reverse).map(|link| link.index() + 1).max();
        self.beyond = self.beyond.max(beyond.unwrap_or(0));
    }

    /// Whether [`check_routes`] complains of none.
    fn are_sound(&self, links: usize) -> bool {
        !self.has_empty && self.beyond <= links
    }

    /// All of them.
    fn all(&self) -> impl Iterator<Item = &[LinkId]> {
        (0..self.ends.len()).flat_map(|flow| <[_; 2]>::from(self.of(flow)))
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
    starts: &mut [(u32, u32)],
    routes: &mut Routes,
) -> Option<Box<CellsAndMulticast>> {
    for (group, members) in groups {
        let route = |member: &FlowId| (*member, given.of(member.index()).0);
        let tree = routes.intern_tree(links, &members.iter().map(route).collect::<Vec<_>>());
        starts[group.index()].0 = tree;
        let end = routes.part(Branch::Sender(*group));
        for member in members {
            starts[member.index()].1 = routes.intern(links, given.of(member.index()).1, end);
        }
    }
    CellsAndMulticast::new(in_cells, groups.iter().flat_map(|(_, members)| members), starts)
}
