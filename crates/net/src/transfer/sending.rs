//! A session of a sender: the file's bytes, the receiver's verdict, and whether the receiver and the way to it are still of
//! use. Sessions begin in `send.rs`.

use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, UdpSocket};

use rustix::io::Errno;
use tailback_core::{Bytes, Endpoint, Event, Span, Time};

use super::config::SendConfig;
use super::error::TransferError;
use super::lengths::Carried;
use super::narrowing::{Flow, Narrowing, Passage, Turn};
use super::news::{Lack, News, Standing};
use super::past::Past;
use super::reach::{TOO_NARROW, connected, hint_of};
use super::widening::Widening;
use super::{Phase, SIGN_OF_LIFE, Seen, TURN, Watch, about};
use crate::buffer::SendBuffer;
use crate::channel::{Message, SecuredChannel};
use crate::clock::Clock;
use crate::secure::envelope::COOKIE;
use crate::secure::handshake::Initiator;
use crate::udp::Driver;

/// Of the file, at least so much is read ahead of what was acknowledged.
const AHEAD: usize = 4 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;
/// After so long a silence, and as often, another socket is tried: the host may have another address now.
const REBIND: Span = Span::from_secs(2);
/// What the network said before is not so any more: with signs of life twice a second, it says again what still is.
const NEWS: Span = Span::from_secs(3);

/// Where a session leads.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) peer: SocketAddr,
    /// The datagrams that come through; the longest is in use.
    pub(super) carried: Carried,
    /// The longest IP packet.
    pub(super) packet: Bytes,
}

/// How a session ended, if not with an error.
pub(super) enum Ended {
    /// The receiver has the file.
    Whole,
    /// It is to go on in another session, with packets of another length.
    Anew(Box<Found>),
}

/// What comes through a way that has become narrower or wider.
pub(super) struct Found {
    /// Who asked, and the receiver's cookie for him.
    pub(super) initiator: Initiator,
    pub(super) cookie: [u8; COOKIE],
    /// The datagrams that come through now.
    pub(super) carried: Carried,
    /// How much of the file was acknowledged.
    pub(super) done: u64,
}

/// A file on its way.
pub(super) struct Sending<'a> {
    config: &'a SendConfig,
    path: Path,
    past: &'a Past,
    clock: Clock,
    file: &'a mut File,
    size: u64,
    /// How far the file was read, and whether there is more.
    read: u64,
    open: bool,
    hint: Option<&'static str>,
    rebound: Time,
    news: News,
    narrowing: Narrowing,
    widening: &'a mut Widening,
    /// The newest cookie of those that answered.
    cookie: Option<[u8; COOKIE]>,
}

impl<'a> Sending<'a> {
    /// A session that begins now, with the rest of the file from where it stands.
    pub(super) fn new(
        config: &'a SendConfig,
        file: &'a mut File,
        size: u64,
        clock: Clock,
        path: Path,
        (past, widening): (&'a Past, &'a mut Widening),
    ) -> Self {
        let (now, done) = (clock.now(), past.done);
        Self {
            config,
            news: News::new(config.patience, size, done, now),
            narrowing: Narrowing::new(path.carried.passing().to_vec(), config.patience, now, done),
            widening,
            path,
            past,
            clock,
            file,
            size,
            read: done,
            open: true,
            hint: None,
            rebound: now,
            cookie: None,
        }
    }

