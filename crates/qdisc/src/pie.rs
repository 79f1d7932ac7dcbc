//! PIE, the proportional integral controller enhanced (RFC 8033): a probability of drops or marks that moves until
//! the queueing delay stands at its target.
//!
//! Every `T_UPDATE` (RFC 8033 §4.2):
//!
//! ```text
//! p ← p + scale(p) (α (delay − target) + β (delay − delay before))
//! ```
//!
//! where the scale shrinks with p, so that small probabilities move carefully; then the corrections of §4.2 and §5.5.
//! The delay is the backlog over the link's rate (§4.3 allows any estimate), sampled without a timer, see
//! [`crate::sampled`]. Where a delivery trace decides when packets leave, the link has no rate to divide by; there the delay is
//! the time that the oldest packet has waited. (§4.3 takes a packet's time when it leaves, and then stands still while the link
//! does.) It is always on; the switch of §5.3 is not there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    ArrivalPolicy, Backlog, Bytes, Checker, DropReason, Packet, QueueCx, Span, Time, Verdict,
};

use crate::ages::Ages;
use crate::limit::Limit;
use crate::parts::{BuildCx, Info, QueueConfig, check_gain};
use crate::rate::KnownRate;
use crate::sampled::Sampler;
use crate::watched::Periodic;

/// PIE (RFC 8033): drops or marks so that the queueing delay settles at a target. The delay is the backlog over the link's rate;
/// on a link with a trace, the time that the oldest packet has waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PieConfig {
    /// The queueing delay to settle at (`QDELAY_REF`). Default 15 ms (RFC 8033 §4.2).
    pub target: Span,
    /// The period of the probability (`T_UPDATE`). Default 15 ms (RFC 8033 §4.2).
    pub period: Span,
    /// Gain of the delay's distance from the target, per second. Default 0.125 (RFC 8033 §4.2).
    pub alpha: f64,
    /// Gain of the delay's change, per second. Default 1.25 (RFC 8033 §4.2).
    pub beta: f64,
    /// A burst of this length passes undropped after quiet (`MAX_BURST`). Default 150 ms (RFC 8033 §4.4).
    pub burst: Span,
    /// Space drops more evenly than chance would: none until the probabilities since the last add up to 0.85, a certain one
    /// from 8.5 (RFC 8033 §5.4). Default true.
    pub derandomize: bool,
    /// Mark ECN-capable packets instead of dropping them, as long as the probability is not above `mark_limit`
    /// (RFC 8033 §5.1). Default false.
    pub ecn: bool,
    /// The probability above which ECN-capable packets are dropped too (`mark_ecnth`); 1 for never. Default 0.1 (RFC 8033
    /// §5.1).
    pub mark_limit: f64,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            period: Span::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst: Span::from_millis(150),
            derandomize: true,
            ecn: false,
            mark_limit: 0.1,
        }
    }
}

/// Complains about the delay to settle at, the period and the two gains of a controller that make no sense.
pub(crate) fn check_controller(target: Span, period: Span, gains: [f64; 2], checker: &mut Checker) {
    checker.require(!target.is_zero(), "target", target, "a time above zero");
    checker.require(period >= Span::from_micros(10), "period", period, "a time of at least 10 µs");
    for (name, gain) in ["alpha", "beta"].into_iter().zip(gains) {
        check_gain(name, gain, checker);
    }
}

impl PieConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_controller(self.target, self.period, [self.alpha, self.beta], checker);
        let limit = self.mark_limit;
        checker.require((0.0..=1.0).contains(&limit), "mark_limit", limit, "a number from 0 to 1");
    }
}

impl QueueConfig for PieConfig {
    type Queue = Box<Pie>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "pie",
            family: "active",
            summary: "Drops or marks so that the queueing delay settles at a target",
            source: "RFC 8033",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(Pie::new(self, cx))
    }

    fn ecn(&self) -> bool {
        self.ecn
    }
}

/// The controller of RFC 8033 §4.2 and §4.4, apart from the queue.
#[derive(Clone, Debug)]
struct Law {
    config: PieConfig,
    /// Seconds.
    before: f64,
    probability: f64,
    burst_left: Span,
}

impl Law {
    /// So many updates in a row at one queueing delay, in seconds.
    fn update(&mut self, delay: f64, times: u64) {
        let mut left = times;
        while left > 0 {
            let (step, alike) = self.steps(delay);
            let now = alike.min(left);
            self.advance(delay, step, now);
            left -= now;
        }
    }

