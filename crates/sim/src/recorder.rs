//! What may watch a run. Recording is generic, so that a run nobody watches pays nothing; the recorders themselves
//! live in `series.rs`, `packet_log.rs` and with whoever writes another.

use tailback_core::{Bytes, DropReason, Endpoint, FlowId, LinkId, Observation, Packet, Span, Time};
use tailback_link::LinkCounters;

use crate::feeding::Feeding;
use crate::flow::Flow;
use crate::links::Links;

/// Something that happened to one packet.
#[derive(Clone, Copy, Debug)]
pub enum PacketEvent<'a> {
    /// An endpoint sent it.
    Sent(FlowId, &'a Packet),
    /// It was offered to a link, which takes it in or drops it.
    Offered(LinkId, &'a Packet),
    /// A link dropped it.
    Dropped(LinkId, &'a Packet, DropReason),
    /// A link transmits it, from `begins`, when it stops waiting, to `ends`. Told once, as soon as both are known, which
    /// may be before either has come, and under a delivery trace, which knows no beginnings, when it has left.
    Served {
        /// The link.
        link: LinkId,
        /// The packet.
        packet: &'a Packet,
        /// When transmission begins.
        begins: Time,
        /// When it ends.
        ends: Time,
    },
    /// It reached its endpoint, undamaged.
    Delivered(FlowId, &'a Packet),
}

/// A message (a file, say) that a flow has carried completely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// The flow.
    pub flow: FlowId,
    /// The application's bytes.
    pub size: Bytes,
    /// When the application offered it.
    pub began: Time,
    /// When its last byte was acknowledged.
    pub ended: Time,
}

/// A look at everything, as of one instant.
pub struct View<'a> {
    pub(crate) now: Time,
    pub(crate) links: &'a mut Links,
    pub(crate) feeding: &'a mut Feeding,
    pub(crate) flows: &'a [Flow],
}

impl View<'_> {
    /// The instant.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many links there are.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// How many flows there are.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// A link's counters. Costs a walk over what propagates.
    pub fn link(&mut self, link: LinkId) -> LinkCounters {
        self.feeding.counters(self.links, link, self.now)
    }

    /// What a link's queue discipline tells of its state; nothing where it has none, as drop-tail.
    pub fn queue_state(&mut self, link: LinkId, note: &mut dyn FnMut(&'static str, f64)) {
        let link = self.links.of(link);
        // Readers come when everything before now has happened, and nothing at it.
        link.catch_up(self.now - Span::from_nanos(1));
        link.queue_state(self.now, note);
    }

    /// A sender's observation.
    pub fn sender(&self, flow: FlowId) -> Observation {
        self.flows[flow.index()].sender.observe()
    }

    /// A receiver's observation.
    pub fn receiver(&self, flow: FlowId) -> Observation {
        self.flows[flow.index()].receiver.observe()
    }
}

/// Watches a run.
pub trait Recorder {
    /// Whether [`Recorder::packet`] is called at all.
    const PACKETS: bool = false;
    /// Whether controllers' notes are collected.
    const NOTES: bool = false;
    /// Whether [`Recorder::observed`] is called at all.
    const OBSERVED: bool = false;

    /// Something happened to a packet.
    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        let _ = (now, event);
    }

    /// When [`Recorder::sample`] wants to be called next.
    fn next_sample(&self) -> Time {
        Time::NEVER
    }

    /// Whether [`Recorder::sample`] looks at anything but the time. Where it does not, a run is not cut at samples, and they
    /// come when it has gone as far as it was to go.
    fn looks(&self) -> bool {
        true
    }

    /// The time has come: everything before `view.now()` has happened, nothing at it.
    fn sample(&mut self, view: &mut View<'_>) {
        let _ = view;
    }

    /// A message is complete.
    fn message(&mut self, message: Message) {
        let _ = message;
    }

    /// A sender has taken in a packet, and this is how it is now.
    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation) {
        let _ = (now, flow, sender);
    }

    /// A controller published a piece of its state.
    fn note(&mut self, now: Time, flow: FlowId, name: &'static str, value: f64) {
        let _ = (now, flow, name, value);
    }
}

/// Records nothing and costs nothing.
impl Recorder for () {
    fn looks(&self) -> bool {
        false
    }
}

/// Two recorders at once.
impl<A: Recorder, B: Recorder> Recorder for (A, B) {
    const PACKETS: bool = A::PACKETS || B::PACKETS;
    const NOTES: bool = A::NOTES || B::NOTES;
    const OBSERVED: bool = A::OBSERVED || B::OBSERVED;

    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation) {
        self.0.observed(now, flow, sender);
        self.1.observed(now, flow, sender);
    }

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        self.0.packet(now, event);
        self.1.packet(now, event);
    }

    fn next_sample(&self) -> Time {
        self.0.next_sample().min(self.1.next_sample())
    }

    fn looks(&self) -> bool {
        self.0.looks() || self.1.looks()
    }

    fn sample(&mut self, view: &mut View<'_>) {
        if self.0.next_sample() <= view.now {
            self.0.sample(view);
        }
        if self.1.next_sample() <= view.now {
            self.1.sample(view);
        }
    }

    fn message(&mut self, message: Message) {
        self.0.message(message);
        self.1.message(message);
    }

    fn note(&mut self, now: Time, flow: FlowId, name: &'static str, value: f64) {
        self.0.note(now, flow, name, value);
        self.1.note(now, flow, name, value);
    }
}

/// A recorder that need not exist.
impl<A: Recorder> Recorder for Option<A> {
    const PACKETS: bool = A::PACKETS;
    const NOTES: bool = A::NOTES;
    const OBSERVED: bool = A::OBSERVED;

    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation) {
        if let Some(recorder) = self {
            recorder.observed(now, flow, sender);
        }
    }

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        if let Some(recorder) = self {
            recorder.packet(now, event);
        }
    }

    fn next_sample(&self) -> Time {
        self.as_ref().map_or(Time::NEVER, Recorder::next_sample)
    }

    fn looks(&self) -> bool {
        self.as_ref().is_some_and(Recorder::looks)
    }

    fn sample(&mut self, view: &mut View<'_>) {
        if let Some(recorder) = self {
            recorder.sample(view);
        }
    }

    fn message(&mut self, message: Message) {
        if let Some(recorder) = self {
            recorder.message(message);
        }
    }

    fn note(&mut self, now: Time, flow: FlowId, name: &'static str, value: f64) {
        if let Some(recorder) = self {
            recorder.note(now, flow, name, value);
        }
    }
}
