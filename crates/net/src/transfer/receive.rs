//! The receiving end of a transfer: waits for an offer, writes what arrives, checks the hash, gives the file its name and
//! tells the sender. A sender that comes again, after it was stopped, is taken up where it was.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use tailback_core::{Bytes, Endpoint, FlowId, Span, Time};

use super::error::{TransferError, differs};
use super::hash::Hash;
use super::listen::{bound, listen};
use super::offer::{Offer, write_answer};
use super::partial::{Partial, Settling, in_the_way};
use super::{IDLE, Phase, Prepared, RECEIVE_WINDOW, SIGN_OF_LIFE, Seen, TURN, Watch, about, plain};
use crate::buffer::ReceiveBuffer;
use crate::channel::{Message, SecuredChannel};
use crate::clock::Clock;
use crate::secure::KeyPair;
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
/// How often it is looked whether a file is settled.
const SOON: Span = Span::from_millis(1);

/// Where to receive, from whom and into what.
#[derive(Clone, Debug)]
pub struct ReceiveConfig {
    /// Where the file goes.
    pub folder: PathBuf,
    /// The address to hear on; all of the host's without.
    pub address: Option<IpAddr>,
    /// The interface of an address of a link alone, by its number; 0 for other addresses.
    pub link: u32,
    /// The port; one that is free where 0.
    pub port: u16,
    /// This host's keys; in the clear without.
    pub keys: Option<KeyPair>,
    /// The one sender that may come; anybody with the invitation without.
    pub only: Option<[u8; KEY]>,
    /// How long the sender may say nothing.
    pub patience: Span,
    /// Whether a file of the same name is replaced.
    pub overwrite: bool,
}

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

/// What becomes of a receiver that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word<'a> {
    /// It hears on this address.
    Listening(SocketAddr),
    /// A sender offers a file, and begins.
    Accepted,
    /// A sender offers a file that is not wanted.
    Refused {
        /// Its name, where the offer has one.
        name: &'a str,
        /// Why it is not wanted.
        why: &'a str,
    },
    /// A sender speaks another version. Of each version it is told once.
    Differs {
        /// Where it is.
        peer: SocketAddr,
        /// Both versions, and what to do.
        why: &'a str,
    },
}

/// An offer that was accepted.
struct Session<R> {
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
    /// Somebody with the sender's key who offers another file: his number, and when he first came.
    rival: Option<(u64, Time)>,
}

/// How a session ended, if not with an error.
enum Ended {
    Whole,
    /// The same sender begins anew.
    Again(Box<(Knock, Way)>),
    /// Another file has its name.
    InTheWay,
}

