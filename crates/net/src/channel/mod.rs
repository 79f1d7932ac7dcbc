//! What carries frames between a driver of one endpoint and the network: here sealed, or in the clear in the same envelopes.
//! Frames are `transport`'s; who drives the endpoints is `udp.rs`'s business.

pub mod message;
mod secured;

use std::io;
use std::os::fd::AsFd;

use tailback_core::{Packet, Time};

use crate::secure::Visible;
use crate::socket::Arrived;
pub use message::Message;
pub use secured::{LengthAnswer, SecuredChannel, Sides};

/// Carries frames.
pub trait Channel: AsFd {
    /// Takes what has arrived into `buffer`.
    ///
    /// # Errors
    /// Of the socket, among them that nothing is there.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Arrived>;

    /// Looks at one of the datagrams that arrived: the frame in it, unless it was something between the channels, or refused.
    fn open<'a>(&mut self, now: Time, arrived: &Arrived, datagram: &'a mut [u8]) -> Opened<'a>;

    /// Takes the frame of a packet to the peer. It may leave later, but not later than [`Channel::flush`].
    ///
    /// # Errors
    /// Of the socket, but none that is no more than a lost datagram.
    fn send(&mut self, now: Time, frame: &[u8], packet: &Packet) -> io::Result<()>;

    /// Sends what has not left yet.
    ///
    /// # Errors
    /// As [`Channel::send`].
    fn flush(&mut self) -> io::Result<()>;

    /// Datagrams handed to the system, and those that it had no room for.
    fn counts(&self) -> (u64, u64);
}

/// What a datagram was.
#[derive(Debug)]
pub enum Opened<'a> {
    /// A frame, and what the network says of it.
    Frame(&'a [u8], Visible),
    /// Something between the channels.
    Message,
    /// Nothing of ours.
    Refused,
}
