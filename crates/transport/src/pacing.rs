//! Pacing of schemes that direct a window: their packets leave at a multiple of window over smoothed round trip time
//! instead of in bursts (RFC 9002 §7.7). A rate that a scheme directs itself is never touched; how a rate is kept is
//! the shaper's business.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Burst, Bytes, Checker, DataAmount, Directive, RttSample, Span, Tokens};

/// Pacing of a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PacingConfig {
    /// The rate is this times window / smoothed round trip time (N of RFC 9002 §7.7). At least 1, else the window is
    /// never used; default 1.25.
    pub factor: f64,
    /// How much may leave back to back after a pause. At least a packet; default 1 packet.
    pub burst: DataAmount,
}

impl Default for PacingConfig {
    fn default() -> Self {
        Self { factor: 1.25, burst: DataAmount::Packets(1.0) }
    }
}

impl PacingConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, packet: Bytes, checker: &mut Checker) {
        checker.require((1.0..=100.0).contains(&self.factor), "factor", self.factor, "1 to 100");
        let ok = self.burst.in_bytes(packet) >= packet;
        checker.require(ok, "burst", self.burst, format_args!("at least one packet ({packet})"));
    }
}

/// Turns a window into a rate. Before the first round trip time is known there is none, and the initial window leaves
/// at once.
#[derive(Clone, Debug)]
pub(crate) struct Pacing {
    factor: f64,
    depth: Bytes,
    smoothed: Option<Span>,
}

impl Pacing {
    pub(crate) fn new(config: &PacingConfig, packet: Bytes) -> Self {
        Self { factor: config.factor, depth: config.burst.in_bytes(packet), smoothed: None }
    }

    /// Takes a new round trip time.
    pub(crate) fn note(&mut self, sample: RttSample) {
        self.smoothed = Some(sample.smoothed);
    }

    /// A new connection begins.
    pub(crate) fn forget(&mut self) {
        self.smoothed = None;
    }

    /// Adds the rate to a directive that has a window only.
    pub(crate) fn apply(&self, directive: &mut Directive) {
        if let (Some(window), None, Some(smoothed)) = (directive.window, directive.rate, self.smoothed) {
            directive.rate = Some(BitRate::of(window, smoothed).mul_f64(self.factor));
            directive.burst = Burst { depth: self.depth, tokens: Tokens::Constant };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_a_multiple_of_window_over_round_trip() {
        let mut pacing = Pacing::new(&PacingConfig::default(), Bytes::new(1000));
        let window = Directive::window(Bytes::new(10_000));
        let mut directive = window;
        pacing.apply(&mut directive);
        assert_eq!(directive, window, "no round trip time is known");
        let rtt = Span::from_millis(100);
        pacing.note(RttSample { latest: rtt / 2, smoothed: rtt, min: rtt });
        pacing.apply(&mut directive);
        // 80 kbit in 100 ms, times 1.25.
        assert_eq!(directive.rate, Some(BitRate::from_bits_per_sec(1_000_000)));
        assert_eq!(directive.burst.depth, Bytes::new(1000));
        let own =
            Directive { window: Some(Bytes::new(10_000)), ..Directive::rate(BitRate::from_bits_per_sec(7)) };
        let mut kept = own;
        pacing.apply(&mut kept);
        assert_eq!(kept, own, "a scheme's own rate stands");
    }
}
