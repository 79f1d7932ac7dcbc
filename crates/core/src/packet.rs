//! The packet as the simulator moves it: 24 bytes by value. Rare parts ride in an [`Annex`](crate::Annex);
//! the byte form of the wire lives in `transport::wire`.

use crate::ids::{AnnexId, FlowId};
use crate::units::Bytes;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A segment or datagram of the application; `number` is its sequence number.
    Data = 0,
    /// An acknowledgement; `number` is the next sequence number that the receiver expects.
    Ack = 1,
    /// A receiver's report to its sender; `number` is the time it left, in nanoseconds, for the sender to echo.
    Report = 2,
    /// A sender's control packet, for example one half of an in-band / out-of-band pair.
    Control = 3,
}

impl Kind {
    /// The kinds' names in results, in the order of their numbers.
    pub const NAMES: [&str; 4] = ["data", "ack", "report", "control"];
}

/// A forwarding lane: a priority discipline serves lower numbers first, every other discipline ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(u8);

impl Lane {
    /// Ordinary traffic, the default: the last of the lanes.
    pub const IN_BAND: Self = Self(1);
    /// The out-of-band lane of Xia et al., §IV-B, ahead of all others.
    pub const OUT_OF_BAND: Self = Self(0);
    /// How many lanes a packet can name.
    pub const COUNT: usize = 8;

    /// The lane of this number, or `None` beyond [`Lane::COUNT`].
    pub const fn new(number: u8) -> Option<Self> {
        if (number as usize) < Self::COUNT { Some(Self(number)) } else { None }
    }

    /// The lane's number; lower is served first.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// The ECN field of RFC 3168 §5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion shows as a drop.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint ECT(1) (L4S identifier of RFC 9331).
    Ect1 = 1,
    /// ECN-capable, codepoint ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The codepoints' names in results, in the order of their numbers in a header.
    pub const NAMES: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];
}

/// A data packet's place in a back-to-back probe (Keshav 1994, §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PairPosition {
    /// Not part of a probe.
    #[default]
    Single = 0,
    /// The first of a pair.
    First = 1,
    /// The second of a pair, sent back to back with the first.
    Second = 2,
}

impl PairPosition {
    /// The places' names in results, in the order of their numbers.
    pub const NAMES: [&str; 3] = ["single", "first", "second"];
}

/// Where a packet is on its route: an index into the flattened table of routes, advanced at every hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RouteCursor(pub u32);

/// A packet in a simulated network, or a packet's head beside its bytes in a real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The sequence number; what it counts depends on [`Kind`].
    pub number: u64,
    /// The flow, in both directions.
    pub flow: FlowId,
    /// The next hop.
    pub route: RouteCursor,
    /// The rare parts, if any; whoever drops the packet frees them.
    pub annex: AnnexId,
    size: u16,
    bits: u16,
}

// Layout of `bits`. Ten are common to all kinds, from the lowest: kind 2, lane 3, ecn 2, then, each alone, rho, eta and
// corrupted. The other six mean something else to each kind (`BY_KIND`), and are read together with it. Data uses all of
// them: pair 2, retransmitted, push, CWR, last; acknowledgements one, ECE; reports and control packets none yet.
const KIND: u16 = 3;
const LANE: u32 = 2;
const ECN: u32 = 5;
const RHO: u16 = 1 << 9;
const ETA: u16 = 1 << 10;
const CORRUPTED: u16 = 1 << 12;
const BY_KIND: u16 = 0b1110_1001_1000_0000;

/// Of data.
mod data {
    pub(super) const PAIR: u32 = 7;
    pub(super) const RETRANSMITTED: u16 = 1 << 11;
    pub(super) const PUSH: u16 = 1 << 13;
    pub(super) const CWR: u16 = 1 << 14;
    pub(super) const LAST: u16 = 1 << 15;
}

/// Of acknowledgements.
mod ack {
    pub(super) const ECE: u16 = 1 << 13;
}

const _: () = {
    let common = KIND | 7 << LANE | 3 << ECN | RHO | ETA | CORRUPTED;
    assert!(common ^ BY_KIND == u16::MAX, "a bit is either common or of a kind");
    let data = 3 << data::PAIR | data::RETRANSMITTED | data::PUSH | data::CWR | data::LAST;
    assert!((data | ack::ECE) & common == 0, "what is of one kind stands apart");
};

