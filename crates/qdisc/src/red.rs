//! Random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993),
//! its gentle form (Floyd 2000) and its adaptive form (Floyd, Gummadi and Shenker, "Adaptive RED", 2001).
//! Where the papers leave a choice, this follows ns-2's `red.cc`, so that its published figures can be compared.
//!
//! At each arrival, with q waiting (1993, Fig. 2):
//!
//! ```text
//! avg ← (1 − w)^m avg            after an idle time that would have passed m packets
//! avg ← (1 − w) avg + w q
//! p_b = max_p (avg − min) / (max − min)                     min ≤ avg < max
//!     = max_p + (1 − max_p)(avg − max) / max                gentle, max ≤ avg < 2 max
//! p_a = p_b / (1 − n p_b)                                   n packets since the last mark (1993)
//!     = 0, p_b / (2 − n p_b) or 1                           for n p_b < 1, < 2, else (`wait` of ns-2)
//! ```
//!
//! In bytes, n is what came since the last mark in whole packets of the mean size, and `p_a` below 1 is multiplied with the
//! packet's part of the mean size (1993, §4, does so with `p_b` and the largest size).
//!
//! Both forms of `p_a` space the marks uniformly. The arriving packet is counted first, as in ns-2, so that n is 1 at
//! least: from 0 to `1/p_b − 1` packets pass between two marks, or from `1/p_b − 1` to `2/p_b − 1` with `wait`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    ArrivalPolicy, Backlog, Checker, DataAmount, DropReason, Packet, QueueCx, Span, Time, Verdict,
};

use crate::limit::Limit;
use crate::parts::{BuildCx, Info, QueueConfig};
use crate::spacing::spaced;

/// What RED counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Packets, whatever their size.
    #[default]
    Packets,
    /// Bytes; a packet's chance then grows with its size (1993, §4).
    Bytes,
}

/// Random early detection: drops or marks with a probability that grows with the average queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of the published algorithms")]
pub struct RedConfig {
    /// Average queue below which nothing is dropped or marked. 1993, §4; default 5 packets.
    pub min: DataAmount,
    /// Average queue at which the probability reaches `max_p`. 1993, §4; default 15 packets.
    pub max: DataAmount,
    /// Largest probability of early drops between the thresholds, and the adaptive form's first value.
    /// A number above 0, at most 1; default 0.1.
    pub max_p: f64,
    /// Weight of the newest sample in the average queue, above 0, at most 1; default 0.002 (1993, §6).
    /// Absent in the adaptive form, it becomes 1 - exp(-1/C) with C the link's rate in packets/s (2001, §4.3).
    pub weight: Option<f64>,
    /// Between `max` and twice `max`, raise the probability from `max_p` to 1 instead of dropping all (Floyd 2000).
    /// Default true.
    pub gentle: bool,
    /// Adapt `max_p` every half second so that the average queue stays in the middle between the thresholds
    /// (2001, Fig. 1). Default false.
    pub adaptive: bool,
    /// Let at least 1/p - 1 packets pass between two early drops (ns-2's `wait_`); without it, two may follow each other
    /// at once. Default true.
    pub wait: bool,
    /// Whether queue and thresholds are in packets or bytes. In packets, an acknowledgement counts like a full packet, also where
    /// `min` and `max` are written in bytes: they become packets of the mean size of the flows whose data crosses the link.
    /// Default packets.
    pub measure: Measure,
    /// Mark ECN-capable packets instead of dropping them early (RFC 3168 §5). Above the upper threshold (in the
    /// gentle form above twice the upper threshold), and at overflow, packets are dropped all the same (RFC 3168 §7).
    /// Default false.
    pub ecn: bool,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            min: DataAmount::Packets(5.0),
            max: DataAmount::Packets(15.0),
            max_p: 0.1,
            weight: None,
            gentle: true,
            adaptive: false,
            wait: true,
            measure: Measure::Packets,
            ecn: false,
        }
    }
}

/// The weight of 1993, §6.
const WEIGHT: f64 = 0.002;
/// How often the adaptive form may move `max_p` (2001, Fig. 1).
const INTERVAL: Span = Span::from_millis(500);
/// The adaptive form's bounds of `max_p` (2001, Fig. 1).
const MAX_P_RANGE: (f64, f64) = (0.01, 0.5);
/// The adaptive form's decrease factor (2001, Fig. 1).
const BETA: f64 = 0.9;
/// The adaptive form's largest increment (2001, Fig. 1).
const ALPHA: f64 = 0.01;

impl RedConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        let size = tailback_core::Bytes::new(1000);
        let (min, max) = (self.min.in_packets(size), self.max.in_packets(size));
        checker.require(min > 0.0, "min", self.min, "an amount above zero");
        checker.require(max > min, "max", self.max, format!("an amount above min, which is {}", self.min));
        checker.require(self.max_p > 0.0 && self.max_p <= 1.0, "max_p", self.max_p, "above 0, at most 1");
        if let Some(weight) = self.weight {
            checker.require(weight > 0.0 && weight <= 1.0, "weight", weight, "above 0, at most 1");
        }
    }
}

impl QueueConfig for RedConfig {
    type Queue = Red;

    fn info(&self) -> &'static Info {
        &Info {
            name: "red",
            family: "active",
            summary: "Drops or marks with a probability that grows with the average queue; gentle and adaptive forms",
            source: "Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, 1993; \
         Floyd, Gummadi and Shenker, Adaptive RED, 2001",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Red::new(self, cx)
    }

    fn ecn(&self) -> bool {
        self.ecn
    }
}

