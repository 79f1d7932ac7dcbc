//! What a sender of a file is told. What a receiver is told stands with it, in `receive.rs`.

use std::net::SocketAddr;
use std::path::PathBuf;

use tailback_core::{Bytes, Span};

use crate::secure::{Invitation, KeyPair};

/// What to send, and where to.
#[derive(Clone, Debug)]
pub struct SendConfig {
    /// The file.
    pub file: PathBuf,
    /// The receiver's addresses, which are tried in this order; the first that answers serves.
    pub peers: Vec<SocketAddr>,
    /// This host's keys and the receiver's invitation; in the clear without.
    pub keys: Option<(KeyPair, Invitation)>,
    /// How long the receiver may say nothing.
    pub patience: Span,
    /// The longest IP packet to try.
    pub packet: Bytes,
    /// Where shorter ones are used, how often longer ones are tried again (`PMTU_RAISE_TIMER`, RFC 8899 §5.1.1).
    pub longer: Span,
}
