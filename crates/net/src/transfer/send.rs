//! The sending end of a transfer: the file's hash, the handshake, the bytes, and the receiver's verdict.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;

use rustix::io::Errno;
use tailback_core::{Bytes, Endpoint, Event, FlowId, Span, Time};

use super::error::TransferError;
use super::hash::{Hash, hash_of};
use super::news::{Lack, News, Standing};
use super::offer::{Offer, read_answer};
use super::reach::{Reach, connected, hint_of};
use super::{Phase, Prepared, SIGN_OF_LIFE, Seen, Sizes, TURN, Watch, about, bare_name};
use crate::buffer::SendBuffer;
use crate::channel::{Message, SecuredChannel};
use crate::clock::Clock;
use crate::secure::handshake::Initiator;
use crate::secure::{Invitation, KeyPair};
use crate::udp::{Driver, EdgeCounters};

/// Of the file, at least so much is read ahead of what was acknowledged.
const AHEAD: usize = 4 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;
/// After so long a silence, and as often, another socket is tried: the host may have another address now.
const REBIND: Span = Span::from_secs(2);

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
}

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
    /// What happened at the edge.
    pub edge: EdgeCounters,
    /// How often this end's socket was replaced.
    pub moves: u64,
}

/// Sends a file. `prepare` makes the sending endpoint, and says what the receiver must know of it.
///
/// # Errors
/// Whatever keeps the file from arriving.
pub fn send<E: Endpoint>(
    config: &SendConfig,
    prepare: impl FnOnce(Sizes) -> Result<(Prepared<E>, String), String>,
    watch: Watch<'_>,
) -> Result<Sent, TransferError> {
    let path = &config.file;
    let name = bare_name(path).ok_or_else(|| TransferError::Name(path.clone()))?;
    // A pipe may wait for ever to be opened, and a device may never end.
    let kind = fs::metadata(path).map_err(about(path))?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(about(path)(io::Error::other("a pipe, a socket or a device; expected a file")));
    }
    let mut file = File::open(path).map_err(about(path))?;
    let expected = file.metadata().map_err(about(path))?.len();
    let mut go_on = |done| watch(&Seen::before(Phase::Hashing, done, expected));
    let (size, hash) = match hash_of(&mut file, &mut go_on) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(TransferError::Stopped),
        outcome => outcome.map_err(about(path))?,
    };

    let mut initiator = Initiator::new(config.keys.clone())?;
    let mut reach = Reach::new(&config.peers, config.packet, Clock::start(), config.patience, watch);
    let (cookie, datagram) = reach.greet(&initiator)?;
    let peer = reach.peer();
    let sizes = Sizes::new(datagram, peer.is_ipv6(), config.keys.is_some());
    let (prepared, flow) = prepare(sizes).map_err(TransferError::Endpoint)?;
    let offer = Offer { name: name.clone(), size: Bytes::new(size), hash, flow };
    let (accepted, answer) = reach.offer(&mut initiator, cookie, &offer.write())?;
    let said = read_answer(&answer).unwrap_or_else(|| Err("it speaks another version".to_owned()));
    let resumed = said.map_err(TransferError::Refused)?;
    if resumed > size {
        return Err(TransferError::Refused("it has more bytes than there are".to_owned()));
    }
    file.seek(SeekFrom::Start(resumed)).map_err(about(path))?;

    let (socket, watch) = reach.into_parts()?;
    let clock = Clock::start();
    let channel = SecuredChannel::began(socket, accepted.into(), clock.now())?;
    let Prepared { endpoint, header, rng } = prepared;
    let buffer = SendBuffer::new(header);
    let mut driver = Driver::over(channel, clock, FlowId(0), endpoint, buffer, rng)?;
    driver.wake_early(crate::margin::measured());
    let mut sending = Sending {
        config,
        peer,
        clock,
        file,
        size,
        read: resumed,
        open: true,
        hint: None,
        rebound: Time::ZERO,
        news: News::new(config.patience, size, resumed),
    };
    let outcome = sending.run(&mut driver, watch);
    let channel = driver.channel_mut();
    match &outcome {
        Err(TransferError::Peer { .. } | TransferError::Silent { .. }) => {}
        Err(error) => channel.say(clock.now(), &Message::Verdict(Err(error.to_string()))),
        Ok(()) => channel.say(clock.now(), &Message::Farewell),
    }
    outcome?;
    Ok(Sent {
        name,
        size: Bytes::new(size),
        hash,
        resumed: Bytes::new(resumed),
        peer: driver.channel().peer(),
        span: clock.now().since(Time::ZERO),
        edge: driver.counters(),
        moves: driver.channel().moves(),
    })
}

