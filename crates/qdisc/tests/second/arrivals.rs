//! Disciplines that act on arrivals only, written anew: PIE from RFC 8033, RED from Floyd and Jacobson 1993 and its adaptive
//! form from Floyd, Gummadi and Shenker 2001 with the choices of ns-2, AVQ from Kunniyur and Srikant 2001, PI and REM from their papers, step marking and policing.
//!
//! Where a queue is sampled at regular times, the sampler is the library's, as is the first-in first-out queue itself.

use tailback_core::{
    ArrivalPolicy, Backlog, BitRate, Capacity, DropReason, Packet, QueueCx, Span, Time, Verdict,
};
use tailback_qdisc::{Limit, sampled::Sampler};

use crate::common::MEAN_PACKET;

const EARLY: Verdict = Verdict::Drop(DropReason::Early);
const FULL: Verdict = Verdict::Drop(DropReason::Overflow);

/// Does something so many times, until nothing changes any more.
fn repeat<S: PartialEq>(times: u64, mut act: impl FnMut() -> S) {
    let mut before = None;
    for _ in 0..times {
        let after = Some(act());
        if after == before {
            break;
        }
        before = after;
    }
}

fn fits(limit: &Limit, packet: &Packet, backlog: &Backlog, cx: &QueueCx<'_>) -> bool {
    limit.admits(packet, backlog, cx.idle_since.is_some())
}

/// RFC 8033, sections 4 and 5, and appendix A, without its switch (§5.3): always on.
pub struct Pie {
    pub target: f64,
    pub period: f64,
    pub alpha: f64,
    pub beta: f64,
    pub max_burst: f64,
    pub derandomize: bool,
    pub ecn: bool,
    pub mark_limit: f64,
    pub limit: Limit,
    pub sampler: Sampler,
    /// Of a link that stands still, the one before.
    pub rate: f64,
    pub probability: f64,
    pub delay_before: f64,
    pub burst: f64,
    pub accumulated: f64,
}

impl Pie {
    pub fn new(period: Span, capacity: Capacity, rate: BitRate) -> Self {
        Self {
            target: 0.0,
            period: period.as_secs_f64(),
            alpha: 0.0,
            beta: 0.0,
            max_burst: 0.0,
            derandomize: true,
            ecn: false,
            mark_limit: 0.0,
            limit: Limit::new(capacity),
            sampler: Sampler::new(period),
            rate: rate.bytes_per_sec(),
            probability: 0.0,
            delay_before: 0.0,
            burst: 0.0,
            accumulated: 0.0,
        }
    }

    pub fn starting(self) -> Self {
        Self { burst: self.max_burst, ..self }
    }

    /// §4.2, §4.4 and §5.5.
    pub fn update(&mut self, delay: f64) {
        let mut change = self.alpha * (delay - self.target) + self.beta * (delay - self.delay_before);
        change /= match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.probability >= 0.1 && change > 0.02 {
            change = 0.02;
        }
        self.probability += change;
        if delay == 0.0 && self.delay_before == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst = (self.burst - self.period).max(0.0);
        let quiet = delay < self.target / 2.0 && self.delay_before < self.target / 2.0;
        if self.probability == 0.0 && quiet {
            self.burst = self.max_burst;
        }
        self.delay_before = delay;
    }

    /// §4.1, §5.4 and appendix A, `drop_early`.
    fn picks(&mut self, bytes: f64, cx: &mut QueueCx<'_>) -> bool {
        if (self.delay_before < self.target / 2.0 && self.probability < 0.2)
            || bytes <= 2.0 * MEAN_PACKET.as_f64()
        {
            return false;
        }
        if self.derandomize {
            if self.probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += self.probability;
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                return true;
            }
        }
        cx.rng.uniform() < self.probability
    }
}

impl ArrivalPolicy for Pie {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        if cx.rate > BitRate::ZERO {
            self.rate = cx.rate.bytes_per_sec();
        }
        let rate = self.rate;
        let bytes = backlog.bytes.as_f64();
        let mut sampler = self.sampler;
        sampler.catch_up(now, bytes, cx.idle_since, |bytes, times| {
            repeat(times, || {
                self.update(bytes / rate);
                (self.probability, self.burst)
            });
        });
        self.sampler = sampler;
        let verdict = if !fits(&self.limit, packet, backlog, cx) {
            self.accumulated = 0.0;
            FULL
        } else if self.burst == 0.0 && self.picks(bytes, cx) {
            self.accumulated = 0.0;
            if self.ecn && self.probability <= self.mark_limit && cx.mark_ce(packet) {
                Verdict::Accept
            } else {
                EARLY
            }
        } else {
            Verdict::Accept
        };
        let more = if verdict == Verdict::Accept { packet.size().as_f64() } else { 0.0 };
        self.sampler.leave(now, bytes + more);
        verdict
    }
}

