//! The rare parts of packets: SACK blocks, reports, control information. Where they are while their packet is on its way is in
//! `annexes.rs`.

use crate::ack_request::AckRequest;
use crate::arrivals::ArrivalWord;
use crate::marks::Echoes;
use crate::time::{Span, Time};
use crate::units::{BitRate, Bytes};

/// A half-open range of sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeqRange {
    /// The first number within.
    pub start: u64,
    /// The first number beyond.
    pub end: u64,
}

/// What an acknowledgement says beyond its cumulative number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckBlocks {
    /// Up to four received ranges above the cumulative number, the most recent first (RFC 2018 §4).
    pub blocks: [SeqRange; 4],
    /// How many of `blocks` are in use.
    pub count: u8,
    /// The number of the segment that caused this acknowledgement; packet-pair's offset is `trigger - number`.
    pub trigger: u64,
    /// The send time stamped into the segment that caused this acknowledgement (RFC 7323 §3), if stamped.
    pub echo: Option<Time>,
    /// When that segment arrived, by the receiver's clock: with `echo`, its one-way delay up to what the clocks differ by.
    pub arrived: Option<Time>,
    /// Marked data packets that arrived since the flow began, where the receiver counts them; nothing elsewhere. A sum
    /// outlives acknowledgements that are delayed, merged or lost.
    pub marks: Echoes,
}

impl AckBlocks {
    /// The blocks in use.
    #[inline]
    pub fn as_slice(&self) -> &[SeqRange] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// A sender's control packet (Xia et al., §IV-B.1), or the stamp that a data packet carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlInfo {
    /// Which pair of control packets this one belongs to; 0 on data.
    pub pair: u64,
    /// Data packets that the flow has sent so far, on data itself included: which transmission of the flow it is.
    pub packets_sent: u64,
    /// Data bytes that the flow has sent so far, on data itself included, for loss detection at the receiver; a running
    /// sum outlives lost control packets.
    pub bytes_sent: Bytes,
    /// Bytes believed in the network, this packet included: the sender's state for a receiver that controls it
    /// (Keshav 1994, §10.4).
    pub in_flight: Bytes,
    /// Virtual queueing delay that routers added on the way (AVD, §IV-D).
    pub virtual_delay: Span,
    /// When it left its sender.
    pub sent_at: Time,
    /// The send time of the newest report received, echoed so that the receiver can measure the round trip time.
    pub echo: Option<Time>,
    /// How long that report was held before this packet left.
    pub held: Span,
    /// The sender's smoothed round trip time, once measured (RFC 5348 §3.2.1).
    pub rtt: Option<Span>,
    /// The rate at which the application says that it sends, headers not counted, where it says so
    /// ([`AppHint`](crate::AppHint) is the way back).
    pub app_rate: Option<BitRate>,
    /// How the receiver is asked to acknowledge, where the packet asks.
    pub request: Option<AckRequest>,
}

/// A receiver's report as it travels: what every report tells, and what the scheme has to say. Policies write the
/// [`Report`]; the receiving endpoint adds the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The send time of the newest stamped packet (data or control) that arrived in the in-band lane, if any did. What
    /// overtakes data in another lane is not echoed.
    pub echo: Option<Time>,
    /// How long that stamp was held here before this report left.
    pub held: Span,
    /// Data bytes that had arrived when the echoed packet had, itself included, since the flow began; copies count.
    /// Without an echo, when this report left.
    pub arrived_bytes: Bytes,
    /// Data packets, counted likewise.
    pub arrived_packets: u64,
    /// What the scheme says.
    pub report: Report,
}

impl Envelope {
    /// A report of a receiver that has seen nothing.
    pub const fn bare(report: Report) -> Self {
        Self { echo: None, held: Span::ZERO, arrived_bytes: Bytes::ZERO, arrived_packets: 0, report }
    }

    /// When the echoed packet would have left, had the report not been held; `None` without an echo, or with one that
    /// lies in the future.
    pub fn left(&self, now: Time) -> Option<Time> {
        self.echo.map(|echo| echo + self.held).filter(|left| *left <= now)
    }

    /// The round trip time that this report measures when it arrives: from the echoed packet's departure, without the
    /// time that it was held (RFC 5348 §4.3 step 1).
    pub fn round_trip(&self, now: Time) -> Option<Span> {
        self.left(now).map(|left| now.since(left))
    }
}

/// What a scheme's receiver reports. Each variant is the language of one family of schemes.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// What arrived during an interval (generic rate control and SAC, Tuan and Park, §3).
    Interval {
        /// The interval's length.
        span: Span,
        /// Bytes that arrived.
        received: Bytes,
        /// Packets that arrived.
        packets: u32,
        /// Packets missing from the sequence.
        lost: u32,
    },
    /// Loss event rate and receive rate (TFRC, RFC 5348 §3.2.2; PCC, Widmer et al., §3.3).
    Loss {
        /// Loss events per packet, 0 to 1.
        event_rate: f64,
        /// Rate at which data arrived since the last report.
        receive_rate: BitRate,
    },
    /// Accumulation, measured at the receiver (Xia et al., §IV-B).
    Accumulation {
        /// The control pair that it was measured with.
        pair: u64,
        /// The flow's bytes queued along its path, by this estimate; may be negative through noise.
        backlog: f64,
        /// Data bytes lost in the control period.
        lost: Bytes,
        /// Exponentially averaged rate of arrival.
        egress_rate: BitRate,
        /// The part of the queueing time that is virtual: what AVD routers wrote into the control packet.
        virtual_delay: Span,
    },
    /// A gate command (PCC's receiver suspends and resumes the sender, Widmer et al., §3.4).
    Gate {
        /// Whether data may flow.
        on: bool,
        /// How long a suspension lasts.
        off_for: Span,
    },
    /// The rate at which the sender is to send (packet-pair run at the receiver, Keshav 1994, §10.4).
    Rate {
        /// The rate.
        rate: BitRate,
        /// What the bottleneck's queue is steered to, for observers at the sender.
        setpoint: Bytes,
    },
    /// Which packets arrived when, and how marked (RFC 8888 §3.1).
    Arrivals {
        /// The number of the first packet that is told of.
        first: u64,
        /// When the report left, by the receiver's clock, in whole units of 1/65536 s.
        left: Time,
        /// A word for each packet from `first` on.
        words: Box<[ArrivalWord]>,
    },
    /// Anything else, for schemes outside this library: numbers whose meaning both ends know.
    Custom(Box<[f64]>),
}

/// The rare part of one packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Annex {
    /// Of an acknowledgement.
    Blocks(AckBlocks),
    /// Of a control packet or stamped data packet.
    Control(ControlInfo),
    /// Of a data packet without a stamp that asks its receiver how to acknowledge.
    Request(AckRequest),
    /// Of a report.
    Report(Box<Envelope>),
    /// Opaque bytes of schemes outside this library.
    Custom(Box<[u8]>),
}

impl Annex {
    /// The time that was stamped into a packet of data, if this is its stamp.
    #[inline]
    pub const fn stamped_at(&self) -> Option<Time> {
        if let Self::Control(stamp) = self { Some(stamp.sent_at) } else { None }
    }

    /// What it asks of the receiver's acknowledgements, if anything.
    #[inline]
    pub const fn request(&self) -> Option<AckRequest> {
        match self {
            Self::Control(stamp) => stamp.request,
            Self::Request(request) => Some(*request),
            Self::Blocks(_) | Self::Report(_) | Self::Custom(_) => None,
        }
    }
}

const _: () = assert!(
    size_of::<Annex>() == size_of::<AckBlocks>(),
    "an annex is as large as what acknowledgements say"
);
