//! Two-dimensional queue management (Li and Mills, "Control Architecture for Tuning Intensity and Burstiness of
//! Traffic", §II): a first-in first-out queue that measures its utilization ρ and its burstiness η, and
//! tells senders about each with a bit of its own. It drops at overflow only. The meters live in `meters`.
//!
//! At each arrival, for ρ and η alike (Fig. 2):
//!
//! ```text
//! min < average ≤ max    mark with probability max_p (average − min) / (max − min), spaced as RED does
//! max < average          mark
//! ```
//!
//! Stated in the paper: the meters, the thresholds' meaning, that averages and probabilities are "very similar to that
//! used in RED". Inferred: averages are exponential, one step per sample of a meter (a window, a busy period); ρ is
//! the busy part of a window, as in Eq. 1, so it never exceeds 1; packets dropped at overflow count in neither meter;
//! every packet can carry the marks.
//!
//! Two things in §II-B are open to readings, and matter, because b is small (three packets, §IV-B) and the thresholds are
//! low (0.1 and 0.2). What "the queueing delay V(t)" counts:
//!
//! * here it is what waits, without the packet in transmission, as queues are measured in ns-2, where the paper's were. Then
//!   evenly spaced packets have η = 0 and those of a batch of n have `1 - 1/n`, which is what "→ 0" and "→ 1" say; Poisson
//!   arrivals, the smoothest that the paper's own senders can make, have an η of 0.16 to 0.19 at loads from 0.6 to 0.98: in
//!   between the thresholds, and independent of ρ as claimed;
//! * with the packet in transmission (`delay = "work"`) evenly spaced packets have η = 1/n, where n of them are just longer
//!   than b (1/4, or 1/3 where b is rounded down), a batch 1, and Poisson arrivals 0.32 to 0.37: above the upper threshold
//!   whatever the senders do, so that the η loop marks every packet for ever and its senders starve.
//!
//! How tiny busy periods are merged: here they are laid end to end and idle times left out, as Eq. 2 integrates over busy
//! time. With idle times counted into b, η would be smaller at low loads, and would move with them, against §II-B.
//!
//! What happens at equal times: a busy period of exactly b counts as a tiny one (stated, §II-B: "larger than"). A packet that
//! comes as the server ends begins a new busy period, as it finds the link idle (inferred; the paper is silent). With `work`,
//! packets that are evenly spaced at full load are therefore tiny busy periods as they are at lower loads.
//!
//! Known limit: a busy period tells its η when it ends (Eq. 2), so while a queue never empties, its average η stands
//! still. It is the ρ loop that breaks long busy periods up (§II-A).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    ArrivalPolicy, Backlog, Capacity, Checker, DropReason, Ecn, Packet, QueueCx, Span, Time, Verdict,
};

use crate::limit::Limit;
use crate::meters::{Burstiness, Delay, Load, Utilization, Workload, service};
use crate::parts::{BuildCx, Info, QueueConfig};
use crate::rate::KnownRate;
use crate::spacing::Spacing;

/// Two-dimensional queue management (Li and Mills, §II): marks packets for utilization and for burstiness.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TdqmConfig {
    /// The window w over which utilization is measured. Default: half the time in which a full buffer drains
    /// (§II-A, §IV-B), or 10 ms where the buffer is unlimited.
    pub window: Option<Span>,
    /// The length b beyond which a busy period gives a sample of burstiness by itself. Default: 0.025 w (§IV-B).
    pub shortest_busy_period: Option<Span>,
    /// Marks for utilization. Default: thresholds 0.9 and 1.0 (§IV-B).
    pub rho: RhoConfig,
    /// Marks for burstiness. Default: thresholds 0.1 and 0.2 (§IV-B).
    pub eta: EtaConfig,
    /// How packets bear the marks: `two-bits`, `codepoints` or `one-bit`. Default `two-bits`.
    pub marks: MarkForm,
}

/// How packets bear marks for utilization and for burstiness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkForm {
    /// In two bits of their own, which every packet has.
    #[default]
    TwoBits,
    /// In the ECN field of ECN-capable packets: congestion experienced for utilization, which replaces all, and ECT(1) in
    /// place of ECT(0) for burstiness (the encoding of RFC 6660 §3, whose two marks these are).
    Codepoints,
    /// As congestion experienced, for either, on ECN-capable packets (RFC 3168).
    OneBit,
}

