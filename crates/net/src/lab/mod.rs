//! A laboratory on one machine: hosts in network namespaces, a router with the links of a simulated network between them, our
//! endpoints over UDP, in the clear, and the kernel's own TCP. What a flow and a link are is said by whoever calls; the router
//! lives in `router`, the loop of our endpoints in `host.rs`.

mod hosts;
mod kernel;
mod options;
mod own;
mod session;
mod watch;

pub use hosts::congestion_controls;
pub use session::{FlowEnds, LabEnded, LabFlow, LabPlan, Within, run};
pub use watch::{End, Looks, Transfer, Window};
