//! Any scheme of datagrams under the circuit breaker of RFC 8083: a controller around another, which ceases for good once the
//! breaker trips, and the reports that it needs of a receiver that sends none. The law is in `laws/circuit_breaker.rs`; the
//! probabilistic scheme, which may begin again, has it in a guard of its own.

use tailback_core::{
    AckWish, Arrival, Bytes, Controller, Cx, Directive, Feedback, FeedbackPolicy, Gate, Lane, Outgoing,
    Report, Sent, Span, Time,
};

use crate::by_parts::by_parts;
use crate::laws::circuit_breaker::{CircuitBreaker, Trip};

/// A report on the wire: a receiver report of RTCP.
const REPORT_SIZE: Bytes = Bytes::new(40);

/// A controller that ceases when the breaker trips (RFC 8083 §4.5). Nothing but a new flow begins again.
pub struct UnderBreaker<C> {
    inner: C,
    breaker: CircuitBreaker,
    tripped: bool,
}

impl<C: Controller> UnderBreaker<C> {
    /// Around a controller; the breaker looks every `interval`, `T_d`.
    pub fn new(inner: C, interval: Span) -> Self {
        Self { inner, breaker: CircuitBreaker::new(interval), tripped: false }
    }

    fn trip(&mut self, trip: Option<Trip>, cx: &mut Cx<'_>) {
        if let (Some(trip), false) = (trip, self.tripped) {
            self.tripped = true;
            cx.note("circuit_breaker", f64::from(trip.number()));
        }
    }
}

#[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
impl<C: Controller> Controller for UnderBreaker<C> {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        self.breaker.on_sent(now, sent.size);
        self.inner.on_sent(now, sent, cx);
    }

    by_parts!();

    /// The breaker counts what leaves.
    fn watches_sent(&self) -> bool {
        true
    }

    fn watches_pauses_only(&self) -> bool {
        false
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(envelope) = feedback.report {
            let trip = self.breaker.on_report(now, envelope);
            self.trip(trip, cx);
        }
        self.inner.on_feedback(now, feedback, cx);
    }

    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        let trip = self.breaker.on_timer(now);
        self.trip(trip, cx);
        if self.inner.next_timer().is_some_and(|due| due <= now) {
            self.inner.on_timer(now, cx);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        if self.tripped {
            return None;
        }
        let own = self.breaker.next_timer().unwrap_or(Time::NEVER);
        own.min(self.inner.next_timer().unwrap_or(Time::NEVER)).finite()
    }

    fn directive(&self) -> Directive {
        let inner = self.inner.directive();
        if self.tripped {
            Directive { gate: Gate::Closed { until: None }, probe: None, ..inner }
        } else {
            inner
        }
    }

    fn ack_wish(&self) -> AckWish {
        self.inner.ack_wish()
    }
}

/// What the breaker needs of a receiver: once per interval in which something came, a report. What arrived, and a round trip,
/// is told by every report; this one adds nothing.
#[derive(Clone, Debug)]
pub struct ReceptionReports {
    interval: Span,
    due: Time,
    reported: Time,
    received: Bytes,
    packets: u32,
}

impl ReceptionReports {
    /// One per `interval`.
    pub fn new(interval: Span) -> Self {
        let (due, reported, received) = (Time::NEVER, Time::ZERO, Bytes::ZERO);
        Self { interval, due, reported, received, packets: 0 }
    }
}

