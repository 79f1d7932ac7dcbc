//! Over-use of a path by the trend of delays: groups of packets, a line through the accumulated delay, and a threshold that
//! adapts. What follows from over-use is in `rate.rs`.
//!
//! Source: libwebrtc, `inter_arrival_delta`, `trendline_estimator` (2025). Times here are milliseconds.

use std::collections::VecDeque;

/// Packets that leave within this belong to one group; so do those that arrive within the second, while delay falls and the
/// group is younger than the third: they waited together.
const GROUP: f64 = 5.0;
const BURST: (f64, f64) = (5.0, 100.0);
/// Groups that arrive so much later than their reports tell are by another clock; after so many that arrive before the one
/// ahead of them all begins anew.
const OTHER_CLOCK: f64 = 3000.0;
const REORDERED: u32 = 3;
/// After so long without a packet all begins anew.
const SILENCE: f64 = 2000.0;
/// Groups that the line goes through.
const GROUPS: usize = 20;
/// The weight of history in the smoothed delay.
const HISTORY: f64 = 0.9;
/// The slope is multiplied by this and by the number of groups, at most so many.
const GAIN: f64 = 4.0;
const MOST_GROUPS: f64 = 60.0;
/// The threshold at first, its bounds, how fast it rises and falls per millisecond, and how far beyond it nothing moves it.
const THRESHOLD: f64 = 12.5;
const BOUNDS: (f64, f64) = (6.0, 600.0);
const UP: f64 = 0.0087;
const DOWN: f64 = 0.039;
const FAR: f64 = 15.0;
/// The longest time that one step of the threshold counts, and how long over-use must last.
const LONGEST_STEP: f64 = 100.0;
const LASTS: f64 = 10.0;

/// What the trend says of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Usage {
    /// Delay stays as it is.
    #[default]
    Normal,
    /// Delay grows.
    Over,
    /// Delay falls.
    Under,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    /// When its first packet left and arrived, its newest left, and its last arrived.
    began: f64,
    came: f64,
    sent: f64,
    arrived: f64,
    /// When its last packet was told of.
    told: f64,
}

impl Group {
    /// Whether a packet that left later belongs to it.
    fn holds(&self, sent: f64, arrived: f64) -> bool {
        let (left, came) = (sent - self.sent, arrived - self.arrived);
        let waited = came < left && came <= BURST.0 && arrived - self.came < BURST.1;
        left == 0.0 || waited || sent - self.began <= GROUP
    }
}

/// The estimator and the detector.
#[derive(Clone, Debug)]
pub(super) struct Trendline {
    group: Option<Group>,
    before: Option<Group>,
    reordered: u32,
    heard: Option<f64>,
    accumulated: f64,
    smoothed: f64,
    points: VecDeque<(f64, f64)>,
    groups: f64,
    trend: f64,
    threshold: f64,
    over_for: Option<f64>,
    over_groups: u32,
    moved: Option<f64>,
    usage: Usage,
}

impl Default for Trendline {
    fn default() -> Self {
        Self {
            group: None,
            before: None,
            reordered: 0,
            heard: None,
            accumulated: 0.0,
            smoothed: 0.0,
            points: VecDeque::with_capacity(GROUPS),
            groups: 0.0,
            trend: 0.0,
            threshold: THRESHOLD,
            over_for: None,
            over_groups: 0,
            moved: None,
            usage: Usage::Normal,
        }
    }
}

impl Trendline {
    /// A packet left at `sent` and arrived at `arrived`; it is `now`. In the order of arrival.
    pub(super) fn take(&mut self, now: f64, sent: f64, arrived: f64) {
        if self.heard.is_none_or(|heard| now - heard > SILENCE) {
            *self = Self::default();
        }
        self.heard = Some(now);
        let next = Group { began: sent, came: arrived, sent, arrived, told: now };
        let Some(mut group) = self.group else {
            self.group = Some(next);
            return;
        };
        // Who left before the group began was overtaken.
        if sent < group.began {
            return;
        }
        if group.holds(sent, arrived) {
            (group.sent, group.arrived, group.told) = (group.sent.max(sent), arrived, now);
            self.group = Some(group);
            return;
        }
        if let Some(before) = self.before {
            let delta = group.arrived - before.arrived;
            if delta - (group.told - before.told) >= OTHER_CLOCK {
                return self.forget_groups();
            }
            if delta < 0.0 {
                self.reordered += 1;
                if self.reordered >= REORDERED {
                    self.forget_groups();
                }
                return;
            }
            self.reordered = 0;
            self.update(delta, group.sent - before.sent, arrived);
        }
        self.before = Some(group);
        self.group = Some(next);
    }

    fn forget_groups(&mut self) {
        (self.group, self.before, self.reordered) = (None, None, 0);
    }

    /// What was found last.
    pub(super) const fn usage(&self) -> Usage {
        self.usage
    }

    /// The slope, scaled as it is compared with the threshold, and that.
    pub(super) fn compared(&self) -> (f64, f64) {
        (self.groups.min(MOST_GROUPS) * self.trend * GAIN, self.threshold)
    }

