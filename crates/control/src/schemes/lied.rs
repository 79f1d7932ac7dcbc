//! The scheme `lied`: linear increase and exponential decrease of a rate on an unreliable transport, steered by the
//! throughput that the receiver reports (Tuan and Park 1999, §3.1). The sign of dγ/dλ is estimated in
//! `laws/load_throughput.rs`; how the increase becomes more aggressive is the business of `sac/`.
//!
//! ```text
//! dλ/dt = δ       where dγ/dλ > 0
//!       = -a λ    where dγ/dλ < 0                                     (eq. 3)
//! ```
//!
//! once per report, over the time since the last one. Inferred, since the paper prints none of them: δ, a, k, the report
//! interval, and the rate to begin with. Additions of ours: an application that sends less than it may does not earn a
//! rate above twice what arrives; and silence of the receiver counts as congestion.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    Arrival, BitRate, Bytes, Checker, Choice, Controller, Cx, Directive, Feedback, FeedbackPolicy, Lane,
    Outgoing, Report, Sent, Span, Time,
};

use crate::laws::load_throughput::{LoadThroughput, Point, Sign};
use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};

/// Parameters of linear increase and exponential decrease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LiedConfig {
    /// δ: how much the rate grows per second while more load brings more throughput. Default 100 kbit/s.
    pub increase: BitRate,
    /// a: the rate's exponential decrease, per second, while it does not. Default 1.
    pub decrease: f64,
    /// k of `γ_k = (1 - c)^k ν` (eq. 4): how severely loss counts against throughput. Default 2.
    pub severity: f64,
    /// How the sign of dγ/dλ is estimated. Default `difference`.
    pub sign: Choice<Sign>,
    /// How often the receiver reports. Default 50 ms.
    pub report_interval: Span,
    /// The rate to begin with. Default 100 kbit/s.
    pub initial_rate: BitRate,
    /// The rate never falls below this. Default 16 kbit/s: two packets of 1000 B per second.
    pub min_rate: BitRate,
    /// The rate never exceeds this. Default 100 Gbit/s.
    pub max_rate: BitRate,
}

impl Default for LiedConfig {
    fn default() -> Self {
        Self {
            increase: BitRate::from_bits_per_sec(100_000),
            decrease: 1.0,
            severity: 2.0,
            sign: Choice::default(),
            report_interval: Span::from_millis(50),
            initial_rate: BitRate::from_bits_per_sec(100_000),
            min_rate: BitRate::from_bits_per_sec(16_000),
            max_rate: BitRate::from_bits_per_sec(100_000_000_000),
        }
    }
}

impl SchemeConfig for LiedConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "lied",
            summary: "Linear increase and exponential decrease of a datagram rate, by reported throughput",
            source: "Tuan and Park, Multiple time scale congestion control for self-similar network traffic, 1999",
            reliability: Reliability::Datagram,
            expects_discipline: "any",
        }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn needs(&self) -> Needs {
        Needs { stamps: true, marks: MarkResponse::Controller, ..Needs::over(Reliability::Datagram) }
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts<BoxedController> {
        let parts = Parts { controller: Box::new(Lied::new(self, params)) as BoxedController, policy: None };
        parts.with_policy(Some(LiedPolicy::new(self)))
    }

    fn check(&self, checker: &mut Checker) {
        let positive = |checker: &mut Checker, name, rate: BitRate| {
            checker.require(rate > BitRate::ZERO, name, rate, "a rate above zero");
        };
        positive(checker, "increase", self.increase);
        positive(checker, "min_rate", self.min_rate);
        let ok = self.decrease > 0.0 && self.decrease <= 1e6;
        checker.require(ok, "decrease", self.decrease, "a number above 0 and up to 1000000");
        let ok = (0.0..=1000.0).contains(&self.severity);
        checker.require(ok, "severity", self.severity, "a number from 0 to 1000");
        checker.within("sign", |checker| self.sign.check(checker));
        let ok =
            self.report_interval >= Span::from_micros(100) && self.report_interval <= Span::from_secs(60);
        checker.require(ok, "report_interval", self.report_interval, "a time from 100 µs to 60 s");
        let ok = self.min_rate <= self.initial_rate && self.initial_rate <= self.max_rate;
        let allowed = format!("a rate from {} (min_rate) to {} (max_rate)", self.min_rate, self.max_rate);
        checker.require(ok, "initial_rate", self.initial_rate, allowed);
    }
}

/// The sender's half. Rates are in bytes per second.
#[derive(Clone, Debug)]
pub struct Lied {
    increase: f64,
    decrease: f64,
    lowest: f64,
    highest: f64,
    interval: Span,
    rate: f64,
    watch: LoadThroughput,
    history: History,
    /// When the rate was last adapted.
    adapted: Option<Time>,
    /// When silence counts as congestion; `None` before anything was sent.
    silence: Option<Time>,
    round_trip: Span,
    app_limited: bool,
}

