//! TCP Illinois: Reno whose increase is large and whose decrease is small while the queueing delay is low, and the other
//! way round while it is high. The scheme `illinois`.
//!
//! Source: Liu, Başar and Srikant, "TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm for High-Speed
//! Networks", 2008, §III; constants there and in Linux (`tcp_illinois.c`). Once per round trip, with `d_a` the mean
//! queueing delay of the round and `d_m` the largest ever seen:
//!
//! | | |
//! | --- | --- |
//! | increase per round trip | `α = 10` for `d_a ≤ d_1`, else `κ1/(κ2 + d_a)`, which is 0.3 at `d_m`; `d_1 = 0.01 d_m` |
//! | decrease | `β = 1/8` for `d_a ≤ d_2`, `1/2` for `d_a ≥ d_3`, linear between; `d_2 = 0.1 d_m`, `d_3 = 0.8 d_m` |
//! | windows below 15 segments | `α = 1`, `β = 1/2` |
//! | after a delay above `d_1` | α is set to 10 only when θ = 5 rounds stayed below it |
//! | loss | `cwnd ← (1 - β) cwnd`; after a time-out `α = 1`, `β = 1/2` |
//!
//! Departures of others: Linux, with fixed-point arithmetic, counts the θ rounds though others lie between them, and begins with
//! α = 10; the paper's stay below `d_1` in a row, and here α begins with 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{CongestionEvent, Controller, Cx, Directive, Feedback, Time};

use crate::laws::{Aimd, Rounds};
use crate::needs::Reliability;
use crate::parts::{BoxedController, ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// Nothing to set: the constants are the paper's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IllinoisConfig {}

const ALPHA: (f64, f64) = (0.3, 10.0);
const BETA: (f64, f64) = (0.125, 0.5);
/// Below this window it is Reno.
const LEAST_WINDOW: f64 = 15.0;
/// θ, in rounds.
const THETA: u32 = 5;

/// α for a mean queueing delay where the largest is `most`.
fn increase(delay: f64, most: f64) -> f64 {
    let low = 0.01 * most;
    if delay <= low {
        return ALPHA.1;
    }
    let (span, above) = (most - low, delay - low);
    span * ALPHA.1 / (span + above * (ALPHA.1 - ALPHA.0) / ALPHA.0)
}

/// β likewise.
fn decrease(delay: f64, most: f64) -> f64 {
    let (low, high) = (0.1 * most, 0.8 * most);
    if delay <= low {
        BETA.0
    } else if delay >= high {
        BETA.1
    } else {
        BETA.0 + (BETA.1 - BETA.0) * (delay - low) / (high - low)
    }
}

impl SchemeConfig for IllinoisConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "illinois",
            summary: "Reno whose increase and decrease depend on the queueing delay",
            source: "Liu, Başar and Srikant 2008",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn check(&self, _: &mut tailback_core::Checker) {}

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(Illinois {
            aimd: Aimd::new(params),
            rounds: Rounds::default(),
            sum: 0.0,
            samples: 0,
            least: f64::INFINITY,
            most: 0.0,
            alpha: 1.0,
            beta: BETA.1,
            above: false,
            low_rounds: 0,
        }))
    }
}

/// The window of TCP Illinois; delays in seconds.
#[derive(Clone, Debug)]
pub struct Illinois {
    aimd: Aimd,
    rounds: Rounds,
    /// Round trip times of this round.
    sum: f64,
    samples: u32,
    least: f64,
    most: f64,
    alpha: f64,
    beta: f64,
    /// The delay was above `d_1`, and has not been below it for θ rounds.
    above: bool,
    low_rounds: u32,
}

impl Illinois {
    fn end_round(&mut self) {
        if self.samples == 0 {
            return;
        }
        let mean = self.sum / f64::from(self.samples);
        (self.sum, self.samples) = (0.0, 0);
        if self.aimd.law.window < LEAST_WINDOW {
            (self.alpha, self.beta) = (1.0, BETA.1);
            return;
        }
        let (delay, most) = (mean - self.least, self.most - self.least);
        self.beta = decrease(delay, most);
        let wanted = increase(delay, most);
        if wanted < ALPHA.1 {
            (self.above, self.low_rounds) = (true, 0);
        } else if self.above {
            self.low_rounds += 1;
            if self.low_rounds < THETA {
                return;
            }
            self.above = false;
        }
        self.alpha = wanted;
    }
}

impl Controller for Illinois {
    fn watches_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(rtt) = feedback.rtt {
            let rtt = rtt.latest.as_secs_f64();
            self.least = self.least.min(rtt);
            self.most = self.most.max(rtt);
            self.sum += rtt;
            self.samples += 1;
        }
        if self.rounds.end(feedback) {
            self.end_round();
        }
        if let Some(event) = feedback.event {
            self.aimd.on_event(event, feedback, 1.0 - self.beta, cx);
            if matches!(event, CongestionEvent::Timeout { .. }) {
                (self.alpha, self.beta, self.above) = (1.0, BETA.1, false);
            }
        } else if Aimd::may_grow(feedback) {
            let increase = self.alpha;
            self.aimd.grow(feedback, increase);
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(self.aimd.law.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The curves go through the paper's points: `d_m` is 100 ms.
    #[test]
    fn the_factors_at_the_paper_s_points() {
        let close =
            |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
        close(increase(0.001, 0.1), 10.0);
        close(increase(0.1, 0.1), 0.3);
        // Half way between d_1 and d_m: 10/(1 + (10 - 0.3)/0.3/2).
        close(increase(0.0505, 0.1), 10.0 / (1.0 + 9.7 / 0.6));
        close(decrease(0.01, 0.1), 0.125);
        close(decrease(0.045, 0.1), 0.3125);
        close(decrease(0.08, 0.1), 0.5);
        // Where no queue was ever seen, it is as if there were none.
        close(increase(0.0, 0.0), 10.0);
        close(decrease(0.0, 0.0), 0.125);
    }
}
