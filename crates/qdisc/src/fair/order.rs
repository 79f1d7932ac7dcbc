//! The order in which tagged flows are served: an agenda, and in front of it those that somebody has looked at already.
//! Whoever looks is a tag rule, which wants to know of flows whose turn has come by its own clock.

use std::collections::VecDeque;

use super::agenda::Agenda;
use super::heap::Entry;

/// One entry per flow, in order.
#[derive(Clone, Debug, Default)]
pub struct Order {
    agenda: Agenda,
    /// What was looked at, in order; new entries may lie before.
    seen: VecDeque<Entry>,
}

impl Order {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// The least entry.
    #[inline]
    pub(super) fn peek(&self) -> Option<Entry> {
        let rest = self.agenda.peek();
        match self.seen.front() {
            None => rest,
            Some(seen) => Some(rest.map_or(*seen, |rest| rest.min(*seen))),
        }
    }

    /// The least entry that was not looked at yet.
    #[inline]
    pub(super) fn unseen(&self) -> Option<Entry> {
        self.agenda.peek()
    }

    /// The least of these has now been looked at.
    pub(super) fn see(&mut self) {
        if let Some(entry) = self.agenda.pop() {
            let at = self.seen.partition_point(|seen| *seen < entry);
            self.seen.insert(at, entry);
        }
    }

    /// The greatest tag among entries that were looked at and are still there.
    #[inline]
    pub(super) fn seen_up_to(&self) -> Option<f64> {
        self.seen.back().map(|seen| seen.tag())
    }

    /// Adds an entry.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        self.agenda.push(entry);
    }

    /// Takes the least entry out.
    #[inline]
    pub(super) fn pop(&mut self) {
        let is_seen =
            self.seen.front().is_some_and(|seen| self.agenda.peek().is_none_or(|rest| *seen < rest));
        if is_seen {
            self.seen.pop_front();
        } else {
            self.agenda.skip();
        }
    }

    /// Takes the entry of `slot` out, wherever it lies: for one that lies too late, which must be rare.
    #[inline(never)]
    pub(super) fn remove(&mut self, slot: u32) {
        match self.seen.iter().position(|seen| seen.slot() == slot) {
            Some(at) => drop(self.seen.remove(at)),
            None => self.agenda.remove(slot),
        }
    }

    /// Puts `entry` in the place of the least one.
    #[inline]
    pub(super) fn replace(&mut self, entry: Entry) {
        self.pop();
        self.push(entry);
    }

    /// The slot of the entry `steps` after the least, where it is known by now and nothing comes between.
    #[inline]
    pub(super) fn ahead(&self, steps: usize) -> Option<u32> {
        match steps.checked_sub(self.seen.len()) {
            Some(steps) => self.agenda.ahead(steps),
            None => self.seen.get(steps).map(|entry| entry.slot()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever has been looked at, entries leave in order.
        #[test]
        fn looking_changes_nothing(steps in prop::collection::vec((0_u8..8, 0_u32..50), 1..300)) {
            let (mut order, mut plain) = (Order::new(), BTreeSet::new());
            for (number, (action, tag)) in steps.into_iter().enumerate() {
                match action {
                    7 => {
                        order.remove(tag);
                        plain.retain(|entry: &Entry| entry.slot() != tag);
                    }
                    0..3 => {
                        let entry = Entry::new(f64::from(tag), number as u32, number as u32);
                        order.push(entry);
                        plain.insert(entry);
                    }
                    3..5 => {
                        order.pop();
                        plain.pop_first();
                    }
                    _ => {
                        let unseen = order.unseen();
                        order.see();
                        let seen = order.seen_up_to();
                        prop_assert!(unseen.is_none_or(|entry| seen >= Some(entry.tag())));
                    }
                }
                prop_assert_eq!(order.peek(), plain.first().copied());
            }
        }
    }
}
