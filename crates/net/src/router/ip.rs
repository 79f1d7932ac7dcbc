//! What a router reads off an IP packet, and the little that it writes: is it whole, whose flow is it, its ECN field. Where
//! packets go is decided in `forwarder.rs`; headers are taken apart by `etherparse`.
//!
//! A router checks what RFC 1812 §5.2.2 asks of it: version, lengths and, of IPv4, the header's checksum. Beyond the header
//! it looks for ports only. What is cut short there has no flow and counts as malformed, too. The checksums of TCP and UDP
//! are for the hosts to judge, and so is what a fragment carries: a later one has no header, although the field before it
//! names one.

use std::net::{IpAddr, Ipv6Addr};

use etherparse::{IpNumber, LaxIpPayloadSlice, LaxIpSlice, LenSource, TcpSlice, UdpSlice};
use tailback_core::{Ecn, Kind};

use super::checksum;

/// Which packets belong together: the same addresses, protocol and ports, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Where its packets come from.
    pub source: IpAddr,
    /// Where they go.
    pub destination: IpAddr,
    /// The protocol's number above IP; of a fragment [`FlowKey::FRAGMENT`], since only the first one has ports.
    pub protocol: u8,
    /// Source and destination port; zeros where there are none.
    pub ports: (u16, u16),
}

impl FlowKey {
    /// Stands in place of a protocol for all fragments between two addresses: number 255 is reserved (RFC 5237).
    pub const FRAGMENT: u8 = 255;
}

/// What a router knows of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its flow.
    pub flow: FlowKey,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Acknowledgement for a TCP segment that does nothing but acknowledge, data for everything else.
    pub kind: Kind,
    /// Whether it is a TCP segment with data that bears PSH.
    pub pushed: bool,
    /// Bytes, header included; what follows them is padding.
    pub length: usize,
}

/// Why a packet is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no whole packet of IPv4 or IPv6, or its header's checksum is wrong.
    Malformed,
    /// It is for the link that it came from: neighbours' talk, which no router passes on (RFC 4291 §2.5.6, RFC 5771 §4).
    LinkLocal,
}

/// Reads a packet's header.
///
/// # Errors
/// Why the packet must not be forwarded.
pub fn read(bytes: &[u8]) -> Result<Header, Refusal> {
    let (ip, stopped) = LaxIpSlice::from_slice(bytes).map_err(|_| Refusal::Malformed)?;
    let (ecn, length) = match &ip {
        LaxIpSlice::Ipv4(packet) => {
            if checksum::of(packet.header().slice()) != 0 {
                return Err(Refusal::Malformed);
            }
            (bytes[1], usize::from(packet.header().total_len()))
        }
        LaxIpSlice::Ipv6(packet) => {
            (bytes[1] >> 4, IPV6_HEADER + usize::from(packet.header().payload_length()))
        }
    };
    let above = ip.payload();
    // Where the header's length cannot be, the parser takes all that is there; so it does with jumbograms, of whose option nothing
    // is known here, and which no link of ours carries. Headers behind the first one may be cut short in fragments only.
    if above.len_source == LenSource::Slice || (stopped.is_some() && !above.fragmented) {
        return Err(Refusal::Malformed);
    }
    let (source, destination) = (ip.source_addr(), ip.destination_addr());
    if is_link_local(source) || is_link_local(destination) {
        return Err(Refusal::LinkLocal);
    }
    let above = transport(above)?;
    let flow = FlowKey { source, destination, protocol: above.protocol, ports: above.ports };
    Ok(Header { flow, ecn: codepoint(ecn), kind: above.kind, pushed: above.pushed, length })
}

const IPV6_HEADER: usize = 40;

/// What stands above IP.
struct Above {
    protocol: u8,
    ports: (u16, u16),
    kind: Kind,
    pushed: bool,
}