impl Lied {
    /// A connection's start.
    pub fn new(config: &LiedConfig, _: &ControllerParams) -> Self {
        let lowest = config.min_rate.bytes_per_sec();
        Self {
            increase: config.increase.bytes_per_sec(),
            decrease: config.decrease,
            lowest,
            highest: config.max_rate.bytes_per_sec().max(lowest),
            interval: config.report_interval,
            rate: config.initial_rate.bytes_per_sec(),
            watch: LoadThroughput::new(*config.sign, config.severity),
            history: History::default(),
            adapted: None,
            silence: None,
            round_trip: Span::ZERO,
            app_limited: false,
        }
    }

    /// Equation 3 over the time since the last report, where more load brings more throughput or does not.
    fn adapt(&mut self, now: Time, rises: bool, gain: f64, arrives: f64) {
        let dt = self.adapted.map_or(self.interval, |last| now.since(last)).as_secs_f64();
        self.adapted = Some(now);
        let earned = if self.app_limited { (2.0 * arrives).max(self.rate) } else { self.highest };
        self.rate = if rises {
            (self.rate + self.increase * gain * dt).min(earned)
        } else {
            self.rate * (-self.decrease * dt).exp()
        };
        self.rate = self.rate.clamp(self.lowest, self.highest);
        self.app_limited = false;
        self.history.changed(now, self.rate);
    }

    /// How long the receiver may be silent: two intervals, and the round trip twice for those on their way.
    fn patience(&self) -> Span {
        self.interval * 2 + self.round_trip * 2
    }
}

impl Controller for Lied {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        self.app_limited |= sent.app_limited;
        if self.silence.is_none() {
            // The first packet's round trip is not known: a second, as RFC 6298 has it.
            self.silence = Some(now + Span::from_secs(1) + self.interval * 2);
            self.history.changed(now, self.rate);
        }
    }

    /// Only the first packet changes what is directed: from then on silence is watched.
    fn hear_sent(
        &mut self,
        now: Time,
        sent: &mut Sent,
        cx: &mut Cx<'_>,
    ) -> Option<(Directive, Option<Time>)> {
        let is_first = self.silence.is_none();
        self.on_sent(now, sent, cx);
        is_first.then(|| self.orders())
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let Some(envelope) = feedback.report else { return };
        let Report::Interval { span, received, packets, lost } = &envelope.report else { return };
        self.round_trip = envelope.round_trip(now).unwrap_or(self.round_trip);
        self.silence = Some(now + self.patience());
        let seconds = span.as_secs_f64();
        let all = f64::from(*packets) + f64::from(*lost);
        if seconds <= 0.0 || all == 0.0 {
            return;
        }
        // What is reported left before the echoed packet did, during an interval of about the same length.
        let left = envelope.echo.filter(|echo| *echo <= now).unwrap_or(now - self.round_trip);
        let load = self.history.mean(left - *span, left).unwrap_or(self.rate);
        let raw = received.as_f64() / seconds;
        let point = Point { load, raw, loss: f64::from(*lost) / all };
        let rises = self.watch.rises(point);
        self.adapt(now, rises, feedback.gain, raw);
        cx.note("load", load);
        cx.note("throughput", raw);
        cx.note("loss", point.loss);
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        if self.silence.is_some_and(|silence| now >= silence) {
            self.adapt(now, false, 1.0, 0.0);
            self.silence = Some(now + self.patience());
        }
    }

    fn next_timer(&self) -> Option<Time> {
        // At the lowest rate silence has no more to say.
        self.silence.filter(|_| self.rate > self.lowest)
    }

    fn directive(&self) -> Directive {
        Directive::rate(BitRate::from_bits_per_sec_f64(8.0 * self.rate))
    }
}

/// The rates of the last while, each with the time from which on it held.
#[derive(Clone, Debug, Default)]
struct History(VecDeque<(Time, f64)>);

impl History {
    /// Reports and round trips that are remembered: a minute of reports of every 50 ms at least.
    const LONGEST: usize = 1200;

    fn changed(&mut self, now: Time, rate: f64) {
        if self.0.len() >= Self::LONGEST {
            self.0.pop_front();
        }
        self.0.push_back((now, rate));
    }

