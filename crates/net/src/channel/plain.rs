//! Frames as they are, over a socket that is connected to the peer: for tests, and for networks that are one's own.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use tailback_core::{Packet, Time};

use super::{Channel, Opened};
use crate::batch::Batch;
use crate::secure::Visible;
use crate::socket::{Arrived, MarkedSocket};

/// Carries frames in the clear.
#[derive(Debug)]
pub struct PlainChannel {
    socket: MarkedSocket,
    batch: Batch,
}

impl PlainChannel {
    /// Over a socket that is connected to its peer.
    ///
    /// # Errors
    /// Where the socket is not connected, or cannot be made non-blocking.
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        let peer = socket.peer_addr()?;
        Ok(Self { socket: MarkedSocket::new(socket)?, batch: Batch::new(peer) })
    }
}

impl Channel for PlainChannel {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Arrived> {
        self.socket.receive(buffer)
    }

    fn open<'a>(&mut self, _: Time, _: &Arrived, datagram: &'a mut [u8]) -> Opened<'a> {
        Opened::Frame(datagram, Visible::default())
    }

    fn send(&mut self, _: Time, frame: &[u8], packet: &Packet) -> io::Result<()> {
        self.batch.add(&self.socket, packet.ecn(), |out, _| out.extend_from_slice(frame))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.batch.flush(&self.socket)
    }

    fn counts(&self) -> (u64, u64) {
        self.batch.counts()
    }
}

impl AsFd for PlainChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
