//! Laws that steer the number of packets in a bottleneck's queue towards a setpoint by the sending rate, the adaptive
//! exponential rise, and the probing of the setpoint itself. How the bottleneck is measured is a scheme's business.
//!
//! Source: S. Keshav, "Packet-Pair Flow Control" (1994). Packets and seconds throughout; `B` stands for the setpoint
//! itself (the paper's B/2), `s = 1/μ̂` for the service time:
//!
//! | equation | where |
//! | --- | --- |
//! | `n̂_b = S - R μ̂`, at least 0 | §4.3, Eq. 12 |
//! | `RTT = R + n̂_b s` | appendix; the text's `R + S(k) μ(t)` is no time |
//! | `λ(k+1) = α/RTT (B - n̂_b(k) - S(k) + (μ̂(k) + μ̂(k+1)) RTT(k))` | §4.2, Eq. 9 with pole placement |
//! | `λ = (B - n̂_b)/J + μ̂`, `J = ATTACK_UP RTT` where `n̂_b <= B`, else `ATTACK_DOWN RTT` | §4.3, Eq. 14; §8 |
//! | beyond `n̂_b > 3 B`, no slower than a pair in the time in which the excess drains | appendix |
//! | below `n̂_b = 2`, no faster than `m + INC_FACTOR (T - m)`, `m` the smoothed rate, `T` the law's | §5, §8 |
//!
//! The text of §8 has `INC_FACTOR (T - m)` alone, which would fall as `m` rises; the program has the rise meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Checker;

/// A conversation's bottleneck, as its sender believes it to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// s: the time between two services of this conversation, in seconds per packet; above 0.
    pub service_time: f64,
    /// R: the round trip time without queueing, in seconds.
    pub propagation: f64,
    /// S: packets sent and neither acknowledged nor lost.
    pub outstanding: f64,
}

impl Bottleneck {
    /// `n̂_b`: packets in the bottleneck's queue.
    pub fn backlog(&self) -> f64 {
        (self.outstanding - self.propagation / self.service_time).max(0.0)
    }

    /// The round trip time to be expected now, in seconds.
    pub fn round_trip(&self) -> f64 {
        self.propagation + self.backlog() * self.service_time
    }
}

/// The continuous law (Eq. 14): control at every probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContinuousLaw {
    /// J in round trip times where the queue is at or below the setpoint.
    pub attack_up: f64,
    /// J in round trip times where it is above.
    pub attack_down: f64,
}

impl ContinuousLaw {
    /// The sending rate in packets per second, above 0.
    pub fn rate(&self, bottleneck: &Bottleneck, setpoint: f64) -> f64 {
        let backlog = bottleneck.backlog();
        let attack = if backlog <= setpoint { self.attack_up } else { self.attack_down };
        let horizon = attack * bottleneck.round_trip();
        let rate = (setpoint - backlog) / horizon + 1.0 / bottleneck.service_time;
        at_least_drained(rate, backlog, setpoint, bottleneck.service_time)
    }
}

/// The overflow rule: far above the setpoint the law may ask for next to nothing, or for less than that; a pair then
/// leaves when the queue has drained to the setpoint. Below `3 B` the rule only replaces rates that are not above 0.
fn at_least_drained(rate: f64, backlog: f64, setpoint: f64, service_time: f64) -> f64 {
    let drained = 2.0 / ((backlog - setpoint).max(1.0) * service_time);
    if backlog > 3.0 * setpoint || rate <= 0.0 { rate.max(drained) } else { rate }
}

/// The discrete law (Eq. 9): control once per round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteLaw {
    /// α: places the pole; below 1 for stability by §4.2.1.
    pub alpha: f64,
}

/// What the discrete law knows at the end of epoch k.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// `n̂_b(k)`: packets in the queue at the epoch's beginning.
    pub backlog_before: f64,
    /// S(k): packets outstanding at its end.
    pub outstanding: f64,
    /// μ̂(k) in packets per second.
    pub service_rate: f64,
    /// μ̂(k+1).
    pub next_service_rate: f64,
    /// RTT(k) in seconds.
    pub round_trip: f64,
}