impl MarkForm {
    #[inline]
    fn rho(self, packet: &mut Packet, cx: &mut QueueCx<'_>) {
        match self {
            Self::TwoBits => cx.mark_rho(packet),
            Self::Codepoints | Self::OneBit => {
                cx.mark_ce(packet);
            }
        }
    }

    #[inline]
    fn eta(self, packet: &mut Packet, cx: &mut QueueCx<'_>) {
        match self {
            Self::TwoBits => cx.mark_eta(packet),
            Self::Codepoints if packet.ecn() == Ecn::Ect0 => {
                packet.set_ecn(Ecn::Ect1);
                cx.marks += 1;
            }
            Self::Codepoints => {}
            Self::OneBit if packet.ecn() == Ecn::Ce => {}
            Self::OneBit => {
                cx.mark_ce(packet);
            }
        }
    }
}

/// Marks for utilization ρ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RhoConfig {
    /// Average below which nothing is marked, 0 to 1, or to 1000 with `load = "offered"`. Default 0.9.
    pub min: f64,
    /// Average above which every packet is marked, `min` to 1, or to 1000 with `load = "offered"`; with both at the largest
    /// value nothing is ever marked. Default 1.0.
    pub max: f64,
    /// Probability of a mark at `max`, above 0, at most 1. Default 0.02 (Floyd and Jacobson
    /// 1993, §10).
    pub max_p: f64,
    /// Weight of a window in the average, above 0, at most 1. Default 0.25.
    pub weight: f64,
    /// What ρ is measured by: `busy`, the part of the time that the link transmits, or `offered`, all that arrives. Default
    /// `busy`.
    pub load: Load,
}

/// Marks for burstiness η.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EtaConfig {
    /// Average below which nothing is marked, 0 to 1. Default 0.1.
    pub min: f64,
    /// Average above which every packet is marked, `min` to 1; with both at 1 nothing is ever marked. Default 0.2.
    pub max: f64,
    /// Probability of a mark at `max`, above 0, at most 1. Default 0.02 (Floyd and Jacobson
    /// 1993, §10).
    pub max_p: f64,
    /// Weight of a busy period in the average, above 0, at most 1. Default 0.01.
    pub weight: f64,
    /// What the queueing delay counts: `waiting`, packets that wait, or `work`, also the packet in transmission.
    /// Default `waiting`.
    pub delay: Delay,
}

impl Default for RhoConfig {
    fn default() -> Self {
        Self { min: 0.9, max: 1.0, max_p: 0.02, weight: 0.25, load: Load::Busy }
    }
}

impl Default for EtaConfig {
    fn default() -> Self {
        Self { min: 0.1, max: 0.2, max_p: 0.02, weight: 0.01, delay: Delay::Waiting }
    }
}

/// The window where the buffer suggests none.
const WINDOW: Span = Span::from_millis(10);
/// The largest threshold where ρ is offered load, which may be above 1.
const LARGEST_LOAD: f64 = 1000.0;
/// b as a part of w (§IV-B).
const SHORTEST: f64 = 0.025;

impl TdqmConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        if let Some(window) = self.window {
            checker.require(!window.is_zero(), "window", window, "a time above zero");
        }
        if let (Some(shortest), Some(window)) = (self.shortest_busy_period, self.window) {
            checker.require(shortest <= window, "shortest_busy_period", shortest, "at most the window");
        }
        let (rho, eta) = (&self.rho, &self.eta);
        let most = if rho.load == Load::Offered { LARGEST_LOAD } else { 1.0 };
        let marks = [
            ("rho", most, Marks::new(rho.min, rho.max, rho.max_p, rho.weight)),
            ("eta", 1.0, Marks::new(eta.min, eta.max, eta.max_p, eta.weight)),
        ];
        for (name, most, marks) in marks {
            checker.within(name, |checker| marks.check(most, checker));
        }
    }
}

impl QueueConfig for TdqmConfig {
    type Queue = Box<Tdqm>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "tdqm",
            family: "active",
            summary: "Marks packets for utilization and for burstiness, each with a bit of its own",
            source: "Li and Mills, Control Architecture for Tuning Intensity and Burstiness of Traffic, §II",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(Tdqm::new(self, cx))
    }
}

/// The averaging and marking that both meters share.
#[derive(Clone, Copy, Debug)]
struct Marks {
    min: f64,
    max: f64,
    max_p: f64,
    weight: f64,
    average: f64,
    spacing: Spacing,
}

