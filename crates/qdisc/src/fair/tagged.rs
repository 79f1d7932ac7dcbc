//! Service in the order of tags: every packet gets a tag when it arrives, and the smallest is served first. How tags
//! come about is a [`TagRule`], each in a file of its own.
//!
//! The agenda holds one entry per flow, for its oldest packet; tags within a flow never decrease. When a packet is lost
//! to make room, its entry may be left with a tag too small; it is set right when it comes to the top.

use tailback_core::{Packet, QueueCx, Time};

use super::agenda::Agenda;
use super::heap::Entry;
use super::{Flows, Scheduler};

/// The queues, as tag rules see them: a tag beside each packet.
pub type TaggedFlows<F> = Flows<F, f64>;

/// How tags come about.
pub trait TagRule {
    /// What is kept for each active flow.
    type Flow: Default;

    /// The tag of a packet about to join `slot`: not negative, and not less than that of the packet before it.
    fn tag(
        &mut self,
        now: Time,
        flows: &mut TaggedFlows<Self::Flow>,
        slot: u32,
        packet: &Packet,
        cx: &QueueCx<'_>,
    ) -> f64;

    /// A packet of `slot` with this tag goes into transmission.
    fn served(&mut self, now: Time, flows: &mut TaggedFlows<Self::Flow>, slot: u32, tag: f64);

    /// The flow that the rule will look at, without an arrival, after `steps` others. A hint, no promise.
    fn ahead(&self, steps: usize) -> Option<u32> {
        let _ = steps;
        None
    }

    /// The newest packet of `slot` was dropped; it had this tag.
    fn dropped(&mut self, flows: &mut TaggedFlows<Self::Flow>, slot: u32, packet: &Packet, tag: f64);
}

/// Service in the order of tags that `R` gives.
#[derive(Clone, Debug)]
pub struct ByTag<R> {
    rule: R,
    agenda: Agenda,
    /// Counts entries, to order equal tags.
    entries: u32,
}

impl<R: TagRule> ByTag<R> {
    /// A server with no packets.
    pub fn new(rule: R) -> Self {
        Self { rule, agenda: Agenda::new(), entries: 0 }
    }

    /// Removes or corrects the top entry, which served its purpose.
    fn renew_top(&mut self, flows: &mut TaggedFlows<R::Flow>, slot: u32) {
        if let Some((_, tag)) = flows.head(slot) {
            // Behind all that have this tag already, so that equal flows take turns.
            self.entries = self.entries.wrapping_add(1);
            self.agenda.replace(Entry::new(tag, self.entries, slot));
        } else {
            self.agenda.pop();
            flows.unlist(slot);
        }
    }
}

impl<R: TagRule> Scheduler for ByTag<R> {
    type Flow = R::Flow;
    type Note = f64;

    fn note(
        &mut self,
        now: Time,
        flows: &mut TaggedFlows<R::Flow>,
        slot: u32,
        packet: &Packet,
        cx: &QueueCx<'_>,
    ) -> f64 {
        self.rule.tag(now, flows, slot, packet, cx)
    }

    fn activated(&mut self, flows: &mut TaggedFlows<R::Flow>, slot: u32) {
        if flows.get(slot).is_listed() {
            return;
        }
        let Some((_, tag)) = flows.head(slot) else { return };
        flows.list(slot);
        self.entries = self.entries.wrapping_add(1);
        self.agenda.push(Entry::new(tag, self.entries, slot));
    }

    fn select(&mut self, _now: Time, flows: &mut TaggedFlows<R::Flow>) -> Option<u32> {
        loop {
            let top = self.agenda.peek()?;
            let slot = top.slot();
            if flows.head(slot).is_some_and(|(_, tag)| tag == top.tag()) {
                return Some(slot);
            }
            self.renew_top(flows, slot);
        }
    }

    fn served(&mut self, now: Time, flows: &mut TaggedFlows<R::Flow>, slot: u32, _packet: &Packet, tag: f64) {
        self.renew_top(flows, slot);
        self.rule.served(now, flows, slot, tag);
    }

    fn ahead(&self, steps: usize) -> Option<u32> {
        self.agenda.ahead(steps)
    }

    fn ahead_beside(&self, steps: usize) -> Option<u32> {
        self.rule.ahead(steps)
    }

    fn dropped(&mut self, flows: &mut TaggedFlows<R::Flow>, slot: u32, packet: &Packet, tag: f64) {
        self.rule.dropped(flows, slot, packet, tag);
    }
}
