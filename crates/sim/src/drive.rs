//! Endpoints at work: one mutation, then drain, until they wait. When they are called is decided in `simulator.rs`,
//! where their packets go in `paths.rs`.

use tailback_core::{
    Allowance, AppInput, Controller, EdgeEndpoint, Endpoint, EndpointCx, Event, FlowId, Input, Kind, Output,
    Packet, Span, Time,
};
use tailback_transport::source::Source;
use tailback_transport::{AnyReceiver, AnySender, DatagramReceiver, DatagramSender, Receiver, Sender};

use crate::flow::{Flow, Port};
use crate::paths::Paths;
use crate::recorder::{Message, PacketEvent, Recorder};
use crate::routes::End;

/// So many packets that an endpoint sends at once are a reason to look at memory.
const MANY: u32 = 1 << 16;

/// Whether the endpoint said that it has finished.
type Finished = bool;

/// What the simulator drives: an endpoint, and of edges of aggregates also what they allow their link.
pub(crate) trait Driven: Endpoint {
    /// See [`EdgeEndpoint::take_allowance`].
    #[inline(always)]
    fn allowance(&mut self) -> Option<Allowance> {
        None
    }
}

impl<C: Controller, S: Source> Driven for Sender<C, S> {}
impl<C: Controller, S: Source> Driven for DatagramSender<C, S> {}
impl Driven for Receiver {}
impl Driven for DatagramReceiver {}
impl Driven for dyn Endpoint + Send {}
impl Driven for dyn EdgeEndpoint + Send {
    fn allowance(&mut self) -> Option<Allowance> {
        self.take_allowance()
    }
}

impl Port {
    /// One mutation of this port's endpoint, then drain; the port then knows when it wants to be called again.
    #[inline(always)]
    fn drive<E: Driven + ?Sized, R: Recorder>(
        &mut self,
        endpoint: &mut E,
        id: FlowId,
        input: Input,
        paths: &mut Paths<R>,
    ) -> Finished {
        endpoint.handle(paths.now, input, &mut self.cx(paths));
        self.drain(endpoint, id, paths)
    }

    #[inline(always)]
    pub(crate) fn drain<E: Driven + ?Sized, R: Recorder>(
        &mut self,
        endpoint: &mut E,
        id: FlowId,
        paths: &mut Paths<R>,
    ) -> Finished {
        let now = paths.now;
        let (mut finished, mut sent) = (false, 0_u32);
        if let Some(allowance) = endpoint.allowance() {
            paths.allow(id, &allowance);
        }
        let until = loop {
            match endpoint.poll(now, &mut self.cx(paths)) {
                Output::Transmit(packet) => {
                    paths.transmit(packet, self.route);
                    sent = sent.wrapping_add(1);
                    if sent % MANY == 0 && paths.is_choked(id, sent) {
                        break now;
                    }
                }
                Output::Event(Event::Delivered(_) | Event::Hint(_) | Event::GaveUp) => {}
                Output::Event(Event::Finished) => finished = true,
                Output::Event(Event::MessageDone { size, began }) => {
                    paths.recorder.message(Message { flow: id, size, began, ended: now });
                }
                Output::Wait(until) => break until.unwrap_or(Time::NEVER),
            }
        };
        if R::NOTES {
            for (name, value) in paths.notes.drain(..) {
                paths.recorder.note(now, id, name, value);
            }
        }
        // An endpoint that was drained and still asks for this instant would hold the clock for ever.
        self.due = until.max(now.after(Span::from_nanos(1)));
        finished
    }

    #[inline(always)]
    pub(crate) fn cx<'a, R: Recorder>(&'a mut self, paths: &'a mut Paths<R>) -> EndpointCx<'a> {
        let notes = if R::NOTES { Some(&mut paths.notes) } else { None };
        EndpointCx { rng: &mut self.rng, annexes: &mut paths.annexes, notes }
    }

    /// A packet has reached an endpoint that is no built-in stream's: the same as [`Port::packet`], in a copy of its own.
    #[inline(never)]
    fn packet_apart<E: Driven + ?Sized, R: Recorder>(
        &mut self,
        endpoint: &mut E,
        paths: &mut Paths<R>,
        number: u64,
        way: u64,
        rest: u64,
    ) -> Finished {
        self.packet(endpoint, paths, Packet::from_words(number, way, rest))
    }

    /// A packet has reached the endpoint, whose code stands inline here. What becomes of the timer is the caller's.
    #[inline(always)]
    fn packet<E: Driven + ?Sized, R: Recorder>(
        &mut self,
        endpoint: &mut E,
        paths: &mut Paths<R>,
        packet: Packet,
    ) -> Finished {
        if R::PACKETS {
            paths.recorder.packet(paths.now, PacketEvent::Delivered(packet.flow, &packet));
        }
        let finished = self.drive(endpoint, packet.flow, Input::Packet(packet), paths);
        if R::OBSERVED && !matches!(packet.kind(), Kind::Data | Kind::Control) {
            paths.recorder.observed(paths.now, packet.flow, &endpoint.observe());
        }
        finished
    }

    /// Moves a receiver's timer's entry in the event queue if it must be earlier.
    #[inline(always)]
    fn bring_forward<R: Recorder>(&mut self, wanted: Time, paths: &mut Paths<R>) {
        if wanted < self.armed {
            self.armed = wanted;
            paths.events.bring_forward(self.leaf, wanted);
        }
    }

    /// The endpoint's timer is due, or its application speaks.
    #[inline(never)]
    fn input<E: Driven + ?Sized, R: Recorder>(
        &mut self,
        endpoint: &mut E,
        paths: &mut Paths<R>,
        id: FlowId,
        input: Input,
    ) -> Finished {
        self.drive(endpoint, id, input, paths)
    }
}

