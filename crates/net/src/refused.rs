//! What it means that the system refuses to send or to receive a datagram. What is then done is up to whoever asked.

use std::io;

use rustix::io::Errno;

/// Errors that mean no more than a lost datagram, or that none is there: a full buffer, a peer that does not listen yet or any
/// more, a way that is not there for the moment, and all that somebody on the way, or anybody who makes it up, has said of an
/// earlier datagram. Who sends gives up when nothing is acknowledged for too long; who receives, when nothing is heard.
pub(crate) fn is_momentary(error: &io::Error) -> bool {
    const OTHERS: [Errno; 4] = [Errno::NOBUFS, Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::NETDOWN];
    let is_empty = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
    is_empty || is_news(error) || Errno::from_io_error(error).is_some_and(|errno| OTHERS.contains(&errno))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_is_not_there_for_a_moment_is_a_lost_datagram() {
        let is_momentary = |errno: Errno| is_momentary(&errno.into());
        for errno in
            [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::NETDOWN, Errno::NOBUFS, Errno::CONNREFUSED]
        {
            assert!(is_momentary(errno), "{errno}");
        }
        // What ICMP makes of a connected socket (`icmp_err_convert` in Linux' net/ipv4/icmp.c).
        for errno in [Errno::NOPROTOOPT, Errno::HOSTDOWN, Errno::NONET, Errno::PROTO] {
            assert!(is_momentary(errno), "{errno}");
        }
        for errno in [Errno::MSGSIZE, Errno::BADF, Errno::PERM] {
            assert!(!is_momentary(errno), "{errno}");
        }
    }
}
