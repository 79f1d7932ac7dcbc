//! Sealed frames of one session, over a socket. The end that listens also answers the handshakes of others, and follows its
//! peer to a new address once that has answered from there. How a session begins is said in `secure::handshake`.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use tailback_core::{Ecn, Packet, Span, Time};
use tailback_transport::wire;

use super::{Channel, Message, Opened};
use crate::batch::Batch;
use crate::refused::{cannot_leave, is_refused_for_length, is_too_long};
use crate::secure::envelope::{self, COOKIE, Envelope, HEAD, SessionId};
use crate::secure::handshake::{Accepted, Answer, Initiator, Knock, Responder, random_u64};
use crate::secure::{Opener, Sealer, Visible};
use crate::socket::{Arrived, MarkedSocket, Way};

/// Messages that wait to be read: a peer that sends more at once says nothing new.
const MOST_MESSAGES: usize = 16;
/// A new address is asked this often, and only when something has come from there.
const ASK_AGAIN: Span = Span::from_millis(50);

/// The two ends of a session as one of them sees them.
#[derive(Debug)]
pub struct Sides {
    here: SessionId,
    there: SessionId,
    keys: Option<(Sealer, Opener)>,
    /// The count of packets in the clear; sealed ones are counted by the sealer.
    counter: u64,
}

impl From<Accepted> for Sides {
    fn from(accepted: Accepted) -> Self {
        Self { here: accepted.here, there: accepted.there, keys: accepted.keys, counter: 0 }
    }
}

/// So many new addresses are asked at once: a way may lead over several in turn.
const MOST_CANDIDATES: usize = 4;

/// An address from which the peer may be sending now, until it has answered from there.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    way: Way,
    number: u64,
    asked: Time,
}

/// Carries sealed frames.
#[derive(Debug)]
pub struct SecuredChannel {
    socket: MarkedSocket,
    batch: Batch,
    sides: Sides,
    /// Where the peer is, and the address of this host that it knows.
    way: Way,
    /// The newest first.
    candidates: VecDeque<Candidate>,
    responder: Option<Responder>,
    /// An offer, and the way back.
    knock: Option<(Box<Knock>, Way)>,
    messages: VecDeque<Message>,
    /// Who asks which lengths come through, and what was answered.
    asking: Option<Initiator>,
    answers: VecDeque<LengthAnswer>,
    is_told: bool,
    heard: Time,
    said: Time,
    moves: u64,
}

/// What a receiver gives for a hello: a cookie for whoever asked, and the length of the hello that came through.
pub type LengthAnswer = ([u8; COOKIE], u16);

impl SecuredChannel {
    /// Of the end that began the session, over a socket that is connected to its peer.
    ///
    /// # Errors
    /// Where it is not connected.
    pub fn began(socket: MarkedSocket, sides: Sides, now: Time) -> io::Result<Self> {
        let peer = socket.peer().ok_or(io::ErrorKind::NotConnected)?;
        Ok(Self::new(socket, Way { to: peer, from: None }, sides, None, now))
    }

    /// Of the end that was called, over a socket that hears everybody; `way` leads back to who called. It goes on answering
    /// others.
    pub fn called(socket: MarkedSocket, way: Way, sides: Sides, responder: Responder, now: Time) -> Self {
        Self::new(socket, way, sides, Some(responder), now)
    }

    fn new(socket: MarkedSocket, way: Way, sides: Sides, responder: Option<Responder>, now: Time) -> Self {
        Self {
            batch: Batch::new(way),
            socket,
            sides,
            way,
            candidates: VecDeque::new(),
            responder,
            knock: None,
            messages: VecDeque::new(),
            asking: None,
            answers: VecDeque::new(),
            is_told: false,
            heard: now,
            said: now,
            moves: 0,
        }
    }

    /// When the peer was last heard, by whatever it proved to have said itself.
    pub fn heard(&self) -> Time {
        self.heard
    }

    /// When something last left.
    pub fn said(&self) -> Time {
        self.said
    }

    /// Where the peer is.
    pub fn peer(&self) -> SocketAddr {
        self.way.to
    }

    /// How often the peer's address, or this side's socket, has changed.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// What the peer said beside frames.
    pub fn take_message(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }

    /// Somebody with the invitation, who wants to begin a session of his own, and the way back to him.
    pub fn take_knock(&mut self) -> Option<(Knock, Way, &mut Responder)> {
        let (knock, way) = self.knock.take()?;
        Some((*knock, way, self.responder.as_mut()?))
    }

    /// Begins to ask the peer, who was called, which lengths come through: in hellos of another attempt, which belong to the
    /// handshake and not to this session. What was answered to earlier ones is forgotten.
    pub fn begin_asking(&mut self, initiator: Initiator) {
        self.asking = Some(initiator);
        self.answers.clear();
    }

