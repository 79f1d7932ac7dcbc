//! The circuit breaker of RFC 8083 for senders that nothing else stops: it looks at what reports tell of what was sent, and
//! says when to cease. Who obeys is elsewhere: `breaker.rs`, and the probabilistic
//! scheme's sender.
//!
//! Once per interval `T_d` with a report:
//!
//! - *congestion* (§4.3): more was sent than ten times `s / (T_r √(2p/3))`, p the share of packets that did not arrive;
//! - *media time-out* (§4.2): something was sent and nothing arrived.
//!
//! In as many intervals in a row as §4.3's `CB_INTERVAL`, either trips the breaker; so does hearing nothing at all for as long
//! (§4.1). The usability of media (§4.4) is the application's to judge.
//!
//! A report's counts are the receiver's word. One that counts more than was sent is caught and taken for no report; one that
//! lies about less cannot be known.

use std::collections::VecDeque;

use tailback_core::{Bytes, Envelope, Span, Time};

/// The limit of §4.3, in multiples of TCP's rate.
const TIMES: f64 = 10.0;
/// Packets on record at most: whoever has more in flight is not recorded exactly.
const MOST: usize = 1 << 16;

/// Why to cease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trip {
    /// Nothing was heard.
    Silence,
    /// Nothing arrived.
    Nothing,
    /// Ten times more was sent than TCP would have.
    Congestion,
}

impl Trip {
    /// For recorders: 1 silence, 2 nothing arrived, 3 congestion.
    pub const fn number(self) -> u8 {
        match self {
            Self::Silence => 1,
            Self::Nothing => 2,
            Self::Congestion => 3,
        }
    }
}

/// What was sent and what arrived between two reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Passed {
    /// Packets sent.
    pub sent: u64,
    /// What they hold together.
    pub bytes: Bytes,
    /// The share of packets that did not arrive, from 0 to 1.
    pub loss: f64,
    /// How long they took to leave.
    pub span: Span,
}

impl Passed {
    /// What passed next is added.
    pub fn add(&mut self, next: &Self) {
        let lost = self.loss * self.sent as f64 + next.loss * next.sent as f64;
        self.sent += next.sent;
        self.bytes += next.bytes;
        self.span += next.span;
        self.loss = lost / (self.sent.max(1) as f64);
    }
}

/// Counts of what was sent, to be compared with reports.
#[derive(Clone, Debug, Default)]
pub struct SentLog {
    /// When, and packets and bytes sent by then, those included.
    log: VecDeque<(Time, u64, Bytes)>,
    packets: u64,
    bytes: Bytes,
    /// The last report: echo, packets and bytes sent by then, packets that had arrived.
    last: Option<(Time, u64, Bytes, u64)>,
    first: Time,
}

impl SentLog {
    /// A packet leaves.
    pub fn on_sent(&mut self, now: Time, size: Bytes) {
        if self.packets == 0 {
            self.first = now;
        }
        self.packets += 1;
        self.bytes += size;
        if self.log.len() == MOST {
            self.log.pop_front();
        }
        self.log.push_back((now, self.packets, self.bytes));
    }

    /// Packets sent so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// What passed since the last report that was taken; `None` for one that echoes nothing new or counts what was not sent.
    pub fn compare(&mut self, envelope: &Envelope) -> Option<Passed> {
        let echo = envelope.echo?;
        let (from, sent_before, bytes_before, arrived_before) =
            self.last.unwrap_or((self.first, 0, Bytes::ZERO, 0));
        let mut reached = None;
        for entry in self.log.iter().take_while(|(at, ..)| *at <= echo) {
            reached = Some(*entry);
        }
        let (at, sent, bytes) = reached?;
        let arrived = envelope.arrived_packets;
        if sent <= sent_before || arrived > sent || arrived < arrived_before {
            return None;
        }
        while self.log.front().is_some_and(|(time, ..)| *time < at) {
            self.log.pop_front();
        }
        self.last = Some((at, sent, bytes, arrived));
        let (left, came) = (sent - sent_before, arrived - arrived_before);
        let loss = 1.0 - (came as f64 / left as f64).min(1.0);
        Some(Passed { sent: left, bytes: bytes - bytes_before, loss, span: at.since(from) })
    }
}

/// The breaker.
#[derive(Clone, Debug)]
pub struct CircuitBreaker {
    interval: Span,
    /// The least size of packets of the TCP that is compared with.
    nominal: f64,
    log: SentLog,
    round_trip: Span,
    congested: u32,
    empty: u32,
    compared_at: Time,
    /// The first packet sent since the last report.
    unanswered: Option<Time>,
}

impl CircuitBreaker {
    /// A breaker that looks every `interval`, `T_d`.
    pub fn new(interval: Span) -> Self {
        Self {
            interval,
            nominal: 0.0,
            log: SentLog::default(),
            round_trip: Span::ZERO,
            congested: 0,
            empty: 0,
            compared_at: Time::ZERO,
            unanswered: None,
        }
    }

    /// The same beside a TCP whose packets have at least so many bytes, for flows of small packets; the RFC takes the
    /// flow's own size.
    #[must_use]
    pub fn beside_packets_of(self, bytes: f64) -> Self {
        Self { nominal: bytes, ..self }
    }

