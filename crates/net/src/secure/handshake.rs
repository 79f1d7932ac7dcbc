//! The handshake of two hosts: hello, cookie, initiation, response. Messages come in and go out as bytes; when they are sent
//! again, and what is offered and answered inside them, is the caller's business.
//!
//! A receiver answers nobody without the code of the invitation, keeps nothing of hellos, computes nothing dear before a sender
//! has shown its cookie, and never answers with more than three times the bytes that it got. Of a sender whose initiation it has
//! read, it reads none whose cookie is older: what somebody held back is late for ever. So is what was answered: it gets the same
//! answer again for a while, and begins no other session.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ring::hmac;
use snow::HandshakeState;
use tailback_core::{Span, Time};

use super::cipher::{Opener, Sealer};
use super::cookie::Cookies;
use super::envelope::{self, CODE, COOKIE, Envelope, INITIATION_HEAD, SessionId, TAG};
use super::greeting::Greeter;
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
/// Senders of which the newest initiation is remembered.
const SENDERS: usize = 256;
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

/// The keys of the codes in the clear, each of all bytes before it. In the clear the codes are checksums.
#[derive(Clone, Debug)]
struct Codes {
    greeter: Greeter,
    cookie: hmac::Key,
    initiation: hmac::Key,
}

impl Codes {
    fn new(keys: Option<&(KeyPair, Invitation)>) -> Self {
        let nobody = Invitation { public: [0; KEY], secret: [0; SECRET] };
        let invitation = keys.map_or(&nobody, |(_, invitation)| invitation);
        Self {
            greeter: Greeter::new(invitation),
            cookie: invitation.code_key(b"tailback cookie"),
            initiation: invitation.code_key(b"tailback initiation"),
        }
    }
}

fn seal(key: &hmac::Key, bytes: &mut Vec<u8>) {
    let code = hmac::sign(key, bytes);
    bytes.extend_from_slice(code.as_ref());
}

// ── sender ──

