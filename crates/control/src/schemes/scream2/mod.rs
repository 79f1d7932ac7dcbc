//! SCReAM version 2: a reference window for media, which marks, loss and queueing delay reduce, and the media rate that fits
//! it. The scheme `scream2`. The delay and its target are in `delay.rs`, the window in `window.rs`; its receiver's reports are
//! those of `media/reports.rs`.
//!
//! Source: draft-johansson-ccwg-rfc8298bis-screamv2, now draft-ietf-ccwg-rfc8298bis-screamv2, as of August 2026 (after -01).
//! With W the reference window, q the queueing delay, T its target, `s = max(1, RTT/25 ms)`,
//! `n = clamp((8 (W - W_i)/W_i)², 0.1, 1)`, how far W is from where it last turned, `W_i`:
//!
//! | | |
//! | --- | --- |
//! | α, per 10 ms or round trip | rises by 1/8 of the way to the part of the packets that is marked, falls by 1/128 |
//! | loss | `W ← 0.7 W` |
//! | mark, L4S | `W ← W (1 - α/2s)`; less, down to a quarter of that, near `W_i` while `q < T/4` |
//! | mark, classic | `W ← 0.8 W` |
//! | delay | mimics marks: `W ← W (1 - α_v/2s)`, `α_v` from 0 to 1 as the mean of q goes from T/2 to T |
//! | growth per unmarked byte | `MSS/W · min(1, RTT/25 ms) · max(1/4, n) · (1 + 0.02 W/MSS · n · c)`, c from 0 to 1 in the 100 round trips after congestion |
//! | as long as | `W ≤ MSS + 1.5` times the most in flight in two round trips, and the rate is below its largest |
//! | media rate | `8 W/RTT · (1 - min(0.2, MSS/W - 0.1)) · MSS/(MSS + 20)/1.2` |
//! | pacing | 1.5 times that, up to 6 times near the largest rate |
//! | send window | `3 W`, beyond the newest packet that arrived, lost ones included |
//!
//! W is reduced at most once per `min(25 ms, RTT)`. Law: two marked packets per round trip, or fewer.
//!
//! What the draft leaves open or says twice, and what was decided: n is from `W_i` before the reduction that moves it, as in the
//! listing (the text has `W_i` moved before). "Last congestion" at time zero is taken for long ago. `MSS` is the flow's packet.
//! The target for competition is looked at once per round trip, and "the fraction of round trips with loss" is that of the
//! last 200. A round trip ends with a report, before the window is updated, and the next begins with what is then in flight. The
//! base delay is RFC 6817's, of ten minutes, and the present one the least of four. Marks of packets that arrive late shrink no
//! growth below zero.
//!
//! Departures of others: the authors' code has other constants (targets of 100 and 300 ms, 0.05 for 0.02, 200 round trips,
//! 0.9 for classic marks), so that it and the draft are two schemes.
//!
//! How often a receiver reports (the draft's "Receiver Requirements on Feedback Intensity") is the receiver's own rule there: 16
//! packets, the end of a frame, an interval. That more reports may help a rate that is not reached is said, but no request for
//! them, and reports are no acknowledgements: nothing is asked of the receiver ([`Needs::ack_requests`]).
//!
//! Deviations: a packet is lost when one three beyond it has arrived, not by a reordering window in time. A sender that has
//! used its send window goes on at 50 kbit/s, the least pacing rate: datagrams have no window, and a flow whose reports are
//! all lost must not stand still for ever. Of what the draft calls optional, competition and clock drift are here; the filter
//! of jitter, the thresholds for loss of links and policers, and the correction of undershoot are not. The rate is not lowered
//! for what waits at the sender nor for frames of varying size: coders here are told what waits.

mod delay;
mod window;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker, Cx, Directive, Sent, Span, Time};

