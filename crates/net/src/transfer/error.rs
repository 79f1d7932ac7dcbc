//! How a transfer can end without its file: one sentence each.

use std::io;
use std::path::PathBuf;

use tailback_core::{Bytes, Span};

use crate::secure::handshake::HandshakeError;
use crate::shown::shown;

/// Why a transfer has failed.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// A file of this host.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file's name cannot be given to another host.
    #[error(
        "{} is not a name that can be given to another host; expected UTF-8 of at most 255 bytes without control characters and \
         backslashes", shown(&.0.to_string_lossy())
    )]
    Name(PathBuf),
    /// The file is not any more what it was when the transfer began.
    #[error("{} has changed while it was sent", .0.display())]
    Changed(PathBuf),
    /// A receiver cannot be heard there.
    #[error(
        "cannot listen at {place}: {source}; expected an address of this host and a UDP port that is free"
    )]
    Listen {
        /// Address and port.
        place: String,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody answered at the beginning.
    #[error("{peer} did not answer for {patience}{}", because(*.hint))]
    NoAnswer {
        /// Who.
        peer: String,
        /// How long was waited.
        patience: Span,
        /// What the network said.
        hint: Option<&'static str>,
    },
    /// The receiver does not want the file.
    #[error("the receiver refuses: {0}")]
    Refused(String),
    /// The other side has gone silent.
    #[error("the {who} has {what} nothing for {patience}{}; {kept} of {total} are there: the same commands go on from there", because(*.hint))]
    Silent {
        /// The other side.
        who: &'static str,
        /// What it has not done.
        what: &'static str,
        /// How long was waited.
        patience: Span,
        /// What the network said.
        hint: Option<&'static str>,
        /// How much the receiver has.
        kept: Bytes,
        /// Of how much.
        total: Bytes,
    },
    /// The other side has ended it.
    #[error("the {who} says: {text}")]
    Peer {
        /// The other side.
        who: &'static str,
        /// What it says.
        text: String,
    },
    /// What arrived is not what was offered.
    #[error("what arrived of {name} does not have the hash that the sender stated; it was thrown away")]
    Hash {
        /// The file.
        name: String,
    },
    /// Stopped from here.
    #[error("stopped")]
    Stopped,
    /// Keys, or random numbers.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// What the endpoints' maker says.
    #[error("{0}")]
    Endpoint(String),
    /// The socket.
    #[error("{0}")]
    Socket(#[from] io::Error),
}

fn because(hint: Option<&'static str>) -> String {
    hint.map(|hint| format!(" ({hint})")).unwrap_or_default()
}
