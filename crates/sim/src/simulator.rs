//! The run: takes the earliest event and hands it to links (`paths.rs`) or endpoints (`drive.rs`). The order of events
//! lives in `leaves`.

use std::collections::BTreeMap;

use tailback_core::{Endpoint, FlowId, LinkId, Observation, Packet, RouteCursor, StreamName, Time};
use tailback_link::{Begun, Entrance, LinkCounters, PutOff};

use crate::ahead::Ahead;
use crate::cells_and_multicast::CellsAndMulticast;
use crate::event_queue::EventQueue;
use crate::feeding::Feeding;
use crate::flow::{Flow, FlowSpec};
use crate::gathering::Gathering;
use crate::leaves::{Leaf, Leaves};
use crate::links::{Links, Place};
use crate::memory::MemoryLimit;
use crate::neighbours::Ways;
use crate::paths::{Codec, Paths};
use crate::recorder::{Recorder, View};
use crate::refusals::{NetworkError, check_routes};
use crate::routes::{Edge, End, Hop, Routes};

/// A network at work: its flows, and the paths between their endpoints.
pub struct Simulator<R: Recorder = ()> {
    seed: u64,
    horizon: Time,
    leaves: Leaves,
    pub(crate) flows: Vec<Flow>,
    pub(crate) paths: Paths<R>,
    /// Where much is simulated.
    pub(crate) ahead: Option<Ahead>,
    pub(crate) events_handled: u64,
    /// Empty between two uses.
    pub(crate) begun: Vec<Begun>,
    /// Whether some flows' senders may be called ahead of their time (`timers.rs`).
    calls_ahead: bool,
    /// Whether memory is used up.
    stopped: bool,
}

impl<R: Recorder> Simulator<R> {
    #[expect(clippy::too_many_arguments, reason = "called once, by the builder that made the parts")]
    pub(crate) fn new(
        seed: u64,
        horizon: Time,
        events: EventQueue,
        leaves: Leaves,
        links: Links,
        (flows, ways, calls_ahead): (Vec<Flow>, &[Ways], bool),
        routes: Routes,
        recorder: R,
    ) -> Self {
        let mut paths = Paths::new(events, links, routes, recorder);
        let ahead = Ahead::new(&mut paths, ways);
        Self {
            seed,
            horizon,
            leaves,
            flows,
            paths,
            ahead,
            events_handled: 0,
            begun: Vec::new(),
            calls_ahead,
            stopped: false,
        }
    }

    /// Sends every packet through `codec` when it leaves its endpoint.
    pub fn force_codec(&mut self, codec: Codec) {
        self.paths.codec = Some(codec);
    }

    pub(crate) fn carry(
        &mut self,
        cells_and_multicast: Option<Box<CellsAndMulticast>>,
        governed: BTreeMap<FlowId, LinkId>,
        feeding: Feeding,
        gathering: Gathering,
    ) {
        self.paths.gathering = gathering;
        self.paths.feeding = feeding;
        self.paths.cells_and_multicast = cells_and_multicast;
        self.paths.governed = governed;
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.paths.now
    }

    /// Events handled so far, those included that were left out.
    pub fn events_handled(&self) -> u64 {
        let ahead = self.paths.feeding.ahead(&self.paths.links, self.paths.now);
        self.events_handled + self.paths.left_out - ahead
    }

    /// The same with what was done ahead of its time, so that nothing need be looked up: how busy a stretch of a run was.
    pub fn work_done(&self) -> u64 {
        self.events_handled + self.paths.left_out
    }

    /// How many events were left out so far: arrivals at links that nothing else enters than what another link hands on, and
    /// timers of paced senders, which were called ahead of time.
    pub fn events_left_out(&self) -> u64 {
        self.paths.left_out
    }

    /// Whether so much is simulated that what events will touch is fetched some events ahead of them.
    #[doc(hidden)]
    pub fn looks_far_ahead(&self) -> bool {
        self.ahead.as_ref().is_some_and(Ahead::is_far)
    }

    /// At how many links arrivals are taken in late, much at a time, without an event.
    #[doc(hidden)]
    pub fn links_gathered(&self) -> usize {
        self.paths.gathering.len()
    }

