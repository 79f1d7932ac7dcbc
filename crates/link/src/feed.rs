//! What a link remembers of the packets it took in, where these may enter the next link ahead of their time. How packets come
//! here is in `feeder.rs`.

use tailback_core::fetch::fetch;
use tailback_core::{Backlog, Bytes, Capacity, Span, Time};

use crate::counters::Count;
use crate::direct::State;

/// A packet that was taken in.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// When it reaches the far end.
    arrives: Time,
    /// The link that it has entered already, as the driver calls it, or [`Feed::NOWHERE`].
    to: u32,
    size: u32,
}

/// A packet that has entered a link ahead of its time.
#[derive(Clone, Copy, Debug)]
pub struct Coming {
    /// The link.
    pub to: u32,
    /// When it enters.
    pub at: Time,
    /// Its size.
    pub size: Bytes,
}

/// The packets that a link took in, up to those that have reached the far end and are overwritten by newer ones.
#[derive(Debug)]
pub(crate) struct Feed {
    /// A power of two of them.
    entries: Box<[Entry]>,
    /// How many were ever taken in, and how many of these have begun transmission as far as anybody asked.
    taken: u64,
    begun: u64,
    waiting_bytes: Bytes,
    /// The integral of waiting packets over time, of all that will wait: it is counted whole as a packet enters.
    area: u64,
}

const SMALLEST: usize = 8;
/// Room for so many packets under way at most: for fewer in tests (`full.rs`), or these would take gigabytes.
pub(crate) const MOST: usize = if cfg!(test) { 64 } else { Capacity::MOST_PACKETS as usize };
/// So many entries ahead of their use, they are fetched: where much is under way, they were touched long ago.
const SOON: u64 = 12;

impl Feed {
    /// In place of a link, where a packet reaches the far end by an event.
    pub(crate) const NOWHERE: u32 = u32::MAX;

    pub(crate) fn new() -> Self {
        Self {
            entries: vec![Entry::default(); SMALLEST].into_boxed_slice(),
            taken: 0,
            begun: 0,
            waiting_bytes: Bytes::ZERO,
            area: 0,
        }
    }

    #[inline(always)]
    fn entry(&self, index: u64) -> &Entry {
        &self.entries[index as usize & (self.entries.len() - 1)]
    }

    /// What waits at `now`, where a transmission that ends now has ended.
    #[inline(always)]
    pub(crate) fn backlog(&mut self, now: Time, delay: Span) -> Backlog {
        while self.begun < self.taken {
            // A packet begins when the one before it departs; at least one has begun.
            if self.entry(self.begun - 1).arrives - delay > now {
                break;
            }
            self.waiting_bytes -= Bytes::new(self.entry(self.begun).size.into());
            self.begun += 1;
            fetch::<1, _>(self.entry(self.begun + SOON));
        }
        Backlog { packets: (self.taken - self.begun) as u32, bytes: self.waiting_bytes }
    }

    /// Whether there is a place for one more: that of a packet which has reached the far end.
    #[inline(always)]
    pub(crate) fn has_room(&mut self, now: Time) -> bool {
        self.entry(self.taken).arrives <= now || self.grow_to(MOST)
    }

    /// Makes that place where there is none.
    #[inline(always)]
    pub(crate) fn make_room(&mut self, now: Time) {
        if self.entry(self.taken).arrives > now {
            self.grow_to(usize::MAX);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow_to(&mut self, most: usize) -> bool {
        let old = self.entries.len();
        if old >= most {
            return false;
        }
        let mut grown = vec![Entry::default(); 2 * old].into_boxed_slice();
        for index in self.taken.saturating_sub(old as u64)..self.taken {
            grown[index as usize & (2 * old - 1)] = *self.entry(index);
        }
        self.entries = grown;
        true
    }

    /// Notes, where somebody asks what waits, whether a packet that is taken in does.
    #[inline(always)]
    pub(crate) fn waits(&mut self, waits: bool, size: Bytes) {
        // Without a branch: whether a packet waits is nothing that a processor could foresee.
        self.begun += u64::from(!waits);
        self.waiting_bytes += Bytes::new(size.get() * u64::from(waits));
    }

    /// Takes in a packet that waits for `wait`.
    #[inline(always)]
    pub(crate) fn push(&mut self, wait: Span, arrives: Time, to: u32, size: Bytes) {
        self.area = self.area.wrapping_add(wait.as_nanos());
        let mask = self.entries.len() - 1;
        self.entries[self.taken as usize & mask] = Entry { arrives, to, size: size.get() as u32 };
        self.taken += 1;
        fetch::<1, _>(self.entry(self.taken + SOON));
    }

    /// The newest packet has not entered another link after all.
    pub(crate) fn take_back(&mut self) {
        let mask = self.entries.len() - 1;
        self.entries[(self.taken - 1) as usize & mask].to = Self::NOWHERE;
    }

    /// The packets that have entered other links, and are to arrive there at `now` or later.
    pub(crate) fn coming(&self, now: Time, delay: Span) -> impl Iterator<Item = Coming> {
        let entries = self.on_their_way(now, delay).map(|(_, entry)| entry);
        entries.filter(|entry| entry.to != Self::NOWHERE).map(|entry| Coming {
            to: entry.to,
            at: entry.arrives,
            size: Bytes::new(entry.size.into()),
        })
    }

    /// The entries of packets that have not reached the far end before `now`, oldest first, each with when the server was
    /// free for it.
    fn on_their_way(&self, now: Time, delay: Span) -> impl Iterator<Item = (Time, &Entry)> {
        let kept = self.taken.saturating_sub(self.entries.len() as u64);
        let gone = (kept..self.taken).rev().take_while(|&index| self.entry(index).arrives >= now).count();
        (self.taken - gone as u64..self.taken).map(move |index| {
            // What has been overwritten had departed when a later one came.
            let before = (index > kept).then(|| self.entry(index - 1).arrives - delay);
            (before.unwrap_or(Time::ZERO), self.entry(index))
        })
    }

    /// What has left the queue and not reached the far end before `now`, of a link that notes packets as they leave.
    pub(crate) fn contents(&self, now: Time, delay: Span) -> Count {
        let mut all = Count::default();
        for (_, entry) in self.on_their_way(now, delay) {
            all.add(Bytes::new(entry.size.into()));
        }
        all
    }

    /// Where the packets are just before `now`, and the integral of waiting packets over time.
    pub(crate) fn look(&self, now: Time, delay: Span) -> (State, u64) {
        let (mut state, mut area) = (State::default(), self.area);
        for (free, entry) in self.on_their_way(now, delay) {
            let departs = entry.arrives - delay;
            let passed = state.place(now, free, departs, Bytes::new(entry.size.into()));
            area = area.wrapping_sub(passed.as_nanos());
        }
        (state, area)
    }
}
