//! The handshake of two hosts: hello, cookie, initiation, response. Messages come in and go out as bytes; when they are sent
//! again, and what is offered and answered inside them, is the caller's business.
//!
//! A receiver keeps nothing of hellos, computes nothing dear before a sender has shown its cookie and the code of the
//! invitation, and never answers with more than three times the bytes that it got.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ring::hmac;
use snow::HandshakeState;
use tailback_core::{Span, Time};

use super::cipher::{Opener, Sealer};
use super::cookie::Cookies;
use super::envelope::{self, CODE, COOKIE, Envelope, INITIATION_HEAD, SessionId, TAG};
use super::keys::{Invitation, KEY, KeyPair, SECRET, builder_with};
use super::random::Random;

/// The longest message of the handshake, which passes everywhere (IPv6's least size, RFC 8200 §5, without its headers).
pub const LONGEST: usize = 1232;
/// What Noise and the envelope take of an initiation: two keys, two tags, head and code.
const AROUND_OFFER: usize = INITIATION_HEAD + 2 * KEY + 2 * TAG + CODE;
/// The longest offer.
pub const LONGEST_OFFER: usize = LONGEST - AROUND_OFFER;
/// The longest answer: with it, a response has less than three times the bytes of the shortest initiation.
pub const LONGEST_ANSWER: usize = 248;
/// Initiations of which the response is kept, to be retransmitted.
const KEPT: usize = 8;
/// Cookies and initiations per second that get an answer.
const COOKIES: u64 = 20_000;
const KNOCKS: u64 = 50;

/// Why a handshake could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    Random,
    /// What is to be said does not fit.
    #[error("{what} of {length} bytes is too long; expected at most {allowed}")]
    TooLong {
        /// Which message.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The longest.
        allowed: usize,
    },
    /// A key is none, or a message was not made with it.
    #[error("the keys do not fit: {0}")]
    Keys(String),
}

impl From<snow::Error> for HandshakeError {
    fn from(error: snow::Error) -> Self {
        Self::Keys(error.to_string())
    }
}

impl From<ring::error::Unspecified> for HandshakeError {
    fn from(_: ring::error::Unspecified) -> Self {
        Self::Random
    }
}

/// A random number of the system.
pub(crate) fn random_u64() -> Result<u64, HandshakeError> {
    Ok(u64::from_be_bytes(Random::system().bytes()?))
}

fn random_session(random: &mut Random) -> Result<SessionId, HandshakeError> {
    Ok(SessionId(u32::from_be_bytes(random.bytes()?)))
}

/// What both sides have when the handshake is over.
#[derive(Debug)]
pub struct Accepted {
    /// How this side calls the session: what arrives must say it.
    pub here: SessionId,
    /// How the other side calls it.
    pub there: SessionId,
    /// The keys; `None` in the clear.
    pub keys: Option<(Sealer, Opener)>,
    /// The other side's long-term key; `None` in the clear.
    pub peer: Option<[u8; KEY]>,
}

impl Accepted {
    fn new(mut state: HandshakeState, is_initiator: bool, here: SessionId, there: SessionId) -> Self {
        let (first, second) = state.dangerously_get_raw_split();
        let (out, back) = if is_initiator { (first, second) } else { (second, first) };
        let peer = state.get_remote_static().and_then(|key| key.try_into().ok());
        Self { here, there, keys: Some((Sealer::new(out), Opener::new(back))), peer }
    }

    const fn open(here: SessionId, there: SessionId) -> Self {
        Self { here, there, keys: None, peer: None }
    }
}

/// The key of an initiation's code, which is of all bytes before it. In the clear the code is a checksum.
fn code_key(keys: Option<&(KeyPair, Invitation)>) -> hmac::Key {
    let nobody = Invitation { public: [0; KEY], secret: [0; SECRET] };
    keys.map_or(&nobody, |(_, invitation)| invitation).code_key()
}

// ── sender ──

/// The side that begins.
#[derive(Debug)]
pub struct Initiator {
    keys: Option<(KeyPair, Invitation)>,
    nonce: u64,
    here: SessionId,
    state: Option<HandshakeState>,
    random: Random,
}

