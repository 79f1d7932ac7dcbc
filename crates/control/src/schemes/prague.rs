//! TCP Prague: the reference for scalable congestion control on L4S. DCTCP's estimate, an increase for every unmarked
//! packet, independence of short round trips, and pacing. The scheme `prague`.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-04 and the Linux module, version 0.7 (`tcp_prague.c`); RFC 9331 for
//! what L4S demands. With `T = max(RTT, 25 ms)`, W the window in segments, counts of marked packets as fed back:
//!
//! | | |
//! | --- | --- |
//! | estimate, once per T and window of data | `α ← 15/16 α + 1/16 (marked/acked)`, from 0, beginning with the first mark |
//! | mark, at most once per T | `W ← W (1 - α/2)`; the first one of all: `W ← W/2` |
//! | each unmarked packet acknowledged, also while reducing | `W ← W + s/W`, `s = min(1, RTT/25 ms)²` after 4 rounds, 1 before |
//! | loss | `W ← W/2`, and no growth until repaired; time-out: 1 segment |
//! | pacing | `W/RTT`, twice that while W is below half of the threshold, in bursts of 250 µs at most |
//! | small windows | what may be in flight is W rounded up, 2 at least; pacing alone goes below that, down to 100 kbit/s |
//!
//! Law: with a reduction in every T, at a marking probability p, `W = 2 (1 - p)/p` per T, which is `(1/p - 1) · 0.96 Mbit/s` for
//! 1500 bytes at RTT up to 25 ms, and 25 ms/RTT of it above. Marks at random keep the next reduction waiting for T and then for a
//! mark: that makes it 1.37 times as much where they are rare (`tests/todays/test_prague.py`).
//!
//! Departures of others: `udp_prague` grows faster after long times without marks, and has a rate-based mode; earlier kernels had
//! a heuristic for queues of RFC 3168, this version has none: in one, it takes the others' share.
//!
//! Deviations: packets do not shrink where two of them in 25 ms are more than the rate, that is below 1 Mbit/s (the module
//! sends down to 150 bytes). RFC 9331 §4.3 asks with SHOULD, not with MUST, that a scheme stay responsive where round trips
//! have become short because there is no queue; appendix A.1.6 names windows of fractions of a segment as the way. What full
//! packets cost is on the page of today's schemes. Pacing is not dithered by ±3 %. Marks are always counted (as in RFC 9768),
//! never by flags. Retransmissions are not ECN-capable.
//!
//! Decided here: T holds from the start, where the module reduces and estimates per round trip, however short, in slow start and
//! for 4 rounds after it; a reduction waits for T alone, the estimate also for a window of data. Slow start counts what is
//! acknowledged cumulatively, marked or not, two segments at most (RFC 3465), and also repairs a time-out, where the module
//! does not grow; a loss halves what is in flight (RFC 5681), or W where that is below 4. A time-out below one segment halves
//! W, too, and one that proves spurious there is not taken back.
//! There is no mode that counts in rates, which the module has at 4 packets and fewer: a real window does the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    BitRate, Burst, Bytes, Checker, CongestionEvent, Controller, Cx, Directive, Feedback, Recovery, Span,
    Time, Tokens,
};

use crate::laws::{Aimd, Rounds};
use crate::needs::{EcnEcho, EcnMode, MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Parts, SchemeConfig, SchemeInfo};

/// Parameters of TCP Prague.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PragueConfig {
    /// The round trip time that shorter ones behave like; `0 s` for no such independence. At most 1 s; default 25 ms.
    pub reference_rtt: Span,
}

impl Default for PragueConfig {
    fn default() -> Self {
        Self { reference_rtt: Span::from_millis(25) }
    }
}

/// The weight of the newest T in the estimate.
const GAIN: f64 = 1.0 / 16.0;
/// Rounds after slow start until the increase minds the round trip time.
const ROUNDS_BEFORE: u32 = 4;
/// The longest burst, at the rate.
const BURST: f64 = 250e-6;
/// Segments that may be in flight at least, so that a receiver acknowledges that holds back for a second packet; pacing goes
/// below.
const LEAST_IN_FLIGHT: f64 = 2.0;
/// The least rate, in bytes per second.
const LEAST_RATE: f64 = 12_500.0;