    /// What was recorded so far.
    pub fn recorder(&self) -> &R {
        &self.paths.recorder
    }

    /// The recorder, at the end of a run.
    pub fn into_recorder(self) -> R {
        self.paths.recorder
    }

    /// Annexes alive: as many as packets on their way carry.
    pub fn live_annexes(&self) -> usize {
        self.paths.annexes.len()
    }

    /// How many links there are.
    pub fn link_count(&self) -> usize {
        self.paths.links.len()
    }

    /// How many flows there are, finished ones included.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// A link's counters as of now.
    pub fn link(&mut self, link: LinkId) -> LinkCounters {
        let Paths { feeding, links, now, .. } = &mut self.paths;
        feeding.counters(links, link, *now)
    }

    /// What a flow's sender says of itself.
    pub fn sender(&self, flow: FlowId) -> Observation {
        self.flows[flow.index()].sender.observe()
    }

    /// What a flow's receiver says of itself.
    pub fn receiver(&self, flow: FlowId) -> Observation {
        self.flows[flow.index()].receiver.observe()
    }

    /// Damaged packets that a flow's endpoints discarded.
    pub fn discarded(&self, flow: FlowId) -> u64 {
        self.flows[flow.index()].discarded.into()
    }

    /// When a flow carried its last byte, if it has.
    pub fn finished_at(&self, flow: FlowId) -> Option<Time> {
        self.flows[flow.index()].finished_at.finite()
    }

    /// Adds a flow while running; `spec.start` must not be past.
    ///
    /// # Errors
    /// A route that is empty or names no link, or that enters a link by another way than all flows before it, unless the
    /// network was built [link by link](crate::NetworkBuilder::link_by_link).
    pub fn add_flow(&mut self, spec: FlowSpec) -> Result<FlowId, NetworkError> {
        check_routes(&spec.name, &spec.forward, &spec.reverse, self.paths.links.len())?;
        // A new flow may send where only one receiver did.
        self.paths.hand_over_by_events();
        self.paths.gather_no_longer();
        if std::mem::take(&mut self.calls_ahead) {
            self.flows.iter_mut().for_each(|flow| flow.call_by_events(&mut self.paths));
        }
        let Paths { routes: table, links, feeding, .. } = &mut self.paths;
        let laid = table.len();
        let routes = table.lay_both(links, [&spec.forward, &spec.reverse], [true, true]);
        if let Err(problem) = feeding.admit(table, links, laid, &spec.name) {
            table.take_back(laid);
            return Err(problem);
        }
        let leaves = self.leaves.add_flow();
        self.paths.events.grow(self.leaves.len(), self.horizon);
        let name = StreamName::new(&spec.name);
        let mut flow = Flow::new(spec, name, self.seed);
        flow.command_at = flow.command_at.max(self.paths.now);
        flow.settle(routes, leaves, &mut self.paths.events);
        self.flows.push(flow);
        Ok(FlowId::from(self.flows.len() - 1))
    }

    /// Runs all events before `until` and sets the clock to it, so that consecutive calls cut a run without a seam.
    pub fn run_until(&mut self, until: Time) {
        loop {
            let sample = self.paths.recorder.next_sample();
            let looks = self.paths.recorder.looks();
            if !self.run_events(if looks { until.min(sample) } else { until }) {
                return;
            }
            if sample > until {
                break;
            }
            if looks {
                self.paths.now = self.paths.now.max(sample);
            }
            let Paths { now, links, feeding, recorder, .. } = &mut self.paths;
            let now = if looks { *now } else { sample };
            recorder.sample(&mut View { now, links, feeding, flows: &self.flows });
        }
        self.paths.now = self.paths.now.max(until);
    }

    /// Ends runs that take more memory than this.
    pub fn limit_memory(&mut self, limit: MemoryLimit) {
        self.paths.memory = limit;
    }

    /// Whether memory, or a flow that sends without end, has stopped the run: it goes no further, and what it has measured is
    /// not whole.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The flow that has stopped the run because it sends without end at one instant, if one has.
    pub fn endless(&self) -> Option<FlowId> {
        self.paths.endless
    }

