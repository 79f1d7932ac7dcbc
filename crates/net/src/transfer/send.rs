//! The sending end of a transfer: the file's hash, and sessions, each of which begins with a handshake. Where the way becomes
//! narrower or wider, another one goes on with packets of another length where the receiver is: segments cannot be cut anew in
//! the middle of a flow, which counts them. What happens in a session is in `sending.rs`.

use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;

use tailback_core::{Bytes, Endpoint, FlowId, Span, Time};

use super::config::SendConfig;
use super::error::{SEND_AGAIN, TransferError};
use super::hash::{Hash, hash_of};
use super::offer::{Offer, read_answer};
use super::past::Past;
use super::reach::{Reach, Reached};
use super::sending::{Ended, Found, Path, Sending};
use super::widening::Widening;
use super::{Phase, Prepared, Seen, Sizes, Watch, about, bare_name};
use crate::buffer::SendBuffer;
use crate::channel::{Message, SecuredChannel};
use crate::clock::Clock;
use crate::secure::handshake::{Accepted, Initiator};
use crate::socket::MarkedSocket;
use crate::udp::{Driver, EdgeCounters};

/// So often is the last word said.
const LAST_WORDS: u32 = 3;

/// A file that has arrived.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its name at the receiver.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// Its SHA-256.
    pub hash: Hash,
    /// How many bytes the receiver had from earlier attempts.
    pub resumed: Bytes,
    /// The receiver's address at the end.
    pub peer: SocketAddr,
    /// How long the session lasted.
    pub span: Span,
    /// The longest IP packet that was sent at the end.
    pub packet: Bytes,
    /// What happened at the edge.
    pub edge: EdgeCounters,
    /// How often this end's socket was replaced.
    pub moves: u64,
    /// Whether the file is another one here by now: the receiver has it as it was offered.
    pub has_changed: bool,
}

/// Sends a file. `prepare` makes the sending endpoint, and says what the receiver must know of it: once, and again with a
/// another size whenever the way has become narrower or wider.
///
/// # Errors
/// Whatever keeps the file from arriving.
pub fn send<E: Endpoint>(
    config: &SendConfig,
    mut prepare: impl FnMut(Sizes) -> Result<(Prepared<E>, String), String>,
    watch: Watch<'_>,
) -> Result<Sent, TransferError> {
    let path = &config.file;
    let name = bare_name(path).ok_or_else(|| TransferError::Name(path.clone()))?;
    let (mut file, before, (size, hash)) = open(path, &mut *watch)?;

    let seen = Seen::before(Phase::Waiting, 0, size);
    let (clock, mut past) = (Clock::start(), Past::default());
    let mut widening = Widening::new(config.longer, config.patience);
    let reach = Reach::new(&config.peers, config.packet, clock, config.patience, (seen, &mut *watch));
    let mut reached = reach.greet(Initiator::new(config.keys.clone())?)?;
    // The time of all sessions begins with the first.
    let mut began = None;
    loop {
        let sizes =
            Sizes::new(usize::from(reached.carried.longest()), reached.peer.is_ipv6(), config.keys.is_some());
        let (prepared, flow) = prepare(sizes).map_err(TransferError::Endpoint)?;
        let offer = Offer { name: name.clone(), size: Bytes::new(size), hash, flow };
        let (peer, carried) = (reached.peer, reached.carried.clone());
        let seen = Seen::before(Phase::Waiting, past.done, size);
        let session = begin(reached, &offer, config.patience, clock, (seen, &mut *watch));
        let (socket, accepted, have) = session.map_err(|error| past.explained(error, size))?;
        file.seek(SeekFrom::Start(past.admit(have, size)?)).map_err(about(path))?;

        let now = *began.get_or_insert_with(Clock::start);
        let channel = SecuredChannel::began(socket, accepted.into(), now.now())?;
        let Prepared { endpoint, header, rng } = prepared;
        let mut driver = Driver::over(channel, now, FlowId(0), endpoint, SendBuffer::new(header), rng)?;
        driver.wake_early(crate::margin::measured());
        widening.begin(now.now(), past.done, carried.longest());
        let path = Path { peer, carried, packet: sizes.packet };
        let mut sending = Sending::new(config, &mut file, size, now, path, (&past, &mut widening));
        let outcome = sending.run(&mut driver, &mut *watch);
        let read = sending.read();
        let done = read - driver.kept() as u64;
        let outcome = outcome.map_err(|error| explained(error, &before, &file, &config.file));
        if let Some(word) = last_word(&outcome, |error| error.told(&name, Bytes::new(done), Bytes::new(size)))
        {
            // Nobody hears whether it has come: without it the receiver goes on for a while.
            for _ in 0..LAST_WORDS {
                driver.channel_mut().say(now.now(), &word);
            }
        }
        let (edge, moves) = (past.edge_with(driver.counters()), past.moves + driver.channel().moves());
        let Ended::Anew(found) = outcome? else {
            return Ok(Sent {
                name,
                size: Bytes::new(size),
                hash,
                resumed: Bytes::new(past.resumed.unwrap_or_default()),
                peer: driver.channel().peer(),
                span: now.now().since(Time::ZERO),
                packet: sizes.packet,
                edge,
                moves,
                has_changed: before.differs(&file, &config.file),
            });
        };
        past.observation = past.with(driver.endpoint().observe());
        past = Past { done: found.done, read: past.read.max(read), edge, moves, ..past };
        let (socket, _) = driver.into_channel().into_parts();
        let Found { initiator, cookie, carried, .. } = *found;
        reached =
            Reached { socket, peer, initiator, cookie, carried, deadline: clock.now() + config.patience };
    }
}

