//! The rate that follows over-use: additive or multiplicative increase, decrease to a part of what arrives. What over-use is
//! stands in `trendline.rs`, what loss makes of the rate in `loss.rs`.
//!
//! Source: libwebrtc, `aimd_rate_control` and `link_capacity_estimator` (2025). Rates are bits per second, times seconds.

use super::trendline::Usage;

/// What a decrease leaves of the rate of arrivals.
const KEPT: f64 = 0.85;
/// Growth per second while the capacity is not known.
const GROWTH: f64 = 1.08;
/// The least growth by addition, bits per second each second, and by multiplication, bits per second each time.
const LEAST_GROWTH: (f64, f64) = (4000.0, 1000.0);
/// A decrease takes so much more, where that much is left.
const MORE: f64 = 5000.0;
/// The packets that additive growth thinks in, in bits, and frames per second.
const PACKET: f64 = 1200.0 * 8.0;
const FRAMES: f64 = 30.0;
/// The rate is at most this part of what arrives, and so much more.
const AHEAD: (f64, f64) = (1.5, 10_000.0);
/// The weight of a new sample of the capacity.
const NEWEST: f64 = 0.05;

/// What over-use told about the capacity: its mean, if it is known, and the variance over the mean, in kbit/s as in the source.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    mean: Option<f64>,
    spread: f64,
}

impl Capacity {
    /// How far from the mean a rate may lie.
    fn margin(self, mean: f64) -> f64 {
        3.0 * (self.spread * mean).sqrt()
    }

    /// A rate beyond what is taken for the capacity: the path is another now.
    fn forget_above(&mut self, rate: f64) {
        self.mean = self.mean.filter(|mean| rate / 1e3 <= mean + self.margin(*mean));
    }

    fn forget_below(&mut self, rate: f64) {
        self.mean = self.mean.filter(|mean| rate / 1e3 >= mean - self.margin(*mean));
    }

    fn take(&mut self, rate: f64) {
        let sample = rate / 1e3;
        let mean = self.mean.map_or(sample, |mean| (1.0 - NEWEST) * mean + NEWEST * sample);
        let error = (mean - sample).powi(2) / mean.max(1.0);
        self.spread = ((1.0 - NEWEST) * self.spread + NEWEST * error).clamp(0.4, 2.5);
        self.mean = Some(mean);
    }
}

/// Delay's rate.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    value: f64,
    least: f64,
    /// The rate of arrivals that was known last.
    arriving: f64,
    holding: bool,
    capacity: Capacity,
    changed: Option<f64>,
}

impl Rate {
    pub(super) fn new(start: f64, least: f64) -> Self {
        let capacity = Capacity { mean: None, spread: 0.4 };
        Self { value: start, least, arriving: start, holding: true, capacity, changed: None }
    }

    /// The rate by delay.
    pub(super) const fn get(&self) -> f64 {
        self.value
    }

    /// Takes what was found in, with the rate at which packets arrive, where it is known, and the round trip time.
    pub(super) fn update(&mut self, now: f64, usage: Usage, arriving: Option<f64>, round_trip: f64) {
        if usage == Usage::Over && self.reduced_lately(now, arriving, round_trip) {
            return;
        }
        self.arriving = arriving.unwrap_or(self.arriving);
        match (usage, arriving) {
            (Usage::Over, Some(arriving)) => self.decrease(now, arriving),
            (Usage::Over, None) => self.set(now, self.value / 2.0),
            // The queue drains: growing now would keep it.
            (Usage::Under, _) => self.holding = true,
            (Usage::Normal, _) => self.increase(now, round_trip),
        }
    }

    /// A probe found this rate.
    pub(super) fn set(&mut self, now: f64, rate: f64) {
        (self.value, self.changed) = (rate.max(self.least), Some(now));
    }

    /// Whether over-use must wait: the rate changed within a round trip, and more than half of it arrives.
    fn reduced_lately(&self, now: f64, arriving: Option<f64>, round_trip: f64) -> bool {
        let pause = round_trip.clamp(0.010, 0.200);
        let lately = self.changed.is_some_and(|changed| now - changed < pause);
        lately && arriving.is_none_or(|arriving| arriving >= 0.5 * self.value)
    }