    /// The mean rate between two instants; what lies before `from` is forgotten, since reports come in order.
    fn mean(&mut self, from: Time, until: Time) -> Option<f64> {
        while self.0.get(1).is_some_and(|(since, _)| *since <= from) {
            self.0.pop_front();
        }
        let length = until.since(from).as_secs_f64();
        let first = self.0.front()?.1;
        if length <= 0.0 {
            return Some(first);
        }
        let begins = self.0.iter().map(|(since, rate)| ((*since).clamp(from, until), *rate));
        let ends = self.0.iter().skip(1).map(|(since, _)| (*since).clamp(from, until)).chain([until]);
        let pieces = begins.zip(ends).map(|((begin, rate), end)| rate * end.since(begin).as_secs_f64());
        let before = self.0.front().map_or(0.0, |(since, _)| since.since(from).as_secs_f64().min(length));
        Some((pieces.sum::<f64>() + first * before) / length)
    }
}

/// The receiver's half: reports of what arrived and what is missing, interval by interval, while data arrives.
#[derive(Clone, Debug)]
pub struct LiedPolicy {
    interval: Span,
    /// When the interval that runs began and ends; `None` while nothing arrives.
    runs: Option<(Time, Time)>,
    received: Bytes,
    packets: u32,
    /// The number after the highest that arrived, now and when the interval began.
    next: u64,
    began_at: u64,
    /// New packets below the highest arrive late: they were counted lost before.
    late: u64,
}

/// A report's bytes on the wire: headers and five numbers.
const REPORT: Bytes = Bytes::new(40);

impl LiedPolicy {
    /// A connection's start.
    pub fn new(config: &LiedConfig) -> Self {
        let (received, packets, next, began_at, late) = (Bytes::ZERO, 0, 0, 0, 0);
        Self { interval: config.report_interval, runs: None, received, packets, next, began_at, late }
    }
}

