//! Recorders behind a pointer: the simulator is compiled once for all recorders that are told the same things, and not once for
//! each type. Compiling it took most of the time that this program took to build.

use std::any::Any;

use tailback_core::{FlowId, Observation, Time};
use tailback_sim::{Message, PacketEvent, Recorder, View};

/// What the simulator says to a recorder.
trait Hears: Any {
    fn packet(&mut self, now: Time, event: PacketEvent<'_>);
    fn next_sample(&self) -> Time;
    fn looks(&self) -> bool;
    fn sample(&mut self, view: &mut View<'_>);
    fn message(&mut self, message: Message);
    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation);
    fn note(&mut self, now: Time, flow: FlowId, name: &'static str, value: f64);
}

impl<R: Recorder + 'static> Hears for R {
    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        Recorder::packet(self, now, event);
    }

    fn next_sample(&self) -> Time {
        Recorder::next_sample(self)
    }

    fn looks(&self) -> bool {
        Recorder::looks(self)
    }

    fn sample(&mut self, view: &mut View<'_>) {
        Recorder::sample(self, view);
    }

    fn message(&mut self, message: Message) {
        Recorder::message(self, message);
    }

    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation) {
        Recorder::observed(self, now, flow, sender);
    }

    fn note(&mut self, now: Time, flow: FlowId, name: &'static str, value: f64) {
        Recorder::note(self, now, flow, name, value);
    }
}

/// A recorder of any type that is told of packets, of notes and of what senders observe as its type asks.
pub(crate) struct Boxed<const PACKETS: bool, const NOTES: bool, const OBSERVED: bool>(Box<dyn Hears>);

/// Hears nothing but what every recorder hears.
pub(crate) type Sampling = Boxed<false, false, false>;
/// Hears of packets and notes.
pub(crate) type OfPackets = Boxed<true, true, false>;
/// Hears what senders observe.
pub(crate) type OfSenders = Boxed<false, false, true>;

impl<const PACKETS: bool, const NOTES: bool, const OBSERVED: bool> Boxed<PACKETS, NOTES, OBSERVED> {
    /// Puts a recorder behind a pointer; one that asks for other things does not compile. Notes come with packets.
    pub(crate) fn new<R: Recorder + 'static>(recorder: R) -> Self {
        const {
            assert!(R::PACKETS == PACKETS && (NOTES || !R::NOTES) && R::OBSERVED == OBSERVED);
        }
        Self(Box::new(recorder))
    }

    /// The recorder, as it was put in.
    pub(crate) fn get<R: 'static>(&self) -> &R {
        (&*self.0 as &dyn Any).downcast_ref().expect("the type that was put in")
    }

    /// The recorder, as it was put in.
    pub(crate) fn take<R: 'static>(self) -> R {
        *(self.0 as Box<dyn Any>).downcast().expect("the type that was put in")
    }
}

#[deny(clippy::missing_trait_methods)]
impl<const PACKETS: bool, const NOTES: bool, const OBSERVED: bool> Recorder
    for Boxed<PACKETS, NOTES, OBSERVED>
{
    const PACKETS: bool = PACKETS;
    const NOTES: bool = NOTES;
    const OBSERVED: bool = OBSERVED;

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        self.0.packet(now, event);
    }

    fn next_sample(&self) -> Time {
        self.0.next_sample()
    }

    fn looks(&self) -> bool {
        self.0.looks()
    }

    fn sample(&mut self, view: &mut View<'_>) {
        self.0.sample(view);
    }

    fn message(&mut self, message: Message) {
        self.0.message(message);
    }

    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation) {
        self.0.observed(now, flow, sender);
    }

    fn note(&mut self, now: Time, flow: FlowId, name: &'static str, value: f64) {
        self.0.note(now, flow, name, value);
    }
}
