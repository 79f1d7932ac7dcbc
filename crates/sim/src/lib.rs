//! The deterministic packet-level simulator: one run, one thread, the same bytes out for the same scenario and seed.
//! Schemes, disciplines and endpoints come from `control`, `qdisc` and `transport`; scenario files from `scenario`.
//!
//! Build a network with [`NetworkBuilder`], run it with [`Simulator::run_until`], read counters from the simulator
//! and time series from its [`Recorder`].

#![expect(
    clippy::inline_always,
    reason = "a packet's way from wire to ring is one straight piece of code, measured: calls on it pass packets \
              through memory"
)]

mod accumulation;
mod ahead;
mod branches;
mod cells;
mod cells_and_multicast;
mod column;
mod delays;
mod drive;
mod event_queue;
mod feeding;
mod flow;
#[cfg(feature = "for-tests")]
mod for_tests;
mod gathering;
mod late;
mod leaves;
mod links;
mod logs;
mod memory;
mod neighbours;
mod network;
mod packet_log;
mod paths;
mod recorder;
mod refusals;
mod routes;
mod series;
mod simulation;
mod simulator;
mod timers;

pub use accumulation::{Accumulation, AccumulationPlan, AccumulationSeries, ESTIMATE, Hop, Path};
pub use column::{ColumnInfo, ColumnKind, SeriesColumn, Unit};
pub use delays::{DelayRecorder, Delays, FlowDelays};
pub use flow::FlowSpec;
pub use logs::{LogSizes, Logs, StateLog};
pub use memory::MemoryLimit;
pub use network::NetworkBuilder;
pub use packet_log::{Digest, LogKind, PacketLog};
pub use paths::Codec;
pub use recorder::{Message, PacketEvent, Recorder, View};
pub use refusals::NetworkError;
pub use series::{FlowBins, FlowSeries, LinkBins, LinkSeries, QueueState, Series, SeriesPlan, TimeSeries};
pub use simulation::{FlowSnapshot, Recorded, Simulation};
pub use simulator::Simulator;
