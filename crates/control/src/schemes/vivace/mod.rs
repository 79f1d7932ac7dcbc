//! PCC Vivace: a rate that climbs the gradient of a utility, measured by trying a little more and a little less. The scheme
//! `vivace`. PCC is performance-oriented congestion control here; the probabilistic one is the scheme `probabilistic`. What is
//! measured is in `interval.rs`, how far a step goes in `step.rs`.
//!
//! Source: Dong, Meng, Zarchy, Arslan, Gilad, Godfrey and Schapira, "PCC Vivace: Online-Learning Congestion Control", NSDI 2018.
//! With r the rate in Mbit/s, L the part of the packets lost, all over one monitor interval of a round trip time:
//!
//! | | |
//! | --- | --- |
//! | utility | `U = r^0.9 - 900 r dRTT/dt - 11.35 r L`; a slope of the round trip time below 0.01 counts as none |
//! | start | the rate doubles each interval until U falls; then back by one |
//! | probing | two pairs of intervals at `r (1 + 0.05)` and `r (1 - 0.05)`, each in random order, and r until all is known |
//! | gradient | `γ = (U₊ - U₋)/(2 · 0.05 r)`, the mean of both pairs; if they disagree about its sign, r stays and is probed again |
//! | step | `r ← r + m θ γ`, θ = 1, m = τ for the first three steps in a row one way, then `2τ - 3` |
//! | boundary | no step is larger than ω r; `ω = 0.05 + 0.1 k`, k one more after a step that was cut, else as small as the step allows, 0 where the way changes |
//!
//! Laws: random loss of `0.9 r^-0.1/11.35` (6 % at 10 Mbit/s, 5 % at 100) and more makes every rate too high. Equal flows share
//! equally.
//!
//! Inferred: the length of an interval is at least that of ten packets, as in the same authors' PCC of 2015, and counts from
//! its first packet; a falling round trip time is no gain. The rate of the utility is the one directed, and the slope is by the
//! time at which packets left, without those sent twice. An interval is judged once all of its packets are known to have arrived
//! or to be lost, or one that left two intervals later has arrived; what is not known then is lost. When all probes are judged,
//! the present interval ends. Pairs that disagree end a row of steps: m and k begin anew. ω is 0.95 at most. No rate is below two
//! packets per round trip.
//!
//! Departures of others: PCC-Uspace takes further steps from the utilities of consecutive intervals before it probes again, and
//! bounds steps by 1 to 30 %; libwebrtc's copy (removed since) has one pair and a delay term on absolute delay.
//!
//! Deviations: it begins with the initial window per round trip. A window of twice what the rate fills stops a sender whose
//! acknowledgements do not come. The paper has no retransmission timer: packets that do not come are loss, which the utility
//! knows. Here a time-out after two round trips without news halves the rate, and any ends the start; where packets arrive all
//! the while, the rate stays. Retransmissions that are lost are found without the timer. Intervals that the application limits
//! say nothing: the rate stays; but a start ends by them, too, where their utility falls. Of more than 64 intervals under way
//! the oldest says nothing. Data is not ECN-capable.
//!
//! Random loss: of 100 Mbit/s over 36 ms it has 92 to 93 at 0.5 %, 82 to 92 at 1, 54 to 87 at 3, 16 to 26 at 5 and 1 to 6 at 12
//! (60 s from the start, three runs), with the knee at 5 % as in the paper.
//!
//! Open problems: an interval there has 500 packets, so that its loss is noise: runs at 3 % differ by half. A step takes five
//! intervals and more. The slope of round trips is measured over one of them, and noise of a hundredth is taken for a queue.

mod interval;
mod step;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    BitRate, Bytes, Checker, CongestionEvent, Controller, Cx, Directive, Feedback, Sent, Span, Time,
};

use crate::needs::{Acks, MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
use interval::{Interval, Purpose};
use step::Step;

/// Parameters of PCC Vivace: those of its utility.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VivaceConfig {
    /// t: the power of the rate, in Mbit/s. Above 0, below 1; default 0.9.
    pub exponent: f64,
    /// b: what a second of round trip time more per second costs. 0 to 1000000; default 900; 0 is the variant for loss alone.
    pub latency: f64,
    /// c: what loss costs. 0 to 1000000; default 11.35.
    pub loss: f64,
}

impl Default for VivaceConfig {
    fn default() -> Self {
        Self { exponent: 0.9, latency: 900.0, loss: 11.35 }
    }
}

