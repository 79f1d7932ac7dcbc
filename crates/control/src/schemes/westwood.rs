//! TCP Westwood+: Reno's growth, and after a loss a window of the measured bandwidth times the smallest round trip time
//! instead of half of it. The scheme `westwood-plus`.
//!
//! Source: Grieco and Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno and Vegas TCP Congestion
//! Control", 2004, §2; the filter's two stages and its least window of 50 ms as in Linux (`tcp_westwood.c`).
//!
//! | | |
//! | --- | --- |
//! | sample, once per max(RTT, 50 ms) | `b = bytes acknowledged / time` |
//! | estimate | `n ← 7/8 n + 1/8 b`, `BWE ← 7/8 BWE + 1/8 n`; both begin with the first sample |
//! | loss | `cwnd = ssthresh = max(BWE · RTT_min, 2)`, never above `cwnd` |
//! | time-out | `ssthresh` likewise, `cwnd = 1` |
//!
//! Departures of others: Linux lets a reduction raise the window where BWE · `RTT_min` is above it, by way of the
//! threshold; the paper's text and ns-2's code take the smaller. ECN, which the paper does not treat, is answered as a loss.
//!
//! Deviations: the very first sample counts the acknowledgement that begins it, too, and so says a little more than was measured.
//! Before any sample a loss halves the window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Controller, Cx, Directive, Feedback, Span, Time};

use crate::laws::Aimd;
use crate::needs::Reliability;
use crate::parts::{BoxedController, ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// Nothing to set: Westwood+ has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WestwoodConfig {}

/// The least time of a sample.
const LEAST: Span = Span::from_millis(50);

impl SchemeConfig for WestwoodConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "westwood-plus",
            summary: "Reno that falls back to the measured bandwidth times the smallest round trip time",
            source: "Grieco and Mascolo 2004",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn check(&self, _: &mut tailback_core::Checker) {}

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(Westwood {
            aimd: Aimd::new(params),
            bandwidth: None,
            since: None,
            bytes: 0.0,
            smoothed: Span::ZERO,
            least: Span::MAX,
        }))
    }
}

/// Westwood+'s window.
#[derive(Clone, Debug)]
pub struct Westwood {
    aimd: Aimd,
    /// The two stages of the filter, in bytes per second.
    bandwidth: Option<(f64, f64)>,
    /// When the present sample began, and what was acknowledged since.
    since: Option<Time>,
    bytes: f64,
    smoothed: Span,
    least: Span,
}

impl Westwood {
    #[inline]
    fn measure(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.smoothed = rtt.smoothed;
            self.least = self.least.min(rtt.latest);
        }
        if feedback.acked.is_empty() {
            return;
        }
        self.bytes += feedback.acked.iter().map(|acked| acked.size.as_f64()).sum::<f64>();
        let since = *self.since.get_or_insert(now);
        let passed = now.since(since);
        if passed < LEAST.max(self.smoothed) {
            return;
        }
        let sample = self.bytes / passed.as_secs_f64();
        self.bandwidth = Some(self.bandwidth.map_or((sample, sample), |(first, second)| {
            let first = (7.0 * first + sample) / 8.0;
            (first, (7.0 * second + first) / 8.0)
        }));
        (self.since, self.bytes) = (Some(now), 0.0);
        cx.note("bandwidth", self.bandwidth.unwrap_or_default().1);
    }

    /// The window that fills the path without queue, in segments; half of the present one before anything is measured.
    fn pipe(&self) -> f64 {
        let law = &self.aimd.law;
        self.bandwidth
            .filter(|_| self.least != Span::MAX)
            .map_or(law.window / 2.0, |(_, bandwidth)| bandwidth * self.least.as_secs_f64() / law.segment())
    }
}

impl Controller for Westwood {
    fn watches_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        self.measure(now, feedback, cx);
        if let Some(event) = feedback.event {
            let to = self.pipe().min(self.aimd.law.window);
            self.aimd.reduce_to(event, to, cx);
        } else if Aimd::may_grow(feedback) {
            self.aimd.grow(feedback, 1.0);
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(self.aimd.law.bytes())
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Acked, Bytes, CongestionEvent, PairPosition, RttSample, Stream};

    use super::*;

    /// 100 packets of 1000 bytes per second at a round trip of 200 ms, whose least was 100 ms: ten packets fill the pipe.
    #[test]
    fn a_loss_leaves_what_fills_the_pipe() {
        let segment = Bytes::new(1000);
        let params = ControllerParams {
            initial_ssthresh: Some(segment * 2),
            ..ControllerParams::unlimited(segment, 40)
        };
        let mut westwood = WestwoodConfig {}.build(&params).controller;
        let mut rng = Stream::new(1, "test");
        let mut cx = Cx { rng: &mut rng, notes: None };
        for step in 1..=400_u64 {
            let now = Time::ZERO + Span::from_millis(10 * step);
            let latest = Span::from_millis(if step == 1 { 100 } else { 200 });
            let rtt = Some(RttSample { latest, smoothed: latest, min: Span::from_millis(100) });
            let acked = [Acked {
                number: step,
                size: segment,
                sent_at: now - latest,
                retransmitted: false,
                pair: PairPosition::Single,
                tag: 0,
            }];
            let batch = Feedback { acked: &acked, rtt, ..Feedback::empty() };
            westwood.on_feedback(now, &batch, &mut cx);
        }
        let loss =
            Feedback { event: Some(CongestionEvent::Loss), outstanding: segment * 40, ..Feedback::empty() };
        westwood.on_feedback(Time::from_secs_f64(4.1), &loss, &mut cx);
        let window = westwood.directive().window.unwrap_or(Bytes::MAX).as_f64() / 1000.0;
        assert!((window - 10.0).abs() < 0.2, "{window} segments instead of 10");
    }
}
