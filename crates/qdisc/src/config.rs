//! What a scenario writes about a queue, and the way from there to a discipline at work. The parameters of each
//! discipline stand in its own file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Capacity, Checker};

use crate::builtin::{Admission, Discipline};
use crate::droptail::{DropTail, DropTailConfig};
use crate::fifo::Fifo;
use crate::red::{Red, RedConfig};

/// A queue discipline with its parameters, as scenarios name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Queue")]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Config {
    /// First in, first out; what finds the buffer full is dropped.
    DropTail(DropTailConfig),
    /// Random early detection (Floyd and Jacobson 1993), with its gentle and adaptive forms.
    Red(RedConfig),
}

impl Default for Config {
    fn default() -> Self {
        Self::DropTail(DropTailConfig::default())
    }
}

/// What a discipline needs to know of the link it is built for.
#[derive(Clone, Copy, Debug)]
pub struct BuildCx {
    /// The link's buffer, already resolved: packets, bytes or unlimited.
    pub capacity: Capacity,
    /// The server's nominal rate.
    pub rate: BitRate,
    /// The size of a typical packet, for thresholds written in packets and for idle times.
    pub mean_packet: Bytes,
}

/// A discipline at work, in the narrowest form that it has.
#[derive(Debug)]
pub enum Built {
    /// It acts on arrivals only: departures are known at entry.
    Arrival(Admission),
    /// It acts at departure, or keeps an order of its own.
    Full(Discipline),
}

impl Built {
    /// The discipline in its general form.
    pub fn into_discipline(self) -> Discipline {
        match self {
            Self::Arrival(policy) => Discipline::Fifo(Fifo::new(policy)),
            Self::Full(discipline) => discipline,
        }
    }
}

impl Config {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        match self {
            Self::DropTail(_) => {}
            Self::Red(config) => config.check(checker),
        }
    }

    /// Whether it marks ECN-capable packets, so that a scenario without any can be refused.
    pub fn marks_ce(&self) -> bool {
        matches!(self, Self::Red(config) if config.ecn)
    }

    /// The discipline for the link that `cx` describes; the configuration must have passed [`Config::check`].
    pub fn build(&self, cx: &BuildCx) -> Built {
        match self {
            Self::DropTail(_) => Built::Arrival(Admission::DropTail(DropTail::new(cx.capacity))),
            Self::Red(config) => Built::Arrival(Admission::Red(Red::new(config, cx))),
        }
    }
}