    fn decrease(&mut self, now: f64, arriving: f64) {
        let mut kept = KEPT * arriving;
        if kept > MORE {
            kept -= MORE;
        }
        if let Some(capacity) = self.capacity.mean.filter(|_| kept > self.value) {
            kept = KEPT * capacity * 1e3;
        }
        self.value = self.value.min(kept).max(self.least);
        self.capacity.forget_below(arriving);
        self.capacity.take(arriving);
        (self.changed, self.holding) = (Some(now), true);
    }

    fn increase(&mut self, now: f64, round_trip: f64) {
        if std::mem::take(&mut self.holding) {
            self.changed = Some(now);
        }
        self.capacity.forget_above(self.arriving);
        let elapsed = self.changed.map_or(1.0, |changed| now - changed);
        let growth = if self.capacity.mean.is_some() {
            elapsed * self.per_second(round_trip)
        } else {
            (self.value * (GROWTH.powf(elapsed.min(1.0)) - 1.0)).max(LEAST_GROWTH.1)
        };
        let most = AHEAD.0 * self.arriving + AHEAD.1;
        self.value = self.value.max((self.value + growth).min(most));
        self.changed = Some(now);
    }

    /// Growth near the capacity: a packet per response time, which is two of the round trip and 100 ms.
    fn per_second(&self, round_trip: f64) -> f64 {
        let frame = self.value / FRAMES;
        let packet = frame / (frame / PACKET).ceil().max(1.0);
        (packet / (2.0 * (round_trip + 0.1))).max(LEAST_GROWTH.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(rate: &mut Rate, seconds: u32, arriving: impl Fn(f64) -> f64) -> f64 {
        for step in 0..=seconds * 10 {
            let now = 100.0 + f64::from(step) / 10.0;
            rate.update(now, Usage::Normal, Some(arriving(rate.get())), 0.1);
        }
        rate.get()
    }

    /// Without probes, 300 kbit/s become 3 Mbit/s in ln 10/ln 1.08 = 29.9 s.
    #[test]
    fn it_grows_by_eight_per_cent_a_second() {
        let mut rate = Rate::new(300e3, 30e3);
        let reached = grown(&mut rate, 30, |rate| rate);
        assert!((reached / 3e6 - 1.0).abs() < 0.02, "{reached}");
    }

    /// For a round trip, but 10 ms at least and 200 ms at most.
    #[test]
    fn over_use_waits_for_what_the_last_change_does() {
        let rate = Rate { changed: Some(1.0), ..Rate::new(1e6, 30e3) };
        for (round_trip, pause) in [(0.001, 0.010), (0.1, 0.1), (0.5, 0.2)] {
            let waits = |passed: f64, arriving| rate.reduced_lately(1.0 + passed, Some(arriving), round_trip);
            assert!(waits(pause - 1e-6, 500e3) && !waits(pause + 1e-6, 500e3), "{round_trip}");
            assert!(!waits(pause - 1e-6, 499e3), "{round_trip}: less than half arrives");
        }
    }

    /// A decrease leaves 0.85 of what arrives, less 5 kbit/s; then a packet per response time is added: at 100 ms 24 kbit/s
    /// each second for one of 1200 bytes, less for those into which a frame of four to five such is cut.
    #[test]
    fn it_decreases_once_and_returns_by_addition() {
        let mut rate = Rate::new(1_440e3, 30e3);
        rate.update(0.0, Usage::Over, Some(1_440e3), 0.1);
        assert!((rate.get() - (KEPT * 1_440e3 - MORE)).abs() < 1.0);
        rate.update(0.05, Usage::Over, Some(1_400e3), 0.1);
        assert!((rate.get() - (KEPT * 1_440e3 - MORE)).abs() < 1.0, "not twice in a round trip");
        let before = grown(&mut rate, 0, |rate| rate);
        let reached = grown(&mut rate, 5, |rate| rate);
        let slope = (reached - before) / 5.0;
        assert!((0.8 * 24e3..=24e3).contains(&slope), "{slope}");
        let whole = Rate::new(4.0 * PACKET * FRAMES, 30e3).per_second(0.1);
        assert!((whole - 24e3).abs() < 1.0, "{whole}, for a frame of four packets");
    }
}
