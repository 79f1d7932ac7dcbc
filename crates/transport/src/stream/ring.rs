//! Records of the segments between the oldest unacknowledged one and the newest sent: a ring indexed by number that
//! grows and shrinks. What the records mean is decided in the rest of `stream`.

use tailback_core::fetch::fetch_at;
use tailback_core::{PairPosition, Time};

/// A segment that was sent: 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// When it was last sent; of a selectively acknowledged one, the number to skip to (see `sack.rs`).
    sent_at: u64,
    /// The controller's note.
    pub(crate) tag: u32,
    /// Bytes on the wire.
    pub(crate) size: u16,
    /// How often it was sent, at most 255.
    pub(crate) transmissions: u8,
    state: u8,
}

/// Selectively acknowledged.
const SACKED: u8 = 1;
/// Believed lost at least once.
const LOST: u8 = 2;
/// A transmission counts as in the network.
const IN_FLIGHT: u8 = 4;
/// A second transmission counts as in the network (retransmitted without being believed lost, RFC 6675 `SetPipe`).
const TWICE: u8 = 8;
/// Its acknowledgement was reported to the controller, although the scoreboard was forgotten since.
const TOLD: u8 = 16;
const PAIR: u32 = 5;
/// Every transmission but the newest is lost by evidence, not by time alone.
const PROVEN: u8 = 128;

impl Record {
    pub(crate) const fn new(sent_at: Time, size: u16, tag: u32, pair: PairPosition) -> Self {
        let state = IN_FLIGHT | (pair as u8) << PAIR;
        Self { sent_at: sent_at.as_nanos(), tag, size, transmissions: 1, state }
    }

    pub(crate) const fn sent_at(&self) -> Time {
        Time::from_nanos(self.sent_at)
    }

    pub(crate) const fn is_sacked(&self) -> bool {
        self.state & SACKED != 0
    }

    pub(crate) const fn is_lost(&self) -> bool {
        self.state & LOST != 0
    }

    pub(crate) const fn was_told(&self) -> bool {
        self.state & TOLD != 0
    }

    /// Whether it is known when it left: not of what a scoreboard has forgotten, until that leaves again.
    pub(crate) const fn has_time(&self) -> bool {
        !self.was_told() || self.sent_at > 0
    }

    pub(crate) const fn pair(&self) -> PairPosition {
        match self.state >> PAIR & 3 {
            1 => PairPosition::First,
            2 => PairPosition::Second,
            _ => PairPosition::Single,
        }
    }

    /// Whether it was sent once and nothing else is known of it.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.transmissions == 1 && self.state & !(3 << PAIR) == IN_FLIGHT
    }

    /// Bytes that it counts for in the network.
    pub(crate) const fn in_network(&self) -> u64 {
        let copies = (self.state & IN_FLIGHT != 0) as u64 + (self.state & TWICE != 0) as u64;
        copies * self.size as u64
    }

    /// It was retransmitted; returns the bytes that this adds to the network.
    pub(crate) fn send_again(&mut self, now: Time, tag: u32, pair: PairPosition) -> u64 {
        let before = self.in_network();
        let copy = if self.state & IN_FLIGHT == 0 { IN_FLIGHT } else { TWICE };
        self.state = self.state & !(3 << PAIR) | copy | (pair as u8) << PAIR;
        self.sent_at = now.as_nanos();
        self.tag = tag;
        self.transmissions = self.transmissions.saturating_add(1);
        self.in_network() - before
    }

    /// It is lost by what arrived beyond it. Of two copies the later one stays in the network.
    pub(crate) const fn lose(&mut self) {
        let gone = if self.state & TWICE == 0 { IN_FLIGHT } else { TWICE };
        let proven = if self.transmissions == 1 { PROVEN } else { 0 };
        self.state = self.state & !(gone | PROVEN) | LOST | proven;
    }

    /// Every copy is believed lost.
    pub(crate) const fn lose_all(&mut self) {
        self.state = self.state & !(IN_FLIGHT | TWICE | PROVEN) | LOST;
    }

    /// Every copy in the network is proven lost.
    pub(crate) const fn prove_lost(&mut self) {
        let proven = if self.transmissions == 1 { PROVEN } else { self.state & PROVEN };
        self.lose_all();
        self.state |= proven;
    }

    /// Whether it is known which transmission an acknowledgement is of: every one but the newest was lost by evidence.
    pub(crate) const fn is_proven(&self) -> bool {
        self.state & PROVEN != 0
    }

    /// It is not lost after all: unless a copy was sent since, the original is in the network.
    pub(crate) const fn find(&mut self) {
        let copy = if self.state & (IN_FLIGHT | TWICE) == 0 { IN_FLIGHT } else { 0 };
        self.state = self.state & !LOST | copy;
    }

    /// It was selectively acknowledged.
    pub(crate) const fn sack(&mut self, skip_to: u64) {
        self.state = self.state & !(IN_FLIGHT | TWICE | LOST) | SACKED;
        self.sent_at = skip_to;
    }

    /// Of a selectively acknowledged one: everything from here up to the returned number is so, too.
    pub(crate) const fn skip_to(&self) -> u64 {
        self.sent_at
    }

    /// Everything from here up to `number` is selectively acknowledged.
    pub(crate) const fn set_skip_to(&mut self, number: u64) {
        self.sent_at = number;
    }

    /// The selective acknowledgement is forgotten: it counts as lost, and its acknowledgement is not told twice.
    pub(crate) const fn forget_sack(&mut self) {
        self.state = self.state & !SACKED | LOST | TOLD;
        self.sent_at = 0;
    }
}

