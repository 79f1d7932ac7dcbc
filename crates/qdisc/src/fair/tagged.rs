//! Service in the order of tags: every packet gets a tag when it arrives, and the smallest is served first. How tags
//! come about is a [`TagRule`], each in a file of its own.
//!
//! The agenda holds one entry per flow, for its oldest packet; tags within a flow never decrease. When a packet is lost
//! to make room, its entry may be left with a tag too small; it is set right when it comes to the top. Where the
//! tag is now less, or what a flow brings that has lost all it had, the flow gets a new entry at once.

use tailback_core::{Bytes, Packet, QueueCx, Time};

use super::heap::Entry;
use super::order::Order;
use super::{Flows, Scheduler};

/// The queues, as a tag rule sees them.
pub type TaggedFlows<R> = Flows<<R as TagRule>::Flow, <R as TagRule>::Note>;

/// How tags come about.
pub trait TagRule: Sized {
    /// What is kept for each active flow.
    type Flow: Default;
    /// What is kept beside each packet: its tag, or [`Plain`](super::Plain) where that follows from the packet before.
    type Note: Copy;

    /// A packet is about to join `slot`: what to keep beside it. `order` is the order of service so far.
    fn note(
        &mut self,
        now: Time,
        flows: &mut TaggedFlows<Self>,
        order: &mut Order,
        slot: u32,
        packet: &Packet,
        cx: &QueueCx<'_>,
    ) -> Self::Note;

    /// The tag of the flow's oldest packet, if it has one: not negative, and not less than that of the packet before.
    fn tag(flows: &TaggedFlows<Self>, slot: u32) -> Option<f64>;

    /// A flow has been put into the order of service with this tag.
    #[inline]
    fn queued(&mut self, tag: f64) {
        let _ = tag;
    }

    /// A packet of `slot` with this tag goes into transmission.
    fn served(&mut self, now: Time, flows: &mut TaggedFlows<Self>, slot: u32, tag: f64);

    /// The flow that the rule will look at, without an arrival, after `steps` others. A hint, no promise.
    fn ahead(&self, steps: usize) -> Option<u32> {
        let _ = steps;
        None
    }

    /// The oldest packet of `slot` has left, to be sent.
    fn advanced(&mut self, flows: &mut TaggedFlows<Self>, slot: u32) {
        let _ = (flows, slot);
    }

    /// The oldest packet of `slot` was dropped; it had this note. Rules whose tags are kept beside packets do not allow it.
    fn head_dropped(&mut self, flows: &mut TaggedFlows<Self>, slot: u32, note: Self::Note) {
        let _ = (flows, slot, note);
    }

    /// The newest packet of `slot` was dropped; it had this note.
    fn dropped(&mut self, flows: &mut TaggedFlows<Self>, slot: u32, packet: &Packet, note: Self::Note);
}

/// Service in the order of tags that `R` gives.
#[derive(Clone, Debug)]
pub struct ByTag<R> {
    rule: R,
    order: Order,
    /// Counts entries, to order equal tags.
    entries: u32,
    /// The tag of the flow that was selected last.
    selected: f64,
}

impl<R: TagRule> ByTag<R> {
    /// A server with no packets.
    pub fn new(rule: R) -> Self {
        Self { rule, order: Order::new(), entries: 0, selected: 0.0 }
    }

    /// The rule.
    #[inline]
    pub(super) const fn rule(&self) -> &R {
        &self.rule
    }

    /// The rule, and the order of service so far.
    #[inline]
    pub(super) fn parts(&mut self) -> (&mut R, &mut Order) {
        (&mut self.rule, &mut self.order)
    }

    /// Gives the flow the only entry that is true.
    fn list(&mut self, flows: &mut TaggedFlows<R>, slot: u32) {
        let Some(tag) = R::tag(flows, slot) else { return };
        self.entries = self.entries.wrapping_add(1);
        let entry = Entry::new(tag, self.entries, slot);
        if flows.get(slot).is_listed() {
            self.order.supersede(entry);
        } else {
            flows.list(slot);
            self.order.push(entry);
        }
        self.rule.queued(tag);
    }

    /// Removes or corrects the top entry, which served its purpose.
    #[expect(clippy::inline_always, reason = "of the code of one departure, except where an entry is stale")]
    #[inline(always)]
    fn renew_top(&mut self, flows: &mut TaggedFlows<R>, slot: u32) {
        if let Some(tag) = R::tag(flows, slot) {
            // Behind all that have this tag already, so that equal flows take turns.
            self.entries = self.entries.wrapping_add(1);
            self.order.replace(Entry::new(tag, self.entries, slot));
            self.rule.queued(tag);
        } else {
            self.order.pop();
            flows.unlist(slot);
        }
    }

    #[inline(never)]
    fn renew_stale_top(&mut self, flows: &mut TaggedFlows<R>, slot: u32) {
        self.renew_top(flows, slot);
    }
}

impl<R: TagRule> Scheduler for ByTag<R> {
    type Flow = R::Flow;
    type Note = R::Note;

    #[expect(clippy::inline_always, reason = "nothing but a call")]
    #[inline(always)]
    fn note(
        &mut self,
        now: Time,
        flows: &mut TaggedFlows<R>,
        slot: u32,
        packet: &Packet,
        cx: &QueueCx<'_>,
    ) -> R::Note {
        self.rule.note(now, flows, &mut self.order, slot, packet, cx)
    }

    fn activated(&mut self, flows: &mut TaggedFlows<R>, slot: u32) {
        // All that it had was pushed out, and the new packet's tag may be less than that of the entry.
        self.list(flows, slot);
    }

    fn select(&mut self, _now: Time, flows: &mut TaggedFlows<R>) -> Option<u32> {
        loop {
            let top = self.order.peek()?;
            let slot = top.slot();
            if R::tag(flows, slot) == Some(top.tag()) {
                self.selected = top.tag();
                return Some(slot);
            }
            self.renew_stale_top(flows, slot);
        }
    }

    #[expect(clippy::inline_always, reason = "the half of what a packet does that leaves")]
    #[inline(always)]
    fn served(&mut self, now: Time, flows: &mut TaggedFlows<R>, slot: u32, _: Bytes) {
        self.rule.advanced(flows, slot);
        self.renew_top(flows, slot);
        self.rule.served(now, flows, slot, self.selected);
    }

    fn ahead(&self, steps: usize) -> Option<u32> {
        self.order.ahead(steps)
    }

    fn ahead_beside(&self, steps: usize) -> Option<u32> {
        self.rule.ahead(steps)
    }

    fn head_dropped(&mut self, flows: &mut TaggedFlows<R>, slot: u32, note: R::Note) {
        let before = R::tag(flows, slot);
        self.rule.head_dropped(flows, slot, note);
        if R::tag(flows, slot) < before {
            self.list(flows, slot);
        }
    }

    fn dropped(&mut self, flows: &mut TaggedFlows<R>, slot: u32, packet: &Packet, note: R::Note) {
        self.rule.dropped(flows, slot, packet, note);
    }
}
