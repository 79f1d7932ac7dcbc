//! TFRC's receiver (RFC 5348 §6): finds loss events, measures the receive rate, and reports both once per round trip and
//! at once when the loss event rate rises.

use tailback_core::{Arrival, BitRate, Bytes, Cx, Ecn, FeedbackPolicy, Lane, Outgoing, Report, Span, Time};

use super::TfrcConfig;
use crate::estimators::{LossEvents, WindowedRate};
use crate::laws::ThroughputEquation;
use crate::parts::ControllerParams;

/// A report on the wire, as that of ns-2.
const REPORT_SIZE: Bytes = Bytes::new(40);

/// The receiver's half.
#[derive(Clone, Debug)]
pub struct TfrcPolicy {
    events: LossEvents,
    equation: ThroughputEquation,
    segment: f64,
    /// The sender's round trip time, from its stamps.
    round_trip: Option<Span>,
    arrivals: WindowedRate,
    /// The largest receive rate so far, in bytes per second.
    fastest: f64,
    /// Data has come since the last report.
    fresh: bool,
    reported_at: Time,
    reported_loss: f64,
    timer: Time,
    due: bool,
}

impl TfrcPolicy {
    /// A connection's start.
    pub fn new(config: &TfrcConfig, params: &ControllerParams) -> Self {
        let segment = config.nominal(params.segment.as_f64());
        Self {
            events: LossEvents::new(&config.loss_intervals, config.counting()),
            equation: ThroughputEquation::new(segment, config.assumed_timeout),
            segment,
            round_trip: None,
            arrivals: WindowedRate::default(),
            fastest: 0.0,
            fresh: false,
            reported_at: Time::ZERO,
            reported_loss: 0.0,
            timer: Time::NEVER,
            due: false,
        }
    }

    /// What is taken for a round trip before one is known.
    fn round(&self) -> Span {
        self.round_trip.unwrap_or(Span::from_secs(1))
    }

    /// §6.3.1: the first interval is the one with which the equation gives the rate that had been reached. In slow start the
    /// sender is at twice the receive rate, so this is half of the rate at which the loss came.
    fn seed(&mut self, now: Time) {
        let round = self.round();
        let reached = self.fastest.max(self.arrivals.rate(now, round));
        let target = if reached > 0.0 { reached } else { 0.5 * self.segment / round.as_secs_f64() };
        self.events.seed(1.0 / self.equation.loss(target, round));
    }

    /// §6.2: the receive rate is that of the time since the last expiration of the timer that is a round trip ago or more. While
    /// nothing comes, the timer expires once per round trip without a report: silence does not make the rate small.
    fn covered(&self, now: Time) -> Span {
        let (round, late) = (self.round(), now.since(self.timer));
        if late < round || round.is_zero() {
            return now.since(self.reported_at).max(round);
        }
        round + Span::from_nanos(late.as_nanos() % round.as_nanos())
    }

    fn report(&mut self, now: Time, cx: &mut Cx<'_>) -> Outgoing {
        let first = self.reported_at == Time::ZERO;
        let window = self.covered(now);
        let rate = if first || self.round_trip.is_none() { 0.0 } else { self.arrivals.rate(now, window) };
        self.fastest = self.fastest.max(rate);
        self.reported_loss = self.events.event_rate();
        self.reported_at = now;
        self.timer = now + self.round();
        (self.fresh, self.due) = (false, false);
        cx.note("loss_event_rate", self.reported_loss);
        cx.note("receive_rate", rate * 8.0);
        let report = Report::Loss {
            event_rate: self.reported_loss,
            receive_rate: BitRate::from_bits_per_sec_f64(rate * 8.0),
        };
        Outgoing { report, lane: Lane::IN_BAND, size: REPORT_SIZE }
    }
}

impl FeedbackPolicy for TfrcPolicy {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        if !arrival.is_data() {
            return;
        }
        let first = self.timer.is_never();
        if let Some(span) = arrival.control().and_then(|info| info.rtt) {
            if self.round_trip.is_none() && !first {
                self.timer = self.reported_at + span;
            }
            self.round_trip = Some(span);
        }
        let packet = arrival.packet;
        // Twice what a report covers now: the round trip may grow before it leaves.
        let window = self.covered(now) * 2;
        self.arrivals.add(now, packet.size().get(), window);
        self.fresh = true;
        let had_losses = self.events.event_began().is_some();
        let marked = packet.ecn() == Ecn::Ce;
        let judged = self.events.on_arrival(now, packet.number, marked, arrival.is_new, self.round());
        if judged.events > 0 && !had_losses {
            self.seed(now);
        }
        self.due |= first || judged.events > 0 && self.events.event_rate() > self.reported_loss;
    }

    fn poll_report(&mut self, now: Time, cx: &mut Cx<'_>) -> Option<Outgoing> {
        if now >= self.timer {
            if !self.fresh {
                // The next packet of data will be reported at once (§6.1).
                return None;
            }
            self.due = true;
        }
        self.due.then(|| self.report(now, cx))
    }

    fn next_timer(&self) -> Option<Time> {
        if self.due { Some(Time::ZERO) } else { self.timer.finite().filter(|_| self.fresh) }
    }
}