impl SchemeConfig for PragueConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "prague",
            summary: "Scalable congestion control for L4S: reduces by the fraction marked, grows on what is not",
            source: "draft-briscoe-iccrg-prague-congestion-control-04; Linux module 0.7",
            reliability: Reliability::Sack,
            expects_discipline: "dualpi2",
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            ecn: EcnMode::Ect1,
            echo: Some(EcnEcho::Counted),
            marks: MarkResponse::Controller,
            ..Needs::over(Reliability::Sack)
        }
    }

    fn check(&self, checker: &mut Checker) {
        let reference = self.reference_rtt;
        checker.require(reference <= Span::from_secs(1), "reference_rtt", reference, "at most 1 s");
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(Prague::new(self, params)))
    }
}

/// TCP Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    aimd: Aimd,
    /// The largest window, in bytes.
    most: f64,
    reference: Span,
    smoothed: Span,
    rounds: Rounds,
    /// Rounds since slow start.
    rounds_since: u32,
    alpha: f64,
    /// A mark was seen.
    seen: bool,
    /// Packets acknowledged and marked since the last update.
    acked: f64,
    marked: f64,
    /// A window of data was acknowledged since the last update.
    round_over: bool,
    updated: Time,
    reduced: Option<Time>,
    /// The window where it is below one segment, which pacing alone can keep.
    fraction: Option<f64>,
    /// It has not grown since the start or a time-out, after which one segment leaves alone (RFC 5681 §3.1).
    lone: bool,
}

impl Prague {
    fn new(config: &PragueConfig, params: &ControllerParams) -> Self {
        Self {
            aimd: Aimd::new(params),
            most: params.max_window.as_f64().max(1.0),
            reference: config.reference_rtt,
            smoothed: Span::ZERO,
            rounds: Rounds::default(),
            rounds_since: 0,
            alpha: 0.0,
            seen: false,
            acked: 0.0,
            marked: 0.0,
            round_over: false,
            updated: Time::ZERO,
            reduced: None,
            fraction: None,
            lone: true,
        }
    }

    fn window(&self) -> f64 {
        self.fraction.unwrap_or(self.aimd.law.window)
    }

    /// Sets the window, down to what the least rate needs.
    fn set(&mut self, window: f64) {
        let least = LEAST_RATE * self.smoothed.as_secs_f64() / self.aimd.law.segment();
        self.aimd.law.set(window);
        self.fraction = (window < 1.0).then_some(window.max(least.min(1.0)));
    }

    /// T.
    fn period(&self) -> Span {
        self.smoothed.max(self.reference)
    }

    fn measure(&mut self, now: Time, feedback: &Feedback<'_>, packets: f64, cx: &mut Cx<'_>) {
        let marks = f64::from(feedback.echoes.ce);
        self.acked += packets;
        self.marked += marks;
        if self.rounds.end(feedback) {
            self.round_over = true;
            if !self.aimd.law.in_slow_start() {
                self.rounds_since = self.rounds_since.saturating_add(1);
            }
        }
        if marks > 0.0 && !self.seen {
            self.seen = true;
            self.updated = now;
        } else if self.round_over && now.since(self.updated) >= self.period() {
            if self.seen && self.acked > 0.0 {
                self.alpha += GAIN * ((self.marked / self.acked).min(1.0) - self.alpha);
                cx.note("alpha", self.alpha);
            }
            (self.acked, self.marked, self.round_over, self.updated) = (0.0, 0.0, false, now);
        }
    }

    /// Answers marks, at most once per T; the first of all before anything is known of how many there are.
    fn give_way(&mut self, now: Time, first: bool) {
        if self.reduced.is_some_and(|at| now.since(at) < self.period()) {
            return;
        }
        self.reduced = Some(now);
        let to = self.window() * if first { 0.5 } else { 1.0 - self.alpha / 2.0 };
        self.aimd.law.forget();
        self.set(to);
        self.aimd.law.ssthresh = to.max(2.0).min(self.aimd.law.window);
    }

