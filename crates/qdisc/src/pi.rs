//! The proportional integral controller (Hollot, Misra, Towsley and Gong, "On Designing Improved Controllers for AQM
//! Routers Supporting TCP Flows", 2001): a probability of drops or marks that moves until the queue stands at its
//! target.
//!
//! At a fixed frequency, with q packets waiting and `q_old` before (2001, §IV):
//!
//! ```text
//! p ← p + a (q − q*) − b (q_old − q*)
//! ```
//!
//! The first-in first-out queue is sampled without a timer, see [`crate::sampled`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    ArrivalPolicy, Backlog, Bytes, Checker, DataAmount, Packet, QueueCx, Span, Time, Verdict,
};

use crate::limit::Limit;
use crate::parts::{BuildCx, Info, MOST_GAIN, QueueConfig};
use crate::sampled::{Sampler, by_chance};
use crate::watched::Periodic;

/// Proportional integral controller (Hollot, Misra, Towsley and Gong 2001): drops or marks so that the queue settles
/// at a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PiConfig {
    /// The queue q* to settle at. Default 50 packets (ns-2's `pi.cc`). The queue is counted in packets whatever their size,
    /// acknowledgements too; an amount in bytes becomes packets of the mean size of the flows whose data crosses the link.
    pub target: DataAmount,
    /// Gain a of the newer sample, above `b`. Default 1.822e-5 per packet (2001, §V, for 15 Mbit/s and 60 flows).
    pub a: f64,
    /// Gain b of the older sample, above 0. Default 1.816e-5 per packet (2001, §V).
    pub b: f64,
    /// The sampling frequency in samples per second, above 0, at most 100 000. Default 160 (2001, §V).
    pub frequency: f64,
    /// Mark ECN-capable packets instead of dropping them (RFC 3168). Default false.
    pub ecn: bool,
}

impl Default for PiConfig {
    fn default() -> Self {
        Self { target: DataAmount::Packets(50.0), a: 1.822e-5, b: 1.816e-5, frequency: 160.0, ecn: false }
    }
}

impl PiConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        let target = self.target.in_bytes(Bytes::new(1000));
        checker.require(target > Bytes::ZERO, "target", self.target, "an amount above zero");
        checker.require(self.b > 0.0, "b", self.b, "a number above 0");
        checker.require(
            self.a > self.b && self.a <= MOST_GAIN,
            "a",
            self.a,
            format!("a number above b, which is {}, at most {MOST_GAIN}", self.b),
        );
        let ok = self.frequency > 0.0 && self.frequency <= 1e5;
        checker.require(ok, "frequency", self.frequency, "above 0, at most 100000 per second");
    }
}

impl QueueConfig for PiConfig {
    type Queue = Box<Pi>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "pi",
            family: "active",
            summary: "Drops or marks so that the queue settles at a target",
            source: "Hollot, Misra, Towsley and Gong, On Designing Improved Controllers for AQM Routers, 2001",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(Pi::new(self, cx))
    }

    fn ecn(&self) -> bool {
        self.ecn
    }
}

/// The controller, apart from the queue.
#[derive(Clone, Debug)]
struct Law {
    config: PiConfig,
    /// The target in packets.
    target: f64,
    before: f64,
    probability: f64,
}

impl Law {
    /// So many samples of one length in a row.
    fn update(&mut self, length: f64, times: u64) {
        let step = self.config.a * (length - self.target) - self.config.b * (self.before - self.target);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.before = length;
        if times > 1 {
            // From the second on all steps are equal, and lead to one bound.
            let step = (self.config.a - self.config.b) * (length - self.target);
            self.probability = (self.probability + step * (times - 1) as f64).clamp(0.0, 1.0);
        }
    }
}

/// The state of one PI queue.
#[derive(Clone, Debug)]
pub struct Pi {
    limit: Limit,
    law: Law,
    sampler: Sampler,
}

impl Pi {
    /// PI for the link that `cx` describes.
    pub fn new(config: &PiConfig, cx: &BuildCx) -> Self {
        Self {
            limit: Limit::new(cx.capacity),
            law: Law {
                config: config.clone(),
                target: config.target.in_packets(cx.mean_packet),
                before: 0.0,
                probability: 0.0,
            },
            sampler: Sampler::new(Span::from_secs_f64(1.0 / config.frequency)),
        }
    }

    /// The probability of a drop or mark.
    pub const fn probability(&self) -> f64 {
        self.law.probability
    }
}

impl Periodic for Pi {
    fn look(&mut self, now: Time, backlog: &Backlog, _: &QueueCx<'_>) {
        self.sampler.hold(now, f64::from(backlog.packets), |length, times| self.law.update(length, times));
    }
}

impl ArrivalPolicy for Pi {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let queue = f64::from(backlog.packets);
        let law = &mut self.law;
        self.sampler.catch_up(now, queue, cx.idle_since, |length, times| law.update(length, times));
        let verdict = by_chance(&self.limit, law.probability, law.config.ecn, packet, backlog, cx);
        self.sampler.leave(now, queue + f64::from(u8::from(verdict == Verdict::Accept)));
        verdict
    }

    fn observe(&self, _: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note("probability", self.law.probability);
    }
}
