//! A winner tree: one leaf per element, inner nodes the minimum of their two children. Arming a leaf is a fixed walk
//! of log2(n) minima without a branch on data; there are no stale entries to skip.

use tailback_core::Time;

/// Keys are `time << bits | leaf`, so that one integer comparison orders by time and then by leaf.
#[derive(Debug)]
pub(crate) struct WinnerTree {
    /// Node 1 is the root, node `i` has children `2i` and `2i + 1`, leaves start at `leaves`.
    nodes: Box<[u64]>,
    leaves: u32,
    bits: u32,
}

const IDLE: u64 = u64::MAX;

impl WinnerTree {
    /// A tree for these leaves, or `None` where `horizon` and a leaf's number do not fit 64 bits together.
    pub(crate) fn new(leaves: usize, horizon: Time) -> Option<Self> {
        let leaves = leaves.max(2).next_power_of_two();
        let bits = leaves.trailing_zeros();
        // One more bit for good measure: timers may be set beyond the horizon.
        if horizon.as_nanos() >= 1 << (62 - bits) {
            return None;
        }
        Some(Self { nodes: vec![IDLE; 2 * leaves].into_boxed_slice(), leaves: leaves as u32, bits })
    }

    /// How many leaves there is room for.
    pub(crate) fn leaves(&self) -> usize {
        self.leaves as usize
    }

    #[inline]
    pub(crate) fn arm(&mut self, leaf: u32, time: Time) {
        // A time that does not fit is later than anything the run reaches: the leaf is idle as far as it matters.
        let key = if time.as_nanos() >> (64 - self.bits) == 0 {
            time.as_nanos() << self.bits | u64::from(leaf)
        } else {
            IDLE
        };
        let mut node = (self.leaves + leaf) as usize;
        let mut winner = key;
        // The mask bounds the index for the compiler: the number of nodes is a power of two.
        let mask = self.nodes.len() - 1;
        self.nodes[node & mask] = key;
        while node > 1 {
            winner = winner.min(self.nodes[(node ^ 1) & mask]);
            node >>= 1;
            self.nodes[node & mask] = winner;
        }
    }

    #[inline]
    pub(crate) fn due(&self, leaf: u32) -> Time {
        self.time(self.nodes[(self.leaves + leaf) as usize])
    }

    #[inline]
    pub(crate) fn next(&self) -> (Time, u32) {
        let key = self.nodes[1];
        (self.time(key), (key & ((1 << self.bits) - 1)) as u32)
    }

    #[inline]
    fn time(&self, key: u64) -> Time {
        if key == IDLE { Time::NEVER } else { Time::from_nanos(key >> self.bits) }
    }
}
