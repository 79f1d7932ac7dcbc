//! What a TCP socket is asked for beyond what crates offer: the segment size, and the kernel's account of a connection.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use tailback_core::Span;

/// What the kernel tells of a connection (`struct tcp_info`, whose fields keep their places).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TcpInfo {
    /// The congestion window, in segments.
    pub(super) window: u32,
    /// Segments sent and not acknowledged.
    pub(super) unacknowledged: u32,
    /// Bytes written and not sent yet.
    pub(super) unsent: u32,
    /// Segments retransmitted.
    pub(super) retransmitted: u32,
    /// The smoothed round trip time.
    pub(super) rtt: Span,
}

/// The places of the fields in the structure, in bytes.
mod at {
    pub(super) const UNACKED: usize = 24;
    pub(super) const RTT: usize = 68;
    pub(super) const SND_CWND: usize = 80;
    pub(super) const TOTAL_RETRANS: usize = 100;
    pub(super) const NOTSENT_BYTES: usize = 144;
}

/// So much of the structure is asked for.
const LENGTH: usize = 160;

/// What the kernel tells of a connection; nothing, where it does not.
pub(super) fn tcp_info(socket: &impl AsFd) -> Option<TcpInfo> {
    let mut told = [0_u8; LENGTH];
    let length = read(socket, &mut told).ok()?;
    let field = |at: usize| {
        let bytes = told.get(at..at + 4).filter(|_| at + 4 <= length)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    Some(TcpInfo {
        window: field(at::SND_CWND)?,
        unacknowledged: field(at::UNACKED)?,
        unsent: field(at::NOTSENT_BYTES)?,
        retransmitted: field(at::TOTAL_RETRANS)?,
        rtt: Span::from_micros(field(at::RTT)?.into()),
    })
}

#[expect(unsafe_code, reason = "no crate in use reads this option")]
fn read(socket: &impl AsFd, told: &mut [u8; LENGTH]) -> io::Result<usize> {
    let mut length = LENGTH as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `told`, which has as many, and into `length` how many it wrote.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            told.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if outcome == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

/// Segments carry at most so many bytes beyond the headers of IPv4 and TCP; options count as payload.
#[expect(unsafe_code, reason = "no crate in use writes this option")]
pub(super) fn limit_segments(socket: &impl AsFd, bytes: u16) -> io::Result<()> {
    let value = libc::c_int::from(bytes);
    // SAFETY: the kernel reads one `int` at the address, which outlives the call.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_MAXSEG,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_tells_of_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (reader, _) = listener.accept().unwrap();
        let before = tcp_info(&stream).expect("a connection of TCP");
        assert!(before.window > 0 && before.rtt > Span::ZERO, "{before:?}");
        assert_eq!((before.unacknowledged, before.unsent), (0, 0));
        // Nobody reads: sooner or later the kernel takes no more, and has some that it could not send.
        stream.set_nonblocking(true).unwrap();
        while stream.write(&[0; 1 << 14]).is_ok() {}
        let after = tcp_info(&stream).unwrap();
        assert!(after.unsent > 0, "{after:?}");
        drop(reader);
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(tcp_info(&datagrams), None);
    }
}
