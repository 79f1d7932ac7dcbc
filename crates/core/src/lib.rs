//! What every other crate speaks: unit types, identifiers, packets, feedback, the traits and random streams.
//! No algorithm, no clock, no socket and no event lives here.
//!
//! A packet's way, the same in every world: *application → reliability (what to send) → controller's directive
//! → shaper (when) → link: discipline → server → propagation → … → receiver: reliability (deliver) and feedback
//! policy (report) → back to the controller*. The traits below are the joints of that way:
//!
//! | trait | decides |
//! | --- | --- |
//! | [`Controller`] | how much and how fast a sender may send |
//! | [`FeedbackPolicy`] | what a receiver reports, when, and in which lane |
//! | [`QueueDiscipline`] | order, drops, marks and virtual delay at a link |
//! | [`ArrivalPolicy`] | the same for a first-in first-out queue that acts on arrivals only |
//! | [`Governor`] | when packets leave a link, in place of a rate |
//! | [`Endpoint`] | one end of a flow, as a pure state machine |

pub mod ack_request;
pub mod annex;
pub mod annexes;
pub mod arrivals;
mod brief;
pub mod check;
pub mod choice;
pub mod controller;
pub mod custom;
pub mod delivery;
pub mod distribution;
pub mod endpoint;
pub mod feedback;
pub mod fetch;
pub mod governor;
pub mod ids;
pub mod marks;
pub mod or_none;
pub mod packet;
pub mod policy;
pub mod queue;
pub mod rng;
mod rounding;
pub mod texts;
pub mod time;
pub mod units;
pub mod written;

pub use ack_request::{AckFrequency, AckRequest, AckWish};
pub use annex::{AckBlocks, Annex, ControlInfo, Envelope, Report, SeqRange};
pub use annexes::{Annexes, Said};
pub use arrivals::{ArrivalWord, report_stamp};
pub use brief::{Brief, LowRange, Ranges};
pub use check::{Checker, FieldError};
pub use choice::Choice;
pub use controller::{Burst, Controller, Cx, Directive, Gate, GateTimes, ProbePlan, Tokens};
pub use delivery::{DeliverySample, LostThen};
pub use distribution::{Distribution, Quantity};
pub use endpoint::{
    AppHint, AppInput, EdgeEndpoint, Endpoint, EndpointCx, Event, Input, Observation, Output,
};
pub use feedback::{Acked, CongestionEvent, Feedback, Lost, OneWay, Recovery, RttSample, Sent};
pub use governor::{Allowance, Governor};
pub use ids::{AnnexId, FlowId, LinkId, NodeId};
pub use marks::Echoes;
pub use packet::{Ecn, Kind, Lane, Packet, PairPosition, RouteCursor};
pub use policy::{Arrival, FeedbackPolicy, Outgoing};
pub use queue::{ArrivalPolicy, Backlog, DropReason, QueueCx, QueueDiscipline, Verdict};
pub use rng::{Stream, StreamName};
pub use texts::Texts;
pub use time::{Span, Time};
pub use units::{BitRate, Bytes, Capacity, DataAmount};
pub use written::UnitError;