impl Marks {
    const fn new(min: f64, max: f64, max_p: f64, weight: f64) -> Self {
        Self { min, max, max_p, weight, average: 0.0, spacing: Spacing::new() }
    }

    /// `most` is the largest value that the metric can have.
    fn check(&self, most: f64, checker: &mut Checker) {
        let &Self { min, max, max_p, weight, .. } = self;
        checker.require((0.0..=most).contains(&min), "min", min, format!("a number from 0 to {most}"));
        checker.require(
            max >= min && max <= most,
            "max",
            max,
            format!("a number from {min}, which is min, to {most}"),
        );
        checker.require(max_p > 0.0 && max_p <= 1.0, "max_p", max_p, "above 0, at most 1");
        checker.require(weight > 0.0 && weight <= 1.0, "weight", weight, "above 0, at most 1");
    }

    /// Moves the average towards a sample that came `repeats` times.
    #[inline]
    fn average(&mut self, sample: f64, repeats: u64) {
        let kept = if repeats == 1 { 1.0 - self.weight } else { (1.0 - self.weight).powf(repeats as f64) };
        self.average = sample + kept * (self.average - sample);
    }

    /// Whether the arriving packet is marked.
    #[inline]
    fn marks(&mut self, cx: &mut QueueCx<'_>) -> bool {
        if self.average <= self.min {
            self.spacing.restart();
            return false;
        }
        let base = if self.average > self.max {
            1.0
        } else {
            self.max_p * (self.average - self.min) / (self.max - self.min)
        };
        self.spacing.picks(base, cx.rng)
    }
}

/// The state of one TDQM queue.
#[derive(Clone, Debug)]
pub struct Tdqm {
    limit: Limit,
    rate: KnownRate,
    work: Workload,
    utilization: Utilization,
    burstiness: Burstiness,
    rho: Marks,
    eta: Marks,
    form: MarkForm,
}

impl Tdqm {
    /// TDQM for the link that `cx` describes.
    pub fn new(config: &TdqmConfig, cx: &BuildCx) -> Self {
        let drain = match cx.capacity {
            Capacity::Packets(count) => Some(cx.rate.span_of(cx.mean_packet * u64::from(count))),
            Capacity::Bytes(bytes) => Some(cx.rate.span_of(bytes)),
            Capacity::MilliBdp(_) | Capacity::Unlimited => None,
        };
        let window = config.window.or(drain.map(|span| span / 2)).filter(|span| !span.is_zero());
        let window = window.unwrap_or(WINDOW);
        let shortest = config.shortest_busy_period.unwrap_or_else(|| window.mul_f64(SHORTEST));
        let (rho, eta) = (&config.rho, &config.eta);
        Self {
            limit: Limit::new(cx.capacity),
            rate: KnownRate::new(cx.rate),
            work: Workload::new(),
            utilization: Utilization::new(window, rho.load),
            burstiness: Burstiness::new(shortest, eta.delay),
            rho: Marks::new(rho.min, rho.max, rho.max_p, rho.weight),
            eta: Marks::new(eta.min, eta.max, eta.max_p, eta.weight),
            form: config.marks,
        }
    }

    /// The average utilization.
    pub const fn rho(&self) -> f64 {
        self.rho.average
    }

    /// The average burstiness.
    pub const fn eta(&self) -> f64 {
        self.eta.average
    }

    fn measure(&mut self, now: Time) {
        let stretch = self.work.advance(now);
        let (rho, eta) = (&mut self.rho, &mut self.eta);
        self.utilization.feed(&stretch, |sample, repeats| rho.average(sample, repeats));
        self.burstiness.feed(&stretch, |sample| eta.average(sample, 1));
    }
}

impl ArrivalPolicy for Tdqm {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let rate = self.rate.at(cx.rate);
        self.measure(now);
        self.utilization.arrive(service(packet.size(), rate));
        if !self.limit.admits(packet, backlog, cx.idle_since.is_some()) {
            return Verdict::Drop(DropReason::Overflow);
        }
        if self.rho.marks(cx) {
            self.form.rho(packet, cx);
        }
        if self.eta.marks(cx) {
            self.form.eta(packet, cx);
        }
        let (wait, service) = self.work.add(packet.size(), rate);
        self.burstiness.arrive(wait, service);
        Verdict::Accept
    }

    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        // The meters stand where the last arrival left them: a copy goes on to the present.
        let mut present = self.clone();
        present.measure(now);
        note("rho", present.rho.average);
        note("eta", present.eta.average);
    }
}
