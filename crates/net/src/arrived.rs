//! Datagrams as the system hands them over: from where, with which ECN field, and when they came, which is before anybody
//! reads them. Sockets and what leaves are in `socket.rs`.
//!
//! A thread that wakes late finds all that came meanwhile at once. The kernel's times of arrival (`SO_TIMESTAMPNS`) keep their
//! spacing, which schemes such as packet-pair live on.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use tailback_core::{Ecn, Span};

/// What was put into a buffer: a datagram, or several of one length and one ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes in all.
    pub length: usize,
    /// Bytes of each datagram but the last, which may be shorter.
    pub each: usize,
    /// The ECN field of all their IP headers.
    pub ecn: Ecn,
    /// Where they come from.
    pub from: SocketAddr,
    /// Which of the host's addresses they came to, where the system says.
    pub at: Option<IpAddr>,
    /// How long they had been there when they were read, where the system says; else zero.
    pub ago: Span,
}

impl Arrived {
    /// The datagrams in the buffer, one by one; an empty one is a datagram, too.
    pub fn datagrams<'a>(&self, buffer: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let empty = (self.length == 0).then_some(&[][..]);
        empty.into_iter().chain(buffer[..self.length].chunks(self.each))
    }

    /// The same, to be changed in place; empty ones are left out.
    pub fn datagrams_mut<'a>(&self, buffer: &'a mut [u8]) -> impl Iterator<Item = &'a mut [u8]> {
        buffer[..self.length].chunks_mut(self.each)
    }
}

/// The ECN field of a type of service or traffic class.
const fn ecn_of(class: u8) -> Ecn {
    match class & 0b11 {
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        0b11 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{ask_for_times, receive};

#[cfg(target_os = "linux")]
mod linux {
    use std::io::IoSliceMut;
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use nix::sys::socket::sockopt::ReceiveTimestampns;
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
    use nix::time::{ClockId, clock_gettime};

    use super::{Arrived, Ecn, SocketAddr, Span, UdpSocket, ecn_of, io};

    /// Nobody reads later than this; a larger difference is a clock that was set meanwhile.
    const LONGEST: Duration = Duration::from_secs(1);
    /// Room for what the system tells of datagrams: a time (32 bytes), an ECN field (24), an address (40), a length (24), and as
    /// much again.
    const ROOM: usize = 256;

    /// Aligned as the system's records are.
    #[repr(align(8))]
    struct Room([u8; ROOM]);

    /// Asks the system to tell when datagrams came. Where it refuses, they come when they are read.
    pub(crate) fn ask_for_times(socket: &UdpSocket) {
        let _ = setsockopt(socket, ReceiveTimestampns, &true);
    }

    /// Takes what has arrived, and what the system tells of it.
    pub(crate) fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Arrived> {
        let mut room = Room([0; ROOM]);
        let mut buffers = [IoSliceMut::new(buffer)];
        let message = recvmsg::<SockaddrStorage>(
            socket.as_raw_fd(),
            &mut buffers,
            Some(&mut room.0),
            MsgFlags::empty(),
        )?;
        let from = message.address.as_ref().and_then(address_of).ok_or(io::ErrorKind::InvalidData)?;
        let length = message.bytes;
        let mut arrived = Arrived { length, each: length, ecn: Ecn::NotEct, from, at: None, ago: Span::ZERO };
        for told in message.cmsgs()? {
            match told {
                ControlMessageOwned::Ipv4Tos(class) => arrived.ecn = ecn_of(class),
                ControlMessageOwned::Ipv6TClass(class) => arrived.ecn = ecn_of(class as u8),
                ControlMessageOwned::UdpGroSegments(each) => {
                    arrived.each = usize::try_from(each).unwrap_or(length);
                }
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    arrived.at = Some(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()).into());
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => {
                    arrived.at = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                ControlMessageOwned::ScmTimestampns(came) => arrived.ago = ago(came.into()),
                _ => {}
            }
        }
        arrived.each = arrived.each.max(1);
        Ok(arrived)
    }

    fn address_of(address: &SockaddrStorage) -> Option<SocketAddr> {
        let v4 = address.as_sockaddr_in().map(|v4| SocketAddrV4::from(*v4).into());
        v4.or_else(|| address.as_sockaddr_in6().map(|v6| SocketAddrV6::from(*v6).into()))
    }

    /// How long ago this was, by the clock on the wall, as the kernel's times are.
    fn ago(came: Duration) -> Span {
        let now = clock_gettime(ClockId::CLOCK_REALTIME).map_or(came, Duration::from);
        let ago = now.checked_sub(came).filter(|ago| *ago <= LONGEST).unwrap_or_default();
        Span::from_nanos(ago.as_nanos() as u64)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_clock_that_was_set_meanwhile_tells_nothing() {
            let now = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME).unwrap());
            assert_eq!(ago(now + LONGEST), Span::ZERO, "from the future");
            assert_eq!(ago(now.checked_sub(LONGEST * 2).unwrap()), Span::ZERO, "from long ago");
            let half = ago(now.checked_sub(LONGEST / 2).unwrap());
            assert!(half >= Span::from_millis(500), "{half}");
        }
    }
}
