//! A receiver before anybody has come: a socket that hears everybody, and answers handshakes.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};

use rustix::event::PollFlags;
use rustix::net::sockopt::set_ipv6_v6only;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use tailback_core::Span;

use super::error::TransferError;
use super::{Phase, Seen, Watch, plain};
use crate::clock::Clock;
use crate::refused::{is_momentary, is_too_long};
use crate::secure::handshake::{Answer, Knock, Responder};
use crate::socket::{MarkedSocket, Way};
use crate::wait::wait;

/// The word to stop is looked for this often.
const LOOK: Span = Span::from_millis(50);

/// A socket of this port for both protocols, or for IPv4 where there is only that; of one address where it is given, with its
/// link (RFC 4007 §11) where it is of one alone.
pub(super) fn bound(address: Option<IpAddr>, link: u32, port: u16) -> Result<UdpSocket, TransferError> {
    let (place, bound) = match address {
        Some(address) => {
            let mut place = SocketAddr::from((address, port));
            if let SocketAddr::V6(six) = &mut place {
                six.set_scope_id(link);
            }
            (place.to_string(), UdpSocket::bind(place))
        }
        None => (format!("port {port}"), bound_for_both(port)),
    };
    bound.map_err(|source| TransferError::Listen { place, source })
}

/// Where the port belongs to somebody else for IPv6, senders that come by it would speak to him.
fn bound_for_both(port: u16) -> io::Result<UdpSocket> {
    match of_both(port) {
        Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
            UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, port))
        }
        outcome => outcome,
    }
}

/// For both protocols also where the system is set up to keep them apart (`net.ipv6.bindv6only`).
fn of_both(port: u16) -> io::Result<UdpSocket> {
    let socket = socket_with(AddressFamily::INET6, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    set_ipv6_v6only(&socket, false)?;
    bind(&socket, &SocketAddrV6::new(std::net::Ipv6Addr::UNSPECIFIED, port, 0, 0))?;
    Ok(socket.into())
}

/// Answers whoever comes, until somebody with the invitation offers something. `differs` hears of those who have it and speak
/// another version.
pub(super) fn listen(
    socket: &MarkedSocket,
    responder: &mut Responder,
    clock: Clock,
    watch: &mut Watch<'_>,
    mut differs: impl FnMut(SocketAddr, u8),
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
                Answer::Other { version, reply } => {
                    socket.reply(way, &reply);
                    differs(plain(arrived.from), version);
                }
                Answer::Knock(knock) => return Ok((*knock, way)),
            }
        }
    }
    Err(TransferError::Stopped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    /// A port that is somebody else's for IPv6 alone is not taken for IPv4 alone.
    #[test]
    fn a_port_is_heard_by_both_protocols_or_is_refused() {
        let other = socket_with(AddressFamily::INET6, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
        let other = other.expect("a socket");
        set_ipv6_v6only(&other, true).expect("set");
        bind(&other, &SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, 0)).expect("bound");
        let other = UdpSocket::from(other);
        let port = other.local_addr().expect("bound").port();
        let said = bound(None, 0, port).expect_err("somebody else's").to_string();
        assert!(said.starts_with(&format!("cannot listen at port {port}: Address already in use")), "{said}");
        drop(other);
        let here = bound(None, 0, port).expect("free");
        here.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("set");
        for to in ["127.0.0.1", "::1"] {
            let to = SocketAddr::new(to.parse().expect("an address"), port);
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            UdpSocket::bind(any).and_then(|from| from.send_to(b"word", to)).expect("sent");
            assert_eq!(here.recv(&mut [0; 9]).expect("heard"), 4, "{to}");
        }
    }

    #[test]
    fn an_address_of_a_link_is_heard_on_with_its_link() {
        let six: IpAddr = "fe80::1:2:3:4".parse().expect("an address");
        let said = bound(Some(six), 7, 9).expect_err("none of ours").to_string();
        assert!(said.starts_with("cannot listen at [fe80::1:2:3:4%7]:9: "), "{said}");
    }
}
