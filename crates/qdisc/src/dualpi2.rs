//! DualPI2 (RFC 9332, Appendix A): two queues for scalable and classic congestion control, coupled so that both get
//! equal rates, with a short delay for the scalable one.
//!
//! One base probability p′ is moved by a PI controller on the longer of the two delays; classic packets are dropped or
//! marked with probability p′², scalable (L4S) ones marked with k p′ or by the delay of their own queue, whichever is
//! more (RFC 9332 §2.4).
//!
//! The text leaves open which queue is served (§4.2.2): here the L4S queue goes first, and the classic one has its part of
//! the bytes where both wait: it earns it as the other is served, packets dropped on the way out included, spends it on a whole
//! packet, and forgets it when nothing of its own waits. The controller's periods count from the arrival after which there is something to move.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Backlog, Checker, DropReason, Ecn, Packet, QueueCx, QueueDiscipline, Span, Time};

use crate::limit::Limit;
use crate::parts::{BuildCx, Info, QueueConfig};
use crate::pie::check_controller;
use crate::ring::Ring;

/// DualPI2 (RFC 9332): a queue for L4S packets (ECN field ECT(1) or CE) and one for all others, with coupled marking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2Config {
    /// The classic queue's delay to settle at. Default 15 ms (RFC 9332 §A.1).
    pub target: Span,
    /// The period of the base probability. Default 15 ms: the lesser of the target and a third of the longest round trip,
    /// 100 ms (RFC 9332 §A.1). The Linux version rounds to 16 ms, and its gains to 0.16 and 3.2.
    pub period: Span,
    /// Gain of the delay's distance from the target, per second, above 0. Default 0.15: a tenth of the period over the
    /// square of the longest round trip (RFC 9332 §A.1).
    pub alpha: f64,
    /// Gain of the delay's change, per second, above 0. Default 3: 0.3 over the longest round trip (RFC 9332 §A.1).
    pub beta: f64,
    /// The coupling factor k, at least 1. Default 2 (RFC 9332 §2.1).
    pub coupling: f64,
    /// The L4S queue's delay from which its own marking sets in. Default 0.8 ms (RFC 9332 §A.1).
    pub ramp_min: Span,
    /// The L4S queue's delay from which its own marking marks all. Default 1.2 ms (RFC 9332 §A.1).
    pub ramp_max: Span,
    /// The part of the rate that the classic queue gets at least, above 0, below 1. Default 1/16 (RFC 9332 §4.2.2).
    pub classic_share: f64,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            period: Span::from_millis(15),
            alpha: 0.15,
            beta: 3.0,
            coupling: 2.0,
            ramp_min: Span::from_micros(800),
            ramp_max: Span::from_micros(1200),
            classic_share: 1.0 / 16.0,
        }
    }
}

impl DualPi2Config {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_controller(self.target, self.period, [self.alpha, self.beta], checker);
        let coupling = self.coupling;
        checker.require(coupling >= 1.0 && coupling.is_finite(), "coupling", coupling, "a number from 1");
        let allowed = format!("at least ramp_min, which is {}", self.ramp_min);
        checker.require(self.ramp_max >= self.ramp_min, "ramp_max", self.ramp_max, allowed);
        let share = self.classic_share;
        checker.require(share > 0.0 && share < 1.0, "classic_share", share, "above 0, below 1");
    }
}

impl QueueConfig for DualPi2Config {
    type Queue = Box<DualPi2>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "dualpi2",
            family: "active",
            summary: "Two queues, for L4S and classic traffic, with coupled marking",
            source: "RFC 9332",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(DualPi2::new(self, cx))
    }
}

/// One of the two queues, with the accumulator of its deterministic marking (`recur` of RFC 9332, Fig. 8).
#[derive(Clone, Debug, Default)]
struct Half {
    ring: Ring<Time>,
    count: f64,
}

impl Half {
    /// The sojourn time of the oldest packet so far.
    fn delay(&self, now: Time) -> Span {
        self.ring.head().map_or(Span::ZERO, |(_, arrived)| now.since(*arrived))
    }

    /// True for the part `likelihood` of all calls, evenly.
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let due = self.count > 1.0;
        if due {
            self.count -= 1.0;
        }
        due
    }
}

/// DualPI2.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    limit: Limit,
    l4s: Half,
    classic: Half,
    /// Bytes that the classic queue has earned while the other was served.
    classic_credit: f64,
    /// The base probability p′.
    base: f64,
    delay_before: f64,
    /// When the base probability moves next; `None` while there is nothing to move.
    update: Option<Time>,
}

