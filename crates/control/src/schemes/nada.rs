//! NADA, network-assisted dynamic adaptation: a media rate steered by one congestion signal made of delay, loss and marks.
//! The scheme `nada`. Its receiver's reports are those of `media/reports.rs`.
//!
//! Source: RFC 8698, run at the sender (§5.2) on reports of arrivals (RFC 8888). Once per report, with q the queueing delay
//! (least of 15 one-way delays, less the least ever), p the smoothed ratios of lost and of marked packets, r the rate:
//!
//! | | |
//! | --- | --- |
//! | signal (eq. 1, 2) | `x = d + DMARK (p_mark/PMRREF)² + DLOSS (p_loss/PLRREF)²`, at most 500 ms |
//! | `d` | q; while losses are recent and `q > QTH`: `QTH exp(-λ (q - QTH)/QTH)` |
//! | "recent" | within 7 average loss intervals; over one more, d goes back to q in proportion |
//! | accelerated, while in the last 500 ms nothing was lost and no delay was QEPS above the least (eq. 3, 4) | `r ← max(r, (1 + γ) r_recv)`, `γ = min(1/2, QBOUND/(RTT + DELTA + DFILT))` |
//! | gradual, else (eq. 5 to 7) | `r ← r - κ (Δ/τ)(x_off/τ) r - κ η (x_diff/τ) r`, `x_off = x - PRIO XREF RMAX/r` |
//! | bounds | RMIN to RMAX |
//!
//! Law: at rest `x r = PRIO XREF RMAX`: with the defaults and without loss, 15 kbit wait at any rate.
//!
//! The last 500 ms are those before the newest arrival, by the receiver's clock, as if the receiver kept the window. A report tells
//! of one loss event at most, and the average loss interval is that of RFC 5348 with discounting, without the open interval:
//! with it seven of them never pass.
//!
//! Departures of others: ns3-rmcat is draft -05, has no marks, and takes 2²⁰ bits for a megabit; go-nada has γ at most 0.1.
//!
//! Deviations: after a silence Δ counts as τ at most, where the RFC has no bound: after some seconds one report would take the
//! rate to RMIN or RMAX. The shaping buffer of §5.2.2 (`BETA_V`, `BETA_S`) is the source's own: its coder is told what waits.
//! The base delay is the least ever, so a clock that drifts shows as delay or hides it (`clock_drift`). Silence changes
//! nothing: the RFC leaves it to circuit breakers (RFC 8083), which are a field of the transport.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Checker, Cx, Directive, Span, Time};

use super::media::{ArrivalReports, MediaLaw, MediaSender, ReportPlan};
use crate::estimators::arrivals::{Arrived, Batch};
use crate::estimators::{LossIntervals, LossIntervalsConfig};
use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};

/// Parameters of NADA; the constants of RFC 8698's figure 3 that are not here are as they stand there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NadaConfig {
    /// PRIO: the flow's weight among others. Above 0, at most 100; default 1.
    pub priority: f64,
    /// XREF: the queueing delay at rest when the rate is `max_rate`. Above 0 s, at most 1 s; default 10 ms.
    pub reference_delay: Span,
    /// RMIN: the least rate, and the first. Default 150 kbit/s.
    pub min_rate: BitRate,
    /// RMAX: the largest rate. Default 1.5 Mbit/s.
    pub max_rate: BitRate,
    /// DELTA: the time between two reports, 10 ms to 1 s. Default 100 ms.
    pub report_interval: Span,
    /// How many packets of the last report each report tells of again. Default 0.
    pub report_overlap: u32,
    /// By how many parts in a million the receiver's clock runs fast (or, below 0, slow), -1000 to 1000. Default 0.
    pub clock_drift: f64,
}

impl Default for NadaConfig {
    fn default() -> Self {
        Self {
            priority: 1.0,
            reference_delay: Span::from_millis(10),
            min_rate: BitRate::from_bits_per_sec(150_000),
            max_rate: BitRate::from_bits_per_sec(1_500_000),
            report_interval: Span::from_millis(100),
            report_overlap: 0,
            clock_drift: 0.0,
        }
    }
}

