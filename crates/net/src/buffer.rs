//! Payload bytes at the edge. Endpoints speak of numbers and sizes only; here a sender's packets get their bytes, and
//! a receiver's bytes get back into their order.

use std::collections::{BTreeMap, VecDeque};

use tailback_core::{Bytes, Kind, Packet};
use tailback_transport::wire::Frame;

/// Where payload comes from and goes to.
pub trait Payload {
    /// The place in the stream and the bytes of a data packet that leaves; `None` if there can be none, which is an
    /// error of the endpoint.
    fn outgoing(&mut self, packet: &Packet) -> Option<(u64, &[u8])>;

    /// A frame arrived; `false` refuses it before the endpoint sees it.
    fn incoming(&mut self, frame: &Frame<'_>) -> bool;

    /// The endpoint says that so many bytes more are readable in order; `false` if they are not here, which is an
    /// error of the peer.
    fn delivered(&mut self, bytes: Bytes) -> bool;
}

// ── sender ──

/// A sender's bytes, kept until they are acknowledged in order.
#[derive(Clone, Debug)]
pub struct SendBuffer {
    header: u64,
    /// Bytes from stream offset `base` on; those before `start` are acknowledged.
    bytes: Vec<u8>,
    base: u64,
    start: usize,
    /// Of every segment that was sent and not acknowledged: its place in the stream and its length.
    segments: VecDeque<(u64, u16)>,
    /// The number of the first of them.
    first: u64,
    /// The place of the next new segment.
    next: u64,
}

impl SendBuffer {
    /// An empty buffer for packets of which `header` bytes are not payload.
    pub fn new(header: Bytes) -> Self {
        Self {
            header: header.get(),
            bytes: Vec::new(),
            base: 0,
            start: 0,
            segments: VecDeque::new(),
            first: 0,
            next: 0,
        }
    }

    /// Appends to the stream.
    pub fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// How many bytes are kept: written and not yet acknowledged.
    pub fn kept(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Whether all that was written has left once at least.
    pub fn is_sent(&self) -> bool {
        self.next == self.base + self.bytes.len() as u64
    }

    fn acknowledge(&mut self, number: u64) {
        // An acknowledgement of what was never sent is the endpoint's to refuse; nothing may be freed for it.
        let Some(count) = number.checked_sub(self.first).map(|count| count as usize) else { return };
        if count > self.segments.len() {
            return;
        }
        for (_, length) in self.segments.drain(..count) {
            self.start += usize::from(length);
        }
        self.first = number;
        // Moving what is kept costs less than what was freed, so that every byte is moved once at most.
        if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.base += self.start as u64;
            self.start = 0;
        }
    }
}

impl Payload for SendBuffer {
    fn outgoing(&mut self, packet: &Packet) -> Option<(u64, &[u8])> {
        let index = usize::try_from(packet.number.checked_sub(self.first)?).ok()?;
        if index == self.segments.len() {
            let length = u16::try_from(packet.size().get().checked_sub(self.header)?).ok()?;
            self.segments.push_back((self.next, length));
            self.next += u64::from(length);
        }
        let (offset, length) = *self.segments.get(index)?;
        let from = usize::try_from(offset - self.base).ok()?;
        Some((offset, self.bytes.get(from..from + usize::from(length))?))
    }

    fn incoming(&mut self, frame: &Frame<'_>) -> bool {
        if frame.packet.kind() == Kind::Ack {
            self.acknowledge(frame.packet.number);
        }
        true
    }

    fn delivered(&mut self, _: Bytes) -> bool {
        true
    }
}

// ── receiver ──

/// A segment's number, and its bytes.
type Piece = (u64, Box<[u8]>);

/// For so many bytes of the limit one piece may wait beyond a hole: what a piece takes beside its bytes is then less than a
/// third of the limit.
const PER_PIECE: u64 = 256;
/// So many may wait, however small the limit is.
const LEAST_PIECES: u64 = 64;

/// A receiver's bytes: those that wait for earlier ones, and those that can be read.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer {
    header: u64,
    /// How far beyond what was delivered bytes are taken.
    limit: u64,
    /// Pieces beyond a hole, by their places.
    waiting: BTreeMap<u64, Piece>,
    /// The number of the segment that begins where there is no hole before.
    number: u64,
    /// The stream offset up to which bytes were delivered, and up to which there is no hole.
    next: u64,
    end: u64,
    /// The bytes from what was read last up to `end`.
    bytes: Vec<u8>,
}

impl ReceiveBuffer {
    /// An empty buffer for packets of which `header` bytes are not payload. Bytes more than `limit` beyond what was
    /// delivered are refused, and so is what no honest sender sends: pieces that overlap others, and numbers that do not follow
    /// one another as the pieces do. No peer can have more than `limit` bytes kept, or more than one piece for each 256 of
    /// them beyond a hole; nor more numbers, here or by the receiver behind.
    pub fn new(header: Bytes, limit: Bytes) -> Self {
        Self {
            header: header.get(),
            limit: limit.get(),
            waiting: BTreeMap::new(),
            number: 0,
            next: 0,
            end: 0,
            bytes: Vec::new(),
        }
    }

