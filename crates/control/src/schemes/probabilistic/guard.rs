//! The sender's own check on a receiver that lets it send: the circuit breaker of RFC 8083, and an audit of the receiver's
//! luck. What the sender does about it is in `sender.rs`.
//!
//! A flow that sends `r_NA` where TCP would send `r_TCP` survives a period T with probability `r_TCP / r_NA`. The sender
//! multiplies these up by its own estimate, from what reports say arrived, since the receiver last stopped it. Once an honest
//! receiver would have let it go on with less than `SUSPICIOUS`, the sender stops by itself for as long as TCP
//! would have needed for what it sent. Its estimate takes every lost packet for a loss event, which makes `r_TCP` too small; so
//! it is doubled, and a flow that sends up to twice TCP's rate is never suspected.

use tailback_core::{Bytes, Envelope, Span, Time};

use crate::laws::circuit_breaker::{CircuitBreaker, Passed, SentLog, Trip};
use crate::laws::{AssumedTimeout, ThroughputEquation};

/// An honest receiver is suspected this often.
const SUSPICIOUS: f64 = 1e-3;
/// How often the breaker looks.
const INTERVAL: Span = Span::from_secs(1);
/// So many losses tell a rate; fewer do not, and most short stretches have none.
const LOSSES: f64 = 20.0;
/// By how much the sender's estimate of TCP's rate may be too small.
const LENIENCE: f64 = 2.0;

/// What the sender concludes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// The breaker trips.
    Breaker(Trip),
    /// The receiver should have stopped the flow; it owes so long an off-time.
    Distrust(Span),
}

/// The sender's checks.
#[derive(Clone, Debug)]
pub struct Guard {
    period: Span,
    /// The least size of packets of the TCP that it compares with, in bytes.
    nominal: f64,
    breaker: CircuitBreaker,
    log: SentLog,
    /// What passed since the last estimate.
    passed: Passed,
    round_trip: Option<Span>,
    /// The newest time echoed so far.
    newest: Option<Time>,
    /// Since the last stop.
    since: Option<Time>,
    /// What was sent since, and what TCP would have, in bytes.
    sent: f64,
    friendly: f64,
    /// The logarithm of the probability with which an honest receiver would still let it send.
    survival: f64,
}

impl Guard {
    /// For a period T, beside a TCP whose packets have at least so many bytes.
    pub fn new(period: Span, nominal: f64) -> Self {
        Self {
            period,
            nominal,
            breaker: CircuitBreaker::new(INTERVAL).beside_packets_of(nominal),
            log: SentLog::default(),
            passed: Passed::default(),
            round_trip: None,
            newest: None,
            since: None,
            sent: 0.0,
            friendly: 0.0,
            survival: 0.0,
        }
    }

    /// A packet leaves.
    pub fn on_sent(&mut self, now: Time, size: Bytes) {
        self.breaker.on_sent(now, size);
        self.log.on_sent(now, size);
        self.since.get_or_insert(now);
    }

    /// The flow was stopped, by whomever.
    pub fn on_stop(&mut self) {
        self.breaker.rest();
        (self.since, self.sent, self.friendly, self.survival) = (None, 0.0, 0.0, 0.0);
        self.passed = Passed::default();
    }

    /// The probability with which an honest receiver would still let it send, by the sender's estimate.
    pub fn survival(&self) -> f64 {
        self.survival.exp()
    }

    /// A report came.
    pub fn on_report(&mut self, now: Time, envelope: &Envelope) -> Option<Finding> {
        // A report that is repeated, or late, would give its own age as the round trip.
        if let Some(span) = envelope.round_trip(now).filter(|_| envelope.echo > self.newest) {
            self.newest = envelope.echo;
            self.round_trip = Some(self.round_trip.map_or(span, |old| (old * 9 + span) / 10));
        }
        if let Some(trip) = self.breaker.on_report(now, envelope) {
            return Some(Finding::Breaker(trip));
        }
        let (Some(_), Some(round_trip)) = (self.since, self.round_trip) else { return None };
        self.passed.add(&self.log.compare(envelope)?);
        if self.passed.loss * (self.passed.sent as f64) < LOSSES && self.passed.span < self.period {
            return None;
        }
        let passed = std::mem::take(&mut self.passed);
        let (packet, seconds) = (passed.bytes.as_f64() / passed.sent as f64, passed.span.as_secs_f64());
        self.sent += passed.bytes.as_f64();
        let equation = ThroughputEquation::new(packet.max(self.nominal), AssumedTimeout::FourRoundTrips);
        let friendly = LENIENCE * equation.rate(passed.loss, round_trip);
        let rate = passed.bytes.as_f64() / seconds.max(1e-9);
        self.friendly += friendly.min(rate * LENIENCE) * seconds;
        self.survival += (friendly / rate).min(1.0).ln() * seconds / self.period.as_secs_f64().max(1e-9);
        if self.survival < SUSPICIOUS.ln() && self.sent > self.friendly {
            let on = self.since.map_or(Span::ZERO, |since| now.since(since));
            return Some(Finding::Distrust(on.mul_f64(self.sent / self.friendly.max(1.0) - 1.0)));
        }
        None
    }
}
