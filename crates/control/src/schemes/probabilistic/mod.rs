//! Probabilistic congestion control for flows whose rate the application alone decides (Widmer, Mauve and Damm, NOSSDAV
//! 2002): they are switched off and on at random so that on average they get what TCP would. The scheme `probabilistic`;
//! not to be confused with performance-oriented congestion control, which shares its letters.
//!
//! The receiver measures (`receiver.rs`), decides (`machine.rs`, `experiments.rs`) and commands; the sender leaves the
//! application's rate and packets untouched while on, and stops when it is told to, or when nobody tells it anything
//! (`sender.rs`). What the receiver can be tempted or broken to do, the sender's own guard bounds (`guard.rs`).
//!
//! What the text leaves open, and how it is taken here: T is drawn anew, within `jitter`, for each cycle from start to
//! off-time; the protected time ends when the history of loss intervals is full, or after `protected_limit`; it is made up
//! for, but no credit is given for it; control packets leave once per round trip; a sender that hears nothing for
//! `silence` is off for T and begins anew.

pub mod experiments;
pub mod guard;
pub mod machine;
mod monitor;
mod receiver;
mod sender;

pub use receiver::{Evaluation, ProbabilisticPolicy};
pub use sender::Probabilistic;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Checker, Span};

use crate::estimators::LossIntervalsConfig;
use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
use machine::Options;

/// How TCP's rate under the same conditions is estimated (R4 of the paper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FriendlyRate {
    /// By equation (1) from the flow's own loss events, as in the paper.
    #[default]
    Equation,
    /// By equation (1) from the loss events that a flow of TCP's rate would have seen: the bias of §5.5 taken out.
    Normalised,
    /// By a TCP emulated at the receiver (TEAR).
    Tear,
}

/// What the application sends on average, `r_NA` (R3 of the paper).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ApplicationRate {
    /// As the receiver measures it, averaged exponentially.
    Measured {
        /// The average's memory. Default 5 s.
        #[serde(default = "five_seconds")]
        memory: Span,
    },
    /// As the application states it in its packets, on average over its life; measured where it does not.
    Stated,
    /// As stated here, on the wire.
    Fixed {
        /// The rate, headers included.
        rate: BitRate,
    },
}

fn five_seconds() -> Span {
    Span::from_secs(5)
}

/// Probes while the flow is off or not yet on (§3.7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProbesConfig {
    /// How long from probe to probe while off. Default 100 ms.
    pub interval: Span,
    /// Whether a flow that is off is turned on again at once when probes show that it would not have been turned off
    /// (§3.7.3). Default false.
    pub while_off: bool,
    /// With `while_off`: by how much TCP's rate must exceed what that takes, as a fraction (§3.7.4). Default 0.25.
    pub threshold: f64,
    /// Whether probes at an increasing rate, and an experiment, come before any data (§3.7.4). The application's rate must be
    /// fixed or stated, since there is nothing to measure. Default false.
    pub before_on: bool,
}

impl Default for ProbesConfig {
    fn default() -> Self {
        Self { interval: Span::from_millis(100), while_off: false, threshold: 0.25, before_on: false }
    }
}

/// Loss rate monitoring (§3.7.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MonitorConfig {
    /// How much of the time on after each switch is compared with the time off before it. Default 30 s.
    pub window: Span,
    /// By which factor the loss rate must rise with the flow for it to be too large for its network. Default 1.1.
    pub factor: f64,
    /// After how many times that it was switched on, at the earliest. Default 8.
    pub switches: u32,
}

impl Default for MonitorConfig {
    fn default() -> Self {
        Self { window: Span::from_secs(30), factor: 1.1, switches: 8 }
    }
}

/// Parameters of probabilistic congestion control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProbabilisticConfig {
    /// T: for how long an experiment holds, and how long a flow is off. Default 60 s.
    pub period: Span,
    /// By up to which fraction T varies at random from cycle to cycle, from 0 to below 1 (§3.4). Default 0.1.
    pub jitter: f64,
    /// How TCP's rate is estimated: `equation`, `normalised` or `tear`. Default `equation`.
    pub friendly_rate: FriendlyRate,
    /// What the application sends: `{ name = "measured", memory }`, `{ name = "stated" }` or `{ name = "fixed", rate }`.
    /// Default measured.
    pub application_rate: ApplicationRate,
    /// How loss intervals are averaged. Default as in TFRC, 8 of them. An experiment holds for T, so that the smallest of the
    /// estimates within T decides; with more intervals it lies less far below their mean.
    pub loss_intervals: LossIntervalsConfig,
    /// Whether equation (1) takes packets of 1500 bytes in place of the flow's own smaller ones, as TFRC-SP does (RFC 4828
    /// §4.1): else a flow of small packets is held to what a TCP with packets as small would get. As there, short loss
    /// intervals count by their losses; where many packets leave together, take `friendly_rate = "normalised"` too.
    /// Default false.
    pub small_packets: bool,
    /// The protected time T' lasts at most so long, whatever is known then. Default 10 s.
    pub protected_limit: Span,
    /// The least time between two control packets; else they leave once per round trip. Default 50 ms.
    pub report_interval: Span,
    /// How often p is computed anew and an experiment follows where it is due (§3.5: “periodically”); zero for with every
    /// control packet, once per round trip. Default zero.
    pub evaluation_interval: Span,
    /// A sender that has sent for so long, and for four round trips, without hearing anything stops. Default 1 s.
    pub silence: Span,
    /// Whether the flow is on for T and then off for as long as that costs (§3.7.2). Default false.
    pub fixed_on_time: bool,
    /// Probes, where there are any.
    pub probes: Option<ProbesConfig>,
    /// Loss rate monitoring, where it is wanted; it needs `probes`.
    pub loss_monitoring: Option<MonitorConfig>,
    /// Whether the sender checks what the receiver lets it do, and stops by itself (RFC 8083). Default true.
    pub guard: bool,
}

