//! A file from one host to another: what is offered, how the two ends talk, and what is kept where it breaks off. Under
//! which scheme the bytes travel is decided by the endpoints that the caller makes.

mod config;
mod error;
#[cfg(test)]
#[path = "../../tests/common/folder.rs"]
mod folder;
mod hash;
mod lengths;
mod listen;
mod narrowing;
mod news;
mod offer;
mod partial;
mod past;
mod place;
mod reach;
mod receive;
mod receiving;
mod send;
mod sending;
mod settling;
mod widening;
#[cfg(test)]
mod widening_by_rfc;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use tailback_core::{Bytes, Observation, Span, Stream, Time};

use crate::secure::envelope;
pub use config::SendConfig;
pub use error::{TransferError, Tried};
pub use hash::{Hash, hash_of};
pub use offer::{LONGEST_NAME, Offer, read_answer, write_answer};
pub use partial::Partial;
pub use receive::{ReceiveConfig, Word, receive};
pub use receiving::Received;
pub use send::{Sent, send};

/// How much of a stream may be on its way beyond what was delivered, and waits at the receiver at most.
pub const RECEIVE_WINDOW: Bytes = Bytes::new(64 << 20);
/// The longest turn of a loop: so soon is a word to stop heard.
const TURN: Span = Span::from_millis(20);
/// How often somebody who has nothing else to say shows that he is there.
const SIGN_OF_LIFE: Span = Span::from_millis(500);
/// One who is there, and sends or acknowledges nothing new of the file, is waited for so many times as long as one that says
/// nothing: by default two minutes, and the slowest scheme sends a packet in 64 s (RFC 5348 §4.3).
const IDLE: u64 = 12;

/// The bytes of an IP packet that carries data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// All of it, as the way was found to carry it.
    pub packet: Bytes,
    /// Headers of IP and UDP, the envelope, and the frame around the payload, without an annex.
    pub around: Bytes,
}

impl Sizes {
    fn new(datagram: usize, is_ipv6: bool, is_sealed: bool) -> Self {
        let below = below(is_ipv6);
        let tag = if is_sealed { envelope::TAG } else { 0 };
        let around = below + envelope::HEAD + tag + tailback_transport::wire::DATA_OVERHEAD;
        Self { packet: Bytes::new((below + datagram) as u64), around: Bytes::new(around as u64) }
    }
}

/// An end of the flow, ready to be driven.
pub struct Prepared<E> {
    /// The endpoint.
    pub endpoint: E,
    /// Bytes of its packets that are no payload.
    pub header: Bytes,
    /// Its random stream.
    pub rng: Stream,
}

/// What there is to see of a transfer at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Since the session began.
    pub now: Time,
    /// The longest IP packet that is sent, once it is known; a receiver does not hear of it.
    pub packet: Option<Bytes>,
    /// Bytes that are safe: acknowledged to the sender, written by the receiver; those of earlier attempts included.
    pub done: Bytes,
    /// Of how many.
    pub total: Bytes,
    /// What the endpoint tells.
    pub observation: Observation,
    /// What it is busy with.
    pub phase: Phase,
}

/// What a transfer is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading the file for its hash.
    Hashing,
    /// Waiting for the other side.
    Waiting,
    /// Moving bytes.
    Moving,
    /// All bytes are there; their hash is compared.
    Checking,
}

/// Looks at a transfer every now and then; `false` stops it.
pub type Watch<'a> = &'a mut dyn FnMut(&Seen) -> bool;

impl Seen {
    /// Before there is a session.
    fn before(phase: Phase, done: u64, total: u64) -> Self {
        let (done, total) = (Bytes::new(done), Bytes::new(total));
        Self { now: Time::ZERO, packet: None, done, total, observation: Observation::default(), phase }
    }
}

/// Bytes of the headers of IP and UDP (RFC 8200 §3, RFC 791 §3.1 without options, RFC 768).
const fn below(is_ipv6: bool) -> usize {
    if is_ipv6 { 48 } else { 28 }
}

/// An address of IPv4 as one, where a socket of both protocols has it as one of IPv6 (RFC 4291 §2.5.5.2).
fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => (ip, address.port()).into(),
        IpAddr::V6(_) => address,
    }
}

/// The name of a file without its folders, if it can be given to another host.
fn bare_name(path: &Path) -> Option<String> {
    path.file_name()?
        .to_str()
        .filter(|name| name.len() <= LONGEST_NAME && offer::is_bare(name))
        .map(str::to_owned)
}

/// A path and what became of it, for errors.
fn about(path: &Path) -> impl FnOnce(std::io::Error) -> TransferError + '_ {
    move |source| TransferError::File { path: PathBuf::from(path), source }
}
