//! Which segments have arrived: the next number in order, the ranges beyond it, and which of these to report first.
//! It counts bytes but keeps none; when to acknowledge is the receiver's.

use std::collections::VecDeque;

use tailback_core::{LowRange, SeqRange};

/// Segments and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) packets: u64,
    /// Bytes on the wire.
    pub(crate) wire: u64,
    pub(crate) payload: u64,
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.wire += other.wire;
        self.payload += other.payload;
    }
}

/// Consecutive segments beyond a hole.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    wire: u64,
    payload: u64,
}

/// How a segment arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// In order, with what it made readable; `filled` if there was something beyond it.
    InOrder {
        /// What became readable.
        readable: Amount,
        /// Whether it filled a hole.
        filled: bool,
    },
    /// Beyond a hole.
    Beyond,
    /// It had arrived before.
    Duplicate,
}

/// Nobody has so many segments outstanding: a number further ahead is forged, and not kept. So low halves tell ranges.
const REACH: u64 = 1 << 31;

/// How many of the ranges that grew last are remembered.
const RECENT: usize = 6;
/// How many of the highest ranges are looked at one by one.
const NEAR: usize = 6;

/// The state of one stream.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    next: u64,
    has_holes: bool,
    /// What lies beyond `next`; most streams never have anything there.
    beyond: Option<Box<Beyond>>,
}

/// What has arrived beyond a hole: two lines of memory, and the ranges.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Beyond {
    /// Sorted, disjoint, never touching, all above the next number expected.
    ranges: VecDeque<Range>,
    /// Numbers within the ranges that changed last, the newest first; repetitions are allowed. Their low halves, which tell
    /// all, since nothing further ahead than [`REACH`] is kept.
    recent: [u32; RECENT],
    /// How much longer the range is by now that the last report names first: a report is copied in wide pieces, which would
    /// wait for a narrow one that was just written.
    grown: u32,
    /// How many ranges the last report names and how many it was to name at most; `None` where it does not hold any more.
    said: Option<(u8, u8)>,
    /// The last report, which holds except for `grown` where the range that it names first has grown at its end, as mostly
    /// happens.
    blocks: [LowRange; 4],
}

impl Reassembly {
    /// The next number expected.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Whether there is a hole.
    #[inline]
    pub(crate) fn has_holes(&self) -> bool {
        self.has_holes
    }

    /// Takes the number if it is the next one and nothing lies beyond; whether it was.
    #[inline(always)]
    pub(crate) fn take_next(&mut self, number: u64) -> bool {
        let next = number == self.next && !self.has_holes;
        self.next += u64::from(next);
        next
    }

    /// A segment arrived.
    #[inline]
    pub(crate) fn arrive(&mut self, number: u64, wire: u64, payload: u64) -> Arrived {
        if self.has_holes
            && number != self.next
            && let Some(beyond) = &mut self.beyond
            && beyond.lengthen(number, wire, payload)
        {
            return Arrived::Beyond;
        }
        self.arrive_anywhere(number, wire, payload)
    }

    fn arrive_anywhere(&mut self, number: u64, wire: u64, payload: u64) -> Arrived {
        if number == self.next {
            self.next += 1;
            let mut readable = Amount { packets: 1, wire, payload };
            let filled = self.has_holes;
            if let Some(beyond) = self.beyond.as_mut().filter(|_| filled) {
                if let Some(range) = beyond.absorb(self.next) {
                    self.next = range.end;
                    let packets = range.end - range.start;
                    readable.add(Amount { packets, wire: range.wire, payload: range.payload });
                }
                self.has_holes = !beyond.ranges.is_empty();
            }
            return Arrived::InOrder { readable, filled };
        }
        if number < self.next {
            return Arrived::Duplicate;
        }
        if number - self.next > REACH {
            return Arrived::Beyond;
        }
        self.has_holes = true;
        self.beyond.get_or_insert_default().insert(number, wire, payload)
    }

