//! The TCP throughput equation in the form of RFC 5348 §3.1, and its inverse. How loss and round trip times are measured
//! is the estimators' business.
//!
//! ```text
//!                          s
//! X = ──────────────────────────────────────────────────────
//!     R √(2p/3) + t_RTO (3 √(3p/8)) p (1 + 32 p²)
//! ```
//!
//! That is for one packet per acknowledgement, `b = 1` there. With `t_RTO = 4 R` it is equation (1) of Widmer, Mauve and Damm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Span;

/// The retransmission time-out that the equation assumes of TCP (RFC 5348 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AssumedTimeout {
    /// Four round trip times, as RFC 5348 recommends.
    #[default]
    FourRoundTrips,
    /// Four round trip times and at least a second, the least that RFC 6298 recommends of TCP.
    AtLeastOneSecond,
    /// That of RFC 6298: the smoothed round trip time and four times its variation, as the sender measures them.
    Measured,
}

/// The equation for one size of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThroughputEquation {
    /// s, in bytes.
    segment: f64,
    timeout: AssumedTimeout,
    /// `t_RTO` as measured.
    measured: Option<Span>,
}

/// The smallest loss event rate that the inverse returns: one event in 10^12 packets.
const LEAST: f64 = 1e-12;

impl ThroughputEquation {
    /// For packets of `segment` bytes.
    pub const fn new(segment: f64, timeout: AssumedTimeout) -> Self {
        Self { segment, timeout, measured: None }
    }

    /// The same with a time-out that was measured.
    #[must_use]
    pub const fn with_timeout(self, timeout: Span) -> Self {
        Self { measured: Some(timeout), ..self }
    }

    /// X in bytes per second, for a loss event rate from 0 to 1; infinite without loss.
    pub fn rate(&self, loss: f64, round_trip: Span) -> f64 {
        let r = round_trip.as_secs_f64().max(1e-9);
        let p = loss.clamp(0.0, 1.0);
        let timeout = match (self.timeout, self.measured) {
            (AssumedTimeout::Measured, Some(span)) => span.as_secs_f64(),
            (AssumedTimeout::AtLeastOneSecond, _) => (4.0 * r).max(1.0),
            (AssumedTimeout::FourRoundTrips | AssumedTimeout::Measured, _) => 4.0 * r,
        };
        let waiting = 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
        self.segment / (r * (2.0 * p / 3.0).sqrt() + timeout * waiting)
    }

    /// The loss event rate at which the equation gives `rate` bytes per second: 1 where even that gives more.
    ///
    /// The rate falls as the loss rises, so halving an interval on a logarithmic scale finds it to twelve digits.
    pub fn loss(&self, rate: f64, round_trip: Span) -> f64 {
        if self.rate(1.0, round_trip) >= rate {
            return 1.0;
        }
        let (mut low, mut high) = (LEAST.ln(), 0.0_f64);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if self.rate(middle.exp(), round_trip) > rate { low = middle } else { high = middle }
        }
        (0.5 * (low + high)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn equation() -> ThroughputEquation {
        ThroughputEquation::new(1000.0, AssumedTimeout::FourRoundTrips)
    }

    #[test]
    fn worked_values() {
        // By hand, p = 0.01: √(0.02/3) = 0.0816497; 12 √(0.00375) · 0.01 · 1.0032 = 0.00737199; the sum per RTT is
        // 0.0890217, so 1000 / 0.00890217 = 112 332 B/s.
        assert!((equation().rate(0.01, RTT) - 112_332.2).abs() < 1.0, "{}", equation().rate(0.01, RTT));
        // p = 1: √(2/3) + 12 √(3/8) · 33 = 0.816497 + 242.4975 per RTT.
        assert!((equation().rate(1.0, RTT) - 41.0992).abs() < 1e-3, "{}", equation().rate(1.0, RTT));
        assert_eq!(equation().rate(0.0, RTT), f64::INFINITY);
        // A second of time-out instead of 0.4 s: 0.00816497 + 3 √(0.00375) · 0.01 · 1.0032 = 0.0100080.
        let slow = ThroughputEquation::new(1000.0, AssumedTimeout::AtLeastOneSecond);
        assert!((slow.rate(0.01, RTT) - 99_920.4).abs() < 5.0, "{}", slow.rate(0.01, RTT));
    }

    #[test]
    fn the_inverse_undoes_the_equation() {
        for exponent in 0..80 {
            let loss = 10.0_f64.powf(-f64::from(exponent) / 10.0);
            let back = equation().loss(equation().rate(loss, RTT), RTT);
            assert!((back / loss - 1.0).abs() < 1e-9, "{loss} became {back}");
        }
        assert_eq!(equation().loss(1.0, RTT), 1.0, "slower than any loss explains");
        assert!(equation().loss(f64::INFINITY, RTT) < 2e-12);
    }
}