/// ε: how far probes are from the rate.
const PROBE: f64 = 0.05;
/// The least length of an interval, in packets; and the least rate, in packets per round trip.
const PACKETS: f64 = 10.0;
const LEAST: f64 = 2.0;
/// After so many round trips without a packet heard of, nothing arrives any more.
const SILENCE: f64 = 2.0;
/// Intervals under way at most. More begin before the timer expires where round trips are short and the application sends
/// little.
const MOST: usize = 64;
/// The largest rate, in Mbit/s.
const HIGHEST: f64 = 1e7;

impl SchemeConfig for VivaceConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "vivace",
            summary: "Performance-oriented (PCC): a rate that climbs the gradient of a utility of rate, latency and loss",
            source: "Dong et al., NSDI 2018",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            acks: Acks::PROMPT,
            lost_retransmissions: true,
            marks: MarkResponse::Controller,
            ..Needs::over(Reliability::Sack)
        }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn check(&self, checker: &mut Checker) {
        let ok = self.exponent > 0.0 && self.exponent < 1.0;
        checker.require(ok, "exponent", self.exponent, "above 0, below 1");
        checker.require((0.0..=1e6).contains(&self.latency), "latency", self.latency, "0 to 1000000");
        checker.require((0.0..=1e6).contains(&self.loss), "loss", self.loss, "0 to 1000000");
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(Vivace::new(self, params)))
    }
}

/// PCC Vivace. Rates are in Mbit/s.
#[derive(Clone, Debug)]
pub struct Vivace {
    config: VivaceConfig,
    /// A segment, in Mbit.
    segment: f64,
    initial: Bytes,
    most: Bytes,
    /// The rate that is probed around, or that doubles.
    rate: f64,
    starting: bool,
    /// The utility of the last interval of the start.
    before: Option<(f64, f64)>,
    step: Step,
    /// What is tried next, and the utilities found: of each pair that above and that below the rate.
    plan: VecDeque<Purpose>,
    found: [[Option<f64>; 2]; 2],
    limited: bool,
    /// Whether probes around the rate have yet to be drawn.
    fresh: bool,
    /// Those under way, the present one last.
    intervals: VecDeque<Interval>,
    next: u32,
    smoothed: Option<Span>,
    /// When a packet was last heard of.
    heard: Time,
    /// Of the present interval, and its end: never, before its first packet has left.
    length: Span,
    ends: Time,
}

impl Vivace {
    /// A connection's start.
    pub fn new(config: &VivaceConfig, params: &ControllerParams) -> Self {
        Self {
            config: config.clone(),
            segment: params.segment.as_f64().max(1.0) * 8e-6,
            initial: params.initial_window.max(params.segment).min(params.max_window),
            most: params.max_window,
            rate: 0.0,
            starting: true,
            before: None,
            step: Step::default(),
            plan: VecDeque::new(),
            found: [[None; 2]; 2],
            limited: false,
            fresh: false,
            intervals: VecDeque::new(),
            next: 0,
            smoothed: None,
            heard: Time::ZERO,
            length: Span::ZERO,
            ends: Time::NEVER,
        }
    }

    fn round_trip(&self) -> f64 {
        self.smoothed.map_or(0.1, Span::as_secs_f64).max(1e-6)
    }

    fn bounded(&self, rate: f64) -> f64 {
        rate.clamp((LEAST * self.segment / self.round_trip()).min(HIGHEST), HIGHEST)
    }

    /// The rate in force: that of the present interval.
    fn in_force(&self) -> Option<f64> {
        self.intervals.back().map(|interval| interval.rate)
    }

    /// The next interval begins.
    fn begin(&mut self) {
        let purpose =
            if self.starting { Purpose::Start } else { self.plan.pop_front().unwrap_or(Purpose::Wait) };
        let rate = match purpose {
            Purpose::Start | Purpose::Wait => self.rate,
            Purpose::Probe { above, .. } => self.rate * if above { 1.0 + PROBE } else { 1.0 - PROBE },
        };
        self.begin_at(self.bounded(rate), purpose);
    }

    /// It lasts from its first packet on: a sender that may not send has no intervals, however short its round trips.
    fn begin_at(&mut self, rate: f64, purpose: Purpose) {
        let length = self.round_trip().max(PACKETS * self.segment / rate);
        self.intervals.push_back(Interval::new(self.next, rate, purpose));
        self.next = self.next.wrapping_add(1);
        self.length = Span::from_secs_f64(length.clamp(1e-6, 60.0));
        self.ends = Time::NEVER;
    }

    /// The present interval is over, and the next begins.
    fn end(&mut self, now: Time, cx: &mut Cx<'_>) {
        if let Some(interval) = self.intervals.back_mut() {
            interval.closed = true;
        }
        if self.starting {
            let limited = self.intervals.back().is_some_and(|interval| interval.limited);
            self.rate = self.bounded(self.rate * if limited { 1.0 } else { 2.0 });
        } else if std::mem::take(&mut self.fresh) {
            self.draw(cx);
        }
        self.begin();
        // All packets of the interval that ended may have been heard of before: nothing that comes would say more of it.
        self.settle(now, None, cx);
    }