    /// A group is complete, for one whose first packet `arrived` has begun.
    fn update(&mut self, arrival_delta: f64, send_delta: f64, arrived: f64) {
        self.groups += 1.0;
        self.accumulated += arrival_delta - send_delta;
        self.smoothed = HISTORY * self.smoothed + (1.0 - HISTORY) * self.accumulated;
        if self.points.len() == GROUPS {
            self.points.pop_front();
        }
        self.points.push_back((arrived, self.smoothed));
        if self.groups < 2.0 {
            return;
        }
        let before = self.trend;
        if self.points.len() == GROUPS {
            self.trend = slope(&self.points).unwrap_or(before);
        }
        self.detect(send_delta, before);
        self.adapt(arrived);
    }

    fn detect(&mut self, send_delta: f64, before: f64) {
        let (scaled, threshold) = self.compared();
        if scaled.abs() <= threshold {
            (self.over_for, self.over_groups, self.usage) = (None, 0, Usage::Normal);
        } else if scaled < 0.0 {
            (self.over_for, self.over_groups, self.usage) = (None, 0, Usage::Under);
        } else {
            let over = self.over_for.map_or(send_delta / 2.0, |over| over + send_delta);
            (self.over_for, self.over_groups) = (Some(over), self.over_groups + 1);
            if over > LASTS && self.over_groups > 1 && self.trend >= before {
                (self.over_for, self.over_groups, self.usage) = (Some(0.0), 0, Usage::Over);
            }
        }
    }

    fn adapt(&mut self, arrived: f64) {
        let (scaled, threshold) = self.compared();
        let size = scaled.abs();
        let step = self.moved.map_or(0.0, |moved| (arrived - moved).min(LONGEST_STEP));
        self.moved = Some(arrived);
        if size <= threshold + FAR {
            let pace = if size < threshold { DOWN } else { UP };
            self.threshold = (threshold + pace * (size - threshold) * step).clamp(BOUNDS.0, BOUNDS.1);
        }
    }
}

/// The slope of the line of least squares; none where all points stand above one another.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (above, below) = points.iter().fold((0.0, 0.0), |(above, below), point| {
        (above + (point.0 - x) * (point.1 - y), below + (point.0 - x).powi(2))
    });
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often over-use is found within 5 s of a packet each 10 ms, sent that much faster than the path carries them.
    fn found(excess: f64) -> usize {
        let mut line = Trendline::default();
        (0..500)
            .filter(|step| {
                let sent = 10.0 * f64::from(*step);
                let arrived = 50.0 + sent * (1.0 + excess);
                line.take(arrived, sent, arrived);
                line.usage() == Usage::Over
            })
            .count()
    }

    /// Of an excess s the slope is s/(1 + s); 60 groups and the gain of 4 make the threshold of 2.5 %, once that has come down
    /// to 6.
    #[test]
    fn excess_above_the_threshold_is_over_use() {
        assert_eq!(found(0.0), 0);
        assert_eq!(found(0.02), 0);
        assert!(found(0.07) > 0);
        assert!(found(0.5) > 0);
    }

    /// Whether a steady excess is over-use at a threshold that does not move.
    fn trips(excess: f64, threshold: f64) -> bool {
        let mut line = Trendline::default();
        (0..500).any(|step| {
            let sent = 10.0 * f64::from(step);
            line.threshold = threshold;
            let arrived = 50.0 + sent * (1.0 + excess);
            line.take(arrived, sent, arrived);
            line.usage() == Usage::Over
        })
    }

    /// The slope of an excess s, s/(1 + s), counts 240 times. So the first threshold, 12.5, trips from a slope of 5.2 % on, an
    /// excess of 5.5 %; but where delay is calm the threshold comes down to 6, which trips from an excess of 2.6 % on.
    #[test]
    fn over_use_begins_where_slope_and_gain_exceed_the_threshold() {
        let first = Trendline::default().threshold;
        assert_eq!((trips(0.0545, first), trips(0.0555, first)), (false, true));
        assert_eq!((trips(0.0252, 6.0), trips(0.0262, 6.0)), (false, true));
        assert_eq!((found(0.0252) > 0, found(0.0262) > 0), (false, true), "as it moves by itself");
    }

    #[test]
    fn a_trend_that_stays_is_over_use_and_one_that_falls_is_not() {
        for (before, usage) in [(0.1, Usage::Over), (0.1_f64.next_up(), Usage::Normal)] {
            let mut line = Trendline {
                trend: 0.1,
                groups: MOST_GROUPS,
                over_for: Some(8.0),
                over_groups: 1,
                ..Trendline::default()
            };
            line.detect(5.0, before);
            assert_eq!(line.usage(), usage, "{before}");
        }
    }

    /// "After so many that arrive before the one ahead of them": in a row.
    #[test]
    fn a_group_in_order_ends_a_row_of_overtaken_ones() {
        let mut line = Trendline::default();
        for step in 0..4 {
            line.reordered = REORDERED - 1;
            let sent = 10.0 * f64::from(step);
            line.take(sent + 50.0, sent, sent + 50.0);
        }
        assert_eq!(line.reordered, 0);
    }

    #[test]
    fn a_queue_that_drains_is_under_use() {
        let mut line = Trendline::default();
        for step in 0..100 {
            let sent = 10.0 * f64::from(step);
            line.take(sent, sent, 500.0 + sent * 0.8);
        }
        assert_eq!(line.usage(), Usage::Under);
    }
}
