//! CUBIC: a window that grows as a cubic function of the time since the last congestion, flat around the window at
//! which that happened. The scheme `cubic`.
//!
//! Source: RFC 9438 (CUBIC for Fast and Long-Distance Networks), with slow start of RFC 5681 or, by option,
//! `HyStart++` (RFC 9406). Windows in segments, times in seconds:
//!
//! | equation | RFC 9438 |
//! | --- | --- |
//! | `W_cubic(t) = C (t - K)³ + W_max` | eq. 1, §4.2 |
//! | `K = ∛((W_max - cwnd_epoch) / C)` | eq. 2, §4.2 |
//! | `target = W_cubic(t + RTT)`, at least `cwnd`, at most `1.5 cwnd` | §4.2 |
//! | `W_est += α · acked / cwnd`, `α = 3 (1-β) / (1+β)`, and 1 once `W_est >= cwnd_prior` (`reno_slope`) | eq. 4, §4.3 |
//! | `cwnd = W_est` where `W_cubic(t) < W_est` (Reno-friendly region) | §4.3 |
//! | `cwnd += (target - cwnd) / cwnd` otherwise | §4.4, §4.5 |
//! | loss: `ssthresh = β · FlightSize`, `cwnd = max(ssthresh, 2)`; ECN echo: `cwnd = max(ssthresh, 1)` | §4.6 |
//! | fast convergence: `W_max = cwnd (1+β)/2` where `cwnd` was below the last `W_max` | §4.7 |
//! | time-out: `ssthresh` as for a loss, `cwnd = 1`; then `K = 0`, `W_max = cwnd_epoch` | §4.8 |
//! | no growth with an ECN echo | RFC 3168 §6.1.2 |
//! | reduction found spurious: window, threshold, `cwnd_prior`, `W_max` and the stage as before it | §4.9 |
//! | slow start left without a loss: `K = 0`, `W_max = cwnd_prior = cwnd_epoch`, so `α = 1` | §4.10 |
//! | data after an idle time-out: `cwnd = min(initial window, cwnd)`, then a stage with `K = 0` | RFC 5681 §4.1 |
//! | time in which the application limited the sender does not count in `t` | §4.2, §5.8 |
//!
//! Deviations: an epoch begins with the first acknowledgement that may grow the window, so the repair itself is not
//! part of `t`.
//! With `whole_segments` windows are whole, grow as in Linux (`cubic/whole.rs`), and the cubic looks ahead by the smallest round
//! trip time in the place of the smoothed one.
//! With `counting = "bytes"` the step towards the target is taken once per segment acknowledged instead of once per
//! acknowledgement, as common stacks do.
//! What is in flight counts for no more than the window: in recovery, lost data is outstanding too. No reduction raises a window.
//! The acknowledgement that makes `HyStart++` conservative grows the window as those after it, by a quarter; the one that ends
//! slow start, not at all. It looks at round trip times of acknowledgements that may grow the window only.
//!
//! Open problems: RFC 9438 §5.1 (fairness to Reno outside the Reno-friendly region), slow convergence of two flows
//! when buffers are large.

mod whole;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    Bytes, Checker, CongestionEvent, Controller, Cx, Directive, Feedback, Recovery, Sent, Span, Time,
};

use crate::laws::hystart::Advice;
use crate::laws::{Counting, Halve, HyStart, WindowLaw, echo_forbids_growth};
use crate::needs::Reliability;
use crate::parts::{ControllerParams, Parts, SchemeConfig, SchemeInfo};
use whole::{Law, Whole};

