//! Datagrams on their way out, gathered into trains that the system takes at once (UDP generic segmentation offload). When
//! a train leaves is said by whoever fills it; what is in it, too.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::event::PollFlags;
use rustix::io::Errno;
use tailback_core::{Ecn, Span};

use crate::socket::{MarkedSocket, Train};
use crate::wait::wait;

/// A train has no more bytes than an IP packet.
const MOST: usize = 65_000;
/// How long a full send buffer is waited for, and how often.
const PAUSE: Span = Span::from_millis(2);
const PAUSES: usize = 5;

/// The train that is being put together, and the count of those that left.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Bytes of each datagram but the last; how many there are; whether the last one is shorter, so that no other can follow.
    each: usize,
    count: u64,
    is_closed: bool,
    to: SocketAddr,
    from: Option<IpAddr>,
    ecn: Ecn,
    sent: u64,
    unsent: u64,
}

impl Batch {
    /// An empty one to this address.
    pub fn new(to: SocketAddr) -> Self {
        let bytes = Vec::with_capacity(MOST);
        let (from, ecn) = (None, Ecn::NotEct);
        Self { bytes, each: 0, count: 0, is_closed: false, to, from, ecn, sent: 0, unsent: 0 }
    }

    /// Datagrams handed to the system, and those that it had no room for or whose peer was not there.
    pub fn counts(&self) -> (u64, u64) {
        (self.sent, self.unsent)
    }

    /// Where the next datagrams go, and from which address.
    ///
    /// # Errors
    /// Of the socket, for those before.
    pub fn address(&mut self, socket: &MarkedSocket, to: SocketAddr, from: Option<IpAddr>) -> io::Result<()> {
        if (to, from) != (self.to, self.from) {
            self.flush(socket)?;
            (self.to, self.from) = (to, from);
        }
        Ok(())
    }

    /// Adds the datagram that `write` appends. What cannot leave together with it leaves before.
    ///
    /// # Errors
    /// Of the socket.
    pub fn add(
        &mut self,
        socket: &MarkedSocket,
        ecn: Ecn,
        write: impl FnOnce(&mut Vec<u8>, usize),
    ) -> io::Result<()> {
        if self.count > 0
            && (ecn != self.ecn || self.is_closed || self.count >= socket.longest_train() as u64)
        {
            self.flush(socket)?;
        }
        self.ecn = ecn;
        let start = self.bytes.len();
        write(&mut self.bytes, start);
        let length = self.bytes.len() - start;
        if self.count > 0 && (length > self.each || self.bytes.len() > MOST) {
            self.send(socket, start)?;
            self.bytes.drain(..start);
            (self.count, self.is_closed) = (0, false);
        }
        if self.count == 0 {
            self.each = length;
        }
        self.count += 1;
        self.is_closed = length < self.each;
        Ok(())
    }

    /// Sends what is there.
    ///
    /// # Errors
    /// Of the socket, but none that is no more than a lost datagram.
    pub fn flush(&mut self, socket: &MarkedSocket) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let outcome = self.send(socket, self.bytes.len());
        self.bytes.clear();
        (self.count, self.is_closed) = (0, false);
        outcome
    }

    /// Sends the first so many bytes, which are whole datagrams.
    fn send(&mut self, socket: &MarkedSocket, length: usize) -> io::Result<()> {
        let Self { to, from, ecn, each, .. } = *self;
        let train = Train { to, from, contents: &self.bytes[..length], each, ecn };
        let count = length.div_ceil(each.max(1)).max(1) as u64;
        let outcome = match persistently(socket, &train) {
            // The device cannot cut trains after all, which the socket has noted: one by one, then.
            Err(_) if count > 1 && socket.longest_train() == 1 => train
                .contents
                .chunks(each)
                .try_for_each(|contents| persistently(socket, &Train { contents, ..train })),
            outcome => outcome,
        };
        match outcome {
            Ok(()) => self.sent += count,
            Err(error) if is_momentary(&error) => self.unsent += count,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Sends a train, waits for room if there is none, and is not put off by news of an earlier one's fate.
fn persistently(socket: &MarkedSocket, train: &Train<'_>) -> io::Result<()> {
    for _ in 0..PAUSES {
        match socket.send_train(train) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // Whatever ends the pause, the next attempt tells.
                let _ = wait(socket, PollFlags::OUT, PAUSE);
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::Interrupted) => {}
            Err(error) if error.raw_os_error() == Some(Errno::MSGSIZE.raw_os_error()) => {
                let length = train.each;
                let what = format!(
                    "a datagram of {length} bytes is longer than the way to the peer takes; expected a smaller segment size"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
            outcome => return outcome,
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Errors that mean no more than a lost datagram, or that none is there: a full buffer, a peer that does not listen yet or any
/// more, a way that is not there for the moment. Who sends gives up when nothing is acknowledged for too long; who
/// receives, when nothing is heard.
pub(crate) fn is_momentary(error: &io::Error) -> bool {
    let full = error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error());
    full || matches!(
        error.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Duration;

    #[test]
    fn a_way_that_is_not_there_for_a_moment_is_a_lost_datagram() {
        let is_momentary = |errno: Errno| is_momentary(&errno.into());
        for errno in
            [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::NETDOWN, Errno::NOBUFS, Errno::CONNREFUSED]
        {
            assert!(is_momentary(errno), "{errno}");
        }
        for errno in [Errno::MSGSIZE, Errno::BADF, Errno::PERM] {
            assert!(!is_momentary(errno), "{errno}");
        }
    }

    /// Whatever lengths and marks come one after another, each datagram arrives as it was, in order.
    #[test]
    fn datagrams_of_all_lengths_arrive_one_by_one() {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("a loopback socket");
        let (here, there) = (bind(), bind());
        let to = there.local_addr().expect("bound");
        let socket = MarkedSocket::hearing_all(here).expect("set up");
        let mut batch = Batch::new(to);
        let lengths = [100, 100, 100, 60, 100, 200, 200, 1, 1, 300, 300, 300, 299, 300];
        for (index, length) in lengths.into_iter().enumerate() {
            let ecn = if index % 5 == 4 { Ecn::Ce } else { Ecn::Ect0 };
            let write = |out: &mut Vec<u8>, start: usize| {
                assert_eq!(out.len(), start);
                out.extend(vec![index as u8; length]);
            };
            batch.add(&socket, ecn, write).expect("sends");
        }
        batch.flush(&socket).expect("sends");
        assert_eq!(batch.counts(), (lengths.len() as u64, 0));
        there.set_read_timeout(Some(Duration::from_secs(20))).expect("sets it");
        let mut buffer = [0; 2000];
        for (index, length) in lengths.into_iter().enumerate() {
            let arrived = there.recv(&mut buffer).expect("arrives");
            assert_eq!((arrived, buffer[0]), (length, index as u8));
        }
    }
}