/// Kunniyur and Srikant 2001, Fig. 1: the virtual queue and its capacity.
pub struct Avq {
    pub target: f64,
    pub gain: f64,
    pub buffer: f64,
    pub ecn: bool,
    limit: Limit,
    /// Of a link that stands still, the one before.
    rate: f64,
    capacity: f64,
    queue: f64,
    before: Time,
}

impl Avq {
    pub fn new(gain: f64, buffer: f64, ecn: bool, capacity: Capacity, rate: BitRate) -> Self {
        let (limit, capacity) = (Limit::new(capacity), rate.bytes_per_sec());
        Self {
            target: 0.98,
            gain,
            buffer,
            ecn,
            limit,
            rate: capacity,
            capacity,
            queue: 0.0,
            before: Time::ZERO,
        }
    }
}

impl ArrivalPolicy for Avq {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        if cx.rate > BitRate::ZERO {
            self.rate = cx.rate.bytes_per_sec();
        }
        let real = self.rate;
        let capacity = &mut self.capacity;
        let gap = now.since(self.before).as_secs_f64();
        self.before = now;
        let size = packet.size().as_f64();
        self.queue = (self.queue - *capacity * gap).max(0.0);
        *capacity = (*capacity + self.gain * self.target * real * gap).min(real);
        if !fits(&self.limit, packet, backlog, cx) {
            return FULL;
        }
        if self.queue + size <= self.buffer {
            self.queue += size;
        } else if !(self.ecn && cx.mark_ce(packet)) {
            return EARLY;
        }
        *capacity = (*capacity - self.gain * size).max(0.0);
        Verdict::Accept
    }
}

/// RFC 8257 §3.1: a mark where so much waits.
pub struct Step {
    pub bytes: u64,
    pub drop_others: bool,
    pub limit: Limit,
}

impl ArrivalPolicy for Step {
    fn admit(&mut self, _: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        if !fits(&self.limit, packet, backlog, cx) {
            FULL
        } else if backlog.bytes.get() >= self.bytes && !cx.mark_ce(packet) && self.drop_others {
            EARLY
        } else {
            Verdict::Accept
        }
    }
}

/// A bucket of bytes: what finds too little in it is dropped.
pub struct Policer {
    pub rate: i128,
    pub depth: i128,
    /// Bits times 10⁹.
    pub tokens: i128,
    pub at: Time,
    pub limit: Limit,
}

impl ArrivalPolicy for Policer {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let gap = i128::from(now.since(self.at).as_nanos());
        self.at = now;
        self.tokens = (self.tokens + gap * self.rate).min(self.depth);
        let cost = i128::from(packet.size().get()) * 8_000_000_000;
        // The library's choice: what is larger than the bucket passes when that is full, and leaves a debt.
        if cost.min(self.depth) > self.tokens {
            return EARLY;
        }
        if !fits(&self.limit, packet, backlog, cx) {
            return FULL;
        }
        self.tokens -= cost;
        Verdict::Accept
    }
}

/// Floyd and Jacobson 1993, gentle or not, in packets or bytes, as ns-2 reads it. In bytes (§4) the average, the thresholds and
/// what came since the last mark are; the chance of a packet is that of one of the mean size, times its part of it.
pub struct Red {
    pub min: f64,
    pub max: f64,
    pub max_p: f64,
    pub weight: f64,
    pub gentle: bool,
    pub wait: bool,
    pub ecn: bool,
    /// Bytes instead of packets.
    pub bytes: bool,
    pub limit: Limit,
    pub average: f64,
    /// Arrivals since the last mark, or their bytes.
    pub count: f64,
    pub above: bool,
    /// When the adaptive form last moved `max_p`; as in ns-2 the interval counts from there.
    pub adapted: Option<Time>,
}

impl Red {
    /// Floyd, Gummadi and Shenker 2001, Fig. 1.
    fn adapt(&mut self, now: Time) {
        let Some(before) = self.adapted.filter(|before| now.since(*before) > Span::from_millis(500)) else {
            return;
        };
        let (low, high) = (0.4 * (self.max - self.min), 0.4 * (self.max - self.min));
        let (low, high) = (self.min + low, self.max - high);
        self.adapted = Some(now);
        if self.average > high && self.max_p < 0.5 {
            self.max_p += (self.max_p / 4.0).min(0.01);
        } else if self.average < low && self.max_p > 0.01 {
            self.max_p *= 0.9;
        } else {
            self.adapted = Some(before);
        }
    }

    fn probability(&self) -> f64 {
        if self.average < self.max {
            self.max_p * (self.average - self.min) / (self.max - self.min)
        } else {
            self.max_p + (1.0 - self.max_p) * (self.average - self.max) / self.max
        }
    }

    /// Bytes are whole packets of the mean size when they are multiplied (`modify_p`).
    fn spread(&self, p: f64, one: f64) -> f64 {
        let mean = MEAN_PACKET.as_f64();
        let expected = p * if self.bytes { (self.count / mean).floor() } else { self.count };
        let spread = match self.wait {
            true if expected < 1.0 => 0.0,
            true if expected < 2.0 => p / (2.0 - expected),
            false if expected < 1.0 => p / (1.0 - expected),
            _ => 1.0,
        };
        if spread < 1.0 { (spread * if self.bytes { one / mean } else { 1.0 }).min(1.0) } else { 1.0 }
    }
}

