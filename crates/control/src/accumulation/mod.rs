//! How a flow's accumulation, its packets queued in the network, comes to be known at the sender: from round trip
//! times, or by asking the receiver once per round trip. What is done about it is decided in `laws` and `schemes`.

pub mod backlog;
pub mod control_loop;
pub mod swings;

pub use backlog::{BacklogEstimator, RoundTrip};
pub use control_loop::ControlLoop;
pub use swings::Swings;
