//! Sealing and opening of datagrams with a session's keys: the sender's packet counter is the nonce, since segment numbers
//! repeat; a window refuses what has arrived before; keys are replaced after so many packets.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};

use super::envelope::{HEAD, SessionId, bound};
use super::keys::KEY;

/// Packets under one key: far below the 2²³ at which an attacker's advantage against AES-GCM becomes noticeable (RFC 9001 §6.6).
pub const EPOCH: u64 = 1 << 20;
/// How many packets back a late one is still taken.
pub const WINDOW: u64 = 4096;
const WORDS: usize = WINDOW as usize / 64;

/// One direction's key, and how the next follows from it.
#[derive(Debug)]
pub struct Cipher {
    key: LessSafeKey,
}

impl Cipher {
    /// The cipher of a key.
    ///
    /// # Panics
    /// Never: the key has the length that the algorithm wants.
    pub fn new(raw: [u8; KEY]) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, &raw).expect("the key has the algorithm's length");
        Self { key: LessSafeKey::new(key) }
    }

    /// The one that follows (Noise revision 34, §4.2 `REKEY`): nobody who learns it can compute the one before.
    #[must_use]
    fn next(&self) -> Self {
        let mut raw = [0; KEY];
        // The tag is of no use here.
        let _ = self.encrypt(u64::MAX, &[], &mut raw);
        Self::new(raw)
    }

    /// Encrypts in place; the tag. What could not be encrypted must not leave, and no key may be made of it.
    fn encrypt(&self, counter: u64, aad: &[u8], bytes: &mut [u8]) -> Tag {
        let made = self.key.seal_in_place_separate_tag(nonce(counter), Aad::from(aad), bytes);
        made.expect("a datagram is far shorter than the 64 GiB that the algorithm takes")
    }

    fn open<'a>(&self, counter: u64, aad: &[u8], bytes: &'a mut [u8]) -> Option<&'a mut [u8]> {
        self.key.open_in_place(nonce(counter), Aad::from(aad), bytes).ok()
    }
}

/// Noise's nonce of AES-GCM: 32 bits of zeros and the counter, big-endian.
fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&counter.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Seals what leaves.
#[derive(Debug)]
pub struct Sealer {
    cipher: Cipher,
    next: u64,
}

impl Sealer {
    /// With the key of this direction, before the first packet.
    pub fn new(key: [u8; KEY]) -> Self {
        Self { cipher: Cipher::new(key), next: 0 }
    }

    /// The number of the next packet. Each is used once; the key is replaced where an epoch begins.
    pub fn next_counter(&mut self) -> u64 {
        let counter = self.next;
        self.next += 1;
        if counter > 0 && counter.is_multiple_of(EPOCH) {
            self.cipher = self.cipher.next();
        }
        counter
    }

    /// Seals what stands in `datagram` behind an envelope's head at `start`, under the newest counter, and appends the tag.
    pub fn seal(&self, to: SessionId, counter: u64, datagram: &mut Vec<u8>, start: usize) {
        let tag = self.cipher.encrypt(counter, &bound(to, counter), &mut datagram[start + HEAD..]);
        datagram.extend_from_slice(tag.as_ref());
    }
}

/// Opens what arrives.
#[derive(Debug)]
pub struct Opener {
    previous: Option<Cipher>,
    current: Cipher,
    epoch: u64,
    /// The greatest counter that arrived, and which of those before it did.
    newest: Option<u64>,
    seen: [u64; WORDS],
}

impl Opener {
    /// With the key of this direction, before the first packet.
    pub fn new(key: [u8; KEY]) -> Self {
        Self { previous: None, current: Cipher::new(key), epoch: 0, newest: None, seen: [0; WORDS] }
    }

    /// Opens a datagram in place: what was sealed in it, and whether no later one has arrived. `None` where it is forged, has
    /// arrived before, or is older than the window.
    pub fn open<'a>(
        &mut self,
        to: SessionId,
        counter: u64,
        datagram: &'a mut [u8],
    ) -> Option<(&'a mut [u8], bool)> {
        if !self.is_new(counter) {
            return None;
        }
        let sealed = datagram.get_mut(HEAD..)?;
        let (aad, epoch) = (bound(to, counter), counter / EPOCH);
        let opened = if epoch == self.epoch {
            self.current.open(counter, &aad, sealed)?
        } else if epoch + 1 == self.epoch {
            self.previous.as_ref()?.open(counter, &aad, sealed)?
        } else if epoch == self.epoch + 1 {
            // The new key counts only once something arrived under it.
            let next = self.current.next();
            let opened = next.open(counter, &aad, sealed)?;
            self.previous = Some(std::mem::replace(&mut self.current, next));
            self.epoch = epoch;
            opened
        } else {
            return None;
        };
        Some((opened, self.note(counter)))
    }

    fn is_new(&self, counter: u64) -> bool {
        let Some(newest) = self.newest else { return true };
        if counter > newest {
            return true;
        }
        newest - counter < WINDOW && self.seen[word(counter)] & bit(counter) == 0
    }

    /// Remembers a counter; whether it is the greatest.
    fn note(&mut self, counter: u64) -> bool {
        let first = self.newest.map_or(0, |newest| newest + 1);
        let is_newest = self.newest.is_none_or(|newest| counter > newest);
        if is_newest {
            // The places of the counters in between were those of counters that now are too old.
            for skipped in first.max((counter + 1).saturating_sub(WINDOW))..=counter {
                self.seen[word(skipped)] &= !bit(skipped);
            }
            self.newest = Some(counter);
        }
        self.seen[word(counter)] |= bit(counter);
        is_newest
    }
}

