//! TCP Vegas: a window that keeps a few packets queued in the network, and slow start that ends before loss. The
//! schemes `vegas` and, with a bounded memory of round trip times, `vegas-k`.
//!
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995; constants as
//! in ns-2, and in Xia et al., §IV-A, where it is one scheme of a family. Once per round trip, with the backlog
//! of `accumulation/backlog.rs`:
//!
//! | | |
//! | --- | --- |
//! | congestion avoidance (equation 9) | +1 packet over the next round trip below α, -1 above β, else none |
//! | slow start | doubles every other round trip; above γ it ends, with the window cut by 1/8 |
//! | loss of what left after the last cut | three quarters of the window, half of it where that had been retransmitted; slow start is over |
//! | time-out | two packets, slow start up to half of the window |
//! | data after an idle time-out | at most the initial window, slow start up to the window before, or as far as it was to go (RFC 5681 §4.1) |
//!
//! As ns-2 does, the backlog is rounded to whole packets before it is compared, and growth in congestion avoidance is
//! spread over the acknowledgements of a round trip. Whatever else happens to the window ends that growth until the next
//! round trip, and while losses are repaired no round trip is judged.
//!
//! What is retransmitted, and when, is decided by the transport: with the paper's timer of fine grain
//! ([`Reliability::Vegas`]) or, as an option, by selective acknowledgements (RFC 6675), which the paper precedes; then
//! each episode of recovery cuts the window once.
//!
//! Deviations: after a time-out the window is 2, as in ns-2, where RFC 5681 §3.1
//! has 1: a round of one packet would take a standing queue for propagation (`accumulation/backlog.rs`), and the flow
//! would push against it for ever. ECN, which the paper precedes, halves the window (RFC 3168).
//!
//! Open problems: see `accumulation/backlog.rs`; a flow that starts into a standing queue takes it for propagation and
//! gets more than its share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    Bytes, Checker, CongestionEvent, Controller, Cx, Directive, Feedback, Lost, Recovery, Sent, Time,
};

use crate::accumulation::BacklogEstimator;
use crate::laws::echo_forbids_growth;
use crate::needs::{Needs, Reliability};
use crate::parts::{ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// How TCP Vegas repairs losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retransmission {
    /// As published: by duplicate acknowledgements, and a timer of fine grain that need not wait for three of them
    /// (Brakmo and Peterson 1995).
    #[default]
    FineGrained,
    /// By selective acknowledgements (RFC 6675).
    Sack,
}

impl Retransmission {
    /// What the transport does.
    pub const fn reliability(self) -> Reliability {
        match self {
            Self::FineGrained => Reliability::Vegas,
            Self::Sack => Reliability::Sack,
        }
    }
}

/// Parameters of TCP Vegas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VegasConfig {
    /// α (ε1 of equation 9): with a backlog below this the window grows, in packets. Default 1.
    pub alpha: f64,
    /// β (ε2 of equation 9): with a backlog above this the window shrinks, in packets, at least α. Default 3.
    pub beta: f64,
    /// γ: with a backlog above this slow start ends, in packets. Default 1.
    pub gamma: f64,
    /// How losses are repaired. Default fine-grained, as published.
    pub retransmission: Retransmission,
}

/// Parameters of Vegas-k.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VegasKConfig {
    /// α (ε1 of equation 9): with a backlog below this the window grows, in packets. Default 1.
    pub alpha: f64,
    /// β (ε2 of equation 9): with a backlog above this the window shrinks, in packets, at least α. Default 3.
    pub beta: f64,
    /// γ: with a backlog above this slow start ends, in packets. Default 1.
    pub gamma: f64,
    /// k: the propagation delay is the smallest round trip time of so many rounds, at least 1 (Mo et al. 1999).
    /// Default 10: neither paper gives one.
    pub history: u32,
    /// How losses are repaired. Default fine-grained, as published.
    pub retransmission: Retransmission,
}

impl Default for VegasConfig {
    fn default() -> Self {
        Self { alpha: 1.0, beta: 3.0, gamma: 1.0, retransmission: Retransmission::default() }
    }
}

impl Default for VegasKConfig {
    fn default() -> Self {
        let VegasConfig { alpha, beta, gamma, retransmission } = VegasConfig::default();
        Self { alpha, beta, gamma, history: 10, retransmission }
    }
}

