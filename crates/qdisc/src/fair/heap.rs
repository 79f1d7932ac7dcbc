//! A min-heap of keys with four children to a node, of which all four lie in one line of memory. What the keys mean is
//! up to the caller.

use std::fmt;

use super::looks::looked;

/// The heap's key: a tag, then what orders equal tags, then the slot that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u128);

impl Entry {
    /// A key of a non-negative `tag`, whose bits order as the tag does.
    #[inline]
    pub(crate) fn new(tag: f64, order: u32, slot: u32) -> Self {
        Self(u128::from(tag.to_bits()) << 64 | u128::from(order) << 32 | u128::from(slot))
    }

    /// The tag.
    #[inline]
    pub(crate) const fn tag(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64)
    }

    /// The tag's bits, which order as the tag does.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        looked();
        (self.0 >> 64) as u64
    }

    /// The slot.
    #[inline]
    pub(crate) fn slot(self) -> u32 {
        looked();
        self.0 as u32
    }
}

/// The children of one node.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([Entry; 4]);

const NOTHING: Entry = Entry(u128::MAX);

/// The heap. The node of number n lies at place n + 3, so that its children, 4n + 1 to 4n + 4, share a line.
#[derive(Clone, Default)]
pub(crate) struct Heap {
    lines: Vec<Line>,
    len: usize,
}

/// A heap with room for more lines than this gives its memory back when it empties.
const KEEP: usize = 256;

impl Heap {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn at(&self, node: usize) -> Entry {
        let place = node + 3;
        self.lines[place / 4].0[place % 4]
    }

    #[inline]
    fn put(&mut self, node: usize, entry: Entry) {
        let place = node + 3;
        self.lines[place / 4].0[place % 4] = entry;
    }

    /// The least entry.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Entry> {
        (self.len > 0).then(|| self.at(0))
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        let mut node = self.len;
        self.len += 1;
        if node.div_ceil(4) >= self.lines.len() {
            self.lines.push(Line([NOTHING; 4]));
        }
        while node > 0 {
            let parent = (node - 1) / 4;
            let above = self.at(parent);
            if above <= entry {
                break;
            }
            self.put(node, above);
            node = parent;
        }
        self.put(node, entry);
    }

    /// Puts `entry` in the place of the least one.
    pub(crate) fn replace(&mut self, entry: Entry) {
        let mut node = 0;
        // Places beyond the last node hold the greatest key, and never rise.
        while let Some(Line(children)) = self.lines.get(node + 1) {
            let (mut least, mut which) = (children[0], 0);
            for (index, child) in children.iter().enumerate().skip(1) {
                if *child < least {
                    (least, which) = (*child, index);
                }
            }
            if entry <= least {
                break;
            }
            self.put(node, least);
            node = 4 * node + 1 + which;
        }
        self.put(node, entry);
    }

    /// Takes the least entry out.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let least = self.peek()?;
        self.len -= 1;
        let moved = self.at(self.len);
        self.put(self.len, NOTHING);
        if self.len > 0 {
            self.replace(moved);
        } else if self.lines.capacity() > KEEP {
            self.lines = Vec::new();
        }
        Some(least)
    }

    /// Takes out what is not to be kept, at the cost of all entries.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(Entry) -> bool) {
        let kept: Vec<Entry> =
            (0..self.len).map(|node| self.at(node)).filter(|entry| keeps(*entry)).collect();
        if kept.len() < self.len {
            *self = Self::default();
            for entry in kept {
                self.push(entry);
            }
        }
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Heap({} entries)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_the_standard_heap(steps in prop::collection::vec((0_u8..4, 0_u32..50), 1..400)) {
            let mut heap = Heap::default();
            let mut plain = BinaryHeap::default();
            for (order, (action, tag)) in steps.into_iter().enumerate() {
                let entry = Entry::new(f64::from(tag), order as u32, tag);
                match action {
                    0 | 1 => {
                        heap.push(entry);
                        plain.push(Reverse(entry));
                    }
                    2 => prop_assert_eq!(heap.pop(), plain.pop().map(|Reverse(entry)| entry)),
                    _ => {
                        if plain.pop().is_some() {
                            heap.replace(entry);
                            plain.push(Reverse(entry));
                        }
                    }
                }
                prop_assert_eq!(heap.peek(), plain.peek().map(|Reverse(entry)| *entry));
            }
        }
    }
}
