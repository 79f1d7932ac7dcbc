//! Packet-pair's parameters, with the defaults of Table 2 of Keshav 1994. What they do is in `mod.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Checker, Span};

use crate::estimators::EstimatorConfig;
use crate::laws::SetpointProbing;

/// Where the bottleneck's queue is steered to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "PacketPairSetpoint")]
pub enum Setpoint {
    /// To a fixed number of packets: for the risk-averse (Keshav 1994, §7).
    Fixed {
        /// The setpoint in packets.
        packets: f64,
    },
    /// To the largest that causes no loss, found by probing: for the risk-taking (§7).
    Probed(SetpointProbing),
    /// Probed with the parameters of Table 2: 5 at first, +2 every 2 round trips, x 0.75 at a loss.
    #[serde(rename = "table-2")]
    Table2,
    /// Probed with the gentler parameters of §7: 5 at first, +0.1 every 4 round trips, x 0.6 at a loss.
    #[serde(rename = "section-7")]
    Section7,
}

impl Setpoint {
    /// How it is probed; `None` if it is fixed.
    pub fn probing(&self) -> Option<SetpointProbing> {
        match self {
            Self::Fixed { .. } => None,
            Self::Probed(probing) => Some(probing.clone()),
            Self::Table2 => Some(SetpointProbing::default()),
            Self::Section7 => Some(SetpointProbing::section_7()),
        }
    }

    /// The setpoint to begin with, in packets.
    pub fn initial(&self) -> f64 {
        match self {
            Self::Fixed { packets } => *packets,
            _ => self.probing().unwrap_or_default().initial,
        }
    }
}

/// The law that sets the rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "PacketPairLaw")]
pub enum Law {
    /// Eq. 14, at every pair.
    Continuous {
        /// J in round trip times while the queue is at or below the setpoint. Published 1.5 (Table 2, `ATTACK_UP`).
        #[serde(default = "attack_up")]
        attack_up: f64,
        /// J in round trip times while it is above. Published 0.8 (Table 2, `ATTACK_DOWN`).
        #[serde(default = "attack_down")]
        attack_down: f64,
    },
    /// Eq. 9 with pole placement, once per round trip.
    Discrete {
        /// α, above 0; below 1 for stability. Published 0.9 (§4.2.1).
        #[serde(default = "alpha")]
        alpha: f64,
    },
}

fn attack_up() -> f64 {
    1.5
}

fn attack_down() -> f64 {
    0.8
}

fn alpha() -> f64 {
    0.9
}

/// What is taken for the round trip time without queueing, R.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "PacketPairPropagation")]
pub enum Propagation {
    /// The first probe's round trip time (Keshav 1994, §4.3).
    #[default]
    First,
    /// The smallest round trip time of any probe: repairs an R that was taken behind a queue.
    Least,
}

/// Which end measures pairs and runs the law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "PacketPairControlledAt")]
pub enum ControlledAt {
    /// The sender, from the spacing of acknowledgements.
    #[default]
    Sender,
    /// The receiver, from the spacing of the data itself; it tells the sender its rate (Keshav 1994, §10.4).
    Receiver,
}

/// When a new rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "PacketPairRateChange")]
pub enum RateChange {
    /// When the timer of the pair before has expired (Keshav 1994, §8), but no later than a round trip after that pair
    /// left, as long as one is expected to take by now: a rate of next to nothing would be kept for minutes else, with
    /// nothing sent to hear of a better one.
    #[default]
    WithinRoundTrip,
    /// When the timer of the pair before has expired, however long that takes: the memorandum's own rule.
    AtTick,
    /// At once, also for the pair that is waiting.
    AtOnce,
}

