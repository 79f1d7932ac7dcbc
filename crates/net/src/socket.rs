//! A UDP socket that carries the ECN field of the IP header both ways, IPv4 and IPv6, and takes and gives several datagrams
//! at once where the system can. What a mark means for the packet inside is decided here, too; driving endpoints is not. What
//! the system tells of datagrams that arrive is in `arrived.rs`.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use quinn_udp::{EcnCodepoint, Transmit, UdpSockRef, UdpSocketState};
use tailback_core::{Ecn, Packet};

pub use crate::arrived::Arrived;
use crate::arrived::{Times, ask_for_times, receive};
use crate::refused::{is_news, is_too_long};
pub use crate::way::Way;

/// What the socket's buffers should hold, where the system allows it: some milliseconds of a fast link.
const BUFFER: usize = 4 << 20;
/// So many times news of what an earlier datagram met may come in place of sending one.
const NEWS: usize = 3;

/// A UDP socket whose datagrams carry and tell the ECN field of their IP headers.
#[derive(Debug)]
pub struct MarkedSocket {
    socket: UdpSocket,
    state: UdpSocketState,
    peer: Option<SocketAddr>,
    times: Times,
}

/// Datagrams of one length, except for the last, that leave at once.
#[derive(Clone, Copy, Debug)]
pub struct Train<'a> {
    /// Where to and where from.
    pub way: Way,
    /// All datagrams, one after another.
    pub contents: &'a [u8],
    /// Bytes of each but the last.
    pub each: usize,
    /// Their ECN field.
    pub ecn: Ecn,
}

impl MarkedSocket {
    /// Takes over a socket that is connected, and makes it non-blocking.
    ///
    /// # Errors
    /// Where it is not connected or cannot be set up.
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        let peer = socket.peer_addr()?;
        Self::set_up(socket, Some(peer))
    }

    /// Takes over a socket that hears everybody, and makes it non-blocking.
    ///
    /// # Errors
    /// Where it cannot be set up.
    pub fn hearing_all(socket: UdpSocket) -> io::Result<Self> {
        Self::set_up(socket, None)
    }

    fn set_up(socket: UdpSocket, peer: Option<SocketAddr>) -> io::Result<Self> {
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // What the system does not grant is lost like on a full queue.
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), BUFFER);
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), BUFFER);
        ask_for_times(&socket);
        Ok(Self { socket, state, peer, times: Times::default() })
    }

    /// The peer that it is connected to, if it is.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Its own address.
    ///
    /// # Errors
    /// Of the system.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// How many datagrams can leave at once.
    pub fn longest_train(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends one datagram with this ECN field.
    ///
    /// # Errors
    /// Of the socket.
    pub fn send(&self, contents: &[u8], ecn: Ecn) -> io::Result<()> {
        let to = self.peer.ok_or(io::ErrorKind::NotConnected)?;
        self.send_train(&Train { way: Way { to, from: None }, contents, each: contents.len(), ecn })
    }

    /// Sends one datagram that is asked for again where it gets lost, to an address that somebody else has named: no error is
    /// worth telling then, and no room worth waiting for.
    pub fn reply(&self, way: Way, contents: &[u8]) {
        for _ in 0..=NEWS {
            match self.send_train(&Train { way, contents, each: contents.len(), ecn: Ecn::NotEct }) {
                Err(error)
                    if error.kind() == io::ErrorKind::Interrupted
                        || is_news(&error)
                        || is_too_long(&error) => {}
                _ => return,
            }
        }
    }

    /// Sends datagrams that leave at once.
    ///
    /// # Errors
    /// Of the socket.
    pub fn send_train(&self, train: &Train<'_>) -> io::Result<()> {
        let transmit = Transmit {
            destination: train.way.to,
            ecn: EcnCodepoint::from_bits(train.ecn as u8),
            contents: train.contents,
            segment_size: (train.contents.len() > train.each).then_some(train.each),
            src_ip: train.way.from,
        };
        self.state.try_send(UdpSockRef::from(&self.socket), &transmit)
    }

    /// Takes what has arrived into `buffer`: a datagram, or several of one length and one ECN field that the system
    /// handed over as one.
    ///
    /// # Errors
    /// Of the socket, among them that nothing is there.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Arrived> {
        receive(&self.socket, &self.times, buffer)
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
