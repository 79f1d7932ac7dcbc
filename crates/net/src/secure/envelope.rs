//! The outermost bytes of every datagram that secured hosts exchange: handshake messages, and sealed frames with the part
//! that the network may see and change. What is inside a sealed frame is `transport`'s wire format, or a message of `channel`.
//!
//! All numbers are big-endian. Decoding trusts nothing.

use tailback_core::{Packet, Span};
use tailback_transport::wire;

/// The version of the envelope, and of all that is in it: hosts learn from it alone that they cannot talk.
pub const VERSION: u8 = 4;
const _: () = assert!(wire::VERSION == 5, "frames of another version need an envelope of another version");
/// Bytes before what is sealed.
pub const HEAD: usize = 24;
/// Bytes that sealing adds at the end.
pub const TAG: usize = 16;
/// Bytes of a cookie: when it was made, and a code.
pub const COOKIE: usize = 8 + CODE;
/// Bytes of the code that proves the invitation.
pub const CODE: usize = 32;
/// The shortest hello: longer than the message that answers it.
pub const SHORTEST_HELLO: usize = 96;
/// The bits of a packet that the network may see: lane, ECN field, place in a probe and both marks.
const VISIBLE: u16 = 0b0000_0111_1111_1100;
/// Of these, the marks that routers add.
const RHO: u16 = 1 << 9;
const ETA: u16 = 1 << 10;

const HELLO: u8 = 1;
const COOKIE_KIND: u8 = 2;
const INITIATION: u8 = 3;
const RESPONSE: u8 = 4;
const SEALED: u8 = 5;
const OPEN: u8 = 6;
const OTHER: u8 = 7;

/// How a host calls a session: the other one writes it onto what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(pub u32);

/// What the network sees of a packet, and may change: routers set marks and add to the virtual delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// Lane, ECN field, place in a probe and marks, as in [`Packet::bits`].
    bits: u16,
    /// What routers added.
    pub virtual_delay: Span,
}

impl Visible {
    /// What the network sees of this packet.
    pub fn of(packet: &Packet) -> Self {
        Self { bits: packet.bits() & VISIBLE, virtual_delay: Span::ZERO }
    }

    /// Puts marks that were added on the way onto the packet.
    pub fn mark(self, packet: &mut Packet) {
        packet.set_rho(packet.rho() || self.bits & RHO != 0);
        packet.set_eta(packet.eta() || self.bits & ETA != 0);
    }

    fn new(bits: u16, virtual_delay: Span) -> Self {
        Self { bits: bits & VISIBLE, virtual_delay }
    }
}

/// A datagram, taken apart as far as it can be without keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope<'a> {
    /// A sender asks for a cookie. `length` is the datagram's, filled up with zeros to try how much the way carries.
    Hello {
        /// The version that the sender speaks, which may be another one.
        version: u8,
        /// The sender's, by which it knows the answer.
        nonce: u64,
        /// The datagram's.
        length: u16,
        /// Proves that the sender has the invitation, and means this length.
        code: [u8; CODE],
    },
    /// The receiver gives one, and keeps nothing.
    Cookie {
        /// That of the hello.
        nonce: u64,
        /// The length of the hello that came through.
        length: u16,
        /// What proves that the sender is where it says.
        cookie: [u8; COOKIE],
        /// Proves that the receiver of the invitation says so.
        code: [u8; CODE],
    },
    /// The receiver speaks another version than a hello.
    Other {
        /// The receiver's, which is another one than ours, or nobody would say so.
        version: u8,
        /// That of the hello.
        nonce: u64,
        /// Proves that the receiver of the invitation says so.
        code: [u8; CODE],
    },
    /// The first message of the handshake.
    Initiation {
        /// That of the hello.
        nonce: u64,
        /// How the sender calls the session.
        session: SessionId,
        /// As it was given.
        cookie: [u8; COOKIE],
        /// Of Noise.
        message: &'a [u8],
        /// Proves that the sender has the invitation.
        code: [u8; CODE],
    },
    /// The second and last.
    Response {
        /// How the sender calls the session.
        to: SessionId,
        /// How the receiver calls it.
        session: SessionId,
        /// Of Noise.
        message: &'a [u8],
    },
    /// A frame or a message of a session.
    Sealed {
        /// How its receiver calls the session.
        to: SessionId,
        /// The sender's count of packets.
        counter: u64,
        /// What the network may change.
        visible: Visible,
        /// Whether it is in the clear after all, which lab networks may ask for.
        is_open: bool,
    },
}

/// The bytes of a hello without its code and the zeros that follow it.
pub fn hello(version: u8, nonce: u64) -> Vec<u8> {
    of_version(version, HELLO, nonce)
}