// Constants of RFC 8698, figure 3; times in seconds.
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 0.5;
/// LOGWIN.
const WINDOW: Span = Span::from_millis(500);
const QEPS: f64 = 0.010;
const DFILT: f64 = 0.120;
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 0.050;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 0.050;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const DLOSS: f64 = 0.010;
const DMARK: f64 = 0.002;
const ALPHA: f64 = 0.1;
/// The largest signal, as in ns3-rmcat.
const XMAX: f64 = 0.5;
/// Taps of the filter of one-way delays.
const TAPS: usize = 15;

impl SchemeConfig for NadaConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "nada",
            summary: "A media rate steered by one signal of delay, loss and marks",
            source: "RFC 8698",
            reliability: Reliability::Datagram,
            expects_discipline: "any",
        }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn needs(&self) -> Needs {
        Needs { marks: MarkResponse::Controller, ..Needs::over(Reliability::Datagram) }
    }

    fn check(&self, checker: &mut Checker) {
        let ok = self.priority > 0.0 && self.priority <= 100.0;
        checker.require(ok, "priority", self.priority, "above 0, at most 100");
        let reference = self.reference_delay;
        let ok = !reference.is_zero() && reference <= Span::from_secs(1);
        checker.require(ok, "reference_delay", reference, "above 0 s, at most 1 s");
        checker.require(self.min_rate > BitRate::ZERO, "min_rate", self.min_rate, "a rate above zero");
        let allowed = format!("at least {} (min_rate)", self.min_rate);
        checker.require(self.max_rate >= self.min_rate, "max_rate", self.max_rate, allowed);
        ReportPlan::check(checker, self.report_interval, self.report_overlap, self.clock_drift);
    }

    fn build(&self, _: &ControllerParams) -> Parts {
        let plan = ReportPlan::every(self.report_interval, self.report_overlap, self.clock_drift);
        let controller: BoxedController = Box::new(MediaSender::new(Nada::new(self)));
        Parts::sender(controller).with_policy(Some(ArrivalReports::new(plan)))
    }
}

/// A packet in the window.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// When it arrived, or its loss showed, by the receiver's clock.
    at: Time,
    bytes: f64,
    lost: bool,
    marked: bool,
    /// Its queueing delay, unfiltered.
    queueing: f64,
}

/// NADA's law. Rates are in bits per second.
#[derive(Clone, Debug)]
pub struct Nada {
    lowest: f64,
    highest: f64,
    /// PRIO XREF RMAX, in bits.
    aim: f64,
    interval: f64,
    rate: f64,
    /// The newest one-way delays, and the least ever.
    taps: VecDeque<f64>,
    base: f64,
    /// By the receiver's clock: reports may arrive late, and several at once.
    window: VecDeque<Seen>,
    newest: Time,
    round_trip: f64,
    loss: f64,
    marks: f64,
    intervals: LossIntervals,
    /// Packets since the last loss.
    since_loss: f64,
    signal: f64,
    updated: Option<Time>,
}

impl Nada {
    /// A connection's start.
    pub fn new(config: &NadaConfig) -> Self {
        let highest = config.max_rate.bits_per_sec() as f64;
        Self {
            lowest: config.min_rate.bits_per_sec() as f64,
            highest,
            aim: config.priority * config.reference_delay.as_secs_f64() * highest,
            interval: config.report_interval.as_secs_f64(),
            rate: config.min_rate.bits_per_sec() as f64,
            taps: VecDeque::with_capacity(TAPS),
            base: f64::INFINITY,
            window: VecDeque::new(),
            newest: Time::ZERO,
            round_trip: 0.0,
            loss: 0.0,
            marks: 0.0,
            intervals: LossIntervals::new(&LossIntervalsConfig::default()),
            since_loss: 0.0,
            signal: 0.0,
            updated: None,
        }
    }

