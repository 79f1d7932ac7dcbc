//! The trend of one-way delays, and whether it shows over-use, in the second writing of GCC.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Usage {
    Normal,
    Over,
    Under,
}

/// Times of a group of packets in milliseconds.
#[derive(Clone, Copy)]
struct Group {
    first_sent: f64,
    sent: f64,
    first_came: f64,
    came: f64,
    system: f64,
}

pub(super) struct Trend {
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
    pub(super) deltas: u32,
    first_came: Option<f64>,
    accumulated: f64,
    smoothed: f64,
    line: VecDeque<(f64, f64)>,
    pub(super) threshold: f64,
    updated: Option<f64>,
    pub(super) slope: f64,
    over_for: Option<f64>,
    over_count: u32,
    pub(super) usage: Usage,
    last_seen: Option<f64>,
}

impl Trend {
    pub(super) fn new() -> Self {
        Self {
            current: None,
            previous: None,
            reordered: 0,
            deltas: 0,
            first_came: None,
            accumulated: 0.0,
            smoothed: 0.0,
            line: VecDeque::new(),
            threshold: 12.5,
            updated: None,
            slope: 0.0,
            over_for: None,
            over_count: 0,
            usage: Usage::Normal,
            last_seen: None,
        }
    }

    /// A packet, in order of arrival.
    pub(super) fn packet(&mut self, now: f64, sent: f64, came: f64) {
        if self.last_seen.is_none_or(|seen| now - seen > 2000.0) {
            *self = Self::new();
        }
        self.last_seen = Some(now);
        if let Some((came_delta, sent_delta)) = self.deltas(now, sent, came) {
            self.update(came_delta, sent_delta, came);
        }
    }

    fn deltas(&mut self, now: f64, sent: f64, came: f64) -> Option<(f64, f64)> {
        let fresh = Group { first_sent: sent, sent, first_came: came, came, system: now };
        let Some(mut current) = self.current else {
            self.current = Some(fresh);
            return None;
        };
        if current.first_sent > sent {
            return None;
        }
        let (sent_delta, came_delta) = (sent - current.sent, came - current.came);
        let bursts = sent_delta == 0.0
            || (came_delta < sent_delta && came_delta <= 5.0 && came - current.first_came < 100.0);
        if bursts || sent - current.first_sent <= 5.0 {
            current.sent = current.sent.max(sent);
            (current.came, current.system) = (came, now);
            self.current = Some(current);
            return None;
        }
        let mut found = None;
        if let Some(previous) = self.previous {
            let deltas = (current.came - previous.came, current.sent - previous.sent);
            if deltas.0 - (current.system - previous.system) >= 3000.0 {
                (self.current, self.previous, self.reordered) = (None, None, 0);
                return None;
            }
            if deltas.0 < 0.0 {
                self.reordered += 1;
                if self.reordered >= 3 {
                    (self.current, self.previous, self.reordered) = (None, None, 0);
                }
                return None;
            }
            self.reordered = 0;
            found = Some(deltas);
        }
        self.previous = Some(current);
        self.current = Some(fresh);
        found
    }

    fn fit(&self) -> Option<f64> {
        let n = self.line.len() as f64;
        let x_mean = self.line.iter().map(|(x, _)| x).sum::<f64>() / n;
        let y_mean = self.line.iter().map(|(_, y)| y).sum::<f64>() / n;
        let products = self.line.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum::<f64>();
        let squares = self.line.iter().map(|(x, _)| (x - x_mean).powi(2)).sum::<f64>();
        (squares > 0.0).then(|| products / squares)
    }

    fn update(&mut self, came_delta: f64, sent_delta: f64, came: f64) {
        self.deltas = (self.deltas + 1).min(1000);
        let first = *self.first_came.get_or_insert(came);
        self.accumulated += came_delta - sent_delta;
        self.smoothed = 0.9 * self.smoothed + 0.1 * self.accumulated;
        self.line.push_back((came - first, self.smoothed));
        if self.line.len() > 20 {
            self.line.pop_front();
        }
        let trend = if self.line.len() == 20 { self.fit().unwrap_or(self.slope) } else { self.slope };
        if self.deltas < 2 {
            self.usage = Usage::Normal;
            return;
        }
        let modified = f64::from(self.deltas.min(60)) * trend * 4.0;
        if modified > self.threshold {
            self.over_for = Some(self.over_for.map_or(sent_delta / 2.0, |over| over + sent_delta));
            self.over_count += 1;
            if self.over_for > Some(10.0) && self.over_count > 1 && trend >= self.slope {
                self.over_for = Some(0.0);
                self.over_count = 0;
                self.usage = Usage::Over;
            }
        } else {
            self.over_for = None;
            self.over_count = 0;
            self.usage = if modified < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.slope = trend;
        self.adapt(modified.abs(), came);
    }

    fn adapt(&mut self, modified: f64, came: f64) {
        let last = self.updated.replace(came).unwrap_or(came);
        if modified > self.threshold + 15.0 {
            return;
        }
        let k = if modified < self.threshold { 0.039 } else { 0.0087 };
        let step = (came - last).min(100.0);
        self.threshold = (self.threshold + k * (modified - self.threshold) * step).clamp(6.0, 600.0);
    }
}