macro_rules! flag {
    ($get:ident, $set:ident, $bit:expr, $doc:literal) => {
        #[doc = $doc]
        pub const fn $get(&self) -> bool {
            self.bits & $bit != 0
        }
        #[doc = concat!("Sets: ", $doc)]
        pub const fn $set(&mut self, on: bool) {
            self.bits = if on { self.bits | $bit } else { self.bits & !$bit };
        }
    };
    ($get:ident, $set:ident, $kind:ident $bit:expr, $doc:literal) => {
        #[doc = concat!($doc, " No other kind of packet has it.")]
        pub const fn $get(&self) -> bool {
            self.bits & ($bit | KIND) == ($bit | Kind::$kind as u16)
        }
        #[doc = concat!("Sets: ", $doc, " A packet of another kind stays as it is.")]
        pub const fn $set(&mut self, on: bool) {
            if self.bits & KIND == Kind::$kind as u16 {
                self.bits = if on { self.bits | $bit } else { self.bits & !$bit };
            }
        }
    };
}

impl Packet {
    /// The largest packet, in bytes on the wire.
    pub const MAX_SIZE: Bytes = Bytes::new(u16::MAX as u64);

    /// A packet in the in-band lane, not ECN-capable, without annex or marks.
    ///
    /// `size` counts headers too and is cut at [`Packet::MAX_SIZE`].
    /// Its route is set by whoever forwards it.
    pub const fn new(kind: Kind, flow: FlowId, number: u64, size: Bytes) -> Self {
        let size = if size.get() > u16::MAX as u64 { u16::MAX } else { size.get() as u16 };
        let bits = kind as u16 | (Lane::IN_BAND.0 as u16) << LANE;
        Self { number, flow, route: RouteCursor(0), annex: AnnexId::NONE, size, bits }
    }

    /// The packet as three words, in which a call passes it in registers rather than through memory.
    #[inline]
    pub const fn words(self) -> (u64, u64, u64) {
        let way = self.flow.0 as u64 | (self.route.0 as u64) << 32;
        let rest = self.annex.number() as u64 | (self.size as u64) << 32 | (self.bits as u64) << 48;
        (self.number, way, rest)
    }

    /// The packet that [`Packet::words`] gave.
    #[inline]
    pub const fn from_words(number: u64, way: u64, rest: u64) -> Self {
        Self {
            number,
            flow: FlowId(way as u32),
            route: RouteCursor((way >> 32) as u32),
            annex: AnnexId::from_number(rest as u32),
            size: (rest >> 32) as u16,
            bits: (rest >> 48) as u16,
        }
    }

    /// The second of the [words](Packet::words), with another route.
    #[inline]
    pub const fn way_by(way: u64, route: RouteCursor) -> u64 {
        way & u32::MAX as u64 | (route.0 as u64) << 32
    }

    /// Bytes on the wire, headers included.
    pub const fn size(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }

    /// What the packet carries.
    pub const fn kind(&self) -> Kind {
        match self.bits & KIND {
            0 => Kind::Data,
            1 => Kind::Ack,
            2 => Kind::Report,
            _ => Kind::Control,
        }
    }

    /// Whether this is an acknowledgement that says nothing but its number.
    #[inline]
    pub const fn is_bare_ack(&self) -> bool {
        self.is_quiet_ack() && !self.annex.is_some()
    }

    /// Whether this is an acknowledgement whose flags say nothing, though its annex may.
    #[inline]
    pub const fn is_quiet_ack(&self) -> bool {
        self.bits & (KIND | RHO | ETA | ack::ECE) == Kind::Ack as u16
    }

    /// Whether this is data without marks, flags for the receiver or an annex, and not ECN-capable.
    #[inline]
    pub const fn is_bare_data(&self) -> bool {
        let said = KIND | 3 << ECN | RHO | ETA | CORRUPTED | data::CWR | data::PUSH;
        self.bits & said == Kind::Data as u16 && !self.annex.is_some()
    }

    /// The forwarding lane.
    pub const fn lane(&self) -> Lane {
        Lane((self.bits >> LANE & 7) as u8)
    }

