//! The registry: a scheme is a named composition of a receiver's feedback policy, a sender's controller and the
//! reliability that they stand on, with the queue discipline that it expects. No algorithm lives here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker};

use crate::any::{AnyController, AnyPolicy};
use crate::custom::CustomSchemeConfig;
use crate::laws::accumulation::Law;
use crate::schemes::{
    Accumulation, AccumulationConfig, AccumulationEstimator, Cubic, CubicConfig, FixedRate, FixedRateConfig,
    FixedWindow, FixedWindowConfig, MonacoPolicy, PacketPair, PacketPairConfig, PacketPairControlledAt,
    PacketPairPolicy, PacketPairRemote, Reno, RenoConfig, Vegas, VegasConfig, VegasKConfig,
};

/// What a controller needs to know about its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerParams {
    /// A full segment's bytes on the wire.
    pub segment: Bytes,
    /// The window before any feedback.
    pub initial_window: Bytes,
    /// The slow start threshold before any loss; `None` for without limit.
    pub initial_ssthresh: Option<Bytes>,
    /// The window never exceeds this: the receiver's window.
    pub max_window: Bytes,
}

/// How lost data is found and repaired; implemented in `transport`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reliability {
    /// Fast retransmit and fast recovery of one segment per episode (RFC 5681 §3.2).
    Reno,
    /// Recovery by partial acknowledgements (RFC 6582).
    NewReno,
    /// Reno's, with segments sent again by a timer of fine grain, before three duplicates have come (Brakmo and Peterson
    /// 1995, §III-A).
    Vegas,
    /// Scoreboard recovery by selective acknowledgements (RFC 2018, RFC 6675).
    Sack,
    /// Recovery by the offsets of acknowledgements and a soft time-out (`packet-pair.txt`, appendix).
    Offsets,
    /// Nothing is repaired: datagrams.
    Datagram,
}

/// What a scheme wants from its endpoints beyond the traits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Data leaves ECN-capable, whatever the scenario says.
    pub ecn: bool,
    /// Data packets carry a [`ControlInfo`](tailback_core::ControlInfo) stamp for the feedback policy.
    pub stamps: bool,
    /// Every data packet is acknowledged at once: delayed acknowledgements would break the estimator.
    pub prompt_acks: bool,
}

/// A scheme taken apart: what the endpoints are built from.
pub struct Parts {
    /// The sender's half.
    pub controller: AnyController,
    /// The receiver's half, where the scheme has one besides acknowledgements.
    pub policy: Option<AnyPolicy>,
    /// How lost data is repaired.
    pub reliability: Reliability,
    /// What else it wants.
    pub needs: Needs,
}

/// A scheme by name, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Scheme {
    /// TCP Reno (RFC 5681).
    Reno(RenoConfig),
    /// TCP NewReno (RFC 6582).
    #[serde(rename = "newreno")]
    NewReno(RenoConfig),
    /// TCP with selective acknowledgements (RFC 6675) and Reno's window law.
    Sack(RenoConfig),
    /// CUBIC (RFC 9438).
    Cubic(CubicConfig),
    /// TCP Vegas (Brakmo and Peterson 1995).
    Vegas(VegasConfig),
    /// TCP Vegas with a bounded memory of round trip times (Mo et al. 1999; `accumulation.txt` §IV-A).
    VegasK(VegasKConfig),
    /// Additive increase and decrease towards a target accumulation (`accumulation.txt` equation 3).
    AccumulationAiad(AccumulationConfig),
    /// Mo and Walrand's law towards a target accumulation (`accumulation.txt` equation 5).
    AccumulationMw(AccumulationConfig),
    /// Proportional control towards a target accumulation (`accumulation.txt` equation 6).
    AccumulationP(AccumulationConfig),
    /// Monaco (`accumulation.txt` §IV-B): proportional control of an accumulation measured at the receiver.
    Monaco(AccumulationConfig),
    /// Packet-pair flow control (Keshav 1994).
    PacketPair(PacketPairConfig),
    /// A window that never changes.
    FixedWindow(FixedWindowConfig),
    /// A rate that never changes.
    FixedRate(FixedRateConfig),
    /// A scheme of the user's own, registered in the process that runs the scenario.
    Custom(CustomSchemeConfig),
}

