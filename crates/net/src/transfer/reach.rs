//! How a sender reaches a receiver, which may have several addresses: sockets that are connected to it, and the handshake, with
//! messages repeated until they are answered. The first message is as long as data will be; where it is not answered and a
//! short one is, the longest length that comes through is looked for, as `lengths.rs` says.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use rustix::event::PollFlags;
use rustix::io::Errno;
use tailback_core::{Bytes, Ecn, Span, Time};

use super::error::{TransferError, Tried};
use super::lengths::{Carried, SAFE, Search, Step, lengths, pace};
use super::{Seen, Watch, below, plain};
use crate::channel::LengthAnswer;
use crate::clock::Clock;
use crate::refused::{cannot_leave, is_momentary, is_news};
use crate::secure::envelope::{COOKIE, SHORTEST_HELLO};
use crate::secure::handshake::{Accepted, Initiator};
use crate::socket::MarkedSocket;
use crate::wait::wait;

/// How long the first answer is waited for; each further one twice as long, up to the greatest.
const FIRST_WAIT: Span = Span::from_millis(200);
const LONGEST_WAIT: Span = Span::from_secs(1);
/// The word to stop is looked for this often.
const LOOK: Span = Span::from_millis(20);
/// So many hellos that are as long as a transfer's packets are tried before the shortest, which tells why it is of no use.
const TRIES: u32 = 3;
/// Why it is of no use: the answers to short ones are as long as those to long ones would be, so it is the way there.
pub(super) const TOO_NARROW: &str = "only packets that are too short for a transfer reach it";

/// A socket that is connected to a peer, with whatever address this host has now.
pub(super) fn connected(peer: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr =
        if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { (std::net::Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(peer)?;
    Ok(socket)
}

/// What the network said when nobody answered.
pub(super) fn hint_of(errno: Errno) -> Option<&'static str> {
    match errno {
        Errno::CONNREFUSED => Some("nobody listens there"),
        Errno::NETUNREACH => Some("the network cannot be reached"),
        Errno::HOSTUNREACH | Errno::HOSTDOWN | Errno::NONET => Some("the host cannot be reached"),
        Errno::NETDOWN => Some("the network is down"),
        Errno::MSGSIZE => Some("the way takes shorter packets only"),
        _ => None,
    }
}

/// The same, or the system's own words; nothing where there is only nothing to read.
fn why_of(error: &io::Error) -> Option<String> {
    let is_news = !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
    is_news.then(|| {
        Errno::from_io_error(error).and_then(hint_of).map_or_else(|| error.to_string(), str::to_owned)
    })
}

/// Whether an address that cannot be connected to may be one later.
fn may_change(error: &io::Error) -> bool {
    is_momentary(error) || error.kind() == io::ErrorKind::AddrNotAvailable
}

/// One of the receiver's addresses.
struct Address {
    peer: SocketAddr,
    socket: Option<MarkedSocket>,
    /// The datagrams that are asked for, the longest first.
    lengths: Vec<u16>,
    why: Option<String>,
    /// The version that is spoken there, if it is another one.
    other: Option<u8>,
    is_hopeless: bool,
}

impl Address {
    fn new(peer: SocketAddr, packet: Bytes) -> Self {
        let longest = (packet.get() as usize).saturating_sub(below(peer.is_ipv6()));
        let longest = longest.clamp(SAFE, usize::from(u16::MAX));
        let lengths = lengths(longest, below(peer.is_ipv6()));
        Self { peer, socket: None, lengths, why: None, other: None, is_hopeless: false }
    }

    /// Its socket; `None` where it cannot be had, now or ever.
    fn socket(&mut self) -> Option<&MarkedSocket> {
        if self.socket.is_none() && !self.is_hopeless {
            match connected(self.peer).and_then(MarkedSocket::new) {
                Ok(socket) => self.socket = Some(socket),
                Err(error) => {
                    self.is_hopeless = !may_change(&error);
                    self.why = if lacks_interface(self.peer) {
                        Some(
                            "a link-local address is one of an interface; expected it behind, as in %eth0"
                                .to_owned(),
                        )
                    } else {
                        why_of(&error)
                    };
                }
            }
        }
        self.socket.as_ref()
    }

    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        // What an earlier datagram met is told first, and then forgotten.
        let outcome = socket.send(bytes, Ecn::NotEct).or_else(|error| {
            self.why = why_of(&error).or(self.why.take());
            if is_news(&error) { socket.send(bytes, Ecn::NotEct) } else { Err(error) }
        });
        if let Err(error) = &outcome {
            self.why = why_of(error).or(self.why.take());
        }
        outcome
    }

    /// Asks for an answer to a hello of this length; `false` where it cannot leave this host.
    fn ask(&mut self, initiator: &Initiator, length: u16) -> bool {
        let hello = initiator.hello(length);
        !cannot_leave(|| self.say(&hello))
    }

    /// The cookie in a datagram. Whoever speaks another version gives none, and says so.
    fn cookie(&mut self, initiator: &Initiator, bytes: &[u8]) -> Option<LengthAnswer> {
        self.other = self.other.or_else(|| initiator.other_version(bytes));
        initiator.cookie(bytes)
    }

    /// The answer in a datagram, if it is one to something that a transfer can use.
    fn read(&mut self, initiator: &Initiator, bytes: &[u8]) -> Option<LengthAnswer> {
        let (cookie, length) = self.cookie(initiator, bytes)?;
        if usize::from(length) < SAFE {
            self.why = Some(TOO_NARROW.to_owned());
        }
        // None is believed of a length that was not asked for.
        self.lengths.contains(&length).then_some((cookie, length))
    }
}