/// A file on its way.
struct Sending<'a> {
    config: &'a SendConfig,
    peer: SocketAddr,
    clock: Clock,
    file: File,
    size: u64,
    /// How far the file was read, and whether there is more.
    read: u64,
    open: bool,
    hint: Option<&'static str>,
    rebound: Time,
    news: News,
}

impl Sending<'_> {
    fn run<E: Endpoint>(
        &mut self,
        driver: &mut Driver<E, SendBuffer, SecuredChannel>,
        watch: Watch<'_>,
    ) -> Result<(), TransferError> {
        let mut phase = Phase::Moving;
        loop {
            self.fill(driver)?;
            if driver.turn(TURN)?.contains(&Event::Finished) {
                phase = Phase::Checking;
            }
            while let Some(message) = driver.channel_mut().take_message() {
                match message {
                    Message::Verdict(Ok(())) if self.open || !driver.is_sent() => {
                        return Err(TransferError::Early);
                    }
                    Message::Verdict(Ok(())) => return Ok(()),
                    Message::Verdict(Err(text)) => return Err(TransferError::Peer { who: "receiver", text }),
                    _ => {}
                }
            }
            let done = self.read - driver.kept() as u64;
            self.keep_in_touch(driver, done)?;
            let observation = driver.endpoint().observe();
            let (done, total) = (Bytes::new(done), Bytes::new(self.size));
            if !watch(&Seen { now: self.clock.now(), done, total, observation, phase }) {
                return Err(TransferError::Stopped);
            }
        }
    }

    /// Reads on, so that the endpoint always has something to send.
    fn fill<E: Endpoint>(
        &mut self,
        driver: &mut Driver<E, SendBuffer, SecuredChannel>,
    ) -> Result<(), TransferError> {
        let path = &self.config.file;
        while self.open {
            let in_flight = driver.endpoint().observe().in_flight.get() as usize;
            if driver.kept() >= AHEAD.max(2 * in_flight) {
                return Ok(());
            }
            let mut chunk = vec![0; CHUNK];
            let length = match self.file.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => outcome.map_err(about(path))?,
            };
            self.read += length as u64;
            let is_at_end = length == 0;
            if self.read > self.size || (is_at_end && self.read < self.size) {
                return Err(TransferError::Changed(path.clone()));
            }
            if is_at_end {
                self.open = false;
                driver.close()?;
            } else {
                driver.write(&chunk[..length])?;
            }
        }
        Ok(())
    }

    /// Shows that this end is there, looks whether the other one is, and tries another socket where it is not.
    fn keep_in_touch<E: Endpoint>(
        &mut self,
        driver: &mut Driver<E, SendBuffer, SecuredChannel>,
        done: u64,
    ) -> Result<(), TransferError> {
        let now = self.clock.now();
        let hint = driver.trouble().and_then(hint_of);
        let unanswered = driver.unanswered();
        let channel = driver.channel_mut();
        let heard = channel.heard();
        let silence = now.since(heard);
        if now.since(channel.said()) >= SIGN_OF_LIFE {
            channel.say(now, &Message::Ping(0));
        }
        if let Some((lack, longest)) = self.news.lack(&Standing { now, heard, unanswered, done }) {
            return Err(self.given_up(lack, longest, hint.or(self.hint), done));
        }
        if silence >= REBIND && now.since(self.rebound) >= REBIND {
            self.rebound = now;
            let rebound = connected(self.peer).and_then(|socket: UdpSocket| channel.rebind(socket));
            // What kept it from that before is over.
            self.hint = rebound.err().and_then(|error| hint_of(Errno::from_io_error(&error)?));
        }
        Ok(())
    }

    fn given_up(&self, lack: Lack, patience: Span, hint: Option<&'static str>, done: u64) -> TransferError {
        let (who, kept, total) = ("receiver", Bytes::new(done), Bytes::new(self.size));
        match lack {
            Lack::Word => TransferError::Silent { who, what: "said", patience, hint, kept, total },
            Lack::Answer => TransferError::Silent { who, what: "acknowledged", patience, hint, kept, total },
            Lack::Progress => {
                TransferError::Stuck { what: "acknowledged nothing new", patience, kept, total }
            }
            Lack::Verdict => TransferError::Stuck { what: "not said how it ended", patience, kept, total },
        }
    }
}
