//! Datagrams on their way out, gathered into trains that the system takes at once (UDP generic segmentation offload). When
//! a train leaves is said by whoever fills it; what is in it, too. Datagrams of several owners may share a train; what the
//! system refuses is told with whose it is.

use std::io;

use rustix::event::PollFlags;
use tailback_core::{Ecn, Span};

use crate::refused::{TooLong, is_momentary_from, is_news, is_too_long};
use crate::socket::{MarkedSocket, Train, Way};
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
    /// Bytes of each datagram but the last; whether the last one is shorter, so that no other can follow.
    each: usize,
    is_closed: bool,
    /// Whose each datagram is.
    owners: Vec<usize>,
    way: Way,
    ecn: Ecn,
    sent: u64,
    unsent: u64,
    refused: Vec<(usize, io::Error)>,
    /// Whether the system has said of any datagram that it is too long.
    was_told: bool,
}

impl Batch {
    /// An empty one.
    pub fn new(way: Way) -> Self {
        Self {
            bytes: Vec::with_capacity(MOST),
            each: 0,
            is_closed: false,
            owners: Vec::new(),
            way,
            ecn: Ecn::NotEct,
            sent: 0,
            unsent: 0,
            refused: Vec::new(),
            was_told: false,
        }
    }

    /// Whether the system has said since this was last asked that a datagram is too long: one that it was given, or an earlier
    /// one, as somebody on the way or anybody who makes it up says.
    pub fn take_told(&mut self) -> bool {
        std::mem::take(&mut self.was_told)
    }

    /// Datagrams handed to the system, and those that it had no room for, that it refused or whose peer was not there.
    pub fn counts(&self) -> (u64, u64) {
        (self.sent, self.unsent)
    }

    /// What the system refused since this was last asked, by its owner: errors that are more than a lost datagram.
    pub fn take_refused(&mut self) -> Vec<(usize, io::Error)> {
        std::mem::take(&mut self.refused)
    }

    /// The same, where all datagrams are one owner's.
    ///
    /// # Errors
    /// The first of them.
    pub fn outcome(&mut self) -> io::Result<()> {
        self.refused.drain(..).next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Forgets datagrams that have not left, and not what was counted.
    pub fn forget(&mut self) {
        self.bytes.clear();
        self.owners.clear();
        self.is_closed = false;
    }

    /// Where the next datagrams go, and from which address; those before leave.
    pub fn address(&mut self, socket: &MarkedSocket, way: Way) {
        if way != self.way {
            self.flush(socket);
            self.way = way;
        }
    }

    /// Adds the datagram that `write` appends, which is this owner's. What cannot leave together with it leaves before.
    pub fn add(
        &mut self,
        socket: &MarkedSocket,
        owner: usize,
        ecn: Ecn,
        write: impl FnOnce(&mut Vec<u8>, usize),
    ) {
        let count = self.owners.len();
        if count > 0 && (ecn != self.ecn || self.is_closed || count >= socket.longest_train()) {
            self.flush(socket);
        }
        self.ecn = ecn;
        let start = self.bytes.len();
        write(&mut self.bytes, start);
        let length = self.bytes.len() - start;
        if !self.owners.is_empty() && (length > self.each || self.bytes.len() > MOST) {
            self.send(socket, start);
            self.bytes.drain(..start);
            self.owners.clear();
        }
        if self.owners.is_empty() {
            self.each = length;
        }
        self.owners.push(owner);
        self.is_closed = length < self.each;
    }

    /// Sends what is there.
    pub fn flush(&mut self, socket: &MarkedSocket) {
        if !self.owners.is_empty() {
            self.send(socket, self.bytes.len());
            self.forget();
        }
    }

    /// Sends the first so many bytes, which are whole datagrams.
    fn send(&mut self, socket: &MarkedSocket, length: usize) {
        let Self { bytes, owners, way, ecn, each, sent, unsent, refused, was_told, .. } = self;
        let train = Train { way: *way, contents: &bytes[..length], each: *each, ecn: *ecn };
        let mut note = |owners: &[usize], outcome: io::Result<()>| match outcome {
            Ok(()) => *sent += owners.len() as u64,
            Err(error) => {
                *unsent += owners.len() as u64;
                if let (false, Some(owner)) = (is_momentary_from(&error, way.from), owners.first()) {
                    refused.push((*owner, error));
                }
            }
        };
        match persistently(socket, &train, was_told) {
            // Either the device cannot cut trains after all, which the socket has noted; or something is wrong with one of the
            // datagrams, which may be another owner's than the next. One by one, then.
            Err(error)
                if owners.len() > 1
                    && (socket.longest_train() == 1 || !is_momentary_from(&error, way.from)) =>
            {
                for (owner, contents) in owners.chunks(1).zip(train.contents.chunks(*each)) {
                    note(owner, persistently(socket, &Train { contents, ..train }, was_told));
                }
            }
            outcome => note(owners, outcome),
        }
    }
}

/// Sends a train, waits for room if there is none, and is not put off by news of an earlier one's fate.
/// `is_told` becomes true where one was too long.
fn persistently(socket: &MarkedSocket, train: &Train<'_>, is_told: &mut bool) -> io::Result<()> {
    let mut was_told = false;
    for _ in 0..PAUSES {
        match socket.send_train(train) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // Whatever ends the pause, the next attempt tells.
                let _ = wait(socket, PollFlags::OUT, PAUSE);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted || is_news(&error) => {}
            // The first time it may be said of an earlier one, and by anybody.
            Err(error) if is_too_long(&error) && !std::mem::replace(&mut was_told, true) => *is_told = true,
            Err(error) if is_too_long(&error) => return Err(TooLong { length: train.each }.into()),
            outcome => return outcome,
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Duration;

    /// Whatever lengths and marks come one after another, each datagram arrives as it was, in order.
    #[test]
    fn datagrams_of_all_lengths_arrive_one_by_one() {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("a loopback socket");
        let (here, there) = (bind(), bind());
        let to = there.local_addr().expect("bound");
        let socket = MarkedSocket::hearing_all(here).expect("set up");
        let mut batch = Batch::new(Way { to, from: None });
        let lengths = [100, 100, 100, 60, 100, 200, 200, 1, 1, 300, 300, 300, 299, 300];
        for (index, length) in lengths.into_iter().enumerate() {
            let ecn = if index % 5 == 4 { Ecn::Ce } else { Ecn::Ect0 };
            let write = |out: &mut Vec<u8>, start: usize| {
                assert_eq!(out.len(), start);
                out.extend(vec![index as u8; length]);
            };
            batch.add(&socket, 0, ecn, write);
        }
        batch.flush(&socket);
        batch.outcome().expect("sends");
        assert_eq!(batch.counts(), (lengths.len() as u64, 0));
        there.set_read_timeout(Some(Duration::from_secs(20))).expect("sets it");
        let mut buffer = [0; 2000];
        for (index, length) in lengths.into_iter().enumerate() {
            let arrived = there.recv(&mut buffer).expect("arrives");
            assert_eq!((arrived, buffer[0]), (length, index as u8));
        }
    }
}
