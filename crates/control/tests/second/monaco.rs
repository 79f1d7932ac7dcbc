//! Accumulation-based congestion control, written a second time from Xia et al., §III-B and §IV-B: the three laws over Vegas's
//! estimate, the proportional law over a receiver's reports, and Monaco's receiver's half. What the paper leaves open is as the
//! heads of `schemes/accumulation/mod.rs` and `schemes/monaco.rs` decide it. Known before: those heads and the configuration.
//! How MW's gain is cut is said in `laws/accumulation.rs`.

use serde_json::json;
use tailback_control::AnyController;
use tailback_control::schemes::MonacoPolicy;
use tailback_core::{
    Annex, Arrival, BitRate, Bytes, CongestionEvent, ControlInfo, Controller, Cx, Envelope, Feedback,
    FeedbackPolicy, FlowId, Kind, Lane, Packet, PairPosition, ProbePlan, Recovery, Report, RttSample, Sent,
    Span, Stream, Time,
};

use super::Second;
use super::trace::{self, words};
use super::vegas::{Base, Rounds};
use super::wire::{Fate, SEGMENT, Wire, params, scheme};

const TARGET: f64 = 3.0;

#[derive(Clone, Copy, Debug)]
enum Law {
    Aiad,
    MoWalrand,
    Proportional,
}

impl Law {
    /// Equations 3, 5 and 6, over one round trip.
    fn change(self, backlog: f64, window: f64, base: f64) -> f64 {
        let excess = backlog - TARGET;
        match self {
            Self::Aiad if excess == 0.0 => 0.0,
            Self::Aiad => -0.5 * excess.signum(),
            Self::MoWalrand => -(100.0 * base / window).min(0.5) * excess,
            Self::Proportional => -0.5 * excess,
        }
    }
}

/// The window, moved once per round trip.
struct Window {
    law: Law,
    cwnd: f64,
    /// γ, while slow start lasts, and whether it doubles at this round trip.
    gamma: Option<f64>,
    doubles: bool,
    deaf_until: f64,
}

impl Window {
    fn new(law: Law, cwnd: f64, gamma: Option<f64>) -> Self {
        Self { law, cwnd, gamma, doubles: true, deaf_until: 0.0 }
    }

    fn round(&mut self, backlog: f64, base: f64, part: f64) {
        if self.gamma.is_some_and(|gamma| backlog > gamma) {
            self.gamma = None;
        }
        if self.gamma.is_some() {
            if self.doubles {
                self.cwnd *= 2.0;
            }
            self.doubles = !self.doubles;
        } else {
            let change = self.law.change(backlog.max(0.0), self.cwnd, base) * part;
            self.cwnd = (self.cwnd + change).max(self.cwnd / 2.0).max(1.0);
        }
    }

    /// Half, once per window of data; whether it was.
    fn lose(&mut self, now: f64, rtt: f64) -> bool {
        let heeded = now >= self.deaf_until;
        if heeded {
            self.cwnd = (self.cwnd / 2.0).max(2.0).min(self.cwnd);
            self.gamma = None;
            self.deaf_until = now + rtt;
        }
        heeded
    }
}

// ── the laws over Vegas's estimate ──

struct OverVegas {
    window: Window,
    rounds: Rounds,
    rtt: f64,
}

impl Second for OverVegas {
    fn sent(&mut self, _now: f64, sent: &Sent) {
        self.rounds.sent(sent);
    }

    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        if let Some(rtt) = f.rtt {
            self.rtt = rtt.smoothed.as_secs_f64();
        }
        match f.event {
            Some(CongestionEvent::Loss | CongestionEvent::Ecn) => {
                self.window.lose(now, self.rtt);
            }
            Some(CongestionEvent::Timeout { .. }) => self.window.cwnd = 1.0,
            Some(CongestionEvent::Idle) => self.window.cwnd = self.window.cwnd.min(10.0),
            _ => {}
        }
        if let Some(backlog) = self.rounds.heard(now, f)
            && f.recovery == Recovery::Open
        {
            self.window.round(backlog, self.rounds.base.least(), 1.0);
        }
    }

    fn window(&self) -> f64 {
        self.window.cwnd
    }

    fn state(&self) -> String {
        format!("{} cwnd {:.4} gamma {:?}", self.rounds.told, self.window.cwnd, self.window.gamma)
    }
}

