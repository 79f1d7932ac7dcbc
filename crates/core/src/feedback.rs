//! What a sender's controller is told: records of sent packets, handed back when they are acknowledged or lost,
//! with the round trip time, echoes of marks, and the receiver's report. One batch per packet received.

use crate::annex::Envelope;
use crate::delivery::DeliverySample;
use crate::marks::Echoes;
use crate::packet::PairPosition;
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
    /// Whether the application had nothing to send when the packet before it had left: it, not the window or the rate,
    /// set the time at which this one leaves (RFC 5348 §8.2.1).
    pub app_limited: bool,
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

/// A segment's way to the receiver, by two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWay {
    /// When it left, by the sender's clock.
    pub sent_at: Time,
    /// When it arrived, by the receiver's.
    pub arrived: Time,
}

impl OneWay {
    /// Its delay beyond an arbitrary constant, which stays the same as long as the clocks differ by the same: for
    /// differences only. Longer delays are longer, though the receiver's clock be behind.
    pub const fn relative(self) -> Span {
        /// 73 years: further apart clocks are not.
        const OFFSET: u64 = 1 << 61;
        let later = self.arrived.as_nanos().wrapping_add(OFFSET);
        Span::from_nanos(later.saturating_sub(self.sent_at.as_nanos()))
    }
}

/// Why the window must shrink or may grow again. At most one per batch, a loss before an ECN echo: who reacts to every
/// mark reads [`Feedback::echoes`], which stand beside a loss, too.
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
    /// Marks that the receiver echoed in this batch, whatever else it says. Where the receiver counts marks, every marked
    /// packet is told once, though acknowledgements be delayed or lost; else at most one of each kind per acknowledgement.
    pub echoes: Echoes,
    /// Bytes sent and not cumulatively acknowledged *before* this batch (`FlightSize` of RFC 5681).
    pub outstanding: Bytes,
    /// Bytes believed in the network after this batch (`pipe` of RFC 6675).
    pub in_flight: Bytes,
    /// Whether the window, not the application, limited the sender: else growth is not earned (RFC 7661).
    pub window_limited: bool,
    /// What to multiply every additive increase by: 1, unless a controller that wraps this one makes it more or less
    /// aggressive. Slow start is none.
    pub gain: f64,
    /// The receiver's report, if the packet carried one, with what every report tells.
    pub report: Option<&'a Envelope>,
    /// What the batch says of the delivery rate, where the scheme needs it (`Needs::delivery`) and the batch acknowledges or
    /// loses anything.
    pub delivery: Option<&'a DeliverySample>,
    /// The way of the segment that caused the acknowledgement, where segments are stamped (`Needs::stamps`); streams only.
    pub one_way: Option<OneWay>,
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
            echoes: Echoes::NONE,
            outstanding: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            window_limited: true,
            gain: 1.0,
            report: None,
            delivery: None,
            one_way: None,
        }
    }
}