/// An address of a link alone (RFC 4291 §2.5.6) without the link.
fn lacks_interface(peer: SocketAddr) -> bool {
    matches!(peer, SocketAddr::V6(peer) if peer.ip().is_unicast_link_local() && peer.scope_id() == 0)
}

/// A receiver, as a sender comes to it.
pub(super) struct Reach<'a> {
    addresses: Vec<Address>,
    /// The one that has answered.
    chosen: usize,
    clock: Clock,
    deadline: Time,
    patience: Span,
    /// What there is to see meanwhile.
    seen: Seen,
    watch: Watch<'a>,
    buffer: Box<[u8]>,
}

/// A receiver that has answered.
pub(super) struct Reached {
    pub(super) socket: MarkedSocket,
    pub(super) peer: SocketAddr,
    pub(super) initiator: Initiator,
    pub(super) cookie: [u8; COOKIE],
    /// The datagrams that come through.
    pub(super) carried: Carried,
    /// Until when it must have accepted an offer, by the clock of who reached it.
    pub(super) deadline: Time,
}

impl<'a> Reach<'a> {
    /// Begins to reach a receiver that is at one of these addresses, with IP packets of this length if they pass.
    pub(super) fn new(
        peers: &[SocketAddr],
        packet: Bytes,
        clock: Clock,
        patience: Span,
        (seen, watch): (Seen, Watch<'a>),
    ) -> Self {
        let addresses = peers.iter().map(|peer| Address::new(plain(*peer), packet)).collect();
        Self {
            addresses,
            chosen: 0,
            clock,
            deadline: clock.now() + patience,
            patience,
            seen,
            watch,
            buffer: buffer(),
        }
    }

    /// The longest datagram that comes through, and a cookie, from the address that answers first: they are asked one after
    /// another, again and again.
    pub(super) fn greet(mut self, initiator: Initiator) -> Result<Reached, TransferError> {
        let (cookie, longest) = self.cookie(&initiator)?;
        let Address { peer, socket, lengths, .. } = self.addresses.swap_remove(self.chosen);
        let socket = socket.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
        let carried = Carried::new(lengths, longest);
        Ok(Reached { socket, peer, initiator, cookie, carried, deadline: self.deadline })
    }

    fn cookie(&mut self, initiator: &Initiator) -> Result<LengthAnswer, TransferError> {
        let mut attempt = 0;
        loop {
            for index in 0..self.addresses.len() {
                if let Some(found) = self.greet_one(index, attempt, initiator)? {
                    self.chosen = index;
                    return self.widened(initiator, found);
                }
            }
            if self.addresses.iter().all(|address| address.is_hopeless) {
                return Err(TransferError::Unreachable { tried: self.tried() });
            }
            attempt += 1;
        }
    }

    fn greet_one(
        &mut self,
        index: usize,
        attempt: u32,
        initiator: &Initiator,
    ) -> Result<Option<LengthAnswer>, TransferError> {
        let address = &mut self.addresses[index];
        if address.socket().is_none() {
            let span = if address.is_hopeless { Span::ZERO } else { FIRST_WAIT };
            return self.pause(span).map(|()| None);
        }
        let (longest, shortest) = (address.lengths[0], SAFE as u16);
        if (!address.ask(initiator, longest) || attempt > 0) && longest != shortest {
            address.ask(initiator, shortest);
        }
        if attempt >= TRIES {
            address.ask(initiator, SHORTEST_HELLO as u16);
        }
        self.answer(index, patience(attempt), |address, bytes| address.read(initiator, bytes))
    }

    /// The longest length that comes through, where it may be another than the one that was answered.
    fn widened(
        &mut self,
        initiator: &Initiator,
        (mut cookie, length): LengthAnswer,
    ) -> Result<LengthAnswer, TransferError> {
        let known = &self.addresses[self.chosen].lengths;
        if length == known[0] {
            return Ok((cookie, length));
        }
        let mut search = Search::new(known, self.clock.now(), None, pace(self.patience));
        loop {
            match search.step(self.clock.now()) {
                Step::Found(found) => return Ok((cookie, found.unwrap_or(length))),
                Step::Ask(length) => {
                    if !self.addresses[self.chosen].ask(initiator, length) {
                        search.refused(length);
                    }
                }
                Step::Wait(_) => {
                    let heard = self.hear(self.chosen, &mut |address, bytes| address.read(initiator, bytes));
                    if let Some((fresh, length)) = heard {
                        search.answered(self.clock.now(), length);
                        cookie = fresh;
                    }
                }
            }
            self.look()?;
        }
    }

    /// A receiver that has answered before, from here on.
    pub(super) fn over(
        socket: MarkedSocket,
        (peer, deadline): (SocketAddr, Time),
        clock: Clock,
        patience: Span,
        (seen, watch): (Seen, Watch<'a>),
    ) -> Self {
        let mut address = Address::new(peer, Bytes::ZERO);
        address.socket = Some(socket);
        Self { addresses: vec![address], chosen: 0, clock, deadline, patience, seen, watch, buffer: buffer() }
    }

    /// Offers something until it is answered: the session, and the answer.
    pub(super) fn offer(
        &mut self,
        initiator: &mut Initiator,
        mut cookie: [u8; COOKIE],
        offer: &[u8],
    ) -> Result<(Accepted, Vec<u8>), TransferError> {
        let mut initiation = initiator.initiation(&cookie, offer)?;
        let (index, mut attempt) = (self.chosen, 0);
        loop {
            // Errors of sending are told by the deadline.
            let _ = self.addresses[index].say(&initiation);
            let finish = |_: &mut Address, bytes: &[u8]| initiator.finish(bytes);
            if let Some(found) = self.answer(index, patience(attempt), finish)? {
                return Ok(found);
            }
            // The receiver may have been started again, and knows nothing of its cookie.
            if attempt % 3 == 2 {
                let _ = self.addresses[index].say(&initiator.hello(SAFE as u16));
                let fresh =
                    self.answer(index, LONGEST_WAIT, |address, bytes| address.cookie(initiator, bytes))?;
                if let Some((fresh, _)) = fresh
                    && fresh != cookie
                {
                    cookie = fresh;
                    initiation = initiator.initiation(&cookie, offer)?;
                }
            }
            attempt += 1;
        }
    }

    /// The socket, when the session has begun.
    ///
    /// # Errors
    /// Where no session has begun.
    pub(super) fn into_socket(mut self) -> Result<MarkedSocket, TransferError> {
        let socket = self.addresses.swap_remove(self.chosen).socket;
        Ok(socket.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?)
    }

    /// All addresses, and why they were not reached.
    fn tried(&self) -> Vec<Tried> {
        let told = |address: &Address| Tried { peer: address.peer, why: address.why.clone() };
        self.addresses.iter().map(told).collect()
    }

    /// Waits for a datagram that says something.
    fn answer<T>(
        &mut self,
        index: usize,
        span: Span,
        mut read: impl FnMut(&mut Address, &[u8]) -> Option<T>,
    ) -> Result<Option<T>, TransferError> {
        let until = self.clock.now() + span;
        while self.clock.now() < until {
            let found = self.hear(index, &mut read);
            if found.is_some() {
                return Ok(found);
            }
            self.pause(Span::ZERO)?;
        }
        Ok(None)
    }

    /// Waits for datagrams a little, and says what is in them.
    fn hear<T>(
        &mut self,
        index: usize,
        read: &mut impl FnMut(&mut Address, &[u8]) -> Option<T>,
    ) -> Option<T> {
        let address = &mut self.addresses[index];
        let socket = address.socket.as_ref()?;
        // Whatever ends the wait, the loop looks.
        let _ = wait(socket, PollFlags::IN, LOOK);
        match socket.receive(&mut self.buffer) {
            Ok(arrived) => arrived.datagrams(&self.buffer).find_map(|bytes| read(address, bytes)),
            Err(error) => {
                address.why = why_of(&error).or(address.why.take());
                None
            }
        }
    }

    /// Looks whether it is to be stopped, or waits for somebody who cannot be talked to.
    fn look(&mut self) -> Result<(), TransferError> {
        let version = |address: &Address| Some((address.peer, address.other?));
        if let Some((peer, version)) = self.addresses.iter().find_map(version) {
            return Err(TransferError::Version { peer, version });
        }
        if (self.watch)(&self.seen) { Ok(()) } else { Err(TransferError::Stopped) }
    }

    /// Does nothing for a while, unless it is over.
    fn pause(&mut self, span: Span) -> Result<(), TransferError> {
        self.look()?;
        if self.clock.now() >= self.deadline {
            return Err(TransferError::NoAnswer { tried: self.tried(), patience: self.patience });
        }
        if !span.is_zero() {
            std::thread::sleep(std::time::Duration::from_nanos(span.as_nanos()));
        }
        Ok(())
    }
}

/// How long the answer to an attempt is waited for.
fn patience(attempt: u32) -> Span {
    (FIRST_WAIT * (1 << attempt.min(4))).min(LONGEST_WAIT)
}

/// Room for any datagram.
fn buffer() -> Box<[u8]> {
    vec![0; usize::from(u16::MAX)].into()
}
