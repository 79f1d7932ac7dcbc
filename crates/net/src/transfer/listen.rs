//! A receiver before anybody has come: a socket that hears everybody, and answers handshakes.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use rustix::event::PollFlags;
use tailback_core::{Ecn, Span};

use super::error::TransferError;
use super::{Phase, Seen, Watch};
use crate::batch::{Batch, is_momentary};
use crate::clock::Clock;
use crate::secure::handshake::{Answer, Knock, Responder};
use crate::socket::MarkedSocket;
use crate::wait::wait;

/// The word to stop is looked for this often.
const LOOK: Span = Span::from_millis(50);

/// A socket of this port for both protocols, or for IPv4 where there is only that; of one address where it is given.
pub(super) fn bound(address: Option<IpAddr>, port: u16) -> Result<UdpSocket, TransferError> {
    let bound = match address {
        Some(address) => UdpSocket::bind((address, port)),
        None => UdpSocket::bind((std::net::Ipv6Addr::UNSPECIFIED, port))
            .or_else(|_| UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, port))),
    };
    let place = || match address {
        Some(address) => SocketAddr::from((address, port)).to_string(),
        None => format!("port {port}"),
    };
    bound.map_err(|source| TransferError::Listen { place: place(), source })
}

/// Where an answer goes, and from which of the host's addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) to: SocketAddr,
    pub(super) from: Option<IpAddr>,
}

/// Answers whoever comes, until somebody with the invitation offers something.
pub(super) fn listen(
    socket: &MarkedSocket,
    responder: &mut Responder,
    clock: Clock,
    watch: &mut Watch<'_>,
) -> Result<(Knock, Way), TransferError> {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    while watch(&Seen::before(Phase::Waiting, 0, 0)) {
        // Whatever ends the wait, the loop looks.
        let _ = wait(socket, PollFlags::IN, LOOK);
        let arrived = match socket.receive(&mut buffer) {
            Ok(arrived) => arrived,
            Err(error) if is_momentary(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        let way = Way { to: arrived.from, from: arrived.at };
        for datagram in arrived.datagrams(&buffer) {
            match responder.read(clock.now(), arrived.from, datagram) {
                Answer::Nothing => {}
                Answer::Reply(bytes) => reply(socket, way, &bytes),
                Answer::Knock(knock) => return Ok((*knock, way)),
            }
        }
    }
    Err(TransferError::Stopped)
}

/// Sends one datagram. Where it gets lost, it is asked for again.
pub(super) fn reply(socket: &MarkedSocket, way: Way, bytes: &[u8]) {
    let mut batch = Batch::new(way.to);
    let outcome = batch.address(socket, way.to, way.from).and_then(|()| {
        batch.add(socket, Ecn::NotEct, |out, _| out.extend_from_slice(bytes))?;
        batch.flush(socket)
    });
    // An address that cannot be sent to is not worth an error: somebody else named it.
    drop(outcome);
}
