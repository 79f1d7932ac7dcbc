//! The queueing delay of SCReAM version 2, its mean and its target: how much delay is too much. What follows for the window is
//! in `window.rs`.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Detecting Increased Queue Delay", "Clock drift issues and remedies",
//! "Competing Flows Compensation"; the base delay is that of RFC 6817. Times are in seconds.

use std::collections::VecDeque;

use tailback_core::{OneWay, Span, Time};

use super::window::VIRTUAL_RTT;
use crate::estimators::QueueingDelay;
use crate::estimators::arrivals::Batch;

/// `QDELAY_TARGET_LO` and `QDELAY_TARGET_HI`.
const TARGETS: (f64, f64) = (0.060, 0.400);
/// `QDELAY_AVG_G`.
const RISE: f64 = 0.25;
/// `QDELAY_MIN_AVG_ALPHA`.
const LEAST_GAIN: f64 = 1.0 / 256.0;
/// How many round trips the target for competition looks back: for the variance and for loss, and for the mean.
const HISTORY: usize = 200;
const RECENT: usize = 50;
/// More lossy round trips than this part are another flow's doing.
const LOSSY: f64 = 0.002;
/// The variance below which the delay is steady.
const STEADY: f64 = 0.2;

/// Queueing delay and its target.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    filter: QueueingDelay,
    queueing: f64,
    average: f64,
    averaged: Time,
    target: f64,
    /// The least delay of this round trip, and the mean of these: what a drifting clock raises.
    least: f64,
    least_average: f64,
    /// Until then the media rate is halved, so that the base can be measured anew.
    halved_until: Time,
    /// Of each of the last round trips the delay over the lower target, and whether it was lossy. None where others are not
    /// competed with.
    history: Option<VecDeque<(f64, bool)>>,
}

impl Delay {
    pub(super) fn new(competitive: bool) -> Self {
        Self {
            filter: QueueingDelay::default(),
            queueing: 0.0,
            average: 0.0,
            averaged: Time::ZERO,
            target: TARGETS.0,
            least: f64::INFINITY,
            least_average: 0.0,
            halved_until: Time::ZERO,
            history: competitive.then(VecDeque::new),
        }
    }

    /// Takes the delays of a batch in.
    pub(super) fn take(&mut self, now: Time, news: &Batch, round_trip: f64) {
        for arrived in &news.arrived {
            if let Some(at) = arrived.at {
                let way = OneWay { sent_at: arrived.sent, arrived: at };
                self.filter.take(now, way.relative());
            }
        }
        self.queueing = self.filter.queueing().map_or(0.0, Span::as_secs_f64);
        self.least = self.least.min(self.queueing);
        if now.since(self.averaged).as_secs_f64() >= VIRTUAL_RTT.min(round_trip) {
            self.average = if self.queueing < self.average {
                self.queueing
            } else {
                RISE * self.queueing + (1.0 - RISE) * self.average
            };
            self.averaged = now;
        }
    }

    /// A round trip ended.
    pub(super) fn end_round(&mut self, now: Time, round_trip: f64, lossy: bool) {
        let least = std::mem::replace(&mut self.least, f64::INFINITY);
        if least.is_finite() {
            self.least_average += LEAST_GAIN * (least - self.least_average);
        }
        if self.least_average > self.target / 4.0 {
            self.least_average = 0.0;
            self.filter = QueueingDelay::default();
            self.halved_until = now + Span::from_secs_f64((5.0 * round_trip).clamp(0.2, 60.0));
        }
        self.compete(lossy);
    }

    /// Raises the target where others fill the buffer, and lowers it again.
    fn compete(&mut self, lossy: bool) {
        let Some(history) = &mut self.history else { return };
        if history.len() == HISTORY {
            history.pop_front();
        }
        history.push_back((self.queueing / TARGETS.0, lossy));
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            sum / f64::max(count, 1.0)
        };
        let all = mean(&mut history.iter().map(|(delay, _)| *delay));
        let variance = mean(&mut history.iter().map(|(delay, _)| (delay - all).powi(2)));
        let recent = mean(&mut history.iter().rev().take(RECENT).map(|(delay, _)| *delay));
        let losses = mean(&mut history.iter().map(|(_, lossy)| f64::from(u8::from(*lossy))));
        let wanted = (recent + variance.sqrt()) * TARGETS.0;
        let target = if losses > LOSSY {
            1.5 * wanted
        } else if variance < STEADY {
            wanted
        } else if wanted < TARGETS.0 {
            wanted.max(0.5 * self.target)
        } else {
            0.9 * self.target
        };
        self.target = target.clamp(TARGETS.0, TARGETS.1);
    }

    pub(super) const fn queueing(&self) -> f64 {
        self.queueing
    }

    pub(super) const fn target(&self) -> f64 {
        self.target
    }

    /// Whether the delay is that of an L4S queue, so that marks near the last turn may be answered by less.
    pub(super) fn is_low(&self) -> bool {
        self.queueing < 0.25 * self.target
    }

    /// What delay says in the place of marks: 0 up to half of the target, 1 from the target on.
    pub(super) fn virtual_marks(&self) -> f64 {
        let half = self.target / 2.0;
        ((self.average - half) / half).clamp(0.0, 1.0)
    }

    /// What the media rate is multiplied by.
    pub(super) fn scale(&self, now: Time) -> f64 {
        if now < self.halved_until { 0.5 } else { 1.0 }
    }
}