    /// Answers what is no mark. A small window is halved as any other, and nothing but an undoing takes it up to a whole segment.
    fn on_event(&mut self, event: CongestionEvent, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let (had, fraction) = (self.window(), self.fraction.take());
        self.aimd.on_event(event, feedback, 0.5, cx);
        match event {
            CongestionEvent::Loss if had < 2.0 * LEAST_IN_FLIGHT => self.halve(had),
            CongestionEvent::Timeout { .. } if fraction.is_some() => self.halve(had),
            CongestionEvent::Spurious if self.aimd.law.window > 1.0 => {}
            _ => self.fraction = fraction,
        }
    }

    fn halve(&mut self, window: f64) {
        self.set(window / 2.0);
        self.aimd.law.ssthresh = self.aimd.law.window;
    }

    fn grow(&mut self, feedback: &Feedback<'_>, unmarked: f64) {
        self.lone = false;
        if self.aimd.law.in_slow_start() {
            let after_timeout = feedback.recovery == Recovery::Timeout;
            self.aimd.law.slow_start(feedback.advanced, after_timeout);
            return;
        }
        let short = self.smoothed < self.reference && self.rounds_since >= ROUNDS_BEFORE;
        let scale = if short { self.smoothed.ratio(self.reference).powi(2) } else { 1.0 };
        let window = self.window();
        self.set(window + (scale * unmarked / window).min(unmarked));
    }
}

impl Controller for Prague {
    fn watches_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.smoothed = rtt.smoothed;
        }
        let bytes: f64 = feedback.acked.iter().map(|acked| acked.size.as_f64()).sum();
        let packets = bytes / self.aimd.law.segment();
        let first = !self.seen;
        self.measure(now, feedback, packets, cx);
        match feedback.event {
            // Marks are answered by their counts.
            Some(CongestionEvent::Ecn) | None => {}
            Some(event) => {
                self.lone |= matches!(event, CongestionEvent::Timeout { .. });
                self.on_event(event, feedback, cx);
                return;
            }
        }
        let marks = f64::from(feedback.echoes.ce);
        if marks > 0.0 {
            self.give_way(now, first);
        }
        let unmarked = (packets - marks).max(0.0);
        let repairing = feedback.recovery == Recovery::Fast;
        if unmarked > 0.0 && !repairing && feedback.window_limited && feedback.advanced > Bytes::ZERO {
            self.grow(feedback, unmarked);
        }
    }

    #[inline]
    fn directive(&self) -> Directive {
        let (window, segment) = (self.window(), self.aimd.law.segment());
        let least = if self.lone { 1.0 } else { LEAST_IN_FLIGHT };
        let whole = (window.ceil().max(least) * segment).min(self.most.max(segment));
        let plain = Directive::window(Bytes::new(whole as u64));
        if self.smoothed.is_zero() {
            return plain;
        }
        let law = &self.aimd.law;
        let haste = if law.window < law.ssthresh / 2.0 { 2.0 } else { 1.0 };
        let rate = (haste * window * segment / self.smoothed.as_secs_f64()).clamp(LEAST_RATE, 1e13);
        let depth = Bytes::new((rate * BURST) as u64);
        Directive {
            rate: Some(BitRate::from_bits_per_sec_f64(rate * 8.0)),
            burst: Burst { depth, tokens: Tokens::Constant },
            ..plain
        }
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Stream;

    use super::*;

    /// Marks count packets, and acknowledgements bytes: of small packets more may be marked than segments were acknowledged. The
    /// fraction is 1 at most, and moves alpha by a sixteenth of what it is off.
    #[test]
    fn no_more_than_all_is_marked() {
        let params = ControllerParams::unlimited(Bytes::new(1000), 10);
        for (marked, expected) in [(1.0, 0.484_375), (4.0, 0.531_25), (8.0, 0.531_25)] {
            let mut prague = Prague::new(&PragueConfig::default(), &params);
            (prague.alpha, prague.seen, prague.round_over) = (0.5, true, true);
            (prague.acked, prague.marked) = (4.0, marked);
            let now = Time::ZERO + Span::from_secs(1);
            prague.measure(
                now,
                &Feedback::empty(),
                0.0,
                &mut Cx { rng: &mut Stream::new(1, "prague"), notes: None },
            );
            assert_eq!(prague.alpha, expected, "{marked} of 4");
        }
    }
}