/// Records of consecutive numbers.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    slots: Box<[Record]>,
    first: u64,
    end: u64,
}

const EMPTY: Record = Record { sent_at: 0, tag: 0, size: 0, transmissions: 0, state: 0 };
const SMALLEST: usize = 8;

impl Ring {
    /// The lowest number held, or the next to be held.
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    /// One beyond the highest number held.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.first == self.end
    }

    const fn slot(&self, number: u64) -> usize {
        // An empty ring has no slots and is never asked; the mask of a non-empty one is its length less one.
        number as usize & self.slots.len().wrapping_sub(1)
    }

    /// The record of a number that is held.
    #[inline]
    pub(crate) fn get(&self, number: u64) -> &Record {
        debug_assert!((self.first..self.end).contains(&number));
        &self.slots[self.slot(number)]
    }

    /// The record of a number that is held, to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u64) -> &mut Record {
        debug_assert!((self.first..self.end).contains(&number));
        let slot = self.slot(number);
        &mut self.slots[slot]
    }

    /// Fetches the lowest record, and the place of the next.
    #[inline(always)]
    pub(crate) fn fetch_ends(&self) {
        for number in [self.first, self.end] {
            fetch_at::<1, _>(&self.slots, self.slot(number));
        }
    }

    /// Adds the record of the number [`Ring::end`].
    #[inline]
    pub(crate) fn push(&mut self, record: Record) {
        if (self.end - self.first) as usize == self.slots.len() {
            self.resize((self.slots.len() * 2).max(SMALLEST));
        }
        let slot = self.slot(self.end);
        self.slots[slot] = record;
        self.end += 1;
    }

    /// Takes the lowest record, if any is held.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Record> {
        if self.is_empty() {
            return None;
        }
        let record = self.slots[self.slot(self.first)];
        self.first += 1;
        Some(record)
    }

    /// Takes the lowest record if it is held and `fits`.
    #[inline(always)]
    pub(crate) fn pop_if(&mut self, fits: impl FnOnce(&Record) -> bool) -> Option<Record> {
        let record = *self.slots.get(self.slot(self.first))?;
        if self.is_empty() || !fits(&record) {
            return None;
        }
        self.first += 1;
        Some(record)
    }

    /// Gives memory back where little of it is used; cheap otherwise.
    #[inline]
    pub(crate) fn tidy(&mut self) {
        let held = (self.end - self.first) as usize;
        if self.slots.len() > SMALLEST && held * 8 < self.slots.len() {
            self.resize((held * 4).next_power_of_two().max(SMALLEST));
        }
    }

    /// Forgets all records; numbers go on.
    pub(crate) fn clear(&mut self) {
        self.first = self.end;
        self.tidy();
    }

    #[cold]
    fn resize(&mut self, capacity: usize) {
        let mut slots = vec![EMPTY; capacity].into_boxed_slice();
        for number in self.first..self.end {
            slots[number as usize & (capacity - 1)] = *self.get(number);
        }
        self.slots = slots;
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }
}

const _: () = assert!(size_of::<Record>() == 16, "windows of 66 000 segments must stay in the cache");

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> Record {
        Record::new(Time::from_nanos(number), 1000, 0, PairPosition::Single)
    }

    #[test]
    fn keeps_records_through_growth_and_shrinking() {
        let mut ring = Ring::default();
        for number in 0..1000 {
            ring.push(record(number));
        }
        let full = ring.capacity();
        for number in 0..990 {
            assert_eq!(ring.pop().unwrap().sent_at(), Time::from_nanos(number));
            ring.tidy();
        }
        assert!(ring.capacity() < full / 8, "{}", ring.capacity());
        for number in 990..1000 {
            assert_eq!(ring.get(number).sent_at(), Time::from_nanos(number));
        }
        ring.clear();
        assert_eq!((ring.first(), ring.end(), ring.capacity()), (1000, 1000, SMALLEST));
    }

    #[test]
    fn counts_every_copy_in_the_network_once() {
        let mut one = record(0);
        assert_eq!(one.in_network(), 1000);
        assert_eq!(one.send_again(Time::ZERO, 0, PairPosition::Second), 1000);
        assert_eq!(one.send_again(Time::ZERO, 0, PairPosition::Second), 0, "at most two copies count");
        assert_eq!((one.in_network(), one.pair()), (2000, PairPosition::Second));
        one.lose();
        assert_eq!((one.in_network(), one.is_lost()), (1000, true), "the retransmission may still arrive");
        one.lose_all();
        assert_eq!(one.in_network(), 0);
        assert_eq!(one.send_again(Time::ZERO, 0, PairPosition::Single), 1000);
        one.sack(7);
        assert_eq!((one.in_network(), one.skip_to(), one.is_lost()), (0, 7, false));
    }
}