    /// Whether a number beyond a hole touches one of the so many ranges that changed last, or there are fewer of them.
    pub(crate) fn is_among_newest(&self, number: u64, places: usize) -> bool {
        self.beyond.as_ref().is_none_or(|beyond| beyond.is_among_newest(self.next, number, places))
    }

    /// Writes at most `most` ranges, the one that changed last first (RFC 2018 §4); how many.
    #[inline]
    pub(crate) fn report(&mut self, blocks: &mut [LowRange; 4], most: u8) -> u8 {
        let Some(beyond) = &mut self.beyond else { return 0 };
        let count = match beyond.said {
            Some((count, known)) if known == most => count,
            _ => beyond.report(self.next, most),
        };
        *blocks = beyond.blocks;
        blocks[0].end = beyond.first_end();
        count
    }
}

impl Beyond {
    /// Takes the first range if that is in order now.
    fn absorb(&mut self, next: u64) -> Option<Range> {
        let range = self.ranges.front().copied().filter(|range| range.start == next)?;
        self.ranges.pop_front();
        self.said = None;
        if self.ranges.is_empty() && self.ranges.capacity() > 16 {
            self.ranges = VecDeque::new();
        }
        Some(range)
    }

    /// Where the range ends that the last report names first: the low half.
    #[inline]
    fn first_end(&self) -> u32 {
        self.blocks[0].end.wrapping_add(self.grown)
    }

    /// Takes the number if it makes the highest range longer, which is the one that changed last; the report follows.
    #[inline]
    fn lengthen(&mut self, number: u64, wire: u64, payload: u64) -> bool {
        let newest = self.said.is_some()
            && self.first_end() == number as u32
            && self.is_newest(number.wrapping_sub(1));
        match self.ranges.back_mut() {
            Some(last) if newest && last.end == number => {
                last.end += 1;
                last.wire += wire;
                last.payload += payload;
                self.grown += 1;
                self.recent[0] = number as u32;
                true
            }
            _ => false,
        }
    }

    fn insert(&mut self, number: u64, wire: u64, payload: u64) -> Arrived {
        // The first range that ends at or beyond the number; usually the last one, or none.
        let at = match self.ranges.back() {
            Some(last) if last.end > number => self.ranges.partition_point(|range| range.end < number),
            Some(last) if last.end == number => self.ranges.len() - 1,
            _ => self.ranges.len(),
        };
        let new = Range { start: number, end: number + 1, wire, payload };
        let said = self.said.take();
        match self.ranges.get_mut(at) {
            Some(range) if range.start <= number && number < range.end => {
                // Reported first all the same: RFC 2018 §4 wants the range that the acknowledgement answers to.
                self.remember(number);
                return Arrived::Duplicate;
            }
            Some(range) if range.end == number => {
                range.end += 1;
                range.wire += wire;
                range.payload += payload;
                let newest = said.is_some()
                    && self.first_end() == number as u32
                    && self.is_newest(number.wrapping_sub(1));
                if !self.join(at) && newest {
                    self.grown += 1;
                    self.said = said;
                }
            }
            Some(range) if range.start == number + 1 => {
                range.start = number;
                range.wire += wire;
                range.payload += payload;
            }
            _ => self.ranges.insert(at, new),
        }
        self.remember(number);
        Arrived::Beyond
    }

    /// Joins a range with the next if they touch; whether they did.
    fn join(&mut self, at: usize) -> bool {
        let Some(next) = self.ranges.get(at + 1).copied() else { return false };
        let Some(range) = self.ranges.get_mut(at).filter(|range| range.end == next.start) else {
            return false;
        };
        range.end = next.end;
        range.wire += next.wire;
        range.payload += next.payload;
        self.ranges.remove(at + 1);
        true
    }

    /// Whether the range of `number` changed last.
    fn is_newest(&self, number: u64) -> bool {
        self.recent[0] == number as u32
    }