    /// Takes the bytes that can be read.
    pub fn read(&mut self) -> Vec<u8> {
        // What is there and was not delivered is the last of the bytes.
        let ahead = (self.end - self.next) as usize;
        let rest = self.bytes.split_off(self.bytes.len() - ahead);
        std::mem::replace(&mut self.bytes, rest)
    }

    /// Takes a piece beyond a hole; `false` where it does not fit those that are here.
    fn keep(&mut self, number: u64, offset: u64, piece: &[u8]) -> bool {
        let end = offset + piece.len() as u64;
        // Each segment between has a byte at least.
        if number <= self.number || number - self.number > offset - self.end {
            return false;
        }
        // Pieces that are here overlap none, so that of those which begin before the end the last one ends last.
        if let Some((&start, (known, before))) = self.waiting.range(..end).next_back() {
            if start == offset && before.len() == piece.len() {
                return *known == number; // The same again.
            }
            if start + before.len() as u64 > offset || *known >= number {
                return false;
            }
        }
        let is_full = self.waiting.len() as u64 >= (self.limit / PER_PIECE).max(LEAST_PIECES);
        let fits = self.waiting.range(end..).next().is_none_or(|(_, (after, _))| number < *after);
        if is_full || !fits {
            return false;
        }
        self.waiting.insert(offset, (number, piece.into()));
        true
    }

    /// Takes a piece that begins where there is no hole before, and those that waited for it.
    fn append(&mut self, piece: &[u8]) {
        self.extend(piece);
        // One whose number does not follow is none of this stream: the endpoint then misses its bytes.
        while let Some((number, piece)) = self.waiting.remove(&self.end)
            && number == self.number
        {
            self.extend(&piece);
        }
    }

    fn extend(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.end += piece.len() as u64;
        self.number += 1;
    }
}

impl Payload for ReceiveBuffer {
    fn outgoing(&mut self, _: &Packet) -> Option<(u64, &[u8])> {
        None
    }

    fn incoming(&mut self, frame: &Frame<'_>) -> bool {
        if frame.packet.kind() != Kind::Data {
            return true;
        }
        let length = frame.payload.len() as u64;
        // What is header, the peer has said.
        if frame.packet.size().get().checked_sub(self.header) != Some(length) {
            return false;
        }
        let Some(end) = frame.offset.checked_add(length) else { return false };
        if end > self.next.saturating_add(self.limit) {
            return false;
        }
        let number = frame.packet.number;
        if frame.offset == self.end && number == self.number {
            self.append(frame.payload);
            return true;
        }
        if number < self.number {
            // It has arrived before: its number alone counts.
            return end <= self.end;
        }
        frame.offset > self.end && length > 0 && self.keep(number, frame.offset, frame.payload)
    }

    fn delivered(&mut self, bytes: Bytes) -> bool {
        let is_here = bytes.get() <= self.end - self.next;
        if is_here {
            self.next += bytes.get();
        }
        is_here
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tailback_core::FlowId;

    const HEADER: Bytes = Bytes::new(40);

    fn data(number: u64, length: u64) -> Packet {
        Packet::new(Kind::Data, FlowId(0), number, HEADER + Bytes::new(length))
    }

    fn ack(number: u64) -> Frame<'static> {
        let packet = Packet::new(Kind::Ack, FlowId(0), number, HEADER);
        Frame { packet, annex: None, offset: 0, payload: &[] }
    }

    #[test]
    fn acknowledged_bytes_are_forgotten_and_others_repeated() {
        let mut buffer = SendBuffer::new(HEADER);
        assert!(buffer.is_sent());
        buffer.write(b"abcdefghij");
        assert!(!buffer.is_sent());
        assert_eq!(buffer.outgoing(&data(0, 4)), Some((0, &b"abcd"[..])));
        assert_eq!(buffer.outgoing(&data(1, 4)), Some((4, &b"efgh"[..])));
        assert_eq!(buffer.outgoing(&data(3, 1)), None, "numbers are not skipped");
        buffer.incoming(&ack(1));
        assert_eq!(buffer.kept(), 6);
        assert_eq!(buffer.outgoing(&data(0, 4)), None, "acknowledged");
        assert_eq!(buffer.outgoing(&data(1, 4)), Some((4, &b"efgh"[..])));
        buffer.incoming(&ack(99));
        assert_eq!(buffer.kept(), 6, "never sent");
        assert!(!buffer.is_sent());
        assert_eq!(buffer.outgoing(&data(2, 2)), Some((8, &b"ij"[..])));
        assert!(buffer.is_sent());
        assert_eq!(buffer.outgoing(&data(3, 1)), None, "nothing is left");
    }