/// Parameters of CUBIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each a section of the RFC")]
pub struct CubicConfig {
    /// β: the window is multiplied by this at congestion. Default 0.7 (RFC 9438 §4.6).
    pub beta: f64,
    /// C: how steep the cubic is, in segments per second cubed. Default 0.4 (RFC 9438 §4.1, §5).
    pub c: f64,
    /// Whether a flow that lost at a smaller window than before gives up more (RFC 9438 §4.7). Default true.
    pub fast_convergence: bool,
    /// Whether the window is never below what Reno would have (RFC 9438 §4.3). Default true.
    pub reno_friendly: bool,
    /// Whether Reno's window in that comparison grows by a segment per round trip, as Reno's own does, once it is where the
    /// last congestion was (RFC 9438 §4.3, at the end). Otherwise it goes on by α, as in RFC 8312 §4.2. Default true.
    pub reno_slope: bool,
    /// Whether the initial slow start ends when round trip times rise (RFC 9406). Default false.
    pub hystart: bool,
    /// What an acknowledgement counts for: `per-ack` (the RFC's text) or `bytes` (RFC 3465).
    pub counting: Counting,
    /// With `counting = "bytes"`, at most so many segments of growth per acknowledgement in slow start (L of
    /// RFC 3465 §2.2). At least 1; default 2.
    pub slow_start_limit: f64,
    /// What the window is reduced from: `flight`, the data in flight (RFC 9438 §4.6), or `window`.
    pub halve: Halve,
    /// Whether windows are whole segments and grow as in Linux: looked at once in 31 ms while they stay, and beside Reno by α
    /// whatever `reno_slope` says. Default false.
    pub whole_segments: bool,
}

impl Default for CubicConfig {
    fn default() -> Self {
        Self {
            beta: 0.7,
            c: 0.4,
            fast_convergence: true,
            reno_friendly: true,
            reno_slope: true,
            hystart: false,
            counting: Counting::PerAck,
            slow_start_limit: 2.0,
            halve: Halve::Flight,
            whole_segments: false,
        }
    }
}

impl SchemeConfig for CubicConfig {
    type Controller = Cubic;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "cubic",
            summary: "A window that grows as a cubic of the time since the last congestion",
            source: "RFC 9438, RFC 9406",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts<Cubic> {
        Parts::sender(Cubic::new(self, params))
    }

    fn check(&self, checker: &mut Checker) {
        let inside = self.beta > 0.0 && self.beta < 1.0;
        checker.require(inside, "beta", self.beta, "a number between 0 and 1, both excluded");
        let steep = self.c > 0.0 && self.c <= 1e6;
        checker.require(
            steep,
            "c",
            self.c,
            "a positive number of segments per second cubed, at most 1000000",
        );
        let limit = self.slow_start_limit;
        checker.require((1.0..=1e6).contains(&limit), "slow_start_limit", limit, "1 to 1000000 segments");
    }
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Its beginning, moved forward by the time in which the application limited the sender.
    began: Time,
    /// Since when the application limits the sender.
    limited_since: Option<Time>,
    /// K of equation 2, in seconds.
    k: f64,
    /// `W_max` of this stage.
    plateau: f64,
    /// `W_est` of equation 4.
    estimate: f64,
}

impl Epoch {
    /// The application limits the sender no longer.
    #[inline]
    fn go_on(&mut self, now: Time) {
        if let Some(since) = self.limited_since.take() {
            self.began += now.since(since);
        }
    }

    /// Equation 1.
    #[inline]
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        let x = t - self.k;
        c * x * x * x + self.plateau
    }

    /// Equation 1 in whole segments: what is missing to the plateau, or beyond it, is rounded down.
    fn rounded(&self, c: f64, t: f64) -> f64 {
        self.plateau + (self.w_cubic(c, t) - self.plateau).trunc()
    }
}

/// CUBIC's window law.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each a section of the RFC")]
pub struct Cubic {
    law: WindowLaw,
    beta: f64,
    c: f64,
    alpha: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    reno_slope: bool,
    /// Present during the initial slow start only (RFC 9406 §4.3).
    hystart: Option<HyStart>,
    epoch: Option<Epoch>,
    /// `W_max`: the window at the last congestion, less by fast convergence.
    w_max: f64,
    /// `cwnd_prior`: the window just before the last reduction.
    prior: f64,
    /// Whether the current stage follows a loss or an ECN echo, so that `w_max` is its plateau.
    after_reduction: bool,
    smoothed_rtt: f64,
    /// Present where windows are whole segments.
    whole: Option<Whole>,
    /// Looked for where windows are whole segments.
    least_rtt: Option<Span>,
    /// What the last loss or time-out changed beside window and threshold, while that may prove spurious.
    before: Option<Before>,
}

/// What a reduction changes beside window and threshold: `undo_W_max`, `undo_cwnd_prior`, and `undo_K`,
/// `undo_t_epoch` and `undo_W_est` in one (RFC 9438 §4.9.2).
#[derive(Clone, Copy, Debug)]
struct Before {
    w_max: f64,
    prior: f64,
    epoch: Option<Epoch>,
    after_reduction: bool,
}