    /// How far the file was read.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    pub(super) fn run<E: Endpoint>(
        &mut self,
        driver: &mut Driver<E, SendBuffer, SecuredChannel>,
        watch: Watch<'_>,
    ) -> Result<Ended, TransferError> {
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
                    Message::Verdict(Ok(())) => return Ok(Ended::Whole),
                    Message::Verdict(Err(text)) => return Err(TransferError::Peer { who: "receiver", text }),
                    _ => {}
                }
            }
            let done = self.read - driver.kept() as u64;
            if let Some(found) = self.look_at_way(driver, done)? {
                return Ok(Ended::Anew(found));
            }
            self.keep_in_touch(driver, done)?;
            let observation = self.past.with(driver.endpoint().observe());
            let (packet, done, total) = (Some(self.path.packet), Bytes::new(done), Bytes::new(self.size));
            if !watch(&Seen { now: self.clock.now(), packet, done, total, observation, phase }) {
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

    /// Finds out whether the way has become narrower or wider; what comes through, once that is known.
    fn look_at_way<E: Endpoint>(
        &mut self,
        driver: &mut Driver<E, SendBuffer, SecuredChannel>,
        done: u64,
    ) -> Result<Option<Box<Found>>, TransferError> {
        let (now, seen) = (self.clock.now(), driver.endpoint().observe());
        let channel = driver.channel_mut();
        while let Some((cookie, length)) = channel.take_answer() {
            self.cookie = Some(cookie);
            self.narrowing.answered(now, length);
            self.widening.answered(now, length);
        }
        let is_told = channel.take_told() && !self.widening.is_asking();
        if done == self.size {
            self.narrowing.forget();
            self.widening.forget();
            return Ok(None);
        }
        let flow = Flow {
            now,
            done,
            sent_packets: seen.sent_packets,
            sent_bytes: seen.sent_bytes.get(),
            rtt: seen.smoothed_rtt,
            is_told,
        };
        match self.next_turn(&flow) {
            Turn::Nothing => {}
            Turn::Begin => {
                // Another attempt each time: what was answered before says nothing of the way as it is now.
                channel.begin_asking(Initiator::new(self.config.keys.clone())?);
                self.cookie = None;
            }
            Turn::Ask(length) => {
                if !channel.ask(length) {
                    self.narrowing.refused(length);
                    self.widening.refused(length);
                }
            }
            Turn::Change(longest) => {
                if let (Some(initiator), Some(cookie)) = (channel.end_asking(), self.cookie) {
                    let carried = self.path.carried.with(longest);
                    return Ok(Some(Box::new(Found { initiator, cookie, carried, done })));
                }
            }
        }
        Ok(None)
    }

    /// One question at a time: whether what is in use comes through is the more urgent one.
    fn next_turn(&mut self, flow: &Flow) -> Turn {
        match self.narrowing.turn(flow) {
            Turn::Nothing if !self.narrowing.is_searching() => {
                self.widening.turn(flow, self.size, &self.path.carried)
            }
            Turn::Begin => {
                self.widening.forget();
                Turn::Begin
            }
            turn => turn,
        }
    }

    /// Shows that this end is there, looks whether the other one is, and tries another socket where it is not.
    fn keep_in_touch<E: Endpoint>(
        &mut self,
        driver: &mut Driver<E, SendBuffer, SecuredChannel>,
        done: u64,
    ) -> Result<(), TransferError> {
        let now = self.clock.now();
        let hint = driver
            .trouble()
            .filter(|(_, said)| now.since(*said) < NEWS)
            .and_then(|(errno, _)| hint_of(errno));
        let unanswered = driver.unanswered();
        let channel = driver.channel_mut();
        let heard = channel.heard();
        let silence = now.since(heard);
        if now.since(channel.said()) >= SIGN_OF_LIFE {
            channel.say(now, &Message::Ping(0));
        }
        let lack = self.news.lack(&Standing { now, heard, unanswered, done });
        // Where something comes through, it is soon gone on with.
        let is_over = |lack: &(Lack, Span)| lack.0 == Lack::Word || !self.narrowing.is_promising();
        if let Some((lack, longest)) = lack.filter(is_over) {
            let is_silent = lack == Lack::Word || silence >= REBIND;
            let passage = if is_silent { Passage::Unknown } else { self.narrowing.passage() };
            return Err(self.given_up(lack, longest, why(passage).or(hint).or(self.hint), done));
        }
        if silence >= REBIND && now.since(self.rebound) >= REBIND {
            self.rebound = now;
            let rebound = connected(self.path.peer).and_then(|socket: UdpSocket| channel.rebind(socket));
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

/// Why a receiver of which something is heard acknowledges nothing, as far as that can be known.
fn why(passage: Passage) -> Option<&'static str> {
    match passage {
        Passage::Unknown => None,
        Passage::Long => Some("long packets reach it, and no acknowledgement comes back"),
        Passage::Short => Some(TOO_NARROW),
        // Which of the two it is, nobody here can know: the answers to the shortest questions are nearly as long as these.
        Passage::Nothing => Some(
            "only its short signs of life come; longer packets are lost on the way there or on the way back",
        ),
    }
}