/// The protocol above IP, its ports, and what the packet is.
fn transport(above: &LaxIpPayloadSlice<'_>) -> Result<Above, Refusal> {
    if above.fragmented {
        let protocol = FlowKey::FRAGMENT;
        return Ok(Above { protocol, ports: (0, 0), kind: Kind::Data, pushed: false });
    }
    let (ports, kind, pushed) = match above.ip_number {
        IpNumber::TCP => {
            let segment = TcpSlice::from_slice(above.payload).map_err(|_| Refusal::Malformed)?;
            let signals = segment.syn() || segment.fin() || segment.rst();
            let is_ack = segment.ack() && !signals && segment.payload().is_empty();
            let kind = if is_ack { Kind::Ack } else { Kind::Data };
            ((segment.source_port(), segment.destination_port()), kind, segment.psh())
        }
        IpNumber::UDP => {
            let datagram = UdpSlice::from_slice(above.payload).map_err(|_| Refusal::Malformed)?;
            ((datagram.source_port(), datagram.destination_port()), Kind::Data, false)
        }
        _ => ((0, 0), Kind::Data, false),
    };
    Ok(Above { protocol: above.ip_number.0, ports, kind, pushed })
}

/// Whether an address is good on one link only.
fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            let [a, b, c, _] = four.octets();
            four.is_link_local() || four.is_broadcast() || (a, b, c) == (224, 0, 0)
        }
        IpAddr::V6(six) => six.is_unicast_link_local() || is_neighbours_multicast(six),
    }
}

/// Multicast of interface or link scope (RFC 4291 §2.7).
fn is_neighbours_multicast(address: Ipv6Addr) -> bool {
    address.is_multicast() && matches!(address.octets()[1] & 0xf, 1 | 2)
}

/// The codepoint in the two lowest bits.
fn codepoint(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Writes the ECN field of a packet that [`read`] has accepted, and keeps the checksum of an IPv4 header right.
pub fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    if bytes[0] >> 4 == 4 {
        let before = [bytes[0], bytes[1]];
        bytes[1] = bytes[1] & !3 | ecn as u8;
        let after = [bytes[0], bytes[1]];
        checksum::update(&mut bytes[10..12], before, after);
    } else {
        // The traffic class stands across two bytes; its lowest bits are the ECN field, in the second.
        bytes[1] = bytes[1] & !(3 << 4) | (ecn as u8) << 4;
    }
}

