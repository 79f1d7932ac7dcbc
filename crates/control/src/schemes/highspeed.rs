//! HighSpeed TCP: Reno's window with an increase and a decrease that depend on the window, for paths with very large
//! ones. The scheme `highspeed`.
//!
//! Source: RFC 3649 (Floyd, HighSpeed TCP for Large Congestion Windows), §5. Windows in segments, `w` above 38:
//!
//! | | RFC 3649 §5 |
//! | --- | --- |
//! | response function | `p(w) = exp(S (ln w - ln W_low) + ln P_low)`, `S = (ln P_high - ln P_low)/(ln W_high - ln W_low)` |
//! | decrease | `b(w) = (B_high - 0.5) (ln w - ln W_low)/(ln W_high - ln W_low) + 0.5` |
//! | increase per round trip | `a(w) = w² p(w) 2 b(w)/(2 - b(w))` |
//!
//! with `W_low = 38`, `P_low = 10⁻³`, `W_high = 83000`, `P_high = 10⁻⁷`, `B_high = 0.1`. At and below 38 it is Reno.
//!
//! Departures of others: Linux reads a and b from the table of the RFC's appendix B, whole segments of a, so that
//! its increase lies up to one segment per round trip above this one.
//!
//! Deviations: `a(w)` is computed anew where the window has moved by a segment, so it may be that of a window one segment away,
//! and is never below 1: just above 38 the formula has 0.963.
//! Limited slow start (RFC 3742) is another document, and not here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Controller, Cx, Directive, Feedback, Time};

use crate::laws::Aimd;
use crate::needs::Reliability;
use crate::parts::{BoxedController, ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// Parameters of HighSpeed TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HighSpeedConfig {
    /// `Low_Window`: up to this window it is Reno, in segments. At least 1; default 38 (RFC 3649 §5).
    pub low_window: f64,
    /// `High_Window`: where the loss rate is `high_loss`, in segments. Above `low_window`; default 83000.
    pub high_window: f64,
    /// `High_P`: the loss rate at `high_window`. Above 0, below 0.001; default 10⁻⁷.
    pub high_loss: f64,
    /// `High_Decrease`: the part given up at `high_window`. Above 0, at most 0.5; default 0.1.
    pub high_decrease: f64,
}

impl Default for HighSpeedConfig {
    fn default() -> Self {
        Self { low_window: 38.0, high_window: 83_000.0, high_loss: 1e-7, high_decrease: 0.1 }
    }
}

/// `Low_P`: the loss rate at which Reno's window is `Low_Window` (RFC 3649 §5).
const LOW_LOSS: f64 = 1e-3;

impl HighSpeedConfig {
    /// Where a window stands between the low one and the high one, on a logarithmic scale.
    fn position(&self, window: f64) -> f64 {
        (window / self.low_window).ln() / (self.high_window / self.low_window).ln()
    }

    /// b(w): the part of a window that is given up at a loss.
    pub fn decrease(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return 0.5;
        }
        ((self.high_decrease - 0.5) * self.position(window) + 0.5).max(self.high_decrease)
    }

    /// a(w): segments added per round trip.
    pub fn increase(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return 1.0;
        }
        let loss = LOW_LOSS * (self.high_loss / LOW_LOSS).powf(self.position(window));
        let decrease = self.decrease(window);
        (window * window * loss * 2.0 * decrease / (2.0 - decrease)).max(1.0)
    }
}

impl SchemeConfig for HighSpeedConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "highspeed",
            summary: "Reno whose increase and decrease depend on the window, for very large ones",
            source: "RFC 3649",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(HighSpeed {
            aimd: Aimd::new(params),
            config: self.clone(),
            at: 0.0,
            increase: 1.0,
        }))
    }

    fn check(&self, checker: &mut Checker) {
        let low = self.low_window;
        checker.require((1.0..=1e6).contains(&low), "low_window", low, "1 to 1000000 segments");
        let high = self.high_window;
        checker.require(
            high > low && high <= 1e9,
            "high_window",
            high,
            "above low_window, at most 10⁹ segments",
        );
        let loss = self.high_loss;
        checker.require(loss > 0.0 && loss < LOW_LOSS, "high_loss", loss, "above 0, below 0.001");
        let decrease = self.high_decrease;
        checker.require(decrease > 0.0 && decrease <= 0.5, "high_decrease", decrease, "above 0, at most 0.5");
    }
}

/// HighSpeed TCP's window.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    aimd: Aimd,
    config: HighSpeedConfig,
    /// The window for which `increase` was computed last: logarithms are dear, and a(w) moves slowly.
    at: f64,
    increase: f64,
}

impl HighSpeed {
    /// a(w), computed anew where the window has moved by a segment.
    #[inline]
    fn increase(&mut self) -> f64 {
        let window = self.aimd.law.window;
        if (window - self.at).abs() >= 1.0 {
            self.at = window;
            self.increase = self.config.increase(window);
        }
        self.increase
    }
}

impl Controller for HighSpeed {
    fn watches_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(event) = feedback.event {
            let kept = 1.0 - self.config.decrease(self.aimd.law.window);
            self.aimd.on_event(event, feedback, kept, cx);
        } else if Aimd::may_grow(feedback) {
            let increase = self.increase();
            self.aimd.grow(feedback, increase);
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(self.aimd.law.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the table in RFC 3649, appendix B: the window from which a(w) is so many segments, and b(w) there. The
    /// table rounds the response function to `0.078/w^1.2`, which is 2.5 % less at the last row, and a(w) to whole segments.
    #[test]
    fn the_table_of_the_rfc() {
        let rows = [
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (1058.0, 8.0, 0.33),
            (5036.0, 20.0, 0.25),
            (24_402.0, 45.0, 0.16),
            (84_035.0, 71.0, 0.10),
        ];
        let config = HighSpeedConfig::default();
        for (window, increase, decrease) in rows {
            let (a, b) = (config.increase(window), config.decrease(window));
            assert!((a / increase - 1.0).abs() < 0.04, "a({window}) = {a}, {increase} in the table");
            assert!((b - decrease).abs() <= 0.006, "b({window}) = {b}, {decrease} in the table");
        }
        assert_eq!((config.increase(38.0), config.decrease(38.0)), (1.0, 0.5));
    }
}