/// Receives one file. `tell` hears the address, once there is one, and what becomes of offers. `prepare` makes the receiving endpoint from what the
/// sender says of the flow, for each session that begins.
///
/// # Errors
/// Whatever keeps the file from arriving, once a sender has come.
pub fn receive<R: Endpoint>(
    config: &ReceiveConfig,
    mut tell: impl FnMut(Word<'_>),
    mut prepare: impl FnMut(&Offer) -> Result<Prepared<R>, String>,
    mut watch: Watch<'_>,
) -> Result<Received, TransferError> {
    let clock = Clock::start();
    let mut socket = MarkedSocket::hearing_all(bound(config.address, config.link, config.port)?)?;
    let mut responder = Responder::new(config.keys.clone(), clock.now())?;
    tell(Word::Listening(socket.local()?));
    crate::margin::measured();
    let (mut next, mut others) = (None, Vec::new());
    loop {
        let (knock, way) = match next.take() {
            Some(knocked) => knocked,
            None => listen(&socket, &mut responder, clock, &mut watch, |peer, version| {
                if !others.contains(&version) {
                    others.push(version);
                    tell(Word::Differs { peer, why: &format!("it {}", differs(version)) });
                }
            })?,
        };
        let (sender, nonce, made) = (knock.sender, knock.nonce, knock.made);
        let offer = Offer::read(&knock.offer);
        let name = offer.as_ref().map(|offer| offer.name.clone()).unwrap_or_default();
        let opened = open(config, sender, offer, &mut prepare);
        match &opened {
            // Whether anything of it comes is not known yet.
            Ok((_, partial, _)) if partial.is_kept() => {}
            Ok(_) => tell(Word::Accepted),
            Err(why) => tell(Word::Refused { name: &name, why }),
        }
        let answer =
            write_answer(&opened.as_ref().map(|(_, partial, _)| partial.have()).map_err(Clone::clone));
        let (accepted, bytes) = responder.answer(knock, &answer)?;
        socket.reply(way, &bytes);
        let Ok((offer, partial, prepared)) = opened else { continue };
        let channel = SecuredChannel::called(socket, way, accepted.into(), responder, clock.now());
        let Prepared { endpoint, header, rng } = prepared;
        let buffer = ReceiveBuffer::new(header, RECEIVE_WINDOW);
        let driver = Driver::over(channel, clock, FlowId(0), endpoint, buffer, rng)?;
        let resumed = partial.have();
        let began = clock.now();
        let (grown, rival) = (began, None);
        let mut session =
            Session { driver, partial, offer, sender, nonce, made, resumed, began, grown, rival };
        match session.run(config, clock, &mut watch) {
            Ok(Ended::Whole) => return session.finish(config.patience, clock, &mut watch),
            Ok(Ended::Again(knocked)) => {
                next = Some(*knocked);
                (socket, responder) = session.into_parts()?;
            }
            Ok(Ended::InTheWay) => {
                let why = in_the_way(&session.offer);
                tell(Word::Refused { name: &name, why: &why });
                say_until_heard(
                    &mut session.driver,
                    clock,
                    (LINGER, &mut || true),
                    &Message::Verdict(Err(why)),
                );
                (socket, responder) = session.into_parts()?;
            }
            Err(error) => return Err(session.fail(clock, error)),
        }
    }
}

/// What becomes of an offer: all that a session needs, or why there is none, in words for the sender.
fn open<R>(
    config: &ReceiveConfig,
    sender: Option<[u8; KEY]>,
    offer: Option<Offer>,
    prepare: &mut impl FnMut(&Offer) -> Result<Prepared<R>, String>,
) -> Result<(Offer, Partial, Prepared<R>), String> {
    if config.only.is_some() && sender != config.only {
        return Err("this sender's key is not the one that may send".to_owned());
    }
    let offer = offer.ok_or("the offer makes no sense")?;
    let prepared = prepare(&offer)?;
    let partial = Partial::open(&config.folder, &offer, config.overwrite)?;
    Ok((offer, partial, prepared))
}

impl<R: Endpoint> Session<R> {
    fn run(
        &mut self,
        config: &ReceiveConfig,
        clock: Clock,
        watch: &mut Watch<'_>,
    ) -> Result<Ended, TransferError> {
        let mut checking: Option<Settling> = None;
        loop {
            self.driver.turn(if checking.is_some() { SOON } else { TURN })?;
            let bytes = self.driver.read();
            if !bytes.is_empty() {
                self.partial.append(&bytes).map_err(about(self.partial.path()))?;
                self.grown = clock.now();
            }
            if self.partial.is_complete() && checking.is_none() {
                // The sender must go on hearing that this end is there.
                checking = Some(self.partial.settle_beside().map_err(about(self.partial.path()))?);
            }
            if let Some(checked) = checking.take_if(|checked| checked.is_finished()) {
                return self.judge(checked.join().map_err(about(self.partial.path()))?);
            }
            self.listen(config, clock)?;
            self.look_for_growth(config.patience * IDLE, clock)?;
            if let Some(again) = self.visitors(clock.now()) {
                return Ok(Ended::Again(Box::new(again)));
            }
            let phase = if checking.is_some() { Phase::Checking } else { Phase::Moving };
            if !watch(&self.seen(clock, phase)) {
                return Err(TransferError::Stopped);
            }
        }
    }

    fn judge(&self, is_right: bool) -> Result<Ended, TransferError> {
        match (is_right, self.partial.is_kept()) {
            (true, _) => Ok(Ended::Whole),
            (false, true) => Ok(Ended::InTheWay),
            (false, false) => Err(TransferError::Hash { name: self.offer.name.clone() }),
        }
    }

    /// What is left for whoever comes next.
    fn into_parts(self) -> Result<(MarkedSocket, Responder), TransferError> {
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
    fn listen(&mut self, config: &ReceiveConfig, clock: Clock) -> Result<(), TransferError> {
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
        if now.since(channel.heard()) >= config.patience {
            let (kept, total) = (Bytes::new(self.partial.have()), self.offer.size);
            return Err(TransferError::Silent {
                who: "sender",
                what: "said",
                patience: config.patience,
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
            let since = self.rival.filter(|(rival, _)| *rival == knock.nonce).map_or(now, |(_, since)| since);
            self.rival = Some((knock.nonce, since));
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
    fn finish(self, patience: Span, clock: Clock, watch: &mut Watch<'_>) -> Result<Received, TransferError> {
        let seen = self.seen(clock, Phase::Checking);
        let Self { mut driver, partial, offer, sender, resumed, began, .. } = self;
        let span = clock.now().since(began);
        // What is in its way has that name.
        let path = partial.whole().to_owned();
        let kept = partial.keep().map_err(about(&path));
        let verdict = kept.as_ref().map(|_| ()).map_err(ToString::to_string);
        let linger = if verdict.is_ok() { patience } else { LINGER };
        let mut go_on = || watch(&Seen { now: Time::ZERO + clock.now().since(began), ..seen });
        say_until_heard(&mut driver, clock, (linger, &mut go_on), &Message::Verdict(verdict));
        Ok(Received {
            path: kept?,
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

    /// The sender hears why it failed; what is of no use is thrown away.
    fn fail(mut self, clock: Clock, error: TransferError) -> TransferError {
        if !matches!(error, TransferError::Peer { .. } | TransferError::Silent { .. }) {
            let verdict = Message::Verdict(Err(error.to_string()));
            say_until_heard(&mut self.driver, clock, (LINGER, &mut || true), &verdict);
        }
        if matches!(error, TransferError::Hash { .. }) || self.partial.have() == 0 {
            // The error that led here is the one to tell.
            let _ = self.partial.discard();
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
