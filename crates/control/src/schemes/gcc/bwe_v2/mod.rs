//! The rate that loss allows, by the path that explains the observed loss best: candidates for its bandwidth, bounds, and
//! when the rate is held, rises and falls. How well a path explains what was observed is in `observations.rs`.
//!
//! Source: libwebrtc, `loss_based_bwe_v2` (June 2025), with its defaults. Rates are bits per second, times whole microseconds.
//!
//! | | |
//! | --- | --- |
//! | candidates for the bandwidth | 1.02, 1 and 0.95 of the last; the rate of arrivals; delay's rate, where it is higher |
//! | inherent loss of each | after a step of Newton's method; 0.001 to `0.05 + 100 kbit/s over the bandwidth` |
//! | the best | has the largest `J` (`observations.rs`); it is no increase while the mean loss is above its inherent loss |
//! | bounds of an increase | 1.3 of the bandwidth at the start of each 300 ms; `1.5 arrivals`, and `1.2 arrivals` near the rate held last |
//! | bounds of the rate | at least the rate of arrivals; at most delay's, and `100 kbit/s/(m − 0.05)` for a mean loss `m` |
//! | increasing | the rate rises, or rose within 2 s, below delay's; what the application leaves of it is padded (`mod.rs` above) |
//! | decreasing | otherwise, below delay's; first the rate does not rise for 300 ms, the next times for twice as long, at most 60 s |
//! | else | delay's rate is in force, and the next hold lasts 300 ms again |
//!
//! Laws: random loss of up to 5 % does not stop the rate. More stops it at `100 kbit/s/(m − 0.05)` or below: 2 Mbit/s at 10 %.
//! No decrease goes below what arrives.
//!
//! Open problems: after a reset the inherent loss grows by at most 1.75 times per observation, and until it is found, random
//! loss is taken for congestion; the holds after that grow longer, as long as delay's part does not take over. Over a path that
//! loses 10, 15 and 20 % of all and carries everything else, the source's own code has 1.5 Mbit/s, 0.6 and 0.05 in the second
//! half of five minutes (one run each); this follows it state by state.
//!
//! Deviations: before the third observation delay's rate alone is in force, not the older loss part. A packet is lost
//! where three beyond it arrived, and does not turn into one that arrived late. Fields that are without effect by default
//! (the growth that accelerates, the smoothed sending rate, the candidate at the upper bound) are left out.

mod observations;

use super::heard::Heard;
use observations::{Channel, ENOUGH, Observations, Told};

/// Candidates, as parts of the last bandwidth.
const FACTORS: [f64; 3] = [1.02, 1.0, 0.95];
/// The inherent loss at first, its least value, and its largest: a part, and a rate over the bandwidth.
const INHERENT: f64 = 0.01;
const LEAST_INHERENT: f64 = 1e-3;
const MOST_INHERENT: (f64, f64) = (0.05, 100e3);
/// The largest rate at a mean loss: a rate over the loss beyond this part.
const MOST_RATE: (f64, f64) = (0.05, 100e3);
/// The largest growth within a window, its length, and the least bound that it sets.
const GROWTH: f64 = 1.3;
const GROWTH_WINDOW: f64 = 300e3;
const LEAST_BOUND: f64 = 5e3;
/// An increase goes to so many times the rate of arrivals, or to so many while that is below the third times the held rate.
const AHEAD: f64 = 1.5;
const AHEAD_NEAR_HELD: f64 = 1.2;
const NEAR_HELD: f64 = 1.3;
/// How long the rate is held, at first and at most, and how much longer each time.
const HOLD: f64 = 300e3;
const LONGEST_HOLD: f64 = 60e6;
const LONGER: f64 = 2.0;
/// An increase goes on for so long after the last rise.
const RISING: f64 = 2e6;

/// Which part decides the rate, and where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Delay's part.
    #[default]
    Delay,
    /// Loss's part, after it fell.
    Decreasing,
    /// Loss's part, and it rises.
    Increasing,
}