    /// The next step of the probability at a delay, and how many equal ones follow each other at least: the delay does not
    /// change from the second on, and the scale only where the probability comes to the next one.
    fn steps(&self, delay: f64) -> (f64, u64) {
        let target = self.config.target.as_secs_f64();
        let step = self.config.alpha * (delay - target) + self.config.beta * (delay - self.before);
        let (least, scale, most) = scale(self.probability);
        let mut step = step * scale;
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        let bound = if step > 0.0 { 1.0 } else { 0.0 };
        if delay != self.before {
            return (step, 1);
        }
        if self.probability == bound || (delay > 0.0 && self.probability + step == self.probability) {
            return (0.0, u64::MAX);
        }
        if delay == 0.0 {
            // It fades.
            return (step, 1);
        }
        // One less, so that rounding does not carry it too far.
        let way = if step > 0.0 { most } else { least } - self.probability;
        (step, ((way / step) as u64).saturating_sub(1).max(1))
    }

    /// So many equal steps at one delay.
    fn advance(&mut self, delay: f64, step: f64, steps: u64) {
        let target = self.config.target.as_secs_f64();
        self.probability += step * steps as f64;
        if delay == 0.0 && self.before == 0.0 {
            self.probability *= 0.98;
            if self.probability < f64::MIN_POSITIVE {
                // The least number there is would stay.
                self.probability = 0.0;
            }
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_left -= self.config.period * steps;
        if self.probability == 0.0 && delay < target / 2.0 && self.before < target / 2.0 {
            self.burst_left = self.config.burst;
        }
        self.before = delay;
    }
}

/// The auto-tuning of RFC 8033 §4.2: by what a step is scaled, and from which probability to which.
fn scale(probability: f64) -> (f64, f64, f64) {
    match probability {
        p if p < 0.000_001 => (0.0, 1.0 / 2048.0, 0.000_001),
        p if p < 0.000_01 => (0.000_001, 1.0 / 512.0, 0.000_01),
        p if p < 0.000_1 => (0.000_01, 1.0 / 128.0, 0.000_1),
        p if p < 0.001 => (0.000_1, 1.0 / 32.0, 0.001),
        p if p < 0.01 => (0.001, 1.0 / 8.0, 0.01),
        p if p < 0.1 => (0.01, 0.5, 0.1),
        _ => (0.1, 1.0, 1.0),
    }
}

/// The state of one PIE queue.
#[derive(Clone, Debug)]
pub struct Pie {
    limit: Limit,
    law: Law,
    mean_packet: Bytes,
    rate: KnownRate,
    sampler: Sampler,
    /// The sum of probabilities since the last drop (RFC 8033 §5.4).
    accumulated: f64,
    /// When packets came, where their time in the queue is the delay.
    ages: Option<Box<Ages>>,
}

impl Pie {
    /// PIE for the link that `cx` describes.
    pub fn new(config: &PieConfig, cx: &BuildCx) -> Self {
        Self {
            limit: Limit::new(cx.capacity),
            law: Law { config: config.clone(), before: 0.0, probability: 0.0, burst_left: config.burst },
            mean_packet: cx.mean_packet,
            rate: KnownRate::new(cx.rate),
            sampler: Sampler::new(config.period),
            accumulated: 0.0,
            ages: None,
        }
    }

    /// From here on, the delay is the time that the oldest packet has waited.
    pub(crate) fn measure_time(&mut self) {
        self.ages = Some(Box::default());
    }

    /// The probability of a drop or mark.
    pub const fn probability(&self) -> f64 {
        self.law.probability
    }

