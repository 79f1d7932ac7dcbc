//! The slab that holds the annexes of all packets that exist at the moment. Whoever consumes or drops a packet takes or frees its
//! annex. What annexes say is in `annex.rs`.

use crate::ack_request::AckRequest;
use crate::annex::{AckBlocks, Annex};
use crate::brief::{Brief, LowRange};
use crate::feedback::OneWay;
use crate::fetch::fetch_at;
use crate::ids::AnnexId;
use crate::marks::Echoes;
use crate::time::Time;

/// The slab of annexes of all packets that exist at the moment. What most acknowledgements say is kept apart, in a cache line
/// each, since where flows come by the ten thousand each line is a wait for memory.
#[derive(Debug, Default)]
pub struct Annexes {
    whole: Slab<Option<Annex>>,
    briefs: Slab<Brief>,
}

/// What an acknowledgement says beyond its number, where it is.
#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    /// No stamp.
    Brief(&'a Brief),
    /// Anything.
    Whole(&'a AckBlocks),
}

impl Said<'_> {
    /// Marked data packets that arrived since the flow began, where the receiver counts them.
    #[inline]
    pub fn marks(&self) -> Echoes {
        match self {
            Self::Brief(said) => said.marks,
            Self::Whole(said) => said.marks,
        }
    }

    /// Whether it names no range.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        match self {
            Self::Brief(said) => said.count == 0,
            Self::Whole(said) => said.count == 0,
        }
    }

    /// The way of the segment that caused the acknowledgement, where that was stamped.
    #[inline]
    pub fn one_way(&self) -> Option<OneWay> {
        let Self::Whole(said) = self else { return None };
        said.echo.zip(said.arrived).map(|(sent_at, arrived)| OneWay { sent_at, arrived })
    }
}

impl Annexes {
    /// An empty slab.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores an annex.
    ///
    /// # Panics
    /// When 2^31 annexes are alive: a run that large has long exhausted any memory.
    #[expect(clippy::inline_always, reason = "so that an annex, which is large, is made where it stays")]
    #[inline(always)]
    pub fn insert(&mut self, annex: Annex) -> AnnexId {
        let id = self.whole.vacant();
        // A vacant slot holds nothing that would have to go.
        std::mem::forget(self.whole.slots[id.slot()].replace(annex));
        id
    }

    /// Stores what an acknowledgement says, as `write` writes it where it stays: copied, it would be read in wide pieces while
    /// the narrow ones in which it was written are on their way to memory.
    ///
    /// # Panics
    /// As [`Annexes::insert`] does.
    #[expect(clippy::inline_always, reason = "so that what is written is known")]
    #[inline(always)]
    pub fn insert_blocks(&mut self, write: impl FnOnce(&mut AckBlocks)) -> AnnexId {
        let id = self.whole.vacant();
        let place = &mut self.whole.slots[id.slot()];
        std::mem::forget(place.replace(Annex::Blocks(AckBlocks::default())));
        if let Some(Annex::Blocks(blocks)) = place {
            write(blocks);
        }
        id
    }

    /// Stores what an acknowledgement of all below `base` says that echoes no stamp: what caused it, marks, and the ranges that
    /// `write` writes, none of which lies below `base`, nor ends 2^32 or more above; `write` says how many.
    ///
    /// # Panics
    /// As [`Annexes::insert`] does.
    #[expect(clippy::inline_always, reason = "so that what is written is known")]
    #[inline(always)]
    pub fn insert_brief(
        &mut self,
        base: u64,
        trigger: u64,
        marks: Echoes,
        write: impl FnOnce(&mut [LowRange; 4]) -> u8,
    ) -> AnnexId {
        let id = self.briefs.vacant();
        let brief = &mut self.briefs.slots[id.slot()];
        (brief.base, brief.trigger, brief.marks) = (base, trigger, marks);
        brief.count = write(&mut brief.ranges);
        id
    }