fn run(name: &str, law: Law, gamma: bool, fate: Fate) {
    for seed in 0..20 {
        let mut config = json!({"name": name, "estimator": "vegas", "pace": false});
        if !gamma {
            config["gamma"] = json!("none");
        }
        let second = OverVegas {
            window: Window::new(law, 10.0, gamma.then_some(1.0)),
            rounds: Rounds::new(Base::ever()),
            rtt: 0.0,
        };
        Wire::new(scheme(config, &params(10, None)), second, fate, seed).run(3000);
    }
}

#[test]
fn laws_over_vegas_without_slow_start() {
    for queue in [1.0, 5.0, 20.0] {
        let fate = Fate { queue, ..Fate::CALM };
        run("accumulation-aiad", Law::Aiad, false, fate);
        run("accumulation-mw", Law::MoWalrand, false, fate);
        run("accumulation-p", Law::Proportional, false, fate);
    }
}

/// Long round trips, where the gain of Mo and Walrand's law is cut.
#[test]
fn mo_and_walrand_over_long_ways() {
    run("accumulation-mw", Law::MoWalrand, false, Fate { base: 200.0, queue: 60.0, ..Fate::CALM });
}

#[test]
fn laws_over_vegas_with_slow_start() {
    run("accumulation-p", Law::Proportional, true, Fate { queue: 5.0, ..Fate::CALM });
}

#[test]
fn laws_over_vegas_with_losses() {
    run("accumulation-p", Law::Proportional, false, Fate { loss: 0.01, queue: 5.0, ..Fate::CALM });
}

// ── the proportional law over reports ──

/// A sender whose receiver reports what a test draws. Its acknowledgements take as long as its reports.
struct Reported {
    ours: AnyController,
    second: Window,
    rng: Stream,
    draws: Stream,
    now: Time,
    told: Vec<String>,
}

impl Reported {
    fn new(seed: u64, gamma: bool) -> Self {
        let mut config = json!({"name": "monaco"});
        if !gamma {
            config["gamma"] = json!("none");
        }
        Self {
            ours: scheme(config, &params(10, None)),
            second: Window::new(Law::Proportional, 10.0, gamma.then_some(1.0)),
            rng: Stream::new(seed, "network"),
            draws: Stream::new(seed, "controller"),
            now: Time::from_nanos(1_000_000_000),
            told: Vec::new(),
        }
    }

    fn send(&mut self) {
        let size = Bytes::new(SEGMENT);
        let mut sent = Sent {
            number: 0,
            size,
            in_flight: size,
            retransmission: false,
            pair: PairPosition::Single,
            app_limited: false,
            tag: 0,
        };
        self.ours.on_sent(self.now, &mut sent, &mut Cx { rng: &mut self.draws, notes: None });
    }

    fn feed(&mut self, feedback: &Feedback<'_>) {
        self.ours.on_feedback(self.now, feedback, &mut Cx { rng: &mut self.draws, notes: None });
    }

    fn pair(&self) -> u64 {
        match self.ours.directive().probe {
            Some(ProbePlan::ControlPair { id }) => id,
            other => panic!("{other:?}"),
        }
    }

