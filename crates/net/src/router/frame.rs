//! What a router reads in datagrams of our own endpoints, and what it writes there. Only where they are in the clear, as in a
//! network of our own; the format is `wire`'s.

use tailback_core::{Annex, Packet};
use tailback_transport::wire;

use super::checksum;

/// Bytes of UDP's header, and where its checksum stands.
const UDP_HEADER: usize = 8;
const UDP_CHECKSUM: usize = 6;
/// Of IPv4's header, where the protocol and the addresses stand.
const PROTOCOL: usize = 9;
const ADDRESSES: std::ops::Range<usize> = 12..20;
const UDP: u8 = 17;

/// What links may know of the frame in an IP packet: the bits of its head, and what it carries for routers. Nothing where there
/// is no frame.
pub(super) fn read(bytes: &[u8]) -> Option<(u16, Option<Annex>)> {
    let frame = wire::decode(bytes.get(frame_at(bytes)?..)?).ok()?;
    // Only a control packet's annex has something for routers: the virtual delay so far.
    let annex = frame.annex.filter(|annex| matches!(annex, Annex::Control(_)));
    Some((frame.packet.bits(), annex))
}

/// Writes into the frame of an IP packet what links have changed: marks and virtual delay. The ECN field stands in the IP header
/// only.
pub(super) fn write(bytes: &mut [u8], packet: &Packet, annex: Option<&Annex>) {
    let Some(at) = frame_at(bytes) else { return };
    let Some(written) = changed(&bytes[at..], packet, annex) else { return };
    bytes[at..].copy_from_slice(&written);
    sum_anew(bytes, at);
}

/// The frame as it is to be, where that differs.
fn changed(frame: &[u8], packet: &Packet, annex: Option<&Annex>) -> Option<Vec<u8>> {
    let mut known = wire::decode(frame).ok()?;
    let mut differs = known.packet.rho() != packet.rho() || known.packet.eta() != packet.eta();
    known.packet.set_rho(packet.rho());
    known.packet.set_eta(packet.eta());
    if let (Some(Annex::Control(told)), Some(Annex::Control(now))) = (&mut known.annex, annex) {
        differs |= told.virtual_delay != now.virtual_delay;
        told.virtual_delay = now.virtual_delay;
    }
    if !differs {
        return None;
    }
    let mut written = Vec::with_capacity(frame.len());
    wire::encode(&known.packet, known.annex.as_ref(), known.offset, known.payload, &mut written).ok()?;
    (written.len() == frame.len()).then_some(written)
}

/// Where the payload of a UDP datagram over IPv4 begins.
fn frame_at(bytes: &[u8]) -> Option<usize> {
    let first = *bytes.first()?;
    let is_udp = first >> 4 == 4 && *bytes.get(PROTOCOL)? == UDP;
    let at = usize::from(first & 0xf) * 4 + UDP_HEADER;
    (is_udp && at <= bytes.len()).then_some(at)
}

/// Brings UDP's checksum up to date (RFC 768).
fn sum_anew(bytes: &mut [u8], frame_at: usize) {
    let start = frame_at - UDP_HEADER;
    bytes[start + UDP_CHECKSUM..start + UDP_CHECKSUM + 2].fill(0);
    let length = (bytes.len() - start) as u16;
    let mut summed = Vec::with_capacity(12 + bytes.len() - start);
    summed.extend_from_slice(&bytes[ADDRESSES]);
    summed.extend([0, UDP]);
    summed.extend(length.to_be_bytes());
    summed.extend_from_slice(&bytes[start..]);
    // Zero means that there is none.
    let sum = match checksum::of(&summed) {
        0 => u16::MAX,
        sum => sum,
    };
    bytes[start + UDP_CHECKSUM..start + UDP_CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
    use tailback_core::{Bytes, ControlInfo, FlowId, Kind, Lane, Span};

    use super::*;

    fn datagram(packet: &Packet, annex: Option<&Annex>, payload: &[u8]) -> Vec<u8> {
        let (mut frame, mut bytes) = (Vec::new(), Vec::new());
        wire::encode(packet, annex, 7, payload, &mut frame).unwrap();
        PacketBuilder::ipv4([198, 18, 0, 1], [198, 18, 0, 2], 64)
            .udp(5, 6)
            .write(&mut bytes, &frame)
            .unwrap();
        bytes
    }

    fn checksum_fits(bytes: &[u8]) -> bool {
        let sliced = SlicedPacket::from_ip(bytes).unwrap();
        let ip = sliced.net.as_ref().unwrap().ipv4_ref().unwrap().header();
        let Some(TransportSlice::Udp(udp)) = sliced.transport else { return false };
        let calculated = udp.to_header().calc_checksum_ipv4(&ip.to_header(), udp.payload()).unwrap();
        udp.checksum() == calculated
    }

    #[test]
    fn marks_and_virtual_delay_arrive_and_nothing_else_changes() {
        let mut packet = Packet::new(Kind::Control, FlowId(3), 9, Bytes::new(40));
        packet.set_lane(Lane::OUT_OF_BAND);
        let annex = Annex::Control(ControlInfo { pair: 4, ..ControlInfo::default() });
        let mut bytes = datagram(&packet, Some(&annex), &[]);
        let (bits, seen) = read(&bytes).unwrap();
        let mut inside = Packet::new(Kind::Data, FlowId(0), 1, Bytes::new(100)).with_bits(bits);
        assert_eq!((inside.kind(), inside.lane()), (Kind::Control, Lane::OUT_OF_BAND));
        let before = bytes.clone();
        write(&mut bytes, &inside, seen.as_ref());
        assert_eq!(bytes, before, "nothing to write");

        inside.set_rho(true);
        let Some(Annex::Control(mut control)) = seen else { panic!("what it carries is seen") };
        control.virtual_delay = Span::from_millis(3);
        write(&mut bytes, &inside, Some(&Annex::Control(control)));
        assert!(checksum_fits(&bytes));
        let frame = wire::decode(&bytes[28..]).unwrap();
        assert!(frame.packet.rho() && !frame.packet.eta());
        assert_eq!((frame.packet.number, frame.packet.flow), (9, FlowId(3)));
        let Some(Annex::Control(told)) = frame.annex else { panic!("still there") };
        assert_eq!((told.pair, told.virtual_delay), (4, Span::from_millis(3)));
    }

    #[test]
    fn what_is_no_frame_is_left_alone() {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5, 6).write(&mut bytes, b"hello").unwrap();
        assert_eq!(read(&bytes), None);
        for length in 0..bytes.len() {
            assert_eq!(read(&bytes[..length]), None);
        }
        let mut marked = Packet::new(Kind::Data, FlowId(0), 0, Bytes::new(33));
        marked.set_rho(true);
        let before = bytes.clone();
        write(&mut bytes, &marked, None);
        assert_eq!(bytes, before);
    }
}