/// The bytes of the answer to a hello of another version without their code.
pub fn other(version: u8, nonce: u64) -> Vec<u8> {
    of_version(version, OTHER, nonce)
}

/// The head of what no version changes.
fn of_version(version: u8, kind: u8, nonce: u64) -> Vec<u8> {
    let mut bytes = vec![version, kind, 0, 0];
    bytes.extend(nonce.to_be_bytes());
    bytes
}

/// The bytes of a cookie without their code.
pub fn cookie(nonce: u64, length: u16, cookie: &[u8; COOKIE]) -> Vec<u8> {
    let mut bytes = start(COOKIE_KIND);
    bytes.extend(nonce.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(cookie);
    bytes
}

/// The clear head of an initiation; its Noise message follows, and the code of all.
pub fn initiation(nonce: u64, session: SessionId, cookie: &[u8; COOKIE]) -> Vec<u8> {
    let mut bytes = start(INITIATION);
    bytes.extend(nonce.to_be_bytes());
    bytes.extend(session.0.to_be_bytes());
    bytes.extend(cookie);
    bytes
}

/// Bytes of that head.
pub const INITIATION_HEAD: usize = 4 + 8 + 4 + COOKIE;

/// The clear head of a response; its Noise message follows.
pub fn response(to: SessionId, session: SessionId) -> Vec<u8> {
    let mut bytes = start(RESPONSE);
    bytes.extend(to.0.to_be_bytes());
    bytes.extend(session.0.to_be_bytes());
    bytes
}

fn start(kind: u8) -> Vec<u8> {
    vec![VERSION, kind, 0, 0]
}

/// Appends the head of a sealed frame.
pub fn head(to: SessionId, counter: u64, visible: Visible, is_open: bool, out: &mut Vec<u8>) {
    out.extend([VERSION, if is_open { OPEN } else { SEALED }]);
    out.extend(visible.bits.to_be_bytes());
    out.extend(to.0.to_be_bytes());
    out.extend(counter.to_be_bytes());
    out.extend(visible.virtual_delay.as_nanos().to_be_bytes());
}

/// What of a sealed frame's head is authenticated with it: all that the network must not change.
pub fn bound(to: SessionId, counter: u64) -> [u8; 14] {
    let mut bytes = [0; 14];
    bytes[..2].copy_from_slice(&[VERSION, SEALED]);
    bytes[2..6].copy_from_slice(&to.0.to_be_bytes());
    bytes[6..].copy_from_slice(&counter.to_be_bytes());
    bytes
}

impl<'a> Envelope<'a> {
    /// Takes a datagram apart; `None` where it is none of ours.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&[version, kind, bits @ ..], rest) = bytes.split_first_chunk::<4>()?;
        let bits = u16::from_be_bytes(bits);
        let has_bits = matches!(kind, SEALED | OPEN);
        let is_of_all = matches!(kind, HELLO | OTHER);
        if (version != VERSION && !is_of_all) || (bits & !VISIBLE != 0) || (bits != 0 && !has_bits) {
            return None;
        }
        let mut rest = Fields(rest);
        match kind {
            HELLO => {
                let (nonce, code) = (rest.u64()?, rest.array()?);
                let is_filled = bytes.len() >= SHORTEST_HELLO && rest.0.iter().all(|byte| *byte == 0);
                let length = u16::try_from(bytes.len()).ok()?;
                is_filled.then_some(Self::Hello { version, nonce, length, code })
            }
            COOKIE_KIND => {
                let (nonce, length) = (rest.u64()?, rest.u16()?);
                let (cookie, code) = (rest.array()?, rest.array()?);
                rest.0.is_empty().then_some(Self::Cookie { nonce, length, cookie, code })
            }
            OTHER => {
                let (nonce, code) = (rest.u64()?, rest.array()?);
                (rest.0.is_empty() && version != VERSION).then_some(Self::Other { version, nonce, code })
            }
            INITIATION => {
                let (nonce, session, cookie) = (rest.u64()?, SessionId(rest.u32()?), rest.array()?);
                let (message, code) = rest.0.split_last_chunk()?;
                Some(Self::Initiation { nonce, session, cookie, message, code: *code })
            }
            RESPONSE => Some(Self::Response {
                to: SessionId(rest.u32()?),
                session: SessionId(rest.u32()?),
                message: rest.0,
            }),
            SEALED | OPEN => {
                let (to, counter) = (SessionId(rest.u32()?), rest.u64()?);
                let visible = Visible::new(bits, Span::from_nanos(rest.u64()?));
                Some(Self::Sealed { to, counter, visible, is_open: kind == OPEN })
            }
            _ => None,
        }
    }
}

/// Fields one after another.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}
