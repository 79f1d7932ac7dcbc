//! TFRC's sender (RFC 5348 §4): the rate from reports, the no-feedback timer, slow start, the receive rates that bound it,
//! and damped oscillation. Measuring loss is the receiver's business.

use tailback_core::{BitRate, Controller, Cx, Directive, Envelope, Feedback, Report, Sent, Span, Time};

use super::TfrcConfig;
use super::receive_rates::ReceiveRates;
use crate::estimators::TickTimeout;
use crate::laws::ThroughputEquation;
use crate::parts::ControllerParams;

/// `t_mbi`: at least one packet in so long (RFC 5348 §4.3).
const LONGEST_GAP: Span = Span::from_secs(64);
/// The no-feedback timer before the first report (RFC 5348 §4.2).
const FIRST_TIMER: Span = Span::from_secs(2);
/// TFRC-SP's least gap between packets (RFC 4828 §4.3).
const LEAST_GAP: Span = Span::from_millis(10);
/// What losses while data-limited leave of the receive rate (RFC 5348 §4.3).
const DATA_LIMITED: f64 = 0.85;

/// Smoothed round trip times.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    /// R, in seconds.
    smoothed: f64,
    latest: f64,
    /// `R_sqmean`: the smoothed square root (RFC 5348 §4.5).
    root: f64,
}

/// The sender's half.
#[derive(Clone, Debug)]
pub struct Tfrc {
    config: TfrcConfig,
    /// s: the mean size of packets on the wire, in bytes.
    segment: f64,
    round_trip: Option<RoundTrip>,
    /// The time-out of the TCP that is imitated, as measured.
    timeout: TickTimeout,
    /// X, in bytes per second.
    rate: f64,
    /// `X_Bps` of the last report with losses.
    computed: f64,
    loss: f64,
    received: ReceiveRates,
    /// tld: when slow start last doubled the rate.
    doubled_at: Time,
    /// When the equation last set the rate.
    changed_at: Time,
    timer: Time,
    /// Something was sent since the timer was set.
    active: bool,
    /// Departures that the rate held up, not the application; thinned to eight per round trip.
    held_up: Vec<Time>,
    /// The gap's random factor.
    gap: f64,
}