    #[test]
    fn bytes_far_ahead_or_of_a_wrong_length_are_refused() {
        let mut buffer = ReceiveBuffer::new(HEADER, Bytes::new(100));
        let frame =
            |offset, size, payload| Frame { packet: data(offset, size), annex: None, offset, payload };
        assert!(buffer.incoming(&frame(98, 2, b"ab")));
        assert!(!buffer.incoming(&frame(99, 2, b"ab")));
        assert!(!buffer.incoming(&frame(u64::MAX, 2, b"ab")));
        assert!(!buffer.incoming(&frame(0, 3, b"ab")));
        assert!(!buffer.delivered(Bytes::new(2)), "what is not here cannot be delivered");
    }

    #[test]
    fn overlapping_pieces_do_not_pile_up() {
        let mut buffer = ReceiveBuffer::new(HEADER, Bytes::new(100));
        let frame = |offset, payload: &'static [u8]| {
            let packet = data(offset, payload.len() as u64);
            Frame { packet, annex: None, offset, payload }
        };
        assert!(buffer.incoming(&frame(10, b"abcd")));
        assert!(buffer.incoming(&frame(10, b"abcd")), "the same again");
        for (offset, piece) in [(10, &b"abc"[..]), (9, b"xy"), (13, b"xy"), (11, b"x"), (8, b"xxxxxxxx")] {
            assert!(!buffer.incoming(&frame(offset, piece)), "{offset}");
        }
        assert!(buffer.incoming(&frame(14, b"e")) && buffer.incoming(&frame(8, b"xx")));
        let taken: usize = (0..200).filter(|offset| buffer.incoming(&frame(*offset, b"xyz"))).count();
        let kept: usize = buffer.waiting.values().map(|(_, piece)| piece.len()).sum();
        assert!(taken > 0 && kept <= 100, "{kept} bytes");
    }

    /// What a receiver keeps of numbers, and a buffer of pieces, is bounded by the window, whatever a peer sends.
    #[test]
    fn neither_numbers_nor_tiny_pieces_pile_up() {
        let mut buffer = ReceiveBuffer::new(HEADER, Bytes::new(100_000));
        let frame = |number, offset, payload: &'static [u8]| {
            let packet = data(number, payload.len() as u64);
            Frame { packet, annex: None, offset, payload }
        };
        let empty = (0..1000).filter(|number| buffer.incoming(&frame(2 * number + 2, 0, b""))).count();
        assert_eq!(empty, 0, "empty segments beyond the next one");
        assert!(buffer.incoming(&frame(3, 10, b"abcd")));
        let same = (4..1000).filter(|number| buffer.incoming(&frame(*number, 10, b"abcd"))).count();
        assert_eq!(same, 0, "one piece under many numbers");
        assert!(!buffer.incoming(&frame(2, 20, b"x")), "a later piece of an earlier number");
        assert!(!buffer.incoming(&frame(4, 5, b"x")), "an earlier piece of a later number");
        assert!(!buffer.incoming(&frame(99, 50, b"x")), "more segments than bytes before");
        let tiny =
            (0..40_000).filter(|place| buffer.incoming(&frame(place + 10, 2 * place + 20, b"x"))).count();
        assert_eq!(tiny + 1, 100_000 / 256);
        assert!(buffer.incoming(&frame(0, 0, b"abcd")), "what fills the hole always is taken");
    }

    proptest! {
        /// Segments of any sizes, in any order, some twice, give the stream back.
        #[test]
        fn the_stream_is_whole_again(
            lengths in prop::collection::vec(1..50_u64, 1..60),
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..100),
        ) {
            let total: u64 = lengths.iter().sum();
            let stream: Vec<u8> = (0..total).map(|i| (i % 251) as u8).collect();
            let mut sender = SendBuffer::new(HEADER);
            let mut receiver = ReceiveBuffer::new(HEADER, Bytes::new(10_000));
            sender.write(&stream);
            for (number, length) in (0..).zip(&lengths) {
                prop_assert!(sender.outgoing(&data(number, *length)).is_some());
            }
            let arrivals = order.iter().map(|index| index.index(lengths.len())).chain(0..lengths.len());
            for number in arrivals {
                let packet = data(number as u64, lengths[number]);
                let (offset, payload) = sender.outgoing(&packet).expect("sent before");
                let frame = Frame { packet, annex: None, offset, payload };
                prop_assert!(receiver.incoming(&frame));
            }
            let (first, rest) = lengths.split_at(lengths.len() / 2);
            prop_assert!(receiver.delivered(Bytes::new(first.iter().sum())));
            sender.incoming(&ack(first.len() as u64));
            prop_assert_eq!(sender.kept() as u64, rest.iter().sum::<u64>());
            prop_assert!(receiver.delivered(Bytes::new(rest.iter().sum())));
            prop_assert_eq!(receiver.read(), stream);
            sender.incoming(&ack(lengths.len() as u64));
            prop_assert_eq!(sender.kept(), 0);
        }
    }
}