impl SchemeConfig for VegasConfig {
    type Controller = Vegas;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "vegas",
            summary: "Keeps a few packets queued in the network, judged by round trip times at the sender",
            source: "Brakmo and Peterson 1995; Xia et al., Accumulation-based Congestion Control, §IV-A",
            reliability: Reliability::Vegas,
            expects_discipline: "any",
        }
    }

    fn needs(&self) -> Needs {
        Needs::over(self.retransmission.reliability())
    }

    fn held(&self, segment: Bytes) -> Option<f64> {
        Some(0.5 * (self.alpha + self.beta) * segment.as_f64())
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts<Vegas> {
        Parts::sender(Vegas::new(self, None, params))
    }

    fn check(&self, checker: &mut Checker) {
        let packets = 0.0..=1e6;
        checker.require(packets.contains(&self.alpha), "alpha", self.alpha, "0 to 1000000 packets");
        let ok = self.beta >= self.alpha && self.beta <= 1e6;
        checker.require(ok, "beta", self.beta, "alpha to 1000000 packets");
        checker.require(packets.contains(&self.gamma), "gamma", self.gamma, "0 to 1000000 packets");
    }
}

impl VegasKConfig {
    /// The part that both variants share.
    pub fn common(&self) -> VegasConfig {
        let Self { alpha, beta, gamma, retransmission, .. } = *self;
        VegasConfig { alpha, beta, gamma, retransmission }
    }
}

impl SchemeConfig for VegasKConfig {
    type Controller = Vegas;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "vegas-k",
            summary: "Vegas with a memory of the last k round trips only",
            source: "Mo, La, Anantharam and Walrand 1999; Xia et al., Accumulation-based Congestion Control, §IV-A",
            reliability: Reliability::Vegas,
            expects_discipline: "any",
        }
    }

    fn needs(&self) -> Needs {
        self.common().needs()
    }

    fn held(&self, segment: Bytes) -> Option<f64> {
        self.common().held(segment)
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts<Vegas> {
        Parts::sender(Vegas::new(&self.common(), Some(self.history), params))
    }

    fn check(&self, checker: &mut Checker) {
        self.common().check(checker);
        checker.require(self.history >= 1, "history", self.history, "at least 1 round");
    }
}

/// The window of Vegas; amounts in packets.
#[derive(Clone, Debug)]
pub struct Vegas {
    config: VegasConfig,
    estimator: BacklogEstimator,
    segment: f64,
    window: f64,
    initial: f64,
    max: f64,
    ssthresh: f64,
    /// Growth per acknowledgement during this round trip.
    growth: f64,
    /// Whether slow start grows in this round trip.
    grow_round: bool,
    /// When the window was last cut.
    cut_at: Time,
}

/// The note on packets that are retransmitted.
const AGAIN: u32 = 1;