/// What is known of a scheme without building it.
#[derive(Clone, Copy, Debug)]
pub struct SchemeInfo {
    /// Its registered name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// How lost data is repaired.
    pub reliability: Reliability,
    /// The queue discipline that it expects at the bottleneck.
    pub expects_discipline: &'static str,
    /// The scheme with its published defaults.
    pub default: fn() -> Scheme,
}

/// The entry of all schemes of the user's own; not among [`SCHEMES`], since what they are is known to the user alone.
static OWN: SchemeInfo = SchemeInfo {
    name: "custom",
    summary: "A scheme of the user's own, registered in the process that runs the scenario",
    source: "none",
    reliability: Reliability::Sack,
    expects_discipline: "any",
    default: || Scheme::Custom(CustomSchemeConfig::default()),
};

/// All registered schemes.
pub const SCHEMES: &[SchemeInfo] = &[
    SchemeInfo {
        name: "reno",
        summary: "AIMD window with fast retransmit and fast recovery",
        source: "RFC 5681",
        reliability: Reliability::Reno,
        expects_discipline: "any",
        default: || Scheme::Reno(RenoConfig::default()),
    },
    SchemeInfo {
        name: "newreno",
        summary: "Reno's window with recovery by partial acknowledgements",
        source: "RFC 6582",
        reliability: Reliability::NewReno,
        expects_discipline: "any",
        default: || Scheme::NewReno(RenoConfig::default()),
    },
    SchemeInfo {
        name: "sack",
        summary: "Reno's window with scoreboard recovery by selective acknowledgements",
        source: "RFC 5681, RFC 2018, RFC 6675",
        reliability: Reliability::Sack,
        expects_discipline: "any",
        default: || Scheme::Sack(RenoConfig::default()),
    },
    SchemeInfo {
        name: "cubic",
        summary: "A window that grows as a cubic of the time since the last congestion",
        source: "RFC 9438, RFC 9406",
        reliability: Reliability::Sack,
        expects_discipline: "any",
        default: || Scheme::Cubic(CubicConfig::default()),
    },
    SchemeInfo {
        name: "vegas",
        summary: "Keeps a few packets queued in the network, judged by round trip times at the sender",
        source: "Brakmo and Peterson 1995; accumulation.txt §IV-A",
        reliability: Reliability::Vegas,
        expects_discipline: "any",
        default: || Scheme::Vegas(VegasConfig::default()),
    },
    SchemeInfo {
        name: "vegas-k",
        summary: "Vegas with a memory of the last k round trips only",
        source: "Mo, La, Anantharam and Walrand 1999; accumulation.txt §IV-A",
        reliability: Reliability::Vegas,
        expects_discipline: "any",
        default: || Scheme::VegasK(VegasKConfig::default()),
    },
    SchemeInfo {
        name: "accumulation-aiad",
        summary: "Additive increase and decrease towards a target of packets queued in the network",
        source: "accumulation.txt §III-B, equation 3",
        reliability: Reliability::Sack,
        expects_discipline: "priority",
        default: || Scheme::AccumulationAiad(AccumulationConfig::default()),
    },
    SchemeInfo {
        name: "accumulation-mw",
        summary: "Mo and Walrand's law towards a target of packets queued in the network",
        source: "accumulation.txt §III-B, equation 5",
        reliability: Reliability::Sack,
        expects_discipline: "priority",
        default: || Scheme::AccumulationMw(AccumulationConfig::default()),
    },
    SchemeInfo {
        name: "accumulation-p",
        summary: "Proportional control towards a target of packets queued in the network",
        source: "accumulation.txt §III-B, equation 6",
        reliability: Reliability::Sack,
        expects_discipline: "priority",
        default: || Scheme::AccumulationP(AccumulationConfig::default()),
    },
    SchemeInfo {
        name: "monaco",
        summary: "Proportional control of the packets queued in the network, measured at the receiver by control packets",
        source: "accumulation.txt §IV-B",
        reliability: Reliability::Sack,
        expects_discipline: "priority",
        default: || Scheme::Monaco(AccumulationConfig::default()),
    },
    SchemeInfo {
        name: "packet-pair",
        summary: "Steers the bottleneck's queue to a setpoint by the spacing of acknowledgements of back-to-back pairs",
        source: "Keshav, Packet-Pair Flow Control, 1994",
        reliability: Reliability::Offsets,
        expects_discipline: "weighted-fair-queueing",
        default: || Scheme::PacketPair(PacketPairConfig::default()),
    },
    SchemeInfo {
        name: "fixed-window",
        summary: "A window that never changes",
        source: "none",
        reliability: Reliability::Sack,
        expects_discipline: "any",
        default: || Scheme::FixedWindow(FixedWindowConfig::default()),
    },
    SchemeInfo {
        name: "fixed-rate",
        summary: "A rate that never changes, with even or Poisson tokens",
        source: "none",
        reliability: Reliability::Datagram,
        expects_discipline: "any",
        default: || Scheme::FixedRate(FixedRateConfig::default()),
    },
];

