//! Hosts of a laboratory: a network namespace each, with one device toward the router and an address for every flow's end.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use tailback_core::FlowId;

use crate::router::{Namespace, Tun, unread_of};

const DEVICE: &str = "lab0";
/// The addresses of measurements (RFC 2544 §C.2.2) begin here, and are so many.
const FIRST: u32 = 0xc612_0000;
const MOST: u32 = 1 << 17;

/// The congestion controls that the kernel lets programs have.
pub fn congestion_controls() -> Vec<String> {
    let said = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let mut names: Vec<String> = said.split_whitespace().map(str::to_owned).collect();
    names.sort_unstable();
    names
}

/// The addresses of a flow's ends, the sender's first.
pub(super) fn addresses(flow: FlowId) -> io::Result<(Ipv4Addr, Ipv4Addr)> {
    let first = flow.0 * 2 + 1;
    if first + 1 >= MOST {
        return Err(io::Error::other(format!("more than {} flows", MOST / 2 - 1)));
    }
    Ok((Ipv4Addr::from(FIRST + first), Ipv4Addr::from(FIRST + first + 1)))
}

/// A host.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) namespace: Namespace,
    /// What it dropped before the run because there was no room.
    full: u64,
}

impl Host {
    /// A host with these addresses, and the file by which a router reads and writes its packets, of at most `mtu` bytes.
    pub(super) fn new(addresses: &[Ipv4Addr], mtu: u16) -> io::Result<(Self, OwnedFd)> {
        let namespace = Namespace::new()?;
        let tun = Tun::new(&namespace, DEVICE, mtu)?;
        for address in addresses {
            namespace.ip(&[&format!("addr add {address}/32 dev {DEVICE}")])?;
        }
        namespace.ip(&[&format!("route add default dev {DEVICE}")])?;
        let mut host = Self { namespace, full: 0 };
        host.full = host.full()?;
        Ok((host, tun.into_file()))
    }

    /// Connections with `peer` use ECN, whoever begins; others of the host stay as they are. A setting of the host would be all
    /// flows', and a socket has none.
    pub(super) fn mark_with(&self, peer: Ipv4Addr) -> io::Result<()> {
        self.namespace.ip(&[&format!("route add {peer}/32 dev {DEVICE} features ecn")])
    }

    /// Packets that the system dropped before the router could read them.
    pub(super) fn unread(&self) -> io::Result<u64> {
        self.namespace.run(|| unread_of(DEVICE))
    }

    /// Datagrams that the system dropped since the host's sockets had no room for them.
    pub(super) fn unreceived(&self) -> io::Result<u64> {
        Ok(self.full()?.saturating_sub(self.full))
    }

    fn full(&self) -> io::Result<u64> {
        self.namespace.run(|| {
            let table = fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
            full_of(&table)
        })
    }
}

/// How many datagrams found a full buffer, of the system's table: a line of names, then one of figures.
fn full_of(table: &str) -> u64 {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (Some(names), Some(figures)) = (lines.next(), lines.next()) else { return 0 };
    let mut pairs = names.split_whitespace().zip(figures.split_whitespace());
    pairs.find(|(name, _)| *name == "RcvbufErrors").and_then(|(_, figure)| figure.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_an_address_of_its_own() {
        let (a, b) = addresses(FlowId(0)).unwrap();
        assert_eq!((a, b), (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)));
        assert_eq!(addresses(FlowId(127)).unwrap().1, Ipv4Addr::new(198, 18, 1, 0));
        assert_eq!(addresses(FlowId(65_534)).unwrap().1, Ipv4Addr::new(198, 19, 255, 254));
        assert!(addresses(FlowId(65_535)).is_err());
    }

    #[test]
    fn full_buffers_are_found_by_name() {
        let table =
            "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams RcvbufErrors X\nUdp: 5 17 3\nUdpLite: RcvbufErrors\n";
        assert_eq!(full_of(table), 17);
        assert_eq!(full_of("Udp: InDatagrams\nUdp: 5\n"), 0);
        assert_eq!(full_of(""), 0);
    }
}
