//! A monitor interval of PCC Vivace: what became of the packets that left in it, and their utility. What is tried in which
//! interval is said in `mod.rs`.
//!
//! Source: Dong et al., NSDI 2018, §4.1: the slope of round trip times is that of the line of least squares.

use std::collections::BTreeSet;

use tailback_core::{Acked, Lost, Time};

use super::VivaceConfig;

/// A slope of the round trip time below this is noise.
const DEAD_BAND: f64 = 0.01;

/// What an interval is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The start.
    Start,
    /// One of a pair, above or below the rate.
    Probe { pair: usize, above: bool },
    /// Results are awaited.
    Wait,
}

/// Sums of a line through round trip times by the time at which their packets left; in seconds since the first.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    began: Option<(Time, f64)>,
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    fn take(&mut self, sent: Time, trip: f64) {
        // Differences from the first keep the sums exact.
        let (began, first) = *self.began.get_or_insert((sent, trip));
        let (x, y) = ((sent.as_nanos() as f64 - began.as_nanos() as f64) * 1e-9, trip - first);
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    fn slope(&self) -> f64 {
        let below = self.count * self.xx - self.x * self.x;
        if below > 0.0 { (self.count * self.xy - self.x * self.y) / below } else { 0.0 }
    }
}

/// A monitor interval.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) id: u32,
    /// In Mbit/s.
    pub(super) rate: f64,
    pub(super) purpose: Purpose,
    /// Packets.
    pub(super) sent: u32,
    acked: u32,
    /// Those that are lost, by when they left and their numbers: what arrives after all is lost no more.
    lost: BTreeSet<(Time, u64)>,
    /// Whether the application limited it.
    pub(super) limited: bool,
    /// Whether no more packets leave in it.
    pub(super) closed: bool,
    line: Line,
}

impl Interval {
    pub(super) fn new(id: u32, rate: f64, purpose: Purpose) -> Self {
        let (lost, line) = (BTreeSet::new(), Line::default());
        Self { id, rate, purpose, sent: 0, acked: 0, lost, limited: false, closed: false, line }
    }

    pub(super) fn on_acked(&mut self, now: Time, acked: &Acked) {
        self.acked += 1;
        if !self.lost.is_empty() {
            self.lost.remove(&(acked.sent_at, acked.number));
        }
        if !acked.retransmitted {
            self.line.take(acked.sent_at, now.since(acked.sent_at).as_secs_f64());
        }
    }

    pub(super) fn on_lost(&mut self, lost: &Lost) {
        self.lost.insert((lost.sent_at, lost.number));
    }

    /// Whether all of its packets are known to have arrived or to be lost.
    pub(super) fn is_settled(&self) -> bool {
        self.closed && self.acked as usize + self.lost.len() >= self.sent as usize
    }

    /// The utility; what is not known to have arrived is lost. None of nothing.
    pub(super) fn utility(&self, config: &VivaceConfig) -> Option<f64> {
        if self.sent == 0 {
            return None;
        }
        let slope = Some(self.line.slope()).filter(|slope| *slope >= DEAD_BAND).unwrap_or(0.0);
        let loss = (1.0 - f64::from(self.acked) / f64::from(self.sent)).max(0.0);
        let rate = self.rate;
        Some(rate.powf(config.exponent) - config.latency * rate * slope - config.loss * rate * loss)
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Bytes, PairPosition, Span};

    use super::*;

    fn interval(trips: impl Fn(u64) -> u64, acked: u64) -> Interval {
        let mut interval = Interval::new(0, 10.0, Purpose::Wait);
        (interval.sent, interval.closed) = (20, true);
        for number in 0..acked {
            let sent_at = Time::ZERO + Span::from_millis(2 * number);
            let (size, pair) = (Bytes::new(1500), PairPosition::Single);
            let acked = Acked { number, size, sent_at, retransmitted: false, pair, tag: 0 };
            interval.on_acked(sent_at + Span::from_micros(trips(number)), &acked);
        }
        interval
    }

    /// 10 Mbit/s: 10^0.9 = 7.943; a slope of 0.1 costs 900, a loss of 2 of 20 costs 11.35, and a slope of 0.005 nothing.
    #[test]
    fn utilities_by_hand() {
        let config = VivaceConfig::default();
        let close = |found: Option<f64>, wanted: f64| {
            assert!(
                found.is_some_and(|found| (found - wanted).abs() < 1e-6),
                "{found:?} instead of {wanted}"
            );
        };
        let plain = 10f64.powf(0.9);
        assert!((plain - 7.943).abs() < 1e-3);
        close(interval(|_| 40_000, 20).utility(&config), plain);
        close(interval(|number| 40_000 + 200 * number, 20).utility(&config), plain - 900.0);
        close(interval(|number| 40_000 + 10 * number, 20).utility(&config), plain);
        close(interval(|number| 40_000 - 200 * number, 20).utility(&config), plain);
        close(interval(|_| 40_000, 18).utility(&config), plain - 11.35);
        assert!(interval(|_| 40_000, 20).is_settled());
        assert!(!interval(|_| 40_000, 19).is_settled());
    }

    /// A packet is believed lost and arrives after all, while another has not been heard of: not all is known yet.
    #[test]
    fn what_arrives_late_counts_once() {
        let mut interval = interval(|_| 40_000, 18);
        let (sent_at, size, tag) = (Time::ZERO + Span::from_millis(36), Bytes::new(1500), 0);
        interval.on_lost(&Lost { number: 18, size, sent_at, tag });
        let pair = PairPosition::Single;
        let acked = Acked { number: 18, size, sent_at, retransmitted: false, pair, tag };
        interval.on_acked(sent_at + Span::from_millis(60), &acked);
        assert!(!interval.is_settled());
    }
}
