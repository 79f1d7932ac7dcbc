//! What can be measured of a queue from its arrivals alone: unfinished work, utilization, burstiness, and rates per
//! flow. Any discipline or recorder can use these; nothing here drops or marks.
//!
//! The unfinished work V(t) is the time that the server needs for all that has arrived: it jumps by a packet's service
//! time and falls at slope one.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, FlowId, Span, Time};

use crate::fair::shares::FlowHasher;

/// The nanoseconds that a packet's service takes.
#[inline]
pub fn service(size: Bytes, rate: BitRate) -> f64 {
    size.as_f64() * 1e9 / rate.bytes_per_sec()
}

/// The unfinished work of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Workload {
    /// Nanoseconds of service, at `updated`.
    work: f64,
    updated: Time,
}

/// A stretch of time without arrivals: the server is busy for `busy` nanoseconds while its work falls from `work`,
/// and idle for `idle` nanoseconds after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// When the stretch begins.
    pub from: Time,
    /// Nanoseconds of work at its beginning.
    pub work: f64,
    /// Nanoseconds of service in it.
    pub busy: f64,
    /// Nanoseconds without work in it.
    pub idle: f64,
}

impl Stretch {
    /// Whether the work runs out within this stretch.
    fn ends_busy_period(&self) -> bool {
        self.busy > 0.0 && self.busy >= self.work
    }
}

impl Workload {
    /// A server without work.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets time pass until `now`.
    #[inline]
    pub fn advance(&mut self, now: Time) -> Stretch {
        let passed = now.since(self.updated).as_nanos() as f64;
        let busy = self.work.min(passed);
        let stretch = Stretch { from: self.updated, work: self.work, busy, idle: passed - busy };
        self.work -= busy;
        self.updated = now;
        stretch
    }

    /// Adds a packet's service at `rate`: the nanoseconds that it waits, and those of its service.
    #[inline]
    pub fn add(&mut self, size: Bytes, rate: BitRate) -> (f64, f64) {
        let (wait, service) = (self.work, service(size, rate));
        self.work += service;
        (wait, service)
    }

    /// The work at the last update, as the delay that an arrival would see.
    pub fn delay(&self) -> Span {
        Span::from_nanos(self.work as u64)
    }
}

/// What the utilization factor ρ is measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// The part of the time in which the server is busy: at most 1.
    #[default]
    Busy,
    /// The service of what arrives, dropped or not, over the time: λ/μ, which is above 1 in overload.
    Offered,
}

/// The utilization factor ρ (Li and Mills, §II-A) of each window of length w: its busy part, or what arrives in it.
#[derive(Clone, Copy, Debug)]
pub struct Utilization {
    window: f64,
    load: Load,
    /// Nanoseconds of the present window passed, and of service in it.
    passed: f64,
    busy: f64,
}

impl Utilization {
    /// A meter with windows of length `window`, which must not be zero.
    pub fn new(window: Span, load: Load) -> Self {
        Self { window: window.as_nanos().max(1) as f64, load, passed: 0.0, busy: 0.0 }
    }

    /// A packet of so many nanoseconds of service arrives.
    #[inline]
    pub fn arrive(&mut self, service: f64) {
        if self.load == Load::Offered {
            self.busy += service;
        }
    }

    /// Takes a stretch in; `sample` gets the ρ of each window that ends in it, and how often it repeats.
    #[inline]
    pub fn feed(&mut self, stretch: &Stretch, mut sample: impl FnMut(f64, u64)) {
        let busy = if self.load == Load::Busy { 1.0 } else { 0.0 };
        self.pass(stretch.busy, busy, &mut sample);
        self.pass(stretch.idle, 0.0, &mut sample);
    }

    /// Lets `length` pass, of which the part `load` is busy.
    #[inline]
    fn pass(&mut self, length: f64, load: f64, sample: &mut impl FnMut(f64, u64)) {
        let missing = self.window - self.passed;
        if length < missing {
            self.passed += length;
            self.busy += length * load;
            return;
        }
        sample((self.busy + missing * load) / self.window, 1);
        let rest = length - missing;
        let whole = (rest / self.window).floor();
        if whole > 0.0 {
            sample(load, whole as u64);
        }
        self.passed = rest - whole * self.window;
        self.busy = self.passed * load;
    }
}