impl Tfrc {
    /// A connection's start: one packet per second (RFC 5348 §4.2).
    pub fn new(config: &TfrcConfig, params: &ControllerParams) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        Self {
            config: config.clone(),
            segment,
            round_trip: None,
            timeout: TickTimeout::new(config.timeout_tick),
            rate: segment,
            computed: f64::INFINITY,
            loss: 0.0,
            received: ReceiveRates::unlimited(),
            doubled_at: Time::ZERO,
            changed_at: Time::ZERO,
            timer: Time::NEVER,
            active: false,
            held_up: Vec::new(),
            gap: 1.0,
        }
    }

    /// `W_init` / R (RFC 5348 §4.2): two to four packets, at most 4380 bytes of them.
    fn initial_rate(&self) -> f64 {
        let window = (4.0 * self.segment).min((2.0 * self.segment).max(4380.0));
        self.round_trip.map_or(self.segment, |known| window / known.smoothed.max(1e-9))
    }

    /// s / `t_mbi`.
    fn least_rate(&self) -> f64 {
        self.segment / LONGEST_GAP.as_secs_f64()
    }

    fn equation(&self, round_trip: &RoundTrip) -> f64 {
        let nominal = self.config.nominal(self.segment);
        let mut equation = ThroughputEquation::new(nominal, self.config.assumed_timeout);
        if let Some(span) = self.timeout.timeout() {
            equation = equation.with_timeout(span);
        }
        equation.rate(self.loss, Span::from_secs_f64(round_trip.smoothed))
    }

    /// Steps 1 and 2 of §4.3.
    fn sample(&mut self, span: Span) -> RoundTrip {
        let (latest, q) = (span.as_secs_f64().max(1e-9), self.config.rtt_history);
        let known = match self.round_trip {
            None => RoundTrip { smoothed: latest, latest, root: latest.sqrt() },
            Some(old) => RoundTrip {
                smoothed: q * old.smoothed + (1.0 - q) * latest,
                latest,
                root: q * old.root + (1.0 - q) * latest.sqrt(),
            },
        };
        self.round_trip = Some(known);
        self.timeout.sample(span);
        known
    }

    fn on_report(&mut self, now: Time, envelope: &Envelope, loss: f64, received: f64) {
        let Some(span) = envelope.round_trip(now) else { return };
        let first = self.round_trip.is_none();
        let round_trip = self.sample(span);
        let smoothed = Span::from_secs_f64(round_trip.smoothed);
        // The first report's rate of nothing bounds nothing, whoever timed the packet: §4.2 takes step 4's place.
        let data_limited = !first && self.was_data_limited(envelope.echo.unwrap_or(Time::ZERO), smoothed);
        let worse = loss > self.loss;
        self.loss = loss;
        if first {
            // §4.2: the first report tells nothing but the round trip.
            self.rate = self.initial_rate();
            self.doubled_at = now;
        }
        let limit = self.limit(now, received, smoothed, data_limited, worse);
        if loss > 0.0 {
            self.computed = self.equation(&round_trip);
            let gradual = self.gradual(now, &round_trip);
            self.rate = self.computed.min(limit).min(gradual).max(self.least_rate());
        } else if !first && now.since(self.doubled_at) >= smoothed {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate());
            self.doubled_at = now;
        }
        self.set_timer(now);
    }

    /// What the rate may have become by now where it rises gradually: a packet per round trip more, for two of them at most.
    fn gradual(&mut self, now: Time, round_trip: &RoundTrip) -> f64 {
        let rounds = now.since(self.changed_at).as_secs_f64() / round_trip.smoothed;
        self.changed_at = now;
        if self.config.gradual_increase {
            self.rate + self.segment / round_trip.smoothed * rounds.min(2.0)
        } else {
            f64::INFINITY
        }
    }

    /// Step 4 of §4.3: what the receive rates allow.
    fn limit(&mut self, now: Time, received: f64, round_trip: Span, data_limited: bool, worse: bool) -> f64 {
        if data_limited && worse {
            self.received.halve();
            self.received.maximize(now, DATA_LIMITED * received);
            return self.received.largest();
        }
        if data_limited {
            self.received.maximize(now, received);
        } else {
            self.received.update(now, received, round_trip);
        }
        2.0 * self.received.largest()
    }

    /// Whether the application, not the rate, timed every packet of the round trip that ends with the report's newest (§8.2.1).
    /// What lies between two reports would be too short: one may follow the other at once.
    fn was_data_limited(&mut self, echo: Time, round_trip: Span) -> bool {
        let is_before = |at: Time, spans: u64| at + round_trip * spans <= echo;
        let held = self.held_up.iter().any(|at| !is_before(*at, 1) && *at <= echo);
        self.held_up.retain(|at| !is_before(*at, 2));
        !held
    }

    fn set_timer(&mut self, now: Time) {
        let quiet = 2.0 * self.segment / self.rate;
        let span =
            self.round_trip.map_or(FIRST_TIMER.as_secs_f64(), |known| (4.0 * known.smoothed).max(quiet));
        self.timer = now + Span::from_secs_f64(span);
        self.active = false;
    }

    /// §4.4: no report came.
    fn on_silence(&mut self, now: Time) {
        let largest = self.received.largest();
        let recover = self.initial_rate();
        if self.round_trip.is_none() {
            if self.active {
                self.halve();
            }
        } else if !self.active
            && (self.loss > 0.0 && largest < recover || self.loss == 0.0 && self.rate < 2.0 * recover)
        {
            // Idle, and at a rate that a start would have: nothing to take back.
        } else if self.loss == 0.0 {
            self.halve();
        } else if self.computed > 2.0 * largest {
            self.limit_to(now, largest);
        } else {
            self.limit_to(now, 0.5 * self.computed);
        }
        self.set_timer(now);
    }

    fn halve(&mut self) {
        self.rate = (0.5 * self.rate).max(self.least_rate());
    }

    /// `Update_Limits` of §4.4.
    fn limit_to(&mut self, now: Time, limit: f64) {
        self.received.replace(now, 0.5 * limit.max(self.least_rate()));
        self.rate = self.computed.min(2.0 * self.received.largest()).max(self.least_rate());
    }

    /// `X_inst`: the rate in force (§4.5), and TFRC-SP's least gap.
    fn in_force(&self) -> f64 {
        let damped = match self.round_trip {
            Some(known) if self.config.damping => self.rate * known.root / known.latest.sqrt(),
            _ => self.rate,
        };
        let damped = damped.max(self.least_rate());
        if self.config.small_packets { damped.min(self.segment / LEAST_GAP.as_secs_f64()) } else { damped }
    }
}

impl Controller for Tfrc {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        if self.timer.is_never() {
            self.set_timer(now);
        }
        self.active = true;
        self.segment += (sent.size.as_f64() - self.segment) / 16.0;
        if !sent.app_limited {
            let apart = self.round_trip.map_or(0.0, |known| known.smoothed / 8.0);
            if self.held_up.last().is_none_or(|last| now.since(*last).as_secs_f64() >= apart) {
                self.held_up.push(now);
            }
        }
        if self.config.gap_jitter > 0.0 {
            self.gap = 1.0 + self.config.gap_jitter * (2.0 * cx.rng.uniform() - 1.0);
        }
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let Some(envelope) = feedback.report else { return };
        let Report::Loss { event_rate, receive_rate } = envelope.report else { return };
        let sensible = (0.0..=1.0).contains(&event_rate);
        let loss = if sensible { event_rate } else { 1.0 };
        self.on_report(now, envelope, loss, receive_rate.bytes_per_sec());
        cx.note("equation_rate", self.computed.min(1e15) * 8.0);
        cx.note("loss_event_rate", self.loss);
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        if now >= self.timer {
            self.on_silence(now);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer.finite()
    }

    fn directive(&self) -> Directive {
        // At most a packet per nanosecond, so that no absurd report makes an absurd rate.
        let bits = (self.in_force() * 8.0 / self.gap).clamp(1.0, 1e14);
        Directive::rate(BitRate::from_bits_per_sec_f64(bits))
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