const fn word(counter: u64) -> usize {
    (counter % WINDOW / 64) as usize
}

const fn bit(counter: u64) -> u64 {
    1 << (counter % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secure::envelope::{Envelope, TAG, Visible, head};
    use proptest::prelude::*;

    const TO: SessionId = SessionId(9);

    /// Whether the network may change this bit: the nine that it sees of a packet's, and the virtual delay.
    const fn is_free(bit: usize) -> bool {
        matches!((bit / 8, bit % 8), (2, 0..3) | (3, 2..8) | (16..24, _))
    }

    fn sealed(sealer: &mut Sealer, text: &[u8]) -> (u64, Vec<u8>) {
        let counter = sealer.next_counter();
        let mut bytes = Vec::new();
        head(TO, counter, Visible::default(), false, &mut bytes);
        bytes.extend(text);
        sealer.seal(TO, counter, &mut bytes, 0);
        (counter, bytes)
    }

    /// As a channel opens it: by the session and the counter that the head names.
    fn opens_as_read(bytes: &[u8]) -> bool {
        match Envelope::read(bytes) {
            Some(Envelope::Sealed { to, counter, is_open: false, .. }) => {
                to == TO && Opener::new([7; KEY]).open(to, counter, &mut bytes.to_vec()).is_some()
            }
            _ => false,
        }
    }

    fn opens(opener: &mut Opener, counter: u64, bytes: &[u8]) -> bool {
        opener.open(TO, counter, &mut bytes.to_vec()).is_some()
    }

    proptest! {
        /// In whatever order packets arrive, each is opened at most once, and once if it is not too late.
        #[test]
        fn every_packet_is_opened_once(order in prop::collection::vec(0..9000_u64, 1..300)) {
            let mut opener = Opener::new([7; KEY]);
            let mut taken = std::collections::BTreeSet::new();
            let mut newest = 0;
            for counter in order {
                let mut sealer = Sealer::new([7; KEY]);
                sealer.next = counter;
                let (counter, bytes) = sealed(&mut sealer, b"text");
                let is_due = !taken.contains(&counter) && counter + WINDOW > newest;
                prop_assert_eq!(opens(&mut opener, counter, &bytes), is_due, "{}", counter);
                taken.insert(counter);
                newest = newest.max(counter);
            }
        }

        /// No changed bit is opened but those that the network may change, which are what it says of a packet.
        #[test]
        fn a_changed_bit_is_found_out(at in 0..(HEAD + 4 + TAG) * 8) {
            let mut sealer = Sealer::new([7; KEY]);
            let (_, mut bytes) = sealed(&mut sealer, b"text");
            prop_assert!(opens_as_read(&bytes));
            bytes[at / 8] ^= 1 << (at % 8);
            prop_assert_eq!(opens_as_read(&bytes), is_free(at), "byte {}", at / 8);
        }
    }

    #[test]
    fn keys_change_and_late_packets_of_the_last_key_are_taken() {
        let (mut sealer, mut opener) = (Sealer::new([1; KEY]), Opener::new([1; KEY]));
        sealer.next = EPOCH - 2;
        let late = sealed(&mut sealer, b"late");
        let before = sealed(&mut sealer, b"before");
        let after = sealed(&mut sealer, b"after");
        assert!(opens(&mut opener, before.0, &before.1));
        let old = Cipher::new([1; KEY]);
        assert!(old.open(after.0, &bound(TO, after.0), &mut after.1[HEAD..].to_vec()).is_none(), "a new key");
        assert!(opens(&mut opener, after.0, &after.1));
        assert!(opens(&mut opener, late.0, &late.1));
        assert!(!opens(&mut opener, late.0, &late.1), "twice");
        sealer.next = 3 * EPOCH;
        let far = sealed(&mut sealer, b"far");
        assert!(!opens(&mut opener, far.0, &far.1), "nobody loses a million packets in a row");
    }
}
