//! The adaptive virtual queue (Kunniyur and Srikant, "Analysis and Design of an Adaptive Virtual Queue (AVQ)
//! Algorithm for Active Queue Management", 2001), and adaptive virtual delay (Xia et al., §IV-D), which tells
//! the delay of the virtual queue to passing control packets instead of dropping or marking.
//!
//! A virtual queue of capacity C̃ ≤ C takes the same arrivals as the real one. At each arrival of b bytes, a time s
//! after the one before (2001, Fig. 1):
//!
//! ```text
//! VQ ← max(VQ − C̃ s, 0)
//! if VQ + b > B: mark or drop, else VQ ← VQ + b
//! C̃ ← max(min(C̃ + α γ C s, C) − α b, 0)
//! ```
//!
//! so that C̃ settles where arrivals come at the rate γ C. A packet that AVQ drops puts no load on the link, and is not
//! counted among the arrivals (the authors' own `vq.cc` in ns-2 counts so too; the paper analyses marking).
//!
//! AVD's virtual queue has no bound B, and C̃ is at least a hundredth of C, so that VQ / C̃ is a number. A control packet is
//! told of the queue that it finds, itself not counted; one that travels out of band is told nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    Annex, ArrivalPolicy, Backlog, Bytes, Capacity, Checker, DataAmount, DropReason, Lane, Packet, QueueCx,
    Span, Time, Verdict,
};

use crate::limit::Limit;
use crate::parts::{BuildCx, Info, QueueConfig, check_gain};
use crate::rate::KnownRate;

/// Adaptive virtual queue (Kunniyur and Srikant 2001): drops or marks what a virtual queue of adapting capacity would
/// lose, so that the link's utilization settles at a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AvqConfig {
    /// The target utilization γ, above 0, at most 1. Default 0.98 (2001, §4).
    pub target: f64,
    /// The gain α of the virtual capacity, above 0. Default 0.15 (2001, §4); larger adapts faster, and oscillates
    /// where round trips are long.
    pub gain: f64,
    /// The virtual buffer B. Default: as large as the link's, or 100 packets where that is unlimited.
    pub virtual_buffer: Option<DataAmount>,
    /// Mark ECN-capable packets instead of dropping them (RFC 3168). Default false.
    pub ecn: bool,
}

/// Adaptive virtual delay (Xia et al., §IV-D): adds the delay of an adaptive virtual queue to the control
/// packets that pass, so that schemes which hold a backlog hold it in the virtual queue; drops at overflow only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AvdConfig {
    /// The target utilization γ, above 0, at most 1. Default 0.98 (§V-A).
    pub target: f64,
    /// The gain α of the virtual capacity, above 0. Default 0.15 (Kunniyur and Srikant 2001, §4).
    pub gain: f64,
}

impl Default for AvqConfig {
    fn default() -> Self {
        Self { target: 0.98, gain: 0.15, virtual_buffer: None, ecn: false }
    }
}

impl Default for AvdConfig {
    fn default() -> Self {
        Self { target: 0.98, gain: 0.15 }
    }
}

fn check_adaptation(target: f64, gain: f64, checker: &mut Checker) {
    checker.require(target > 0.0 && target <= 1.0, "target", target, "above 0, at most 1");
    check_gain("gain", gain, checker);
}

impl AvqConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_adaptation(self.target, self.gain, checker);
        if let Some(buffer) = self.virtual_buffer {
            let ok = buffer.in_bytes(Bytes::new(1000)) > Bytes::ZERO;
            checker.require(ok, "virtual_buffer", buffer, "an amount above zero");
        }
    }
}

impl QueueConfig for AvqConfig {
    type Queue = Avq;

    fn info(&self) -> &'static Info {
        &Info {
            name: "avq",
            family: "active",
            summary: "Drops or marks what a virtual queue of adapting capacity would lose, so that utilization settles at a target",
            source: "Kunniyur and Srikant, Analysis and Design of an Adaptive Virtual Queue Algorithm, 2001",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Avq::new(self, cx)
    }

    fn ecn(&self) -> bool {
        self.ecn
    }
}

impl AvdConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_adaptation(self.target, self.gain, checker);
    }
}

impl QueueConfig for AvdConfig {
    type Queue = Avd;

    fn info(&self) -> &'static Info {
        &Info {
            name: "avd",
            family: "active",
            summary: "Adds the delay of an adaptive virtual queue to the control packets that pass",
            source: "Xia et al., Accumulation-based Congestion Control, §IV-D",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Avd::new(self, cx)
    }
}

/// A queue that exists only as a number, of a capacity that adapts to what arrives.
#[derive(Clone, Copy, Debug)]
struct VirtualQueue {
    target: f64,
    gain: f64,
    /// The least capacity, as a part of the link's rate.
    floor: f64,
    /// Bytes.
    length: f64,
    /// Bytes per second.
    capacity: f64,
    updated: Time,
}

