//! Loss rate monitoring (Widmer, Mauve and Damm, §3.7.1): does the loss rate rise when this flow is switched on? A flow for which
//! it does is too large for its network, and its machine suspends it.
//!
//! Each time that the flow is switched on, the loss of the time off before is compared with that of the time on after, as the
//! logarithm of their ratio. Both are measured by the same probes, which leave on and off: a small packet behind another
//! does not meet the loss that data meets. Whoever else is switched meanwhile moves single comparisons, not their mean; so the
//! flow is judged when the mean lies above the factor by three standard errors. Times at which it is switched off are not
//! compared: it is switched off because loss was high, and what was high by chance falls by itself. The paper names the idea
//! alone; window, factor and test are ours.

use tailback_core::{Span, Time};

use super::MonitorConfig;

/// So much is left out after a switch: queues need a moment.
const SETTLING: Span = Span::from_secs(1);
/// Added to losses and packets, so that no ratio is infinite: half a loss in fifty packets.
const PRIOR: (f64, f64) = (0.5, 50.0);
/// By so many standard errors the mean must exceed the factor.
const CERTAINTY: f64 = 3.0;

/// Packets and losses of a time on or off.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    lost: u64,
    passed: u64,
}

impl Counts {
    /// The loss rate, from packets enough to tell.
    fn loss(self) -> Option<f64> {
        let all = (self.lost + self.passed) as f64;
        (all >= PRIOR.1).then(|| (self.lost as f64 + PRIOR.0) / (all + PRIOR.1))
    }
}

/// Losses around the switches of a flow.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    config: MonitorConfig,
    /// Since when it is as it is, on or off.
    since: Option<(Time, bool)>,
    counts: Counts,
    /// The loss rate of the time off before this time on, until they are compared.
    before: Option<f64>,
    count: f64,
    mean: f64,
    /// The sum of squared differences from the mean.
    squares: f64,
}

impl Monitor {
    pub(super) fn new(config: &MonitorConfig) -> Self {
        Self {
            config: config.clone(),
            since: None,
            counts: Counts::default(),
            before: None,
            count: 0.0,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// Packets that came, and packets that were found lost.
    pub(super) fn add(&mut self, now: Time, passed: u64, lost: u64) {
        let Some((since, on)) = self.since else { return };
        let age = now.since(since);
        if age < SETTLING {
            return;
        }
        if on && age >= self.config.window {
            self.compare();
            return;
        }
        self.counts.lost += lost;
        self.counts.passed += passed;
    }

    /// The flow is switched on or off.
    pub(super) fn switch(&mut self, now: Time, on: bool) {
        match self.since {
            Some((_, false)) if on => self.before = self.counts.loss(),
            // Half a window is enough of a time on.
            Some((since, true)) if !on && now.since(since) * 2 >= self.config.window => self.compare(),
            _ => {}
        }
        if !on {
            self.before = None;
        }
        (self.since, self.counts) = (Some((now, on)), Counts::default());
    }

    fn compare(&mut self) {
        let (Some(before), Some(after)) = (self.before.take(), self.counts.loss()) else { return };
        let sample = (after / before).ln();
        self.count += 1.0;
        let difference = sample - self.mean;
        self.mean += difference / self.count;
        self.squares += difference * (sample - self.mean);
    }

    /// The factor by which the loss rate rises with the flow, on average.
    pub(super) fn factor(&self) -> f64 {
        self.mean.exp()
    }

    /// Whether the flow is too large for its network.
    pub(super) fn dominates(&self) -> bool {
        if self.count < f64::from(self.config.switches) {
            return false;
        }
        let error = (self.squares / (self.count - 1.0) / self.count).sqrt();
        self.mean - CERTAINTY * error > self.config.factor.ln()
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Stream;

    use super::*;

    /// Twenty switches, a minute apart, with a hundred packets a second.
    fn watch(on_loss: f64, off_loss: f64, seed: u64) -> Monitor {
        let mut monitor = Monitor::new(&MonitorConfig::default());
        let mut rng = Stream::new(seed, "monitor");
        for switch in 0..20_u64 {
            let on = switch % 2 == 0;
            let start = Time::ZERO + Span::from_secs(60 * switch);
            monitor.switch(start, on);
            for tick in 0..6000 {
                let lost = u64::from(rng.chance(if on { on_loss } else { off_loss }));
                monitor.add(start + Span::from_millis(10 * tick), 1 - lost, lost);
            }
        }
        monitor
    }

    #[test]
    fn a_flow_that_doubles_the_loss_is_found() {
        let monitor = watch(0.06, 0.02, 1);
        assert!(monitor.dominates(), "{}", monitor.factor());
        assert!((monitor.factor() / 3.0 - 1.0).abs() < 0.15, "{}", monitor.factor());
    }

    #[test]
    fn a_flow_without_influence_is_not() {
        for seed in 0..50 {
            let monitor = watch(0.03, 0.03, seed);
            assert!(!monitor.dominates(), "seed {seed}: {}", monitor.factor());
        }
    }
}