/// What the queueing delay V(t) of η counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// The service of what waits, without the packet in transmission.
    #[default]
    Waiting,
    /// All unfinished work, what is left of the packet in transmission included.
    Work,
}

/// The burstiness factor η (Li and Mills, §II-B, Eq. 2): twice the mean queueing delay of a busy period over its length, which
/// tends to 1 when all of its packets come at once, and is 0 when each comes as the one before it leaves.
///
/// A busy period longer than b gives a sample of its own. Shorter ones are laid end to end, idle times left out, until
/// together they are longer than b and give one sample.
///
/// What waits for a time w and then takes a service s is part of V for w, and adds `w s` to its integral; unfinished work
/// has `s²/2` more of it.
#[derive(Clone, Copy, Debug)]
pub struct Burstiness {
    shortest: f64,
    delay: Delay,
    present: Period,
    merged: Period,
}

/// A busy period: its length, and the integral of the delay over it.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    length: f64,
    area: f64,
}

impl Period {
    fn eta(self) -> f64 {
        2.0 * self.area / (self.length * self.length)
    }
}

impl Burstiness {
    /// A meter that looks at busy periods longer than `shortest`.
    pub fn new(shortest: Span, delay: Delay) -> Self {
        Self {
            shortest: shortest.as_nanos() as f64,
            delay,
            present: Period::default(),
            merged: Period::default(),
        }
    }

    /// A packet arrives that waits for so many nanoseconds, and is then served for so many.
    #[inline]
    pub fn arrive(&mut self, wait: f64, service: f64) {
        let own = if self.delay == Delay::Work { 0.5 * service } else { 0.0 };
        self.present.area += service * (wait + own);
    }

    /// Takes a stretch in; `sample` gets an η that becomes known in it.
    #[inline]
    pub fn feed(&mut self, stretch: &Stretch, mut sample: impl FnMut(f64)) {
        self.present.length += stretch.busy;
        if !stretch.ends_busy_period() {
            return;
        }
        let period = std::mem::take(&mut self.present);
        if period.length > self.shortest {
            sample(period.eta());
            return;
        }
        self.merged.length += period.length;
        self.merged.area += period.area;
        if self.merged.length > self.shortest {
            sample(std::mem::take(&mut self.merged).eta());
        }
    }
}

/// The rate of each flow, averaged exponentially over about a time constant of the past.
///
/// A flow silent for ten time constants is forgotten.
#[derive(Clone, Debug)]
pub struct FlowRates {
    constant: f64,
    flows: HashMap<u32, Tally, BuildHasherDefault<FlowHasher>>,
    swept: Time,
}

/// Bytes of a flow, each fading exponentially with its age.
#[derive(Clone, Copy, Debug)]
struct Tally {
    bytes: f64,
    updated: Time,
}

impl FlowRates {
    /// A meter that averages over `constant`, which must not be zero.
    pub fn new(constant: Span) -> Self {
        Self { constant: constant.as_secs_f64().max(1e-9), flows: HashMap::default(), swept: Time::ZERO }
    }

    /// A packet of `flow` passes.
    pub fn pass(&mut self, now: Time, flow: FlowId, size: Bytes) {
        let constant = self.constant;
        let tally = self.flows.entry(flow.0).or_insert(Tally { bytes: 0.0, updated: now });
        tally.bytes = tally.bytes * fading(now, tally.updated, constant) + size.as_f64();
        tally.updated = now;
        if now.since(self.swept).as_secs_f64() > 10.0 * constant {
            self.swept = now;
            self.flows.retain(|_, tally| now.since(tally.updated).as_secs_f64() < 10.0 * constant);
        }
    }

    /// The rate of `flow`.
    pub fn rate(&self, now: Time, flow: FlowId) -> BitRate {
        let bytes = self
            .flows
            .get(&flow.0)
            .map_or(0.0, |tally| tally.bytes * fading(now, tally.updated, self.constant));
        BitRate::from_bits_per_sec_f64(8.0 * bytes / self.constant)
    }

    /// How many flows are remembered.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether no flow is remembered.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }
}

fn fading(now: Time, then: Time, constant: f64) -> f64 {
    (-now.since(then).as_secs_f64() / constant).exp()
}