impl Cubic {
    /// A connection's start.
    pub fn new(config: &CubicConfig, params: &ControllerParams) -> Self {
        Self {
            law: WindowLaw::new(params, config.counting, config.slow_start_limit, config.halve),
            beta: config.beta,
            c: config.c,
            alpha: 3.0 * (1.0 - config.beta) / (1.0 + config.beta),
            fast_convergence: config.fast_convergence,
            reno_friendly: config.reno_friendly,
            reno_slope: config.reno_slope,
            hystart: config.hystart.then(HyStart::default),
            epoch: None,
            w_max: 0.0,
            prior: f64::INFINITY,
            after_reduction: false,
            smoothed_rtt: 0.0,
            whole: config.whole_segments.then(Whole::default),
            least_rtt: None,
            before: None,
        }
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let reduced = self.rounded(self.law.reduce_from(feedback) * self.beta);
        match event {
            CongestionEvent::Loss => {
                self.keep(now);
                self.reduce(reduced, 2.0);
            }
            CongestionEvent::Ecn => {
                self.law.forget();
                self.reduce(reduced, 1.0);
            }
            CongestionEvent::Timeout { consecutive } => {
                // As in RFC 5681 §3.1, the threshold is held while the same segment times out again.
                if consecutive <= 1 {
                    self.keep(now);
                    self.remember();
                    self.law.ssthresh = reduced.max(2.0);
                }
                self.law.set(1.0);
                self.after_reduction = false;
                self.end_stage();
            }
            CongestionEvent::RecoveryEnd => {}
            CongestionEvent::Spurious => self.take_back(),
            CongestionEvent::Idle => {
                self.before = None;
                self.law.restart();
                self.after_reduction = false;
                self.end_stage();
            }
        }
        cx.note("ssthresh", self.law.ssthresh * self.law.segment());
        cx.note("w_max", self.w_max * self.law.segment());
    }

    /// The whole segments of a window, where windows are whole.
    fn rounded(&self, window: f64) -> f64 {
        if self.whole.is_some() { window.floor() } else { window }
    }

    /// A multiplicative decrease (RFC 9438 §4.6).
    fn reduce(&mut self, reduced: f64, least: f64) {
        self.remember();
        self.law.set(reduced.max(least).min(self.law.window));
        self.law.ssthresh = reduced.max(2.0);
        self.after_reduction = true;
        self.end_stage();
    }

    /// Keeps what a reduction is about to change. Where the application limited the sender until now, this time has passed; what
    /// comes after the reduction counts, if the stage is taken up again.
    fn keep(&mut self, now: Time) {
        self.law.remember();
        if let Some(epoch) = &mut self.epoch {
            epoch.go_on(now);
        }
        self.before = Some(Before {
            w_max: self.w_max,
            prior: self.prior,
            epoch: self.epoch,
            after_reduction: self.after_reduction,
        });
    }

    /// The reduction was for nothing (RFC 9438 §4.9).
    fn take_back(&mut self) {
        if let Some(before) = self.before.take()
            && self.law.restore()
        {
            self.w_max = before.w_max;
            self.prior = before.prior;
            self.epoch = before.epoch;
            self.after_reduction = before.after_reduction;
        }
    }

    /// Keeps the window at which congestion happened (RFC 9438 §4.6, §4.7).
    fn remember(&mut self) {
        self.prior = self.law.window;
        let shrinking = self.fast_convergence && self.law.window < self.w_max;
        let kept = self.law.window * if shrinking { f64::midpoint(1.0, self.beta) } else { 1.0 };
        self.w_max = self.rounded(kept);
    }

    fn end_stage(&mut self) {
        self.epoch = None;
        self.hystart = None;
    }

    fn slow_start(&mut self, feedback: &Feedback<'_>) {
        let Some(hystart) = &mut self.hystart else {
            return self.law.slow_start(feedback.advanced, feedback.recovery == Recovery::Timeout);
        };
        let segments = feedback.advanced.as_f64() / self.law.segment();
        match hystart.on_ack(feedback.acked, segments, feedback.rtt.map(|rtt| rtt.latest)) {
            Advice::Grow(growth) => self.law.set(self.law.window + growth),
            Advice::Leave => {
                self.law.ssthresh = self.law.window;
                self.hystart = None;
            }
        }
    }