    /// Looks at memory, now and then; whether the run may go on.
    #[cold]
    fn may_go_on(&mut self) -> bool {
        self.paths.look_at = self.events_handled + MemoryLimit::EVERY;
        self.stopped |= self.paths.endless.is_some() || self.paths.memory.is_exceeded();
        !self.stopped
    }

    /// Handles all events before `limit`; false where memory is used up before.
    #[inline(never)]
    fn run_events(&mut self, limit: Time) -> bool {
        if self.stopped {
            return false;
        }
        let limit = limit.min(self.paths.events.horizon());
        self.paths.until = limit;
        self.paths.stop = limit.min(self.paths.gathering.alarm());
        self.hand_over_held();
        loop {
            let (time, leaf) = self.paths.events.next();
            if time >= self.paths.stop {
                if self.goes_on() {
                    continue;
                }
                self.take_all_in(limit, Place(0));
                self.let_all_go(limit, 0);
                return true;
            }
            if self.events_handled >= self.paths.look_at && !self.may_go_on() {
                self.take_all_in(time, self.leaves.first_wire_behind(leaf));
                self.let_all_go(time, leaf);
                return false;
            }
            debug_assert!(time >= self.paths.now, "the clock never goes back");
            (self.paths.now, self.paths.leaf) = (time, leaf);
            self.events_handled += 1;
            if let Some(place) = self.leaves.wire(leaf) {
                let (packet, is_rough) = self.paths.take_head(place, leaf);
                if let Some(ahead) = &self.ahead {
                    if ahead.is_far() {
                        Ahead::look_close(&self.paths, &self.leaves, &self.flows);
                        Ahead::look_far(leaf, &self.paths, &self.leaves, &self.flows);
                    } else {
                        Ahead::look_next(&packet, &self.paths, &self.leaves, &self.flows);
                    }
                }
                if is_rough {
                    let (number, way, rest) = packet.words();
                    self.wear(place, number, way, rest);
                } else {
                    self.forward(packet);
                }
            } else {
                self.other_event(leaf);
            }
        }
    }

    /// Moves a packet one step along its route: into the next link or to an endpoint.
    #[inline(always)]
    pub(crate) fn forward(&mut self, packet: Packet) {
        match self.paths.next_hop(&packet) {
            Hop::Link(entrance, place) => {
                self.paths.enter(entrance, place, packet, RouteCursor(packet.route.0 + 1));
            }
            Hop::Feeder(entrance, place) => self.paths.enter_both(entrance, place, packet, packet.route.0),
            Hop::LastFeeder(entrance, place) => {
                let (number, way, rest) = packet.words();
                self.forward_to_end(entrance, place, number, way, rest);
            }
            Hop::Stage(place) => {
                let (number, way, rest) = packet.words();
                match self.paths.put_off(place, packet.route.0 + 1, number, way, rest) {
                    PutOff::Yes => {}
                    PutOff::Full => self.work_off(place, self.paths.now, self.paths.leaf),
                    PutOff::No => self.forward_into_stage(place, number, way, rest),
                }
            }
            Hop::Beside(entrance, place) => self.paths.enter_beside(entrance, place, packet, packet.route.0),
            Hop::Gathered(place) => {
                self.paths.enter_gathered(place, packet, RouteCursor(packet.route.0 + 1));
            }
            Hop::End(end) => {
                let (number, way, rest) = packet.words();
                self.deliver(end, number, way, rest);
            }
            Hop::Branch(end) => {
                let (number, way, rest) = packet.words();
                self.part(end, number, way, rest);
            }
        }
    }

    /// Moves a packet into a link, the link behind it, and to the receiver behind that, as of when it arrives there.
    #[inline(never)]
    fn forward_to_end(&mut self, entrance: Entrance, place: Place, number: u64, way: u64, rest: u64) {
        let packet = Packet::from_words(number, way, rest);
        let cursor = packet.route.0;
        let next = self.paths.behind(cursor);
        if let Some((packet, arrives)) = self.paths.feed(entrance, place, packet, next)
            && let Some(arrives) = self.paths.pass_ahead(place, next, arrives, packet, cursor)
        {
            self.hand_over(packet, arrives);
        }
    }