    /// Asks whether a datagram of this length comes through; `false` where it cannot leave this host.
    pub fn ask(&mut self, length: u16) -> bool {
        let Some(asking) = &self.asking else { return true };
        let hello = asking.hello(length);
        !cannot_leave(|| self.socket.send(&hello, Ecn::NotEct))
    }

    /// The answer to something that was asked.
    pub fn take_answer(&mut self) -> Option<LengthAnswer> {
        self.answers.pop_front()
    }

    /// Who asked, to go on with the handshake.
    pub fn end_asking(&mut self) -> Option<Initiator> {
        self.asking.take()
    }

    /// Whether anybody has said, since this was last asked, that datagrams are too long: the system of its own interface,
    /// somebody on the way, or whoever makes it up.
    pub fn take_told(&mut self) -> bool {
        std::mem::take(&mut self.is_told) | self.batch.take_told()
    }

    /// What the system refuses of what was given to it. Who began the session finds out which lengths leave: for him, those
    /// that do not are lost datagrams.
    fn outcome(&mut self) -> io::Result<()> {
        match self.batch.outcome() {
            Err(error) if self.responder.is_none() && is_refused_for_length(&error) => {
                self.is_told = true;
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// What is left when the session is over: the socket and who answers.
    pub fn into_parts(self) -> (MarkedSocket, Option<Responder>) {
        (self.socket, self.responder)
    }

    /// Sends bytes as they are, such as the answer to a knock. Where they get lost, they are asked for again.
    pub fn reply(&self, way: Way, bytes: &[u8]) {
        self.socket.reply(way, bytes);
    }

    /// Says something to the peer, for which a full send buffer is waited for. What the system refuses, the next flush tells.
    pub fn say(&mut self, now: Time, message: &Message) {
        self.said = now;
        let Self { socket, batch, sides, .. } = self;
        batch.add(socket, 0, Ecn::NotEct, |out, start| {
            sides.seal(Visible::default(), out, start, |out| message.write(out));
        });
        batch.flush(socket);
    }

    /// Says something to where the peer may be: where it gets lost, it is said again.
    fn say_to(&mut self, now: Time, way: Way, message: &Message) {
        let mut bytes = Vec::new();
        self.sides.seal(Visible::default(), &mut bytes, 0, |out| message.write(out));
        self.said = now;
        self.reply(way, &bytes);
    }

    /// Goes on over another socket, connected to the same peer: where this host has another address now.
    ///
    /// # Errors
    /// Where the socket cannot be set up.
    pub fn rebind(&mut self, socket: UdpSocket) -> io::Result<()> {
        self.socket = MarkedSocket::new(socket)?;
        self.batch.forget();
        self.moves += 1;
        Ok(())
    }

    /// The peer, which proved that it is it, sent its newest from another address than before.
    fn notice(&mut self, now: Time, arrived: &Arrived) {
        let known = self.candidates.iter().position(|candidate| candidate.way.to == arrived.from);
        if known.is_some_and(|index| now.since(self.candidates[index].asked) < ASK_AGAIN) {
            return;
        }
        let asked = known.and_then(|index| self.candidates.remove(index));
        let Some(number) = asked.map(|candidate| candidate.number).or_else(|| random_u64().ok()) else {
            return;
        };
        self.candidates.truncate(MOST_CANDIDATES - 1);
        self.candidates.push_front(Candidate { way: arrived.way_back(), number, asked: now });
        // Shorter than three times whatever has come from there.
        self.say_to(now, arrived.way_back(), &Message::Ping(number));
    }

    fn on_message(&mut self, now: Time, arrived: &Arrived, message: Message) {
        match message {
            Message::Ping(number) => self.say_to(now, arrived.way_back(), &Message::Pong(number)),
            Message::Pong(number) => {
                let said = (number, arrived.from);
                let is_it = |candidate: &&Candidate| (candidate.number, candidate.way.to) == said;
                if let Some(candidate) = self.candidates.iter().find(is_it) {
                    self.way = candidate.way;
                    self.candidates.clear();
                    self.moves += 1;
                    // What has not left yet goes to the address before; should it be refused, the next flush says so.
                    self.batch.address(&self.socket, self.way);
                }
            }
            other => {
                if self.messages.len() < MOST_MESSAGES {
                    self.messages.push_back(other);
                }
            }
        }
    }

    /// A datagram that is not of this session.
    fn on_other(&mut self, now: Time, arrived: &Arrived, datagram: &[u8]) -> bool {
        if let Some(answer) = self.asking.as_ref().and_then(|asking| asking.cookie(datagram)) {
            if self.answers.len() < MOST_MESSAGES {
                self.answers.push_back(answer);
            }
            return true;
        }
        let Some(responder) = &mut self.responder else { return false };
        match responder.read(now, arrived.from, datagram) {
            Answer::Nothing => return false,
            Answer::Reply(bytes) | Answer::Other { reply: bytes, .. } => {
                self.reply(arrived.way_back(), &bytes);
            }
            // One at a time; others ask again.
            Answer::Knock(knock) => self.knock = self.knock.take().or(Some((knock, arrived.way_back()))),
        }
        true
    }
}

impl Sides {
    /// Appends a sealed datagram with what `write` writes.
    fn seal(&mut self, visible: Visible, out: &mut Vec<u8>, start: usize, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some((sealer, _)) = &mut self.keys {
            let counter = sealer.next_counter();
            envelope::head(self.there, counter, visible, false, out);
            write(out);
            sealer.seal(self.there, counter, out, start);
        } else {
            envelope::head(self.there, self.counter, visible, true, out);
            self.counter += 1;
            write(out);
        }
    }

    /// What is in a datagram of this session, what the network says of it, and whether it is the peer's newest.
    fn open<'a>(&mut self, datagram: &'a mut [u8]) -> Option<(&'a [u8], Visible, bool)> {
        let Envelope::Sealed { to, counter, visible, is_open } = Envelope::read(datagram)? else {
            return None;
        };
        if to != self.here || is_open == self.keys.is_some() {
            return None;
        }
        match &mut self.keys {
            Some((_, opener)) => {
                let (body, is_newest) = opener.open(to, counter, datagram)?;
                Some((body, visible, is_newest))
            }
            None => Some((datagram.get(HEAD..)?, visible, true)),
        }
    }
}

impl Channel for SecuredChannel {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Arrived> {
        self.socket.receive(buffer).inspect_err(|error| self.is_told |= is_too_long(error))
    }

    fn open<'a>(&mut self, now: Time, arrived: &Arrived, datagram: &'a mut [u8]) -> Opened<'a> {
        if !matches!(Envelope::read(datagram), Some(Envelope::Sealed { .. })) {
            return if self.on_other(now, arrived, datagram) { Opened::Message } else { Opened::Refused };
        }
        let Some((body, visible, is_newest)) = self.sides.open(datagram) else { return Opened::Refused };
        self.heard = now;
        if is_newest && arrived.from != self.way.to {
            self.notice(now, arrived);
        }
        if body.first() == Some(&wire::VERSION) {
            return Opened::Frame(body, visible);
        }
        match Message::read(body) {
            Some(message) => {
                self.on_message(now, arrived, message);
                Opened::Message
            }
            None => Opened::Refused,
        }
    }

