//! Real packets: the sole home of clocks and sockets. Endpoints are the same state machines as in the simulator; here
//! they are driven by real time and real datagrams, and payload bytes are copied at the edge. Of Linux, and empty elsewhere.

#![cfg(target_os = "linux")]

mod arrived;
pub mod batch;
pub mod buffer;
pub mod channel;
pub mod clock;
mod edge;
pub mod host;
pub mod lab;
pub mod last_resort;
pub mod margin;
mod refused;
pub mod router;
pub mod secure;
mod shown;
pub mod socket;
pub mod transfer;
pub mod udp;
mod wait;
mod way;

pub use buffer::{Payload, ReceiveBuffer, SendBuffer};
pub use channel::{Channel, SecuredChannel};
pub use clock::Clock;
pub use host::{Happened, UdpHost};
pub use shown::shown;
pub use socket::MarkedSocket;
pub use udp::{Driver, EdgeCounters};
pub use way::Way;
