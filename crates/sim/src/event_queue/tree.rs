//! A winner tree: one leaf per element, inner nodes the minimum of their two children. Arming a leaf is a fixed walk
//! of log2(n) minima without a branch on data; there are no stale entries to skip.
//!
//! Nodes lie as walks need them. The upper levels, which are at hand in the nearest cache, lie as in a heap: a step up is one
//! shift. Where there are more levels, the lower ones go by fours: four keys in half a line of memory, of which the least is
//! one of the four above.
//!
//! The walk's length is a constant of the type, so that it unrolls and needs no bounds checks: measured, that is
//! worth a sixth of a whole run. [`WinnerTree`] picks the walk for its size when it is made.

use tailback_core::Time;
use tailback_core::fetch::fetch_at;

/// The key of a leaf that is not armed.
pub(crate) const IDLE: u64 = u64::MAX;

/// Four keys next to each other: what two levels of the tree come to.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Four([u64; 4]);

impl Four {
    /// The least of the others.
    #[inline(always)]
    fn least_beside(&self, place: usize) -> u64 {
        self.0[place ^ 1].min(self.0[place ^ 2]).min(self.0[place ^ 3])
    }
}

/// Keys are `time * leaves + leaf`, so that one integer comparison orders by time and then by leaf.
#[derive(Debug)]
pub(crate) struct WinnerTree {
    /// The lower levels: the leaves come first, then the fours above them. A small tree has none.
    fours: Box<[Four]>,
    /// The upper levels: below node `n` are `2 n` and `2 n + 1`. The root, node 1, is not stored: the queue keeps it.
    top: Box<[u64]>,
    bits: u32,
    walks: Walks,
}

/// The walks for one size.
#[derive(Clone, Copy, Debug)]
struct Walks {
    /// Arms a leaf and gives the new root.
    arm: fn(&mut [Four], &mut [u64], u32, Time) -> u64,
    /// Arms a leaf that was due later, and gives its key.
    bring_forward: fn(&mut [Four], &mut [u64], u32, Time) -> u64,
}

/// At most so many levels lie as in a heap: 16 KiB.
const MOST_ABOVE: u32 = 10;

/// Into so many parts a tree is cut to look ahead.
pub(super) const PARTS: usize = 32;

/// How many pairs of levels of a tree of `1 << bits` leaves go by fours.
const fn pairs_of_levels(bits: u32) -> u32 {
    bits.saturating_sub(MOST_ABOVE).div_ceil(2)
}

/// How many levels lie above these.
const fn levels_above(bits: u32) -> u32 {
    bits - 2 * pairs_of_levels(bits)
}

/// How many fours such a tree has.
const fn fours(bits: u32) -> usize {
    let (mut all, mut wide, mut level) = (0, 1_usize << bits, 0);
    while level < pairs_of_levels(bits) {
        wide /= 4;
        all += wide;
        level += 1;
    }
    all
}

/// How many keys the upper levels take.
const fn top(bits: u32) -> usize {
    2 << levels_above(bits)
}

impl Walks {
    const fn of<const BITS: u32, const FOURS: usize, const TOP: usize>() -> Self {
        const { assert!(FOURS == fours(BITS) && TOP == top(BITS)) };
        Self { arm: arm::<BITS, FOURS, TOP>, bring_forward: bring_forward::<BITS, FOURS, TOP> }
    }
}

/// The walks for each number of bits.
macro_rules! walks {
    ($given:expr, $($bits:literal)+) => {
        match $given {
            $($bits => Some(Walks::of::<$bits, { fours($bits) }, { top($bits) }>()),)+
            _ => None,
        }
    };
}

impl WinnerTree {
    /// A tree for these leaves, or `None` where they are too many, or where `horizon` and a leaf's number do not fit
    /// 64 bits together.
    pub(crate) fn new(leaves: usize, horizon: Time) -> Option<Self> {
        let bits = leaves.next_power_of_two().trailing_zeros().max(6);
        let walks = walks!(bits, 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24)?;
        // Two more bits for good measure: timers may be set beyond the horizon.
        let fits = horizon.as_nanos() >> (62 - bits) == 0;
        fits.then(|| Self {
            fours: vec![Four([IDLE; 4]); fours(bits)].into_boxed_slice(),
            top: vec![IDLE; top(bits)].into_boxed_slice(),
            bits,
            walks,
        })
    }

    /// How many leaves there is room for.
    pub(crate) fn leaves(&self) -> usize {
        1 << self.bits
    }

    /// How many of a key's low bits are the leaf's number.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Arms a leaf and gives the new root, whose meaning [`WinnerTree::bits`] tells.
    #[inline(always)]
    pub(crate) fn arm(&mut self, leaf: u32, time: Time) -> u64 {
        (self.walks.arm)(&mut self.fours, &mut self.top, leaf, time)
    }

