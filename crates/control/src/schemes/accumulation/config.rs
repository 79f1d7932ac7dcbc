//! Parameters of accumulation-based congestion control, what of them is allowed, and the four schemes that have them. What they do
//! is in `mod.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, DataAmount, Span, or_none};

use super::Accumulation;
use crate::laws::accumulation::Law;
use crate::needs::Reliability;
use crate::parts::{ControllerParams, Parts, SchemeConfig, SchemeInfo};
use crate::schemes::monaco::MonacoPolicy;

/// How accumulation is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// By the receiver, with a pair of control packets per round trip (§IV-B.1); wants a priority lane.
    #[default]
    Monaco,
    /// By the sender, from round trip times above the smallest of all (§IV-A).
    Vegas,
    /// By the sender, from round trip times above the smallest of the last `history` rounds (§IV-A).
    VegasK,
}

/// Parameters of accumulation-based congestion control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccumulationConfig {
    /// a*: how much of the flow is to be queued in the network, and its weight in the fair shares. Default 3 packets
    /// (Table I).
    pub target: DataAmount,
    /// κ, the law's gain per round trip: 0.5 for the proportional law and 0.5 packets for AIAD (Table I), 100 packets per
    /// second for MW. Unset: the law's.
    pub kappa: Option<f64>,
    /// How accumulation is measured. Default monaco.
    pub estimator: Estimator,
    /// Rounds that the estimator `vegas-k` remembers, at least 1. Default 10.
    pub history: u32,
    /// Gain of the average of the egress rate, one sample per round trip, in (0, 1]; for the estimator `monaco`.
    /// Default 0.5: the paper gives none.
    pub egress_gain: f64,
    /// γ: slow start, in which the window doubles every other round trip, ends when more than this is queued;
    /// `"none"` for no slow start. Default 1 packet (Brakmo and Peterson 1995; the paper is silent).
    #[serde(with = "or_none")]
    #[schemars(schema_with = "or_none::schema::<DataAmount>")]
    pub gamma: Option<DataAmount>,
    /// What loss multiplies the window by, in (0, 1). Default 0.5 (§IV-B.2).
    pub decrease: f64,
    /// Whether packets leave one by one at `cwnd / rtt` (§IV-B.2) rather than as acknowledgements release them. Default
    /// true.
    pub pace: bool,
    /// The shortest time-out of control packets. Default 200 ms.
    pub min_timeout: Span,
    /// Whether a pair of control packets is given up, and the next one sent, as soon as data that left well after it is
    /// acknowledged. Default true; the paper has the time-out alone.
    pub early_pairs: bool,
    /// The granularity of both ends' clocks, in multiples of which the estimators measure; `"0 s"`, the default, for exact
    /// ones.
    pub clock: Span,
}

impl Default for AccumulationConfig {
    fn default() -> Self {
        Self {
            target: DataAmount::Packets(3.0),
            kappa: None,
            estimator: Estimator::Monaco,
            history: 10,
            egress_gain: 0.5,
            gamma: Some(DataAmount::Packets(1.0)),
            decrease: 0.5,
            pace: true,
            min_timeout: Span::from_millis(200),
            early_pairs: true,
            clock: Span::ZERO,
        }
    }
}

/// A scheme of this family.
#[derive(Clone, Copy, Debug)]
pub struct AccumulationScheme<'a> {
    config: &'a AccumulationConfig,
    law: Law,
    info: &'static SchemeInfo,
    /// Whether any estimator will do.
    any_estimator: bool,
}

impl<'a> AccumulationScheme<'a> {
    /// The scheme `accumulation-aiad`.
    pub const fn aiad(config: &'a AccumulationConfig) -> Self {
        let info = &SchemeInfo {
            name: "accumulation-aiad",
            summary: "Additive increase and decrease towards a target of packets queued in the network",
            source: "Xia et al., Accumulation-based Congestion Control, §III-B, equation 3",
            reliability: Reliability::Sack,
            expects_discipline: "priority",
        };
        Self { config, law: Law::Aiad, info, any_estimator: true }
    }

