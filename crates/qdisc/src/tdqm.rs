//! Two-dimensional queue management (Li and Mills, "Control Architecture for Tuning Intensity and Burstiness of
//! Traffic", `tdqm.txt` §II): a first-in first-out queue that measures its utilization ρ and its burstiness η, and
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
//! How tiny busy periods are merged (§II-B) is open to two readings, and matters, because b is small (three packets,
//! §IV-B) and the thresholds are low (0.1 and 0.2):
//!
//! * here the busy periods are laid end to end and idle times left out, as Eq. 2 integrates over busy time: an even
//!   stream below full load has η = 1/n, where n packets are just longer than b (1/4 for a b of three packets, or 1/3
//!   where it is rounded down), and Poisson arrivals have η of about 0.4 at any load from 0.3 to 0.98 (0.33 with 1/4);
//! * with idle times counted into b, η would be smaller (Poisson: 0.19 at load 0.3, 0.30 at 0.6 and 0.9), and would
//!   move with low loads, against §II-B.
//!
//! By either, with the paper's b and thresholds, traffic as smooth as the paper's own senders can make it (their tokens
//! are Poisson) is above the upper threshold when every busy period counts alike, so that the η loop would mark all
//! packets for ever. Weighted by their lengths, busy periods of Poisson arrivals have a mean η of 0.22 at load 0.9
//! and 0.14 at 0.95: inside the thresholds where the ρ loop holds the load, but no longer independent of it. The first
//! reading is kept, being the letter of Eq. 2; who needs η to tend to 0 for smooth traffic sets
//! `shortest_busy_period` well above a burst (half the window reads 1/60 for an even stream).
//!
//! Known limit: a busy period tells its η when it ends (Eq. 2), so while a queue never empties, its average η stands
//! still. It is the ρ loop that breaks long busy periods up (§II-A).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    ArrivalPolicy, Backlog, Capacity, Checker, DropReason, Packet, QueueCx, Span, Time, Verdict,
};

use crate::config::BuildCx;
use crate::limit::Limit;
use crate::meters::{Burstiness, Utilization, Workload};
use crate::spacing::Spacing;

/// Two-dimensional queue management (`tdqm.txt` §II): marks packets for utilization and for burstiness.
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
}

/// Marks for utilization ρ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RhoConfig {
    /// Average below which nothing is marked, 0 to 1. Default 0.9.
    pub min: f64,
    /// Average above which every packet is marked, `min` to 1; with both at 1 nothing is ever marked. Default 1.0.
    pub max: f64,
    /// Probability of a mark at `max`, above 0, at most 1. Default 0.1.
    pub max_p: f64,
    /// Weight of a window in the average, above 0, at most 1. Default 0.25.
    pub weight: f64,
}

/// Marks for burstiness η.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EtaConfig {
    /// Average below which nothing is marked, 0 to 1. Default 0.1.
    pub min: f64,
    /// Average above which every packet is marked, `min` to 1; with both at 1 nothing is ever marked. Default 0.2.
    pub max: f64,
    /// Probability of a mark at `max`, above 0, at most 1. Default 0.1.
    pub max_p: f64,
    /// Weight of a busy period in the average, above 0, at most 1. Default 0.05.
    pub weight: f64,
}

impl Default for RhoConfig {
    fn default() -> Self {
        Self { min: 0.9, max: 1.0, max_p: 0.1, weight: 0.25 }
    }
}

impl Default for EtaConfig {
    fn default() -> Self {
        Self { min: 0.1, max: 0.2, max_p: 0.1, weight: 0.05 }
    }
}

/// The window where the buffer suggests none.
const WINDOW: Span = Span::from_millis(10);
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
        let marks = [
            ("rho", Marks::new(rho.min, rho.max, rho.max_p, rho.weight)),
            ("eta", Marks::new(eta.min, eta.max, eta.max_p, eta.weight)),
        ];
        for (name, marks) in marks {
            checker.within(name, |checker| marks.check(checker));
        }
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

    fn check(&self, checker: &mut Checker) {
        let &Self { min, max, max_p, weight, .. } = self;
        checker.require((0.0..=1.0).contains(&min), "min", min, "a number from 0 to 1");
        checker.require(
            max >= min && max <= 1.0,
            "max",
            max,
            format!("a number from {min}, which is min, to 1"),
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
    work: Workload,
    utilization: Utilization,
    burstiness: Burstiness,
    rho: Marks,
    eta: Marks,
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
            work: Workload::new(),
            utilization: Utilization::new(window),
            burstiness: Burstiness::new(shortest),
            rho: Marks::new(rho.min, rho.max, rho.max_p, rho.weight),
            eta: Marks::new(eta.min, eta.max, eta.max_p, eta.weight),
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
        self.measure(now);
        if !self.limit.admits(packet, backlog, cx.idle_since.is_some()) {
            return Verdict::Drop(DropReason::Overflow);
        }
        if self.rho.marks(cx) {
            cx.mark_rho(packet);
        }
        if self.eta.marks(cx) {
            cx.mark_eta(packet);
        }
        self.work.add(packet.size(), cx.rate);
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