/// A rate that is not exceeded for a while after a decrease.
#[derive(Clone, Copy, Debug)]
struct Hold {
    until: f64,
    /// Of the next one.
    lasts: f64,
    rate: f64,
}

impl Hold {
    const NONE: Self = Self { until: f64::NEG_INFINITY, lasts: HOLD, rate: f64::INFINITY };
}

/// The estimator.
#[derive(Clone, Debug)]
pub(super) struct BweV2 {
    bounds: (f64, f64),
    window: Observations,
    best: Option<Channel>,
    rate: f64,
    state: State,
    hold: Hold,
    /// When an increase last rose, and to where.
    rose: Option<(f64, f64)>,
    /// When the window of growth began, and its bound.
    growth: Option<(f64, f64)>,
    arriving: Option<f64>,
}

impl BweV2 {
    pub(super) fn new(bounds: (f64, f64)) -> Self {
        Self {
            bounds,
            window: Observations::default(),
            best: None,
            rate: f64::INFINITY,
            state: State::Delay,
            hold: Hold::NONE,
            rose: None,
            growth: None,
            arriving: None,
        }
    }

    /// The largest rate by loss; infinite where there are too few observations.
    pub(super) fn cap(&self) -> f64 {
        if self.window.count() >= ENOUGH { self.rate } else { f64::INFINITY }
    }

    /// Which part decides: delay's, where there are too few observations.
    pub(super) fn state(&self) -> State {
        if self.window.count() >= ENOUGH { self.state } else { State::Delay }
    }

    /// The inherent loss of the path that explains best.
    pub(super) fn inherent(&self) -> f64 {
        self.best.map_or(INHERENT, |best| best.inherent)
    }

    /// A report.
    pub(super) fn take(&mut self, heard: &Heard) {
        self.arriving = heard.arriving.or(self.arriving);
        let micros = |seconds: f64| (seconds * 1e6).round();
        let sent = (micros(heard.sent.0), micros(heard.sent.1));
        let told = Told { sent, kept: heard.kept / 1e3, lost: heard.lost / 1e3 };
        if !self.window.take(&told) {
            return;
        }
        let before = *self.best.get_or_insert(Channel { bandwidth: heard.delay_rate, inherent: INHERENT });
        if self.rate.is_infinite() {
            self.rate = heard.delay_rate;
        }
        let mut best = self.choose(before, heard);
        self.bound_increase(before, &mut best);
        let rate = best.bandwidth.min(self.most()).min(heard.delay_rate).max(self.least());
        // A path that the bounds forbid is forgotten, with its inherent loss.
        self.best = Some(if rate < best.bandwidth {
            Channel { bandwidth: rate, inherent: 0.0 }
        } else {
            Channel { bandwidth: best.bandwidth.max(self.least()), ..best }
        });
        let held = self.state == State::Decreasing && self.hold.until > self.window.until();
        if held && rate < heard.delay_rate {
            self.hold.rate = self.hold.rate.max(self.least());
            self.rate = rate.min(self.hold.rate);
        } else {
            self.enter(rate, heard.delay_rate);
        }
    }

    /// At least what arrives.
    fn least(&self) -> f64 {
        self.arriving.unwrap_or(0.0).max(self.bounds.0)
    }

    /// What the mean loss allows at most.
    fn most(&self) -> f64 {
        let beyond = self.window.mean_loss() - MOST_RATE.0;
        if beyond > 0.0 { MOST_RATE.1 / beyond } else { self.bounds.1 }
    }

    /// The inherent loss that a channel may have.
    fn feasible(channel: Channel) -> Channel {
        let most = (MOST_INHERENT.0 + MOST_INHERENT.1 / channel.bandwidth.max(1.0)).min(1.0);
        Channel { inherent: channel.inherent.max(LEAST_INHERENT).min(most), ..channel }
    }

