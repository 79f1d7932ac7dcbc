//! The receiver of probabilistic congestion control: measures round trips, losses and rates, asks the machine, and sends
//! its commands. Nothing is decided here.
//!
//! A round trip is measured as in §3.3: every packet echoes the newest control packet and how long it was held. Loss events
//! are those of RFC 5348, or those that a flow of TCP's rate would see. While the flow is off, probes measure: their
//! loss rate ℓ is one of packets, and the interval between loss events of a flow that sends X packets per second is taken
//! as `1/ℓ + X R`, which does not depend on the rate of probing (§3.7.3).

use tailback_core::{
    Arrival, BitRate, Bytes, ControlInfo, Cx, Ecn, FeedbackPolicy, Kind, Lane, Outgoing, Report, Span, Time,
};

use super::experiments::Rates;
use super::machine::{Command, Knowledge, Machine, State};
use super::monitor::Monitor;
use super::{ApplicationRate, FriendlyRate, ProbabilisticConfig};
use crate::estimators::{AveragedRate, LossCounting, LossEvents, Tear, ThinnedLosses};
use crate::laws::{AssumedTimeout, ThroughputEquation};
use crate::parts::ControllerParams;

/// A control packet on the wire.
const REPORT_SIZE: Bytes = Bytes::new(40);
/// The weight of history in the smoothed round trip time, as TFRC's.
const RTT_HISTORY: f64 = 0.9;
/// So many probes tell a loss rate.
const PROBES: f64 = 100.0;

/// The estimator of TCP's rate.
#[derive(Clone, Debug)]
enum Friendly {
    Equation(Box<LossEvents>),
    Normalised(Box<ThinnedLosses>),
    Tear(Box<Tear>, Box<LossEvents>),
}

/// The loss rate of probes.
#[derive(Clone, Copy, Debug, Default)]
struct ProbeLoss {
    newest: Option<u64>,
    /// Probes of which it is known, at most [`PROBES`], and the share lost.
    known: f64,
    share: f64,
}

impl ProbeLoss {
    /// A probe came; returns how many before it did not.
    fn on_probe(&mut self, number: u64) -> u64 {
        let lost = self.newest.map_or(0, |newest| number.saturating_sub(newest + 1)).min(1000);
        if self.newest.is_some_and(|newest| number <= newest) {
            return 0;
        }
        self.newest = Some(number);
        for is_lost in std::iter::repeat_n(1.0, lost as usize).chain([0.0]) {
            self.known = (self.known + 1.0).min(PROBES);
            self.share += (is_lost - self.share) / self.known;
        }
        lost
    }
}

/// What an evaluation went by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// When it was.
    pub at: Time,
    /// Of the network.
    pub known: Knowledge,
}

/// The receiver's half.
#[derive(Clone, Debug)]
pub struct ProbabilisticPolicy {
    config: ProbabilisticConfig,
    machine: Machine,
    friendly: Friendly,
    equation: ThroughputEquation,
    /// Mean size of data packets on the wire.
    segment: f64,
    round_trip: Option<f64>,
    /// The control packet that was echoed last.
    echoed: Option<Time>,
    sent: AveragedRate,
    stated: Option<f64>,
    /// The highest number that came.
    highest: Option<u64>,
    probes: ProbeLoss,
    monitor: Option<Monitor>,
    protected_since: Time,
    next_report: Time,
    /// When p is computed next, by whatever report follows.
    evaluate_at: Time,
    /// What the newest evaluation went by.
    evaluated: Option<Evaluation>,
    /// A command is repeated once per round trip, not for every packet that was under way.
    quiet_until: Time,
    command: Option<Command>,
}