    /// What an acknowledgement says, if its annex says that.
    #[inline]
    pub fn said(&self, id: AnnexId) -> Option<Said<'_>> {
        if id.is_brief() {
            return self.briefs.get(id).map(Said::Brief);
        }
        let Some(Annex::Blocks(said)) = self.whole.get(id)? else { return None };
        Some(Said::Whole(said))
    }

    /// The time that was stamped into a packet of data, if this is its stamp.
    #[inline]
    pub fn stamped_at(&self, id: AnnexId) -> Option<Time> {
        if id.is_brief() { None } else { self.whole.get(id)?.as_ref()?.stamped_at() }
    }

    /// What a packet asks of its receiver's acknowledgements, if anything.
    #[inline]
    pub fn request(&self, id: AnnexId) -> Option<AckRequest> {
        if id.is_brief() { None } else { self.whole.get(id)?.as_ref()?.request() }
    }

    /// Stores a copy of the annex, if the packet has one.
    #[must_use = "a copy that nobody frees stays for ever"]
    pub fn copy(&mut self, id: AnnexId) -> AnnexId {
        if !id.is_brief() {
            let annex = self.whole.get(id).cloned().flatten();
            return annex.map_or(AnnexId::NONE, |annex| self.insert(annex));
        }
        let Some(Brief { base, trigger, ranges, marks, count }) = self.briefs.get(id).copied() else {
            return AnnexId::NONE;
        };
        self.insert_brief(base, trigger, marks, |out| {
            *out = ranges;
            count
        })
    }

    /// Fetches an annex, if the packet has one, ahead of its use; where it has none another one, for want of a branch that no
    /// processor would foresee. Of which kind an annex is, it mostly foresees.
    #[inline]
    pub fn fetch(&self, id: AnnexId) {
        if id.is_brief() {
            fetch_at::<1, _>(&self.briefs.slots, self.briefs.nearest(id));
        } else {
            fetch_at::<2, _>(&self.whole.slots, self.whole.nearest(id));
        }
    }

    /// A control packet's annex, to change it on the way.
    pub fn get_mut(&mut self, id: AnnexId) -> Option<&mut Annex> {
        if id.is_brief() { None } else { self.whole.slots.get_mut(id.slot())?.as_mut() }
    }

    /// Takes the annex out; the handle is void afterwards.
    #[inline(never)]
    pub fn take(&mut self, id: AnnexId) -> Option<Annex> {
        if id.is_brief() {
            let annex = Annex::Blocks(self.briefs.get(id)?.at_length());
            self.briefs.free(id);
            return Some(annex);
        }
        let annex = self.whole.slots.get_mut(id.slot())?.take();
        if annex.is_some() {
            self.whole.free.push(id);
        }
        annex
    }

    /// Frees the annex of a packet that ends here.
    #[inline]
    pub fn free(&mut self, id: AnnexId) {
        if id.is_brief() {
            self.briefs.free(id);
        } else {
            self.whole.free(id);
        }
    }

    /// How many annexes are alive: zero when no packet is on its way.
    pub fn len(&self) -> usize {
        self.whole.len() + self.briefs.len()
    }

    /// Whether no annex is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A place that holds something or not.
trait Slot {
    const VACANT: Self;

    /// Its handle, by where it is; none where there are too many.
    fn id(slot: usize) -> Option<AnnexId>;

    fn is_vacant(&self) -> bool;

    /// Lets go of what is there.
    fn vacate(&mut self);
}

impl Slot for Option<Annex> {
    const VACANT: Self = None;

    fn id(slot: usize) -> Option<AnnexId> {
        AnnexId::of_slot(slot)
    }

    #[inline]
    fn is_vacant(&self) -> bool {
        self.is_none()
    }

    #[inline]
    fn vacate(&mut self) {
        *self = None;
    }
}

impl Slot for Brief {
    const VACANT: Self = Self {
        base: 0,
        trigger: 0,
        ranges: [LowRange { start: 0, end: 0 }; 4],
        marks: Echoes::NONE,
        count: Self::VACANT,
    };

    fn id(slot: usize) -> Option<AnnexId> {
        AnnexId::of_brief(slot)
    }

    #[inline]
    fn is_vacant(&self) -> bool {
        self.count == Self::VACANT
    }

    #[inline]
    fn vacate(&mut self) {
        self.count = Self::VACANT;
    }
}