/// Parameters of packet-pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PacketPairConfig {
    /// Which end measures pairs and runs the law: the `sender` (the default), or the `receiver` (§10.4), where the
    /// bottleneck's noise on the way back does not matter.
    pub controlled_at: ControlledAt,
    /// Where the bottleneck's queue is steered to: `fixed`, `probed`, or one of the paper's two sets, `table-2` (the
    /// default) and `section-7`.
    pub setpoint: Setpoint,
    /// The law: `continuous` (the default) or `discrete`.
    pub law: Law,
    /// The estimator of the service time: `fuzzy` (the default), `kalman` or `ewma`.
    pub estimator: EstimatorConfig,
    /// R: the `first` probe's round trip time, or the `least` seen.
    pub propagation: Propagation,
    /// The part of the way to its target that the rate takes at a pair while the queue is nearly empty. Default 0.2
    /// (Table 2, `INC_FACTOR`); 1 for no caution.
    pub increase_factor: f64,
    /// The weight of history in the smoothed sending rate. Default 0.75 (Table 2, `MS_ALPHA`).
    pub rate_smoothing: f64,
    /// The time-out in expected round trip times. Default 1.5 (Table 2, `TIMEOUT_MULTIPLIER`).
    pub timeout_multiplier: f64,
    /// How long a lone packet waits for its partner; `"0 s"` sends it at once. Default 100 ms (§8).
    pub singleton_timeout: Span,
    /// A rate that the network guarantees to every new conversation, sent at before the first measurement (§5). None
    /// by default: one pair, then silence for a round trip.
    pub nominal_rate: Option<BitRate>,
    /// Whether the rate rises from rest after an idle time of a time-out (§5). Default true.
    pub idle_restart: bool,
    /// When a new rate counts: `at-tick`, when the timer of the pair before has expired (§8); `within-round-trip` (the
    /// default), likewise but at most a round trip later; or `at-once`.
    pub rate_change: RateChange,
    /// The granularity of the sender's clock; `"0 s"`, the default, for an exact one.
    pub clock: Span,
}

impl Default for PacketPairConfig {
    fn default() -> Self {
        Self {
            controlled_at: ControlledAt::Sender,
            setpoint: Setpoint::Table2,
            law: Law::Continuous { attack_up: attack_up(), attack_down: attack_down() },
            estimator: EstimatorConfig::default(),
            propagation: Propagation::First,
            increase_factor: 0.2,
            rate_smoothing: 0.75,
            timeout_multiplier: 1.5,
            singleton_timeout: Span::from_millis(100),
            nominal_rate: None,
            idle_restart: true,
            rate_change: RateChange::WithinRoundTrip,
            clock: Span::ZERO,
        }
    }
}

impl PacketPairConfig {
    /// Complains about every value that is not allowed.
    pub(super) fn check_fields(&self, checker: &mut Checker) {
        checker.within("setpoint", |setpoint| match &self.setpoint {
            Setpoint::Fixed { packets } => {
                let ok = *packets > 0.0 && *packets <= 1e9;
                setpoint.require(ok, "packets", packets, "packets above 0, at most 10^9");
            }
            Setpoint::Probed(probing) => probing.check(setpoint),
            Setpoint::Table2 | Setpoint::Section7 => {}
        });
        checker.within("law", |law| {
            let mut factor = |field: &str, value: f64| {
                law.require((0.01..=100.0).contains(&value), field, value, "0.01 to 100");
            };
            match self.law {
                Law::Continuous { attack_up, attack_down } => {
                    factor("attack_up", attack_up);
                    factor("attack_down", attack_down);
                }
                Law::Discrete { alpha } => factor("alpha", alpha),
            }
        });
        checker.within("estimator", |estimator| self.estimator.check(estimator));
        let increase = self.increase_factor;
        let ok = increase > 0.0 && increase <= 1.0;
        checker.require(ok, "increase_factor", increase, "a part above 0, at most 1");
        let smoothing = self.rate_smoothing;
        let ok = (0.0..1.0).contains(&smoothing);
        checker.require(ok, "rate_smoothing", smoothing, "a number from 0 to below 1");
        let multiplier = self.timeout_multiplier;
        checker.require((1.0..=100.0).contains(&multiplier), "timeout_multiplier", multiplier, "1 to 100");
        let wait = self.singleton_timeout;
        checker.require(wait <= Span::from_secs(60), "singleton_timeout", wait, "at most 60 s");
        if let Some(rate) = self.nominal_rate {
            checker.require(rate > BitRate::ZERO, "nominal_rate", rate, "a rate above zero");
        }
        checker.require(self.clock <= Span::from_secs(1), "clock", self.clock, "at most 1 s");
    }
}