impl ProbabilisticPolicy {
    /// A connection's start.
    pub fn new(config: &ProbabilisticConfig, params: &ControllerParams) -> Self {
        let counting =
            if config.small_packets { LossCounting::ShortIntervalsByLosses } else { LossCounting::Events };
        let events = || Box::new(LossEvents::new(&config.loss_intervals, counting));
        let friendly = match config.friendly_rate {
            FriendlyRate::Equation => Friendly::Equation(events()),
            FriendlyRate::Normalised => Friendly::Normalised(Box::new(ThinnedLosses::new(
                &config.loss_intervals,
                0x5851_f42d_4c95_7f2d,
            ))),
            FriendlyRate::Tear => Friendly::Tear(Box::new(Tear::new(&config.loss_intervals)), events()),
        };
        let memory = match config.application_rate {
            ApplicationRate::Measured { memory } => memory,
            _ => Span::from_secs(5),
        };
        let segment = params.segment.as_f64().max(1.0);
        Self {
            machine: Machine::new(config.period, config.jitter, config.options()),
            friendly,
            equation: ThroughputEquation::new(segment, AssumedTimeout::FourRoundTrips),
            segment,
            round_trip: None,
            echoed: None,
            sent: AveragedRate::new(memory),
            stated: None,
            highest: None,
            probes: ProbeLoss::default(),
            monitor: config.loss_monitoring.as_ref().map(Monitor::new),
            protected_since: Time::NEVER,
            next_report: Time::NEVER,
            evaluate_at: Time::ZERO,
            evaluated: None,
            quiet_until: Time::ZERO,
            command: None,
            config: config.clone(),
        }
    }

    /// Where the flow stands, for recorders.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// The newest evaluation, for checks against other implementations.
    pub fn evaluated(&self) -> Option<Evaluation> {
        self.evaluated
    }

