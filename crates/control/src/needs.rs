//! What a scheme wants from the endpoints that carry it: the only channel from a scheme to them, so that a scheme that
//! wraps another can hand on all of it. What the endpoints do about it is in `crates/transport`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Ecn;

/// How lost data is found and repaired; implemented in `transport`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reliability {
    /// Fast retransmit and fast recovery of one segment per episode (RFC 5681 §3.2).
    Reno,
    /// Recovery by partial acknowledgements (RFC 6582).
    NewReno,
    /// Reno's, with segments retransmitted by a timer of fine grain, before three duplicates have come (Brakmo and Peterson
    /// 1995, §III-A).
    Vegas,
    /// Scoreboard recovery by selective acknowledgements (RFC 2018, RFC 6675).
    Sack,
    /// Recovery by the offsets of acknowledgements and a soft time-out (Keshav 1994, appendix).
    Offsets,
    /// Nothing is repaired: datagrams.
    Datagram,
}

/// Whether data leaves ECN-capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnMode {
    /// Not ECN-capable.
    #[default]
    Off,
    /// ECT(0) on first transmissions of data (RFC 3168 §6.1).
    Ect0,
    /// ECT(1) on first transmissions of data (RFC 9331).
    Ect1,
}

impl EcnMode {
    /// The field of the IP header that data leaves with.
    #[inline]
    pub const fn codepoint(self) -> Ecn {
        match self {
            Self::Off => Ecn::NotEct,
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
        }
    }
}

/// How a receiver echoes congestion marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnEcho {
    /// On all acknowledgements from a mark until the sender says that it reduced its window (RFC 3168 §6.1.3).
    #[default]
    Latched,
    /// On the acknowledgement of the marked packets only.
    PerPacket,
    /// On every acknowledgement, as the newest packet in order was or was not marked. Where that changes, what waits to be
    /// acknowledged is so at once, with the old value: so that a sender can tell marked bytes from others though
    /// acknowledgements are delayed (DCTCP, RFC 8257 §3.2).
    StateChange,
    /// Not at all as such: acknowledgements count the marked packets so far, so that none is missed where acknowledgements
    /// are delayed, merged or lost, as in accurate ECN feedback (RFC 9768 §3.2). The marks of utilization and burstiness
    /// are counted likewise. A packet with congestion experienced is acknowledged at once.
    Counted,
    /// Counted, where two marks share the ECN field: ECT(0) was sent, ECT(1) is a mark of burstiness, and congestion
    /// experienced one of utilization. Packets lose the former where they get the latter.
    Codepoints,
    /// Not at all: a receiver that hides marks to get more than its share. No scheme can ask for another echo.
    Hidden,
}

/// Who answers an echo of a congestion mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkResponse {
    /// Controller and endpoint together, by RFC 3168 §6.1.2: the controller reduces its window; an echo at a window of one
    /// segment, which cannot shrink, silences the sender until the retransmission timer expires.
    #[default]
    Rfc3168,
    /// The controller alone, which may as well ignore marks; the endpoint does nothing but tell it.
    Controller,
}

/// How often the receiver acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acks {
    /// As the receiver is configured: acknowledgements may be delayed, and datagrams need none.
    #[default]
    AsConfigured,
    /// At the latest after so many data packets in order, at least 1. Datagrams, each of which has an acknowledgement of
    /// its own or none, are then all acknowledged.
    Every(u32),
}

impl Acks {
    /// Every packet at once: delayed acknowledgements would spoil what the scheme measures.
    pub const PROMPT: Self = Self::Every(1);

    /// The number of packets per acknowledgement where the receiver is configured to wait for `configured`.
    pub fn at_most(self, configured: u32) -> u32 {
        match self {
            Self::AsConfigured => configured,
            Self::Every(count) => configured.min(count.max(1)),
        }
    }
}

/// What a scheme wants from its endpoints. Later wants (times of arrival) are further fields here, and nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a want of its own")]
pub struct Needs {
    /// How lost data is repaired.
    pub reliability: Reliability,
    /// How data leaves where the scenario leaves [`EcnMode::Off`]; where it asks for a codepoint, that counts.
    pub ecn: EcnMode,
    /// How marks are echoed; `None` for as the receiver is configured.
    pub echo: Option<EcnEcho>,
    /// Who answers echoes.
    pub marks: MarkResponse,
    /// Data packets carry a [`ControlInfo`](tailback_core::ControlInfo) stamp for the feedback policy.
    pub stamps: bool,
    /// How often the receiver acknowledges.
    pub acks: Acks,
    /// Feedback has samples of the delivery rate ([`DeliverySample`](tailback_core::DeliverySample)); streams only.
    pub delivery: bool,
    /// A retransmission that what left after it has overtaken is lost (RFC 8985 §6.2), not only once the timer expires; over
    /// selective acknowledgements only.
    pub lost_retransmissions: bool,
    /// The controller is asked how its receiver is to acknowledge ([`Controller::ack_wish`](tailback_core::Controller::ack_wish)),
    /// and the receiver heeds what it is asked; streams only.
    pub ack_requests: bool,
}

impl Needs {
    /// Repair of this kind, and nothing else that a TCP of RFC 5681 and RFC 3168 would not have.
    pub const fn over(reliability: Reliability) -> Self {
        Self {
            reliability,
            ecn: EcnMode::Off,
            echo: None,
            marks: MarkResponse::Rfc3168,
            stamps: false,
            acks: Acks::AsConfigured,
            delivery: false,
            lost_retransmissions: false,
            ack_requests: false,
        }
    }

    /// The codepoint where the scenario asks for `asked`.
    #[must_use]
    pub fn ecn_mode(&self, asked: EcnMode) -> EcnMode {
        if asked == EcnMode::Off { self.ecn } else { asked }
    }
}

impl Default for Needs {
    /// Over selective acknowledgements.
    fn default() -> Self {
        Self::over(Reliability::Sack)
    }
}