impl FeedbackPolicy for ReceptionReports {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        if arrival.is_data() {
            self.received += arrival.packet.size();
            self.packets = self.packets.saturating_add(1);
            if self.due.is_never() {
                self.due = now.max(self.reported + self.interval);
            }
        }
    }

    fn poll_report(&mut self, now: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        if now < self.due {
            return None;
        }
        let (received, packets) = (std::mem::take(&mut self.received), std::mem::take(&mut self.packets));
        let span = now.since(self.reported);
        (self.due, self.reported) = (Time::NEVER, now);
        let report = Report::Interval { span, received, packets, lost: 0 };
        Some(Outgoing { report, lane: Lane::IN_BAND, size: REPORT_SIZE })
    }

    fn next_timer(&self) -> Option<Time> {
        self.due.finite()
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Envelope, Stream};

    use super::*;
    use crate::parts::ControllerParams;
    use crate::schemes::{FixedRate, FixedRateConfig};

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// A fixed rate of a packet per 2 ms over a round trip of 100 ms, of which the given share arrives, for 20 s: when it
    /// ceased.
    fn ceases(arrives: f64, reports: bool) -> Option<u64> {
        let (mut rng, mut notes) = (Stream::new(1, "breaker"), Vec::new());
        let params = ControllerParams::unlimited(Bytes::new(1000), 10);
        let inner = FixedRate::new(&FixedRateConfig::default(), &params);
        let mut made = UnderBreaker::new(inner, Span::from_secs(1));
        for millis in 0..20_000 {
            let mut cx = Cx { rng: &mut rng, notes: Some(&mut notes) };
            if made.next_timer().is_some_and(|due| due <= at(millis)) {
                made.on_timer(at(millis), &mut cx);
            }
            if !made.directive().gate.is_open() {
                assert_eq!(made.next_timer(), None, "for good");
                return Some(millis);
            }
            if millis % 2 == 0 {
                let size = Bytes::new(1000);
                let mut sent = Sent {
                    number: millis / 2,
                    size,
                    in_flight: size,
                    retransmission: false,
                    pair: tailback_core::PairPosition::Single,
                    app_limited: false,
                    tag: 0,
                };
                made.on_sent(at(millis), &mut sent, &mut cx);
            }
            if reports && millis % 1000 == 500 {
                let echo = at((millis - 100) / 2 * 2);
                let sent = (millis - 100) / 2 + 1;
                let report =
                    Report::Interval { span: Span::from_secs(1), received: Bytes::ZERO, packets: 0, lost: 0 };
                let envelope = Envelope {
                    echo: Some(echo),
                    arrived_packets: (sent as f64 * arrives) as u64,
                    ..Envelope::bare(report)
                };
                made.on_feedback(
                    at(millis),
                    &Feedback { report: Some(&envelope), ..Feedback::empty() },
                    &mut cx,
                );
            }
        }
        None
    }

    #[test]
    fn a_fixed_rate_ceases_at_ten_times_tcps() {
        // 10 % of loss: TCP has 38.7 packets a second (RFC 8083 §4.3), this has 500.
        let ceased = ceases(0.9, true).expect("ceases");
        assert!((3000..=5000).contains(&ceased), "{ceased}");
        // At 0.4 % TCP has 194, and 500 are less than ten times that.
        assert_eq!(ceases(0.996, true), None);
    }

    #[test]
    fn a_fixed_rate_ceases_when_nobody_reports() {
        let ceased = ceases(1.0, false).expect("ceases");
        assert!((3000..=3100).contains(&ceased), "{ceased}");
    }

    #[test]
    fn reports_come_once_per_interval_in_which_something_came() {
        let mut policy = ReceptionReports::new(Span::from_secs(1));
        let mut rng = Stream::new(1, "reports");
        let mut cx = Cx { rng: &mut rng, notes: None };
        let packet = tailback_core::Packet::new(
            tailback_core::Kind::Data,
            tailback_core::FlowId::from(0_usize),
            0,
            Bytes::new(1000),
        );
        let mut sent = 0;
        for millis in 0..10_000 {
            if millis < 5000 && millis % 10 == 0 {
                policy.on_arrival(
                    at(millis),
                    &Arrival { packet: &packet, annex: None, is_new: true },
                    &mut cx,
                );
            }
            sent += u32::from(policy.poll_report(at(millis), &mut cx).is_some());
        }
        assert!((5..=6).contains(&sent), "{sent}");
        assert_eq!(policy.next_timer(), None);
    }
}
