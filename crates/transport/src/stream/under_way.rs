//! Retransmissions in the order in which they left, for those who find lost ones by what left after them and arrived
//! (`overtaken.rs`, `rack.rs`), and where retransmission goes on when it has gone back for one that was lost again. What became of
//! them is not looked up before their turn; what leaves next is decided in `choice.rs`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tailback_core::Time;

use super::LossRecovery;
use super::ring::Ring;

/// Numbers, and when they left.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    queue: VecDeque<(u64, Time)>,
    places: Places,
}

/// Where retransmission goes on after it has gone back for one that was lost again: at others of these, and at last where it had
/// come to. Between its place and the last of these nothing else waits to be retransmitted, so that nobody walks over the
/// thousands that are under way there.
#[derive(Debug, Default)]
struct Places {
    ahead: BinaryHeap<Reverse<u64>>,
    /// The last of them.
    last: u64,
    /// From here on, retransmission has passed over nothing unseen.
    from: u64,
}

impl Places {
    fn add(&mut self, place: u64) {
        self.last = if self.ahead.is_empty() { place } else { self.last.max(place) };
        self.ahead.push(Reverse(place));
    }

    /// Whether a number is passed over unless it is one of them.
    fn cover(&self, number: u64) -> bool {
        !self.ahead.is_empty() && number < self.last
    }

    /// The first beyond a number. Those in front of it have been passed.
    fn beyond(&mut self, number: u64) -> Option<u64> {
        while let Some(Reverse(place)) = self.ahead.pop() {
            if place > number {
                return Some(place);
            }
        }
        None
    }
}

/// So many entries are never looked through.
const FEW: usize = 64;

/// Whether this transmission is the newest of its number, and thought to be in the network.
#[inline]
pub(super) fn is_under_way(ring: &Ring, number: u64, sent: Time) -> bool {
    if number < ring.first() || number >= ring.end() {
        return false;
    }
    let record = ring.get(number);
    !record.is_sacked() && record.in_network() > 0 && record.sent_at() == sent
}

impl UnderWay {
    /// A retransmission leaves. At most twice as many are remembered as segments are outstanding, and [`FEW`] more: in a long
    /// silence, or behind one that waits, others leave again and again, and each time only the newest can still be under way.
    /// Looking through all costs as much as remembering them did.
    fn note(&mut self, now: Time, number: u64, ring: &Ring) {
        let queue = &mut self.queue;
        queue.push_back((number, now));
        let outstanding = usize::try_from(ring.end() - ring.first()).unwrap_or(usize::MAX);
        if queue.len() <= outstanding.saturating_mul(2).saturating_add(FEW) {
            return;
        }
        queue.retain(|&(number, sent)| {
            let held = (ring.first()..ring.end()).contains(&number);
            held && !ring.get(number).is_sacked() && ring.get(number).sent_at() == sent
        });
        // One for each segment, unless some left more than once at the same time. Then the oldest are left to the timer.
        queue.drain(..queue.len().saturating_sub(outstanding));
    }

    /// Retransmissions that were given up, and are not: each stands where it stood.
    #[cold]
    pub(super) fn take_up(&mut self, found: &[(u64, Time)]) {
        let mut all: Vec<_> = std::mem::take(&mut self.queue).into();
        all.extend(found);
        all.sort_unstable_by_key(|&(number, sent)| (sent, number));
        all.dedup();
        self.queue = all.into();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The oldest.
    #[inline]
    pub(super) fn front(&self) -> Option<(u64, Time)> {
        self.queue.front().copied()
    }

    pub(super) fn pop_front(&mut self) {
        self.queue.pop_front();
    }

    /// All of them, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Time)> + '_ {
        self.queue.iter().copied()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}

impl LossRecovery {
    /// Retransmissions, where lost ones are found without the timer.
    pub(super) fn under_way(&mut self) -> Option<&mut UnderWay> {
        self.own.as_deref_mut()?.ranges_mut()?.under_way()
    }

    /// A number is lost, perhaps once more: it waits to be retransmitted, and so does all that waited.
    pub(super) fn go_back_to(&mut self, number: u64) {
        let next = self.next_retransmit;
        self.next_retransmit = next.min(number);
        // What is not known to be lost has not been passed over.
        let reached = next.min(self.lost_edge);
        let Some(UnderWay { places, .. }) = self.under_way() else { return };
        if number < places.from {
            *places = Places { from: number, ..Places::default() };
        } else if number < reached {
            places.add(reached);
        } else if number > next && places.cover(number) {
            places.add(number);
        }
    }

    /// Retransmission goes on here, whatever waits in front.
    pub(super) fn retransmit_from(&mut self, number: u64) {
        self.next_retransmit = number;
        if let Some(under_way) = self.under_way() {
            under_way.places = Places { from: number, ..Places::default() };
        }
    }

    /// Where retransmission goes on behind a number that is under way.
    pub(super) fn behind_under_way(&mut self, number: u64) -> u64 {
        let next =
            self.under_way().and_then(|under_way| under_way.places.beyond(number)).unwrap_or(number + 1);
        debug_assert!(
            (number..next.min(self.ring.end())).all(|number| {
                let record = self.ring.get(number);
                record.is_sacked() || (number < self.lost_edge && record.in_network() > 0)
            }),
            "{number} to {next}: one between waits to be retransmitted"
        );
        next
    }

    /// A retransmission leaves, where lost ones are found without the timer.
    pub(super) fn note_retransmitted(&mut self, now: Time, number: u64) {
        let Some(ranges) = self.own.as_deref_mut().and_then(|own| own.ranges_mut()) else { return };
        if let Some(under_way) = ranges.under_way() {
            under_way.note(now, number, &self.ring);
        }
    }
}