impl DiscreteLaw {
    /// The sending rate of epoch k+1 in packets per second, at least a pair per epoch.
    pub fn rate(&self, epoch: &Epoch, setpoint: f64) -> f64 {
        let served = (epoch.service_rate + epoch.next_service_rate) * epoch.round_trip;
        let wanted = setpoint - epoch.backlog_before - epoch.outstanding + served;
        (self.alpha * wanted).max(2.0) / epoch.round_trip
    }
}

/// The adaptive exponential rise (§5, §8): towards a target that may move, from the rate sent so far.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveRise {
    /// The part of the way taken at a step.
    pub increase: f64,
    /// The weight of history in the smoothed rate.
    pub smoothing: f64,
    mean: f64,
}

impl AdaptiveRise {
    /// From rest.
    pub const fn new(increase: f64, smoothing: f64) -> Self {
        Self { increase, smoothing, mean: 0.0 }
    }

    /// From rest again.
    pub fn rest(&mut self) {
        self.mean = 0.0;
    }

    /// The smoothed rate, in packets per second.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The rate for a target; `cautious` where the target may be too high to be believed at once.
    pub fn towards(&mut self, target: f64, cautious: bool) -> f64 {
        let rate = if cautious && target > self.mean {
            self.mean + (target - self.mean) * self.increase
        } else {
            target
        };
        self.mean = self.smoothing * self.mean + (1.0 - self.smoothing) * rate;
        rate
    }
}

/// Probing of the setpoint by additive increase and multiplicative decrease (§7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetpointProbing {
    /// The setpoint to begin with, and after a time-out, in packets. Default 5 (Keshav 1994, Table 2, `B_INITIAL`).
    pub initial: f64,
    /// The smallest setpoint, in packets. Default 2 (Table 2, `B_MIN`).
    pub least: f64,
    /// What is added, in packets. Default 2 (Table 2, `B_ADD_INC_FACTOR`).
    pub increase: f64,
    /// Every so many round trips. Default 2 (Table 2, `B_COUNT`).
    pub every: u32,
    /// What it is multiplied by at a loss. Default 0.75 (Table 2, `B_DEC_FACTOR`).
    pub decrease: f64,
    /// What counts as one loss: `round-trip` (the default), all that is lost of what left before the sender knew of the
    /// last loss; or `packet`, each lost packet.
    pub cut: SetpointCut,
}

/// How often losses lower a setpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SetpointCut {
    /// Once per round trip of losses.
    #[default]
    RoundTrip,
    /// For each lost packet.
    Packet,
}

impl SetpointCut {
    /// How many cuts so many lost packets are, where `is_new` says whether they are the first of a round trip.
    pub fn count(self, packets: usize, is_new: bool) -> usize {
        match self {
            Self::RoundTrip => usize::from(is_new),
            Self::Packet => packets,
        }
    }
}

impl Default for SetpointProbing {
    fn default() -> Self {
        Self {
            initial: 5.0,
            least: 2.0,
            increase: 2.0,
            every: 2,
            decrease: 0.75,
            cut: SetpointCut::default(),
        }
    }
}

impl SetpointProbing {
    /// The gentler set of §7: 0.1 every four round trips, 0.6 at a loss.
    pub fn section_7() -> Self {
        Self { increase: 0.1, every: 4, decrease: 0.6, ..Self::default() }
    }

    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        let packets = |value: f64| value > 0.0 && value <= 1e9;
        let amount = "packets above 0, at most 10^9";
        checker.require(packets(self.least), "least", self.least, amount);
        let initial = packets(self.initial) && self.initial >= self.least;
        checker.require(initial, "initial", self.initial, format_args!("at least least ({})", self.least));
        let increase = (0.0..=1e9).contains(&self.increase);
        checker.require(increase, "increase", self.increase, "0 to 10^9 packets");
        checker.require(self.every > 0, "every", self.every, "at least 1 round trip");
        let inside = self.decrease > 0.0 && self.decrease < 1.0;
        checker.require(inside, "decrease", self.decrease, "a factor between 0 and 1");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_counts_as_a_loss() {
        let cuts =
            |cut: SetpointCut| [(3, true), (2, false), (0, false)].map(|(lost, new)| cut.count(lost, new));
        assert_eq!(cuts(SetpointCut::RoundTrip), [1, 0, 0]);
        assert_eq!(cuts(SetpointCut::Packet), [3, 2, 0]);
    }