impl DualPi2 {
    /// DualPI2 for the link that `cx` describes.
    pub fn new(config: &DualPi2Config, cx: &BuildCx) -> Self {
        Self {
            config: config.clone(),
            limit: Limit::new(cx.capacity),
            l4s: Half::default(),
            classic: Half::default(),
            classic_credit: 0.0,
            base: 0.0,
            delay_before: 0.0,
            update: None,
        }
    }

    /// The base probability p′.
    pub const fn base_probability(&self) -> f64 {
        self.base
    }

    fn classic_probability(&self) -> f64 {
        (self.base * self.base).min(1.0)
    }

    fn coupled_probability(&self) -> f64 {
        (self.config.coupling * self.base).min(1.0)
    }

    /// The probability above which L4S marking is saturated, and drops take over (RFC 9332 §A.2).
    fn saturation(&self) -> f64 {
        (1.0 / (self.config.coupling * self.config.coupling)).min(1.0)
    }

    /// The L4S queue's own marking: a ramp over its delay, unless one packet alone waits.
    fn native_probability(&self, sojourn: Span) -> f64 {
        let (min, max) = (self.config.ramp_min, self.config.ramp_max);
        if self.l4s.ring.is_empty() || sojourn < min {
            0.0
        } else if sojourn >= max {
            1.0
        } else {
            (sojourn - min).ratio(max - min)
        }
    }

    /// Whether the L4S queue is served next: weighted round robin, with its default weight far the larger.
    fn l4s_turn(&mut self) -> bool {
        let Some((classic, _)) = self.classic.ring.head() else {
            self.classic_credit = 0.0;
            return true;
        };
        let Some((l4s, _)) = self.l4s.ring.head() else { return false };
        let size = classic.size().as_f64();
        if self.classic_credit >= size {
            self.classic_credit -= size;
            return false;
        }
        let share = self.config.classic_share;
        self.classic_credit += l4s.size().as_f64() * share / (1.0 - share);
        true
    }

    /// Takes a packet of the L4S queue; `None` where it is dropped.
    fn take_l4s(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let (mut packet, arrived) = self.l4s.ring.pop()?;
        let native = self.native_probability(now.since(arrived));
        let coupled = self.coupled_probability();
        if coupled < 1.0 {
            if self.l4s.recur(native.max(coupled)) {
                cx.mark_ce(&mut packet);
            }
            return Some(packet);
        }
        if self.l4s.recur(self.classic_probability()) {
            cx.drop(packet, DropReason::Early);
            return None;
        }
        cx.mark_ce(&mut packet);
        Some(packet)
    }

    /// Takes a packet of the classic queue; `None` where it is dropped.
    fn take_classic(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let (mut packet, _) = self.classic.ring.pop()?;
        let probability = self.classic_probability();
        if self.classic.recur(probability) && !(probability < self.saturation() && cx.mark_ce(&mut packet)) {
            cx.drop(packet, DropReason::Early);
            return None;
        }
        Some(packet)
    }
}

impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        if !self.limit.admits(&packet, &self.backlog(), cx.idle_since.is_some()) {
            cx.drop(packet, DropReason::Overflow);
            return;
        }
        let scalable = matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce);
        let half = if scalable { &mut self.l4s } else { &mut self.classic };
        half.ring.push(packet, now);
        if self.update.is_none() {
            self.update = Some(now + self.config.period);
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        while self.backlog().packets > 0 {
            let taken = if self.l4s_turn() { self.take_l4s(now, cx) } else { self.take_classic(cx) };
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    fn next_timer(&self) -> Option<Time> {
        self.update
    }

    /// Moves the base probability (RFC 9332, Fig. 6).
    fn on_timer(&mut self, now: Time, _cx: &mut QueueCx<'_>) {
        let Some(due) = self.update.filter(|due| *due <= now) else { return };
        let delay = self.classic.delay(now).max(self.l4s.delay(now)).as_secs_f64();
        let target = self.config.target.as_secs_f64();
        let step = self.config.alpha * (delay - target) + self.config.beta * (delay - self.delay_before);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay_before = delay;
        let settled = self.backlog().packets == 0 && self.base == 0.0 && delay == 0.0;
        self.update = (!settled).then_some(due + self.config.period);
    }

    fn backlog(&self) -> Backlog {
        let (l4s, classic) = (self.l4s.ring.backlog(), self.classic.ring.backlog());
        Backlog { packets: l4s.packets + classic.packets, bytes: l4s.bytes + classic.bytes }
    }

    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note("base_probability", self.base);
        note("classic_seconds", self.classic.delay(now).as_secs_f64());
        note("l4s_seconds", self.l4s.delay(now).as_secs_f64());
    }
}
