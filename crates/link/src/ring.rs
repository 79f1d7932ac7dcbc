//! A growing ring of fixed-size entries that keeps to few cache lines: its head returns to slot zero whenever it
//! empties, and it halves when it wraps while a quarter full. Without this a ring cycles through its peak size for
//! ever.

/// A first-in first-out buffer with indexed access from the head.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    slots: Box<[T]>,
    head: u32,
    len: u32,
}

const SMALLEST: usize = 4;
/// An empty ring keeps at most so many slots.
const KEPT: usize = 8;
/// Where so many wait, heads come soon after each other: what is upcoming is the next but so many.
const MANY: u32 = 32;
const FAR: u32 = 2;

impl<T: Copy + Default> Ring<T> {
    /// An empty ring that owns no memory yet.
    pub(crate) fn new() -> Self {
        Self { slots: Box::new([]), head: 0, len: 0 }
    }

    /// How many entries wait.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Whether nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends an entry and gives it, for a last touch in place.
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: T) -> &mut T {
        if self.len as usize == self.slots.len() {
            self.resize((self.slots.len() * 2).max(SMALLEST));
        }
        let mask = self.slots.len().wrapping_sub(1);
        let slot = (self.head as usize + self.len as usize) & mask;
        self.len += 1;
        let place = &mut self.slots[slot];
        *place = entry;
        place
    }

    /// The head.
    ///
    /// # Panics
    /// When nothing waits and nothing ever did.
    #[inline(always)]
    pub(crate) fn head(&self) -> &T {
        &self.slots[self.head as usize]
    }

    /// Removes the head, of which there must be one, and shows the next.
    #[inline(always)]
    pub(crate) fn remove_head(&mut self) -> Option<&T> {
        debug_assert!(self.len > 0, "an empty ring has no head");
        self.len -= 1;
        self.head += 1;
        if self.len == 0 {
            self.empty();
            return None;
        }
        if self.head as usize == self.slots.len() {
            self.wrap();
        }
        self.slots.get(self.head as usize)
    }

    /// Emptied: starts again at slot zero, and gives memory back where the run that ended here, `head` entries long,
    /// used little of it.
    #[inline(always)]
    fn empty(&mut self) {
        let run = std::mem::take(&mut self.head) as usize;
        if self.slots.len() > KEPT && run < self.slots.len() / 2 {
            self.resize(self.slots.len() / 2);
        }
    }

    #[cold]
    #[inline(never)]
    fn wrap(&mut self) {
        self.head = 0;
        if self.slots.len() > KEPT && (self.len as usize) < self.slots.len() / 4 {
            self.resize(self.slots.len() / 2);
        }
    }

    /// The head, or an entry a little behind it where many wait; what was there before if none does.
    #[inline(always)]
    pub(crate) fn upcoming(&self) -> Option<&T> {
        let mask = self.slots.len().wrapping_sub(1);
        let behind = (self.len / MANY).min(FAR);
        self.slots.get((self.head as usize + behind as usize) & mask)
    }

    /// The entry `index` places behind the head.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        if index >= self.len {
            return None;
        }
        let mask = self.slots.len() - 1;
        self.slots.get((self.head as usize + index as usize) & mask)
    }

    /// The entries from the head on.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        (0..self.len).filter_map(|index| self.get(index))
    }

    #[cold]
    #[inline(never)]
    fn resize(&mut self, slots: usize) {
        let (head, len) = (self.head as usize, self.len as usize);
        // From the head to the end of the slots, then what wrapped around.
        let straight = len.min(self.slots.len() - head);
        let mut next = Vec::with_capacity(slots);
        next.extend_from_slice(&self.slots[head..head + straight]);
        next.extend_from_slice(&self.slots[..len - straight]);
        next.resize(slots, T::default());
        self.slots = next.into_boxed_slice();
        self.head = 0;
    }

    /// Counts so many entries, whatever there are; how many it counted before.
    #[cfg(test)]
    pub(crate) fn count(&mut self, entries: u32) -> u32 {
        std::mem::replace(&mut self.len, entries)
    }

    /// Slots allocated.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_queue(operations in prop::collection::vec(any::<Option<u32>>(), 0..2000)) {
            let mut ring = Ring::new();
            let mut model = VecDeque::new();
            for operation in operations {
                if let Some(value) = operation {
                    ring.push(value);
                    model.push_back(value);
                } else {
                    let head = (!ring.is_empty()).then(|| *ring.head());
                    prop_assert_eq!(head, model.pop_front());
                    if head.is_some() {
                        prop_assert_eq!(ring.remove_head(), model.front());
                    }
                }
                prop_assert_eq!(ring.len() as usize, model.len());
                prop_assert!(ring.iter().eq(model.iter()));
            }
        }
    }

    #[test]
    fn shrinks_after_a_burst() {
        let mut ring = Ring::new();
        for i in 0..100_000 {
            ring.push(i);
        }
        while ring.len() > 10 {
            ring.remove_head();
        }
        for i in 0..1_000_000 {
            ring.push(i);
            ring.remove_head();
        }
        assert!(ring.slots() <= 64, "{}", ring.slots());
    }
}