impl Vegas {
    /// A connection's start; `history` is k of Vegas-k.
    pub fn new(config: &VegasConfig, history: Option<u32>, params: &ControllerParams) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        let max = (params.max_window.as_f64() / segment).max(1.0);
        let initial = (params.initial_window.as_f64() / segment).clamp(1.0, max);
        Self {
            config: config.clone(),
            estimator: BacklogEstimator::new(params.segment, history),
            segment,
            window: initial,
            initial,
            max,
            ssthresh: params.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.as_f64() / segment),
            growth: 0.0,
            grow_round: true,
            cut_at: Time::ZERO,
        }
    }

    fn set(&mut self, window: f64) {
        self.window = window.clamp(1.0, self.max);
    }

    /// A round trip has shown `backlog` packets in the network's queues.
    fn on_round(&mut self, backlog: f64) {
        let backlog = (backlog + 0.5).trunc();
        if self.window < self.ssthresh {
            self.grow_round = !self.grow_round;
            self.growth = 0.0;
            if self.grow_round {
                if backlog > self.config.gamma {
                    self.ssthresh = 2.0;
                    self.set((self.window * 7.0 / 8.0).max(2.0).min(self.window));
                } else {
                    self.growth = 1.0;
                }
            }
        } else if backlog > self.config.beta {
            self.set((self.window - 1.0).max(2.0).min(self.window));
            self.growth = 0.0;
        } else if backlog < self.config.alpha {
            self.growth = 1.0 / self.window;
        } else {
            self.growth = 0.0;
        }
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent, lost: &[Lost]) {
        match event {
            CongestionEvent::Loss => {
                self.ssthresh = 2.0;
                self.on_loss(now, lost);
            }
            CongestionEvent::Ecn => {
                self.ssthresh = 2.0;
                self.cut(now, 0.5);
            }
            CongestionEvent::Timeout { consecutive } => {
                if consecutive <= 1 {
                    self.ssthresh = (self.window / 2.0).max(2.0);
                }
                self.set(2.0);
                self.cut_at = now;
            }
            CongestionEvent::Idle => {
                // A slow start that had not ended ends where it would have.
                self.ssthresh = self.ssthresh.max(self.window);
                self.set(self.window.min(self.initial));
            }
            CongestionEvent::RecoveryEnd | CongestionEvent::Spurious => {}
        }
        self.growth = 0.0;
    }

    /// "Vegas only decreases the congestion window if the retransmitted segment was previously sent after the last
    /// decrease" (Brakmo and Peterson 1995, §III-A); one that was retransmitted before halves it, as in the published code.
    fn on_loss(&mut self, now: Time, lost: &[Lost]) {
        let newest = lost.iter().max_by_key(|lost| lost.sent_at);
        let published = self.config.retransmission == Retransmission::FineGrained;
        match newest.filter(|_| published) {
            Some(lost) if lost.sent_at <= self.cut_at => {}
            Some(lost) if lost.tag == AGAIN => self.cut(now, 0.5),
            _ => self.cut(now, 0.75),
        }
    }

    fn cut(&mut self, now: Time, part: f64) {
        self.cut_at = now;
        self.set((self.window * part).max(2.0).min(self.window));
    }
}

impl Controller for Vegas {
    #[inline]
    fn on_sent(&mut self, _: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        sent.tag = if sent.retransmission { AGAIN } else { 0 };
        self.estimator.on_sent(sent.number);
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(event) = feedback.event {
            self.on_event(now, event, feedback.lost);
        }
        let round = self.estimator.on_feedback(now, feedback);
        if feedback.recovery == Recovery::Fast {
            return;
        }
        if let Some(round) = round {
            cx.note("accumulation", round.backlog * self.segment);
            cx.note("base_rtt", round.base.as_secs_f64());
            self.on_round(round.backlog);
        }
        if self.growth >= 1.0 && self.window >= self.ssthresh {
            self.growth = 0.0;
        }
        let earned = feedback.window_limited && !echo_forbids_growth(feedback);
        if self.growth > 0.0 && earned && feedback.advanced > Bytes::ZERO {
            let gain = if self.window < self.ssthresh { 1.0 } else { feedback.gain };
            self.set(self.window + gain * self.growth);
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(Bytes::new((self.window * self.segment) as u64))
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Span, Stream};

    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// The windows after losses at 100, 110, … ms of packets that left then, for the first time or again.
    fn windows(retransmission: Retransmission, losses: &[(u64, bool)]) -> Vec<u64> {
        let segment = Bytes::new(1000);
        let params = ControllerParams::unlimited(segment, 40);
        let mut vegas = Vegas::new(&VegasConfig { retransmission, ..VegasConfig::default() }, None, &params);
        let mut rng = Stream::new(1, "test");
        let mut cx = Cx { rng: &mut rng, notes: None };
        let mut window = |(&(sent_at, again), now): (&(u64, bool), u64)| {
            let tag = u32::from(again) * AGAIN;
            let lost = [Lost { number: 7, size: segment, sent_at: at(sent_at), tag }];
            let event = Some(CongestionEvent::Loss);
            vegas.on_feedback(at(now), &Feedback { lost: &lost, event, ..Feedback::empty() }, &mut cx);
            vegas.directive().window.unwrap_or(Bytes::MAX).get() / 1000
        };
        losses.iter().zip((100..).step_by(10)).map(&mut window).collect()
    }

    #[test]
    fn the_window_is_cut_once_for_what_left_before_the_cut() {
        let losses = [(50, false), (60, false), (99, false), (125, false), (135, true)];
        assert_eq!(windows(Retransmission::FineGrained, &losses), [30, 30, 30, 22, 11]);
        assert_eq!(windows(Retransmission::Sack, &losses[..3]), [30, 22, 16]);
    }
}