    /// The machine, likewise.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    fn round(&self) -> Span {
        Span::from_secs_f64(self.round_trip.unwrap_or(1.0))
    }

    // ── measuring ──

    /// §3.3: from a control packet's departure here to the arrival of what echoes it, without the time that it was held.
    fn measure_round_trip(&mut self, now: Time, info: &ControlInfo) {
        let Some(echo) = info.echo.filter(|echo| self.echoed.is_none_or(|known| *echo > known)) else {
            return;
        };
        self.echoed = Some(echo);
        let left = echo + info.held;
        if left < now {
            let sample = now.since(left).as_secs_f64();
            let old = self.round_trip.unwrap_or(sample);
            self.round_trip = Some(RTT_HISTORY * old + (1.0 - RTT_HISTORY) * sample);
        }
    }

    fn on_data(&mut self, now: Time, arrival: &Arrival<'_>) {
        let packet = arrival.packet;
        if !arrival.is_new {
            return;
        }
        let size = packet.size().as_f64();
        self.segment += (size - self.segment) / 16.0;
        self.equation = ThroughputEquation::new(self.nominal(), AssumedTimeout::FourRoundTrips);
        // What is missing was sent, too.
        let steps = self.highest.map_or(1, |highest| packet.number.saturating_sub(highest)).min(10_000);
        self.highest = Some(self.highest.map_or(packet.number, |highest| highest.max(packet.number)));
        self.sent.add(now, size * steps as f64);
        let (round, marked) = (self.round(), packet.ecn() == Ecn::Ce);
        match &mut self.friendly {
            Friendly::Equation(events) => {
                events.on_arrival(now, packet.number, marked, true, round);
            }
            Friendly::Normalised(_) => self.on_normalised(now, packet.number, marked, round),
            Friendly::Tear(tear, events) => {
                let judged = events.on_arrival(now, packet.number, marked, true, round);
                tear.on_arrival(judged.losses, round);
            }
        }
    }

    /// The size of the packets of the TCP that the flow is compared with.
    fn nominal(&self) -> f64 {
        self.config.nominal().max(self.segment)
    }

    /// As many packets take part as a flow of TCP's rate would have sent.
    fn on_normalised(&mut self, now: Time, number: u64, marked: bool, round: Span) {
        let friendly = self.friendly_rate() * self.segment / self.nominal();
        let application = self.application_rate();
        let share = if application > 0.0 { (friendly / application).clamp(0.001, 1.0) } else { 1.0 };
        if let Friendly::Normalised(losses) = &mut self.friendly {
            losses.on_arrival(now, number, marked, true, round, share);
        }
    }

    fn application_rate(&self) -> f64 {
        match &self.config.application_rate {
            ApplicationRate::Fixed { rate } => rate.bytes_per_sec(),
            ApplicationRate::Stated => self.stated.or(self.sent.rate()).unwrap_or(0.0),
            ApplicationRate::Measured { .. } => self.sent.rate().unwrap_or(0.0),
        }
    }

    /// `r_TCP` by data packets.
    fn friendly_rate(&self) -> f64 {
        let round = self.round();
        match &self.friendly {
            Friendly::Equation(events) => self.equation.rate(events.event_rate(), round),
            Friendly::Normalised(losses) => self.equation.rate(losses.events().event_rate(), round),
            Friendly::Tear(tear, _) => tear.rate().map_or(f64::INFINITY, |rate| rate * self.segment),
        }
    }

    /// `r_TCP` by probes: the loss event rate at which the equation gives the rate that it was measured for.
    fn friendly_by_probes(&self) -> f64 {
        let (loss, round) = (self.probes.share, self.round());
        if loss <= 0.0 {
            return f64::INFINITY;
        }
        let mut rate = self.equation.rate(loss, round);
        for _ in 0..30 {
            let packets = rate / self.nominal();
            let events = 1.0 / (1.0 / loss + packets * round.as_secs_f64());
            // The mean of old and new: the map turns around.
            rate = 0.5 * (rate + self.equation.rate(events, round));
        }
        rate
    }

    fn is_full(&self) -> bool {
        match &self.friendly {
            Friendly::Equation(events) => events.history().is_full(),
            Friendly::Normalised(losses) => losses.events().history().is_full(),
            Friendly::Tear(tear, _) => tear.is_full(),
        }
    }

    fn knowledge(&mut self, now: Time) -> Knowledge {
        self.sent.update(now);
        let application = self.application_rate();
        let probing = !self.machine.state().is_on();
        let probes = self.probe_rate();
        if probing {
            let sufficient = self.probes.known >= PROBES && self.round_trip.is_some();
            let rates = Rates { friendly: self.friendly_by_probes(), application, probes };
            return Knowledge { rates, sufficient };
        }
        let limit = now.since(self.protected_since) >= self.config.protected_limit;
        let sufficient = self.round_trip.is_some() && application > 0.0 && (self.is_full() || limit);
        Knowledge { rates: Rates { friendly: self.friendly_rate(), application, probes }, sufficient }
    }

    /// `r_OFF`, in bytes per second: a pair of probes per interval.
    fn probe_rate(&self) -> f64 {
        let interval = self.config.probes.as_ref().map(|probes| probes.interval.as_secs_f64());
        interval.map_or(0.0, |seconds| 2.0 * REPORT_SIZE.as_f64() / seconds)
    }

    /// All that was measured belongs to the cycle before.
    fn forget(&mut self, now: Time) {
        match &mut self.friendly {
            Friendly::Equation(events) => events.restart(),
            Friendly::Normalised(losses) => losses.restart(),
            Friendly::Tear(tear, events) => {
                **tear = Tear::new(&self.config.loss_intervals);
                events.restart();
            }
        }
        self.sent.restart();
        self.protected_since = now;
        self.highest = None;
    }

    /// Data begins after probes: what they showed stands for a history (§3.7.3: no initialisation step).
    fn presume(&mut self, rate: f64) {
        let interval = 1.0 / self.equation.loss(rate, self.round());
        match &mut self.friendly {
            Friendly::Equation(events) => events.presume(interval),
            Friendly::Normalised(losses) => losses.presume(interval),
            Friendly::Tear(tear, events) => {
                tear.presume(rate / self.segment);
                events.restart();
            }
        }
        self.sent.restart();
        self.highest = None;
    }

    // ── deciding ──

    fn evaluate(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.evaluate_at = now + self.config.evaluation_interval;
        let known = self.knowledge(now);
        self.evaluated = Some(Evaluation { at: now, known });
        let was_on = self.machine.state().is_on();
        self.command = self.machine.on_knowledge(now, &known, cx.rng).or(self.command);
        let on = self.machine.state().is_on();
        match (was_on, on) {
            (true, false) => self.probes = ProbeLoss { newest: self.probes.newest, ..ProbeLoss::default() },
            (false, true) => self.presume(known.rates.friendly),
            _ => {}
        }
        if let Some(monitor) = &mut self.monitor {
            if on != was_on {
                monitor.switch(now, on);
            }
            cx.note("loss_factor", monitor.factor());
            if monitor.dominates() && self.machine.state() != State::Suspended {
                self.command = Some(self.machine.suspend());
            }
        }
        let seen = self.machine.experiments().probabilities(&known.rates);
        cx.note("friendly_rate", known.rates.friendly.min(1e15) * 8.0);
        cx.note("application_rate", known.rates.application * 8.0);
        cx.note("on_probability", seen.deciding().clamp(0.0, 1.0));
        cx.note("on", f64::from(u8::from(self.machine.state().is_on())));
        if let Friendly::Equation(events) = &self.friendly {
            cx.note("loss_event_rate", events.event_rate());
        }
    }

    /// A report per round trip, unless a command is more urgent.
    fn schedule(&mut self, now: Time) {
        let gap = self.round_trip.map_or(self.config.report_interval, |_| self.round());
        self.next_report = now + gap.max(self.config.report_interval);
    }

    fn say(&mut self, now: Time, on: bool, off_for: Span) -> Outgoing {
        self.schedule(now);
        self.quiet_until = now + self.round();
        Outgoing { report: Report::Gate { on, off_for }, lane: Lane::IN_BAND, size: REPORT_SIZE }
    }
}

