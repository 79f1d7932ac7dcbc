//! Slots in the order of their tags, at a cost that hardly grows with their number. What the tags mean is up to the
//! caller.
//!
//! Tags of fair queueing are handed out in an order not far from that in which they are served, so most newcomers
//! need no exact place yet. Entries beyond those that are next are thrown into buckets by the bits of their tags, as
//! in a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster Algorithms for the Shortest Path Problem", 1990); a
//! bucket is sorted only when its turn comes. Each entry is moved a few times from one end of memory to another,
//! where a heap of many entries would have to fetch a line for each of its levels in turn. The few newcomers that
//! fall below what has been sorted go into a small heap, so that tags need not be monotone: only the cost knows.

use super::heap::{Entry, Heap};

/// Bits of a tag that tell the buckets of one level apart.
const BITS: u32 = 6;
const DIGITS: usize = 1 << BITS;
const LEVELS: usize = u64::BITS.div_ceil(BITS) as usize;
/// So many entries in all are only ever sorted.
const FEW: usize = 32;
/// Buckets grow by pieces of so many entries. Of a piece just emptied the memory is at hand, and is written to next.
const PIECE: usize = 32;
/// A bucket of at most so many pieces is sorted rather than split.
const SORTED: usize = 8;
/// The run is prolonged before it is shorter than this, so that what comes next can be foreseen, and by about as much.
const AHEAD: usize = 32;
/// What has been taken from the run is cleared away when it is so much.
const TAKEN: usize = 256;
/// After more entries than this at once, memory is given back when none is left.
const KEEP: usize = 1024;

/// Entries in no order, in pieces of which all but the last are full.
type Bucket = Vec<Vec<Entry>>;

/// Entries in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    /// The next entries, in order from `next` on.
    run: Vec<Entry>,
    next: usize,
    /// Entries that came too late for the run, though they do not lie beyond it.
    late: Heap,
    /// Bits of the greatest tag of the run: what lies beyond is in the buckets. While they have entries, so has the run.
    last: u64,
    /// By level, then digit: the entries whose tags differ from `last` first in this digit. Empty until needed.
    buckets: Vec<Bucket>,
    /// Which buckets of each level have entries, and which levels have buckets that do.
    digits: [u64; LEVELS],
    levels: u16,
    /// How many entries the buckets hold.
    beyond: usize,
    /// Emptied pieces of buckets.
    spare: Vec<Vec<Entry>>,
    most: usize,
}

impl Agenda {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn len(&self) -> usize {
        self.run.len() - self.next + self.late.len() + self.beyond
    }

