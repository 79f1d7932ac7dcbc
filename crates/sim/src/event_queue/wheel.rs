//! A 64-ary radix wheel for runs whose horizon and number of leaves do not fit one 64-bit key: amortised constant
//! cost, monotone (no entry before the newest one taken), stale entries skipped by comparing with the leaf's time.

use tailback_core::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time: u64,
    leaf: u32,
}

/// Slots per level, and bits of the time that one level distinguishes.
const SLOTS: usize = 64;
const BITS: u32 = 6;
const LEVELS: usize = 11;

/// Buckets by the highest 6-bit digit in which an entry's time differs from the wheel's clock.
#[derive(Debug)]
pub(crate) struct RadixWheel {
    buckets: Vec<Vec<Entry>>,
    occupied: [u64; LEVELS],
    clock: u64,
    /// Entries at the wheel's clock or before the next bucket, sorted descending: the next is last.
    batch: Vec<Entry>,
    /// What each leaf is armed to; an entry that disagrees is stale.
    armed: Vec<u64>,
}

impl RadixWheel {
    pub(crate) fn new(leaves: usize) -> Self {
        Self {
            buckets: vec![Vec::new(); SLOTS * LEVELS],
            occupied: [0; LEVELS],
            clock: 0,
            batch: Vec::new(),
            // Rounded up, so that growth by single leaves costs a rebuild only now and then.
            armed: vec![u64::MAX; leaves.next_power_of_two()],
        }
    }

    /// How many leaves there is room for.
    pub(crate) fn leaves(&self) -> usize {
        self.armed.len()
    }

    pub(crate) fn arm(&mut self, leaf: u32, time: Time) {
        let time = time.as_nanos();
        if self.armed[leaf as usize] == time {
            return;
        }
        self.armed[leaf as usize] = time;
        if time == u64::MAX {
            return;
        }
        let entry = Entry { time, leaf };
        // Inside the batch in hand, or before the clock: it must be found in order there. At the clock and behind the batch it
        // need not: a million flows that begin at one instant would be put into order one by one.
        if time < self.clock || self.batch.first().is_some_and(|last| entry < *last) {
            let place = self.batch.partition_point(|other| *other > entry);
            self.batch.insert(place, entry);
        } else {
            self.place(entry);
        }
    }

    pub(crate) fn due(&self, leaf: u32) -> Time {
        Time::from_nanos(self.armed[leaf as usize])
    }

    pub(crate) fn next(&mut self) -> (Time, u32) {
        loop {
            while let Some(entry) = self.batch.last() {
                if self.armed[entry.leaf as usize] == entry.time {
                    return (Time::from_nanos(entry.time), entry.leaf);
                }
                self.batch.pop();
            }
            if !self.refill() {
                return (Time::NEVER, 0);
            }
        }
    }

    fn place(&mut self, entry: Entry) {
        let differing = entry.time ^ self.clock;
        let level = if differing == 0 { 0 } else { differing.ilog2() / BITS };
        let slot = (entry.time >> (BITS * level)) as usize % SLOTS;
        self.buckets[level as usize * SLOTS + slot].push(entry);
        self.occupied[level as usize] |= 1 << slot;
    }

    /// Moves the clock to the next occupied bucket and sorts it into the batch, or spreads it over lower levels.
    fn refill(&mut self) -> bool {
        while let Some(level) = self.occupied.iter().position(|&slots| slots != 0) {
            let slot = self.occupied[level].trailing_zeros() as usize;
            self.occupied[level] &= !(1 << slot);
            let mut entries = std::mem::take(&mut self.buckets[level * SLOTS + slot]);
            entries.retain(|entry| self.armed[entry.leaf as usize] == entry.time);
            let Some(earliest) = entries.iter().map(|entry| entry.time).min() else { continue };
            if level == 0 || entries.len() <= 16 {
                self.clock = self.clock.max(earliest);
                entries.sort_unstable_by(|a, b| b.cmp(a));
                entries.dedup();
                self.batch = entries;
                return true;
            }
            self.clock = self.clock.max(earliest);
            for entry in entries {
                self.place(entry);
            }
        }
        false
    }
}