use super::media::{ArrivalReports, MediaLaw, MediaSender, ReportPlan};
use crate::estimators::arrivals::Batch;
use crate::needs::{EcnMode, MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
use delay::Delay;
use window::{Signals, Window};

/// Parameters of SCReAM version 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scream2Config {
    /// The least media rate. The draft names none; default 150 kbit/s.
    pub min_rate: BitRate,
    /// The largest media rate. The draft names none; default 2.5 Mbit/s.
    pub max_rate: BitRate,
    /// `ect1` for L4S, whose marks are answered in proportion; with `ect0`, or where the flow's `ecn` is, a mark is answered as
    /// a classic one. Default `off`, as in the draft.
    pub ecn: EcnMode,
    /// Whether the target of the queueing delay, 60 ms, rises up to 400 ms where others fill the buffer. Default true.
    pub competitive: bool,
    /// The longest time between two reports, 10 ms to 1 s. Default 40 ms.
    pub report_interval: Span,
    /// A report leaves at once after so many packets, 1 to 1000, and after the last of a frame. Default 16.
    pub report_after: u32,
    /// How many packets of the last report each report tells of again. Default 32, as in the authors' code.
    pub report_overlap: u32,
    /// By how many parts in a million the receiver's clock runs fast (or, below 0, slow), -1000 to 1000. Default 0.
    pub clock_drift: f64,
}

impl Default for Scream2Config {
    fn default() -> Self {
        Self {
            min_rate: BitRate::from_bits_per_sec(150_000),
            max_rate: BitRate::from_bits_per_sec(2_500_000),
            ecn: EcnMode::Off,
            competitive: true,
            report_interval: Span::from_millis(40),
            report_after: 16,
            report_overlap: 32,
            clock_drift: 0.0,
        }
    }
}

// Constants of the draft, with its names; rates in bits per second.
const PACKET_OVERHEAD: f64 = 20.0;
const RATE_PACE_MIN: f64 = 50e3;
const PACKET_PACING_HEADROOM: f64 = 1.5;
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
/// `REF_WND_OVERHEAD_MAX`, which is in force where jitter is not filtered.
const REF_WND_OVERHEAD: f64 = 3.0;
/// The weight of a new round trip time (RFC 6298).
const ROUND_TRIP_GAIN: f64 = 1.0 / 8.0;

impl SchemeConfig for Scream2Config {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "scream2",
            summary: "A reference window for media that marks, loss and queueing delay reduce, and the rate that fits it",
            source: "draft-johansson-ccwg-rfc8298bis-screamv2",
            reliability: Reliability::Datagram,
            expects_discipline: "any; DualPI2 with ecn = \"ect1\"",
        }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn needs(&self) -> Needs {
        Needs { marks: MarkResponse::Controller, ecn: self.ecn, ..Needs::over(Reliability::Datagram) }
    }

    fn check(&self, checker: &mut Checker) {
        checker.require(self.min_rate > BitRate::ZERO, "min_rate", self.min_rate, "a rate above zero");
        let allowed = format!("at least {} (min_rate)", self.min_rate);
        checker.require(self.max_rate >= self.min_rate, "max_rate", self.max_rate, allowed);
        let after = self.report_after;
        checker.require((1..=1000).contains(&after), "report_after", after, "1 to 1000 packets");
        ReportPlan::check(checker, self.report_interval, self.report_overlap, self.clock_drift);
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        let plan = ReportPlan {
            after: Some(self.report_after),
            after_frames: true,
            ..ReportPlan::every(self.report_interval, self.report_overlap, self.clock_drift)
        };
        let law = Scream2::new(self, params.segment);
        let controller: BoxedController = Box::new(MediaSender::new(law));
        Parts::sender(controller).with_policy(Some(ArrivalReports::new(plan)))
    }
}

/// SCReAM's law. Rates are in bits per second, windows in bytes, times in seconds.
#[derive(Clone, Debug)]
pub struct Scream2 {
    lowest: f64,
    highest: f64,
    packet: f64,
    window: Window,
    delay: Delay,
    /// None before the first report.
    round_trip: Option<f64>,
    /// When the present round trip began, and whether it saw loss.
    round: Time,
    lossy: bool,
    /// Bytes sent beyond the newest packet that arrived, and the most of it in this round trip and the one before.
    ahead: f64,
    most_ahead: (f64, f64),
    target: f64,
}

