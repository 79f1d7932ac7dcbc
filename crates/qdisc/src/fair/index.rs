//! Which slot belongs to which flow. Flows are numbered from zero in practice, so that a plain table finds them; the
//! few numbers that no table should be as long as are looked up in a map.

use super::pool::NONE;
use super::shares::FlowMap;

/// The slots of keys that have one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    low: Vec<u32>,
    high: FlowMap<u32>,
}

/// Keys below this are found in the table, of at most four times as many bytes.
const LOW: u32 = 1 << 22;

impl Index {
    /// The slot of `key`.
    #[inline]
    pub(crate) fn get(&self, key: u32) -> Option<u32> {
        match self.low.get(key as usize) {
            Some(slot) => Some(*slot).filter(|slot| *slot != NONE),
            None if key < LOW => None,
            None => self.high.get(&key).copied(),
        }
    }

    /// Gives `key` a slot.
    pub(crate) fn insert(&mut self, key: u32, slot: u32) {
        if key >= LOW {
            self.high.insert(key, slot);
            return;
        }
        if self.low.len() <= key as usize {
            self.low.resize(key as usize + 1, NONE);
        }
        self.low[key as usize] = slot;
    }

    /// Takes the slot of `key` away.
    #[inline]
    pub(crate) fn remove(&mut self, key: u32) {
        match self.low.get_mut(key as usize) {
            Some(slot) => *slot = NONE,
            None => drop(self.high.remove(&key)),
        }
    }
}
