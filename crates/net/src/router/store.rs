//! The bytes of packets that are inside a router, and what it notes beside them. Links move only the packet's head, whose
//! number says where its bytes lie.

use tailback_core::{Ecn, Packet, Time};

/// So many packets can be inside at once: with the largest of 1500 bytes, 400 MB.
pub(crate) const MOST: usize = 1 << 18;

/// The part of a packet's number that is its place; the rest counts packets.
const PLACE_BITS: u32 = 20;
const _: () = assert!(MOST <= 1 << PLACE_BITS, "every place has its number");

/// The how-manieth packet of its router it is.
pub fn serial(packet: &Packet) -> u64 {
    packet.number >> PLACE_BITS
}

/// A packet inside a router.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bytes: Box<[u8]>,
    length: usize,
    /// How many packets on their way have these bytes: more than one after duplication.
    copies: u32,
    /// Which rule it follows.
    pub(crate) rule: usize,
    /// When it came.
    pub(crate) arrived: Time,
    /// The ECN field that it came with.
    pub(crate) came_with: Ecn,
    /// The ECN field that its bytes have.
    pub(crate) ecn: Ecn,
}

impl Held {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    /// The whole buffer, for the next packet.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Cuts the buffer at a packet's end.
    pub(crate) fn cut(&mut self, length: usize) {
        self.length = length.min(self.bytes.len());
    }
}

/// Where a packet's bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl Place {
    /// Of a packet that carries [`Store::number`].
    pub(crate) fn of(packet: &Packet) -> Self {
        Self((packet.number & ((1 << PLACE_BITS) - 1)) as usize)
    }
}

/// All packets inside a router.
#[derive(Debug)]
pub(crate) struct Store {
    held: Vec<Held>,
    free: Vec<Place>,
    longest: usize,
    taken: u64,
}

impl Store {
    /// For packets of at most `longest` bytes.
    pub(crate) fn new(longest: usize) -> Self {
        Self { held: Vec::new(), free: Vec::new(), longest, taken: 0 }
    }

    /// A place for one packet, with a buffer; `None` while [`MOST`] are inside.
    pub(crate) fn take(&mut self) -> Option<Place> {
        let place = self.free.pop().or_else(|| {
            let place = (self.held.len() < MOST).then_some(Place(self.held.len()))?;
            self.held.push(Held { bytes: vec![0; self.longest].into(), ..Held::default() });
            Some(place)
        })?;
        self.at(place).copies = 1;
        self.taken += 1;
        Some(place)
    }

    /// The number of the packet whose place was taken last: no two packets have the same.
    pub(crate) fn number(&self, place: Place) -> u64 {
        self.taken << PLACE_BITS | place.0 as u64
    }

    pub(crate) fn at(&mut self, place: Place) -> &mut Held {
        &mut self.held[place.0]
    }

    /// One more packet has these bytes.
    pub(crate) fn copy(&mut self, place: Place) {
        self.at(place).copies += 1;
    }

    /// One packet less has these bytes; the last one gives the place back.
    pub(crate) fn give_back(&mut self, place: Place) {
        let held = self.at(place);
        held.copies -= 1;
        if held.copies == 0 {
            self.free.push(place);
        }
    }

    /// How many places are taken.
    pub(crate) fn len(&self) -> usize {
        self.held.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Bytes, FlowId, Kind};

    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_last_copy_has_left() {
        let mut store = Store::new(4);
        let place = store.take().unwrap();
        let number = store.number(place);
        let packet = Packet::new(Kind::Data, FlowId(0), number, Bytes::new(4));
        assert_eq!(Place::of(&packet), place);
        store.copy(place);
        store.give_back(place);
        assert_eq!(store.len(), 1);
        store.give_back(place);
        assert_eq!(store.len(), 0);
        assert_eq!(store.take(), Some(place));
        assert_ne!(store.number(place), number, "another packet, another number");
    }

    #[test]
    fn there_is_an_end_of_room() {
        let mut store = Store::new(1);
        assert!((0..MOST).all(|_| store.take().is_some()));
        assert_eq!(store.take(), None);
    }
}
