//! Links as pure state machines, which a simulator and a router drive alike: admission, queue, server, propagation, what
//! goes wrong on the wire, and the accounts of it all. No clock, no socket, no event queue and no route lives here; queue
//! disciplines are `qdisc`'s.
//!
//! A driver hands a [`Link`] packets and calls it when the timers are due that it keeps for it ([`LinkDriver`]); time is an
//! argument. Whoever has one link and no event queue takes a [`StandaloneLink`], which keeps them itself.

#![expect(
    clippy::inline_always,
    reason = "a packet's way from wire to ring is one straight piece of code in its driver's loop, measured: calls on it \
              pass packets through memory"
)]

mod ahead;
mod counters;
mod direct;
mod driver;
mod fed;
mod feed;
mod feeder;
#[cfg(test)]
mod full;
mod impairment;
mod late;
mod link;
mod look;
mod open;
mod put_off;
mod ring;
mod rough;
mod schedule;
mod seen;
mod server;
mod shared;
mod slots;
mod spec;
mod stage;
mod standalone;
mod trace;
#[cfg(test)]
mod uneven;
mod unlaid;

pub use counters::{Count, LinkCounters};
pub use driver::{LinkCx, LinkDriver, LinkTimers};
pub use feed::Coming;
pub use impairment::{Chance, Coalescing, Impairments, LossModel, PacketClass, Reordering};
pub use link::{Entrance, Fed, Link, Offer};
pub use put_off::{Begun, PutOff};
pub use schedule::Change;
pub use shared::{Laid, Pass};
pub use slots::Slots;
pub use spec::LinkSpec;
pub use standalone::{Passage, StandaloneLink};
pub use trace::{DeliveryTrace, TraceError};
pub use unlaid::UnlaidLink;
