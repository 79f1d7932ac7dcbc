//! A session of a receiver: writes what arrives, says how it ended, and looks who else comes meanwhile. Sessions begin in
//! `receive.rs`.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tailback_core::{Bytes, Endpoint, FlowId, Span, Time};

use super::error::TransferError;
use super::hash::Hash;
use super::offer::{Offer, write_answer};
use super::partial::Partial;
use super::place::{in_the_way, others};
use super::settling::{Settled, Settling, has_failed};
use super::{IDLE, Phase, Prepared, RECEIVE_WINDOW, SIGN_OF_LIFE, Seen, TURN, Watch, about, plain};
use crate::buffer::ReceiveBuffer;
use crate::channel::{Message, SecuredChannel};
use crate::clock::Clock;
use crate::secure::handshake::{Knock, Responder};
use crate::secure::keys::KEY;
use crate::socket::{MarkedSocket, Way};
use crate::udp::{Driver, EdgeCounters};

/// How long why it failed is repeated until the sender has heard it, and how often. That all is well is repeated as long as the
/// sender waits for it: who does not hear it does not know that the file is there.
const LINGER: Span = Span::from_secs(2);
const SAY_AGAIN: Span = Span::from_millis(100);
/// A sender that was heard so long after another one came is still there, and one that was not heard for so long is not. Signs of
/// life come twice a second.
const THERE: Span = Span::from_secs(1);
const GONE: Span = Span::from_secs(2);
/// So many who wait to hear whether the sender is still there are known at once.
const MOST_RIVALS: usize = 8;
/// What is said where the system says that a file is there.
const TAKEN: &str = "another file has taken this name meanwhile; what has arrived is kept: `recv --overwrite` and the same \
                     commands put it there";
/// How often it is looked whether a file is settled.
const SOON: Span = Span::from_millis(1);

/// A file that has arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub size: Bytes,
    /// Its SHA-256.
    pub hash: Hash,
    /// How many bytes were there from earlier attempts.
    pub resumed: Bytes,
    /// What there is of other files of its name, from transfers that broke off.
    pub others: Vec<PathBuf>,
    /// The sender's address at the end.
    pub peer: SocketAddr,
    /// Its long-term key; `None` in the clear.
    pub sender: Option<[u8; KEY]>,
    /// How long the session lasted.
    pub span: Span,
    /// What happened at the edge.
    pub edge: EdgeCounters,
    /// How often the sender's address changed.
    pub moves: u64,
}

/// An offer that was accepted.
pub(super) struct Session<R> {
    driver: Driver<R, ReceiveBuffer, SecuredChannel>,
    partial: Partial,
    offer: Offer,
    sender: Option<[u8; KEY]>,
    /// Of the initiation that began it: its number, and when its cookie was made.
    nonce: u64,
    made: Time,
    resumed: u64,
    began: Time,
    /// When the file last grew.
    grown: Time,
    /// Those with the sender's key who offer another file: the number of each, and when he first came. The newest first.
    rivals: VecDeque<(u64, Time)>,
}

/// How a session ended, if not with an error.
pub(super) enum Ended {
    Whole,
    /// The same sender begins anew.
    Again(Box<(Knock, Way)>),
    /// Another file has its name.
    InTheWay,
}

/// Who began it: his key, and of the initiation its number and when its cookie was made.
pub(super) type Begun = (Option<[u8; KEY]>, u64, Time);

impl<R: Endpoint> Session<R> {
    /// Begins over a channel to the sender.
    ///
    /// # Errors
    /// Of the channel.
    pub(super) fn begin(
        channel: SecuredChannel,
        clock: Clock,
        (offer, partial, prepared): (Offer, Partial, Prepared<R>),
        (sender, nonce, made): Begun,
    ) -> Result<Self, TransferError> {
        let Prepared { endpoint, header, rng } = prepared;
        let buffer = ReceiveBuffer::new(header, RECEIVE_WINDOW);
        let driver = Driver::over(channel, clock, FlowId(0), endpoint, buffer, rng)?;
        let (resumed, began) = (partial.have(), clock.now());
        Ok(Self {
            driver,
            partial,
            offer,
            sender,
            nonce,
            made,
            resumed,
            began,
            grown: began,
            rivals: VecDeque::new(),
        })
    }