impl Scheme {
    /// The registered name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Reno(_) => "reno",
            Self::NewReno(_) => "newreno",
            Self::Sack(_) => "sack",
            Self::Cubic(_) => "cubic",
            Self::Vegas(_) => "vegas",
            Self::VegasK(_) => "vegas-k",
            Self::AccumulationAiad(_) => "accumulation-aiad",
            Self::AccumulationMw(_) => "accumulation-mw",
            Self::AccumulationP(_) => "accumulation-p",
            Self::Monaco(_) => "monaco",
            Self::PacketPair(_) => "packet-pair",
            Self::FixedWindow(_) => "fixed-window",
            Self::FixedRate(_) => "fixed-rate",
            Self::Custom(_) => "custom",
        }
    }

    /// What tables call it: its name, or that of the part of one's own behind it.
    pub fn title(&self) -> &str {
        if let Self::Custom(own) = self { &own.part } else { self.name() }
    }

    /// The scheme's entry in [`SCHEMES`].
    ///
    /// # Panics
    /// Never: a test holds that every scheme is registered.
    pub fn info(&self) -> &'static SchemeInfo {
        if matches!(self, Self::Custom(_)) {
            return &OWN;
        }
        let name = self.name();
        SCHEMES.iter().find(|info| info.name == name).expect("every scheme is registered")
    }

    /// How lost data is repaired, which may depend on parameters.
    pub fn reliability(&self) -> Reliability {
        match self {
            Self::FixedRate(config) if config.reliable => Reliability::Sack,
            Self::Vegas(VegasConfig { retransmission, .. })
            | Self::VegasK(VegasKConfig { retransmission, .. }) => retransmission.reliability(),
            Self::Custom(config) => config.reliability(),
            _ => self.info().reliability,
        }
    }

    /// The field and the value of a rate that the scheme takes the network to guarantee, and sends at before it has
    /// measured anything.
    pub fn guaranteed_rate(&self) -> Option<(&'static str, BitRate)> {
        match self {
            Self::PacketPair(config) => config.nominal_rate.map(|rate| ("nominal_rate", rate)),
            _ => None,
        }
    }

    /// Whether it needs nothing but reports, so that it can steer an aggregate, whose packets nobody acknowledges.
    pub fn lives_on_reports(&self) -> bool {
        match self {
            Self::AccumulationAiad(config)
            | Self::AccumulationMw(config)
            | Self::AccumulationP(config)
            | Self::Monaco(config) => config.estimator == AccumulationEstimator::Monaco,
            Self::FixedRate(_) => true,
            Self::Custom(_) => self.reliability() == Reliability::Datagram && !self.needs().stamps,
            _ => false,
        }
    }

    /// Complains about every parameter that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        match self {
            Self::Reno(config) | Self::NewReno(config) | Self::Sack(config) => config.check(checker),
            Self::Cubic(config) => config.check(checker),
            Self::Vegas(config) => config.check(checker),
            Self::VegasK(config) => config.check(checker),
            Self::AccumulationAiad(config) | Self::AccumulationMw(config) | Self::AccumulationP(config) => {
                config.check(checker);
            }
            Self::Monaco(config) => config.check_monaco(checker),
            Self::PacketPair(config) => config.check(checker),
            Self::FixedWindow(config) => config.check(checker),
            Self::FixedRate(config) => config.check(checker),
            Self::Custom(config) => config.check(checker),
        }
    }

    /// How much a flow of the scheme holds in the network's queues at rest, in bytes, for packets of `segment` bytes: its
    /// weight in the fair shares (`accumulation.txt`, appendix). `None` where it has no such aim.
    pub fn held(&self, segment: Bytes) -> Option<f64> {
        let packets = match self {
            Self::AccumulationAiad(config)
            | Self::AccumulationMw(config)
            | Self::AccumulationP(config)
            | Self::Monaco(config) => config.target.in_packets(segment),
            Self::Vegas(VegasConfig { alpha, beta, .. }) | Self::VegasK(VegasKConfig { alpha, beta, .. }) => {
                0.5 * (alpha + beta)
            }
            _ => return None,
        };
        Some(packets * segment.as_f64())
    }

    /// The receiver's half, where the scheme has one.
    fn policy(&self, params: &ControllerParams) -> Option<AnyPolicy> {
        match self {
            Self::AccumulationAiad(config)
            | Self::AccumulationMw(config)
            | Self::AccumulationP(config)
            | Self::Monaco(config)
                if config.estimator == AccumulationEstimator::Monaco =>
            {
                Some(AnyPolicy::Monaco(Box::new(MonacoPolicy::with_clock(
                    config.egress_gain,
                    params.segment,
                    config.clock,
                ))))
            }
            Self::PacketPair(config) if config.controlled_at == PacketPairControlledAt::Receiver => {
                Some(AnyPolicy::PacketPair(Box::new(PacketPairPolicy::new(config, params))))
            }
            _ => None,
        }
    }

    /// What it wants from its endpoints beyond the traits.
    pub fn needs(&self) -> Needs {
        match self {
            Self::Custom(config) => config.needs(),
            Self::PacketPair(config) => Needs {
                prompt_acks: true,
                stamps: config.controlled_at == PacketPairControlledAt::Receiver,
                ..Needs::default()
            },
            _ => Needs::default(),
        }
    }

    /// The scheme's parts, for one connection.
    pub fn build(&self, params: &ControllerParams) -> Parts {
        let controller = match self {
            Self::Custom(config) => return config.build(params),
            Self::Reno(config) | Self::NewReno(config) | Self::Sack(config) => {
                AnyController::Reno(Reno::new(config, params))
            }
            Self::Cubic(config) => AnyController::Cubic(Box::new(Cubic::new(config, params))),
            Self::Vegas(config) => AnyController::Vegas(Box::new(Vegas::new(config, None, params))),
            Self::VegasK(config) => {
                AnyController::Vegas(Box::new(Vegas::new(&config.common(), Some(config.history), params)))
            }
            Self::AccumulationAiad(config) => accumulation(Law::Aiad, config, params),
            Self::AccumulationMw(config) => accumulation(Law::Mw, config, params),
            Self::AccumulationP(config) | Self::Monaco(config) => {
                accumulation(Law::Proportional, config, params)
            }
            Self::PacketPair(config) => match config.controlled_at {
                PacketPairControlledAt::Sender => {
                    AnyController::PacketPair(Box::new(PacketPair::new(config, params)))
                }
                PacketPairControlledAt::Receiver => {
                    AnyController::PacketPairRemote(Box::new(PacketPairRemote::new(config, params)))
                }
            },
            Self::FixedWindow(config) => AnyController::FixedWindow(FixedWindow::new(config, params)),
            Self::FixedRate(config) => AnyController::FixedRate(FixedRate::new(config, params)),
        };
        Parts {
            controller,
            policy: self.policy(params),
            reliability: self.reliability(),
            needs: self.needs(),
        }
    }
}

fn accumulation(law: Law, config: &AccumulationConfig, params: &ControllerParams) -> AnyController {
    AnyController::Accumulation(Box::new(Accumulation::new(law, config, params)))
}
