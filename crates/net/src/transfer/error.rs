//! How a transfer can end without its file: one sentence each.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tailback_core::{Bytes, Span};

use crate::secure::envelope::VERSION;
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
    /// What arrives cannot be written: the disk is full, for example.
    #[error("{}: {source}; {kept} of {total} are there: the same commands go on from there", path.display())]
    Unwritten {
        /// Where to.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
        /// How much the receiver has.
        kept: Bytes,
        /// Of how much.
        total: Bytes,
    },
    /// The disk has failed, or had no room when all of it was to be brought there. Nothing of it can be relied on.
    #[error(
        "{}: the disk did not take all of it: {source}; {}, because nobody can say which bytes are on the disk: the same commands \
         begin anew", path.display(), thrown_away(.remains.as_ref())
    )]
    Unsynced {
        /// Where it was.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
        /// Why it is still there, if it is.
        remains: Option<io::Error>,
    },
    /// The file's name cannot be given to another host.
    #[error(
        "{} is not a name that can be given to another host; expected UTF-8 of at most 255 bytes without control characters and \
         backslashes", shown(&.0.to_string_lossy())
    )]
    Name(PathBuf),
    /// The file is not any more what it was when the transfer began.
    #[error("{} has changed while it was sent: {SEND_AGAIN}", .0.display())]
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
    #[error("{}", unanswered(.tried, *.patience))]
    NoAnswer {
        /// All addresses of the receiver.
        tried: Vec<Tried>,
        /// How long was waited.
        patience: Span,
    },
    /// The system refuses every address of the receiver.
    #[error("{}", unreachable(.tried))]
    Unreachable {
        /// All of them.
        tried: Vec<Tried>,
    },
    /// The receiver speaks another version.
    #[error("{peer} {}", differs(*.version))]
    Version {
        /// Where it is.
        peer: SocketAddr,
        /// Its version.
        version: u8,
    },
    /// The receiver does not want the file.
    #[error("the receiver refuses: {0}")]
    Refused(String),
    /// The other side has gone silent.
    #[error("the {who} has {what} nothing for {patience}{}; {}", because(*.hint), left(who, *.kept, *.total))]
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
    /// The sender is there, and sends nothing of the file.
    #[error(
        "nothing of the file has come for {patience}, though the sender is there; {kept} of {total} are there: the same commands \
         go on from there"
    )]
    Idle {
        /// How long was waited.
        patience: Span,
        /// How much the receiver has.
        kept: Bytes,
        /// Of how much.
        total: Bytes,
    },
    /// The receiver is there, and acknowledges nothing new, or does not say how it ended.
    #[error(
        "the receiver has {what} for {patience}, though it is there; {kept} of {total} are there: the same commands go on from \
         there"
    )]
    Stuck {
        /// What it does instead.
        what: &'static str,
        /// How long was waited.
        patience: Span,
        /// How much the receiver has acknowledged.
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
    #[error(
        "what arrived of {name} does not have the hash that the sender stated; {}", thrown_away(.remains.as_ref())
    )]
    Hash {
        /// The file.
        name: String,
        /// Why it is still there, if it is.
        remains: Option<io::Error>,
    },
    /// The receiver claims to have what it cannot have.
    #[error(
        "the receiver says that it has the whole file, not all of which was sent; expected its word when all is there"
    )]
    Early,
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

impl TransferError {
    /// Whether what has arrived is of no use any more; if so, what is to be noted where it cannot be thrown away.
    pub(super) fn is_of_no_use(&mut self) -> Option<&mut Option<io::Error>> {
        match self {
            Self::Hash { remains, .. } | Self::Unsynced { remains, .. } => Some(remains),
            _ => None,
        }
    }

    /// In words for the other end, which does not know how much is there, and knows the file by the name that it was offered
    /// under: where it lies is nobody else's business.
    pub(super) fn told(&self, name: &str, kept: Bytes, total: Bytes) -> String {
        let words = self.to_string();
        match self {
            Self::Stopped => format!("{words}; {}", left("sender", kept, total)),
            Self::File { path, .. }
            | Self::Unwritten { path, .. }
            | Self::Unsynced { path, .. }
            | Self::Changed(path) => {
                let rest = words.strip_prefix(&path.display().to_string());
                rest.map_or(words.clone(), |rest| format!("{name}{rest}"))
            }
            _ => words,
        }
    }
}

/// An address that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Which.
    pub peer: SocketAddr,
    /// What the system said of it, if anything.
    pub why: Option<String>,
}

/// What becomes of somebody who speaks this version, and what to do.
pub(super) fn differs(version: u8) -> String {
    let older = if version > VERSION { "this host" } else { "that host" };
    format!(
        "speaks version {version} of transfers, and this host version {VERSION}; expected the same version at both: update \
         Tailback at {older}"
    )
}

fn unanswered(tried: &[Tried], patience: Span) -> String {
    match tried {
        [Tried { peer, why: Some(why) }] => format!("{peer} did not answer for {patience} ({why})"),
        [Tried { peer, why: None }] => format!("{peer} did not answer for {patience}"),
        _ => format!("none of these addresses answered for {patience}: {}", listed(tried)),
    }
}

fn unreachable(tried: &[Tried]) -> String {
    match tried {
        [] => "the receiver has no address; expected one at least".to_owned(),
        [Tried { peer, why }] => format!("cannot reach {peer}: {}", why.as_deref().unwrap_or(NO_WORD)),
        _ => format!("cannot reach any of these addresses: {}", listed(tried)),
    }
}

fn listed(tried: &[Tried]) -> String {
    let one = |Tried { peer, why }: &Tried| format!("{peer} ({})", why.as_deref().unwrap_or(NO_WORD));
    tried.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What is left to do. A receiver that has all of it may have ended well, with nobody to hear its word: then it has the file.
fn left(who: &str, kept: Bytes, total: Bytes) -> String {
    if who == "receiver" && kept == total {
        return format!(
            "it has all {total}, and may have ended well: the same commands say whether it has, or go on"
        );
    }
    format!("{kept} of {total} are there: the same commands go on from there")
}

/// What to do about a file that has changed.
pub(super) const SEND_AGAIN: &str = "the same commands send it as it is now";

/// In place of a reason.
const NO_WORD: &str = "no word from there";

/// What became of what is of no use.
fn thrown_away(remains: Option<&io::Error>) -> String {
    remains.map_or_else(
        || "it was thrown away".to_owned(),
        |why| format!("it is of no use and could not be thrown away ({why}): remove it"),
    )
}

fn because(hint: Option<&'static str>) -> String {
    hint.map(|hint| format!(" ({hint})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_end_hears_of_the_name_that_was_offered() {
        let (path, bytes) = (PathBuf::from("/home/somebody/in/.film.9f.partial"), Bytes::new);
        let full = || io::Error::from_raw_os_error(28);
        let errors = [
            TransferError::File { path: path.clone(), source: full() },
            TransferError::Unwritten { path: path.clone(), source: full(), kept: bytes(1), total: bytes(2) },
            TransferError::Unsynced { path: path.clone(), source: full(), remains: None },
            TransferError::Changed(path.clone()),
        ];
        for error in errors {
            let (here, there) = (error.to_string(), error.told("film", bytes(1), bytes(2)));
            assert_eq!(here.replace(&path.display().to_string(), "film"), there);
            assert!(there.starts_with("film"), "{there}");
        }
    }
}
