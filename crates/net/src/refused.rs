//! What it means that the system refuses to send or to receive a datagram. What is then done is up to whoever asked.

use std::io;
use std::net::IpAddr;

use rustix::io::Errno;

/// Errors that mean no more than a lost datagram, or that none is there: a full buffer, a peer that does not listen yet or any
/// more, a way that is not there for the moment, and all that somebody on the way, or anybody who makes it up, has said of an
/// earlier datagram. Who sends gives up when nothing is acknowledged for too long; who receives, when nothing is heard.
///
/// That memory is missing is what Linux also says of a datagram of IPv6 while the interface beneath it comes or goes.
pub(crate) fn is_momentary(error: &io::Error) -> bool {
    const OTHERS: [Errno; 5] =
        [Errno::NOBUFS, Errno::NOMEM, Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::NETDOWN];
    let is_empty = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
    is_empty || is_news(error) || Errno::from_io_error(error).is_some_and(|errno| OTHERS.contains(&errno))
}

/// The same of a datagram that is to bear an address of this host, if it is: that may be none of the host's for the moment, as where
/// an interface is down and up again, which has lost its addresses of IPv6 meanwhile. The system calls that an invalid argument.
pub(crate) fn is_momentary_from(error: &io::Error, from: Option<IpAddr>) -> bool {
    const NOT_OURS: [Errno; 2] = [Errno::INVAL, Errno::ADDRNOTAVAIL];
    let is_not_ours = || Errno::from_io_error(error).is_some_and(|errno| NOT_OURS.contains(&errno));
    is_momentary(error) || (from.is_some() && is_not_ours())
}

/// What the network says of an earlier datagram (ICMP), and the system tells of a connected socket only: whatever is asked of
/// the socket next is refused with it, and done when it is asked again.
pub(crate) fn is_news(error: &io::Error) -> bool {
    // That a port, a protocol, a host or a network is not there, and that a header is wrong.
    const SAID: [Errno; 5] =
        [Errno::CONNREFUSED, Errno::NOPROTOOPT, Errno::HOSTDOWN, Errno::NONET, Errno::PROTO];
    Errno::from_io_error(error).is_some_and(|errno| SAID.contains(&errno))
}

/// Whether a datagram is too long: of what is sent, or of an earlier one, as somebody on the way says (RFC 1191).
pub(crate) fn is_too_long(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::MSGSIZE)
}

/// So many times what is said of an earlier datagram may come in place of sending one.
const SAID: usize = 3;

/// Whether a datagram is too long to leave this host. Said a few times it may be of earlier ones, and by anybody who makes it
/// up: a datagram that is too long is refused each time.
pub(crate) fn cannot_leave(mut send: impl FnMut() -> io::Result<()>) -> bool {
    (0..=SAID).all(|_| send().is_err_and(|error| is_too_long(&error)))
}

/// Refused for good, since this host's own interface takes shorter datagrams only.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "a datagram of {length} bytes is longer than the way to the peer takes; expected a smaller segment size"
)]
pub(crate) struct TooLong {
    /// Bytes of the datagram.
    pub(crate) length: usize,
}

impl From<TooLong> for io::Error {
    fn from(error: TooLong) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

/// Whether an error is a [`TooLong`].
pub(crate) fn is_refused_for_length(error: &io::Error) -> bool {
    error.get_ref().and_then(|inner| inner.downcast_ref::<TooLong>()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_other_datagrams_keeps_none_from_leaving() {
        for words in 0..=SAID {
            let mut said = 0;
            let send = || {
                said += 1;
                if said > words { Ok(()) } else { Err(Errno::MSGSIZE.into()) }
            };
            assert!(!cannot_leave(send), "{words}");
        }
        assert!(cannot_leave(|| Err(Errno::MSGSIZE.into())));
        assert!(!cannot_leave(|| Err(Errno::NOBUFS.into())), "lost, and not too long");
    }

    #[test]
    fn a_way_that_is_not_there_for_a_moment_is_a_lost_datagram() {
        let is_momentary = |errno: Errno| is_momentary(&errno.into());
        let gone = [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::NETDOWN];
        for errno in gone.into_iter().chain([Errno::NOBUFS, Errno::NOMEM, Errno::CONNREFUSED]) {
            assert!(is_momentary(errno), "{errno}");
        }
        // What ICMP makes of a connected socket (`icmp_err_convert` in Linux' net/ipv4/icmp.c).
        for errno in [Errno::NOPROTOOPT, Errno::HOSTDOWN, Errno::NONET, Errno::PROTO] {
            assert!(is_momentary(errno), "{errno}");
        }
        for errno in [Errno::MSGSIZE, Errno::BADF, Errno::PERM, Errno::INVAL] {
            assert!(!is_momentary(errno), "{errno}");
        }
        let from = Some([192, 0, 2, 1].into());
        for (errno, from, is_momentary) in
            [(Errno::INVAL, from, true), (Errno::INVAL, None, false), (Errno::BADF, from, false)]
        {
            assert_eq!(is_momentary_from(&errno.into(), from), is_momentary, "{errno} {from:?}");
        }
    }
}
