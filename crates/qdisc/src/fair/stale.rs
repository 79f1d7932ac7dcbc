//! Which entries of an order no longer count, since their slots have newer ones. Where they lie is not known here.
//!
//! To find an entry that lies somewhere among all others takes as long as there are others. So it stays where it lies until
//! it comes to the top, or until such entries are the most, and meanwhile it is known by this: of its slot another is the
//! newest. Nothing is kept of a slot with one entry.

use super::heap::Entry;
use super::shares::FlowMap;

/// The entries that no longer count.
#[derive(Clone, Debug, Default)]
pub(super) struct Stale {
    /// The slots that have some.
    slots: FlowMap<Slot>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The only entry that may count. It may have left.
    newest: Entry,
    /// How many do not.
    older: u32,
}

/// So few are left where they lie. After more than this at once, memory is given back when none is left.
const FEW: usize = 64;

impl Stale {
    /// Whether there are none.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether it is time to look for them among `all` entries: it takes no longer than their coming took.
    pub(super) const fn are_most_of(&self, all: usize) -> bool {
        self.count > FEW && self.count > all / 2
    }

    /// `entry` is added, and the one that its slot has no longer counts.
    pub(super) fn supersede(&mut self, entry: Entry) {
        let slot = self.slots.entry(entry.slot()).or_insert(Slot { newest: entry, older: 0 });
        slot.newest = entry;
        slot.older += 1;
        self.count += 1;
    }

    /// `entry` is added, where its slot has none that counts.
    pub(super) fn add(&mut self, entry: Entry) {
        if let Some(slot) = self.slots.get_mut(&entry.slot()) {
            slot.newest = entry;
        }
    }

    /// Whether `entry` does not count. If so the caller takes it out, and it is forgotten.
    pub(super) fn strike(&mut self, entry: Entry) -> bool {
        let Some(slot) = self.slots.get_mut(&entry.slot()) else { return false };
        if slot.newest == entry {
            return false;
        }
        slot.older -= 1;
        self.count -= 1;
        if slot.older == 0 {
            self.slots.remove(&entry.slot());
        }
        if self.count == 0 && self.slots.capacity() > FEW {
            *self = Self::default();
        }
        true
    }
}
