//! Endpoints as pure state machines: reliability (what to send), shapers (when), application sources and the wire
//! codec. How much may be sent is decided in `control`; links live in `sim`, clocks and sockets in `net`.

#![expect(
    clippy::inline_always,
    reason = "a driver's loop holds one copy of each endpoint, whose two entries then need no calls, measured"
)]

mod application;
mod asking;
pub mod config;
pub mod counters;
pub mod datagram;
pub mod edge;
mod ends;
mod hints;
mod loss_detection;
pub mod multicast;
mod pacing;
pub mod receiver;
pub mod sender;
mod shaper;
pub mod source;
mod steering;
mod stream;
mod teller;
pub mod wire;

pub use config::{EcnMode, RtoConfig, RttSampling, SpuriousDetection, StreamConfig};
pub use counters::{ReceiverCounters, SenderCounters};
pub use datagram::{DatagramConfig, DatagramReceiver, DatagramSender};
pub use edge::{EdgeConfig, Egress, Ingress, ShapedGovernor};
pub use ends::{AnyReceiver, AnySender};
pub use loss_detection::{LossDetection, RackConfig};
pub use multicast::{MulticastSender, Silent};
pub use pacing::PacingConfig;
pub use receiver::{AckDetail, Receiver, ReceiverConfig, SackCompression};
pub use sender::Sender;
pub use shaper::{Shaper, Verdict};
pub use tailback_control::EcnEcho;