impl FeedbackPolicy for LiedPolicy {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        if !arrival.is_data() || !arrival.is_new {
            return;
        }
        let number = arrival.packet.number;
        self.runs.get_or_insert((now, now + self.interval));
        self.received += arrival.packet.size();
        self.packets = self.packets.saturating_add(1);
        if number < self.began_at {
            self.late += 1;
        }
        self.next = self.next.max(number.saturating_add(1));
    }

    fn poll_report(&mut self, now: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        let (began, _) = self.runs.filter(|(_, ends)| now >= *ends)?;
        // Missing: what the sequence advanced by, less what arrived of it. Late ones belong to an earlier interval.
        let fresh = u64::from(self.packets) - self.late.min(u64::from(self.packets));
        let lost = (self.next - self.began_at).saturating_sub(fresh);
        let report = Report::Interval {
            span: now.since(began),
            received: self.received,
            packets: self.packets,
            lost: u32::try_from(lost).unwrap_or(u32::MAX),
        };
        // One report of nothing, then silence: the sender hears of a pause, and an ended flow leaves no timer behind.
        self.runs = (self.packets > 0).then(|| (now, now + self.interval));
        (self.received, self.packets, self.late, self.began_at) = (Bytes::ZERO, 0, 0, self.next);
        Some(Outgoing { report, lane: Lane::IN_BAND, size: REPORT })
    }

    fn next_timer(&self) -> Option<Time> {
        self.runs.map(|(_, ends)| ends)
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Envelope, FlowId, Kind, Packet, Stream};

    use super::*;

    fn params() -> ControllerParams {
        ControllerParams::unlimited(Bytes::new(1000), 1)
    }

    fn report(packets: u32, lost: u32) -> Envelope {
        let span = Span::from_millis(50);
        let received = Bytes::new(1000 * u64::from(packets));
        Envelope::bare(Report::Interval { span, received, packets, lost })
    }

    /// The rate in bytes per second after reports of (packets, lost) every 50 ms.
    fn after(config: &LiedConfig, gain: f64, reports: &[(u32, u32)]) -> f64 {
        let mut lied = Lied::new(config, &params());
        let mut stream = Stream::new(1, "lied");
        let mut cx = Cx { rng: &mut stream, notes: None };
        for (n, (packets, lost)) in reports.iter().enumerate() {
            let envelope = report(*packets, *lost);
            let now = Time::from_nanos((n as u64 + 1) * 50_000_000);
            lied.on_feedback(now, &Feedback { report: Some(&envelope), gain, ..Feedback::empty() }, &mut cx);
        }
        lied.directive().rate.unwrap().bytes_per_sec()
    }

    #[test]
    fn equation_3_in_worked_numbers() {
        let config = LiedConfig { sign: Choice(Sign::Loss { above: 0.0 }), ..LiedConfig::default() };
        // δ = 12 500 B/s per second, from 12 500 B/s on: 20 reports without loss are one second.
        assert!((after(&config, 1.0, &[(5, 0); 20]) - 25_000.0).abs() < 1.0);
        assert!((after(&config, 3.0, &[(5, 0); 20]) - 50_000.0).abs() < 1.0);
        // a = 1: one report of loss is a factor of exp(-0.05), whatever the gain.
        let decreased = 12_500.0 * (-0.05_f64).exp();
        assert!((after(&config, 1.0, &[(4, 1)]) - decreased).abs() < 1.0);
        assert!((after(&config, 9.0, &[(4, 1)]) - decreased).abs() < 1.0);
        assert!((after(&config, 1.0, &[(0, 50); 1000]) - 2000.0).abs() < 1.0, "never below the lowest rate");
    }

    /// What an application leaves unused proves no more than twice what arrives, and takes nothing away.
    #[test]
    fn who_has_little_to_send_keeps_the_rate() {
        let adapted = |arrives: f64| {
            let mut lied = Lied::new(&LiedConfig::default(), &params());
            lied.app_limited = true;
            lied.adapt(Time::from_nanos(50_000_000), true, 1.0, arrives);
            lied.rate
        };
        for (arrives, rate) in [(1000.0, 12_500.0), (6400.0, 12_800.0), (10_000.0, 13_125.0)] {
            assert!((adapted(arrives) - rate).abs() < 1e-6, "{arrives}: {}", adapted(arrives));
        }
    }

    /// 12 500 B/s per second, in two steps of 50 ms: the first has proven nothing, the second was sent in full.
    #[test]
    fn who_has_enough_to_send_again_earns_at_once() {
        let mut lied = Lied::new(&LiedConfig::default(), &params());
        lied.app_limited = true;
        for (millis, rate) in [(50, 12_500.0), (100, 13_125.0)] {
            lied.adapt(Time::ZERO + Span::from_millis(millis), true, 1.0, 1000.0);
            assert!((lied.rate - rate).abs() < 1e-6, "{}", lied.rate);
        }
    }

    #[test]
    fn silence_is_congestion_and_ends_at_the_lowest_rate() {
        let mut lied = Lied::new(&LiedConfig::default(), &params());
        let mut stream = Stream::new(1, "lied");
        let mut cx = Cx { rng: &mut stream, notes: None };
        lied.silence = Some(Time::ZERO);
        let mut before = lied.rate;
        let mut calls = 0;
        while let Some(at) = lied.next_timer() {
            lied.on_timer(at, &mut cx);
            assert!(lied.rate < before);
            before = lied.rate;
            calls += 1;
            assert!(calls < 1000);
        }
        assert!((lied.rate - 2000.0).abs() < 1e-9);
    }

    #[test]
    fn rates_of_the_past_are_averaged_over_the_interval_asked() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut history = History::default();
        for (ms, rate) in [(0, 10.0), (100, 20.0), (200, 40.0)] {
            history.changed(at(ms), rate);
        }
        assert_eq!(history.mean(at(50), at(150)), Some(15.0));
        assert!((history.mean(at(100), at(400)).unwrap() - 100.0 / 3.0).abs() < 1e-9);
        assert_eq!(history.mean(at(300), at(300)), Some(40.0));
        assert_eq!(History::default().mean(at(0), at(1)), None);
    }

    /// Reports of a receiver that these numbers arrive at, one each millisecond.
    fn reports(numbers: &[u64]) -> Vec<(u32, u32)> {
        let mut policy =
            LiedPolicy::new(&LiedConfig { report_interval: Span::from_millis(10), ..LiedConfig::default() });
        let mut stream = Stream::new(1, "lied");
        let mut cx = Cx { rng: &mut stream, notes: None };
        let mut seen = Vec::new();
        for ms in 0..numbers.len() as u64 + 40 {
            let now = Time::from_nanos(ms * 1_000_000);
            if let Some(Outgoing { report: Report::Interval { packets, lost, .. }, .. }) =
                policy.poll_report(now, &mut cx)
            {
                seen.push((packets, lost));
            }
            if let Some(number) = numbers.get(ms as usize) {
                let packet = Packet::new(Kind::Data, FlowId(0), *number, Bytes::new(1000));
                policy.on_arrival(now, &Arrival { packet: &packet, annex: None, is_new: true }, &mut cx);
            }
        }
        assert_eq!(policy.next_timer(), None, "an ended flow leaves no timer behind");
        seen
    }

    #[test]
    fn missing_numbers_are_losses_once() {
        let all: Vec<u64> = (0..30).collect();
        assert_eq!(reports(&all), [(10, 0), (10, 0), (10, 0), (0, 0)]);
        let holes: Vec<u64> = (0..40).filter(|n| n % 4 != 1).collect();
        let (packets, lost) =
            reports(&holes).iter().fold((0, 0), |sum, seen| (sum.0 + seen.0, sum.1 + seen.1));
        assert_eq!((packets, lost), (30, 10));
        // One that comes late was counted lost in its own interval, and is no gain in the next.
        let mut late: Vec<u64> = (0..20).filter(|n| *n != 5).collect();
        late.insert(14, 5);
        assert_eq!(reports(&late), [(10, 1), (10, 0), (0, 0)]);
    }
}