    fn send(&mut self, now: Time, frame: &[u8], packet: &Packet) -> io::Result<()> {
        self.said = now;
        let Self { socket, batch, sides, .. } = self;
        batch.add(socket, 0, packet.ecn(), |out, start| {
            sides.seal(Visible::of(packet), out, start, |out| out.extend_from_slice(frame));
        });
        self.outcome()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.batch.flush(&self.socket);
        self.outcome()
    }

    fn counts(&self) -> (u64, u64) {
        self.batch.counts()
    }
}

impl AsFd for SecuredChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: usize = 1;

    /// Two ends of one session.
    fn ends(is_sealed: bool) -> (Sides, Sides) {
        let keys = |out, back| is_sealed.then(|| (Sealer::new([out; 32]), Opener::new([back; 32])));
        let (one, other) = (SessionId(1), SessionId(2));
        (
            Sides { here: one, there: other, keys: keys(7, 8), counter: 0 },
            Sides { here: other, there: one, keys: keys(8, 7), counter: 0 },
        )
    }

    fn said(from: &mut Sides) -> Vec<u8> {
        let mut bytes = Vec::new();
        from.seal(Visible::default(), &mut bytes, 0, |out| Message::Ping(3).write(out));
        bytes
    }

    /// What is in the clear is nothing to a session with keys, and what is sealed nothing to one without, whatever the network
    /// makes of the byte that says which it is.
    #[test]
    fn a_session_has_keys_or_has_none() {
        for is_sealed in [true, false] {
            let (mut here, mut there) = ends(is_sealed);
            assert!(there.open(&mut said(&mut here)).is_some());
            let mut changed = said(&mut here);
            changed[KINDS] = said(&mut ends(!is_sealed).0)[KINDS];
            assert!(there.open(&mut changed).is_none(), "sealed: {is_sealed}");
            assert!(there.open(&mut said(&mut ends(!is_sealed).0)).is_none(), "sealed: {is_sealed}");
        }
    }
}
