//! The names that other crates give to what a scenario chooses from: schemes, disciplines, sources, endpoints.

pub use tailback_control::Scheme as SchemeConfig;
pub use tailback_qdisc::Config as QueueConfig;
pub use tailback_transport::datagram::DatagramConfig;
pub use tailback_transport::{ReceiverConfig, StreamConfig};

pub use tailback_transport::source::SourceConfig;
