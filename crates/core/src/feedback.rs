//! What a sender's controller is told: records of sent packets, handed back when they are acknowledged or lost,
//! with the round trip time, echoes of marks, and the receiver's report. One batch per packet received.

use crate::annex::Report;
use crate::packet::{Packet, PairPosition};
use crate::time::{Span, Time};
use crate::units::Bytes;

/// A packet that leaves the sender.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its sequence number.
    pub number: u64,
    /// Bytes on the wire.
    pub size: Bytes,
    /// Bytes believed in the network, this packet included.
    pub in_flight: Bytes,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Its place in a probe.
    pub pair: PairPosition,
    /// The controller's own note: written in `on_sent`, handed back in [`Acked::tag`] or [`Lost::tag`].
    pub tag: u32,
}

/// A packet newly acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Its sequence number.
    pub number: u64,
    /// Bytes on the wire.
    pub size: Bytes,
    /// When it was last sent.
    pub sent_at: Time,
    /// Whether it was sent more than once, so that its round trip time is ambiguous (Karn).
    pub retransmitted: bool,
    /// Its place in a probe.
    pub pair: PairPosition,
    /// The controller's note.
    pub tag: u32,
}

/// A packet newly believed lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// Its sequence number.
    pub number: u64,
    /// Bytes on the wire.
    pub size: Bytes,
    /// When it was last sent.
    pub sent_at: Time,
    /// The controller's note.
    pub tag: u32,
}

/// Round trip times by RFC 6298.
#[derive(Clone, Copy, Debug)]
pub struct RttSample {
    /// The newest measurement.
    pub latest: Span,
    /// The smoothed round trip time.
    pub smoothed: Span,
    /// The smallest since the connection began.
    pub min: Span,
}

/// Why the window must shrink or may grow again. At most one per batch: a loss hides an ECN echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionEvent {
    /// Loss found by duplicate or selective acknowledgements: a recovery episode begins.
    Loss,
    /// An ECN echo, at most once per window of data (RFC 3168 §6.1.2).
    Ecn,
    /// The retransmission timer expired; `consecutive` counts from 1.
    Timeout {
        /// How many expiries there were in a row.
        consecutive: u32,
    },
    /// A recovery episode ended.
    RecoveryEnd,
    /// The last loss or time-out told was none: what was thought lost arrived late. The reduction may be taken back
    /// (RFC 9438 §4.9, RFC 4015).
    Spurious,
    /// Data is about to leave after nothing was sent for longer than the retransmission time-out: the acknowledgements
    /// that spaced the window's packets are gone (RFC 5681 §4.1).
    Idle,
}

/// What loss recovery is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing to repair.
    #[default]
    Open,
    /// Repairing after duplicate or selective acknowledgements.
    Fast,
    /// Repairing after a time-out: the window grows by slow start (RFC 5681 §3.1).
    Timeout,
}

/// Marks that the receiver echoed in this batch, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echoes {
    /// Congestion experienced.
    pub ce: u32,
    /// The utilization mark of `tdqm.txt`.
    pub rho: u32,
    /// The burstiness mark of `tdqm.txt`.
    pub eta: u32,
}

impl Echoes {
    /// What one acknowledgement echoes.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        Self { ce: u32::from(packet.ecn_echo()), rho: u32::from(packet.rho()), eta: u32::from(packet.eta()) }
    }
}

/// One batch of feedback.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Packets newly acknowledged, cumulatively or selectively, in the order of their numbers.
    pub acked: &'a [Acked],
    /// Bytes newly acknowledged *cumulatively*: what window growth counts (RFC 3465).
    pub advanced: Bytes,
    /// Packets newly believed lost.
    pub lost: &'a [Lost],
    /// A new round trip time, if this batch gave one.
    pub rtt: Option<RttSample>,
    /// Why the window must change other than by growth.
    pub event: Option<CongestionEvent>,
    /// What loss recovery is doing after this batch.
    pub recovery: Recovery,
    /// Echoed marks.
    pub echoes: Echoes,
    /// Bytes sent and not cumulatively acknowledged *before* this batch (`FlightSize` of RFC 5681).
    pub flight: Bytes,
    /// Bytes believed in the network after this batch (`pipe` of RFC 6675).
    pub in_flight: Bytes,
    /// Whether the window, not the application, limited the sender: else growth is not earned (RFC 7661).
    pub window_limited: bool,
    /// The receiver's report, if the packet carried one.
    pub report: Option<&'a Report>,
}

impl Feedback<'_> {
    /// A batch that says nothing; tests and simple transports fill in what they know.
    pub const fn empty() -> Self {
        Self {
            acked: &[],
            advanced: Bytes::ZERO,
            lost: &[],
            rtt: None,
            event: None,
            recovery: Recovery::Open,
            echoes: Echoes { ce: 0, rho: 0, eta: 0 },
            flight: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            window_limited: true,
            report: None,
        }
    }
}