    /// Goes on until it is over, for a sender that may say nothing for so long.
    pub(super) fn run(
        &mut self,
        patience: Span,
        clock: Clock,
        watch: &mut Watch<'_>,
    ) -> Result<Ended, TransferError> {
        let mut checking: Option<Settling> = None;
        loop {
            self.driver.turn(if checking.is_some() { SOON } else { TURN })?;
            let bytes = self.driver.read();
            if !bytes.is_empty() {
                self.partial.append(&bytes).map_err(|source| self.unwritten(source))?;
                self.grown = clock.now();
            }
            if self.partial.is_complete() && checking.is_none() {
                // The sender must go on hearing that this end is there.
                checking = Some(self.partial.settle_beside().map_err(about(self.partial.path()))?);
            }
            if let Some(checked) = checking.take_if(|checked| checked.is_finished()) {
                return self.judge(checked.join().map_err(about(self.partial.path()))?);
            }
            self.listen(patience, clock)?;
            self.look_for_growth(patience * IDLE, clock)?;
            if let Some(again) = self.visitors(clock.now()) {
                return Ok(Ended::Again(Box::new(again)));
            }
            let phase = if checking.is_some() { Phase::Checking } else { Phase::Moving };
            if !watch(&self.seen(clock, phase)) {
                return Err(TransferError::Stopped);
            }
        }
    }

    /// What has arrived stays, so that it is worth making room for the rest, unless the disk has failed: it may say so late, of
    /// bytes that it took before.
    fn unwritten(&self, source: io::Error) -> TransferError {
        let path = self.partial.path().to_owned();
        if has_failed(&source) {
            return TransferError::Unsynced { path, source, remains: None };
        }
        let (kept, total) = (Bytes::new(self.partial.have()), self.offer.size);
        TransferError::Unwritten { path, source, kept, total }
    }

    fn judge(&self, settled: Settled) -> Result<Ended, TransferError> {
        match (settled, self.partial.is_kept()) {
            (Settled::Right, _) => Ok(Ended::Whole),
            (Settled::Wrong, true) => Ok(Ended::InTheWay),
            (Settled::Wrong, false) => {
                Err(TransferError::Hash { name: self.offer.name.clone(), remains: None })
            }
            (Settled::Unsynced(source), true) => Err(about(self.partial.path())(source)),
            (Settled::Unsynced(source), false) => {
                let path = self.partial.path().to_owned();
                Err(TransferError::Unsynced { path, source, remains: None })
            }
        }
    }

    /// What is left for whoever comes next.
    pub(super) fn into_parts(self) -> Result<(MarkedSocket, Responder), TransferError> {
        if self.partial.have() == 0 {
            let _ = self.partial.discard(); // Of no use to him.
        }
        match self.driver.into_channel().into_parts() {
            (socket, Some(responder)) => Ok((socket, responder)),
            (_, None) => Err(TransferError::Stopped), // Who was called goes on answering.
        }
    }

    fn seen(&self, clock: Clock, phase: Phase) -> Seen {
        Seen {
            now: Time::ZERO + clock.now().since(self.began),
            packet: None,
            done: Bytes::new(self.partial.have()),
            total: self.offer.size,
            observation: self.driver.endpoint().observe(),
            phase,
        }
    }

    /// What the sender says beside data, and whether it is there at all.
    fn listen(&mut self, patience: Span, clock: Clock) -> Result<(), TransferError> {
        let now = clock.now();
        let channel = self.driver.channel_mut();
        while let Some(message) = channel.take_message() {
            if let Message::Verdict(Err(text)) = message {
                return Err(TransferError::Peer { who: "sender", text });
            }
        }
        if now.since(channel.said()) >= SIGN_OF_LIFE {
            channel.say(now, &Message::Ping(0));
        }
        if now.since(channel.heard()) >= patience {
            let (kept, total) = (Bytes::new(self.partial.have()), self.offer.size);
            return Err(TransferError::Silent {
                who: "sender",
                what: "said",
                patience,
                hint: None,
                kept,
                total,
            });
        }
        Ok(())
    }

    /// Who is let in and sends nothing keeps the others out.
    fn look_for_growth(&self, patience: Span, clock: Clock) -> Result<(), TransferError> {
        if self.partial.is_complete() || clock.now().since(self.grown) < patience {
            return Ok(());
        }
        let (kept, total) = (Bytes::new(self.partial.have()), self.offer.size);
        Err(TransferError::Idle { patience, kept, total })
    }