    /// The least entry.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Entry> {
        let run = self.run.get(self.next).copied();
        let Some(late) = self.late.peek() else { return run };
        Some(run.map_or(late, |run| late.min(run)))
    }

    /// Adds an entry.
    // In the caller's own code, where most go straight into a bucket that has room.
    #[expect(clippy::inline_always, reason = "a call would be a fifth of its cost")]
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: Entry) {
        if self.sorts_only_the_next() && entry.bits() > self.last {
            self.place(entry);
        } else {
            self.push_among_the_next(entry);
        }
    }

    /// Whether what lies beyond the run goes into buckets.
    #[inline]
    fn sorts_only_the_next(&self) -> bool {
        self.beyond > 0 || self.run.len() - self.next >= FEW
    }

    /// Adds an entry that belongs into no bucket.
    #[inline(never)]
    fn push_among_the_next(&mut self, entry: Entry) {
        if !self.sorts_only_the_next() {
            self.insert(entry);
        } else if entry.bits() == self.last && self.run.last().is_some_and(|greatest| *greatest < entry) {
            self.run.push(entry);
        } else {
            self.late.push(entry);
        }
    }

    fn clear_taken(&mut self) {
        if self.next >= TAKEN || self.next == self.run.len() {
            self.run.drain(..self.next);
            self.next = 0;
        }
    }

    /// While there are few, all are kept in order.
    fn insert(&mut self, entry: Entry) {
        self.clear_taken();
        let mut at = self.run.len();
        self.run.push(entry);
        while at > self.next && self.run[at - 1] > entry {
            self.run[at] = self.run[at - 1];
            at -= 1;
        }
        self.run[at] = entry;
        self.last = self.run.last().map_or(self.last, |greatest| greatest.bits());
    }

    /// Puts an entry beyond the run into its bucket.
    #[inline]
    fn place(&mut self, entry: Entry) {
        let bits = entry.bits();
        let level = (u64::BITS - 1 - (bits ^ self.last).leading_zeros()) / BITS;
        let digit = (bits >> (level * BITS)) as usize % DIGITS;
        let (level, bucket) = (level as usize, level as usize * DIGITS + digit);
        match self.buckets.get_mut(bucket).and_then(|pieces| pieces.last_mut()) {
            Some(piece) if piece.len() < PIECE => piece.push(entry),
            _ => self.begin_piece(level, digit, entry),
        }
        self.beyond += 1;
    }

    fn begin_piece(&mut self, level: usize, digit: usize, entry: Entry) {
        if self.buckets.is_empty() {
            self.buckets.resize(LEVELS * DIGITS, Bucket::new());
        }
        let mut piece = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(PIECE));
        piece.push(entry);
        self.buckets[level * DIGITS + digit].push(piece);
        self.digits[level] |= 1 << digit;
        self.levels |= 1 << level;
    }

    /// The slot of the entry `steps` after the least, where it is known by now and nothing comes between.
    #[inline]
    pub(crate) fn ahead(&self, steps: usize) -> Option<u32> {
        self.run.get(self.next + steps).map(|entry| entry.slot())
    }

    /// Takes the least entry out, of which nothing need be known any more.
    #[inline]
    pub(crate) fn skip(&mut self) {
        let rest = self.run.len() - self.next;
        if self.late.len() == 0 && (rest > AHEAD || rest > 1 && self.beyond == 0) {
            self.next += 1;
        } else {
            self.pop();
        }
    }

    /// Takes the least entry out.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let least = self.take()?;
        if self.run.len() - self.next < AHEAD {
            if self.beyond > 0 {
                self.refill();
            } else if self.most > KEEP && self.len() == 0 {
                *self = Self::new();
            }
        }
        Some(least)
    }

    #[inline]
    fn take(&mut self) -> Option<Entry> {
        match (self.run.get(self.next), self.late.peek()) {
            (Some(run), Some(late)) if late < *run => self.late.pop(),
            (Some(run), _) => {
                self.next += 1;
                Some(*run)
            }
            (None, _) => self.late.pop(),
        }
    }

    /// Takes out what is not to be kept, after a look at all entries.
    #[inline(never)]
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(Entry) -> bool) {
        self.run.drain(..self.next);
        self.next = 0;
        self.run.retain(|entry| keeps(*entry));
        self.late.retain(&mut keeps);
        self.digits = [0; LEVELS];
        self.levels = 0;
        self.beyond = 0;
        for bucket in 0..self.buckets.len() {
            for mut piece in std::mem::take(&mut self.buckets[bucket]) {
                piece.drain(..).filter(|entry| keeps(*entry)).for_each(|entry| self.place(entry));
                self.spare.push(piece);
            }
        }
        if self.beyond > 0 && self.run.len() < AHEAD {
            self.refill();
        }
    }

    /// The run comes to its end: appends the least buckets.
    fn refill(&mut self) {
        self.most = self.most.max(self.beyond).max(self.run.len());
        self.clear_taken();
        while self.run.len() - self.next < 2 * AHEAD && self.levels != 0 {
            let level = self.levels.trailing_zeros() as usize;
            let digit = self.digits[level].trailing_zeros() as usize;
            self.digits[level] &= !(1 << digit);
            if self.digits[level] == 0 {
                self.levels &= !(1 << level);
            }
            let bucket = level * DIGITS + digit;
            let mut pieces = std::mem::take(&mut self.buckets[bucket]);
            if level == 0 || pieces.len() <= SORTED {
                self.append(&mut pieces);
            } else {
                self.split(&mut pieces);
            }
            // What it needs to list its pieces is kept.
            self.buckets[bucket] = pieces;
        }
    }

    /// Sorts a bucket, the least, into the run.
    fn append(&mut self, pieces: &mut Bucket) {
        let from = self.run.len();
        for mut piece in pieces.drain(..) {
            self.run.append(&mut piece);
            self.spare.push(piece);
        }
        self.beyond -= self.run.len() - from;
        self.sort_from(from);
        self.last = self.run.last().map_or(self.last, |entry| entry.bits());
    }

    /// Distributes a bucket, the least, over those of lower levels; what has the least tag comes into the run.
    fn split(&mut self, pieces: &mut Bucket) {
        let least = pieces.iter().flatten().map(|entry| entry.bits()).min();
        self.last = least.unwrap_or(self.last);
        let from = self.run.len();
        for mut piece in pieces.drain(..) {
            self.beyond -= piece.len();
            for entry in piece.drain(..) {
                if entry.bits() == self.last {
                    self.run.push(entry);
                } else {
                    self.place(entry);
                }
            }
            self.spare.push(piece);
        }
        self.sort_from(from);
    }

    /// Sorts the run from `from` on. What is in order already, as equal tags are mostly, is only looked through.
    fn sort_from(&mut self, from: usize) {
        self.run[from..].sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    /// Tags near and far, whole and broken, equal and not.
    fn tags() -> impl Strategy<Value = f64> {
        prop_oneof![(0_u32..40).prop_map(f64::from), 0.0..1e6_f64, Just(1e12), 1e6..1e6 + 1e-6]
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_heap(
            steps in prop::collection::vec((0_u8..8, tags()), 1..600),
            monotone in prop::bool::ANY,
            growing in 3_u8..8,
            removing in prop_oneof![Just(usize::MAX), 2..50_usize],
        ) {
            let mut agenda = Agenda::new();
            let mut plain = BinaryHeap::new();
            let mut clock = 0.0;
            for (order, (action, tag)) in steps.into_iter().enumerate() {
                // As of a server whose tags never lie before the one it serves, or of one that knows no such law.
                let tag = if monotone { clock + tag } else { tag };
                let entry = Entry::new(tag, order as u32, order as u32);
                if action < growing {
                    agenda.push(entry);
                    plain.push(Reverse(entry));
                } else if action == 7 {
                    if plain.pop().is_some() {
                        agenda.pop();
                        agenda.push(entry);
                        plain.push(Reverse(entry));
                    }
                } else {
                    let taken = agenda.pop();
                    clock = taken.map_or(clock, Entry::tag);
                    prop_assert_eq!(taken, plain.pop().map(|Reverse(entry)| entry));
                }
                if order % removing == removing - 1 {
                    // One of them, or a part, or nearly all.
                    let kept = |entry: Entry| match order % 3 {
                        0 => entry.slot() != (order as u32).wrapping_mul(0x9e37_79b9) % order as u32,
                        1 => !entry.slot().is_multiple_of(3),
                        _ => entry.slot().is_multiple_of(50),
                    };
                    agenda.retain(kept);
                    plain.retain(|Reverse(entry)| kept(*entry));
                }
                prop_assert_eq!(agenda.peek(), plain.peek().map(|Reverse(entry)| *entry));
                prop_assert_eq!(agenda.len(), plain.len());
            }
            while let Some(Reverse(entry)) = plain.pop() {
                prop_assert_eq!(agenda.pop(), Some(entry));
            }
            prop_assert_eq!(agenda.pop(), None);
        }
    }

    #[test]
    fn memory_is_given_back() {
        let mut agenda = Agenda::new();
        for order in 0..100_000_u32 {
            agenda.push(Entry::new(f64::from(order.wrapping_mul(0x9e37_79b9)), order, 0));
        }
        let mut before = 0.0;
        while let Some(entry) = agenda.pop() {
            assert!(entry.tag() >= before);
            before = entry.tag();
        }
        let pieces = agenda.buckets.iter().flatten().chain(&agenda.spare);
        let held: usize = pieces.chain([&agenda.run]).map(Vec::capacity).sum();
        assert!(held <= KEEP, "{held} entries' worth");
    }
}
