//! Offers of the application that wait to leave as datagrams. When they leave is the shaper's.

use std::collections::VecDeque;

use tailback_core::{Bytes, Capacity};

/// An offer, or what is left of it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    left: u64,
    /// The application wants to know when all of it was sent.
    report: bool,
}

/// The source's buffer.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    datagrams: u64,
    /// The application offers without end.
    infinite: bool,
    /// The largest payload.
    payload: u64,
}

impl Queue {
    pub(crate) fn new(payload: u64) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, datagrams: 0, infinite: false, payload }
    }

    /// How many datagrams an offer makes; an empty one makes none.
    pub(crate) fn count(&self, offer: Bytes) -> u64 {
        offer.get().div_ceil(self.payload)
    }

    /// Takes an offer, if there is room for all of it.
    pub(crate) fn push(&mut self, offer: Bytes, report: bool, room: Capacity) -> bool {
        if offer == Bytes::MAX {
            self.infinite = true;
            return true;
        }
        let (bytes, datagrams) = (self.bytes + offer.get(), self.datagrams + self.count(offer));
        let fits = match room {
            Capacity::Packets(most) => datagrams <= u64::from(most),
            Capacity::Bytes(most) => bytes <= most.get(),
            Capacity::Unlimited | Capacity::MilliBdp(_) => datagrams <= u64::from(Capacity::MOST_PACKETS),
        };
        // An offer larger than the whole buffer is taken when nothing waits: otherwise it never could be.
        if !fits && !self.waiting.is_empty() {
            return false;
        }
        (self.bytes, self.datagrams) = (bytes, datagrams);
        self.waiting.push_back(Waiting { left: offer.get(), report });
        true
    }

    /// How much waits, of what has an end.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && !self.infinite
    }

    /// The payload of the next datagram, if one waits.
    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        match self.waiting.front() {
            Some(waiting) => Some(waiting.left.min(self.payload)),
            None => self.infinite.then_some(self.payload),
        }
    }

    /// The payload of the one after it.
    pub(crate) fn second(&self) -> Option<u64> {
        let first = self.waiting.front().map_or(0, |waiting| waiting.left.saturating_sub(self.payload));
        if first > 0 {
            return Some(first.min(self.payload));
        }
        match self.waiting.get(1) {
            Some(waiting) => Some(waiting.left.min(self.payload)),
            None => self.infinite.then_some(self.payload),
        }
    }

    /// The next datagram leaves; whether with it an offer that wants to be reported.
    #[inline]
    pub(crate) fn pop(&mut self) -> bool {
        let Some(front) = self.waiting.front_mut() else { return false };
        let payload = front.left.min(self.payload);
        front.left -= payload;
        self.bytes -= payload;
        self.datagrams = self.datagrams.saturating_sub(1);
        if front.left > 0 {
            return false;
        }
        let report = front.report;
        self.waiting.pop_front();
        report
    }

    /// Throws away what waits, except what has no end: how many datagrams, and how many offers among them wanted to be
    /// reported.
    pub(crate) fn discard(&mut self) -> (u64, usize) {
        let messages = self.waiting.iter().filter(|waiting| waiting.report).count();
        let datagrams = self.waiting.iter().map(|waiting| waiting.left.div_ceil(self.payload)).sum();
        self.waiting.clear();
        (self.bytes, self.datagrams) = (0, 0);
        (datagrams, messages)
    }

    /// Throws everything away.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_split_and_counted() {
        let mut queue = Queue::new(960);
        assert!(queue.push(Bytes::new(2000), true, Capacity::Packets(4)));
        assert!(queue.push(Bytes::new(100), false, Capacity::Packets(4)));
        assert!(!queue.push(Bytes::new(100), true, Capacity::Packets(4)));
        assert_eq!((queue.next(), queue.second()), (Some(960), Some(960)));
        assert!(!queue.pop());
        assert!(!queue.pop());
        assert_eq!((queue.next(), queue.second()), (Some(80), Some(100)));
        assert!(queue.pop(), "the last part of an offer that ends a message");
        assert!(!queue.pop());
        assert!(queue.is_empty());
        assert!(
            queue.push(Bytes::new(9600), false, Capacity::Packets(4)),
            "larger than the buffer, but alone"
        );
    }
}