    /// Somebody else who wants to send is told to wait; the same sender begins anew.
    fn visitors(&mut self, now: Time) -> Option<(Knock, Way)> {
        let (sender, nonce, made) = (self.sender, self.nonce, self.made);
        let channel = self.driver.channel_mut();
        // Whoever knows of a session speaks in it at once; until then it may be the answer that got lost, and it knocks again.
        let heard = channel.heard();
        let is_unheard = heard <= self.began;
        let (knock, way, responder) = channel.take_knock()?;
        if knock.sender == sender {
            // What the network, or somebody in it, held back of earlier attempts or of this one begins no other session.
            let is_later = knock.made > made && is_unheard;
            let is_other = knock.made >= made && knock.nonce != nonce;
            if !(is_later || is_other) {
                return None;
            }
            let is_same = Offer::read(&knock.offer).is_some_and(|offer| offer.is_of_same_file(&self.offer));
            let known = self.rivals.iter().find(|(rival, _)| *rival == knock.nonce);
            let since = known.map_or(now, |(_, since)| *since);
            if known.is_none() {
                self.rivals.truncate(MOST_RIVALS - 1);
                self.rivals.push_front((knock.nonce, now));
            }
            // Of two senders with one key the first goes on, if it is still there; who knocks, knocks again until this is known.
            if is_same || is_unheard || now.since(heard) >= GONE {
                return Some((knock, way));
            }
            if heard.since(since) < THERE {
                return None;
            }
        }
        let refusal = write_answer(&Err("another transfer is under way".to_owned()));
        if let Ok((_, bytes)) = responder.answer(knock, &refusal) {
            channel.reply(way, &bytes);
        }
        None
    }

    /// The file gets its name, and the sender hears of it.
    pub(super) fn finish(
        self,
        patience: Span,
        clock: Clock,
        watch: &mut Watch<'_>,
    ) -> Result<Received, TransferError> {
        let seen = self.seen(clock, Phase::Checking);
        let Self { mut driver, partial, offer, sender, resumed, began, .. } = self;
        let span = clock.now().since(began);
        // What is in its way has that name.
        let path = partial.whole().to_owned();
        let kept = partial.keep().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => about(&path)(io::Error::new(error.kind(), TAKEN)),
            _ => about(&path)(error),
        });
        let told = |error: &TransferError| error.told(&offer.name, offer.size, offer.size);
        let verdict = kept.as_ref().map(|_| ()).map_err(told);
        let linger = if verdict.is_ok() { patience } else { LINGER };
        let mut go_on = || watch(&Seen { now: Time::ZERO + clock.now().since(began), ..seen });
        say_until_heard(&mut driver, clock, (linger, &mut go_on), &Message::Verdict(verdict));
        let path = kept?;
        Ok(Received {
            others: others(path.parent().unwrap_or(&path), &offer, sender),
            path,
            size: offer.size,
            hash: offer.hash,
            resumed: Bytes::new(resumed),
            peer: plain(driver.channel().peer()),
            sender,
            span,
            edge: driver.counters(),
            moves: driver.channel().moves(),
        })
    }

    /// That another file has the name of the sender's, in words for both.
    pub(super) fn in_the_way(&self) -> String {
        in_the_way(&self.offer)
    }

    /// The sender hears why its file is refused.
    pub(super) fn refuse(&mut self, clock: Clock, why: String) {
        let verdict = Message::Verdict(Err(why));
        say_until_heard(&mut self.driver, clock, (LINGER, &mut || true), &verdict);
    }

    /// The sender hears why it failed; what is of no use is thrown away.
    pub(super) fn fail(mut self, clock: Clock, mut error: TransferError) -> TransferError {
        let have = self.partial.have();
        if let Some(remains) = error.is_of_no_use() {
            *remains = self.partial.discard().err();
        } else if have == 0 {
            // The error that led here is the one to tell.
            let _ = self.partial.discard();
        }
        if !matches!(error, TransferError::Peer { .. } | TransferError::Silent { .. }) {
            let why = error.told(&self.offer.name, Bytes::new(have), self.offer.size);
            let verdict = Message::Verdict(Err(why));
            say_until_heard(&mut self.driver, clock, (LINGER, &mut || true), &verdict);
        }
        error
    }
}

/// Says something until the sender has heard it, or for a while.
fn say_until_heard<R: Endpoint>(
    driver: &mut Driver<R, ReceiveBuffer, SecuredChannel>,
    clock: Clock,
    (linger, go_on): (Span, &mut dyn FnMut() -> bool),
    message: &Message,
) {
    let until = clock.now() + linger;
    let mut next = clock.now();
    while clock.now() < until && go_on() {
        if clock.now() >= next {
            driver.channel_mut().say(clock.now(), message);
            next = clock.now() + SAY_AGAIN;
        }
        // Nothing that goes wrong now changes what happened.
        if driver.turn(TURN).is_err() {
            return;
        }
        driver.read();
        while let Some(heard) = driver.channel_mut().take_message() {
            if matches!(heard, Message::Farewell | Message::Verdict(_)) {
                return;
            }
        }
    }
}