impl Default for ProbabilisticConfig {
    fn default() -> Self {
        Self {
            period: Span::from_secs(60),
            jitter: 0.1,
            friendly_rate: FriendlyRate::Equation,
            application_rate: ApplicationRate::Measured { memory: five_seconds() },
            loss_intervals: LossIntervalsConfig::default(),
            small_packets: false,
            protected_limit: Span::from_secs(10),
            report_interval: Span::from_millis(50),
            evaluation_interval: Span::ZERO,
            silence: Span::from_secs(1),
            fixed_on_time: false,
            probes: None,
            loss_monitoring: None,
            guard: true,
        }
    }
}

/// A large packet, where small ones are not to count for what they are: 1460 bytes and a header of 40 (RFC 4828 §4.1).
const NOMINAL: f64 = 1500.0;

impl ProbabilisticConfig {
    /// The least size of packets of the TCP that the flow is compared with, in bytes.
    fn nominal(&self) -> f64 {
        if self.small_packets { NOMINAL } else { 0.0 }
    }

    fn options(&self) -> Options {
        let probes = self.probes.as_ref();
        Options {
            fixed_on_time: self.fixed_on_time,
            probe_while_off: probes.filter(|probes| probes.while_off).map(|probes| probes.threshold),
            probe_before_on: probes.is_some_and(|probes| probes.before_on),
        }
    }

    fn check_spans(&self, checker: &mut Checker) {
        let spans = [
            ("period", self.period, Span::from_millis(100)),
            ("protected_limit", self.protected_limit, Span::from_millis(1)),
            ("report_interval", self.report_interval, Span::from_millis(1)),
            ("silence", self.silence, Span::from_millis(1)),
        ];
        for (name, span, least) in spans {
            let allowed = format!("{least} to 1000000 s");
            checker.require(span >= least && span <= Span::from_secs(1_000_000), name, span, &allowed);
        }
        let (interval, period) = (self.evaluation_interval, self.period);
        let allowed = format!("0 s to {period}, the period");
        checker.require(interval <= period, "evaluation_interval", interval, allowed);
    }

    fn check_options(&self, checker: &mut Checker) {
        if let Some(probes) = &self.probes {
            checker.within("probes", |inner| {
                let ok = probes.interval >= Span::from_millis(1) && probes.interval <= Span::from_secs(60);
                inner.require(ok, "interval", probes.interval, "1 ms to 60 s");
                let ok = (0.0..=100.0).contains(&probes.threshold);
                inner.require(ok, "threshold", probes.threshold, "0 to 100");
                let known = !matches!(self.application_rate, ApplicationRate::Measured { .. });
                let allowed = "false, or an application_rate that is fixed or stated";
                inner.require(!probes.before_on || known, "before_on", probes.before_on, allowed);
                let both = probes.before_on && self.fixed_on_time;
                inner.require(
                    !both,
                    "before_on",
                    true,
                    "false with fixed_on_time, which conducts no experiment",
                );
                let both = probes.while_off && self.fixed_on_time;
                inner.require(!both, "while_off", true, "false with fixed_on_time, whose off-time is owed");
            });
        }
        if let Some(monitor) = &self.loss_monitoring {
            let ok = self.probes.is_some();
            checker.require(
                ok,
                "loss_monitoring",
                "without probes",
                "only with probes, which measure while off",
            );
            checker.within("loss_monitoring", |inner| {
                inner.require(monitor.window > Span::ZERO, "window", monitor.window, "more than none");
                inner.require(monitor.factor > 1.0, "factor", monitor.factor, "above 1");
                inner.require(monitor.switches >= 3, "switches", monitor.switches, "at least 3");
            });
        }
    }
}

impl SchemeConfig for ProbabilisticConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "probabilistic",
            summary: "Switches a flow of the application's own rate off and on at random, so that on average it gets what TCP would",
            source: "Widmer, Mauve and Damm, Probabilistic Congestion Control for Non-Adaptable Flows, 2002",
            reliability: Reliability::Datagram,
            expects_discipline: "any",
        }
    }

    fn family(&self) -> Family {
        Family::Gate
    }

    fn needs(&self) -> Needs {
        Needs { marks: MarkResponse::Controller, stamps: true, ..Needs::over(Reliability::Datagram) }
    }

    fn check(&self, checker: &mut Checker) {
        self.check_spans(checker);
        checker.require(
            (0.0..1.0).contains(&self.jitter),
            "jitter",
            self.jitter,
            "a number from 0 to below 1",
        );
        checker.within("loss_intervals", |inner| self.loss_intervals.check(inner));
        match &self.application_rate {
            ApplicationRate::Fixed { rate } => {
                let ok = *rate > BitRate::ZERO;
                checker.require(ok, "application_rate.rate", rate, "a rate above zero");
            }
            ApplicationRate::Measured { memory } => {
                let ok = *memory > Span::ZERO;
                checker.require(ok, "application_rate.memory", memory, "more than no time");
            }
            ApplicationRate::Stated => {}
        }
        self.check_options(checker);
    }

    fn build(&self, params: &ControllerParams) -> Parts<BoxedController> {
        let controller: BoxedController = Box::new(Probabilistic::new(self, params));
        Parts::sender(controller).with_policy(Some(ProbabilisticPolicy::new(self, params)))
    }
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod hostile_tests;
