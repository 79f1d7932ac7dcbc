//! A router of real packets: they come in by one device, pass links with the simulator's queues, rates, delays and losses, and
//! leave by another. What endpoints do over sockets lives in `udp.rs`.

mod checksum;
mod flows;
mod forwarder;
mod frame;
pub mod ip;
mod lateness;
mod namespace;
mod outside;
mod programs;
#[expect(clippy::module_inception, reason = "the router itself, beside its parts")]
mod router;
mod server;
mod session;
mod store;
mod tun;
mod verdict;
mod waiter;

pub use flows::{FlowTally, Tally};
pub use forwarder::{DeviceCounters, Forwarder, Outlet, RouterEvent, RouterRecorder, Rule};
pub use ip::{FlowKey, Header, Refusal};
pub use lateness::Spans;
pub use namespace::Namespace;
pub use programs::Program;
pub use router::Router;
pub use server::ServerEnded;
pub(crate) use session::unread_of;
pub use session::{Ended, Ends, FarEnd, SessionConfig, Words};
pub use store::serial;
pub use tun::Tun;
pub use verdict::{Budget, Conduct, Invalid, Late};
