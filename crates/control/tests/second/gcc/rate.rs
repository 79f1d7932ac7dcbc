//! The rate that rises and falls by what the delays show, in the second writing of GCC.

use super::trend::Usage;

/// `link_capacity_estimator`, in kilobits per second.
pub(super) struct Capacity {
    pub(super) estimate: Option<f64>,
    deviation: f64,
}

impl Capacity {
    fn bounds(&self) -> (f64, f64) {
        let Some(estimate) = self.estimate else { return (0.0, f64::INFINITY) };
        let deviation = 3.0 * (self.deviation * estimate).sqrt();
        ((estimate - deviation).max(0.0), estimate + deviation)
    }

    fn over_use(&mut self, sample: f64) {
        let estimate = self.estimate.map_or(sample, |old| 0.95 * old + 0.05 * sample);
        let error = estimate - sample;
        self.deviation = (0.95 * self.deviation + 0.05 * error * error / estimate.max(1.0)).clamp(0.4, 2.5);
        self.estimate = Some(estimate);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Control {
    Hold,
    Increase,
}

pub(super) struct Aimd {
    pub(super) least: f64,
    pub(super) rate: f64,
    pub(super) throughput: f64,
    pub(super) state: Control,
    changed: Option<f64>,
    pub(super) rtt: f64,
    pub(super) capacity: Capacity,
}

impl Aimd {
    pub(super) fn new(least: f64, start: f64) -> Self {
        Self {
            least,
            rate: start,
            throughput: start,
            state: Control::Hold,
            changed: None,
            rtt: 0.2,
            capacity: Capacity { estimate: None, deviation: 0.4 },
        }
    }

    /// `MaybeUpdateEstimate`, without a probe.
    pub(super) fn update(&mut self, now: f64, usage: Usage, acked: Option<f64>) {
        match (usage, acked) {
            (Usage::Over, Some(acked)) if !self.reduces(now, acked) => {}
            (Usage::Over, None) => {
                if self.reduces(now, f64::INFINITY) {
                    self.set(now, self.rate / 2.0);
                }
            }
            _ => self.change(now, usage, acked),
        }
    }

    fn reduces(&self, now: f64, acked: f64) -> bool {
        self.changed.is_none_or(|at| now - at >= self.rtt.clamp(0.01, 0.2)) || acked < 0.5 * self.rate
    }

    pub(super) fn set(&mut self, now: f64, rate: f64) {
        self.rate = rate.max(self.least);
        self.changed = Some(now);
    }

    fn change(&mut self, now: f64, usage: Usage, acked: Option<f64>) {
        let throughput = acked.unwrap_or(self.throughput);
        self.throughput = throughput;
        match usage {
            Usage::Over => return self.decrease(now, throughput),
            Usage::Under => self.state = Control::Hold,
            Usage::Normal if self.state == Control::Hold => {
                self.changed = Some(now);
                self.state = Control::Increase;
            }
            Usage::Normal => {}
        }
        if self.state == Control::Increase {
            self.increase(now, throughput);
        }
    }

    fn increase(&mut self, now: f64, throughput: f64) {
        if throughput > 1e3 * self.capacity.bounds().1 {
            self.capacity.estimate = None;
        }
        let limit = 1.5 * throughput + 10e3;
        let past = self.changed.map_or(1.0, |at| now - at);
        if self.rate < limit {
            let more = if self.capacity.estimate.is_some() {
                self.near_capacity() * past
            } else {
                (self.rate * (1.08_f64.powf(past.min(1.0)) - 1.0)).max(1000.0)
            };
            self.rate = (self.rate + more).min(limit).max(self.least);
        }
        self.changed = Some(now);
    }

    /// Bits per second, each second.
    fn near_capacity(&self) -> f64 {
        let frame = self.rate / 30.0;
        let packet = frame / (frame / 9600.0).ceil();
        (packet / (2.0 * (self.rtt + 0.1))).max(4000.0)
    }

    fn decrease(&mut self, now: f64, throughput: f64) {
        let mut to = 0.85 * throughput;
        if to > 5000.0 {
            to -= 5000.0;
        }
        if let Some(capacity) = self.capacity.estimate.filter(|_| to > self.rate) {
            to = 0.85 * 1e3 * capacity;
        }
        self.rate = self.rate.min(to).max(self.least);
        if throughput < 1e3 * self.capacity.bounds().0 {
            self.capacity.estimate = None;
        }
        self.capacity.over_use(throughput / 1e3);
        self.state = Control::Hold;
        self.changed = Some(now);
    }
}