impl VirtualQueue {
    /// An empty virtual queue beside a link of `rate` bytes per second, whose capacity never falls below the part
    /// `floor` of it.
    const fn new(target: f64, gain: f64, floor: f64, rate: f64) -> Self {
        Self { target, gain, floor, length: 0.0, capacity: rate, updated: Time::ZERO }
    }

    /// Lets time pass until `now`, on a link of `rate` bytes per second.
    #[inline]
    fn advance(&mut self, now: Time, rate: f64) {
        let passed = now.since(self.updated).as_secs_f64();
        self.updated = now;
        self.length = (self.length - self.capacity * passed).max(0.0);
        self.capacity = (self.capacity + self.gain * self.target * rate * passed).min(rate);
    }

    /// The delay of the virtual queue.
    fn delay(&self) -> Span {
        Span::from_secs_f64(self.length / self.capacity)
    }

    /// Takes a packet in; `joins` where it waits in the virtual queue, and does not overflow it.
    #[inline]
    fn take(&mut self, size: Bytes, rate: f64, joins: bool) {
        let size = size.as_f64();
        if joins {
            self.length += size;
        }
        self.capacity = (self.capacity - self.gain * size).max(self.floor * rate);
    }

    /// Tells the capacity as the last arrival left it, and the length at `now`.
    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        let passed = now.since(self.updated).as_secs_f64();
        note("virtual_capacity_bits", self.capacity * 8.0);
        note("virtual_queue_bytes", (self.length - self.capacity * passed).max(0.0));
    }
}

/// The state of one AVQ queue.
#[derive(Clone, Debug)]
pub struct Avq {
    limit: Limit,
    rate: KnownRate,
    queue: VirtualQueue,
    buffer: f64,
    ecn: bool,
}

impl Avq {
    /// AVQ for the link that `cx` describes.
    pub fn new(config: &AvqConfig, cx: &BuildCx) -> Self {
        let buffer = config.virtual_buffer.unwrap_or(match cx.capacity {
            Capacity::Packets(count) => DataAmount::Packets(f64::from(count)),
            Capacity::Bytes(bytes) => DataAmount::Bytes(bytes),
            Capacity::MilliBdp(_) | Capacity::Unlimited => DataAmount::Packets(100.0),
        });
        Self {
            limit: Limit::new(cx.capacity),
            rate: KnownRate::new(cx.rate),
            queue: VirtualQueue::new(config.target, config.gain, 0.0, cx.rate.bytes_per_sec()),
            buffer: buffer.in_bytes(cx.mean_packet).as_f64(),
            ecn: config.ecn,
        }
    }
}

impl ArrivalPolicy for Avq {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let rate = self.rate.at(cx.rate).bytes_per_sec();
        self.queue.advance(now, rate);
        if !self.limit.admits(packet, backlog, cx.idle_since.is_some()) {
            return Verdict::Drop(DropReason::Overflow);
        }
        let overflows = self.queue.length + packet.size().as_f64() > self.buffer;
        if overflows && !(self.ecn && cx.mark_ce(packet)) {
            return Verdict::Drop(DropReason::Early);
        }
        self.queue.take(packet.size(), rate, !overflows);
        Verdict::Accept
    }

    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        self.queue.observe(now, note);
    }
}

/// The state of one AVD queue.
#[derive(Clone, Debug)]
pub struct Avd {
    limit: Limit,
    rate: KnownRate,
    queue: VirtualQueue,
}

/// The virtual capacity of AVD never falls below this part of the link's rate, so that its delay stays a number.
const AVD_FLOOR: f64 = 0.01;

impl Avd {
    /// AVD for the link that `cx` describes.
    pub fn new(config: &AvdConfig, cx: &BuildCx) -> Self {
        Self {
            limit: Limit::new(cx.capacity),
            rate: KnownRate::new(cx.rate),
            queue: VirtualQueue::new(config.target, config.gain, AVD_FLOOR, cx.rate.bytes_per_sec()),
        }
    }
}

impl ArrivalPolicy for Avd {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let rate = self.rate.at(cx.rate).bytes_per_sec();
        self.queue.advance(now, rate);
        if !self.limit.admits(packet, backlog, cx.idle_since.is_some()) {
            return Verdict::Drop(DropReason::Overflow);
        }
        // Out-of-band packets pass the queue by, in truth and in its virtual image.
        if packet.annex.is_some()
            && packet.lane() != Lane::OUT_OF_BAND
            && let Some(Annex::Control(control)) = cx.annexes.get_mut(packet.annex)
        {
            control.virtual_delay += self.queue.delay();
        }
        self.queue.take(packet.size(), rate, true);
        Verdict::Accept
    }

    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        self.queue.observe(now, note);
    }
}