    /// The scheme `accumulation-mw`.
    pub const fn mw(config: &'a AccumulationConfig) -> Self {
        let info = &SchemeInfo {
            name: "accumulation-mw",
            summary: "Mo and Walrand's law towards a target of packets queued in the network",
            source: "Xia et al., Accumulation-based Congestion Control, §III-B, equation 5",
            reliability: Reliability::Sack,
            expects_discipline: "priority",
        };
        Self { config, law: Law::Mw, info, any_estimator: true }
    }

    /// The scheme `accumulation-p`.
    pub const fn proportional(config: &'a AccumulationConfig) -> Self {
        let info = &SchemeInfo {
            name: "accumulation-p",
            summary: "Proportional control towards a target of packets queued in the network",
            source: "Xia et al., Accumulation-based Congestion Control, §III-B, equation 6",
            reliability: Reliability::Sack,
            expects_discipline: "priority",
        };
        Self { config, law: Law::Proportional, info, any_estimator: true }
    }

    /// The scheme `monaco`.
    pub const fn monaco(config: &'a AccumulationConfig) -> Self {
        let info = &SchemeInfo {
            name: "monaco",
            summary: "Proportional control of the packets queued in the network, measured at the receiver by control packets",
            source: "Xia et al., Accumulation-based Congestion Control, §IV-B",
            reliability: Reliability::Sack,
            expects_discipline: "priority",
        };
        Self { config, law: Law::Proportional, info, any_estimator: false }
    }
}

impl SchemeConfig for AccumulationScheme<'_> {
    type Controller = Accumulation;

    fn info(&self) -> &'static SchemeInfo {
        self.info
    }

    fn held(&self, segment: Bytes) -> Option<f64> {
        Some(self.config.target.in_packets(segment) * segment.as_f64())
    }

    fn lives_on_reports(&self) -> bool {
        self.config.estimator == Estimator::Monaco
    }

    fn check(&self, checker: &mut Checker) {
        self.config.check_fields(checker);
        let estimator = self.config.estimator;
        let ok = self.any_estimator || estimator == Estimator::Monaco;
        let name = if estimator == Estimator::Vegas { "vegas" } else { "vegas-k" };
        checker.require(ok, "estimator", name, "monaco; the scheme accumulation-p takes any estimator");
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts<Accumulation> {
        let config = self.config;
        let at_receiver = config.estimator == Estimator::Monaco;
        let policy = || MonacoPolicy::with_clock(config.egress_gain, params.segment, config.clock);
        Parts::sender(Accumulation::new(self.law, config, params)).with_policy(at_receiver.then(policy))
    }
}

impl AccumulationConfig {
    /// Complains about every value that is not allowed.
    fn check_fields(&self, checker: &mut Checker) {
        let allowed = DataAmount::SENSIBLE;
        checker.require(self.target.is_sensible(), "target", self.target, allowed);
        let kappa = self.kappa.unwrap_or(1.0);
        checker.require(kappa > 0.0 && kappa <= 1e6, "kappa", kappa, "a number above 0, at most 1000000");
        checker.require(self.history >= 1, "history", self.history, "at least 1 round");
        let gain = self.egress_gain;
        checker.require(gain > 0.0 && gain <= 1.0, "egress_gain", gain, "a gain above 0, at most 1");
        if let Some(gamma) = self.gamma {
            checker.require(gamma.is_sensible(), "gamma", gamma, format_args!("{allowed}, or \"none\""));
        }
        let factor = self.decrease;
        checker.require(factor > 0.0 && factor < 1.0, "decrease", factor, "between 0 and 1, both excluded");
        let timeout = self.min_timeout;
        let ok = !timeout.is_zero() && timeout <= Span::from_secs(60);
        checker.require(ok, "min_timeout", timeout, "more than 0 s, at most 60 s");
        checker.require(self.clock <= Span::from_secs(1), "clock", self.clock, "at most 1 s");
    }
}