    /// The service timer of a link is due: of one that feeds others perhaps only to find out what has left it, which is no event
    /// then, but as many as have left.
    fn serve(&mut self, id: LinkId, leaf: u32) {
        let place = self.paths.links.place(id);
        if self.paths.links.look(place).lags() {
            self.events_handled -= 1;
            // What is listed is taken in early enough in any case.
            if self.paths.is_due(place) {
                self.take_in_at(place, self.paths.now, self.leaves.first_wire_behind(leaf));
                self.work_off(place, self.paths.now, leaf + 1);
            }
            self.paths.lag_on(place);
        } else if let Some((packet, arrives)) = self.paths.serve(id) {
            self.hand_over(packet, arrives);
        }
    }

    /// A packet reaches its receiver, which acts on packets alone, as of a time to come.
    #[inline(always)]
    pub(crate) fn hand_over(&mut self, packet: Packet, arrives: Time) {
        let now = std::mem::replace(&mut self.paths.now, arrives);
        self.flows[packet.flow.index()].deliver(packet, End::Receiver, &mut self.paths);
        self.paths.now = now;
    }

    /// What is on a route besides links and the flow's own ends: an aggregate's edge, copies for every branch of a tree, a
    /// group's sender.
    #[cold]
    fn part(&mut self, end: u32, number: u64, way: u64, rest: u64) {
        let packet = Packet::from_words(number, way, rest);
        if let Some(edge) = self.paths.edge_at(end) {
            self.pass(edge, packet);
            return;
        }
        if let Some(group) = self.paths.group_at(end) {
            if let Some(packet) = self.put_together(packet, End::Sender) {
                self.flows[group.index()].deliver_to_group(group, packet, &mut self.paths);
            }
            return;
        }
        for copy in self.paths.copies(packet, end) {
            self.forward(copy);
        }
    }

    /// A packet goes by an aggregate's edge; what the aggregate sends of its own is behind it. Damage shows at the far edge.
    fn pass(&mut self, edge: Edge, mut packet: Packet) {
        let Edge { flow, end, governs } = edge;
        let others_wait = end == End::Sender && self.paths.waits_at(governs);
        packet.route.0 += 1;
        self.forward(packet);
        if end == End::Sender || !packet.is_corrupted() {
            self.flows[flow.index()].pass(flow, end, &packet, others_wait, &mut self.paths);
        }
    }

    /// The packet that an arrival completes; what is not carried in cells is complete.
    #[cold]
    fn put_together(&mut self, packet: Packet, end: End) -> Option<Packet> {
        let flow = packet.flow;
        let (whole, torn) = self.paths.put_together(packet, end);
        self.flows[flow.index()].discarded += torn;
        whole
    }

    #[inline(never)]
    fn deliver(&mut self, end: End, number: u64, way: u64, rest: u64) {
        // A packet of which no address is taken stays in registers.
        let mut words = (number, way, rest);
        if self.paths.cells_and_multicast.is_some() {
            let part = Packet::from_words(number, way, rest);
            let Some(whole) = self.put_together(part, end) else { return };
            words = whole.words();
        }
        let packet = Packet::from_words(words.0, words.1, words.2);
        self.flows[packet.flow.index()].deliver(packet, end, &mut self.paths);
    }

    /// All but the arrival of a wire's head.
    #[inline(never)]
    fn other_event(&mut self, leaf: u32) {
        match self.leaves.get(leaf) {
            Leaf::Wire(_) => {}
            Leaf::Late(link) => {
                if let Some(packet) = self.paths.take_late(link) {
                    self.forward(packet);
                }
            }
            Leaf::Service(link) => self.serve(link, leaf),
            Leaf::Sender(flow) => {
                let is_due = self.flows[flow.index()].sender_timer(flow, &mut self.paths);
                self.events_handled -= u64::from(!is_due);
            }
            Leaf::Receiver(flow) => self.flows[flow.index()].receiver_timer(flow, &mut self.paths),
        }
    }

    /// A packet leaves a wire that may strike it.
    #[inline(never)]
    fn wear(&mut self, place: Place, number: u64, way: u64, rest: u64) {
        let packet = Packet::from_words(number, way, rest);
        if let Some(packet) = self.paths.wear(place, packet) {
            self.forward(packet);
        }
    }
}