/// Calls a method of a port with its endpoint, whatever that is.
macro_rules! at_end {
    ($flow:expr, $end:expr, $method:ident($($argument:expr),*)) => {
        match $end {
            End::Sender => {
                let port = &mut $flow.sender_port;
                match &mut $flow.sender {
                    AnySender::Stream(sender) => port.$method(sender, $($argument),*),
                    AnySender::Datagram(sender) => port.$method(&mut **sender, $($argument),*),
                    AnySender::Edge(edge) => port.$method(&mut **edge, $($argument),*),
                    AnySender::Custom(sender) => port.$method(&mut **sender, $($argument),*),
                }
            }
            End::Receiver => {
                let port = &mut $flow.receiver_port;
                match &mut $flow.receiver {
                    AnyReceiver::Stream(receiver) => port.$method(receiver, $($argument),*),
                    AnyReceiver::Datagram(receiver) => port.$method(&mut **receiver, $($argument),*),
                    AnyReceiver::Edge(edge) => port.$method(&mut **edge, $($argument),*),
                    AnyReceiver::Custom(receiver) => port.$method(&mut **receiver, $($argument),*),
                }
            }
        }
    };
}

impl Flow {
    /// A packet has reached one of the flow's ends.
    #[inline(always)]
    pub(crate) fn deliver<R: Recorder>(&mut self, packet: Packet, end: End, paths: &mut Paths<R>) {
        if packet.is_corrupted() {
            let (number, way, rest) = packet.words();
            self.discard(end, number, way, rest, paths);
            return;
        }
        let finished = match (end, &mut self.receiver, &mut self.sender) {
            (End::Receiver, AnyReceiver::Stream(receiver), _) => {
                self.receiver_port.packet(receiver, paths, packet)
            }
            (End::Sender, _, AnySender::Stream(_)) => return self.hear(packet, paths),
            _ => {
                let (number, way, rest) = packet.words();
                at_end!(self, end, packet_apart(paths, number, way, rest))
            }
        };
        if finished {
            self.finished_at = paths.now;
        }
        match end {
            End::Sender => self.settle_sender(packet.flow, paths),
            End::Receiver => self.receiver_port.bring_forward(self.receiver_port.due, paths),
        }
    }

    #[cold]
    fn discard<R: Recorder>(&mut self, end: End, number: u64, way: u64, rest: u64, paths: &mut Paths<R>) {
        let packet = Packet::from_words(number, way, rest);
        self.discarded += 1;
        paths.annexes.free(packet.annex);
        if end == End::Sender {
            self.settle_sender(packet.flow, paths);
        }
    }

    /// Calls the sender with other input than a packet.
    pub(crate) fn call_sender<R: Recorder>(&mut self, id: FlowId, input: Input, paths: &mut Paths<R>) {
        if at_end!(self, End::Sender, input(paths, id, input)) {
            self.finished_at = paths.now;
        }
    }

    /// A packet of one of its receivers has reached a multicast group's sender, which is never a built-in stream's.
    pub(crate) fn deliver_to_group<R: Recorder>(&mut self, id: FlowId, packet: Packet, paths: &mut Paths<R>) {
        let AnySender::Custom(sender) = &mut self.sender else {
            paths.annexes.free(packet.annex);
            return;
        };
        if packet.is_corrupted() {
            self.discarded += 1;
            paths.annexes.free(packet.annex);
            return;
        }
        if R::PACKETS {
            paths.recorder.packet(paths.now, PacketEvent::Delivered(packet.flow, &packet));
        }
        let port = &mut self.sender_port;
        if port.drive(&mut **sender, id, Input::Packet(packet), paths) {
            self.finished_at = paths.now;
        }
        self.settle_sender(id, paths);
    }

    /// A packet of another flow passes one of the flow's ends, which is an edge of its aggregate.
    pub(crate) fn pass<R: Recorder>(
        &mut self,
        id: FlowId,
        end: End,
        packet: &Packet,
        others_wait: bool,
        paths: &mut Paths<R>,
    ) {
        let (port, edge) = match (end, &mut self.sender, &mut self.receiver) {
            (End::Sender, AnySender::Edge(edge), _) => (&mut self.sender_port, edge),
            (End::Receiver, _, AnyReceiver::Edge(edge)) => (&mut self.receiver_port, edge),
            _ => return,
        };
        edge.pass(paths.now, packet, others_wait, &mut port.cx(paths));
        if port.drain(&mut **edge, id, paths) {
            self.finished_at = paths.now;
        }
        match end {
            End::Sender => self.settle_sender(id, paths),
            End::Receiver => self.receiver_port.bring_forward(self.receiver_port.due, paths),
        }
    }

    /// A leaf of a receiver's timer is due; the receiver itself may want to be called only later.
    #[inline(always)]
    pub(crate) fn receiver_timer<R: Recorder>(&mut self, id: FlowId, paths: &mut Paths<R>) {
        if self.receiver_port.due <= paths.now
            && at_end!(self, End::Receiver, input(paths, id, Input::Timeout))
        {
            self.finished_at = paths.now;
        }
        let port = &mut self.receiver_port;
        port.armed = port.due;
        paths.events.arm(port.leaf, port.due);
    }

    /// The application's command that is due, and when the next one is.
    pub(crate) fn next_command(&mut self) -> Input {
        if self.started {
            self.command_at = Time::NEVER;
            Input::App(AppInput::Stop)
        } else {
            self.started = true;
            // Who is to stop before the start stops as it starts.
            self.command_at = self.stop_at.max(self.command_at);
            Input::App(AppInput::Start)
        }
    }
}
