//! Datagrams as the system hands them over: from where, with which ECN field, and when they came, which is before anybody
//! reads them. Sockets and what leaves are in `socket.rs`.
//!
//! A thread that wakes late finds all that came meanwhile at once. The kernel's times of arrival (`SO_TIMESTAMPNS`) keep their
//! spacing, which schemes such as packet-pair live on.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use tailback_core::{Ecn, Span};

use crate::way::Way;

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
    /// To where they come from, from the address that they came to.
    pub fn way_back(&self) -> Way {
        Way { to: self.from, from: self.at }
    }

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

pub(crate) use linux::{Times, ask_for_times, receive};

mod linux {
    use std::cell::Cell;
    use std::io::IoSliceMut;
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use nix::sys::socket::sockopt::ReceiveTimestampns;
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
    use nix::time::{ClockId, clock_gettime};

    use super::{Arrived, Ecn, SocketAddr, Span, UdpSocket, ecn_of, io};

    /// Nobody reads later than this; a larger difference is a clock that was set meanwhile. A smaller one may be, too: what came
    /// cannot have waited for longer than since the socket was empty, by a clock that nobody sets.
    const LONGEST: Duration = Duration::from_secs(1);
    /// How long the system may take from the time that it notes to where a reader finds the datagram.
    const INSIDE: Duration = Duration::from_millis(10);
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

    /// What is known of a socket's times of arrival, and whether they are believed. They are by the clock on the wall, which a
    /// sandbox may show to processes shifted against its kernel's: then they would make all round trips too short.
    #[derive(Debug, Default)]
    pub(crate) struct Times {
        /// When a datagram was last read, by the clock that nobody sets.
        read: Cell<Duration>,
        /// When the socket was last found empty, or before, by the same clock: nothing that is read later was there then.
        empty: Cell<Duration>,
        shifted: Cell<bool>,
    }

    impl Times {
        /// How long ago this was, by the clock on the wall, as what it shows now, and what the clock shows that nobody sets; zero
        /// where that cannot be believed.
        fn ago(&self, came: Duration, wall: Duration, steady: Duration) -> Span {
            self.read.set(steady);
            let ago = wall.checked_sub(came);
            let most = steady.saturating_sub(self.empty.get()) + INSIDE;
            if ago.is_none_or(|ago| ago > most) {
                self.shifted.set(true);
            }
            let ago = ago.filter(|ago| *ago <= LONGEST && !self.shifted.get());
            Span::from_nanos(ago.unwrap_or_default().as_nanos() as u64)
        }

        fn found_empty(&self) {
            self.empty.set(self.read.get());
        }
    }

    /// Takes what has arrived, and what the system tells of it.
    pub(crate) fn receive(socket: &UdpSocket, times: &Times, buffer: &mut [u8]) -> io::Result<Arrived> {
        let mut room = Room([0; ROOM]);
        let mut buffers = [IoSliceMut::new(buffer)];
        let message = recvmsg::<SockaddrStorage>(
            socket.as_raw_fd(),
            &mut buffers,
            Some(&mut room.0),
            MsgFlags::empty(),
        )
        // Other errors are news of what this socket sent, and say nothing of what waits in it.
        .inspect_err(|error| {
            if *error == nix::errno::Errno::EAGAIN {
                times.found_empty();
            }
        })?;
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
                ControlMessageOwned::ScmTimestampns(came) => {
                    let came = came.into();
                    let clocks = (now(ClockId::CLOCK_REALTIME), now(ClockId::CLOCK_MONOTONIC));
                    if let (Ok(wall), Ok(steady)) = clocks {
                        arrived.ago = times.ago(came, wall, steady);
                    }
                }
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

    fn now(clock: ClockId) -> nix::Result<Duration> {
        Ok(clock_gettime(clock)?.into())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const fn at(milliseconds: u64) -> Duration {
            Duration::from_millis(1_000_000 + milliseconds)
        }

        #[test]
        fn a_clock_that_was_set_meanwhile_tells_nothing() {
            let steady = at(5000);
            assert_eq!(Times::default().ago(at(1), at(0), steady), Span::ZERO, "from the future");
            assert_eq!(Times::default().ago(at(0), at(1001), steady), Span::ZERO, "from long ago");
            assert_eq!(Times::default().ago(at(0), at(500), steady), Span::from_millis(500));
            // Set forward by 300 ms while a datagram waited for five: it would make a round trip time too short for ever.
            let times = Times::default();
            times.ago(at(0), at(1), steady);
            times.found_empty();
            assert_eq!(times.ago(at(2), at(307), steady + Duration::from_millis(5)), Span::ZERO, "a step");
        }

        #[test]
        fn news_of_what_was_sent_leaves_times_as_they_are() {
            let bind = || UdpSocket::bind("127.0.0.1:0").expect("a loopback socket");
            let (here, there) = (bind(), bind());
            let address = here.local_addr().expect("bound");
            here.connect(there.local_addr().expect("bound")).expect("connects");
            here.set_nonblocking(true).expect("set");
            ask_for_times(&here);
            let (times, mut buffer) = (Times::default(), [0; 100]);
            // Where no other socket has this wish, the system follows it a little later, on a busy machine much later.
            let is_followed = (0..500).any(|_| {
                there.send_to(b"a trial", address).expect("sent");
                std::thread::sleep(INSIDE);
                receive(&here, &times, &mut buffer).expect("the trial").ago >= Span::from_millis(10)
            });
            assert!(is_followed, "the system tells no times");
            for _ in 0..2 {
                there.send_to(b"early", address).expect("sent");
            }
            std::thread::sleep(4 * INSIDE);
            receive(&here, &times, &mut buffer).expect("the first");
            drop(there);
            here.send(b"to nobody").expect("sent");
            assert_eq!(
                receive(&here, &times, &mut buffer).expect_err("refused").kind(),
                io::ErrorKind::ConnectionRefused
            );
            let second = receive(&here, &times, &mut buffer).expect("the second");
            assert!(second.ago >= Span::from_millis(40), "{}", second.ago);
        }

        #[test]
        fn times_from_before_the_socket_was_empty_are_not_believed_any_more() {
            let times = Times::default();
            // Both clocks go on alike, and show other times.
            let ago = |came, now| times.ago(at(came), at(now), Duration::from_millis(77_000 + now));
            assert_eq!(ago(0, 100), Span::from_millis(100));
            times.found_empty();
            assert_eq!(ago(95, 120), Span::from_millis(25), "was on its way to the socket");
            times.found_empty();
            assert_eq!(ago(105, 140), Span::ZERO);
            assert_eq!(ago(150, 160), Span::ZERO, "nor any later one");
        }
    }
}