    /// A control period: the report on the present pair comes back, and the next pair leaves.
    fn period(&mut self) {
        let (pair, left) = (self.pair(), self.now);
        let rtt = 0.02 + 0.03 * self.rng.uniform();
        self.now = left + Span::from_secs_f64(rtt);
        let backlog = if self.rng.below(10) == 0 { -5e3 } else { 1e4 * self.rng.uniform().powi(2) };
        let virtual_delay = if self.rng.below(3) == 0 { 0.05 * self.rng.uniform() } else { 0.0 };
        let lost = if self.rng.below(8) == 0 { SEGMENT * (1 + self.rng.below(3)) } else { 0 };
        let report = Report::Accumulation {
            pair,
            backlog,
            lost: Bytes::new(lost),
            egress_rate: BitRate::from_bits_per_sec(1_000_000),
            virtual_delay: Span::from_secs_f64(virtual_delay),
        };
        let outstanding = Bytes::new(SEGMENT);
        let latest = self.now.since(left);
        let sample = RttSample { latest, smoothed: latest, min: latest };
        self.feed(&Feedback { rtt: Some(sample), outstanding, ..Feedback::empty() });
        self.feed(&Feedback { report: Some(&Envelope::bare(report)), outstanding, ..Feedback::empty() });
        let now = super::seconds(self.now);
        if lost == 0 || !self.second.lose(now, rtt) {
            let backlog = backlog.max(0.0) / SEGMENT as f64;
            self.second.round(backlog, 0.0, rtt / (rtt + virtual_delay));
        }
        self.told.push(words!(
            "{now:.6} rtt {rtt:.6} backlog {backlog:.1} virtual {virtual_delay:.6} lost {lost}"
        ));
        self.compare(rtt, virtual_delay > 0.0);
        let due = self.ours.next_timer().expect("the next pair");
        self.now = due;
        self.ours.on_timer(due, &mut Cx { rng: &mut self.draws, notes: None });
    }

    fn compare(&self, rtt: f64, whole: bool) {
        let directive = self.ours.directive();
        let window = directive.window.expect("a window").as_f64() / SEGMENT as f64;
        let rate = directive.rate.expect("a rate").bits_per_sec() as f64;
        let wanted = self.second.cwnd * 8.0 * SEGMENT as f64 / rtt;
        let room = if whole { (self.second.cwnd - 1e-6).ceil() } else { self.second.cwnd };
        let near = (window - room).abs() < 0.01 && (rate - wanted).abs() <= 1e-4 * wanted;
        let from = self.told.len().saturating_sub(10);
        assert!(
            near,
            "{window} at {rate}, second {} at {wanted}:\n{}",
            self.second.cwnd,
            trace::last(&self.told[from..])
        );
    }
}

#[test]
fn monaco_follows_reports() {
    for seed in 0..300 {
        let mut reported = Reported::new(seed, seed % 2 == 0);
        reported.send();
        (0..60).for_each(|_| reported.period());
    }
}

// ── the receiver's half ──

#[derive(Default)]
struct Receiver {
    received: u64,
    out_of_band: Option<(u64, f64)>,
    /// Pair, when it came, what had come and what had left.
    in_band: Option<(u64, f64, u64, u64)>,
    egress: Option<f64>,
    lost: u64,
}

impl Receiver {
    /// A half of a pair came: accumulation in bytes, lost bytes and the egress rate, where the pair is complete.
    fn control(&mut self, now: f64, in_band: bool, info: &ControlInfo) -> Option<(f64, u64, f64)> {
        if !in_band {
            if self.out_of_band.is_none_or(|(pair, _)| info.pair > pair) {
                self.out_of_band = Some((info.pair, now));
            }
            return None;
        }
        if self.in_band.is_some_and(|(pair, ..)| info.pair <= pair) {
            return None;
        }
        let sent = info.bytes_sent.get();
        if let Some((_, then, received, sent_then)) = self.in_band {
            let arrived = self.received - received;
            let rate = arrived as f64 / (now - then);
            self.egress = Some(self.egress.map_or(rate, |egress| 0.5 * egress + 0.5 * rate));
            self.lost += (sent - sent_then).saturating_sub(arrived);
        }
        self.in_band = Some((info.pair, now, self.received, sent));
        let (_, first) = self.out_of_band.filter(|(pair, _)| *pair == info.pair)?;
        let waited = now - first + info.virtual_delay.as_secs_f64();
        let egress = self.egress.unwrap_or(0.0);
        Some((egress * waited, std::mem::take(&mut self.lost), egress))
    }
}

struct Arrivals {
    ours: MonacoPolicy,
    second: Receiver,
    draws: Stream,
    now: Time,
    told: Vec<String>,
}