    /// Puts the packet into a lane.
    pub const fn set_lane(&mut self, lane: Lane) {
        self.bits = self.bits & !(7 << LANE) | (lane.0 as u16) << LANE;
    }

    /// The ECN field.
    pub const fn ecn(&self) -> Ecn {
        match self.bits >> ECN & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Writes the ECN field.
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.bits = self.bits & !(3 << ECN) | (ecn as u16) << ECN;
    }

    /// Whether a router may mark instead of dropping (RFC 3168 §5).
    pub const fn is_ecn_capable(&self) -> bool {
        self.bits >> ECN & 3 != 0
    }

    /// The place in a probe; single for what is no data.
    pub const fn pair(&self) -> PairPosition {
        const FIRST: u16 = 1 << data::PAIR | Kind::Data as u16;
        const SECOND: u16 = 2 << data::PAIR | Kind::Data as u16;
        match self.bits & (3 << data::PAIR | KIND) {
            FIRST => PairPosition::First,
            SECOND => PairPosition::Second,
            _ => PairPosition::Single,
        }
    }

    /// Writes a data packet's place in a probe; a packet of another kind stays as it is.
    pub const fn set_pair(&mut self, pair: PairPosition) {
        if self.bits & KIND == Kind::Data as u16 {
            self.bits = self.bits & !(3 << data::PAIR) | (pair as u16) << data::PAIR;
        }
    }

    flag!(rho, set_rho, RHO, "The utilization mark of Li and Mills, §II-C; on acks its echo.");
    flag!(eta, set_eta, ETA, "The burstiness mark of Li and Mills, §II-C; on acks its echo.");
    flag!(is_corrupted, set_corrupted, CORRUPTED, "Damaged on the way: a receiver discards it.");
    flag!(is_retransmitted, set_retransmitted, Data data::RETRANSMITTED, "Data sent before (Karn's rule).");
    flag!(is_pushed, set_pushed, Data data::PUSH, "PSH of RFC 9293 §3.1 on data, which is acknowledged at once: the last segment of a train, or one for which a controller asked.");
    flag!(window_reduced, set_window_reduced, Data data::CWR, "CWR of RFC 3168 §6.1.2, on data.");
    flag!(is_last, set_last, Data data::LAST, "The last segment of an application's message.");
    flag!(ecn_echo, set_ecn_echo, Ack ack::ECE, "ECE of RFC 3168 §6.1, on acknowledgements.");

    /// The packed header bits, for the wire codec and the packet log; what they say is told by the other methods.
    pub const fn bits(&self) -> u16 {
        self.bits
    }

    /// Restores packed header bits that [`Packet::bits`] gave.
    pub const fn with_bits(mut self, bits: u16) -> Self {
        self.bits = bits;
        self
    }
}

/// An empty data packet of flow 0, to fill buffers with.
impl Default for Packet {
    fn default() -> Self {
        Self::new(Kind::Data, FlowId(0), 0, Bytes::ZERO)
    }
}

const _: () = assert!(size_of::<Packet>() == 24, "a ring slot is 32 bytes: 24 and the time");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_kind_says_no_other_kind_is_taken_to_say() {
        for (kind, name) in [Kind::Data, Kind::Ack, Kind::Report, Kind::Control].into_iter().zip(Kind::NAMES)
        {
            let all = Packet::new(kind, FlowId(0), 0, Bytes::ZERO).with_bits(!KIND | kind as u16);
            let data = [all.is_retransmitted(), all.is_pushed(), all.window_reduced(), all.is_last()];
            assert_eq!(data, [kind == Kind::Data; 4], "{name}");
            assert_eq!(all.ecn_echo(), kind == Kind::Ack, "{name}");
            let mut written = Packet::new(kind, FlowId(0), 0, Bytes::ZERO);
            let before = written.bits();
            written.set_pair(PairPosition::Second);
            assert_eq!(written.pair() == PairPosition::Second, kind == Kind::Data, "{name}");
            written.set_ecn_echo(true);
            let changed = matches!(kind, Kind::Data | Kind::Ack);
            assert_eq!(written.bits() != before, changed, "{name}");
            assert_eq!((written.kind(), written.lane()), (kind, Lane::IN_BAND));
        }
    }
}
