//! The rate at which bytes pass, over a window that moves with time or averaged exponentially. What is counted is the
//! caller's business.

use std::collections::VecDeque;

use tailback_core::{Span, Time};

/// Bytes per second in the last so many seconds, exactly.
#[derive(Clone, Debug, Default)]
pub struct WindowedRate {
    /// When, and how many.
    passed: VecDeque<(Time, u64)>,
    sum: u64,
}

impl WindowedRate {
    /// So many bytes pass now; what is older than `window` is forgotten.
    pub fn add(&mut self, now: Time, bytes: u64, window: Span) {
        self.passed.push_back((now, bytes));
        self.sum += bytes;
        self.forget(now, window);
    }

    /// The rate in the last `window`.
    pub fn rate(&mut self, now: Time, window: Span) -> f64 {
        self.forget(now, window);
        self.sum as f64 / window.as_secs_f64().max(1e-9)
    }

    fn forget(&mut self, now: Time, window: Span) {
        while let Some(&(at, bytes)) = self.passed.front() {
            if now.since(at) < window {
                break;
            }
            self.sum -= bytes;
            self.passed.pop_front();
        }
    }
}

/// Bytes per second, averaged exponentially over time; in the beginning the plain average.
#[derive(Clone, Debug)]
pub struct AveragedRate {
    /// The time constant.
    memory: Span,
    began: Option<Time>,
    updated: Time,
    bytes: f64,
    rate: Option<f64>,
}

impl AveragedRate {
    /// Without history.
    pub const fn new(memory: Span) -> Self {
        Self { memory, began: None, updated: Time::ZERO, bytes: 0.0, rate: None }
    }

    /// Forgets everything.
    pub fn restart(&mut self) {
        *self = Self::new(self.memory);
    }

    /// So many bytes pass now. The first packet begins the first interval and is not within it.
    pub fn add(&mut self, now: Time, bytes: f64) {
        if self.began.is_none() {
            (self.began, self.updated) = (Some(now), now);
        } else {
            self.bytes += bytes;
        }
    }

    /// Takes what has passed into the average; between updates some packets should pass.
    pub fn update(&mut self, now: Time) -> Option<f64> {
        let began = self.began?;
        let dt = now.since(self.updated).as_secs_f64();
        if dt > 0.0 {
            let sample = self.bytes / dt;
            let all = now.since(began).as_secs_f64();
            let memory = self.memory.as_secs_f64().max(1e-9);
            let weight = (dt / all).max(1.0 - (-dt / memory).exp());
            let old = self.rate.unwrap_or(sample);
            self.rate = Some(old + weight * (sample - old));
            (self.bytes, self.updated) = (0.0, now);
        }
        self.rate
    }

    /// The average.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_window_forgets_exactly() {
        let (mut meter, window) = (WindowedRate::default(), Span::from_millis(100));
        for step in 0..20 {
            meter.add(at(10 * step), 100, window);
        }
        assert_eq!(meter.rate(at(190), window), 10_000.0);
        assert_eq!(meter.rate(at(240), window), 5_000.0);
        assert_eq!(meter.rate(at(1000), window), 0.0);
    }

    #[test]
    fn an_average_begins_as_the_plain_one_and_follows_after() {
        let mut meter = AveragedRate::new(Span::from_secs(5));
        assert_eq!(meter.update(at(0)), None);
        for step in 0..=1000 {
            meter.add(at(10 * step), 100.0);
            if step % 10 == 0 {
                meter.update(at(10 * step));
            }
        }
        assert!((meter.rate().unwrap() - 10_000.0).abs() < 1.0, "{:?}", meter.rate());
        // A hundred times as much: within 5 s, 63 % of the way.
        for step in 1001..=1500 {
            meter.add(at(10 * step), 10_000.0);
            if step % 10 == 0 {
                meter.update(at(10 * step));
            }
        }
        let expected = 1e4 + (1e6 - 1e4) * (1.0 - (-1.0_f64).exp());
        assert!((meter.rate().unwrap() / expected - 1.0).abs() < 0.01, "{:?}", meter.rate());
    }
}
