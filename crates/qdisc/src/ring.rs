//! A first-in first-out ring of waiting packets that counts its bytes. Whether a packet may join is not decided here.

use std::collections::VecDeque;

use tailback_core::{Backlog, Bytes, Packet};

/// Waiting packets in order of arrival, each with a note `N` (for example its time of arrival).
#[derive(Clone, Debug)]
pub struct Ring<N = ()> {
    entries: VecDeque<(Packet, N)>,
    bytes: Bytes,
}

/// An empty ring with room for more than this gives its memory back.
const KEEP: usize = 1024;

impl<N> Ring<N> {
    /// An empty ring; it allocates when the first packet waits.
    pub const fn new() -> Self {
        Self { entries: VecDeque::new(), bytes: Bytes::ZERO }
    }

    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, packet: Packet, note: N) {
        self.bytes += packet.size();
        self.entries.push_back((packet, note));
    }

    /// Takes the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<(Packet, N)> {
        let (packet, note) = self.entries.pop_front()?;
        self.bytes -= packet.size();
        if self.entries.is_empty() && self.entries.capacity() > KEEP {
            // A regrown ring pays for its copies by the pushes that filled it, so this stays amortised constant.
            self.entries = VecDeque::new();
        }
        Some((packet, note))
    }

    /// Takes the newest packet.
    pub fn pop_newest(&mut self) -> Option<(Packet, N)> {
        let (packet, note) = self.entries.pop_back()?;
        self.bytes -= packet.size();
        Some((packet, note))
    }

    /// Takes the packet at `index` from the head; the others keep their order.
    pub fn remove(&mut self, index: usize) -> Option<(Packet, N)> {
        let (packet, note) = self.entries.remove(index)?;
        self.bytes -= packet.size();
        Some((packet, note))
    }

    /// The oldest packet and its note.
    #[inline]
    pub fn head(&self) -> Option<&(Packet, N)> {
        self.entries.front()
    }

    /// The packets from the oldest on, each with its note.
    pub fn iter(&self) -> impl Iterator<Item = &(Packet, N)> {
        self.entries.iter()
    }

    /// How many packets wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many bytes wait.
    #[inline]
    pub const fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Both counts.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: u32::try_from(self.entries.len()).unwrap_or(u32::MAX), bytes: self.bytes }
    }
}

impl<N> Default for Ring<N> {
    fn default() -> Self {
        Self::new()
    }
}
