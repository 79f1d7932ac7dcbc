//! The order in which tagged flows are served: an agenda, and in front of it those that somebody has looked at already.
//! Whoever looks is a tag rule, which wants to know of flows whose turn has come by its own clock.

use super::agenda::Agenda;
use super::heap::Entry;
use super::seen::Seen;
use super::stale::Stale;

/// One entry per flow that counts, in order. Neither the least of the agenda nor an end of what was seen is stale.
#[derive(Clone, Debug, Default)]
pub struct Order {
    agenda: Agenda,
    /// What was looked at; new entries may lie before.
    seen: Seen,
    stale: Stale,
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
            self.seen.insert(entry);
            if !self.stale.is_empty() {
                self.strike();
            }
        }
    }

    /// The greatest tag among entries that were looked at and are still there.
    #[inline]
    pub(super) fn seen_up_to(&self) -> Option<f64> {
        self.seen.back().map(|seen| seen.tag())
    }

    /// Adds an entry of a slot that has none.
    #[expect(clippy::inline_always, reason = "as the agenda's own")]
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry) {
        if !self.stale.is_empty() {
            self.stale.add(entry);
        }
        self.agenda.push(entry);
    }

    /// Adds an entry in the place of the one that its slot has, wherever that lies.
    #[inline(never)]
    pub(super) fn supersede(&mut self, entry: Entry) {
        self.stale.supersede(entry);
        self.agenda.push(entry);
        if self.stale.are_most_of(self.agenda.len() + self.seen.len()) {
            self.seen.retain(|entry| !self.stale.strike(entry));
            self.agenda.retain(|entry| !self.stale.strike(entry));
        } else {
            self.strike();
        }
    }

    /// Takes the least entry out.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.take();
        if !self.stale.is_empty() {
            self.strike();
        }
    }

    #[expect(clippy::inline_always, reason = "a call would be half of its cost")]
    #[inline(always)]
    fn take(&mut self) {
        let is_seen =
            self.seen.front().is_some_and(|seen| self.agenda.peek().is_none_or(|rest| *seen < rest));
        if is_seen {
            self.seen.pop_front();
        } else {
            self.agenda.skip();
        }
    }

    /// Takes stale entries out from where none may lie.
    #[cold]
    #[inline(never)]
    fn strike(&mut self) {
        while self.agenda.peek().is_some_and(|entry| self.stale.strike(entry)) {
            self.agenda.pop();
        }
        while self.seen.front().is_some_and(|entry| self.stale.strike(*entry)) {
            self.seen.pop_front();
        }
        while self.seen.back().is_some_and(|entry| self.stale.strike(*entry)) {
            self.seen.pop_back();
        }
    }

    /// Puts `entry` in the place of the least one.
    #[expect(clippy::inline_always, reason = "as the agenda's own")]
    #[inline(always)]
    pub(super) fn replace(&mut self, entry: Entry) {
        self.take();
        self.agenda.push(entry);
        if !self.stale.is_empty() {
            self.replaced_by(entry);
        }
    }

    #[cold]
    #[inline(never)]
    fn replaced_by(&mut self, entry: Entry) {
        self.stale.add(entry);
        self.strike();
    }

    /// The slot of the entry `steps` after the least, where it is known by now and nothing comes between.
    #[inline]
    pub(super) fn ahead(&self, steps: usize) -> Option<u32> {
        if self.seen.front().is_none() {
            return self.agenda.ahead(steps);
        }
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
        /// Whatever has been looked at, and however often a slot's entry was replaced, those that count leave in order.
        #[test]
        fn what_counts_leaves_in_order(
            steps in prop::collection::vec((0_u8..30, 0_u32..50, 0_u32..12), 1..600), growing in 8_u8..29,
        ) {
            let (mut order, mut plain) = (Order::new(), BTreeSet::<Entry>::new());
            for (number, (action, tag, slot)) in steps.into_iter().enumerate() {
                let entry = Entry::new(f64::from(tag), number as u32, slot);
                let old = plain.iter().find(|entry| entry.slot() == slot).copied();
                match (action, old) {
                    (_, None) if action < growing => {
                        order.push(entry);
                        plain.insert(entry);
                    }
                    (_, Some(old)) if action < growing => {
                        order.supersede(entry);
                        plain.remove(&old);
                        plain.insert(entry);
                    }
                    (8..13, _) => {
                        order.pop();
                        plain.pop_first();
                    }
                    (13..18, _) => {
                        if let Some(top) = plain.pop_first() {
                            let entry = Entry::new(f64::from(tag), number as u32, top.slot());
                            order.replace(entry);
                            plain.insert(entry);
                        }
                    }
                    _ => {
                        let unseen = order.unseen();
                        prop_assert!(unseen.is_none_or(|entry| plain.contains(&entry)));
                        order.see();
                        let seen = order.seen_up_to();
                        prop_assert!(unseen.is_none_or(|entry| seen >= Some(entry.tag())));
                    }
                }
                prop_assert_eq!(order.peek(), plain.first().copied());
                let end = order.seen.back();
                prop_assert!(end.is_none_or(|entry| plain.contains(entry)), "{:?}", end);
                let lie = order.agenda.len() + order.seen.len();
                prop_assert!(lie <= plain.len() + 64, "{} lie, {} count", lie, plain.len());
            }
            while let Some(entry) = plain.pop_first() {
                prop_assert_eq!(order.peek(), Some(entry));
                order.pop();
            }
            prop_assert_eq!(order.peek(), None);
            prop_assert!(order.stale.is_empty());
        }
    }
}