impl ArrivalPolicy for Red {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        if let Some(since) = cx.idle_since {
            let idle = now.since(since).as_secs_f64();
            let passed = (idle * cx.rate.bytes_per_sec() / MEAN_PACKET.as_f64()).floor();
            self.average *= (1.0 - self.weight).powf(passed);
        }
        let waiting = if self.bytes { backlog.bytes.as_f64() } else { f64::from(backlog.packets) };
        self.average = (1.0 - self.weight) * self.average + self.weight * waiting;
        self.adapt(now);
        let one = if self.bytes { packet.size().as_f64() } else { 1.0 };
        self.count += one;
        let ceiling = if self.gentle { 2.0 * self.max } else { self.max };
        if self.average < self.min || backlog.packets <= 1 {
            self.above = false;
        }
        if !fits(&self.limit, packet, backlog, cx) {
            self.count = 0.0;
            return FULL;
        }
        if self.average < self.min || backlog.packets <= 1 {
            return Verdict::Accept;
        }
        if self.average >= ceiling {
            self.count = 0.0;
            return EARLY;
        }
        if !self.above {
            self.above = true;
            self.count = one;
            return Verdict::Accept;
        }
        let spread = self.spread(self.probability(), one);
        if spread == 0.0 || cx.rng.uniform() > spread {
            return Verdict::Accept;
        }
        self.count = 0.0;
        if self.ecn && cx.mark_ce(packet) { Verdict::Accept } else { EARLY }
    }
}

/// What becomes of an arrival at a probability.
fn by_chance(
    limit: &Limit,
    (probability, ecn): (f64, bool),
    packet: &mut Packet,
    backlog: &Backlog,
    cx: &mut QueueCx<'_>,
) -> Verdict {
    if !fits(limit, packet, backlog, cx) {
        FULL
    } else if probability > 0.0 && cx.rng.uniform() < probability && !(ecn && cx.mark_ce(packet)) {
        EARLY
    } else {
        Verdict::Accept
    }
}

/// Hollot, Misra, Towsley and Gong 2001, §IV, in packets.
pub struct Pi {
    pub gains: (f64, f64),
    pub target: f64,
    pub ecn: bool,
    pub limit: Limit,
    pub sampler: Sampler,
    pub before: f64,
    pub probability: f64,
}

impl Pi {
    /// The probability after one more sample.
    pub fn update(&mut self, queue: f64) -> f64 {
        let change = self.gains.0 * (queue - self.target) - self.gains.1 * (self.before - self.target);
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        self.before = queue;
        self.probability
    }
}

impl ArrivalPolicy for Pi {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let waiting = f64::from(backlog.packets);
        let mut sampler = self.sampler;
        sampler.catch_up(now, waiting, cx.idle_since, |queue, times| repeat(times, || self.update(queue)));
        self.sampler = sampler;
        let verdict = by_chance(&self.limit, (self.probability, self.ecn), packet, backlog, cx);
        self.sampler.leave(now, waiting + f64::from(u8::from(verdict == Verdict::Accept)));
        verdict
    }
}

/// Athuraliya, Li, Low and Yin 2001, Eq. 1 and 2, in packets of the mean size.
pub struct Rem {
    pub target: f64,
    pub gamma: f64,
    pub alpha: f64,
    pub phi: f64,
    pub period: f64,
    pub ecn: bool,
    pub limit: Limit,
    pub sampler: Sampler,
    pub arrived: f64,
    pub price: f64,
}

impl Rem {
    /// How many packets could be sent in a period.
    pub fn could(&self, rate: BitRate) -> f64 {
        rate.bytes_per_sec() * self.period / MEAN_PACKET.as_f64()
    }

    /// The price after one more sample.
    pub fn update(&mut self, queue: f64, could: f64) -> f64 {
        let mismatch = self.alpha * (queue - self.target) + self.arrived - could;
        self.arrived = 0.0;
        self.price = (self.price + self.gamma * mismatch).max(0.0);
        self.price
    }
}

impl ArrivalPolicy for Rem {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let waiting = f64::from(backlog.packets);
        let could = self.could(cx.rate);
        let mut sampler = self.sampler;
        sampler.catch_up(now, waiting, cx.idle_since, |queue, times| {
            repeat(times, || self.update(queue, could));
        });
        self.sampler = sampler;
        let probability = 1.0 - self.phi.powf(-self.price);
        let verdict = by_chance(&self.limit, (probability, self.ecn), packet, backlog, cx);
        if verdict == Verdict::Accept {
            self.arrived += packet.size().as_f64() / MEAN_PACKET.as_f64();
        }
        self.sampler.leave(now, waiting + f64::from(u8::from(verdict == Verdict::Accept)));
        verdict
    }
}
