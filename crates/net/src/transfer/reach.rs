//! How a sender reaches a receiver: sockets that are connected to it, and the handshake, with messages repeated until they are
//! answered. The first message is as long as data will be, so that a way that does not carry it is found out at once.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use rustix::event::PollFlags;
use rustix::io::Errno;
use tailback_core::{Ecn, Span, Time};

use super::error::TransferError;
use super::{Phase, Seen, Watch};
use crate::clock::Clock;
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
pub(super) fn hint_of(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::ConnectionRefused => Some("nobody listens there"),
        io::ErrorKind::NetworkUnreachable => Some("the network cannot be reached"),
        io::ErrorKind::HostUnreachable => Some("the host cannot be reached"),
        io::ErrorKind::NetworkDown => Some("the network is down"),
        _ => None,
    }
}

/// A receiver, as a sender comes to it.
pub(super) struct Reach<'a> {
    pub(super) peer: SocketAddr,
    socket: MarkedSocket,
    clock: Clock,
    deadline: Time,
    patience: Span,
    hint: Option<&'static str>,
    watch: Watch<'a>,
}

impl<'a> Reach<'a> {
    /// Begins to reach a peer.
    pub(super) fn new(
        peer: SocketAddr,
        clock: Clock,
        patience: Span,
        watch: Watch<'a>,
    ) -> Result<Self, TransferError> {
        let mut this = Self {
            peer,
            // Replaced below; a socket that cannot be connected now may be later.
            socket: MarkedSocket::hearing_all(UdpSocket::bind(("127.0.0.1", 0))?)?,
            clock,
            deadline: clock.now() + patience,
            patience,
            hint: None,
            watch,
        };
        loop {
            match connected(peer) {
                Ok(socket) => {
                    this.socket = MarkedSocket::new(socket)?;
                    return Ok(this);
                }
                Err(error) => {
                    this.hint = hint_of(error.kind());
                    this.pause(FIRST_WAIT)?;
                }
            }
        }
    }

    /// The longest datagram up to `longest` that comes through, and a cookie.
    pub(super) fn greet(
        &mut self,
        initiator: &Initiator,
        longest: usize,
    ) -> Result<([u8; COOKIE], usize), TransferError> {
        let (mut length, mut attempt) = (longest, 0);
        loop {
            if attempt >= TRIES {
                length = length.min(SAFE);
            }
            let hello = initiator.hello(u16::try_from(length).unwrap_or(u16::MAX));
            if self
                .say(&hello)
                .is_err_and(|error| error.raw_os_error() == Some(Errno::MSGSIZE.raw_os_error()))
                && length > SAFE
            {
                length = SAFE;
                continue;
            }
            let found = self.answer(patience(attempt), |bytes| initiator.cookie(bytes))?;
            if let Some((cookie, length)) = found {
                return Ok((cookie, usize::from(length)));
            }
            attempt += 1;
        }
    }

    /// Offers something until it is answered: the session, and the answer.
    pub(super) fn offer(
        &mut self,
        initiator: &mut Initiator,
        mut cookie: [u8; COOKIE],
        offer: &[u8],
    ) -> Result<(Accepted, Vec<u8>), TransferError> {
        let mut initiation = initiator.initiation(&cookie, offer)?;
        let mut attempt = 0;
        loop {
            // Errors of sending are told by the deadline.
            let _ = self.say(&initiation);
            if let Some(found) = self.answer(patience(attempt), |bytes| initiator.finish(bytes))? {
                return Ok(found);
            }
            // The receiver may have been started again, and knows nothing of its cookie.
            if attempt % 3 == 2 {
                let _ = self.say(&initiator.hello(SAFE as u16));
                if let Some((fresh, _)) = self.answer(LONGEST_WAIT, |bytes| initiator.cookie(bytes))?
                    && fresh != cookie
                {
                    cookie = fresh;
                    initiation = initiator.initiation(&cookie, offer)?;
                }
            }
            attempt += 1;
        }
    }

    /// The socket, when the session has begun, and who watches.
    pub(super) fn into_parts(self) -> (MarkedSocket, Watch<'a>) {
        (self.socket, self.watch)
    }

    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        // What an earlier datagram met is told first, and then forgotten.
        let outcome = self.socket.send(bytes, Ecn::NotEct).or_else(|error| {
            self.hint = hint_of(error.kind()).or(self.hint);
            if error.kind() == io::ErrorKind::ConnectionRefused {
                self.socket.send(bytes, Ecn::NotEct)
            } else {
                Err(error)
            }
        });
        if let Err(error) = &outcome {
            self.hint = hint_of(error.kind()).or(self.hint);
        }
        outcome
    }

    /// Waits for a datagram that says something.
    fn answer<T>(
        &mut self,
        span: Span,
        mut read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, TransferError> {
        let until = self.clock.now() + span;
        let mut buffer = vec![0; usize::from(u16::MAX)];
        while self.clock.now() < until {
            // Whatever ends the wait, the loop looks.
            let _ = wait(&self.socket, PollFlags::IN, LOOK);
            match self.socket.receive(&mut buffer) {
                Ok(arrived) => {
                    if let Some(found) = arrived.datagrams(&buffer).find_map(&mut read) {
                        return Ok(Some(found));
                    }
                }
                Err(error) => self.hint = hint_of(error.kind()).or(self.hint),
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
            let (peer, patience, hint) = (self.peer.to_string(), self.patience, self.hint);
            return Err(TransferError::NoAnswer { peer, patience, hint });
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
