//! A first-in first-out queue whose server may leave it waiting while it serves others, or until a token comes, under a law
//! that looks at it at regular times. The laws live in files of their own; what they make of a queue that drains evenly, in
//! [`crate::sampled`].
//!
//! Nothing joins or leaves such a queue between two calls. So whatever was due since the last one saw what waits now: no timer
//! is needed, and a look costs a comparison, also where nothing was due. Whatever was due before the server's rate changes is
//! reckoned with the rate before, of which the server tells it.

use tailback_core::{ArrivalPolicy, Backlog, BitRate, Packet, QueueCx, QueueDiscipline, Time};

use crate::fifo::Fifo;

/// A law that looks at its queue at regular times.
pub trait Periodic {
    /// Looks as often as was due until `now`; `backlog` has waited since the call before.
    fn look(&mut self, now: Time, backlog: &Backlog, cx: &QueueCx<'_>);
}

/// A policy of arrivals that may have such a law.
pub trait MayLook: ArrivalPolicy {
    /// The law, if it looks at its queue at regular times.
    fn periodic(&mut self) -> Option<&mut dyn Periodic>;

    /// From here on, a delay is a packet's time in the queue.
    fn measure_time(&mut self);
}

/// A queue under a law that looks at it at regular times.
#[derive(Debug)]
pub struct Watched<P: ArrivalPolicy>(Fifo<P>);

impl<P: MayLook> Watched<P> {
    /// A queue under this law.
    pub(crate) const fn new(queue: Fifo<P>) -> Self {
        Self(queue)
    }

    pub(crate) fn measure_time(&mut self) {
        self.0.policy_mut().measure_time();
    }

    #[inline]
    fn look(&mut self, now: Time, cx: &QueueCx<'_>) {
        let backlog = self.0.backlog();
        if let Some(law) = self.0.policy_mut().periodic() {
            law.look(now, &backlog, cx);
        }
    }
}

impl<P: MayLook> QueueDiscipline for Watched<P> {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        self.look(now, cx);
        self.0.enqueue(now, packet, cx);
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.look(now, cx);
        self.0.dequeue(now, cx)
    }

    fn on_rate(&mut self, now: Time, _: BitRate, cx: &mut QueueCx<'_>) {
        self.look(now, cx);
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }

    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        self.0.observe(now, note);
    }
}