    /// Begins to probe around the rate.
    fn probe(&mut self, now: Time) {
        self.starting = false;
        self.plan.clear();
        self.found = [[None; 2]; 2];
        (self.limited, self.fresh, self.ends) = (false, true, now);
        let is_probe = |interval: &Interval| matches!(interval.purpose, Purpose::Probe { .. });
        debug_assert!(!self.intervals.iter().any(is_probe), "what was sent before says nothing of these");
    }

    /// The retransmission timer expired. Where nothing came for long, probes anew around half of the rate, or around the last that
    /// is known to have been good. Where packets arrive all the while, only a retransmission was lost, which the utility knows:
    /// the rate stays. All under way was taken for lost, so that its intervals say nothing.
    fn time_out(&mut self, now: Time) {
        let silent = now.since(self.heard).as_secs_f64() > SILENCE * self.round_trip();
        let in_force = self.in_force().unwrap_or(f64::INFINITY);
        if silent || self.starting {
            let known = self.before.map_or(0.0, |(rate, _)| rate);
            self.rate = self.bounded(if self.starting { known } else { self.rate / 2.0 }).min(in_force);
        }
        self.intervals.clear();
        self.step = Step::default();
        self.probe(now);
        self.begin_at(self.rate.min(in_force), Purpose::Wait);
    }

    /// Two pairs, each in random order.
    fn draw(&mut self, cx: &mut Cx<'_>) {
        for pair in 0..2 {
            let first = cx.rng.chance(0.5);
            self.plan.extend([first, !first].map(|above| Purpose::Probe { pair, above }));
        }
    }

    /// Settles the intervals of which all is known, in their order.
    fn settle(&mut self, now: Time, newest: Option<u32>, cx: &mut Cx<'_>) {
        // What was sent two intervals before a packet that arrived has arrived, or is lost.
        let passed = |id: u32| newest.is_some_and(|newest| newest.wrapping_sub(id).cast_signed() >= 2);
        while self.intervals.len() > 1 {
            // The oldest of too many says nothing. It may be a probe, whose end the others wait for.
            let many = self.intervals.len() > MOST;
            if !many && !self.intervals.front().is_some_and(|i| i.is_settled() || passed(i.id)) {
                return;
            }
            let Some(interval) = self.intervals.pop_front() else { return };
            let utility = interval.utility(&self.config).filter(|_| !many);
            match interval.purpose {
                Purpose::Wait => {}
                Purpose::Start => self.started(now, &interval, utility),
                Purpose::Probe { pair, above } => {
                    self.limited |= interval.limited || utility.is_none();
                    self.found[pair][usize::from(above)] = utility.or(Some(0.0));
                    self.decide(now);
                }
            }
            if let Some(utility) = utility {
                cx.note("utility", utility);
            }
        }
    }

    /// An interval of the start is known: back by one where the utility fell.
    fn started(&mut self, now: Time, interval: &Interval, utility: Option<f64>) {
        let Some(utility) = utility.filter(|_| self.starting) else { return };
        match self.before {
            Some((rate, before)) if utility < before => {
                self.rate = rate;
                self.probe(now);
            }
            _ if interval.limited => self.rate = self.rate.min(interval.rate),
            _ => self.before = Some((interval.rate, utility)),
        }
    }

    /// All that was probed is known: a step, and probes around the new rate.
    fn decide(&mut self, now: Time) {
        let [[Some(below_1), Some(above_1)], [Some(below_2), Some(above_2)]] = self.found else { return };
        let width = 2.0 * PROBE * self.rate;
        let slopes = [(above_1 - below_1) / width, (above_2 - below_2) / width];
        if !self.limited {
            if slopes[0] * slopes[1] > 0.0 {
                let change = self.step.take(f64::midpoint(slopes[0], slopes[1]), self.rate);
                self.rate = self.bounded(self.rate + change);
            } else {
                self.step = Step::default();
            }
        }
        self.probe(now);
    }
}

