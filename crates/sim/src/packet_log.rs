//! The optional packet log and the digest: one row per thing that happened to a packet, or one number that tells
//! whether two runs did the same. Captures for Wireshark are made from the log in Python.

use tailback_core::rng::mix;
use tailback_core::{DropReason, FlowId, LinkId, Packet, Time};

use crate::recorder::{PacketEvent, Recorder};

/// What a row of the log says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LogKind {
    /// An endpoint sent the packet.
    Sent = 0,
    /// It was offered to a link, which took it in unless a row of a drop follows.
    Offered = 1,
    /// A link dropped it.
    Dropped = 2,
    /// It reached its endpoint.
    Delivered = 3,
}

impl LogKind {
    /// The kinds' names in results, in the order of their numbers.
    pub const NAMES: [&str; 4] = ["sent", "offered", "dropped", "delivered"];
}

/// The bytes of a row of the log.
const ROW: u64 = 39;

/// The packet log, in columns of equal length.
#[derive(Debug, Default)]
pub struct PacketLog {
    /// Nanoseconds since the start.
    pub time: Vec<u64>,
    /// A [`LogKind`].
    pub kind: Vec<u8>,
    /// The flow.
    pub flow: Vec<u32>,
    /// The link; `u32::MAX` at endpoints.
    pub link: Vec<u32>,
    /// The sequence number.
    pub number: Vec<u64>,
    /// Bytes on the wire.
    pub size: Vec<u16>,
    /// The packed header bits ([`Packet::bits`]); whoever reads them asks a packet.
    pub bits: Vec<u16>,
    /// A [`DropReason`]; 255 where nothing was dropped.
    pub reason: Vec<u8>,
}

impl PacketLog {
    /// How many bytes it takes: what its columns add up to.
    #[inline]
    pub fn bytes(&self) -> u64 {
        ROW * self.time.len() as u64
    }

    fn row(&mut self, now: Time, kind: LogKind, link: Option<LinkId>, packet: &Packet, reason: u8) {
        self.time.push(now.as_nanos());
        self.kind.push(kind as u8);
        self.flow.push(packet.flow.0);
        self.link.push(link.map_or(u32::MAX, |link| link.0));
        self.number.push(packet.number);
        self.size.push(packet.size().get() as u16);
        self.bits.push(packet.bits());
        self.reason.push(reason);
    }
}

impl Recorder for PacketLog {
    const PACKETS: bool = true;

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        match event {
            PacketEvent::Sent(_, packet) => self.row(now, LogKind::Sent, None, packet, u8::MAX),
            PacketEvent::Offered(link, packet) => {
                self.row(now, LogKind::Offered, Some(link), packet, u8::MAX);
            }
            PacketEvent::Dropped(link, packet, reason) => {
                self.row(now, LogKind::Dropped, Some(link), packet, reason as u8);
            }
            PacketEvent::Delivered(_, packet) => self.row(now, LogKind::Delivered, None, packet, u8::MAX),
            PacketEvent::Served { .. } => {}
        }
    }
}

/// One number over every delivery and drop: equal digests mean that two runs moved the same packets at the same
/// times. The order of things that happen at one instant at different places does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// The number.
    pub fn value(self) -> u64 {
        self.0
    }

    fn add(&mut self, now: Time, flow: FlowId, packet: &Packet, what: u64) {
        let name = u64::from(flow.0) << 32 | u64::from(packet.bits()) << 8 | what;
        self.0 = self.0.wrapping_add(mix(mix(now.as_nanos() ^ mix(name)) ^ packet.number));
    }
}

impl Recorder for Digest {
    const PACKETS: bool = true;

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        match event {
            PacketEvent::Delivered(flow, packet) => self.add(now, flow, packet, 255),
            PacketEvent::Dropped(link, packet, reason) => {
                self.add(now, packet.flow, packet, dropped_at(link, reason));
            }
            PacketEvent::Sent(..) | PacketEvent::Offered(..) | PacketEvent::Served { .. } => {}
        }
    }
}

fn dropped_at(link: LinkId, reason: DropReason) -> u64 {
    u64::from(link.0) << 3 | reason as u64
}