impl Initiator {
    /// With its keys and the receiver's invitation, or in the clear.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn new(keys: Option<(KeyPair, Invitation)>) -> Result<Self, HandshakeError> {
        Self::with(keys, Random::system())
    }

    /// The same with random numbers that come again.
    ///
    /// # Errors
    /// None.
    #[cfg(any(test, feature = "for-tests"))]
    pub fn seeded(keys: Option<(KeyPair, Invitation)>, seed: u64) -> Result<Self, HandshakeError> {
        Self::with(keys, Random::seeded(seed))
    }

    fn with(keys: Option<(KeyPair, Invitation)>, mut random: Random) -> Result<Self, HandshakeError> {
        let (nonce, here) = (u64::from_be_bytes(random.bytes()?), random_session(&mut random)?);
        Ok(Self { keys, nonce, here, state: None, random })
    }

    /// A hello of this length.
    pub fn hello(&self, length: u16) -> Vec<u8> {
        envelope::hello(self.nonce, length)
    }

    /// The cookie in this datagram, and the length of the hello that it answers.
    pub fn cookie(&self, datagram: &[u8]) -> Option<([u8; COOKIE], u16)> {
        match Envelope::read(datagram)? {
            Envelope::Cookie { nonce, length, cookie } if nonce == self.nonce => Some((cookie, length)),
            _ => None,
        }
    }

    /// The initiation with this cookie, which offers something.
    ///
    /// # Errors
    /// Where the offer is too long, or the invitation is none.
    pub fn initiation(&mut self, cookie: &[u8; COOKIE], offer: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        too_long("the offer", offer, LONGEST_OFFER)?;
        let mut bytes = envelope::initiation(self.nonce, self.here, cookie);
        if let Some((pair, invitation)) = &self.keys {
            let ephemeral = self.random.ephemeral();
            let mut state = builder_with(ephemeral.as_ref())?
                .local_private_key(&pair.private)?
                .remote_public_key(&invitation.public)?
                .psk(1, &invitation.shared())?
                .prologue(&bytes)?
                .build_initiator()?;
            let mut message = [0; LONGEST];
            let length = state.write_message(offer, &mut message)?;
            bytes.extend(&message[..length]);
            self.state = Some(state);
        } else {
            bytes.extend(offer);
        }
        let code = hmac::sign(&code_key(self.keys.as_ref()), &bytes);
        bytes.extend_from_slice(code.as_ref());
        Ok(bytes)
    }

    /// The answer in this datagram, and the session; `None` where it is not the receiver's answer to the newest initiation.
    pub fn finish(&mut self, datagram: &[u8]) -> Option<(Accepted, Vec<u8>)> {
        let Envelope::Response { to, session, message } = Envelope::read(datagram)? else { return None };
        if to != self.here {
            return None;
        }
        if self.keys.is_none() {
            return Some((Accepted::open(self.here, session), message.to_vec()));
        }
        let mut answer = [0; LONGEST];
        let length = self.state.as_mut()?.read_message(message, &mut answer).ok()?;
        let state = self.state.take()?;
        // What stands in the clear may have been changed on the way: it would lead all that follows astray.
        let (session, answer) = answer[..length].split_first_chunk()?;
        let there = SessionId(u32::from_be_bytes(*session));
        Some((Accepted::new(state, true, self.here, there), answer.to_vec()))
    }
}

fn too_long(what: &'static str, bytes: &[u8], allowed: usize) -> Result<(), HandshakeError> {
    let length = bytes.len();
    if length > allowed { Err(HandshakeError::TooLong { what, length, allowed }) } else { Ok(()) }
}

// ── receiver ──

/// The side that waits for others to begin.
#[derive(Debug)]
pub struct Responder {
    keys: Option<(KeyPair, Invitation)>,
    code_key: hmac::Key,
    cookies: Cookies,
    cookies_left: Allowance,
    knocks_left: Allowance,
    /// Codes of the newest initiations, and what they were answered.
    answered: VecDeque<([u8; CODE], Vec<u8>)>,
    random: Random,
}

/// What a receiver does about a datagram of a handshake.
#[derive(Debug)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// These bytes go back.
    Reply(Vec<u8>),
    /// Somebody with the invitation offers something.
    Knock(Box<Knock>),
}

/// An offer, to be accepted or refused.
#[derive(Debug)]
pub struct Knock {
    /// Who offers; `None` in the clear.
    pub sender: Option<[u8; KEY]>,
    /// What.
    pub offer: Vec<u8>,
    /// The number that the sender drew for this attempt: initiations that bear the same want the same session.
    pub nonce: u64,
    there: SessionId,
    state: Option<HandshakeState>,
    code: [u8; CODE],
}

