//! What a sender knows of the delivery of its data, told with a batch of feedback to schemes that ask for it. How it is
//! measured is in `crates/control/src/estimators/delivery_rate.rs`.

use crate::time::{Span, Time};
use crate::units::{BitRate, Bytes};

/// A packet newly believed lost, with what was known when it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostThen {
    /// Bytes on the wire.
    pub size: Bytes,
    /// Bytes in the network when it left, itself included.
    pub in_flight: Bytes,
    /// Bytes believed lost since it left, itself included.
    pub lost_since: Bytes,
    /// Bytes delivered since the connection began, when it left.
    pub delivered_then: Bytes,
    /// Whether it left while the application limited the sender.
    pub app_limited: bool,
}

/// One sample of the delivery rate, and the counts that belong to it (draft-ietf-ccwg-bbr §4.1; once
/// draft-cheng-iccrg-delivery-rate-estimation).
///
/// "The packet" is the newest-sent one that this batch acknowledges; without any, what is said of it is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeliverySample {
    /// Bytes delivered since the connection began: acknowledged, cumulatively or selectively.
    pub delivered: Bytes,
    /// Bytes ever believed lost.
    pub lost: Bytes,
    /// Bytes that this batch acknowledges.
    pub newly_acked: Bytes,
    /// Bytes that this batch takes for lost.
    pub newly_lost: Bytes,
    /// The delivery rate since the packet left. `None` without a packet, or over less than the smallest round trip
    /// time, when it would say more of bursts than of the path.
    pub rate: Option<BitRate>,
    /// The time over which the rate is measured.
    pub interval: Span,
    /// When the packet left.
    pub sent_at: Time,
    /// `delivered` when the packet left.
    pub prior_delivered: Bytes,
    /// Bytes in the network when the packet left, itself included.
    pub prior_in_flight: Bytes,
    /// Bytes believed lost since the packet left.
    pub lost_since: Bytes,
    /// Whether the packet left while the application limited the sender: the rate may be the application's.
    pub app_limited: bool,
    /// The packet's round trip time; `None` where it was sent more than once.
    pub rtt: Option<Span>,
    /// A round begins: the packet left after all that was delivered when the last one began.
    pub round_start: bool,
    /// Packets newly believed lost, in the order in which they were found.
    pub losses: Vec<LostThen>,
}