impl Arrivals {
    fn arrive(&mut self, packet: &Packet, annex: Option<&Annex>) {
        let arrival = Arrival { packet, annex, is_new: true };
        self.ours.on_arrival(self.now, &arrival, &mut Cx { rng: &mut self.draws, notes: None });
    }

    fn data(&mut self) {
        self.arrive(&Packet::new(Kind::Data, FlowId(0), 0, Bytes::new(SEGMENT)), None);
        self.second.received += SEGMENT;
    }

    fn control(&mut self, in_band: bool, info: ControlInfo) {
        let mut packet = Packet::new(Kind::Control, FlowId(0), info.pair, Bytes::new(40));
        packet.set_lane(if in_band { Lane::IN_BAND } else { Lane::OUT_OF_BAND });
        self.arrive(&packet, Some(&Annex::Control(info)));
        let wanted = self.second.control(super::seconds(self.now), in_band, &info);
        self.told.push(words!("{} {in_band} {info:?} {wanted:?}", super::seconds(self.now)));
        self.compare(wanted);
    }

    fn compare(&mut self, wanted: Option<(f64, u64, f64)>) {
        let outgoing = self.ours.poll_report(self.now, &mut Cx { rng: &mut self.draws, notes: None });
        let found = outgoing.map(|outgoing| match outgoing.report {
            Report::Accumulation { backlog, lost, egress_rate, .. } => {
                (backlog, lost.get(), egress_rate.bits_per_sec() as f64 / 8.0)
            }
            other => panic!("{other:?}"),
        });
        let near = |ours: f64, theirs: f64| (ours - theirs).abs() <= 1.0 + 1e-5 * theirs.abs();
        let agree = match (found, wanted) {
            (Some(ours), Some(theirs)) => {
                near(ours.0, theirs.0) && ours.1 == theirs.1 && near(ours.2, theirs.2)
            }
            (ours, theirs) => ours.is_none() == theirs.is_none(),
        };
        let from = self.told.len().saturating_sub(12);
        assert!(agree, "{found:?}, second {wanted:?}\n{}", trace::last(&self.told[from..]));
    }
}

/// Periods of data with a pair at the end of each; the out-of-band half takes as long every time and mostly comes first, data and
/// halves of pairs are lost, come late or twice.
fn arrivals(seed: u64) {
    let mut rng = Stream::new(seed, "network");
    let mut all = Arrivals {
        ours: MonacoPolicy::new(0.5, Bytes::new(SEGMENT)),
        second: Receiver::default(),
        draws: Stream::new(seed, "policy"),
        now: Time::from_nanos(1_000_000_000),
        told: Vec::new(),
    };
    let mut sent = 0;
    let lossy = seed % 2 == 1;
    for pair in 1..80 {
        let gap = Span::from_secs_f64(0.0005 + 0.002 * rng.uniform());
        for _ in 0..=rng.below(30) {
            all.now += gap;
            sent += SEGMENT;
            if !(lossy && rng.below(20) == 0) {
                all.data();
            }
        }
        let virtual_delay =
            if rng.below(3) == 0 { Span::from_secs_f64(0.01 * rng.uniform()) } else { Span::ZERO };
        let sent_at = Time::from_nanos(all.now.as_nanos() - 10_000_000);
        let info = ControlInfo {
            pair,
            bytes_sent: Bytes::new(sent),
            sent_at,
            virtual_delay,
            ..ControlInfo::default()
        };
        let fate = if lossy { rng.below(12) } else { 11 };
        if fate != 0 {
            all.control(false, info);
        }
        // What waits before the in-band half left before it.
        for _ in 0..rng.below(12) {
            all.now += gap;
            all.data();
            sent += SEGMENT;
        }
        all.now += gap;
        if fate != 1 {
            all.control(true, ControlInfo { bytes_sent: Bytes::new(sent), ..info });
        }
        if fate == 2 {
            all.control(false, info);
            all.control(true, info);
        }
        if fate == 3 && pair > 1 {
            all.control(true, ControlInfo { pair: pair - 1, ..info });
        }
    }
}

#[test]
fn monaco_receives() {
    (0..300).for_each(arrivals);
}