/// By what the system knows a file, and when it was written to last.
#[derive(PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(seen: &Metadata) -> Self {
        Self { file: (seen.dev(), seen.ino()), size: seen.len(), modified: (seen.mtime(), seen.mtime_nsec()) }
    }

    /// Whether the open file has been written to since, or another one has taken its name. To be removed changes nothing of it.
    fn differs(&self, file: &File, path: &std::path::Path) -> bool {
        let is_other = |seen: io::Result<Metadata>| seen.is_ok_and(|seen| Self::of(&seen) != *self);
        is_other(file.metadata()) || is_other(fs::metadata(path))
    }
}

/// The file, what the system says of it, and its size and hash.
fn open(path: &std::path::Path, watch: Watch<'_>) -> Result<(File, Stamp, (u64, Hash)), TransferError> {
    // A pipe may wait for ever to be opened, and a device may never end.
    let kind = fs::metadata(path).map_err(about(path))?.file_type();
    if kind.is_dir() {
        return Err(about(path)(io::Error::other("a folder; expected a file, such as an archive of it")));
    }
    if !kind.is_file() {
        return Err(about(path)(io::Error::other("a pipe, a socket or a device; expected a file")));
    }
    let mut file = File::open(path).map_err(about(path))?;
    let before = Stamp::of(&file.metadata().map_err(about(path))?);
    let expected = before.size;
    let mut go_on = |done| watch(&Seen::before(Phase::Hashing, done, expected));
    match hash_of(&mut file, &mut go_on) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(TransferError::Stopped),
        Err(error) => Err(about(path)(error)),
        // What has been read of it may be a mixture of both, and there is nothing to offer.
        Ok(_) if before.differs(&file, path) => Err(TransferError::Changed(path.to_owned())),
        Ok(hashed) => Ok((file, before, hashed)),
    }
}

/// What a receiver finds wrong may be so because the file has changed since it was offered.
fn explained(error: TransferError, before: &Stamp, file: &File, path: &std::path::Path) -> TransferError {
    match error {
        TransferError::Peer { who, text } if before.differs(file, path) => {
            let text = format!("{text}; {} has changed since it was offered: {SEND_AGAIN}", path.display());
            TransferError::Peer { who, text }
        }
        other => other,
    }
}

/// What the receiver hears of the end of a session; `told` says an error as it is told there.
fn last_word(
    outcome: &Result<Ended, TransferError>,
    told: impl FnOnce(&TransferError) -> String,
) -> Option<Message> {
    match outcome {
        // Who is to go on hears of no end, and who has said nothing at all hears nothing.
        Err(TransferError::Silent { what: "said", .. }) | Ok(Ended::Anew(..)) => None,
        Err(TransferError::Peer { .. }) | Ok(Ended::Whole) => Some(Message::Farewell),
        Err(error) => Some(Message::Verdict(Err(told(error)))),
    }
}

/// Offers the file to a receiver that has answered: a session, and how much of it the receiver has.
fn begin(
    reached: Reached,
    offer: &Offer,
    patience: Span,
    clock: Clock,
    watching: (Seen, Watch<'_>),
) -> Result<(MarkedSocket, Accepted, u64), TransferError> {
    let Reached { socket, peer, mut initiator, cookie, deadline, .. } = reached;
    let mut reach = Reach::over(socket, (peer, deadline), clock, patience, watching);
    let (accepted, answer) = reach.offer(&mut initiator, cookie, &offer.write())?;
    let said = read_answer(&answer).unwrap_or_else(|| Err("it speaks another version".to_owned()));
    Ok((reach.into_socket()?, accepted, said.map_err(TransferError::Refused)?))
}
