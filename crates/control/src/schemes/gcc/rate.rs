//! The rate that follows over-use: additive or multiplicative increase, decrease to a part of what arrives. What over-use is
//! stands in `trendline.rs`, what loss makes of the rate in `loss.rs`.
//!
//! Source: libwebrtc, `aimd_rate_control` and `link_capacity_estimator` (2025). Rates are bits per second, times seconds.

use super::trendline::Usage;

/// What a decrease leaves of the rate of arrivals.
const KEPT: f64 = 0.85;
/// Growth per second while the capacity is not known.
const GROWTH: f64 = 1.08;
/// The least growth by addition, bits per second each second.
const LEAST_GROWTH: f64 = 4000.0;
/// The packets that additive growth thinks in, in bits, and frames per second.
const PACKET: f64 = 1200.0 * 8.0;
const FRAMES: f64 = 30.0;
/// The rate is at most this part of what arrives, and so much more.
const AHEAD: (f64, f64) = (1.5, 10_000.0);
/// The weight of a new sample of the capacity.
const NEWEST: f64 = 0.05;

/// What over-use told about the capacity: its mean, and its variance over the mean, in kbit/s as in the source.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    mean: f64,
    spread: f64,
}

impl Capacity {
    fn within(self, rate: f64) -> bool {
        (rate / 1e3 - self.mean).abs() <= 3.0 * (self.spread * self.mean).sqrt()
    }

    fn with(self, rate: f64) -> Self {
        let sample = rate / 1e3;
        let mean = (1.0 - NEWEST) * self.mean + NEWEST * sample;
        let error = (mean - sample).powi(2) / mean.max(1.0);
        Self { mean, spread: ((1.0 - NEWEST) * self.spread + NEWEST * error).clamp(0.4, 2.5) }
    }
}

/// Delay's rate.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    value: f64,
    bounds: (f64, f64),
    holding: bool,
    capacity: Option<Capacity>,
    changed: Option<f64>,
    decreased: Option<f64>,
}

impl Rate {
    pub(super) fn new(start: f64, bounds: (f64, f64)) -> Self {
        Self { value: start, bounds, holding: false, capacity: None, changed: None, decreased: None }
    }

    /// The rate by delay.
    pub(super) const fn get(&self) -> f64 {
        self.value
    }

    /// Takes what was found in, with the rate at which packets arrive and the round trip time.
    pub(super) fn update(&mut self, now: f64, usage: Usage, arriving: f64, round_trip: f64) {
        let elapsed = self.changed.map_or(0.0, |changed| (now - changed).clamp(0.0, 1.0));
        self.changed = Some(now);
        match usage {
            Usage::Over => self.decrease(now, arriving, round_trip),
            // The queue drains: growing now would keep it.
            Usage::Under => self.holding = true,
            Usage::Normal if self.holding => self.holding = false,
            Usage::Normal => self.increase(elapsed, arriving, round_trip),
        }
        self.value = self.value.clamp(self.bounds.0, self.bounds.1);
    }

    /// A probe found this rate.
    pub(super) fn set(&mut self, now: f64, rate: f64) {
        let rate = rate.clamp(self.bounds.0, self.bounds.1);
        if rate < self.value {
            self.decreased = Some(now);
        }
        (self.value, self.changed) = (rate, Some(now));
    }

    fn decrease(&mut self, now: f64, arriving: f64, round_trip: f64) {
        let pause = round_trip.clamp(0.010, 0.200);
        let lately = self.decreased.is_some_and(|decreased| now - decreased < pause);
        if lately && arriving >= 0.5 * self.value {
            return;
        }
        self.value = self.value.min(KEPT * arriving);
        self.capacity = match self.capacity {
            Some(capacity) if capacity.within(arriving) => Some(capacity.with(arriving)),
            _ => Some(Capacity { mean: arriving / 1e3, spread: 0.4 }),
        };
        (self.decreased, self.holding) = (Some(now), true);
    }

    fn increase(&mut self, elapsed: f64, arriving: f64, round_trip: f64) {
        let beyond = |capacity: &Capacity| arriving / 1e3 > capacity.mean && !capacity.within(arriving);
        if self.capacity.as_ref().is_some_and(beyond) {
            self.capacity = None;
        }
        let growth = if self.capacity.is_some() {
            elapsed * self.per_second(round_trip)
        } else {
            (self.value * (GROWTH.powf(elapsed) - 1.0)).max(1000.0 * elapsed)
        };
        let most = AHEAD.0 * arriving + AHEAD.1;
        self.value = self.value.max((self.value + growth).min(most));
    }

    /// Growth near the capacity: a packet per response time, which is two of the round trip and 100 ms.
    fn per_second(&self, round_trip: f64) -> f64 {
        let frame = self.value / FRAMES;
        let packet = frame / (frame / PACKET).ceil().max(1.0);
        (packet / (2.0 * (round_trip + 0.1))).max(LEAST_GROWTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(rate: &mut Rate, seconds: u32, arriving: impl Fn(f64) -> f64) -> f64 {
        for step in 0..=seconds * 10 {
            let now = 100.0 + f64::from(step) / 10.0;
            rate.update(now, Usage::Normal, arriving(rate.get()), 0.1);
        }
        rate.get()
    }

    /// Without probes, 300 kbit/s become 3 Mbit/s in ln 10/ln 1.08 = 29.9 s.
    #[test]
    fn it_grows_by_eight_per_cent_a_second() {
        let mut rate = Rate::new(300e3, (30e3, 1e7));
        let reached = grown(&mut rate, 30, |rate| rate);
        assert!((reached / 3e6 - 1.0).abs() < 0.02, "{reached}");
    }

    /// A decrease leaves 0.85 of what arrives; then a packet per response time is added: at 100 ms 24 kbit/s each second for
    /// one of 1200 bytes, less for those into which a frame of four to five such is cut.
    #[test]
    fn it_decreases_once_and_returns_by_addition() {
        let mut rate = Rate::new(1_440e3, (30e3, 1e7));
        rate.update(0.0, Usage::Over, 1_440e3, 0.1);
        assert!((rate.get() - KEPT * 1_440e3).abs() < 1.0);
        rate.update(0.05, Usage::Over, 1_400e3, 0.1);
        assert!((rate.get() - KEPT * 1_440e3).abs() < 1.0, "not twice in a round trip");
        let before = grown(&mut rate, 0, |rate| rate);
        let reached = grown(&mut rate, 5, |rate| rate);
        let slope = (reached - before) / 5.0;
        assert!((0.8 * 24e3..=24e3).contains(&slope), "{slope}");
        let whole = Rate::new(4.0 * PACKET * FRAMES, (30e3, 1e7)).per_second(0.1);
        assert!((whole - 24e3).abs() < 1.0, "{whole}, for a frame of four packets");
    }
}
