//! Copa: a rate that steers towards the inverse of the queueing delay, and a mode that competes with flows that fill
//! buffers. The scheme `copa`.
//!
//! Source: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018, §2, in the
//! authors' corrected web version; what the paper leaves open as in their code (genericCC, 2021), except for the velocity.
//! With `RTTmin` over max(10 s, 20 RTTmin), `RTTstanding` over half a smoothed round trip, `d_q = RTTstanding − RTTmin`:
//!
//! | | |
//! | --- | --- |
//! | target rate | `λ = 1/(δ d_q)`, without limit where `d_q = 0`; the present one is `cwnd/RTTstanding` |
//! | per segment acknowledged | `cwnd ± v/(δ cwnd)` towards the target, never below 2 |
//! | velocity | doubles each round trip once three in a row went one way; 1 when the way changes |
//! | slow start | doubles per round trip until the rate is above the target |
//! | pacing | `2 cwnd/RTTstanding` |
//! | default mode | `δ = 1/2`; loss is ignored |
//! | competitive mode | `1/δ + 1` per round trip, halved (not below 2) by a loss, at most once per recovery |
//! | mode | competitive, when no queueing delay of the last 5 round trips was below a tenth of the largest of the last 4 |
//!
//! Laws: N flows queue 1.25 N/δ packets on average, at most 2.5 N/δ, and empty the queue every 5 round trips (§3).
//!
//! The queue empties but just, for the time of a packet or so, and a tenth of its swing is less than a packet where N is
//! small: round trip times cannot tell that from nothing. So a delay below one segment's time at the flow's own rate counts
//! as nearly empty, too. Without this, a single flow takes its own queue for another's, competes with itself, and two of
//! them keep any buffer full.
//!
//! Open problems: flows that once compete all raise 1/δ, lose at different times, and then may never empty the queue
//! together; RTTmin is forgotten after 10 s, and the standing queue is taken for the path. Here that happens to three
//! flows and more that come one after the other to a path of 33 packets. Without `competitive` the laws hold for four; eight
//! keep 33 packets, where the law has 20. It is not the velocity alone: with genericCC's, which doubles at once where two
//! thirds of a round trip's acknowledgements point one way, three flows kept a full queue in two of four patterns of starts
//! instead of in three, and four flows still did; so did a memory of 10 round trips for the mode.
//!
//! Departures of others: mvfst has δ = 0.05 and no competitive mode; tquic δ = 0.04, and a competitive mode that doubles δ;
//! genericCC caps the velocity and cuts the window at high loss, which the paper does not.
//!
//! Deviations: the window does not grow where the application limits the sender. A time-out leaves one segment and ends
//! slow start; while it is repaired, of which nothing can be timed, the window doubles per round trip to half of what it
//! was (RFC 5681 §3.1). Data is not ECN-capable.
//!
//! Decided here: nothing but an acknowledgement that can be timed moves the window or ends a round trip for velocity and
//! mode; one that answers a retransmission cannot. The direction is that of the window over a round trip, up where it stayed;
//! it also turns at once, with a velocity of 1, where the velocity was higher and the target lies the other way, as in mvfst.
//! The mode is chosen once per round trip, and 1/δ grows from the second in which it competes on, in recovery too. What has
//! left the memory of RTTstanding or of the largest delay does not come back where the smoothed round trip time grows. After
//! a pause the window is at most the initial one. A time-out that proves spurious is not taken back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    BitRate, Bytes, Checker, CongestionEvent, Controller, Cx, Directive, Feedback, Recovery, RttSample, Span,
    Time,
};

use crate::estimators::{WindowedMax, WindowedMin};
use crate::laws::Rounds;
use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};

/// Parameters of Copa.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CopaConfig {
    /// δ of the default mode: the flow keeps about 1.25/δ packets queued. Above 0, at most 10; default 0.5.
    pub delta: f64,
    /// Whether it competes with flows that fill buffers. Default true.
    pub competitive: bool,
}

impl Default for CopaConfig {
    fn default() -> Self {
        Self { delta: 0.5, competitive: true }
    }
}

/// The least window, in segments.
const LEAST: f64 = 2.0;
/// How long `RTTmin` remembers, at least, and in round trips.
const MEMORY: Span = Span::from_secs(10);
const MEMORY_TRIPS: u64 = 20;
/// Round trips within which the queue must have been nearly empty.
const EMPTY_WITHIN: u64 = 5;
/// The part of the largest queueing delay that is "nearly empty".
const NEARLY_EMPTY: f64 = 0.1;

