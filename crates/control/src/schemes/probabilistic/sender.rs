//! The sender of probabilistic congestion control: its gate. The application's rate and packets pass untouched while it is
//! open. It closes when the receiver says so, when nothing is heard of the receiver for too long, and when the guard finds
//! that the receiver cannot be right.

use tailback_core::{
    BitRate, Controller, Cx, Directive, Feedback, Gate, ProbePlan, Report, Sent, Span, Time,
};

use super::guard::{Finding, Guard};
use super::{ProbabilisticConfig, ProbesConfig};
use crate::parts::ControllerParams;

/// The receiver hears at most so many probes per second before data.
const FASTEST_PROBES: Span = Span::from_millis(2);
/// A flow that the breaker stops, or that hears nothing, is off for at most so many T.
const LONGEST_OFF: u64 = 32;

/// What the gate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Data may leave.
    Open,
    /// Probes only, until the receiver says that data may.
    Asking,
    /// Closed until then.
    Closed(Time),
}

/// The sender's half.
#[derive(Clone, Debug)]
pub struct Probabilistic {
    period: Span,
    silence: Span,
    probes: Option<ProbesConfig>,
    /// Probes leave while data does, too: loss on and off is measured by the same packets.
    monitors: bool,
    phase: Phase,
    /// The first packet sent since the newest control packet.
    unanswered: Option<Time>,
    round_trip: Span,
    /// How often in a row nothing was heard, or the breaker tripped, before it was open for T.
    failures: u32,
    /// When the gate was opened last.
    opened: Time,
    guard: Option<Guard>,
    probe: u64,
    probe_at: Time,
    probe_gap: Span,
    /// The sender cannot know whether what it sends is right.
    unsure: bool,
}

impl Probabilistic {
    /// A connection's start.
    pub fn new(config: &ProbabilisticConfig, _: &ControllerParams) -> Self {
        let asks = config.probes.as_ref().is_some_and(|probes| probes.before_on);
        let gap = config.probes.as_ref().map_or(Span::MAX, |probes| probes.interval);
        Self {
            period: config.period,
            silence: config.silence,
            probes: config.probes.clone(),
            monitors: config.loss_monitoring.is_some(),
            phase: if asks { Phase::Asking } else { Phase::Open },
            unanswered: None,
            round_trip: Span::ZERO,
            failures: 0,
            opened: Time::ZERO,
            guard: config.guard.then(|| Guard::new(config.period, config.nominal())),
            probe: 0,
            probe_at: if asks || config.loss_monitoring.is_some() { Time::ZERO } else { Time::NEVER },
            probe_gap: gap,
            unsure: false,
        }
    }

    fn begin(&mut self, now: Time) {
        self.unanswered = None;
        match &self.probes {
            Some(probes) if probes.before_on => {
                self.phase = Phase::Asking;
                (self.probe_at, self.probe_gap) = (now, probes.interval);
            }
            _ => self.open(now),
        }
    }

    fn open(&mut self, now: Time) {
        (self.phase, self.opened) = (Phase::Open, now);
        if !self.monitors {
            self.probe_at = Time::NEVER;
        }
        self.unanswered = None;
    }

    fn close(&mut self, now: Time, span: Span) {
        self.phase = Phase::Closed(now + span);
        self.unanswered = None;
        if let Some(guard) = &mut self.guard {
            guard.on_stop();
        }
        if let Some(probes) = &self.probes {
            (self.probe_at, self.probe_gap) = (now + probes.interval, probes.interval);
        }
    }

    /// Off for T, twice T, … while it does not get better.
    fn close_alone(&mut self, now: Time) {
        let factor = (1_u64 << self.failures.min(5)).min(LONGEST_OFF);
        self.failures += 1;
        self.close(now, self.period * factor);
    }

    fn silent_at(&self) -> Option<Time> {
        let patience = self.silence.max(self.round_trip * 4);
        self.unanswered.map(|since| since + patience)
    }

    fn obey(&mut self, now: Time, on: bool, off_for: Span) {
        match (on, self.phase) {
            (true, Phase::Open) => {}
            // A report of the time before the gate closed opens nothing unless probes could have earned it.
            (true, Phase::Closed(_)) if !self.probes.as_ref().is_some_and(|probes| probes.while_off) => {}
            (true, _) => self.open(now),
            (false, Phase::Asking) if off_for.is_zero() => {}
            (false, Phase::Closed(until)) if until >= now + off_for => {}
            (false, _) => self.close(now, off_for),
        }
    }

    fn probe(&mut self, now: Time) {
        self.probe += 1;
        if self.phase == Phase::Asking {
            // §3.7.4: at an increasing rate, twice as many after each 16.
            if self.probe.is_multiple_of(16) {
                self.probe_gap = (self.probe_gap / 2).max(FASTEST_PROBES);
            }
        }
        self.probe_at = now + self.probe_gap;
    }
}

impl Controller for Probabilistic {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        self.unanswered.get_or_insert(now);
        if let Some(guard) = &mut self.guard {
            guard.on_sent(now, sent.size);
        }
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let Some(envelope) = feedback.report else { return };
        let Report::Gate { on, off_for } = envelope.report else { return };
        self.unanswered = None;
        if let Some(span) = envelope.round_trip(now) {
            self.round_trip = span;
        }
        let finding = self.guard.as_mut().and_then(|guard| guard.on_report(now, envelope));
        self.unsure =
            envelope.echo.is_none() || self.guard.as_ref().is_some_and(|guard| guard.survival() < 0.05);
        match finding {
            Some(Finding::Breaker(_)) if self.phase == Phase::Open => self.close_alone(now),
            Some(Finding::Distrust(span)) if self.phase == Phase::Open => {
                self.close(now, span.min(self.period * LONGEST_OFF));
            }
            _ => {
                let for_long = self.phase == Phase::Open && now.since(self.opened) >= self.period;
                if finding.is_none() && for_long {
                    self.failures = 0;
                }
                self.obey(now, on, off_for);
            }
        }
        cx.note("unsure", f64::from(u8::from(self.unsure)));
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        if let Phase::Closed(until) = self.phase
            && until <= now
        {
            self.begin(now);
        }
        if self.silent_at().is_some_and(|due| due <= now) {
            self.unsure = true;
            self.close_alone(now);
        }
        if self.probe_at <= now {
            self.probe(now);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        let closed = if let Phase::Closed(until) = self.phase { until } else { Time::NEVER };
        closed.min(self.silent_at().unwrap_or(Time::NEVER)).min(self.probe_at).finite()
    }

    fn directive(&self) -> Directive {
        let gate = match self.phase {
            Phase::Open => Gate::Open,
            Phase::Asking => Gate::Closed { until: None },
            Phase::Closed(until) => Gate::Closed { until: until.finite() },
        };
        let probe = (self.probe > 0).then_some(ProbePlan::ControlPair { id: self.probe });
        Directive { rate: None, gate, probe, ..Directive::rate(BitRate::ZERO) }
    }
}
