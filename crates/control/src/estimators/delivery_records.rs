//! What a sampler of the delivery rate keeps of each packet from its departure to its acknowledgement, by number. What is
//! made of it is in `delivery_rate.rs`.

use tailback_core::Time;

/// What is kept of a packet from its departure to its acknowledgement: whole words only. A record that was written in pieces
/// and is copied in words keeps the processor waiting until the pieces have reached the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) sent_at: Time,
    /// [`Time::NEVER`] where nothing is known of this number, or nothing more is to be told of it.
    pub(super) first_sent: Time,
    /// And in the highest bit, whether the application limited the sender.
    pub(super) delivered: u64,
    pub(super) delivered_at: Time,
    pub(super) lost: u64,
    pub(super) in_flight: u64,
}

const GONE: Record = Record {
    sent_at: Time::ZERO,
    first_sent: Time::NEVER,
    delivered: 0,
    delivered_at: Time::ZERO,
    lost: 0,
    in_flight: 0,
};

/// The bit of [`Record::delivered`] that says whether the application limited the sender.
pub(super) const LIMITED: u64 = 1 << 63;

impl Record {
    #[inline]
    fn is_gone(&self) -> bool {
        self.first_sent.is_never()
    }

    #[inline]
    pub(super) fn app_limited(&self) -> bool {
        self.delivered & LIMITED != 0
    }

    /// Bytes delivered when it left.
    #[inline]
    pub(super) fn delivered(&self) -> u64 {
        self.delivered & !LIMITED
    }
}

/// Records of consecutive numbers, of which some may be gone, the first never: a ring whose length is a power of two.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    slots: Box<[Record]>,
    first: u64,
    end: u64,
}

impl Records {
    const FEWEST: usize = 16;

    /// Where the record of a number is. An empty ring has no slots, and holds no number.
    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & self.slots.len().wrapping_sub(1)
    }

    /// The record of a number, if it is not gone.
    #[inline]
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Record> {
        if number < self.first || number >= self.end {
            return None;
        }
        let slot = self.slot(number);
        self.slots.get_mut(slot).filter(|record| !record.is_gone())
    }

    /// Where to keep a record, to be written in place; one below all others has been told of, and is not kept.
    #[inline]
    pub(super) fn place(&mut self, number: u64) -> Option<&mut Record> {
        let held = (self.end - self.first) as usize;
        if number == self.end && held > 0 && held < self.slots.len() {
            let slot = self.slot(number);
            self.end += 1;
            return self.slots.get_mut(slot);
        }
        self.place_anywhere(number)
    }

    #[inline(never)]
    fn place_anywhere(&mut self, number: u64) -> Option<&mut Record> {
        if self.first == self.end {
            (self.first, self.end) = (number, number);
        }
        if number < self.first {
            return None;
        }
        while self.end <= number {
            if (self.end - self.first) as usize == self.slots.len() {
                self.grow();
            }
            let slot = self.slot(self.end);
            self.slots[slot] = GONE;
            self.end += 1;
        }
        let slot = self.slot(number);
        self.slots.get_mut(slot)
    }

    #[cold]
    fn grow(&mut self) {
        let more = (self.slots.len() * 2).max(Self::FEWEST);
        let mut slots = vec![GONE; more].into_boxed_slice();
        for number in self.first..self.end {
            slots[number as usize & (more - 1)] = self.slots[self.slot(number)];
        }
        self.slots = slots;
    }

    /// The record of `number` is gone; the first that is kept is not.
    #[inline]
    pub(super) fn remove(&mut self, number: u64) {
        if number != self.first {
            let slot = self.slot(number);
            self.slots[slot].first_sent = Time::NEVER;
            return;
        }
        // Below the first nobody looks: that one need not be written to.
        self.first += 1;
        while self.first < self.end && self.slots[self.slot(self.first)].is_gone() {
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The ring against a map of what was put and not removed.
        #[test]
        fn records_are_kept_as_in_a_map(steps in prop::collection::vec((any::<bool>(), 0_u64..60), 0..300)) {
            let (mut ring, mut map) = (Records::default(), std::collections::BTreeMap::new());
            let mut end = 0;
            for (index, (puts, number)) in steps.into_iter().enumerate() {
                let number = number + index as u64 / 8;
                if puts {
                    // One below all that are kept has been told of.
                    if map.is_empty() || map.keys().next().is_some_and(|first| *first <= number) {
                        map.insert(number, index as u64);
                        end = end.max(number + 1);
                    }
                    if let Some(place) = ring.place(number) {
                        *place = Record { delivered: index as u64, first_sent: Time::ZERO, ..GONE };
                    }
                } else {
                    let held = ring.get_mut(number).map(|record| record.delivered);
                    prop_assert_eq!(held, map.remove(&number));
                    if held.is_some() {
                        ring.remove(number);
                    }
                }
                for number in 0..end + 2 {
                    let held = ring.get_mut(number).map(|record| record.delivered);
                    prop_assert_eq!(held, map.get(&number).copied(), "{}", number);
                }
            }
        }
    }
}