    /// Whether chance picks this packet (RFC 8033 §4.1), its spacing made more even (§5.4) or not.
    fn picks(&mut self, backlog: &Backlog, cx: &mut QueueCx<'_>) -> bool {
        let probability = self.law.probability;
        let calm = self.law.before < self.law.config.target.as_secs_f64() / 2.0 && probability < 0.2;
        if !self.law.burst_left.is_zero() || calm || backlog.bytes <= self.mean_packet * 2 {
            return false;
        }
        if !self.law.config.derandomize {
            return cx.rng.chance(probability);
        }
        if probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += probability;
        let picked = self.accumulated >= 8.5 || (self.accumulated >= 0.85 && cx.rng.chance(probability));
        if picked {
            self.accumulated = 0.0;
        }
        picked
    }
}

impl Periodic for Pie {
    fn look(&mut self, now: Time, backlog: &Backlog, cx: &QueueCx<'_>) {
        let law = &mut self.law;
        if let Some(ages) = &mut self.ages {
            match ages.oldest(backlog) {
                Some(came) => {
                    self.sampler.each(now, |at, times| law.update(at.since(came).as_secs_f64(), times));
                }
                None => self.sampler.hold(now, 0.0, |delay, times| law.update(delay, times)),
            }
            return;
        }
        let per_byte = 1.0 / self.rate.at(cx.rate).bytes_per_sec();
        self.sampler.hold(now, backlog.bytes.as_f64(), |bytes, times| law.update(bytes * per_byte, times));
    }
}

impl ArrivalPolicy for Pie {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        let law = &mut self.law;
        let per_byte = 1.0 / self.rate.at(cx.rate).bytes_per_sec();
        let queue = backlog.bytes.as_f64();
        self.sampler.catch_up(now, queue, cx.idle_since, |bytes, times| law.update(bytes * per_byte, times));
        let room = self.limit.admits(packet, backlog, cx.idle_since.is_some());
        let mut verdict = Verdict::Accept;
        if !room {
            self.accumulated = 0.0;
            verdict = Verdict::Drop(DropReason::Overflow);
        } else if self.picks(backlog, cx) {
            let markable = self.law.config.ecn && self.law.probability <= self.law.config.mark_limit;
            if !(markable && cx.mark_ce(packet)) {
                verdict = Verdict::Drop(DropReason::Early);
            }
        }
        if verdict == Verdict::Accept
            && let Some(ages) = &mut self.ages
        {
            ages.join(now);
        }
        let joined = if verdict == Verdict::Accept { packet.size().as_f64() } else { 0.0 };
        self.sampler.leave(now, queue + joined);
        verdict
    }