    fn take(&mut self, batch: &Batch) {
        for arrived in &batch.arrived {
            self.since_loss += 1.0;
            if let (Some(at), Some(delay)) = (arrived.at, arrived.one_way()) {
                self.see(at, delay, arrived);
            }
        }
        if batch.lost > 0 {
            self.intervals.close(self.since_loss);
            self.since_loss = 0.0;
        }
        let lost = Seen { at: self.newest, bytes: 0.0, lost: true, marked: false, queueing: 0.0 };
        self.window.extend((0..batch.lost).map(|_| lost));
        if let Some(trip) = batch.round_trip {
            self.round_trip = trip.as_secs_f64();
        }
        let newest = self.newest;
        self.window.retain(|seen| newest.since(seen.at) < WINDOW);
    }

    fn see(&mut self, at: Time, delay: f64, arrived: &Arrived) {
        self.base = self.base.min(delay);
        if self.taps.len() == TAPS {
            self.taps.pop_front();
        }
        self.taps.push_back(delay);
        self.newest = self.newest.max(at);
        let (bytes, queueing) = (arrived.size.as_f64(), delay - self.base);
        self.window.push_back(Seen { at, bytes, lost: false, marked: arrived.marked, queueing });
    }

    /// The filtered queueing delay.
    fn queueing(&self) -> f64 {
        let least = self.taps.iter().copied().fold(f64::INFINITY, f64::min);
        if least.is_finite() { (least - self.base).max(0.0) } else { 0.0 }
    }

    /// Equation 1, and when it is in force.
    fn delay_part(&self) -> f64 {
        let queueing = self.queueing();
        if self.intervals.is_empty() || queueing <= QTH {
            return queueing;
        }
        let warped = QTH * (-LAMBDA * (queueing - QTH) / QTH).exp();
        let age = self.since_loss / self.intervals.mean(0.0).unwrap_or(1.0).max(1.0) - MULTILOSS;
        warped + age.clamp(0.0, 1.0) * (queueing - warped)
    }

    /// Equation 2; the ratios are smoothed once per report.
    fn update_signal(&mut self) {
        let count = |of: fn(&&Seen) -> bool| self.window.iter().filter(of).count() as f64;
        let (all, lost, marked) =
            (self.window.len() as f64, count(|seen| seen.lost), count(|seen| seen.marked));
        if all > 0.0 {
            self.loss += ALPHA * (lost / all - self.loss);
            self.marks += ALPHA * (marked / all - self.marks);
        }
        let penalty = DMARK * (self.marks / PMRREF).powi(2) + DLOSS * (self.loss / PLRREF).powi(2);
        self.signal = (self.delay_part() + penalty).min(XMAX);
    }

    /// Bits per second that arrived in the window.
    fn received(&self) -> f64 {
        8.0 * self.window.iter().map(|seen| seen.bytes).sum::<f64>() / WINDOW.as_secs_f64()
    }

    fn update(&mut self, now: Time, cx: &mut Cx<'_>) {
        let before = self.signal;
        self.update_signal();
        let elapsed = self.updated.map_or(self.interval, |last| now.since(last).as_secs_f64()).min(TAU);
        self.updated = Some(now);
        let calm = self.window.iter().all(|seen| !seen.lost && seen.queueing < QEPS);
        if calm {
            let gamma = (QBOUND / (self.round_trip + self.interval + DFILT)).min(GAMMA_MAX);
            self.rate = self.rate.max((1.0 + gamma) * self.received());
        } else {
            let offset = self.signal - self.aim / self.rate;
            let change = self.signal - before;
            self.rate -= KAPPA * self.rate * (elapsed / TAU * offset / TAU + ETA * change / TAU);
        }
        self.rate = self.rate.clamp(self.lowest, self.highest);
        cx.note("signal", self.signal);
        cx.note("queueing_delay", self.queueing());
        cx.note("reference_rate", self.rate);
    }
}

impl MediaLaw for Nada {
    fn on_news(&mut self, now: Time, news: &Batch, cx: &mut Cx<'_>) {
        self.take(news);
        self.update(now, cx);
    }

    fn directive(&self) -> Directive {
        Directive::rate(BitRate::from_bits_per_sec_f64(self.rate.max(1e3)))
    }
}
