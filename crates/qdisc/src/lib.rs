//! Queue disciplines, one file per discipline: policy only. Servers, propagation and accounting live in `link`,
//! which drives these through [`tailback_core::QueueDiscipline`] and [`tailback_core::ArrivalPolicy`].
//!
//! A scenario names a discipline by a [`Config`]; [`Config::build`] gives the discipline for one link. Those that
//! act on arrivals only come as [`Built::Arrival`], so that a link may compute departures at entry; the others as
//! [`Built::Full`].

mod ages;
pub mod avq;
pub mod bucket;
pub mod builtin;
pub mod cake;
pub mod codel;
pub mod config;
pub mod custom;
pub mod droptail;
pub mod dualpi2;
pub mod fair;
pub mod fifo;
pub mod fq_codel;
pub mod hears_late;
mod known;
pub mod limit;
mod line;
pub mod meters;
pub mod parts;
pub mod pi;
pub mod pie;
pub mod priority;
pub mod pushout;
mod rate;
pub mod red;
pub mod rem;
pub mod ring;
pub mod sampled;
pub mod spacing;
pub mod step;
pub mod tdqm;
mod turns;
pub mod watched;

pub use builtin::{Admission, BoxedPolicy, BoxedQueue, Built, Discipline};
pub use config::{ALL, Config, Registered, find};
pub use custom::{CUSTOM_QUEUES, CustomQueue, CustomQueueConfig};
pub use droptail::DropTail;
pub use fifo::Fifo;
pub use hears_late::HearsLate;
pub use known::{KnownFlows, NamedFlow};
pub use limit::Limit;
pub use parts::{BuildCx, Info, QueueConfig};
pub use red::Red;
pub use ring::Ring;
