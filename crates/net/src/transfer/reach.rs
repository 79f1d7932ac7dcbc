//! How a sender reaches a receiver, which may have several addresses: sockets that are connected to it, and the handshake, with
//! messages repeated until they are answered. The first message is as long as data will be, so that a way that does not carry it
//! is found out at once.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use rustix::event::PollFlags;
use rustix::io::Errno;
use tailback_core::{Bytes, Ecn, Span, Time};

use super::error::{TransferError, Tried};
use super::{Phase, Seen, Watch, below};
use crate::clock::Clock;
use crate::refused::{is_momentary, is_news};
use crate::secure::envelope::COOKIE;
use crate::secure::handshake::{Accepted, Initiator};
use crate::socket::MarkedSocket;
use crate::wait::wait;

/// Datagrams of this length pass everywhere (RFC 8200 §5).
pub(super) const SAFE: usize = 1232;
/// How long the first answer is waited for; each further one twice as long, up to the greatest.
const FIRST_WAIT: Span = Span::from_millis(200);
const LONGEST_WAIT: Span = Span::from_secs(1);
/// The word to stop is looked for this often.
const LOOK: Span = Span::from_millis(20);
/// So many hellos of full length are tried before shorter ones.
const TRIES: u32 = 3;

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
    /// The longest datagram that is asked for, and the one that is tried now.
    longest: usize,
    length: usize,
    why: Option<String>,
    is_hopeless: bool,
}

impl Address {
    fn new(peer: SocketAddr, packet: Bytes) -> Self {
        let longest = (packet.get() as usize).saturating_sub(below(peer.is_ipv6()));
        let longest = longest.clamp(SAFE, usize::from(u16::MAX));
        Self { peer, socket: None, longest, length: longest, why: None, is_hopeless: false }
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

    /// Whether a hello of this length was sent: what a cookie says of it stands in the clear, and anybody can say it.
    fn has_tried(&self, length: u16) -> bool {
        [self.longest, SAFE].contains(&usize::from(length))
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
    watch: Watch<'a>,
}

impl<'a> Reach<'a> {
    /// Begins to reach a receiver that is at one of these addresses, with IP packets of this length if they pass.
    pub(super) fn new(
        peers: &[SocketAddr],
        packet: Bytes,
        clock: Clock,
        patience: Span,
        watch: Watch<'a>,
    ) -> Self {
        let addresses = peers.iter().map(|peer| Address::new(*peer, packet)).collect();
        Self { addresses, chosen: 0, clock, deadline: clock.now() + patience, patience, watch }
    }

    /// The longest datagram that comes through, and a cookie, from the address that answers first: they are asked one after
    /// another, again and again.
    pub(super) fn greet(&mut self, initiator: &Initiator) -> Result<([u8; COOKIE], usize), TransferError> {
        let mut attempt = 0;
        loop {
            for index in 0..self.addresses.len() {
                if let Some((cookie, length)) = self.greet_one(index, attempt, initiator)? {
                    self.chosen = index;
                    return Ok((cookie, usize::from(length)));
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
    ) -> Result<Option<([u8; COOKIE], u16)>, TransferError> {
        let address = &mut self.addresses[index];
        if address.socket().is_none() {
            let span = if address.is_hopeless { Span::ZERO } else { FIRST_WAIT };
            return self.pause(span).map(|()| None);
        }
        if attempt >= TRIES {
            address.length = SAFE;
        }
        while let Err(error) = address.say(&initiator.hello(address.length as u16))
            && error.raw_os_error() == Some(Errno::MSGSIZE.raw_os_error())
            && address.length > SAFE
        {
            address.length = SAFE;
        }
        self.answer(index, patience(attempt), |address, bytes| {
            initiator.cookie(bytes).filter(|(_, length)| address.has_tried(*length))
        })
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
            let finish = |_: &Address, bytes: &[u8]| initiator.finish(bytes);
            if let Some(found) = self.answer(index, patience(attempt), finish)? {
                return Ok(found);
            }
            // The receiver may have been started again, and knows nothing of its cookie.
            if attempt % 3 == 2 {
                let _ = self.addresses[index].say(&initiator.hello(SAFE as u16));
                let fresh = self.answer(index, LONGEST_WAIT, |_, bytes| initiator.cookie(bytes))?;
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

    /// The address that has answered.
    pub(super) fn peer(&self) -> SocketAddr {
        self.addresses[self.chosen].peer
    }

    /// The socket, when the session has begun, and who watches.
    ///
    /// # Errors
    /// Where no session has begun.
    pub(super) fn into_parts(mut self) -> Result<(MarkedSocket, Watch<'a>), TransferError> {
        let socket = self.addresses.swap_remove(self.chosen).socket;
        let socket = socket.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
        Ok((socket, self.watch))
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
        mut read: impl FnMut(&Address, &[u8]) -> Option<T>,
    ) -> Result<Option<T>, TransferError> {
        let until = self.clock.now() + span;
        let mut buffer = vec![0; usize::from(u16::MAX)];
        while self.clock.now() < until {
            let address = &mut self.addresses[index];
            let Some(socket) = &address.socket else { return Ok(None) };
            // Whatever ends the wait, the loop looks.
            let _ = wait(socket, PollFlags::IN, LOOK);
            match socket.receive(&mut buffer) {
                Ok(arrived) => {
                    let found = arrived.datagrams(&buffer).find_map(|bytes| read(address, bytes));
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                Err(error) => address.why = why_of(&error).or(address.why.take()),
            }
            self.pause(Span::ZERO)?;
        }
        Ok(None)
    }

    /// Does nothing for a while, unless it is over.
    fn pause(&mut self, span: Span) -> Result<(), TransferError> {
        if !(self.watch)(&Seen::before(Phase::Waiting, 0, 0)) {
            return Err(TransferError::Stopped);
        }
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