impl Scream2 {
    /// A connection's start, with packets of `segment` bytes.
    pub fn new(config: &Scream2Config, segment: Bytes) -> Self {
        let lowest = config.min_rate.bits_per_sec() as f64;
        let packet = segment.as_f64().max(1.0);
        Self {
            lowest,
            highest: config.max_rate.bits_per_sec() as f64,
            packet,
            window: Window::new(packet, config.ecn == EcnMode::Ect1),
            delay: Delay::new(config.competitive),
            round_trip: None,
            round: Time::ZERO,
            lossy: false,
            ahead: 0.0,
            most_ahead: (0.0, 0.0),
            target: lowest,
        }
    }

    /// The smoothed round trip time with this batch.
    fn smooth(&mut self, news: &Batch) -> f64 {
        let sample = news.round_trip.map(|trip| trip.as_secs_f64().max(1e-6));
        let smoothed = match (self.round_trip, sample) {
            (Some(old), Some(sample)) => old + ROUND_TRIP_GAIN * (sample - old),
            (known, sample) => known.or(sample).unwrap_or(0.1),
        };
        self.round_trip = Some(smoothed);
        smoothed
    }

    fn end_round(&mut self, now: Time, round_trip: f64) {
        if now.since(self.round).as_secs_f64() < round_trip {
            return;
        }
        self.most_ahead = (self.ahead, self.most_ahead.0);
        self.delay.end_round(now, round_trip, self.lossy);
        (self.round, self.lossy) = (now, false);
    }

    /// The media rate that fits the window.
    fn media_rate(&self, now: Time, round_trip: f64) -> f64 {
        let window = self.window.bytes();
        let ratio = (self.packet / window).min(1.0);
        let kept =
            (1.0 - (ratio - 0.1).clamp(0.0, 0.2)) * self.packet / (self.packet + PACKET_OVERHEAD) / 1.2;
        let rate = kept * 8.0 * window / round_trip * self.delay.scale(now);
        rate.max(self.lowest).min(self.highest)
    }

    /// Whether so much is in flight that next to nothing may leave.
    fn is_far_ahead(&self) -> bool {
        self.ahead > REF_WND_OVERHEAD * self.window.bytes()
    }

    /// The pacing rate: relaxed as the media rate nears its largest, so that frames leave at once.
    fn pacing_rate(&self) -> f64 {
        if self.is_far_ahead() {
            return RATE_PACE_MIN;
        }
        let nominal = self.target / self.highest;
        let relaxed = (nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW);
        let scale = (1.0 - relaxed).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
        self.target.max(RATE_PACE_MIN) * PACKET_PACING_HEADROOM / scale
    }
}

impl MediaLaw for Scream2 {
    fn on_sent(&mut self, _: Time, _: &Sent, ahead: Bytes) -> bool {
        let before = self.is_far_ahead();
        self.ahead = ahead.as_f64();
        self.most_ahead.0 = self.most_ahead.0.max(self.ahead);
        self.is_far_ahead() != before
    }

    fn on_news(&mut self, now: Time, news: &Batch, cx: &mut Cx<'_>) {
        let round_trip = self.smooth(news);
        self.ahead = news.ahead.as_f64();
        self.lossy |= news.lost > 0;
        self.delay.take(now, news, round_trip);
        self.end_round(now, round_trip);
        let signals = Signals {
            round_trip,
            virtual_marks: self.delay.virtual_marks(),
            is_low: self.delay.is_low(),
            in_flight: self.most_ahead,
            may_grow: self.target < self.highest,
        };
        self.window.update(now, news, &signals);
        self.target = self.media_rate(now, round_trip);
        cx.note("reference_window", self.window.bytes());
        cx.note("alpha", self.window.alpha());
        cx.note("queueing_delay", self.delay.queueing());
        cx.note("target_delay", self.delay.target());
    }

    fn directive(&self) -> Directive {
        let rate = |bits: f64| BitRate::from_bits_per_sec_f64(bits.clamp(1e3, 1e14));
        Directive { media: Some(rate(self.target)), ..Directive::rate(rate(self.pacing_rate())) }
    }
}

#[cfg(test)]
mod tests;
