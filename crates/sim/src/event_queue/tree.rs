//! A winner tree: one leaf per element, inner nodes the minimum of their two children. Arming a leaf is a fixed walk
//! of log2(n) minima without a branch on data; there are no stale entries to skip.
//!
//! The walk's length is a constant of the type, so that it unrolls and needs no bounds checks: measured, that is
//! worth a sixth of a whole run. [`WinnerTree`] picks the walk for its size when it is made.

use tailback_core::Time;

/// The key of a leaf that is not armed.
pub(crate) const IDLE: u64 = u64::MAX;

/// Keys are `time * leaves + leaf`, so that one integer comparison orders by time and then by leaf. Node 1 is the
/// root, node `i` has children `2i` and `2i + 1`.
#[derive(Debug)]
pub(crate) struct WinnerTree {
    nodes: Box<[u64]>,
    arm: Arm,
}

/// The walk for one size: arms a leaf in the nodes and gives the new root.
type Arm = fn(&mut [u64], u32, Time) -> u64;

impl WinnerTree {
    /// A tree for these leaves, or `None` where they are too many, or where `horizon` and a leaf's number do not fit
    /// 64 bits together.
    pub(crate) fn new(leaves: usize, horizon: Time) -> Option<Self> {
        let (nodes, arm) = Self::size_for(leaves)?;
        let tree = Self { nodes: vec![IDLE; nodes].into_boxed_slice(), arm };
        // Two more bits for good measure: timers may be set beyond the horizon.
        (horizon.as_nanos() >> (62 - tree.bits()) == 0).then_some(tree)
    }

    fn size_for(leaves: usize) -> Option<(usize, Arm)> {
        Some(match leaves.next_power_of_two() {
            0..=32 => (64, arm::<64>),
            64 => (128, arm::<128>),
            128 => (256, arm::<256>),
            256 => (512, arm::<512>),
            512 => (1024, arm::<1024>),
            1024 => (2048, arm::<2048>),
            2048 => (4096, arm::<4096>),
            4096 => (8192, arm::<8192>),
            8192 => (16_384, arm::<16_384>),
            16_384 => (32_768, arm::<32_768>),
            32_768 => (65_536, arm::<65_536>),
            65_536 => (131_072, arm::<131_072>),
            131_072 => (262_144, arm::<262_144>),
            _ => return None,
        })
    }

    /// How many leaves there is room for.
    pub(crate) fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    /// How many of a key's low bits are the leaf's number.
    pub(crate) fn bits(&self) -> u32 {
        self.leaves().trailing_zeros()
    }

    /// Arms a leaf and gives the new root, whose meaning [`WinnerTree::bits`] tells.
    #[inline(always)]
    pub(crate) fn arm(&mut self, leaf: u32, time: Time) -> u64 {
        (self.arm)(&mut self.nodes, leaf, time)
    }

    /// The key of a leaf.
    #[inline]
    pub(crate) fn key(&self, leaf: u32) -> u64 {
        self.nodes[leaf as usize + self.nodes.len() / 2]
    }
}

/// Arms a leaf of a tree of `NODES / 2` leaves and gives the new root.
fn arm<const NODES: usize>(nodes: &mut [u64], leaf: u32, time: Time) -> u64 {
    const { assert!(NODES.is_power_of_two()) };
    let Ok(nodes) = <&mut [u64; NODES]>::try_from(nodes) else { return IDLE };
    let leaves = NODES / 2;
    let bits = leaves.trailing_zeros();
    // A time that does not fit is later than anything the run reaches: the leaf is idle as far as it matters.
    let key = time.as_nanos().min(IDLE >> bits) << bits | u64::from(leaf);
    let mut node = leaf as usize % leaves + leaves;
    let mut winner = key;
    nodes[node] = key;
    for _ in 0..bits {
        winner = winner.min(nodes[(node ^ 1) % NODES]);
        node >>= 1;
        nodes[node % NODES] = winner;
    }
    winner
}