    /// Arms a leaf that was due later, or not at all, and gives its key, below which the root cannot stay.
    #[inline(always)]
    pub(crate) fn bring_forward(&mut self, leaf: u32, time: Time) -> u64 {
        (self.walks.bring_forward)(&mut self.fours, &mut self.top, leaf, time)
    }

    /// Whether there are more than 256 leaves: less is at hand in any case.
    pub(crate) fn is_wide(&self) -> bool {
        self.bits > 8
    }

    /// Whether there are more than 4096 leaves.
    pub(crate) fn is_large(&self) -> bool {
        self.bits > 12
    }

    /// The key that is due first in the part of the tree in which `leaf` is, of [`PARTS`] parts. In the part in which a leaf
    /// was armed last it is, most often, one that has not been first before; it becomes due in `PARTS` events on average.
    #[inline(always)]
    pub(crate) fn soon(&self, leaf: u32) -> u64 {
        let node = PARTS + (leaf as usize >> (self.bits - PARTS.trailing_zeros()));
        self.top.get(node).copied().unwrap_or(IDLE)
    }

    /// Fetches a leaf and what stands above it; further up, all is at hand.
    #[inline(always)]
    pub(crate) fn fetch(&self, leaf: u32) {
        let at = leaf as usize / 4;
        fetch_at::<1, _>(&self.fours, at);
        fetch_at::<1, _>(&self.fours, self.leaves() / 4 + at / 4);
    }

    /// The key of a leaf.
    #[inline]
    pub(crate) fn key(&self, leaf: u32) -> u64 {
        let leaf = leaf as usize;
        match self.fours.get(leaf / 4) {
            Some(four) => four.0[leaf % 4],
            None => self.top[self.leaves() + leaf],
        }
    }
}

/// A time that does not fit is later than anything the run reaches: the leaf is idle as far as it matters.
#[inline(always)]
pub(super) const fn key_of(bits: u32, leaf: u32, time: Time) -> u64 {
    let latest = IDLE >> bits;
    let time = if time.as_nanos() < latest { time.as_nanos() } else { latest };
    time << bits | leaf as u64
}

/// Arms a leaf: the walk of [`Walks::arm`].
fn arm<const BITS: u32, const FOURS: usize, const TOP: usize>(
    fours: &mut [Four],
    top: &mut [u64],
    leaf: u32,
    time: Time,
) -> u64 {
    let Ok(fours) = <&mut [Four; FOURS]>::try_from(fours) else { return IDLE };
    let Ok(top) = <&mut [u64; TOP]>::try_from(top) else { return IDLE };
    let (mut winner, mut node) = (key_of(BITS, leaf, time), leaf as usize % (1 << BITS));
    let (mut from, mut wide) = (0, 1_usize << BITS);
    for _ in 0..pairs_of_levels(BITS) {
        wide /= 4;
        let (four, place) = (&mut fours[from + node / 4], node % 4);
        four.0[place] = winner;
        winner = winner.min(four.least_beside(place));
        node /= 4;
        from += wide;
    }
    let mut at = TOP / 2 + node;
    for _ in 0..levels_above(BITS) {
        top[at] = winner;
        winner = winner.min(top[at ^ 1]);
        at /= 2;
    }
    winner
}

/// So many levels are walked without a look whether that is enough: nearly always it is, so that the look is foreseen.
const UNSEEN: u32 = 4;

/// Brings a leaf forward: the walk of [`Walks::bring_forward`]. Above a node that is earlier, nothing changes.
fn bring_forward<const BITS: u32, const FOURS: usize, const TOP: usize>(
    fours: &mut [Four],
    top: &mut [u64],
    leaf: u32,
    time: Time,
) -> u64 {
    let Ok(fours) = <&mut [Four; FOURS]>::try_from(fours) else { return IDLE };
    let Ok(top) = <&mut [u64; TOP]>::try_from(top) else { return IDLE };
    let key = key_of(BITS, leaf, time);
    let mut node = leaf as usize % (1 << BITS);
    let (mut from, mut wide) = (0, 1_usize << BITS);
    for level in 0..pairs_of_levels(BITS) {
        wide /= 4;
        let known = &mut fours[from + node / 4].0[node % 4];
        let before = *known;
        debug_assert!(level > 0 || key <= before, "brought forward");
        *known = before.min(key);
        if 2 * level >= UNSEEN && before <= key {
            return key;
        }
        node /= 4;
        from += wide;
    }
    let mut at = TOP / 2 + node;
    for level in 2 * pairs_of_levels(BITS)..BITS {
        let before = top[at];
        debug_assert!(level > 0 || key <= before, "brought forward");
        top[at] = before.min(key);
        if level + 1 >= UNSEEN && level % 2 == 1 && before <= key {
            break;
        }
        at /= 2;
    }
    key
}