    #[inline]
    fn avoid_congestion(&mut self, now: Time, feedback: &Feedback<'_>) {
        let (advanced, gain) = (feedback.advanced, feedback.gain);
        if self.epoch.is_none() {
            self.epoch = Some(self.new_epoch(now));
        }
        let Some(epoch) = &mut self.epoch else { return };
        epoch.go_on(now);
        if self.whole.is_some() {
            return self.grow_by_whole(now, advanced, gain);
        }
        let window = self.law.window;
        let share = 1.0 / window;
        // Equation 4.
        let alpha = if self.reno_slope && epoch.estimate >= self.prior { 1.0 } else { self.alpha };
        epoch.estimate += gain * alpha * self.law.segments(advanced) * share;

        let t = now.since(epoch.began).as_secs_f64();
        if self.reno_friendly && epoch.w_cubic(self.c, t) < epoch.estimate {
            let estimate = epoch.estimate;
            self.law.set(estimate.max(window));
        } else {
            let target = epoch.w_cubic(self.c, t + self.smoothed_rtt).clamp(window, 1.5 * window);
            let step = (gain * self.law.counted(advanced) * share).min(1.0);
            self.law.set(window + (target - window) * step);
        }
    }

    /// The same in whole segments.
    #[inline(never)]
    fn grow_by_whole(&mut self, now: Time, advanced: Bytes, gain: f64) {
        let (Some(whole), Some(epoch)) = (&mut self.whole, &self.epoch) else { return };
        let alpha = self.reno_friendly.then_some(self.alpha);
        let law = Law { alpha, is_bounded: self.after_reduction };
        let ahead = now.since(epoch.began) + self.least_rtt.unwrap_or(Span::ZERO);
        let target = || epoch.rounded(self.c, ahead.as_secs_f64());
        let (window, acked) = (self.law.window.floor(), gain * self.law.segments(advanced));
        let grown = whole.grow(now, window, acked, &law, target);
        self.law.set(window + grown);
    }

    fn new_epoch(&mut self, now: Time) -> Epoch {
        let window = self.rounded(self.law.window);
        if let Some(whole) = &mut self.whole {
            *whole = Whole::new(window);
        }
        if !self.after_reduction {
            self.w_max = window;
        }
        if self.prior == f64::INFINITY {
            // The first slow start ended without a loss: "sets cwnd_prior = cwnd" (RFC 9438 §4.10).
            self.prior = window;
        }
        let k = ((self.w_max - window).max(0.0) / self.c).cbrt();
        let plateau = self.w_max.max(window);
        Epoch { began: now, limited_since: None, k, plateau, estimate: window }
    }

    /// The application, not the window, limits the sender from now on.
    fn pause(&mut self, now: Time) {
        if let Some(epoch) = &mut self.epoch {
            epoch.limited_since.get_or_insert(now);
        }
    }

    /// K of equation 2 in the current stage, for tests and plots.
    pub fn k(&self) -> Option<Span> {
        self.epoch.map(|epoch| Span::from_secs_f64(epoch.k))
    }
}

impl Controller for Cubic {
    #[inline]
    fn on_sent(&mut self, _: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        if let Some(hystart) = &mut self.hystart {
            hystart.on_sent(sent.number);
        }
    }

    /// What `HyStart++` notes of a packet changes neither window nor timer.
    #[inline]
    fn hear_sent(
        &mut self,
        now: Time,
        sent: &mut Sent,
        cx: &mut Cx<'_>,
    ) -> Option<(Directive, Option<Time>)> {
        self.on_sent(now, sent, cx);
        None
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.smoothed_rtt = rtt.smoothed.as_secs_f64();
            if self.whole.is_some() {
                self.least_rtt = Some(self.least_rtt.map_or(rtt.latest, |least| least.min(rtt.latest)));
            }
        }
        if let Some(event) = feedback.event {
            return self.on_event(now, event, feedback, cx);
        }
        let repairing = feedback.recovery == Recovery::Fast;
        if feedback.advanced == Bytes::ZERO || repairing || echo_forbids_growth(feedback) {
            return;
        }
        if !feedback.window_limited {
            self.pause(now);
        } else if self.law.in_slow_start() {
            self.slow_start(feedback);
        } else {
            self.avoid_congestion(now, feedback);
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        Directive::window(self.law.bytes())
    }
}