    fn observe(&self, _: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note("probability", self.law.probability);
        note("queueing_delay_seconds", self.law.before);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailback_core::{Annexes, BitRate, Capacity, Stream};

    use super::*;
    use crate::known::KnownFlows;

    /// RFC 8033 §4.2 step by step, computed apart from this code with the constants of the RFC: through five of the
    /// seven scales of the auto-tuning, and down again.
    #[test]
    fn the_probability_is_that_of_the_rfc() {
        let mut law =
            Law { config: PieConfig::default(), before: 0.0, probability: 0.0, burst_left: Span::ZERO };
        let expected = [
            (0.030, 1.922_607e-5),
            (0.030, 3.387_451e-5),
            (0.030, 4.852_295e-5),
            (0.030, 6.317_139e-5),
            (0.030, 7.781_982e-5),
            (0.030, 9.246_826e-5),
            (0.030, 1.071_167e-4),
            (0.030, 1.657_104e-4),
            (0.030, 2.243_042e-4),
            (0.030, 2.828_979e-4),
            (0.030, 3.414_917e-4),
            (0.030, 4.000_854e-4),
            (0.120, 4.325_867e-3),
            (0.120, 5.966_492e-3),
            (0.120, 7.607_117e-3),
            (0.120, 9.247_742e-3),
            (0.120, 1.088_837e-2),
            (0.120, 1.745_087e-2),
            (0.120, 2.401_337e-2),
            (0.120, 3.057_587e-2),
            (0.0, 0.0),
        ];
        for (delay, probability) in expected {
            law.update(delay, 1);
            assert!(
                (law.probability - probability).abs() <= 1e-6 * probability,
                "{} at {delay} s",
                law.probability
            );
        }
    }

    /// Above a tenth, a step up is at most 0.02; with no delay twice, the probability fades by a fiftieth beside.
    #[test]
    fn steps_up_are_bounded_and_an_empty_queue_forgets() {
        let law = |probability, before| Law {
            config: PieConfig::default(),
            before,
            probability,
            burst_left: Span::ZERO,
        };
        let mut high = law(0.1, 0.1);
        high.update(0.5, 1);
        assert!((high.probability - 0.12).abs() < 1e-12);
        let mut fading = law(0.5, 0.0);
        fading.update(0.0, 1);
        assert!((fading.probability - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
    }

    proptest! {
        /// Many updates at one delay are as many single ones, up and down through all scales.
        #[test]
        fn many_updates_are_as_many_single_ones(
            decades in 0.0..8.0_f64, before in 0.0..0.1_f64, times in 1_u64..5000,
            delay in prop_oneof![Just(0.0), Just(0.015), 0.0..0.1_f64, 0.014..0.016_f64], burst in 0_u64..20_000,
        ) {
            let config = PieConfig::default();
            let burst_left = Span::from_millis(burst);
            let mut once = Law { config, before, probability: 10_f64.powf(-decades), burst_left };
            let mut each = once.clone();
            once.update(delay, times);
            let mut greatest = each.probability;
            for _ in 0..times {
                each.update(delay, 1);
                greatest = greatest.max(each.probability);
            }
            // Each of so many sums is rounded as its size wants, which shows where they come to little in the end.
            let rounding = times as f64 * f64::EPSILON * greatest;
            let apart = (once.probability - each.probability).abs();
            prop_assert!(
                apart <= 1e-9 * each.probability + rounding, "{} or {}", once.probability, each.probability
            );
            prop_assert_eq!((once.before, once.burst_left), (each.before, each.burst_left));
        }
    }

    /// However long nothing happens, it is passed over in some steps.
    #[test]
    fn ages_at_one_delay_are_soon_over() {
        let steps = |delay, probability| {
            let (config, burst_left) = (PieConfig::default(), Span::ZERO);
            let mut law = Law { config, before: delay, probability, burst_left };
            law.update(delay, u64::MAX);
            law.probability
        };
        assert_eq!(steps(0.02, 0.0), 1.0);
        assert_eq!(steps(0.01, 1.0), 0.0);
        assert_eq!(steps(0.0, 1.0), 0.0);
        assert_eq!(steps(0.015, 0.25), 0.25);
    }

    /// The gaps between packets picked at a standing probability of a tenth.
    fn gaps(derandomize: bool) -> Vec<f64> {
        let mut pie = standing(derandomize, 0.1, 0.03);
        let mut rng = Stream::new(1, "queue");
        let mut gaps = vec![0.0];
        while gaps.len() < 20_000 {
            *gaps.last_mut().expect("one at least") += 1.0;
            if picks(&mut pie, 30_000, &mut rng) {
                gaps.push(0.0);
            }
        }
        gaps.pop();
        gaps
    }

    /// PIE at a probability, the last delay so many seconds, its allowance for bursts used up.
    fn standing(derandomize: bool, probability: f64, before: f64) -> Pie {
        let config = PieConfig { derandomize, burst: Span::ZERO, ..PieConfig::default() };
        let mut pie = Pie::new(
            &config,
            &BuildCx {
                capacity: Capacity::Unlimited,
                rate: RATE,
                mean_packet: Bytes::new(1000),
                flows: KnownFlows::default(),
            },
        );
        (pie.law.probability, pie.law.before) = (probability, before);
        pie
    }

    const RATE: BitRate = BitRate::from_bits_per_sec(8_000_000);

    fn picks(pie: &mut Pie, waiting: u64, rng: &mut Stream) -> bool {
        let (annexes, drops) = (&mut Annexes::new(), &mut Vec::new());
        let mut cx = QueueCx { rng, annexes, rate: RATE, idle_since: None, drops, marks: 0 };
        pie.picks(&Backlog { packets: 30, bytes: Bytes::new(waiting) }, &mut cx)
    }

    /// RFC 8033 §4.1: nothing is dropped from a queue of two packets, nor while the delay was short and the probability
    /// below a fifth.
    #[test]
    fn a_line_that_is_hardly_used_loses_nothing() {
        let lost = |probability, before, waiting| {
            let mut pie = standing(true, probability, before);
            let mut rng = Stream::new(1, "queue");
            (0..1000).filter(|_| picks(&mut pie, waiting, &mut rng)).count()
        };
        assert_eq!(lost(0.5, 0.03, 2000), 0);
        assert!(lost(0.5, 0.03, 2001) > 100);
        assert_eq!(lost(0.19, 0.007, 30_000), 0);
        assert!(lost(0.21, 0.007, 30_000) > 50);
        assert!(lost(0.19, 0.008, 30_000) > 50);
    }

    /// RFC 8033 §5.4: at a probability of 0.1, the ninth packet is the first that may be picked, the 85th always is (the
    /// 86th, where a sum of tenths falls short).
    #[test]
    fn drops_are_spaced_unless_chance_alone_decides() {
        let mean = |gaps: &[f64]| gaps.iter().sum::<f64>() / gaps.len() as f64;
        let spaced = gaps(true);
        assert!(spaced.iter().all(|gap| (9.0..=86.0).contains(gap)));
        assert!((mean(&spaced) / 18.0 - 1.0).abs() < 0.05, "eight, and ten by chance: {}", mean(&spaced));
        let random = gaps(false);
        assert!((mean(&random) / 10.0 - 1.0).abs() < 0.05, "{}", mean(&random));
        let next = random.iter().filter(|gap| **gap == 1.0).count() as f64 / random.len() as f64;
        assert!((next - 0.1).abs() < 0.015, "{next}");
    }
}
