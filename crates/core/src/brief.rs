//! What most acknowledgements say beyond their number, in one cache line: ranges, what caused them and marks, but no stamp.
//! What any of them may say is [`AckBlocks`].

use crate::annex::{AckBlocks, SeqRange};
use crate::marks::Echoes;

/// A half-open range of sequence numbers by the low halves of its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LowRange {
    /// Of the first number within.
    pub start: u32,
    /// Of the first number beyond.
    pub end: u32,
}

impl LowRange {
    /// Of a range, neither end of which lies 2^32 or more above the number that it is told with.
    #[inline]
    pub const fn of(range: SeqRange) -> Self {
        Self { start: range.start as u32, end: range.end as u32 }
    }

    /// The range, neither end of which lies below `base`, nor 2^32 or more above.
    #[inline]
    pub fn above(self, base: u64) -> SeqRange {
        let whole = |low: u32| base + u64::from(low.wrapping_sub(base as u32));
        SeqRange { start: whole(self.start), end: whole(self.end) }
    }
}

/// Ranges that have arrived, the most recent first, where they are: a copy would be read before it is written.
pub trait Ranges {
    /// One after another.
    fn ranges(&self) -> impl Iterator<Item = SeqRange>;
}

impl Ranges for [SeqRange] {
    #[inline]
    fn ranges(&self) -> impl Iterator<Item = SeqRange> {
        self.iter().copied()
    }
}

impl Ranges for Brief {
    #[inline]
    fn ranges(&self) -> impl Iterator<Item = SeqRange> {
        self.ranges[..usize::from(self.count)].iter().map(|range| range.above(self.base))
    }
}

/// What an acknowledgement says that echoes no stamp.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Brief {
    pub(crate) base: u64,
    pub(crate) trigger: u64,
    pub(crate) ranges: [LowRange; 4],
    pub(crate) marks: Echoes,
    /// How many of `ranges` are in use; [`Brief::VACANT`] where nothing is said.
    pub(crate) count: u8,
}

impl Brief {
    pub(crate) const VACANT: u8 = u8::MAX;

    /// The same at length.
    pub(crate) fn at_length(&self) -> AckBlocks {
        let mut blocks = [SeqRange::default(); 4];
        for (block, range) in blocks.iter_mut().zip(self.ranges()) {
            *block = range;
        }
        let (trigger, marks) = (self.trigger, self.marks);
        AckBlocks { blocks, count: self.count, trigger, echo: None, arrived: None, marks }
    }
}

const _: () = assert!(size_of::<Brief>() == 64, "one cache line");
