//! Where datagrams go, and where from. What takes them there is in `socket.rs`.

use std::net::{IpAddr, SocketAddr};

/// Where datagrams go, and which of the host's addresses they leave from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The peer.
    pub to: SocketAddr,
    /// The address that datagrams bear as theirs; `None` leaves it to the system.
    pub from: Option<IpAddr>,
}
