//! Random exponential marking (Athuraliya, Li, Low and Yin, "REM: Active Queue Management", 2001): a price that rises
//! while input exceeds capacity or the queue its target, whatever the number of users, and a probability of drops or
//! marks that is exponential in the price, so that over a path the prices add up.
//!
//! Every period, with b packets waiting, x arrived and c that could have been sent (2001, Eq. 1-2):
//!
//! ```text
//! price ← [price + γ (α (b − b*) + x − c)]⁺        probability = 1 − φ^(−price)
//! ```
//!
//! A packet that is dropped does not count in x: then x − c is the growth of the queue, as the paper's own short form
//! of the price has it (2001, Eq. 3), and the queue settles at b* however much is dropped. The first-in first-out
//! queue is sampled without a timer, see [`crate::sampled`]; all arrivals since the last one sampled count for the
//! first period in between.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    ArrivalPolicy, Backlog, Bytes, Checker, DataAmount, Packet, QueueCx, Span, Time, Verdict,
};

use crate::limit::Limit;
use crate::parts::{BuildCx, Info, MOST_GAIN, QueueConfig, check_gain};
use crate::sampled::{Sampler, by_chance};
use crate::watched::Periodic;

/// Random exponential marking (Athuraliya, Li, Low and Yin 2001): drops or marks by a price that clears the buffer and
/// matches the rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RemConfig {
    /// The queue b* that the price aims at. Default 20 packets (2001, §III). The queue is counted in packets whatever their size,
    /// acknowledgements too; an amount in bytes becomes packets of the mean size of the flows whose data crosses the link.
    pub target: DataAmount,
    /// Gain γ of the price, above 0. Default 0.001 (2001, §III).
    pub gamma: f64,
    /// Weight α of the queue against the rates, above 0. Default 0.1 (2001, §III).
    pub alpha: f64,
    /// Base φ of the probability, above 1. Default 1.001 (2001, §III).
    pub phi: f64,
    /// The period of the price, at least 10 µs. Default 2 ms (ns-2's `rem.cc`).
    pub period: Span,
    /// Mark ECN-capable packets instead of dropping them (RFC 3168). Default false.
    pub ecn: bool,
}

impl Default for RemConfig {
    fn default() -> Self {
        Self {
            target: DataAmount::Packets(20.0),
            gamma: 0.001,
            alpha: 0.1,
            phi: 1.001,
            period: Span::from_millis(2),
            ecn: false,
        }
    }
}

impl RemConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        let target = self.target.in_bytes(Bytes::new(1000));
        checker.require(target > Bytes::ZERO, "target", self.target, "an amount above zero");
        check_gain("gamma", self.gamma, checker);
        check_gain("alpha", self.alpha, checker);
        let ok = self.phi > 1.0 && self.phi <= MOST_GAIN;
        checker.require(ok, "phi", self.phi, format!("above 1, at most {MOST_GAIN}"));
        let ok = self.period >= Span::from_micros(10);
        checker.require(ok, "period", self.period, "a time of at least 10 µs");
    }
}

impl QueueConfig for RemConfig {
    type Queue = Box<Rem>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "rem",
            family: "active",
            summary: "Drops or marks by a price that clears the buffer and matches the rate",
            source: "Athuraliya, Li, Low and Yin, REM: Active Queue Management, 2001",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(Rem::new(self, cx))
    }

    fn ecn(&self) -> bool {
        self.ecn
    }
}

/// The price and what comes of it, apart from the queue.
#[derive(Clone, Debug)]
struct Law {
    config: RemConfig,
    /// The target in packets.
    target: f64,
    /// Packets taken in since the last sample.
    arrived: f64,
    price: f64,
    probability: f64,
}

impl Law {
    /// So many samples of one length in a row, with so many packets of capacity in a period.
    fn update(&mut self, length: f64, times: u64, capacity: f64) {
        let before = self.price;
        let mismatch =
            self.config.alpha * (length - self.target) + std::mem::take(&mut self.arrived) - capacity;
        self.price = (self.price + self.config.gamma * mismatch).max(0.0);
        if times > 1 {
            // Nothing arrives between them: all steps are equal, and lead to zero or away from it.
            let mismatch = self.config.alpha * (length - self.target) - capacity;
            self.price = (self.price + self.config.gamma * mismatch * (times - 1) as f64).max(0.0);
        }
        if self.price != before {
            self.probability = 1.0 - self.config.phi.powf(-self.price);
        }
    }
}

/// The state of one REM queue.
#[derive(Clone, Debug)]
pub struct Rem {
    limit: Limit,
    law: Law,
    mean_packet: Bytes,
    sampler: Sampler,
}

impl Rem {
    /// REM for the link that `cx` describes.
    pub fn new(config: &RemConfig, cx: &BuildCx) -> Self {
        Self {
            limit: Limit::new(cx.capacity),
            law: Law {
                config: config.clone(),
                target: config.target.in_packets(cx.mean_packet),
                arrived: 0.0,
                price: 0.0,
                probability: 0.0,
            },
            mean_packet: cx.mean_packet,
            sampler: Sampler::new(config.period),
        }
    }

    /// How many packets could be sent in a period.
    fn capacity(&self, cx: &QueueCx<'_>) -> f64 {
        cx.rate.bytes_per_sec() * self.law.config.period.as_secs_f64() / self.mean_packet.as_f64()
    }
}

impl Periodic for Rem {
    fn look(&mut self, now: Time, backlog: &Backlog, cx: &QueueCx<'_>) {
        let capacity = self.capacity(cx);
        self.sampler.hold(now, f64::from(backlog.packets), |length, times| {
            self.law.update(length, times, capacity);
        });
    }
}

impl ArrivalPolicy for Rem {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let queue = f64::from(backlog.packets);
        let (capacity, law) = (self.capacity(cx), &mut self.law);
        self.sampler.catch_up(now, queue, cx.idle_since, |length, times| law.update(length, times, capacity));
        let verdict = by_chance(&self.limit, law.probability, law.config.ecn, packet, backlog, cx);
        let joined = f64::from(u8::from(verdict == Verdict::Accept));
        law.arrived += joined * packet.size().as_f64() / self.mean_packet.as_f64();
        self.sampler.leave(now, queue + joined);
        verdict
    }

    fn observe(&self, _: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note("price", self.law.price);
        note("probability", self.law.probability);
    }
}