/// The state of one RED queue. Queue lengths are real numbers of packets or bytes, as configured.
#[derive(Clone, Debug)]
pub struct Red {
    limit: Limit,
    min: f64,
    max: f64,
    max_p: f64,
    weight: f64,
    /// Size of the packets that idle time is counted in.
    mean_packet: f64,
    config: RedConfig,
    average: f64,
    /// Whether the average was above `min` with packets waiting at the last arrival.
    above: bool,
    /// Packets and bytes since the last early drop or mark.
    count: u32,
    count_bytes: u64,
    adapted: Time,
}

impl Red {
    /// RED for the link that `cx` describes.
    pub fn new(config: &RedConfig, cx: &BuildCx) -> Self {
        let bytes = config.measure == Measure::Bytes;
        let amount = |amount: DataAmount| {
            if bytes { amount.in_bytes(cx.mean_packet).as_f64() } else { amount.in_packets(cx.mean_packet) }
        };
        let mean_packet = cx.mean_packet.as_f64();
        let packets_per_sec = cx.rate.bytes_per_sec() / mean_packet;
        let automatic = if config.adaptive { -(-1.0 / packets_per_sec).exp_m1() } else { WEIGHT };
        Self {
            limit: Limit::new(cx.capacity),
            min: amount(config.min),
            max: amount(config.max),
            max_p: config.max_p,
            weight: config.weight.unwrap_or(automatic),
            mean_packet,
            config: config.clone(),
            average: 0.0,
            above: false,
            count: 0,
            count_bytes: 0,
            adapted: Time::ZERO,
        }
    }

    fn in_bytes(&self) -> bool {
        self.config.measure == Measure::Bytes
    }

    fn update_average(&mut self, now: Time, queue: f64, cx: &QueueCx<'_>) {
        if let Some(since) = cx.idle_since {
            let passed = now.since(since).as_secs_f64() * cx.rate.bytes_per_sec() / self.mean_packet;
            self.average *= (1.0 - self.weight).powf(passed.floor());
        }
        self.average += self.weight * (queue - self.average);
    }

    /// Adaptive RED (2001, Fig. 1): additive increase, multiplicative decrease of `max_p`.
    fn adapt(&mut self, now: Time) {
        if now.since(self.adapted) <= INTERVAL {
            return;
        }
        let part = 0.4 * (self.max - self.min);
        if self.average < self.min + part && self.max_p > MAX_P_RANGE.0 {
            self.max_p *= BETA;
        } else if self.average > self.max - part && self.max_p < MAX_P_RANGE.1 {
            self.max_p += ALPHA.min(self.max_p / 4.0);
        } else {
            return;
        }
        self.adapted = now;
    }

    /// `p_b`: the probability that belongs to the average queue alone.
    fn base_probability(&self) -> f64 {
        if self.average < self.max {
            self.max_p * (self.average - self.min) / (self.max - self.min)
        } else if self.config.gentle {
            self.max_p + (1.0 - self.max_p) * (self.average / self.max - 1.0)
        } else {
            1.0
        }
        .min(1.0)
    }

    /// `p_a`: spaced by what has passed since the last early drop.
    fn spaced_probability(&self, packet: &Packet) -> f64 {
        let base = self.base_probability();
        let size_ratio = packet.size().as_f64() / self.mean_packet;
        let count = if self.in_bytes() {
            (self.count_bytes as f64 / self.mean_packet).floor()
        } else {
            f64::from(self.count)
        };
        let spaced = spaced(base, count, self.config.wait);
        if self.in_bytes() && spaced < 1.0 { (spaced * size_ratio).min(1.0) } else { spaced }
    }

    fn restart_count(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }

    /// Whether a packet that finds the average above `min` is dropped; if not, it may have been marked.
    fn acts_early(&mut self, packet: &mut Packet, cx: &mut QueueCx<'_>) -> bool {
        let ceiling = if self.config.gentle { 2.0 * self.max } else { self.max };
        if self.average >= ceiling {
            self.restart_count();
            return true;
        }
        self.picks(packet, cx) && !(self.config.ecn && cx.mark_ce(packet))
    }

    /// Whether chance picks this packet, between the thresholds.
    fn picks(&mut self, packet: &Packet, cx: &mut QueueCx<'_>) -> bool {
        if !self.above {
            // The average has just come up to `min`: spacing begins with this packet.
            self.above = true;
            self.count = 1;
            self.count_bytes = packet.size().get();
            return false;
        }
        let probability = self.spaced_probability(packet);
        let picked = probability > 0.0 && cx.rng.uniform() <= probability;
        if picked {
            self.restart_count();
        }
        picked
    }
}

impl ArrivalPolicy for Red {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let queue = if self.in_bytes() { backlog.bytes.as_f64() } else { f64::from(backlog.packets) };
        self.update_average(now, queue, cx);
        if self.config.adaptive {
            self.adapt(now);
        }
        self.count = self.count.saturating_add(1);
        self.count_bytes += packet.size().get();

        // Checked first, so that no packet is marked and then lost.
        let room = self.limit.admits(packet, backlog, cx.idle_since.is_some());
        if !room {
            self.restart_count();
        }
        // A queue of one packet is never thinned, whatever its past (ns-2).
        self.above &= self.average >= self.min && backlog.packets > 1;
        let early = room && self.average >= self.min && backlog.packets > 1 && self.acts_early(packet, cx);
        match (room, early) {
            (false, _) => Verdict::Drop(DropReason::Overflow),
            (true, true) => Verdict::Drop(DropReason::Early),
            (true, false) => Verdict::Accept,
        }
    }

    fn observe(&self, _: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note(if self.in_bytes() { "average_bytes" } else { "average_packets" }, self.average);
        note("max_p", self.max_p);
    }
}
