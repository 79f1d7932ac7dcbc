//! Which of many flows has the longest queue. Queue lengths themselves are kept by the caller.
//!
//! Most buffers are far from full most of the time, and then nobody asks. So the ranking is set up at the first
//! question, from all lengths, and forgotten when the buffer is half empty: from then on there must come as many
//! packets as there can be flows to look at before the next question.
//!
//! Meanwhile it is a max-heap that knows where each flow stands in it. A key is an upper bound of its flow's length.
//! Growth moves a key at once (it climbs past few others); shrinking is left for the day when the flow comes to the
//! top, so that a departure costs nothing.

use tailback_core::Backlog;

use super::looks::looked;
use super::pool::NONE;
use crate::limit::Limit;

/// The ranking by length, while there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranking {
    is_on: bool,
    /// Empty while there is none; its table of positions stays, since there may be as many slots as packets fit into a buffer
    /// many times over.
    longest: Longest,
}

impl Ranking {
    /// Whether there is one.
    #[inline]
    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Notes that `slot` has grown, in the buffer of which `all` is waiting in all.
    #[inline]
    pub(crate) fn grown(&mut self, slot: u32, length: u64, all: &Backlog, limit: &Limit) {
        if self.is_on {
            if limit.is_half_empty(all) {
                self.is_on = false;
                self.longest.clear();
            } else {
                self.longest.grow(slot, length);
            }
        }
    }

    /// Notes that nothing waits in `slot` any more.
    #[inline]
    pub(crate) fn emptied(&mut self, slot: u32) {
        if self.is_on {
            self.longest.remove(slot);
        }
    }

    /// The slot with the longest queue, where `length` tells the true lengths, and `slots` all that have one.
    pub(crate) fn longest(
        &mut self,
        slots: impl Iterator<Item = u32>,
        length: impl Fn(u32) -> u64,
    ) -> Option<u32> {
        if !self.is_on {
            self.is_on = true;
            for slot in slots {
                looked();
                match length(slot) {
                    0 => {}
                    length => self.longest.grow(slot, length),
                }
            }
        }
        self.longest.longest(length)
    }
}

/// The heap: `(bound, slot)`, and each slot's position.
#[derive(Clone, Debug, Default)]
struct Longest {
    heap: Vec<(u64, u32)>,
    position: Vec<u32>,
}

impl Longest {
    /// Notes that `slot` now has `length` waiting; a slot not yet present joins.
    #[inline]
    fn grow(&mut self, slot: u32, length: u64) {
        if let Some(at) = self.position.get(slot as usize)
            && let Some((bound, _)) = self.heap.get(*at as usize)
            && *bound >= length
        {
            return;
        }
        self.raise(slot, length);
    }

    fn raise(&mut self, slot: u32, length: u64) {
        if self.position.len() <= slot as usize {
            self.position.resize(slot as usize + 1, NONE);
        }
        let mut at = self.position[slot as usize];
        if at == NONE {
            at = self.heap.len() as u32;
            self.heap.push((length, slot));
            self.position[slot as usize] = at;
        }
        self.heap[at as usize].0 = length;
        self.climb(at as usize);
    }

    /// Takes `slot` out.
    fn remove(&mut self, slot: u32) {
        let Some(&at) = self.position.get(slot as usize) else { return };
        if at == NONE {
            return;
        }
        self.position[slot as usize] = NONE;
        let at = at as usize;
        let Some(last) = self.heap.pop() else { return };
        if at < self.heap.len() {
            self.put(at, last);
            if at > 0 && self.heap[(at - 1) / 2].0 < last.0 {
                self.climb(at);
            } else {
                self.sink(at);
            }
        }
    }

    /// Takes all out, at the cost of those that are there.
    fn clear(&mut self) {
        for (_, slot) in self.heap.drain(..) {
            self.position[slot as usize] = NONE;
        }
    }

    /// The slot with the longest queue, where `length` tells the true lengths.
    fn longest(&mut self, length: impl Fn(u32) -> u64) -> Option<u32> {
        loop {
            let &(bound, slot) = self.heap.first()?;
            let actual = length(slot);
            if actual == bound {
                return Some(slot);
            }
            self.heap[0].0 = actual;
            self.sink(0);
        }
    }

    /// Moves the entry at a place up to where it belongs.
    fn climb(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            let above = self.heap[parent];
            if above.0 >= entry.0 {
                break;
            }
            self.put(at, above);
            at = parent;
        }
        self.put(at, entry);
    }

    /// Moves the entry at a place down to where it belongs.
    fn sink(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let left = 2 * at + 1;
            let Some(&first) = self.heap.get(left) else { break };
            let (mut child, mut below) = (left, first);
            if let Some(&right) = self.heap.get(left + 1)
                && right.0 > below.0
            {
                (child, below) = (left + 1, right);
            }
            if entry.0 >= below.0 {
                break;
            }
            self.put(at, below);
            at = child;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: (u64, u32)) {
        self.heap[at] = entry;
        self.position[entry.1 as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_search(steps in prop::collection::vec((0_u32..60, prop_oneof![-3_i64..4, 1_i64..40, Just(-99)]), 1..600)) {
            let mut lengths = [0_u64; 60];
            let mut heap = Longest::default();
            for (slot, change) in steps {
                let length = lengths[slot as usize].saturating_add_signed(change);
                let before = lengths[slot as usize];
                lengths[slot as usize] = length;
                if length == 0 && before > 0 {
                    heap.remove(slot);
                } else if length > before {
                    heap.grow(slot, length);
                }
                let found = heap.longest(|slot| lengths[slot as usize]).map_or(0, |slot| lengths[slot as usize]);
                prop_assert_eq!(found, *lengths.iter().max().unwrap());
                let in_order = (1..heap.heap.len()).all(|at| heap.heap[(at - 1) / 2].0 >= heap.heap[at].0);
                prop_assert!(in_order, "{:?}", heap.heap);
            }
            heap.clear();
            prop_assert_eq!(heap.longest(|_| 1), None);
            prop_assert!(heap.position.iter().all(|at| *at == NONE));
        }
    }
}