    /// Candidates for the bandwidth. While the application limits what is sent, arrivals say little of the path.
    fn candidates(&self, before: Channel, heard: &Heard) -> impl Iterator<Item = Channel> {
        let bound = match self.growth {
            Some((_, bound)) if self.state != State::Delay => bound,
            _ => self.bounds.1,
        };
        let rising = self.rose.is_some_and(|(at, _)| at + RISING >= self.window.until());
        let arriving = self.arriving.filter(|_| !heard.limited || rising);
        let delay = Some(heard.delay_rate).filter(|delay| *delay > before.bandwidth);
        let bandwidths = FACTORS.map(|factor| Some(factor * before.bandwidth)).into_iter();
        let most = bound.max(before.bandwidth);
        let channel = move |bandwidth: f64| Channel { bandwidth: bandwidth.min(most), ..before };
        bandwidths.chain([arriving, delay]).flatten().map(channel)
    }

    /// The candidate that explains best.
    fn choose(&self, before: Channel, heard: &Heard) -> Channel {
        let (mut best, mut most) = (before, f64::NEG_INFINITY);
        for candidate in self.candidates(before, heard) {
            let start = Self::feasible(candidate);
            let channel = Self::feasible(Channel { inherent: self.window.step(&start), ..start });
            let value = self.window.objective(&channel);
            if value > most {
                (best, most) = (channel, value);
            }
        }
        if self.window.mean_loss() > best.inherent {
            best.bandwidth = best.bandwidth.min(before.bandwidth);
        }
        best
    }

    /// While loss decides, the bandwidth grows by steps.
    fn bound_increase(&self, before: Channel, best: &mut Channel) {
        if self.state == State::Delay {
            return;
        }
        if let Some((since, bound)) = self.growth
            && since + GROWTH_WINDOW > self.window.until()
        {
            best.bandwidth = best.bandwidth.min(bound);
        }
        let Some(arriving) = self.arriving.filter(|_| self.rises(before.bandwidth, best.bandwidth)) else {
            return;
        };
        let near = self.hold.rate.is_finite() && arriving < NEAR_HELD * self.hold.rate;
        let ahead = if near { AHEAD_NEAR_HELD } else { AHEAD };
        best.bandwidth = best.bandwidth.min(ahead * arriving).max(before.bandwidth);
        if self.state == State::Decreasing && best.bandwidth <= before.bandwidth {
            // So little counts as a rise, and ends the decrease.
            best.bandwidth = before.bandwidth + 1.0;
        }
    }

    /// Whether going from one rate to another is an increase by loss's part; staying goes on with one.
    fn rises(&self, from: f64, to: f64) -> bool {
        from < to && self.state != State::Delay || from <= to && self.state == State::Increasing
    }

    /// Takes the rate and the state that it means.
    fn enter(&mut self, rate: f64, delay_rate: f64) {
        let now = self.window.until();
        let lasts = self.rose.is_none_or(|(at, rose)| at + RISING >= now || rose < rate);
        let goes_on = self.state != State::Increasing || lasts;
        if rate >= delay_rate || rate >= self.bounds.1 {
            (self.hold, self.rose, self.state) = (Hold::NONE, None, State::Delay);
        } else if self.rises(self.rate, rate) && goes_on {
            if self.rose.is_none_or(|(_, rose)| rate > rose) {
                self.rose = Some((now, rate));
            }
            self.state = State::Increasing;
        } else {
            if self.state != State::Decreasing {
                let lasts = self.hold.lasts;
                self.hold = Hold { until: now + lasts, lasts: (lasts * LONGER).min(LONGEST_HOLD), rate };
            }
            (self.rose, self.state) = (None, State::Decreasing);
        }
        self.rate = rate;
        let over = self.growth.is_none_or(|(since, _)| since + GROWTH_WINDOW < now);
        if self.state != State::Delay && over {
            let bandwidth = self.best.map_or(rate, |best| best.bandwidth);
            self.growth = Some((now, (GROWTH * bandwidth).max(LEAST_BOUND)));
        }
    }
}

#[cfg(test)]
mod tests;
