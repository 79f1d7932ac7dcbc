//! Sealed frames of one session, over a socket. The end that listens also answers the handshakes of others, and follows its
//! peer to a new address once that has answered from there. How a session begins is said in `secure::handshake`.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use tailback_core::{Ecn, Packet, Span, Time};
use tailback_transport::wire;

use super::{Channel, Message, Opened};
use crate::batch::Batch;
use crate::secure::envelope::{self, Envelope, HEAD, SessionId};
use crate::secure::handshake::{Accepted, Answer, Knock, Responder, random_u64};
use crate::secure::{Opener, Sealer, Visible};
use crate::socket::{Arrived, MarkedSocket};

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

/// An address from which the peer may be sending now, until it has answered from there.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    from: SocketAddr,
    at: Option<IpAddr>,
    number: u64,
    asked: Time,
}

/// Carries sealed frames.
#[derive(Debug)]
pub struct SecuredChannel {
    socket: MarkedSocket,
    batch: Batch,
    sides: Sides,
    peer: SocketAddr,
    /// The address of this host that the peer knows; the system's choice where absent.
    from: Option<IpAddr>,
    candidate: Option<Candidate>,
    responder: Option<Responder>,
    /// An offer, and the address of this host that it came to.
    knock: Option<(Box<Knock>, Option<IpAddr>)>,
    messages: VecDeque<Message>,
    heard: Time,
    said: Time,
    moves: u64,
}

impl SecuredChannel {
    /// Of the end that began the session, over a socket that is connected to its peer.
    ///
    /// # Errors
    /// Where it is not connected.
    pub fn began(socket: MarkedSocket, sides: Sides, now: Time) -> io::Result<Self> {
        let peer = socket.peer().ok_or(io::ErrorKind::NotConnected)?;
        Ok(Self::new(socket, peer, sides, None, now))
    }

    /// Of the end that was called, by `peer`, over a socket that hears everybody. It goes on answering others.
    pub fn called(
        socket: MarkedSocket,
        peer: SocketAddr,
        sides: Sides,
        responder: Responder,
        now: Time,
    ) -> Self {
        Self::new(socket, peer, sides, Some(responder), now)
    }

    fn new(
        socket: MarkedSocket,
        peer: SocketAddr,
        sides: Sides,
        responder: Option<Responder>,
        now: Time,
    ) -> Self {
        Self {
            batch: Batch::new(peer),
            socket,
            sides,
            peer,
            from: None,
            candidate: None,
            responder,
            knock: None,
            messages: VecDeque::new(),
            heard: now,
            said: now,
            moves: 0,
        }
    }

    /// Sends from this address of the host: the one that the peer knows.
    pub fn answer_from(&mut self, from: Option<IpAddr>) {
        self.from = from;
        // Nothing is in the batch yet that could fail to leave.
        let _ = self.batch.address(&self.socket, self.peer, from);
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
        self.peer
    }

    /// How often the peer's address, or this side's socket, has changed.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// What the peer said beside frames.
    pub fn take_message(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }

    /// Somebody with the invitation, who wants to begin a session of his own, and the address of this host that he came to.
    pub fn take_knock(&mut self) -> Option<(Knock, Option<IpAddr>, &mut Responder)> {
        let (knock, at) = self.knock.take()?;
        Some((*knock, at, self.responder.as_mut()?))
    }

    /// What is left when the session is over: the socket and who answers.
    pub fn into_parts(self) -> (MarkedSocket, Option<Responder>) {
        (self.socket, self.responder)
    }

    /// Sends bytes as they are, such as the answer to a knock. Where they get lost, they are asked for again.
    pub fn reply(&mut self, to: SocketAddr, from: Option<IpAddr>, bytes: &[u8]) {
        let mut batch = Batch::new(to);
        let outcome = batch.address(&self.socket, to, from).and_then(|()| {
            batch.add(&self.socket, Ecn::NotEct, |out, _| out.extend_from_slice(bytes))?;
            batch.flush(&self.socket)
        });
        // An address that cannot be sent to is not worth an error: somebody else named it.
        drop(outcome);
    }

    /// Says something to the peer.
    pub fn say(&mut self, now: Time, message: &Message) {
        self.say_to(now, self.peer, self.from, message);
    }

    fn say_to(&mut self, now: Time, to: SocketAddr, from: Option<IpAddr>, message: &Message) {
        let mut bytes = Vec::new();
        self.sides.seal(Visible::default(), &mut bytes, 0, |out| message.write(out));
        self.said = now;
        self.reply(to, from, &bytes);
    }

    /// Goes on over another socket, connected to the same peer: where this host has another address now.
    ///
    /// # Errors
    /// Where the socket cannot be set up.
    pub fn rebind(&mut self, socket: UdpSocket) -> io::Result<()> {
        self.socket = MarkedSocket::new(socket)?;
        self.batch = Batch::new(self.peer);
        self.moves += 1;
        Ok(())
    }

    /// The peer, which proved that it is it, sent its newest from another address than before.
    fn notice(&mut self, now: Time, arrived: &Arrived) {
        let known = self.candidate.filter(|candidate| candidate.from == arrived.from);
        if known.is_some_and(|candidate| now.since(candidate.asked) < ASK_AGAIN) {
            return;
        }
        let number = known.map(|candidate| candidate.number).or_else(|| random_u64().ok());
        let Some(number) = number else { return };
        self.candidate = Some(Candidate { from: arrived.from, at: arrived.at, number, asked: now });
        // Shorter than three times whatever has come from there.
        self.say_to(now, arrived.from, arrived.at, &Message::Ping(number));
    }

    fn on_message(&mut self, now: Time, arrived: &Arrived, message: Message) {
        match message {
            Message::Ping(number) => self.say_to(now, arrived.from, arrived.at, &Message::Pong(number)),
            Message::Pong(number) => {
                if let Some(candidate) = self.candidate
                    && (candidate.number, candidate.from) == (number, arrived.from)
                {
                    (self.peer, self.from) = (candidate.from, candidate.at);
                    self.candidate = None;
                    self.moves += 1;
                    // Should the address be refused, the next flush says so.
                    let _ = self.batch.address(&self.socket, candidate.from, candidate.at);
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
        let Some(responder) = &mut self.responder else { return false };
        match responder.read(now, arrived.from, datagram) {
            Answer::Nothing => return false,
            Answer::Reply(bytes) => self.reply(arrived.from, arrived.at, &bytes),
            // One at a time; others ask again.
            Answer::Knock(knock) => self.knock = self.knock.take().or(Some((knock, arrived.at))),
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
        self.socket.receive(buffer)
    }

    fn open<'a>(&mut self, now: Time, arrived: &Arrived, datagram: &'a mut [u8]) -> Opened<'a> {
        if !matches!(Envelope::read(datagram), Some(Envelope::Sealed { .. })) {
            return if self.on_other(now, arrived, datagram) { Opened::Message } else { Opened::Refused };
        }
        let Some((body, visible, is_newest)) = self.sides.open(datagram) else { return Opened::Refused };
        self.heard = now;
        if is_newest && arrived.from != self.peer {
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
        batch.add(socket, packet.ecn(), |out, start| {
            sides.seal(Visible::of(packet), out, start, |out| out.extend_from_slice(frame));
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.batch.flush(&self.socket)
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