impl SchemeConfig for CopaConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "copa",
            summary: "A rate that steers towards the inverse of the queueing delay, with a mode for competition",
            source: "Arun and Balakrishnan, NSDI 2018",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn needs(&self) -> Needs {
        Needs { marks: MarkResponse::Controller, ..Needs::over(Reliability::Sack) }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn held(&self, segment: Bytes) -> Option<f64> {
        Some(1.25 / self.delta * segment.as_f64())
    }

    fn check(&self, checker: &mut Checker) {
        let ok = self.delta > 0.0 && self.delta <= 10.0;
        checker.require(ok, "delta", self.delta, "above 0, at most 10");
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(Copa::new(self, params)))
    }
}

/// Which way a window goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// What round trip times say; in seconds.
#[derive(Clone, Debug, Default)]
struct Delays {
    least: WindowedMin,
    standing: WindowedMin,
    most: WindowedMax,
    /// When the queue was last seen nearly empty.
    empty_at: Time,
}

impl Delays {
    /// Takes a round trip time in, at a window of so many segments.
    fn take(&mut self, now: Time, rtt: &RttSample, window: f64) {
        let (at, value) = (now.as_nanos(), rtt.latest.as_secs_f64());
        let since = |span: Span| at.saturating_sub(span.as_nanos());
        let least = Span::from_secs_f64(self.least.get().unwrap_or(value));
        self.least.take(at, since(MEMORY.max(least * MEMORY_TRIPS)), value);
        self.standing.take(at, since(rtt.smoothed / 2), value);
        self.most.take(at, since(rtt.smoothed * 4), value);
        let (least, most) = (self.least.get().unwrap_or(value), self.most.get().unwrap_or(value));
        // What the flow sends in one segment's time cannot be told from nothing.
        let grain = self.standing().unwrap_or(value) / window.max(1.0);
        if value <= least + (NEARLY_EMPTY * (most - least)).max(grain) {
            self.empty_at = now;
        }
    }

    fn standing(&self) -> Option<f64> {
        self.standing.get()
    }

    fn queueing(&self) -> f64 {
        self.standing.get().unwrap_or(0.0) - self.least.get().unwrap_or(0.0)
    }
}

/// Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    config: CopaConfig,
    segment: f64,
    initial: f64,
    most: f64,
    /// In segments.
    window: f64,
    delays: Delays,
    rounds: Rounds,
    slow_start: bool,
    velocity: f64,
    way: Way,
    /// Round trips that went this way.
    rounds_that_way: u32,
    /// The window a round trip ago.
    before: f64,
    /// How far the window grows while a time-out is repaired.
    repaired_to: f64,
    competing: bool,
    /// 1/δ in force.
    weight: f64,
}

impl Copa {
    /// A connection's start.
    pub fn new(config: &CopaConfig, params: &ControllerParams) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        let most = (params.max_window.as_f64() / segment).max(1.0);
        let initial = (params.initial_window.as_f64() / segment).clamp(1.0, most);
        Self {
            config: config.clone(),
            segment,
            initial,
            most,
            window: initial,
            delays: Delays::default(),
            rounds: Rounds::default(),
            slow_start: true,
            velocity: 1.0,
            way: Way::Up,
            rounds_that_way: 0,
            before: initial,
            repaired_to: initial,
            competing: false,
            weight: 1.0 / config.delta,
        }
    }

    fn set(&mut self, window: f64) {
        self.window = window.clamp(LEAST.min(self.most), self.most);
    }

    /// Whether the present rate is at or below the target, so that the window goes up.
    fn is_below_target(&self) -> bool {
        let (queueing, Some(standing)) = (self.delays.queueing(), self.delays.standing()) else {
            return true;
        };
        // cwnd/standing ≤ 1/(δ d_q), without dividing by a queue that is not there.
        self.window * queueing <= self.weight * standing
    }

    fn end_round(&mut self, now: Time, smoothed: Span) {
        let way = if self.window >= self.before { Way::Up } else { Way::Down };
        if way == self.way {
            self.rounds_that_way += 1;
            if self.rounds_that_way >= 3 {
                self.velocity = (self.velocity * 2.0).min(65_536.0);
            }
        } else {
            self.turn(way);
        }
        self.before = self.window;
        self.choose_mode(now, smoothed);
    }

    fn turn(&mut self, way: Way) {
        (self.way, self.velocity, self.rounds_that_way) = (way, 1.0, 0);
    }

    fn choose_mode(&mut self, now: Time, smoothed: Span) {
        let emptied = now.since(self.delays.empty_at) < smoothed * EMPTY_WITHIN;
        let competing = self.config.competitive && !emptied;
        if competing && self.competing {
            self.weight += 1.0;
        } else {
            self.weight = 1.0 / self.config.delta;
        }
        self.competing = competing;
    }

    fn steer(&mut self, segments: f64, may_grow: bool) {
        let below = self.is_below_target();
        if self.slow_start {
            if below {
                if may_grow {
                    self.set(self.window + segments);
                }
                return;
            }
            self.slow_start = false;
            self.turn(Way::Down);
        }
        let step = segments * self.weight / self.window;
        let way = if below { Way::Up } else { Way::Down };
        if way != self.way && self.velocity > 1.0 {
            self.turn(way);
        }
        match way {
            Way::Up if may_grow => self.set(self.window + step * self.velocity),
            Way::Up => {}
            Way::Down => self.set(self.window - step * self.velocity),
        }
    }

    fn on_event(&mut self, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss if self.competing => {
                self.weight = (self.weight / 2.0).max(1.0 / self.config.delta);
            }
            CongestionEvent::Timeout { consecutive } => {
                if consecutive == 1 {
                    self.repaired_to = (self.window / 2.0).max(LEAST);
                }
                self.slow_start = false;
                self.turn(Way::Up);
                self.window = 1.0;
            }
            CongestionEvent::Idle => self.window = self.window.min(self.initial),
            _ => {}
        }
    }
}