/// Slots, and which of them are vacant. The one that was left last is taken first: its memory is at hand.
#[derive(Debug)]
struct Slab<T> {
    slots: Vec<T>,
    free: Vec<AnnexId>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T: Slot> Slab<T> {
    /// What the handle, which is of this slab, stands for.
    #[inline]
    fn get(&self, id: AnnexId) -> Option<&T> {
        self.slots.get(id.slot()).filter(|slot| !slot.is_vacant())
    }

    /// A slot that holds nothing.
    #[inline]
    fn vacant(&mut self) -> AnnexId {
        let id = self.free.pop().unwrap_or_else(|| self.another());
        debug_assert!(self.slots[id.slot()].is_vacant(), "it was taken or freed");
        id
    }

    #[cold]
    fn another(&mut self) -> AnnexId {
        self.slots.push(T::VACANT);
        T::id(self.slots.len() - 1).expect("fewer packets than 2^31 exist at once")
    }

    #[inline]
    fn free(&mut self, id: AnnexId) {
        // In place: what is there may be large, and mostly owns no memory.
        if let Some(slot) = self.slots.get_mut(id.slot()).filter(|slot| !slot.is_vacant()) {
            slot.vacate();
            self.free.push(id);
        }
    }

    /// The slot of a handle, or the last one.
    #[inline]
    fn nearest(&self, id: AnnexId) -> usize {
        id.slot().min(self.slots.len().wrapping_sub(1))
    }

    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annex::{ControlInfo, SeqRange};
    use crate::brief::Ranges;
    use crate::rng::mix;

    /// Ranges above a number, by their distances from it.
    fn above(base: u64, distances: &[(u32, u32)]) -> Vec<SeqRange> {
        let range = |&(start, end): &(u32, u32)| SeqRange {
            start: base + u64::from(start),
            end: base + u64::from(end),
        };
        distances.iter().map(range).collect()
    }

    fn brief(annexes: &mut Annexes, base: u64, ranges: &[SeqRange]) -> AnnexId {
        annexes.insert_brief(base, 7, Echoes { ce: 1, rho: 2, eta: 3 }, |lows| {
            for (low, range) in lows.iter_mut().zip(ranges) {
                *low = LowRange::of(*range);
            }
            ranges.len() as u8
        })
    }

    /// In place, copied and taken out, what was said in brief is what was said.
    #[test]
    fn what_is_said_in_brief_is_what_was_said() {
        let bases = [0, 999, (1 << 32) - 1000, (1 << 32) - 1, 1 << 62].into_iter().chain((0..200).map(mix));
        for (case, base) in bases.enumerate() {
            let draw = |part: usize| mix((8 * case + part) as u64) as u32;
            let distances: Vec<_> = (0..case % 5).map(|at| (draw(2 * at), draw(2 * at + 1))).collect();
            let base = base >> 1;
            let ranges = above(base, &distances);
            let mut annexes = Annexes::new();
            let first = brief(&mut annexes, base, &ranges);
            let second = annexes.copy(first);
            for id in [first, second] {
                let Some(Said::Brief(said)) = annexes.said(id) else { panic!("it is there") };
                assert_eq!(said.ranges().collect::<Vec<_>>(), ranges);
                let Some(Annex::Blocks(taken)) = annexes.take(id) else { panic!("it is there") };
                let mut expected =
                    AckBlocks { count: ranges.len() as u8, trigger: 7, ..AckBlocks::default() };
                expected.blocks[..ranges.len()].copy_from_slice(&ranges);
                expected.marks = Echoes { ce: 1, rho: 2, eta: 3 };
                assert_eq!(taken, expected);
                assert_eq!(annexes.take(id), None);
            }
            assert!(annexes.is_empty());
        }
    }

    #[test]
    fn handles_of_both_kinds_are_apart() {
        let mut annexes = Annexes::new();
        let whole = annexes.insert(Annex::Control(ControlInfo { pair: 5, ..ControlInfo::default() }));
        let short = brief(&mut annexes, 0, &above(0, &[(2, 4)]));
        assert_ne!(whole, short);
        assert_eq!((annexes.len(), annexes.stamped_at(whole)), (2, Some(Time::ZERO)));
        assert_eq!(annexes.stamped_at(short), None);
        assert!(annexes.said(whole).is_none() && annexes.said(AnnexId::NONE).is_none());
        assert!(annexes.said(short).is_some_and(|said| !said.is_in_order() && said.one_way().is_none()));
        // Twice is once.
        for id in [whole, whole, AnnexId::NONE, short, short] {
            annexes.free(id);
        }
        assert!(annexes.is_empty());
        assert_eq!(annexes.copy(short), AnnexId::NONE);
        assert_eq!(annexes.copy(AnnexId::NONE), AnnexId::NONE);
        // The place that was left is taken again.
        assert_eq!(brief(&mut annexes, 9, &[]), short);
    }
}
