//! Servers that give each flow a queue of its own and share the line between them by rule: what is common to all.
//! The rules live in files of their own, each as a [`Scheduler`].
//!
//! | rule | file |
//! | --- | --- |
//! | round robin, weighted and deficit round robin | `round` |
//! | self-clocked fair queueing, cell-by-cell round robin | `selfclocked` |
//! | weighted fair queueing by the virtual time of generalised processor sharing | `weighted` |
//! | virtual clock | `clock` |
//! | framed and hierarchical round robin | `framed`, with the frames in `frames` |

mod agenda;
pub mod buffer;
pub mod clock;
#[cfg(test)]
mod cost;
pub mod flows;
pub mod framed;
pub mod frames;
mod heap;
pub(crate) mod longest;
pub(crate) mod looks;
pub mod order;
mod pool;
pub mod round;
mod seen;
pub mod selfclocked;
pub mod shares;
mod stale;
mod strangers;
mod table;
pub mod tagged;
pub mod weighted;

use tailback_core::{Backlog, Bytes, DropReason, Packet, QueueCx, QueueDiscipline, Time};

pub use buffer::{BufferConfig, Victim};
pub use flows::{Flows, Slot};
pub use pool::Plain;
pub use shares::Share;

use crate::parts::BuildCx;
use buffer::Buffer;

/// Which flow is served next.
pub trait Scheduler {
    /// What is kept for each active flow.
    type Flow: Default;
    /// What is kept beside each packet.
    type Note: Copy;

    /// A packet is about to join `slot`: the note to keep beside it.
    fn note(
        &mut self,
        now: Time,
        flows: &mut Flows<Self::Flow, Self::Note>,
        slot: u32,
        packet: &Packet,
        cx: &QueueCx<'_>,
    ) -> Self::Note;

    /// `slot` has a packet, and had none before.
    fn activated(&mut self, flows: &mut Flows<Self::Flow, Self::Note>, slot: u32);

    /// The flow to serve now, which must have a packet; `None` where none may be served.
    fn select(&mut self, now: Time, flows: &mut Flows<Self::Flow, Self::Note>) -> Option<u32>;

    /// The oldest packet of `slot`, the flow just selected, goes into transmission; it had this size.
    fn served(&mut self, now: Time, flows: &mut Flows<Self::Flow, Self::Note>, slot: u32, size: Bytes);

    /// The flow that is likely to be served after `steps` others, where that is known. A hint, no promise.
    fn ahead(&self, steps: usize) -> Option<u32> {
        let _ = steps;
        None
    }

    /// Likewise, the flow that the scheduler will look at for another reason.
    fn ahead_beside(&self, steps: usize) -> Option<u32> {
        let _ = steps;
        None
    }

    /// The newest packet of `slot` was dropped.
    fn dropped(
        &mut self,
        flows: &mut Flows<Self::Flow, Self::Note>,
        slot: u32,
        packet: &Packet,
        note: Self::Note,
    ) {
        let _ = (flows, slot, packet, note);
    }

    /// The oldest packet of `slot` was dropped; it had this note.
    fn head_dropped(&mut self, flows: &mut Flows<Self::Flow, Self::Note>, slot: u32, note: Self::Note) {
        let _ = (flows, slot, note);
    }

    /// Where packets wait but none may be served: when one may.
    fn next_ready(&self, now: Time, flows: &Flows<Self::Flow, Self::Note>) -> Option<Time> {
        let _ = (now, flows);
        None
    }
}

/// A server with a queue per flow, in the order that `S` decides.
#[derive(Clone, Debug)]
pub struct PerFlow<S: Scheduler> {
    scheduler: S,
    flows: Flows<S::Flow, S::Note>,
    buffer: Buffer,
}

impl<S: Scheduler> PerFlow<S> {
    /// Such a server on the heap.
    pub fn boxed(scheduler: S, shares: &[Share], buffer: &BufferConfig, cx: &BuildCx) -> Box<Self> {
        Box::new(Self::new(scheduler, shares, buffer, cx))
    }