impl Controller for Copa {
    fn watches_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(event) = feedback.event {
            self.on_event(event);
        }
        let ended = self.rounds.end(feedback);
        let segments: f64 =
            feedback.acked.iter().map(|acked| acked.size.as_f64()).sum::<f64>() / self.segment;
        let Some(rtt) = &feedback.rtt else {
            if feedback.recovery == Recovery::Timeout && self.window < self.repaired_to {
                self.set((self.window + segments).min(self.repaired_to));
            }
            return;
        };
        self.delays.take(now, rtt, self.window);
        if ended {
            self.end_round(now, rtt.smoothed);
        }
        self.steer(segments, feedback.window_limited);
        cx.note("competitive", f64::from(u8::from(self.competing)));
        cx.note("delta", 1.0 / self.weight);
    }

    #[inline]
    fn directive(&self) -> Directive {
        let window = Bytes::new((self.window.max(1.0) * self.segment) as u64);
        let plain = Directive::window(window);
        let Some(standing) = self.delays.standing().filter(|standing| *standing > 0.0) else { return plain };
        let rate = (2.0 * self.window * self.segment * 8.0 / standing).clamp(1e3, 1e14);
        Directive { rate: Some(BitRate::from_bits_per_sec_f64(rate)), ..plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least round trip time after one of so many milliseconds, when others of half as much again have come since for so long.
    fn least(first: u64, millis: u64) -> f64 {
        let mut delays = Delays::default();
        for (at, trip) in [(0, first), (millis / 2, first * 3 / 2), (millis, first * 3 / 2)] {
            let latest = Span::from_millis(trip);
            let sample = RttSample { latest, smoothed: latest, min: latest };
            delays.take(Time::ZERO + Span::from_millis(at), &sample, 10.0);
        }
        delays.least.get().expect("three were taken") * 1e3
    }

    /// 10 s, and on paths of more than half a second 20 round trips: a queue that stands for ten round trips is still seen.
    #[test]
    fn the_least_round_trip_time_is_remembered_for_ten_seconds_or_twenty_round_trips() {
        for (first, remembered, forgotten) in [(100, 9_900, 10_100), (1000, 19_900, 20_100)] {
            assert_eq!(least(first, remembered).round(), first as f64);
            assert_eq!(least(first, forgotten).round(), first as f64 * 1.5);
        }
    }

    /// Slow start takes the window up to half of what it was when the first time-out came, however many follow.
    #[test]
    fn a_second_time_out_in_a_row_halves_nothing_more() {
        let params = ControllerParams::unlimited(Bytes::new(1000), 40);
        let mut copa = Copa::new(&CopaConfig::default(), &params);
        for consecutive in [1, 2] {
            copa.on_event(CongestionEvent::Timeout { consecutive });
            assert_eq!((copa.window, copa.repaired_to), (1.0, 20.0));
        }
    }
}
