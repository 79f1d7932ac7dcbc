//! The run: takes the earliest event, moves packets from link to link and between links and endpoints.
//! Queueing lives in `link`, behaviour of endpoints in `transport`, the order of events in `leaves`.

use tailback_core::{
    Annexes, AppInput, Endpoint, EndpointCx, Event, FlowId, Input, LinkId, Observation, Output, Packet,
    RouteCursor, Span, Time,
};

use crate::event_queue::EventQueue;
use crate::flow::{End, Flow, FlowSpec};
use crate::leaves::{Leaf, Leaves};
use crate::link::{Link, LinkCounters, LinkCx};
use crate::network::{HOST, NetworkError, Routes, TO_RECEIVER, TO_SENDER, check_routes};
use crate::recorder::{Message, PacketEvent, Recorder, View};

/// Encodes and decodes a packet, so that a run can prove that the wire format carries everything.
pub type Codec = fn(Packet, &mut Annexes) -> Packet;

/// A network at work.
pub struct Simulator<R: Recorder = ()> {
    seed: u64,
    now: Time,
    horizon: Time,
    events: EventQueue,
    leaves: Leaves,
    links: Vec<Link>,
    flows: Vec<Flow>,
    routes: Routes,
    annexes: Annexes,
    notes: Vec<(&'static str, f64)>,
    codec: Option<Codec>,
    events_handled: u64,
    recorder: R,
}

/// Calls a method of a link with what it borrows. A macro, since a closure would keep the packet in memory.
macro_rules! on_link {
    ($sim:ident, $id:expr, $method:ident($($argument:expr),*)) => {{
        let id = $id;
        let mut cx = LinkCx {
            now: $sim.now,
            id,
            events: &mut $sim.events,
            annexes: &mut $sim.annexes,
            recorder: &mut $sim.recorder,
        };
        $sim.links[id.index()].$method($($argument,)* &mut cx)
    }};
}

impl<R: Recorder> Simulator<R> {
    #[expect(clippy::too_many_arguments, reason = "called once, by the builder that made the parts")]
    pub(crate) fn new(
        seed: u64,
        horizon: Time,
        events: EventQueue,
        leaves: Leaves,
        links: Vec<Link>,
        flows: Vec<Flow>,
        routes: Routes,
        recorder: R,
    ) -> Self {
        Self {
            seed,
            now: Time::ZERO,
            horizon,
            events,
            leaves,
            links,
            flows,
            routes,
            annexes: Annexes::new(),
            notes: Vec::new(),
            codec: None,
            events_handled: 0,
            recorder,
        }
    }