    /// An empty server for the link that `cx` describes.
    pub fn new(scheduler: S, shares: &[Share], buffer: &BufferConfig, cx: &BuildCx) -> Self {
        Self { scheduler, flows: Flows::new(shares, &cx.flows), buffer: Buffer::new(buffer, cx) }
    }

    /// The queues, to look at.
    pub const fn flows(&self) -> &Flows<S::Flow, S::Note> {
        &self.flows
    }

    /// Whether the buffer would be the same had a packet not come that comes alone and leaves at once.
    #[inline]
    pub(crate) const fn forgets_lone(&self) -> bool {
        !self.buffer.is_ranking()
    }

    /// Drops packets until what waits fits the buffer.
    // Rare enough not to burden those that fit.
    #[inline(never)]
    fn make_room(&mut self, arriving: u32, cx: &mut QueueCx<'_>) {
        while self.buffer.is_exceeded_by(&self.flows.backlog()) {
            let (slot, newest) = self.buffer.victim(arriving, &self.flows);
            let taken = if newest { self.flows.pop_newest(slot) } else { self.flows.pop(slot) };
            let Some((packet, note)) = taken else { return };
            self.flows.hold(slot);
            if newest {
                self.scheduler.dropped(&mut self.flows, slot, &packet, note);
            } else {
                self.scheduler.head_dropped(&mut self.flows, slot, note);
            }
            self.left(slot);
            cx.drop(packet, DropReason::Overflow);
        }
    }

    /// How many packets wait.
    #[inline]
    pub(crate) const fn waiting(&self) -> u32 {
        self.flows.backlog().packets
    }

    /// What [`QueueDiscipline::dequeue`] gives: it asks nothing of its surroundings.
    // Not inlined, the packet is written once, where the caller wants it, in two words. In parts and to and fro, as the
    // compiler would have it, the last reader waits until all writes before have reached the cache.
    #[inline(never)]
    pub(crate) fn take_next(&mut self, now: Time) -> Option<Packet> {
        let Some(slot) = self.scheduler.select(now, &mut self.flows) else {
            self.flows.give_memory_back();
            return None;
        };
        let leaving = self.flows.take_oldest(slot)?;
        let last = leaving.last;
        if last {
            self.flows.hold(slot);
        }
        self.scheduler.served(now, &mut self.flows, slot, leaving.size);
        if last {
            self.left(slot);
        }
        let scheduler = &self.scheduler;
        self.flows.foresee(|steps| scheduler.ahead(steps), |steps| scheduler.ahead_beside(steps));
        Some(self.flows.release(&leaving))
    }

    /// After a packet of `slot`, held meanwhile, has left.
    #[inline]
    fn left(&mut self, slot: u32) {
        if self.flows.get(slot).is_empty() {
            self.buffer.emptied(slot);
        }
        self.flows.unhold(slot);
    }
}

impl<S: Scheduler> QueueDiscipline for PerFlow<S> {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let straight = cx.idle_since.is_some() && self.flows.backlog().packets == 0;
        let slot = self.flows.slot_of(&packet);
        if !straight && self.buffer.refuses(&packet, slot, &self.flows) {
            self.flows.unhold(slot);
            cx.drop(packet, DropReason::Overflow);
            return;
        }
        let first = self.flows.get(slot).is_empty();
        if first {
            // Lest it be given back before the packet is in.
            self.flows.hold(slot);
        }
        let note = self.scheduler.note(now, &mut self.flows, slot, &packet, cx);
        self.flows.push(slot, packet, note);
        if first {
            self.flows.unhold_busy(slot);
            self.scheduler.activated(&mut self.flows, slot);
        }
        self.buffer.grown(slot, &self.flows);
        if !straight && self.buffer.is_exceeded_by(&self.flows.backlog()) {
            self.make_room(slot, cx);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.take_next(now)
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        self.scheduler.next_ready(now, &self.flows)
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }

    fn observe(&self, _: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note("active_flows", self.flows.active() as f64);
    }
}
