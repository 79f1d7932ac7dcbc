//! A connected UDP socket that carries the ECN field of the IP header both ways, IPv4 and IPv6. What a mark means for
//! the packet inside is decided here, too; driving endpoints is not.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use tailback_core::{Ecn, Packet};

/// A UDP socket, connected to its peer, whose datagrams carry and tell the ECN field of their IP headers.
#[derive(Debug)]
pub struct MarkedSocket {
    socket: UdpSocket,
    state: UdpSocketState,
    peer: SocketAddr,
}

impl MarkedSocket {
    /// Takes over a socket that is connected, and makes it non-blocking.
    ///
    /// # Errors
    /// Where it is not connected or cannot be set up.
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        let peer = socket.peer_addr()?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        Ok(Self { socket, state, peer })
    }

    /// Sends one datagram with this ECN field.
    ///
    /// # Errors
    /// Of the socket.
    pub fn send(&self, contents: &[u8], ecn: Ecn) -> io::Result<()> {
        let transmit = Transmit {
            destination: self.peer,
            ecn: EcnCodepoint::from_bits(ecn as u8),
            contents,
            segment_size: None,
            src_ip: None,
        };
        self.state.try_send(UdpSockRef::from(&self.socket), &transmit)
    }

    /// Takes what has arrived into `buffer`: a datagram, or several of one length and one ECN field that the system
    /// handed over as one.
    ///
    /// # Errors
    /// Of the socket, among them that nothing is there.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Arrived> {
        let mut meta = RecvMeta::default();
        let mut buffers = [IoSliceMut::new(buffer)];
        self.state.recv(UdpSockRef::from(&self.socket), &mut buffers, std::slice::from_mut(&mut meta))?;
        let ecn = match meta.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        };
        Ok(Arrived { length: meta.len, each: meta.stride.max(1), ecn })
    }
}

/// What [`MarkedSocket::receive`] put into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes in all.
    pub length: usize,
    /// Bytes of each datagram but the last, which may be shorter.
    pub each: usize,
    /// The ECN field of all their IP headers.
    pub ecn: Ecn,
}

impl Arrived {
    /// The datagrams in the buffer, one by one; an empty one is a datagram, too.
    pub fn datagrams<'a>(&self, buffer: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let empty = (self.length == 0).then_some(&[][..]);
        empty.into_iter().chain(buffer[..self.length].chunks(self.each))
    }
}

impl AsFd for MarkedSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Combines what the IP header says with what the frame inside says, as at the end of a tunnel (RFC 6040 §4.2): a mark
/// on the way marks the packet. `false` where a packet that is not ECN-capable was marked: it must be dropped, since
/// its sender would not understand.
pub fn combine(packet: &mut Packet, outer: Ecn) -> bool {
    if outer == Ecn::Ce {
        if !packet.is_ecn_capable() {
            return false;
        }
        packet.set_ecn(Ecn::Ce);
    }
    true
}