    /// The range of `number` changed last.
    fn remember(&mut self, number: u64) {
        // A range that grows at its end keeps its place by moving its number along.
        if !self.is_newest(number.wrapping_sub(1)) {
            self.recent.copy_within(..RECENT - 1, 1);
        }
        self.recent[0] = number as u32;
    }

    /// The range that holds a number. What changed last is mostly among the highest.
    fn range_of(&self, number: u64) -> Option<SeqRange> {
        let mut high = self.ranges.iter().rev().take(NEAR);
        let found = high.find(|range| range.start <= number).or_else(|| {
            let at = self.ranges.partition_point(|range| range.end <= number);
            self.ranges.get(at).filter(|range| range.start <= number)
        });
        let holding = found.filter(|range| number < range.end);
        holding.map(|range| SeqRange { start: range.start, end: range.end })
    }

    /// Whether a number touches one of the so many ranges that changed last, or there are fewer of them.
    fn is_among_newest(&self, next: u64, number: u64, places: usize) -> bool {
        let recent = self
            .recent
            .iter()
            .filter_map(|low| self.range_of(next + u64::from(low.wrapping_sub(next as u32))));
        // Where the numbers that are remembered are all in one range, the lowest ones stand for the others, as in a report.
        let lowest = self.ranges.iter().map(|range| SeqRange { start: range.start, end: range.end });
        let mut newest = Vec::with_capacity(places);
        for range in recent.chain(lowest) {
            if newest.len() < places && !newest.contains(&range) {
                newest.push(range);
            }
        }
        newest.len() < places || newest.iter().any(|range| range.start <= number + 1 && number <= range.end)
    }

    /// Makes the report as of now: ranges that changed last, then the lowest ones; how many. `next` is the number expected.
    #[inline(never)]
    fn report(&mut self, next: u64, most: u8) -> u8 {
        let mut blocks = [LowRange::default(); 4];
        let wanted = usize::from(most).min(blocks.len()).min(self.ranges.len());
        let mut count = 0;
        let mut add = |range: SeqRange| {
            let range = LowRange::of(range);
            if !blocks[..count].contains(&range) {
                blocks[count] = range;
                count += 1;
            }
            count < wanted
        };
        // The number at or above the next one expected of which this is the low half.
        let whole = |low: u32| next + u64::from(low.wrapping_sub(next as u32));
        let full = wanted == 0
            || self.recent.iter().any(|low| self.range_of(whole(*low)).is_some_and(|range| !add(range)));
        if !full {
            let _ = self.ranges.iter().any(|range| !add(SeqRange { start: range.start, end: range.end }));
        }
        self.blocks = blocks;
        self.grown = 0;
        self.said = Some((count as u8, most));
        count as u8
    }
}

