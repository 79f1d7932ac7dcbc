//! A winner tree: one leaf per element, inner nodes the minimum of their two children. Arming a leaf is a fixed walk
//! of log2(n) minima without a branch on data; there are no stale entries to skip.
//!
//! The walk's length is a constant of the type, so that it unrolls and needs no bounds checks: measured, that is
//! worth a sixth of a whole run. A few sizes are enough; [`WinnerTree`] picks one.

use tailback_core::Time;

/// The key of a leaf that is not armed.
pub(crate) const IDLE: u64 = u64::MAX;

/// A tree of `NODES / 2` leaves. Node 1 is the root, node `i` has children `2i` and `2i + 1`.
///
/// Keys are `time * leaves + leaf`, so that one integer comparison orders by time and then by leaf.
#[derive(Debug)]
pub(crate) struct Sized<const NODES: usize>(Box<[u64; NODES]>);

impl<const NODES: usize> Sized<NODES> {
    const LEAVES: usize = NODES / 2;
    const BITS: u32 = Self::LEAVES.trailing_zeros();

    fn new() -> Option<Self> {
        Some(Self(vec![IDLE; NODES].into_boxed_slice().try_into().ok()?))
    }

    /// Arms a leaf and gives the new root.
    #[inline(never)]
    fn arm(&mut self, leaf: u32, time: Time) -> u64 {
        // A time that does not fit is later than anything the run reaches: the leaf is idle as far as it matters.
        let nanos = time.as_nanos();
        let key = if nanos >> (64 - Self::BITS) == 0 { nanos << Self::BITS | u64::from(leaf) } else { IDLE };
        let mut node = leaf as usize % Self::LEAVES + Self::LEAVES;
        let mut winner = key;
        self.0[node] = key;
        for _ in 0..Self::BITS {
            winner = winner.min(self.0[(node ^ 1) % NODES]);
            node >>= 1;
            self.0[node % NODES] = winner;
        }
        winner
    }

    #[inline]
    fn due(&self, leaf: u32) -> Time {
        Self::time(self.0[leaf as usize % Self::LEAVES + Self::LEAVES])
    }

    #[inline]
    fn time(key: u64) -> Time {
        if key == IDLE { Time::NEVER } else { Time::from_nanos(key >> Self::BITS) }
    }
}

macro_rules! sizes {
    ($($name:ident $nodes:literal),+) => {
        /// A winner tree of one of a few sizes.
        #[derive(Debug)]
        pub(crate) enum WinnerTree {
            $($name(Sized<$nodes>),)+
        }

        impl WinnerTree {
            /// A tree for these leaves, or `None` where they are too many, or where `horizon` and a leaf's number do
            /// not fit 64 bits together.
            pub(crate) fn new(leaves: usize, horizon: Time) -> Option<Self> {
                $(
                    if leaves <= $nodes / 2 {
                        // One more bit for good measure: timers may be set beyond the horizon.
                        let bits = Sized::<$nodes>::BITS + 1;
                        let fits = horizon.as_nanos() >> (63 - bits) == 0;
                        return fits.then(Sized::new).flatten().map(Self::$name);
                    }
                )+
                None
            }

            /// How many leaves there is room for.
            pub(crate) fn leaves(&self) -> usize {
                match self {
                    $(Self::$name(_) => $nodes / 2,)+
                }
            }

            /// Arms a leaf and gives the new root, whose meaning [`WinnerTree::bits`] tells.
            #[inline]
            pub(crate) fn arm(&mut self, leaf: u32, time: Time) -> u64 {
                match self {
                    $(Self::$name(tree) => tree.arm(leaf, time),)+
                }
            }

            #[inline]
            pub(crate) fn due(&self, leaf: u32) -> Time {
                match self {
                    $(Self::$name(tree) => tree.due(leaf),)+
                }
            }

            /// How many of a key's low bits are the leaf's number.
            pub(crate) fn bits(&self) -> u32 {
                match self {
                    $(Self::$name(_) => Sized::<$nodes>::BITS,)+
                }
            }
        }
    };
}

sizes!(Of32 64, Of128 256, Of512 1024, Of2k 4096, Of8k 16_384, Of32k 65_536, Of128k 262_144);