/// Damages a packet as a bad wire would: the last bit is flipped, so that its receiver's checksum fails. Done twice, it is
/// whole again.
pub fn damage(bytes: &mut [u8]) {
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketBuilder, ip_number};
    use proptest::prelude::*;

    use super::*;

    /// A datagram with this traffic class and payload, over IPv4 and over IPv6.
    fn datagrams(class: u8, payload: &[u8]) -> [Vec<u8>; 2] {
        let mut four = Vec::new();
        let mut header =
            etherparse::Ipv4Header::new(0, 64, IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
        header.dscp = etherparse::IpDscp::try_new(class >> 2).unwrap();
        header.ecn = etherparse::IpEcn::try_new(class & 3).unwrap();
        let builder =
            PacketBuilder::ip(etherparse::IpHeaders::Ipv4(header, etherparse::Ipv4Extensions::default()))
                .udp(7, 9);
        builder.write(&mut four, payload).unwrap();
        let mut six = Vec::new();
        let header = etherparse::Ipv6Header {
            traffic_class: class,
            hop_limit: 64,
            source: Ipv6Addr::LOCALHOST.octets(),
            destination: "fd00::2".parse::<Ipv6Addr>().unwrap().octets(),
            ..etherparse::Ipv6Header::default()
        };
        let builder =
            PacketBuilder::ip(etherparse::IpHeaders::Ipv6(header, etherparse::Ipv6Extensions::default()))
                .udp(7, 9);
        builder.write(&mut six, payload).unwrap();
        [four, six]
    }

    fn segment(flags: impl Fn(&mut etherparse::TcpHeader), payload: &[u8]) -> Header {
        let mut header = etherparse::TcpHeader::new(1, 2, 3, 4);
        flags(&mut header);
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp_header(header);
        builder.write(&mut bytes, payload).unwrap();
        read(&bytes).unwrap()
    }

    #[test]
    fn a_flow_is_addresses_protocol_and_ports() {
        let [four, six] = datagrams(0, b"hello").map(|bytes| read(&bytes).unwrap());
        let expected = FlowKey {
            source: "10.0.0.1".parse().unwrap(),
            destination: "10.0.0.2".parse().unwrap(),
            protocol: 17,
            ports: (7, 9),
        };
        assert_eq!((four.flow, four.kind, four.length), (expected, Kind::Data, 33));
        assert_eq!((six.flow.ports, six.flow.protocol, six.length), ((7, 9), 17, 53));
        assert_eq!(six.flow.destination, "fd00::2".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn only_bare_acknowledgements_are_acknowledgements() {
        let kind = |flags: fn(&mut etherparse::TcpHeader), payload| segment(flags, payload).kind;
        assert_eq!(kind(|tcp| tcp.ack = true, b""), Kind::Ack);
        assert_eq!(kind(|tcp| tcp.ack = true, b"x"), Kind::Data);
        assert_eq!(kind(|tcp| (tcp.ack, tcp.syn) = (true, true), b""), Kind::Data);
        assert_eq!(kind(|tcp| (tcp.ack, tcp.fin) = (true, true), b""), Kind::Data);
        assert_eq!(kind(|tcp| tcp.rst = true, b""), Kind::Data);
    }

    #[test]
    fn data_that_is_pushed_says_so() {
        assert!(segment(|tcp| (tcp.ack, tcp.psh) = (true, true), b"x").pushed);
        assert!(!segment(|tcp| tcp.ack = true, b"x").pushed);
        assert!(datagrams(0, b"hello").iter().all(|bytes| !read(bytes).unwrap().pushed));
    }

    #[test]
    fn fragments_are_one_flow_whether_or_not_they_have_ports() {
        let mut flows = Vec::new();
        for (offset, more) in [(0, true), (3, true), (6, false)] {
            let mut header =
                etherparse::Ipv4Header::new(24, 64, IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
            header.more_fragments = more;
            header.fragment_offset = etherparse::IpFragOffset::try_new(offset).unwrap();
            header.header_checksum = header.calc_header_checksum();
            let mut bytes = header.to_bytes().to_vec();
            bytes.extend([0; 24]);
            flows.push(read(&bytes).unwrap().flow);
        }
        assert!(flows.iter().all(|flow| *flow == flows[0] && flow.protocol == FlowKey::FRAGMENT));
    }

    /// A later fragment has none of the headers that the field before it names, and a first one need not have all of them.
    #[test]
    fn what_is_in_fragments_is_not_read() {
        // As an extension header it would be longer than the packet.
        let inside = [17, 255, 0, 0, 0, 0, 0, 0];
        let headers = [
            ip_number::IPV6_DEST_OPTIONS,
            ip_number::IPV6_ROUTE,
            ip_number::AUTH,
            ip_number::IPV6_HOP_BY_HOP,
        ];
        for offset in [0_u8, 1] {
            for header in headers {
                let fragment = [header.0, 0, 0, offset << 3 | 1, 0, 0, 0, 7];
                let mut bytes = Vec::new();
                let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64);
                builder.write(&mut bytes, ip_number::IPV6_FRAG, &[fragment, inside].concat()).unwrap();
                let read = read(&bytes).map(|header| (header.flow.protocol, header.length));
                assert_eq!(read, Ok((FlowKey::FRAGMENT, 56)), "{header:?} at {offset}");
            }
            let mut header =
                etherparse::Ipv4Header::new(8, 64, ip_number::AUTH, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
            header.more_fragments = true;
            header.fragment_offset = etherparse::IpFragOffset::try_new(u16::from(offset)).unwrap();
            header.header_checksum = header.calc_header_checksum();
            let bytes = [&header.to_bytes()[..], &inside].concat();
            assert_eq!(read(&bytes).map(|header| header.flow.protocol), Ok(FlowKey::FRAGMENT));
            assert_eq!(read(&bytes[..27]), Err(Refusal::Malformed), "what it has must be whole");
        }
        let mut whole = Vec::new();
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64);
        builder.write(&mut whole, ip_number::IPV6_DEST_OPTIONS, &inside).unwrap();
        assert_eq!(read(&whole), Err(Refusal::Malformed), "no fragment");
    }

    #[test]
    fn neighbours_talk_stays_on_its_link() {
        for destination in [[224, 0, 0, 251], [255, 255, 255, 255], [169, 254, 1, 1]] {
            let mut bytes = Vec::new();
            PacketBuilder::ipv4([10, 0, 0, 1], destination, 1).udp(1, 2).write(&mut bytes, b"").unwrap();
            assert_eq!(read(&bytes), Err(Refusal::LinkLocal), "{destination:?}");
        }
        for destination in ["ff02::2", "fe80::1", "ff01::1"] {
            let to = destination.parse::<Ipv6Addr>().unwrap().octets();
            let mut bytes = Vec::new();
            PacketBuilder::ipv6([0; 16], to, 255).udp(1, 2).write(&mut bytes, b"").unwrap();
            assert_eq!(read(&bytes), Err(Refusal::LinkLocal), "{destination}");
        }
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [239, 1, 1, 1], 1).udp(1, 2).write(&mut bytes, b"").unwrap();
        assert!(read(&bytes).is_ok(), "groups of wider scope pass");
    }

    #[test]
    fn what_is_not_whole_is_malformed() {
        for whole in datagrams(1, b"hello") {
            assert!(read(&whole).is_ok());
            for length in 0..whole.len() {
                assert_eq!(read(&whole[..length]), Err(Refusal::Malformed), "{length} of {}", whole.len());
            }
            let mut other = whole.clone();
            other[0] = other[0] & 0xf | 5 << 4;
            assert_eq!(read(&other), Err(Refusal::Malformed), "IP version 5");
        }
        let [mut four, mut six] = datagrams(1, b"hello");
        four[8] ^= 1;
        assert_eq!(read(&four), Err(Refusal::Malformed), "the header's checksum covers the time to live");
        // A UDP length beyond the datagram's end.
        six[44] = 1;
        assert_eq!(read(&six), Err(Refusal::Malformed));
    }

    proptest! {
        /// Whatever arrives, reading it ends and gives a length that is there; what is accepted can be marked.
        #[test]
        fn no_bytes_are_too_strange(mut bytes in prop::collection::vec(any::<u8>(), 0..200), version in 0..3_u8) {
            if let (Some(first), 1..) = (bytes.first_mut(), version) {
                *first = if version == 1 { 0x45 } else { 0x60 | *first & 0xf };
            }
            if version == 1 && bytes.len() >= 20 {
                let length = (bytes.len() as u16).to_be_bytes();
                bytes[2..4].copy_from_slice(&length);
                bytes[10..12].fill(0);
                let sum = checksum::of(&bytes[..20]).to_be_bytes();
                bytes[10..12].copy_from_slice(&sum);
            }
            if let Ok(header) = read(&bytes) {
                prop_assert!(header.length <= bytes.len());
                set_ecn(&mut bytes, Ecn::Ce);
                prop_assert_eq!(read(&bytes), Ok(Header { ecn: Ecn::Ce, ..header }));
            }
        }

        /// A mark changes the ECN field and the header's checksum, and nothing else.
        #[test]
        fn a_mark_is_only_a_mark(class: u8, ecn in 0..4_u8, payload in prop::collection::vec(any::<u8>(), 0..50)) {
            for (index, before) in datagrams(class, &payload).into_iter().enumerate() {
                let mut after = before.clone();
                set_ecn(&mut after, codepoint(ecn));
                let expected = &datagrams(class & !3 | ecn, &payload)[index];
                prop_assert_eq!(&after, expected, "as if it had been sent so");
                prop_assert_eq!(read(&after).unwrap().ecn, codepoint(ecn));
            }
        }
    }
}