const _: () = assert!(size_of::<Beyond>() == 128, "two cache lines");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(reassembly: &mut Reassembly, most: u8) -> Vec<(u64, u64)> {
        let mut out = [LowRange::default(); 4];
        let count = reassembly.report(&mut out, most);
        let whole = |range: &LowRange| range.above(reassembly.next());
        out[..usize::from(count)].iter().map(whole).map(|range| (range.start, range.end)).collect()
    }

    fn arrivals(numbers: &[u64]) -> Reassembly {
        let mut reassembly = Reassembly::default();
        for number in numbers {
            reassembly.arrive(*number, 1000, 960);
        }
        reassembly
    }

    #[test]
    fn reports_the_newest_range_first() {
        // RFC 2018 §5, case 3: every other of eight segments is lost, beginning with the second.
        let mut reassembly = arrivals(&[0, 2, 4, 6]);
        assert_eq!(blocks(&mut reassembly, 3), [(6, 7), (4, 5), (2, 3)]);
        let mut reassembly = arrivals(&[0, 2, 4, 6, 3]);
        assert_eq!(blocks(&mut reassembly, 3), [(2, 5), (6, 7)]);
        let mut reassembly = arrivals(&[0, 2, 4, 6, 8, 10, 3]);
        assert_eq!(blocks(&mut reassembly, 3), [(2, 5), (10, 11), (8, 9)]);
    }

    #[test]
    fn fills_up_with_the_lowest_ranges() {
        let mut reassembly = arrivals(&[2, 4, 20, 21, 22, 24, 26, 28, 30, 32, 25, 27, 29, 31, 23]);
        assert_eq!(blocks(&mut reassembly, 4), [(20, 33), (2, 3), (4, 5)]);
    }

    #[test]
    fn a_filled_hole_makes_everything_readable() {
        let mut reassembly = arrivals(&[0, 2, 3, 5]);
        let readable = Amount { packets: 3, wire: 2500, payload: 2380 };
        assert_eq!(reassembly.arrive(1, 500, 460), Arrived::InOrder { readable, filled: true });
        assert_eq!(reassembly.next(), 4);
        assert_eq!(reassembly.arrive(5, 1000, 960), Arrived::Duplicate);
        assert_eq!(reassembly.arrive(3, 1000, 960), Arrived::Duplicate);
        assert!(reassembly.has_holes());
    }

    #[test]
    fn forged_numbers_are_not_kept() {
        let mut reassembly = arrivals(&[0, u64::MAX, 1 << 40]);
        assert!(!reassembly.has_holes());
        assert!(matches!(reassembly.arrive(1, 1000, 960), Arrived::InOrder { .. }));
    }

    proptest! {
        /// Against a set of numbers: the same next number, the same ranges, every byte readable once.
        #[test]
        fn agrees_with_a_set(
            runs in prop::collection::vec((0_u64..60, 1_u64..6), 1..100),
            // Low halves begin anew amid the second sixty.
            base in prop::sample::select(vec![0, (1_u64 << 32) - 30]),
        ) {
            let numbers = runs.iter().flat_map(|(first, length)| *first..60.min(first + length));
            let numbers = numbers.map(|number| base + number);
            let mut reassembly = Reassembly { next: base, ..Reassembly::default() };
            let mut seen = std::collections::BTreeSet::new();
            let mut readable = 0;
            for number in numbers {
                let fresh = seen.insert(number);
                match reassembly.arrive(number, 1, number) {
                    Arrived::InOrder { readable: now, .. } => readable += now.payload,
                    Arrived::Beyond => {}
                    Arrived::Duplicate => prop_assert!(!fresh),
                }
                let next = (base..=base + 60).find(|n| !seen.contains(n)).unwrap();
                prop_assert_eq!(reassembly.next(), next);
                prop_assert_eq!(readable, (base..next).sum::<u64>());
                let blocks = blocks(&mut reassembly, 3);
                let (has_holes, mut none) = (reassembly.has_holes(), Beyond::default());
                let beyond = reassembly.beyond.as_deref_mut().unwrap_or(&mut none);
                prop_assert_eq!(has_holes, !beyond.ranges.is_empty());
                let held: Vec<u64> = beyond.ranges.iter().flat_map(|r| r.start..r.end).collect();
                let expected: Vec<u64> = seen.iter().copied().filter(|n| *n > next).collect();
                prop_assert_eq!(held, expected);
                let ranges = beyond.ranges.iter().collect::<Vec<_>>();
                for pair in ranges.windows(2) {
                    prop_assert!(pair[0].end < pair[1].start);
                }
                prop_assert_eq!(blocks.len(), ranges.len().min(3));
                let some = beyond.report(next, 3);
                let afresh = beyond.blocks.map(|low| low.above(next)).map(|range| (range.start, range.end));
                prop_assert_eq!(&blocks[..], &afresh[..usize::from(some)]);
                if number > next {
                    prop_assert!((blocks[0].0..blocks[0].1).contains(&number));
                }
            }
        }
    }
}
