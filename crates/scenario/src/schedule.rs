//! Changes of a link's rate and delay at given times, as a scenario says them. They are carried out in `link`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Checker, Span};

/// From `at` on, the link has another rate, another delay, or both. A packet in transmission finishes at the old
/// rate; packets on the wire keep the delay that they left with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleStep {
    /// When, from the start of the run.
    pub at: Span,
    /// The new rate; unchanged where absent. `"0 bit/s"` stops the link until a later step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// The new one-way propagation delay; unchanged where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
}

/// Complains about steps that change nothing, are out of order, or set absurd values.
pub(crate) fn check(steps: &[ScheduleStep], checker: &mut Checker) {
    let mut previous = None;
    for (index, step) in steps.iter().enumerate() {
        checker.within(format!("schedule.[{index}]"), |checker| {
            let changes = step.rate.is_some() || step.delay.is_some();
            checker.require(
                changes,
                "",
                "a step without rate and delay",
                "a new `rate`, a new `delay`, or both",
            );
            if let Some(previous) = previous {
                let allowed = format_args!("a time later than the step before, at {previous}");
                checker.require(step.at > previous, "at", step.at, allowed);
            }
            if let Some(rate) = step.rate.filter(|rate| rate.bits_per_sec() > 0) {
                crate::link::check_rate(checker, "rate", rate);
            }
            if let Some(delay) = step.delay {
                crate::link::check_delay(checker, "delay", delay);
            }
            previous = Some(step.at);
        });
    }
}
