//! Entries that somebody has looked at, in order, where both ends matter. What they mean is up to the caller.
//!
//! Mostly they are few, come at one end and leave at the other. Where a link's rate changes between arrivals they may be as
//! many as flows, and come anywhere among the others. So only the first ones lie side by side, and the rest in a tree.

use std::collections::{BTreeSet, VecDeque};

use super::heap::Entry;
use super::looks::looked_at;

/// So many lie side by side at most: to move half of them aside takes no longer than a walk down the tree. In tests few, so
/// that random ones get that far.
const FEW: usize = if cfg!(test) { 16 } else { 256 };

/// Entries in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The first ones; none is there only where there are none at all.
    first: VecDeque<Entry>,
    /// All others, which are greater.
    rest: BTreeSet<Entry>,
}

impl Seen {
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    /// The least entry.
    #[inline]
    pub(super) fn front(&self) -> Option<&Entry> {
        self.first.front()
    }

    /// The greatest entry.
    #[inline]
    pub(super) fn back(&self) -> Option<&Entry> {
        if self.rest.is_empty() { self.first.back() } else { self.rest.last() }
    }

    /// The entry `steps` after the least, if it lies side by side with it.
    #[inline]
    pub(super) fn get(&self, steps: usize) -> Option<&Entry> {
        self.first.get(steps)
    }

    /// Adds an entry anywhere.
    pub(super) fn insert(&mut self, entry: Entry) {
        if !self.rest.is_empty() && self.first.back().is_some_and(|last| *last < entry) {
            self.rest.insert(entry);
            return;
        }
        let at = self.first.partition_point(|seen| *seen < entry);
        looked_at(at.min(self.first.len() - at));
        self.first.insert(at, entry);
        if self.first.len() > FEW {
            self.rest.extend(self.first.pop_back());
        }
    }

    /// Takes the least entry out.
    #[inline]
    pub(super) fn pop_front(&mut self) {
        self.first.pop_front();
        if !self.rest.is_empty() {
            self.refill();
        }
    }

    /// Takes the greatest entry out.
    pub(super) fn pop_back(&mut self) {
        if self.rest.pop_last().is_none() {
            self.first.pop_back();
        }
    }

    /// Takes out what is not to be kept, after a look at all entries.
    pub(super) fn retain(&mut self, mut keeps: impl FnMut(Entry) -> bool) {
        self.first.retain(|entry| keeps(*entry));
        self.rest.retain(|entry| keeps(*entry));
        self.refill();
    }

    /// Where none lie side by side any more, the next ones come there.
    fn refill(&mut self) {
        if self.first.is_empty() {
            let next = std::iter::from_fn(|| self.rest.pop_first());
            self.first.extend(next.take(FEW / 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Wherever entries come and go, both ends are those of a plain list.
        #[test]
        fn both_ends_are_true(
            steps in prop::collection::vec((0_u8..40, 0_u32..1000), 1..600), growing in 15_u8..32,
        ) {
            let (mut seen, mut plain) = (Seen::default(), Vec::<Entry>::new());
            for (number, (action, tag)) in steps.into_iter().enumerate() {
                match action {
                    39 => {
                        // Some of them anywhere, or the first ones.
                        let kept = |entry: Entry| match number % 2 {
                            0 => !entry.slot().is_multiple_of(3),
                            _ => entry.tag() >= f64::from(tag),
                        };
                        seen.retain(kept);
                        plain.retain(|entry| kept(*entry));
                    }
                    35..39 => {
                        seen.pop_back();
                        plain.pop();
                    }
                    _ if action < growing => {
                        let entry = Entry::new(f64::from(tag), number as u32, number as u32);
                        seen.insert(entry);
                        plain.insert(plain.partition_point(|other| *other < entry), entry);
                    }
                    _ => {
                        seen.pop_front();
                        plain.drain(..plain.len().min(1));
                    }
                }
                prop_assert_eq!((seen.front(), seen.back()), (plain.first(), plain.last()));
                prop_assert_eq!(seen.len(), plain.len());
                prop_assert!(seen.first.len() <= FEW);
                prop_assert!(seen.first.iter().chain(&seen.rest).eq(&plain));
                prop_assert!((0..plain.len()).all(|at| seen.get(at).is_none_or(|entry| *entry == plain[at])));
            }
        }
    }
}