/// The side that begins.
#[derive(Debug)]
pub struct Initiator {
    keys: Option<(KeyPair, Invitation)>,
    codes: Codes,
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
        Ok(Self { codes: Codes::new(keys.as_ref()), keys, nonce, here, state: None, random })
    }

    /// A hello of this length, which is at least [`envelope::SHORTEST_HELLO`].
    pub fn hello(&self, length: u16) -> Vec<u8> {
        self.codes.greeter.hello(envelope::VERSION, self.nonce, length)
    }

    /// The version that the receiver speaks, where this is its answer to a hello of this side's version.
    pub fn other_version(&self, datagram: &[u8]) -> Option<u8> {
        self.codes.greeter.read_other(self.nonce, datagram)
    }

    /// The cookie in this datagram, and the length of the hello that it answers.
    pub fn cookie(&self, datagram: &[u8]) -> Option<([u8; COOKIE], u16)> {
        match Envelope::read(datagram)? {
            Envelope::Cookie { nonce, length, cookie, code } if nonce == self.nonce => {
                let (before, _) = datagram.split_at(datagram.len() - CODE);
                // Else anybody on the way could say what length came through.
                hmac::verify(&self.codes.cookie, before, &code).is_ok().then_some((cookie, length))
            }
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
        seal(&self.codes.initiation, &mut bytes);
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
    codes: Codes,
    cookies: Cookies,
    cookies_left: Allowance,
    knocks_left: Allowance,
    /// Codes of the newest initiations, and what they were answered.
    answered: VecDeque<([u8; CODE], Vec<u8>)>,
    newest: VecDeque<Newest>,
    random: Random,
}

/// The newest initiation of a sender.
#[derive(Debug)]
struct Newest {
    sender: [u8; KEY],
    /// When its cookie was made.
    made: Time,
    /// Its code, where it was answered.
    answered: Option<[u8; CODE]>,
}

/// What a receiver does about a datagram of a handshake.
#[derive(Debug)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// These bytes go back.
    Reply(Vec<u8>),
    /// Somebody with the invitation speaks another version, and is told so.
    Other {
        /// His version.
        version: u8,
        /// These bytes go back.
        reply: Vec<u8>,
    },
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
    /// When this side made the cookie that it came with: of two initiations, the one with the later cookie was made later.
    pub made: Time,
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
            codes: Codes::new(keys.as_ref()),
            keys,
            cookies: Cookies::new(random.clone(), now)?,
            cookies_left: Allowance::new(COOKIES, now),
            knocks_left: Allowance::new(KNOCKS, now),
            answered: VecDeque::with_capacity(KEPT),
            newest: VecDeque::new(),
            random,
        })
    }

    /// What to do about this datagram, if it belongs to a handshake.
    pub fn read(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> Answer {
        match Envelope::read(datagram) {
            Some(Envelope::Hello { version, nonce, length, code }) => {
                // Who has no invitation takes none of the answers that there are in a second.
                let is_ours = self.codes.greeter.is_ours((version, nonce, length), &code);
                if !is_ours || !self.cookies_left.take(now) {
                    return Answer::Nothing;
                }
                if version != envelope::VERSION {
                    return Answer::Other {
                        version,
                        reply: self.codes.greeter.other(envelope::VERSION, nonce),
                    };
                }
                let mut reply = envelope::cookie(nonce, length, &self.cookies.make(now, from, nonce));
                seal(&self.codes.cookie, &mut reply);
                Answer::Reply(reply)
            }
            Some(Envelope::Initiation { nonce, session, cookie, message, code: shown }) => {
                let (before, _) = datagram.split_at(datagram.len() - CODE);
                // The cheap checks first.
                let Some(made) = self.cookies.made_at(now, from, nonce, &cookie) else {
                    return Answer::Nothing;
                };
                let is_ours = hmac::verify(&self.codes.initiation, before, &shown).is_ok();
                if !is_ours || !(AROUND_OFFER..=LONGEST).contains(&datagram.len()) {
                    return Answer::Nothing;
                }
                if let Some((_, reply)) = self.answered.iter().find(|(code, _)| *code == shown) {
                    return Answer::Reply(reply.clone());
                }
                if !self.knocks_left.take(now) {
                    return Answer::Nothing;
                }
                self.knock((nonce, made), session, &datagram[..INITIATION_HEAD], message, shown)
                    .filter(|knock| knock.sender.is_none_or(|sender| self.is_newest(sender, made, shown)))
                    .map_or(Answer::Nothing, |knock| Answer::Knock(Box::new(knock)))
            }
            _ => Answer::Nothing,
        }
    }

    /// Whether no later cookie of this sender has come back, and this initiation was not answered before. By the receiver's clock: a
    /// sender's may jump. A cookie is for one number that a sender draws, so none for a later attempt is older than that attempt.
    fn is_newest(&mut self, sender: [u8; KEY], made: Time, code: [u8; CODE]) -> bool {
        let known = self.newest.iter().position(|other| other.sender == sender);
        let mut answered = None;
        if let Some(index) = known {
            let other = &self.newest[index];
            if other.made > made || (other.made == made && other.answered == Some(code)) {
                return false;
            }
            answered = other.answered.filter(|_| other.made == made);
            self.newest.remove(index);
        }
        self.newest.truncate(SENDERS - 1);
        self.newest.push_front(Newest { sender, made, answered });
        true
    }

    fn knock(
        &mut self,
        (nonce, made): (u64, Time),
        there: SessionId,
        head: &[u8],
        message: &[u8],
        code: [u8; CODE],
    ) -> Option<Knock> {
        let Some((pair, invitation)) = &self.keys else {
            return Some(Knock {
                sender: None,
                offer: message.to_vec(),
                nonce,
                made,
                there,
                state: None,
                code,
            });
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
        Some(Knock { sender: Some(sender), offer, nonce, made, there, state: Some(state), code })
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
        let is_its = |newest: &&mut Newest| Some(newest.sender) == knock.sender && newest.made == knock.made;
        if let Some(newest) = self.newest.iter_mut().find(is_its) {
            newest.answered = Some(knock.code);
        }
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