impl Controller for Vivace {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        if let Some(interval) = self.intervals.back_mut() {
            if self.ends == Time::NEVER {
                self.ends = now + self.length;
            }
            interval.sent += 1;
            interval.limited |= sent.app_limited;
            sent.tag = interval.id;
        } else {
            sent.tag = u32::MAX;
        }
    }

    /// Only the first packet of an interval changes anything: when that ends.
    fn hear_sent(
        &mut self,
        now: Time,
        sent: &mut Sent,
        cx: &mut Cx<'_>,
    ) -> Option<(Directive, Option<Time>)> {
        let ends = self.ends;
        self.on_sent(now, sent, cx);
        (self.ends != ends).then(|| self.orders())
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(rtt) = &feedback.rtt {
            self.smoothed = Some(rtt.smoothed);
            if self.intervals.is_empty() {
                let initial = self.initial.as_f64() * 8e-6 / self.round_trip();
                self.rate = self.bounded(initial);
                self.begin();
                return;
            }
        }
        let Some(first) = self.intervals.front().map(|interval| interval.id) else { return };
        let mut newest = None;
        if !feedback.acked.is_empty() {
            self.heard = now;
        }
        for acked in feedback.acked {
            let index = acked.tag.wrapping_sub(first) as usize;
            if let Some(interval) = self.intervals.get_mut(index) {
                interval.on_acked(now, acked);
                newest = newest.max(Some(index as u32));
            }
        }
        for lost in feedback.lost {
            if let Some(interval) = self.intervals.get_mut(lost.tag.wrapping_sub(first) as usize) {
                interval.on_lost(lost);
            }
        }
        self.settle(now, newest.map(|index| first.wrapping_add(index)), cx);
        if let Some(CongestionEvent::Timeout { .. }) = feedback.event {
            self.time_out(now);
        }
    }

    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        // Twice where the end of an interval settles all that was probed: the next probes begin at once.
        while now >= self.ends {
            self.end(now, cx);
            cx.note("base_rate", self.rate * 1e6);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.ends.finite()
    }

    fn directive(&self) -> Directive {
        let Some(rate) = self.in_force() else { return Directive::window(self.initial) };
        let filled = Bytes::from_f64(2.0 * rate.max(self.rate) * self.round_trip() * 1e6 / 8.0);
        let window = filled.max(self.initial).min(self.most);
        let rate = BitRate::from_bits_per_sec_f64((rate * 1e6).clamp(1e3, 1e13));
        Directive { window: Some(window), ..Directive::rate(rate) }
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Acked, PairPosition, Stream};

    use super::*;

    fn hear(vivace: &mut Vivace, millis: u64, feedback: &Feedback<'_>) {
        let mut rng = Stream::new(1, "vivace");
        let now = Time::ZERO + Span::from_millis(millis);
        vivace.on_feedback(now, feedback, &mut Cx { rng: &mut rng, notes: None });
    }

    /// Past the start, at 10 Mbit/s with round trips of 40 ms.
    fn vivace() -> Vivace {
        let params = ControllerParams::unlimited(Bytes::new(1500), 10);
        let mut vivace = Vivace::new(&VivaceConfig::default(), &params);
        (vivace.smoothed, vivace.starting, vivace.rate) = (Some(Span::from_millis(40)), false, 10.0);
        vivace
    }

    /// Round trips of 40 ms: a time-out 70 ms after a packet was heard of leaves the rate, one after 90 ms halves it.
    #[test]
    fn a_time_out_halves_the_rate_in_silence_alone() {
        let mut vivace = vivace();
        vivace.begin();
        let (sent_at, size, pair) = (Time::ZERO, Bytes::new(1500), PairPosition::Single);
        let acked = [Acked { number: 0, size, sent_at, retransmitted: false, pair, tag: u32::MAX }];
        let expired = Some(CongestionEvent::Timeout { consecutive: 1 });
        hear(&mut vivace, 1000, &Feedback { acked: &acked, ..Feedback::empty() });
        hear(&mut vivace, 1070, &Feedback { event: expired, ..Feedback::empty() });
        assert!((vivace.rate - 10.0).abs() < 1e-9, "{}", vivace.rate);
        hear(&mut vivace, 1090, &Feedback { event: expired, ..Feedback::empty() });
        assert!((vivace.rate - 5.0).abs() < 1e-9, "{}", vivace.rate);
    }

    /// Too many are under way, and the oldest is a probe: nothing is known of it, and nothing is made of the others.
    #[test]
    fn a_probe_of_which_nothing_is_known_moves_no_rate() {
        let mut vivace = vivace();
        vivace.found = [[Some(1.0), Some(2.0)], [None, Some(2.0)]];
        for id in 0..=MOST as u32 {
            let mut interval = Interval::new(id, 10.0, Purpose::Wait);
            interval.sent = 1;
            vivace.intervals.push_back(interval);
        }
        vivace.intervals[0].purpose = Purpose::Probe { pair: 1, above: false };
        vivace.settle(Time::ZERO, None, &mut Cx { rng: &mut Stream::new(1, "vivace"), notes: None });
        assert_eq!((vivace.rate, vivace.intervals.len(), vivace.found), (10.0, MOST, [[None; 2]; 2]));
    }
}