    const LAW: ContinuousLaw = ContinuousLaw { attack_up: 1.5, attack_down: 0.8 };

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn the_base_scenario_by_hand() {
        // 100 packets in the pipe of 100 time units, 10 in the queue, setpoint 20: J = 1.5 · 110.
        let below = Bottleneck { service_time: 1.0, propagation: 100.0, outstanding: 110.0 };
        assert!(close(below.backlog(), 10.0) && close(below.round_trip(), 110.0));
        assert!(close(LAW.rate(&below, 20.0), 1.0 + 10.0 / 165.0));
        let above = Bottleneck { outstanding: 130.0, ..below };
        assert!(close(LAW.rate(&above, 20.0), 1.0 - 10.0 / (0.8 * 130.0)));
        let at = Bottleneck { outstanding: 120.0, ..below };
        assert!(close(LAW.rate(&at, 20.0), 1.0));
    }

    #[test]
    fn an_overflowing_queue_still_gets_a_probe() {
        // The service time has risen tenfold: n̂ = 110, J = 0.8 · 1200, and Eq. 14 asks for 0.1 - 90/960.
        let flooded = Bottleneck { service_time: 10.0, propagation: 100.0, outstanding: 120.0 };
        assert!(close(LAW.rate(&flooded, 20.0), 0.1 - 90.0 / 960.0));
        // With a setpoint of 5 it asks for less than nothing: a pair when 105 packets are served.
        assert!(close(LAW.rate(&flooded, 5.0), 2.0 / 1050.0));
    }

    #[test]
    fn the_rise_reaches_its_target_from_below_and_falls_at_once() {
        let mut rise = AdaptiveRise::new(0.2, 0.75);
        assert!(close(rise.towards(1.0, true), 0.2) && close(rise.mean(), 0.05));
        assert!(close(rise.towards(1.0, true), 0.05 + 0.95 * 0.2));
        assert!(close(rise.towards(0.01, true), 0.01));
        for _ in 0..200 {
            rise.towards(1.0, true);
        }
        assert!((rise.mean() - 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_discrete_law_by_hand() {
        let epoch = Epoch {
            backlog_before: 10.0,
            outstanding: 115.0,
            service_rate: 1.0,
            next_service_rate: 1.0,
            round_trip: 110.0,
        };
        // α/110 (20 - 10 - 115 + 220) = α · 115/110.
        assert!(close(DiscreteLaw { alpha: 0.9 }.rate(&epoch, 20.0), 0.9 * 115.0 / 110.0));
    }

    proptest! {
        /// In the fluid model without delay of §4.3 the queue approaches the setpoint from either side.
        #[test]
        fn the_continuous_law_is_asymptotically_stable(start in 0.0..60.0_f64, setpoint in 2.0..40.0_f64) {
            let (service_time, propagation) = (1.0, 100.0);
            let mut queue = start;
            for _ in 0..5000 {
                let outstanding = queue + propagation / service_time;
                let bottleneck = Bottleneck { service_time, propagation, outstanding };
                queue = (queue + (LAW.rate(&bottleneck, setpoint) - 1.0)).max(0.0);
            }
            prop_assert!((queue - setpoint).abs() < 0.01, "{queue}");
        }

        #[test]
        fn rates_are_positive_and_finite(
            service_time in 1e-6..1e2_f64, propagation in 0.0..10.0_f64, outstanding in 0.0..1e5_f64, setpoint in 0.1..1e3_f64,
        ) {
            let bottleneck = Bottleneck { service_time, propagation: propagation + 1e-9, outstanding };
            let rate = LAW.rate(&bottleneck, setpoint);
            prop_assert!(rate.is_finite() && rate > 0.0, "{rate}");
        }
    }
}