impl FeedbackPolicy for ProbabilisticPolicy {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, cx: &mut Cx<'_>) {
        self.machine.on_time(now);
        if let Some(info) = arrival.control() {
            self.measure_round_trip(now, info);
            self.stated = info.app_rate.map(BitRate::bytes_per_sec).or(self.stated);
        }
        let before = self.machine.state();
        match arrival.packet.kind() {
            Kind::Data => {
                self.machine.on_data(now, cx.rng);
                if before == State::Idle && self.machine.state() != State::Idle {
                    self.forget(now);
                    if let Some(monitor) = &mut self.monitor {
                        monitor.switch(now, true);
                    }
                }
                if self.machine.state().is_on() {
                    self.on_data(now, arrival);
                }
            }
            Kind::Control if arrival.packet.lane() == Lane::IN_BAND => {
                self.machine.on_probe(cx.rng);
                let lost = self.probes.on_probe(arrival.packet.number);
                if let Some(monitor) = &mut self.monitor {
                    monitor.add(now, 1, lost);
                }
            }
            _ => return,
        }
        // Something came: it is answered, at once where nothing was said for long.
        if self.next_report.is_never() {
            self.next_report = now.max(self.quiet_until);
        }
    }

    fn poll_report(&mut self, now: Time, cx: &mut Cx<'_>) -> Option<Outgoing> {
        self.machine.on_time(now);
        if now >= self.next_report && self.command.is_none() {
            if now >= self.evaluate_at {
                self.evaluate(now, cx);
            }
            if self.command.is_none() {
                let state = self.machine.state();
                let off_for = match state {
                    State::Off { until } => until.since(now),
                    State::Suspended => Span::MAX,
                    _ => Span::ZERO,
                };
                let outgoing = self.say(now, state.is_on(), off_for);
                // Nothing more until something comes.
                self.next_report =
                    if state.is_on() && state != State::Idle { self.next_report } else { Time::NEVER };
                return Some(outgoing);
            }
        }
        match self.command.take()? {
            Command::Stop(span) => {
                let outgoing = self.say(now, false, span);
                self.next_report = Time::NEVER;
                Some(outgoing)
            }
            Command::Start => Some(self.say(now, true, Span::ZERO)),
        }
    }

    fn next_timer(&self) -> Option<Time> {
        let report = if self.command.is_some() { Time::ZERO } else { self.next_report };
        report.min(self.machine.next_timer().unwrap_or(Time::NEVER)).finite()
    }
}
