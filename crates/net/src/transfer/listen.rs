//! A receiver before anybody has come: a socket that hears everybody, and answers handshakes.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use rustix::event::PollFlags;
use tailback_core::Span;

use super::error::TransferError;
use super::{Phase, Seen, Watch};
use crate::clock::Clock;
use crate::refused::{is_momentary, is_too_long};
use crate::secure::handshake::{Answer, Knock, Responder};
use crate::socket::{MarkedSocket, Way};
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
            Err(error) if is_momentary(&error) || is_too_long(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        let way = arrived.way_back();
        for datagram in arrived.datagrams(&buffer) {
            match responder.read(clock.now(), arrived.from, datagram) {
                Answer::Nothing => {}
                Answer::Reply(bytes) => socket.reply(way, &bytes),
                Answer::Knock(knock) => return Ok((*knock, way)),
            }
        }
    }
    Err(TransferError::Stopped)
}