    /// Sends every packet through `codec` when it leaves its endpoint.
    pub fn force_codec(&mut self, codec: Codec) {
        self.codec = Some(codec);
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events handled so far.
    pub fn events_handled(&self) -> u64 {
        self.events_handled
    }

    /// What was recorded so far.
    pub fn recorder(&self) -> &R {
        &self.recorder
    }

    /// The recorder, at the end of a run.
    pub fn into_recorder(self) -> R {
        self.recorder
    }

    /// Annexes alive: as many as packets on their way carry.
    pub fn live_annexes(&self) -> usize {
        self.annexes.len()
    }

    /// How many links there are.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// How many flows there are, finished ones included.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// A link's counters as of now.
    pub fn link(&mut self, link: LinkId) -> LinkCounters {
        self.links[link.index()].counters(self.now)
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
        self.flows[flow.index()].discarded
    }

    /// When a flow carried its last byte, if it has.
    pub fn finished_at(&self, flow: FlowId) -> Option<Time> {
        self.flows[flow.index()].finished_at
    }

    /// Adds a flow while running; `spec.start` must not be past.
    ///
    /// # Errors
    /// A route that is empty or names no link.
    pub fn add_flow(&mut self, spec: FlowSpec) -> Result<FlowId, NetworkError> {
        check_routes(&spec, self.links.len())?;
        let forward = self.routes.intern(&spec.forward, TO_RECEIVER);
        let reverse = self.routes.intern(&spec.reverse, TO_SENDER);
        let leaves = self.leaves.add_flow();
        self.events.grow(self.leaves.len(), self.horizon);
        self.events.arm(leaves.0, spec.start.max(self.now));
        self.flows.push(Flow::new(spec, self.seed, forward, reverse, leaves));
        Ok(FlowId::from(self.flows.len() - 1))
    }

    /// Runs all events before `until` and sets the clock to it, so that consecutive calls cut a run without a seam.
    pub fn run_until(&mut self, until: Time) {
        loop {
            let (time, leaf) = self.events.next();
            let sample = self.recorder.next_sample();
            if sample <= time && sample <= until {
                self.now = self.now.max(sample);
                let mut view = View { now: self.now, links: &mut self.links, flows: &self.flows };
                self.recorder.sample(&mut view);
                continue;
            }
            if time >= until {
                break;
            }
            debug_assert!(time >= self.now, "the clock never goes back");
            self.now = time;
            self.events_handled += 1;
            match self.leaves.get(leaf) {
                Leaf::Wire(id) => {
                    let link = &mut self.links[id.index()];
                    let packet = link.take_head(&mut self.events);
                    if link.is_rough() {
                        self.leave_rough_link(id, packet);
                    } else {
                        self.forward(packet, packet.route.0);
                    }
                }
                Leaf::Sender(flow) => self.timer(flow, End::Sender, leaf),
                Leaf::Receiver(flow) => self.timer(flow, End::Receiver, leaf),
                Leaf::Service(link) => on_link!(self, link, serve()),
                Leaf::Late(link) => {
                    if let Some(packet) = on_link!(self, link, arrive_late()) {
                        self.forward_out_of_line(packet);
                    }
                }
            }
        }
        self.now = self.now.max(until);
    }

    /// Moves a packet one step along its route, from `cursor` on: into the next link or to an endpoint.
    ///
    /// The cursor travels beside the packet and is written where the packet comes to rest. A packet that is changed
    /// and then copied costs a failed store-to-load forwarding, which was a third of a hop.
    #[inline(always)]
    fn forward(&mut self, packet: Packet, cursor: u32) {
        let hop = self.routes.at(cursor);
        if hop & HOST == 0 {
            on_link!(self, LinkId(hop), offer(packet, RouteCursor(cursor + 1)));
        } else {
            self.deliver(packet, if hop == TO_RECEIVER { End::Receiver } else { End::Sender });
        }
    }

    #[inline(never)]
    fn forward_out_of_line(&mut self, packet: Packet) {
        self.forward(packet, packet.route.0);
    }

    #[inline(never)]
    fn leave_rough_link(&mut self, id: LinkId, packet: Packet) {
        if let Some(packet) = on_link!(self, id, wear(packet)) {
            self.forward_out_of_line(packet);
        }
    }

    #[inline(never)]
    fn deliver(&mut self, packet: Packet, end: End) {
        if packet.is_corrupted() {
            self.flows[packet.flow.index()].discarded += 1;
            self.annexes.free(packet.annex);
            return;
        }
        if R::PACKETS {
            self.recorder.packet(self.now, PacketEvent::Delivered(packet.flow, &packet));
        }
        self.drive(packet.flow, end, Input::Packet(packet));
    }

    /// A leaf of an endpoint's timer is due; the endpoint itself may want to be called only later.
    fn timer(&mut self, id: FlowId, end: End, leaf: u32) {
        let flow = &mut self.flows[id.index()];
        let timer = match end {
            End::Sender => &mut flow.sender_timer,
            End::Receiver => &mut flow.receiver_timer,
        };
        let wanted = if end == End::Sender { timer.due.min(flow.command_at) } else { timer.due };
        if wanted > self.now {
            self.events.arm(leaf, wanted);
            return;
        }
        let input = if end == End::Sender && flow.command_at <= self.now {
            flow.next_command()
        } else {
            timer.due = Time::NEVER;
            Input::Timeout
        };
        self.drive(id, end, input);
        let flow = &self.flows[id.index()];
        let due = match end {
            End::Sender => flow.sender_timer.due.min(flow.command_at),
            End::Receiver => flow.receiver_timer.due,
        };
        self.events.arm(leaf, due);
    }

    /// One mutation of an endpoint, then drain.
    #[inline]
    fn drive(&mut self, id: FlowId, end: End, input: Input) {
        let now = self.now;
        let mut input = Some(input);
        loop {
            let flow = &mut self.flows[id.index()];
            let notes = if R::NOTES { Some(&mut self.notes) } else { None };
            let annexes = &mut self.annexes;
            let (output, route) = match end {
                End::Sender => {
                    let cx = EndpointCx { rng: &mut flow.sender_rng, annexes, notes };
                    (step(&mut flow.sender, now, input.take(), cx), flow.forward)
                }
                End::Receiver => {
                    let cx = EndpointCx { rng: &mut flow.receiver_rng, annexes, notes };
                    (step(&mut flow.receiver, now, input.take(), cx), flow.reverse)
                }
            };
            match output {
                Output::Transmit(packet) => self.transmit(packet, route),
                Output::Event(event) => self.event(id, &event),
                Output::Wait(until) => {
                    self.wait(id, end, until.unwrap_or(Time::NEVER));
                    break;
                }
            }
        }
        if R::NOTES {
            for (name, value) in self.notes.drain(..) {
                self.recorder.note(now, id, name, value);
            }
        }
    }

    #[inline]
    fn transmit(&mut self, mut packet: Packet, route: u32) {
        if let Some(codec) = self.codec {
            packet = codec(packet, &mut self.annexes);
        }
        if R::PACKETS {
            self.recorder.packet(self.now, PacketEvent::Sent(packet.flow, &packet));
        }
        self.forward(packet, route);
    }

    #[inline]
    fn wait(&mut self, id: FlowId, end: End, until: Time) {
        let flow = &mut self.flows[id.index()];
        let timer = match end {
            End::Sender => &mut flow.sender_timer,
            End::Receiver => &mut flow.receiver_timer,
        };
        // An endpoint that was drained and still asks for this instant would hold the clock for ever.
        timer.due = until.max(self.now + Span::from_nanos(1));
        if timer.due < self.events.due(timer.leaf) {
            self.events.arm(timer.leaf, timer.due);
        }
    }

    fn event(&mut self, id: FlowId, event: &Event) {
        match *event {
            Event::Delivered(_) => {}
            Event::Finished => self.flows[id.index()].finished_at = Some(self.now),
            Event::MessageDone { size, began } => {
                self.recorder.message(Message { flow: id, size, began, ended: self.now });
            }
        }
    }
}

/// The mutation, if it is still to come, and one answer.
#[inline]
fn step(endpoint: &mut impl Endpoint, now: Time, input: Option<Input>, mut cx: EndpointCx<'_>) -> Output {
    if let Some(input) = input {
        endpoint.handle(now, input, &mut cx);
    }
    endpoint.poll(now, &mut cx)
}

impl Flow {
    /// The application's command that is due, and when the next one is.
    fn next_command(&mut self) -> Input {
        if self.started {
            self.command_at = Time::NEVER;
            Input::App(AppInput::Stop)
        } else {
            self.started = true;
            self.command_at = self.stop_at;
            Input::App(AppInput::Start)
        }
    }
}