impl Responder {
    /// With its keys, or in the clear.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn new(pair: Option<KeyPair>, now: Time) -> Result<Self, HandshakeError> {
        Self::with(pair, Random::system(), now)
    }

    /// The same with random numbers that come again.
    ///
    /// # Errors
    /// None.
    #[cfg(any(test, feature = "for-tests"))]
    pub fn seeded(pair: Option<KeyPair>, seed: u64, now: Time) -> Result<Self, HandshakeError> {
        Self::with(pair, Random::seeded(seed), now)
    }

    fn with(pair: Option<KeyPair>, random: Random, now: Time) -> Result<Self, HandshakeError> {
        let keys = pair.map(|pair| {
            let invitation = Invitation::of(&pair);
            (pair, invitation)
        });
        Ok(Self {
            code_key: code_key(keys.as_ref()),
            keys,
            cookies: Cookies::new(random.clone(), now)?,
            cookies_left: Allowance::new(COOKIES, now),
            knocks_left: Allowance::new(KNOCKS, now),
            answered: VecDeque::with_capacity(KEPT),
            random,
        })
    }

    /// What to do about this datagram, if it belongs to a handshake.
    pub fn read(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> Answer {
        match Envelope::read(datagram) {
            Some(Envelope::Hello { nonce, length }) if self.cookies_left.take(now) => {
                Answer::Reply(envelope::cookie(nonce, length, &self.cookies.make(now, from, nonce)))
            }
            Some(Envelope::Initiation { nonce, session, cookie, message, code: shown }) => {
                let (before, _) = datagram.split_at(datagram.len() - CODE);
                // The cheap checks first.
                let is_ours = self.cookies.is_valid(now, from, nonce, &cookie)
                    && hmac::verify(&self.code_key, before, &shown).is_ok();
                if !is_ours || !(AROUND_OFFER..=LONGEST).contains(&datagram.len()) {
                    return Answer::Nothing;
                }
                if let Some((_, reply)) = self.answered.iter().find(|(code, _)| *code == shown) {
                    return Answer::Reply(reply.clone());
                }
                if !self.knocks_left.take(now) {
                    return Answer::Nothing;
                }
                self.knock(nonce, session, &datagram[..INITIATION_HEAD], message, shown)
                    .map_or(Answer::Nothing, |knock| Answer::Knock(Box::new(knock)))
            }
            _ => Answer::Nothing,
        }
    }

    fn knock(
        &mut self,
        nonce: u64,
        there: SessionId,
        head: &[u8],
        message: &[u8],
        code: [u8; CODE],
    ) -> Option<Knock> {
        let Some((pair, invitation)) = &self.keys else {
            return Some(Knock { sender: None, offer: message.to_vec(), nonce, there, state: None, code });
        };
        let shared = invitation.shared();
        let ephemeral = self.random.ephemeral();
        let begun = builder_with(ephemeral.as_ref()).and_then(|builder| {
            builder.local_private_key(&pair.private)?.psk(1, &shared)?.prologue(head)?.build_responder()
        });
        let mut state = begun.ok()?;
        let mut offer = [0; LONGEST];
        let length = state.read_message(message, &mut offer).ok()?;
        let sender = state.get_remote_static().and_then(|key| key.try_into().ok())?;
        let offer = offer[..length].to_vec();
        Some(Knock { sender: Some(sender), offer, nonce, there, state: Some(state), code })
    }

    /// Answers an offer: the session, and the bytes that go back. Whether the answer accepts it is between caller and sender.
    ///
    /// # Errors
    /// Where the answer is too long, or the system has no random numbers.
    pub fn answer(&mut self, knock: Knock, answer: &[u8]) -> Result<(Accepted, Vec<u8>), HandshakeError> {
        too_long("the answer", answer, LONGEST_ANSWER)?;
        let here = random_session(&mut self.random)?;
        let mut reply = envelope::response(knock.there, here);
        let accepted = if let Some(mut state) = knock.state {
            let mut message = [0; LONGEST];
            let sealed = [&here.0.to_be_bytes(), answer].concat();
            let length = state.write_message(&sealed, &mut message)?;
            reply.extend(&message[..length]);
            Accepted::new(state, false, here, knock.there)
        } else {
            reply.extend(answer);
            Accepted::open(here, knock.there)
        };
        self.answered.truncate(KEPT - 1);
        self.answered.push_front((knock.code, reply.clone()));
        Ok((accepted, reply))
    }
}

/// So many a second, and as many at once.
#[derive(Debug)]
struct Allowance {
    per_second: u64,
    left: u64,
    since: Time,
}

impl Allowance {
    const fn new(per_second: u64, now: Time) -> Self {
        Self { per_second, left: per_second, since: now }
    }

    fn take(&mut self, now: Time) -> bool {
        if now.since(self.since) >= Span::from_secs(1) {
            (self.left, self.since) = (self.per_second, now);
        }
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}
