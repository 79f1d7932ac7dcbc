//! Pieces that several schemes share: how a window grows on acknowledgements, what it shrinks from, when slow start
//! ends early. A law that belongs to one scheme lives in that scheme's file.

pub mod accumulation;
pub mod aimd;
pub mod bottleneck;
pub mod circuit_breaker;
pub mod hystart;
pub mod load_throughput;
pub mod rounds;
pub mod throughput;
pub mod whole;
pub mod window;

pub use aimd::Aimd;
pub use bottleneck::{
    AdaptiveRise, Bottleneck, ContinuousLaw, DiscreteLaw, Epoch, SetpointCut, SetpointProbing,
};
pub use hystart::HyStart;
pub use rounds::Rounds;
pub use throughput::{AssumedTimeout, ThroughputEquation};
pub use whole::WholeSteps;
pub use window::{Counting, Halve, WindowLaw, echo_forbids_growth};
