//! What the scheme `packet-pair` says of itself: its halves at either end, and what they want from the endpoints.

use tailback_core::{BitRate, Checker};

use super::{ControlledAt, PacketPair, PacketPairConfig, PacketPairPolicy, PacketPairRemote};
use crate::needs::{Acks, MarkResponse, Needs, Reliability};
use crate::parts::{ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};

/// The sender's half, by which end controls.
pub enum PacketPairSender {
    /// It runs the law itself.
    Controlling(Box<PacketPair>),
    /// It does what the receiver says.
    Following(Box<PacketPairRemote>),
}

impl SchemeConfig for PacketPairConfig {
    type Controller = PacketPairSender;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "packet-pair",
            summary: "Steers the bottleneck's queue to a setpoint by the spacing of acknowledgements of back-to-back pairs",
            source: "Keshav, Packet-Pair Flow Control, 1994",
            reliability: Reliability::Offsets,
            expects_discipline: "weighted-fair-queueing",
        }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn needs(&self) -> Needs {
        Needs {
            stamps: self.controlled_at == ControlledAt::Receiver,
            acks: Acks::PROMPT,
            marks: MarkResponse::Controller,
            ..Needs::over(Reliability::Offsets)
        }
    }

    fn guaranteed_rate(&self) -> Option<(&'static str, BitRate)> {
        self.nominal_rate.map(|rate| ("nominal_rate", rate))
    }

    fn check(&self, checker: &mut Checker) {
        self.check_fields(checker);
    }

    fn build(&self, params: &ControllerParams) -> Parts<PacketPairSender> {
        match self.controlled_at {
            ControlledAt::Sender => {
                Parts::sender(PacketPairSender::Controlling(Box::new(PacketPair::new(self, params))))
            }
            ControlledAt::Receiver => {
                let sender = PacketPairRemote::new(self, params);
                let policy = PacketPairPolicy::new(self, params);
                Parts::sender(PacketPairSender::Following(Box::new(sender))).with_policy(Some(policy))
            }
        }
    }
}
