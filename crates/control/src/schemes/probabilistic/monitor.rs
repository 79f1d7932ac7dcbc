//! Loss rate monitoring (Widmer, Mauve and Damm, §3.7.1): does the loss rate rise when this flow is switched on? A flow for which
//! it does is too large for its network, and its machine suspends it.
//!
//! At each switch the loss in a window before is compared with that in a window after, as the logarithm of their ratio, on over
//! off. Whoever else is switched meanwhile moves single comparisons, not their mean; so the flow is judged when the mean
//! lies above the factor by two standard errors. The paper names the idea alone; window, factor and test are ours.

use std::collections::VecDeque;

use tailback_core::{Span, Time};

use super::MonitorConfig;

/// So much of a window is left out after a switch: queues need a moment.
const SETTLING: Span = Span::from_secs(1);
/// Added to losses and packets, so that no ratio is infinite: half a loss in fifty packets.
const PRIOR: (f64, f64) = (0.5, 50.0);

/// Packets and losses at a moment.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Time,
    lost: u64,
    passed: u64,
}

/// Losses around the switches of a flow.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    config: MonitorConfig,
    recent: VecDeque<Seen>,
    /// A switch whose second window is open: when, whether on, and the loss rate before.
    open: Option<(Time, bool, f64)>,
    count: f64,
    mean: f64,
    /// The sum of squared differences from the mean.
    squares: f64,
}

impl Monitor {
    pub(super) fn new(config: &MonitorConfig) -> Self {
        Self {
            config: config.clone(),
            recent: VecDeque::new(),
            open: None,
            count: 0.0,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// Packets that came, and packets that were found lost.
    pub(super) fn add(&mut self, now: Time, passed: u64, lost: u64) {
        self.recent.push_back(Seen { at: now, lost, passed });
        let window = self.config.window + SETTLING;
        while self.recent.front().is_some_and(|seen| now.since(seen.at) > window) {
            self.recent.pop_front();
        }
        self.close(now);
    }

    /// The flow is switched on or off.
    pub(super) fn switch(&mut self, now: Time, on: bool) {
        self.open = self.loss_since(now - self.config.window).map(|before| (now, on, before));
        self.recent.clear();
    }

    fn close(&mut self, now: Time) {
        let Some((at, on, before)) = self.open else { return };
        if now.since(at) < self.config.window + SETTLING {
            return;
        }
        self.open = None;
        let Some(after) = self.loss_since(at + SETTLING) else { return };
        let ratio = if on { after / before } else { before / after };
        let sample = ratio.ln();
        self.count += 1.0;
        let difference = sample - self.mean;
        self.mean += difference / self.count;
        self.squares += difference * (sample - self.mean);
    }

    /// The loss rate since then, from packets enough to tell.
    fn loss_since(&self, then: Time) -> Option<f64> {
        let seen = self.recent.iter().filter(|seen| seen.at >= then);
        let (lost, passed) =
            seen.fold((0, 0), |(lost, passed), seen| (lost + seen.lost, passed + seen.passed));
        let (lost, all) = (lost as f64, (lost + passed) as f64);
        (all >= PRIOR.1).then(|| (lost + PRIOR.0) / (all + PRIOR.1))
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
        self.mean - 2.0 * error > self.config.factor.ln()
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
