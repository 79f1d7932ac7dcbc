//! A first-in first-out line of packets from the midst of which any can be taken, at a cost that hardly grows with their
//! number. Which one is taken is not decided here; where packets leave at the ends alone, `ring` is for them.
//!
//! A packet that is taken out leaves a hole, and none is moved. How many holes lie where is known by a tree of sums, so that
//! the packet after so many others is found by a walk down. Only what is taken out from the midst costs such walks: a packet
//! that joins, or leaves at the head, touches the tree where there was a hole.

use tailback_core::{Backlog, Bytes, Packet};

use crate::fair::looks::{looked, looked_at};

/// An empty line with room for more than this gives its memory back.
const KEEP: usize = 1024;
/// The least room.
const LEAST: usize = 16;

/// Waiting packets in order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// As many places as a power of two; the newest packets may lie before the oldest.
    places: Vec<Packet>,
    /// By node how many holes lie under it: the root is 1, below `n` lie `2 n` and `2 n + 1`, and last come the places. Empty
    /// until there is a hole.
    holes: Vec<u32>,
    /// The place of the oldest packet.
    oldest: usize,
    /// How many places there are from there to the newest packet, holes included.
    span: usize,
    waiting: Backlog,
}

impl Line {
    /// An empty line; it allocates when the first packet waits.
    pub(crate) const fn new() -> Self {
        Self {
            places: Vec::new(),
            holes: Vec::new(),
            oldest: 0,
            span: 0,
            waiting: Backlog { packets: 0, bytes: Bytes::ZERO },
        }
    }

    /// How many packets wait, and how many bytes.
    #[inline]
    pub(crate) const fn backlog(&self) -> Backlog {
        self.waiting
    }

    /// Appends a packet.
    pub(crate) fn push(&mut self, packet: Packet) {
        if self.span == self.places.len() {
            self.close_up(packet);
        }
        let place = self.place(self.span);
        self.places[place] = packet;
        self.span += 1;
        self.waiting.packets += 1;
        self.waiting.bytes += packet.size();
    }

    /// Takes the oldest packet.
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        if self.waiting.packets == 0 {
            return None;
        }
        let packet = self.places[self.oldest];
        self.step();
        while self.span > 0 && self.is_hole(self.oldest) {
            self.count(self.oldest, u32::wrapping_sub);
            self.step();
        }
        self.left(&packet);
        Some(packet)
    }

    /// Takes the packet out before which `index` others wait; all others keep their order.
    pub(crate) fn remove(&mut self, index: usize) -> Option<Packet> {
        if index >= self.waiting.packets as usize {
            return None;
        }
        if index == 0 {
            return self.pop();
        }
        let place = self.find(index);
        if self.holes.is_empty() {
            self.holes = vec![0; 2 * self.places.len()];
        }
        self.count(place, u32::wrapping_add);
        let packet = self.places[place];
        self.left(&packet);
        Some(packet)
    }

    /// The place that lies `steps` after that of the oldest packet.
    #[inline]
    const fn place(&self, steps: usize) -> usize {
        (self.oldest + steps) & (self.places.len() - 1)
    }

    /// The place of the oldest packet is free.
    #[inline]
    fn step(&mut self) {
        self.oldest = self.place(1);
        self.span -= 1;
    }

    #[inline]
    fn is_hole(&self, place: usize) -> bool {
        self.holes.get(self.places.len() + place).is_some_and(|holes| *holes > 0)
    }

    /// A packet has left.
    #[inline]
    fn left(&mut self, packet: &Packet) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= packet.size();
        if self.waiting.packets == 0 && self.places.len() > KEEP {
            *self = Self::new();
        }
    }

    /// A place has become a hole, or is none any more.
    fn count(&mut self, place: usize, change: fn(u32, u32) -> u32) {
        let mut node = self.places.len() + place;
        while node > 0 {
            looked();
            self.holes[node] = change(self.holes[node], 1);
            node /= 2;
        }
    }

    /// The place of the packet before which `index` others wait.
    fn find(&self, index: usize) -> usize {
        let room = self.places.len();
        if self.holes.is_empty() {
            return self.place(index);
        }
        // How many places before the oldest packet's are no holes, and so many as that all together.
        let (mut node, mut before) = (room + self.oldest, self.oldest);
        while node > 1 {
            looked();
            if node % 2 == 1 {
                before -= self.holes[node - 1] as usize;
            }
            node /= 2;
        }
        let all = room - self.holes[1] as usize;
        let mut left = (before + index) % all;
        let (mut node, mut width) = (1, room);
        while node < room {
            looked();
            (node, width) = (2 * node, width / 2);
            let packets = width - self.holes[node] as usize;
            if left >= packets {
                (node, left) = (node + 1, left - packets);
            }
        }
        node - room
    }

    /// All places are taken: packets close up, and have twice the room that they need. What lies in free places is `any`.
    #[inline(never)]
    fn close_up(&mut self, any: Packet) {
        looked_at(self.span);
        let packets = (0..self.span).map(|steps| self.place(steps)).filter(|place| !self.is_hole(*place));
        let mut places: Vec<Packet> = packets.map(|place| self.places[place]).collect();
        self.span = places.len();
        places.resize((2 * self.span).next_power_of_two().max(LEAST), any);
        (self.places, self.holes, self.oldest) = (places, Vec::new(), 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailback_core::{FlowId, Kind};

    use super::*;

    proptest! {
        /// Wherever packets are taken out, the others leave in order.
        #[test]
        fn is_a_list(
            steps in prop::collection::vec((0_u8..20, any::<prop::sample::Index>()), 1..800), growing in 6_u8..14,
        ) {
            let (mut line, mut plain) = (Line::new(), Vec::<Packet>::new());
            for (number, (action, index)) in steps.into_iter().enumerate() {
                match action {
                    _ if action < growing => {
                        let size = Bytes::new(number as u64 % 7);
                        let packet = Packet::new(Kind::Data, FlowId(0), number as u64, size);
                        line.push(packet);
                        plain.push(packet);
                    }
                    14..17 => {
                        prop_assert_eq!(line.pop(), plain.first().copied());
                        plain.drain(..plain.len().min(1));
                    }
                    _ if plain.is_empty() => prop_assert_eq!(line.remove(0), None),
                    _ => {
                        let at = index.index(plain.len());
                        prop_assert_eq!(line.remove(at), Some(plain.remove(at)));
                        prop_assert_eq!(line.remove(plain.len()), None);
                    }
                }
                let bytes = plain.iter().map(|packet| packet.size().get()).sum();
                let waiting = Backlog { packets: plain.len() as u32, bytes: Bytes::new(bytes) };
                prop_assert_eq!(line.backlog(), waiting);
            }
            for packet in plain {
                prop_assert_eq!(line.pop(), Some(packet));
            }
            prop_assert_eq!(line.pop(), None);
        }
    }

    /// A buffer that stays full takes no more room, and an empty line none.
    #[test]
    fn room_follows_what_waits() {
        let mut line = Line::new();
        for number in 0..100_000_u64 {
            line.push(Packet::new(Kind::Data, FlowId(0), number, Bytes::new(1)));
            if line.backlog().packets > 1000 {
                line.remove(number as usize * 7919 % 1001).expect("a packet");
            }
        }
        assert!(line.places.len() <= 4096, "{} places", line.places.len());
        while line.pop().is_some() {}
        assert!(line.places.is_empty());
    }
}