    /// `CB_INTERVAL` of §4.3, in intervals, for media without frames.
    pub fn patience(&self) -> u32 {
        let (td, tr) = (self.interval.as_secs_f64().max(1e-9), self.round_trip.as_secs_f64());
        let span = (10.0 * tr).max(3.0 * td).min((3.0 * td).max(15.0));
        (span / td).ceil() as u32
    }

    /// A packet leaves.
    pub fn on_sent(&mut self, now: Time, size: Bytes) {
        self.log.on_sent(now, size);
        self.unanswered.get_or_insert(now);
    }

    /// When silence will have lasted too long.
    pub fn next_timer(&self) -> Option<Time> {
        let patience = self.interval * u64::from(self.patience()) + self.round_trip;
        self.unanswered.map(|since| since + patience)
    }

    /// Whether nothing was heard for too long.
    pub fn on_timer(&self, now: Time) -> Option<Trip> {
        self.next_timer().filter(|due| *due <= now).map(|_| Trip::Silence)
    }

    /// The sender stopped, and begins anew.
    pub fn rest(&mut self) {
        (self.congested, self.empty, self.unanswered) = (0, 0, None);
    }

    /// A report came.
    pub fn on_report(&mut self, now: Time, envelope: &Envelope) -> Option<Trip> {
        self.unanswered = None;
        if let Some(span) = envelope.round_trip(now) {
            self.round_trip = span;
        }
        if now.since(self.compared_at) < self.interval {
            return None;
        }
        let passed = self.log.compare(envelope)?;
        self.compared_at = now;
        self.empty = if passed.loss >= 1.0 { self.empty + 1 } else { 0 };
        self.congested = if self.exceeds(&passed) { self.congested + 1 } else { 0 };
        if self.empty >= self.patience() {
            Some(Trip::Nothing)
        } else if self.congested >= self.patience() {
            Some(Trip::Congestion)
        } else {
            None
        }
    }

    fn exceeds(&self, passed: &Passed) -> bool {
        if passed.loss <= 0.0 || passed.sent == 0 {
            return false;
        }
        let packet = (passed.bytes.as_f64() / passed.sent as f64).max(self.nominal);
        let tcp = packet / (self.round_trip.as_secs_f64().max(1e-9) * (2.0 * passed.loss / 3.0).sqrt());
        passed.bytes.as_f64() / passed.span.as_secs_f64().max(1e-9) > TIMES * tcp
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Report;

    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn report(echo: Time, arrived: u64) -> Envelope {
        let bare = Envelope::bare(Report::Gate { on: true, off_for: Span::ZERO });
        Envelope {
            echo: Some(echo),
            arrived_packets: arrived,
            arrived_bytes: Bytes::new(1000 * arrived),
            ..bare
        }
    }

    /// A packet of 1000 bytes every `gap` ms for 20 s, the given share of which arrives, reports every 100 ms after a
    /// round trip of 100 ms; when the breaker trips, if it does.
    fn run(gap: u64, arrives: f64, reports: bool) -> Option<(u64, Trip)> {
        let mut breaker = CircuitBreaker::new(Span::from_secs(1));
        let mut sent = 0;
        for millis in 0..20_000 {
            if millis % gap == 0 {
                breaker.on_sent(at(millis), Bytes::new(1000));
                sent += 1;
            }
            if let Some(trip) = breaker.on_timer(at(millis)) {
                return Some((millis, trip));
            }
            if reports && millis % 100 == 0 && millis >= 100 {
                let echoed = (millis - 100) / gap + 1;
                let came = (echoed as f64 * arrives) as u64;
                if let Some(trip) =
                    breaker.on_report(at(millis), &report(at((millis - 100) / gap * gap), came))
                {
                    return Some((millis, trip));
                }
            }
        }
        assert!(sent > 0);
        None
    }

    #[test]
    fn ten_times_tcp_trips_and_nine_times_does_not() {
        // 10 % loss at 100 ms: s / (0.1 · √(0.2/3)) = 38.7 packets a second, ten times that 387.
        assert_eq!(run(3, 0.9, true), None, "333 packets per second");
        let (millis, trip) = run(2, 0.9, true).expect("500 packets per second");
        assert_eq!(trip, Trip::Congestion);
        assert!((3000..=4200).contains(&millis), "three intervals: {millis}");
    }

    #[test]
    fn what_never_arrives_trips() {
        let (millis, trip) = run(20, 0.0, true).expect("nothing arrives");
        assert_eq!(trip, Trip::Nothing);
        assert!((3000..=4200).contains(&millis), "{millis}");
    }

    #[test]
    fn silence_trips() {
        assert_eq!(run(20, 1.0, false), Some((3000, Trip::Silence)));
    }

    #[test]
    fn without_loss_any_rate_is_right() {
        assert_eq!(run(1, 1.0, true), None);
    }

    #[test]
    fn counts_that_cannot_be_are_no_reports() {
        let mut log = SentLog::default();
        for millis in 0..10 {
            log.on_sent(at(millis), Bytes::new(1000));
        }
        assert_eq!(log.compare(&report(at(5), 7)), None, "seven of six");
        let passed = log.compare(&report(at(5), 3)).expect("six sent, three came");
        assert_eq!((passed.sent, passed.loss, passed.bytes), (6, 0.5, Bytes::new(6000)));
        assert_eq!(log.compare(&report(at(5), 3)), None, "repeated");
        assert_eq!(log.compare(&report(at(9), 2)), None, "fewer than before");
    }
}
