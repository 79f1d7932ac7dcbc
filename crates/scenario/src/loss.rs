//! Random and periodic loss on a link: the models' parameters. How a scenario may write them in short is said in
//! `loss_choice`, and the models themselves run in `sim`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span};

/// Where on the link a packet is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossPlace {
    /// Before the queue: a lost packet takes neither buffer nor capacity.
    #[default]
    BeforeQueue,
    /// After the transmission, on the wire: a lost packet has used its share of the link.
    AfterQueue,
}

/// How a link loses packets besides by overflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum LossConfig {
    /// Each packet is lost independently (Bernoulli).
    Independent(IndependentLoss),
    /// Packets of one class are lost independently, all others pass: for the robustness of control loops.
    Selective(SelectiveLoss),
    /// A good and a bad state that alternate packet by packet (Gilbert 1960, Elliott 1963): bursts of loss.
    GilbertElliott(GilbertElliottLoss),
    /// Every n-th packet is lost: deterministic, for tests.
    Periodic(PeriodicLoss),
    /// Each packet is lost independently, with a probability that changes at given times.
    Scheduled(ScheduledLoss),
}

tailback_core::choosable!(LossConfig);

impl LossConfig {
    /// Where packets are lost.
    pub fn place(&self) -> LossPlace {
        match self {
            Self::Independent(model) => model.place,
            Self::Selective(model) => model.place,
            Self::GilbertElliott(model) => model.place,
            Self::Periodic(model) => model.place,
            Self::Scheduled(model) => model.place,
        }
    }

    /// Complains about values outside their range.
    pub fn check(&self, checker: &mut Checker) {
        match self {
            Self::Independent(model) => model.check(checker),
            Self::Selective(model) => model.check(checker),
            Self::GilbertElliott(model) => model.check(checker),
            Self::Periodic(model) => model.check(checker),
            Self::Scheduled(model) => model.check(checker),
        }
    }
}

/// Each packet is lost independently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IndependentLoss {
    /// Probability that a packet is lost, 0 to 1; one packet in a hundred where it is left out.
    pub probability: f64,
    /// Where on the link packets are lost.
    pub place: LossPlace,
}

impl Default for IndependentLoss {
    fn default() -> Self {
        Self { probability: 0.01, place: LossPlace::default() }
    }
}

impl IndependentLoss {
    /// Complains about values outside their range.
    pub fn check(&self, checker: &mut Checker) {
        probability(checker, "probability", self.probability);
    }
}

/// Which packets a selective loss model strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketClass {
    /// What carries the application's data.
    #[default]
    Data,
    /// Acknowledgements.
    Acknowledgements,
    /// Senders' control packets and receivers' reports.
    Control,
}

/// Packets of one class are lost independently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SelectiveLoss {
    /// Probability that a packet of the class is lost, 0 to 1.
    pub probability: f64,
    /// Which packets: `data`, `acknowledgements`, or `control`, senders' control packets and receivers' reports.
    pub class: PacketClass,
    /// Where on the link packets are lost.
    pub place: LossPlace,
}

impl Default for SelectiveLoss {
    fn default() -> Self {
        Self { probability: 0.01, class: PacketClass::default(), place: LossPlace::default() }
    }
}

impl SelectiveLoss {
    /// Complains about values outside their range.
    pub fn check(&self, checker: &mut Checker) {
        probability(checker, "probability", self.probability);
    }
}

/// The Gilbert-Elliott model. The mean sojourn in the bad state is `1 / bad_to_good` packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GilbertElliottLoss {
    /// Probability per packet of going from the good to the bad state, 0 to 1.
    pub good_to_bad: f64,
    /// Probability per packet of going from the bad to the good state, 0 to 1.
    pub bad_to_good: f64,
    /// Loss probability in the good state, 0 to 1 (Gilbert's model has 0).
    pub loss_good: f64,
    /// Loss probability in the bad state, 0 to 1.
    pub loss_bad: f64,
    /// Where on the link packets are lost.
    pub place: LossPlace,
}

impl Default for GilbertElliottLoss {
    fn default() -> Self {
        Self {
            good_to_bad: 0.01,
            bad_to_good: 0.25,
            loss_good: 0.0,
            loss_bad: 0.5,
            place: LossPlace::default(),
        }
    }
}

impl GilbertElliottLoss {
    /// Complains about values outside their range, and about a chain that can never move.
    pub fn check(&self, checker: &mut Checker) {
        probability(checker, "good_to_bad", self.good_to_bad);
        probability(checker, "bad_to_good", self.bad_to_good);
        probability(checker, "loss_good", self.loss_good);
        probability(checker, "loss_bad", self.loss_bad);
        let stuck = self.good_to_bad > 0.0 && self.bad_to_good == 0.0;
        checker.require(!stuck, "bad_to_good", self.bad_to_good, "more than 0, or the link never recovers");
    }
}

/// Packets number `offset`, `offset + every`, `offset + 2·every`, … at this link are lost, counted from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PeriodicLoss {
    /// One packet in so many is lost; at least 2.
    #[schemars(range(min = 2))]
    pub every: u64,
    /// The number of the first packet lost; less than `every`.
    pub offset: u64,
    /// Where on the link packets are lost.
    pub place: LossPlace,
}

impl Default for PeriodicLoss {
    fn default() -> Self {
        Self { every: 100, offset: 99, place: LossPlace::default() }
    }
}

impl PeriodicLoss {
    /// Complains about a period that loses everything and an offset beyond it.
    pub fn check(&self, checker: &mut Checker) {
        checker.require(self.every >= 2, "every", self.every, "a whole number of packets from 2");
        let allowed = format_args!("a whole number from 0, less than `every` ({})", self.every);
        checker.require(self.offset < self.every.max(1), "offset", self.offset, allowed);
    }
}

/// From `at` on, packets are lost with this probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossStep {
    /// From when on, from the start of the run.
    pub at: Span,
    /// Probability that a packet is lost, 0 to 1.
    pub probability: f64,
}

/// Each packet is lost independently, with a probability that changes at given times; none is lost before the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduledLoss {
    /// The steps, in the order of their times.
    pub steps: Vec<LossStep>,
    /// Where on the link packets are lost.
    pub place: LossPlace,
}

impl ScheduledLoss {
    /// Complains about values outside their range, about steps out of order, and where there are none.
    pub fn check(&self, checker: &mut Checker) {
        checker.require(!self.steps.is_empty(), "steps", "an empty list", "at least one step");
        let mut previous = None;
        for (index, step) in self.steps.iter().enumerate() {
            checker.within(format!("steps.[{index}]"), |checker| {
                probability(checker, "probability", step.probability);
                if let Some(previous) = previous {
                    let allowed = format_args!("a time later than the step before, at {previous}");
                    checker.require(step.at > previous, "at", step.at, allowed);
                }
                previous = Some(step.at);
            });
        }
    }
}

/// Complains unless `value` is a probability.
pub(crate) fn probability(checker: &mut Checker, field: &str, value: f64) {
    checker.require((0.0..=1.0).contains(&value), field, value, "a probability from 0 to 1");
}
