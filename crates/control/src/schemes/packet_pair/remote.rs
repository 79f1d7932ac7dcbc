//! Packet-pair run at the receiver (Keshav 1994, §10.4): the sender puts its state into a header of every packet, the
//! receiver measures the spacing of pairs as they arrive, runs estimator and law of `mod.rs`, and tells the sender its
//! rate after every pair. The sender obeys.
//!
//! The header is the stamp of every packet: which transmission it is, S when it left, and the newest report that the
//! sender had seen, echoed, from which the receiver has the round trip time. A pair is two transmissions in a row.
//!
//! S in the header is a round trip older than S when the report will be obeyed. The receiver knows what happened in
//! between: the sender sent what it was told, and what arrived was acknowledged. So
//! `S = S(header) + what it was told to send - what arrived, both in the last round trip`,
//! which is S at the sender then. Without that correction the loop has a round trip more of delay than the law allows for.
//!
//! Deviations: a source that has less to send than it may sends less than it was told, and S is overestimated until it
//! has more; time-outs stay at the sender, at `timeout_multiplier` smoothed round trips. In the paper this is a sketch, with
//! neither the messages' frequency nor the correction.

use std::collections::VecDeque;

use tailback_core::{
    Acked, Arrival, BitRate, Bytes, CongestionEvent, ControlInfo, Controller, Cx, Directive, Envelope,
    Feedback, FeedbackPolicy, Lane, Outgoing, Packet, ProbePlan, Report, Sent, Span, Time,
};

use super::{PacketPair, PacketPairConfig, RateTimer, Reading, bit_rate};
use crate::parts::ControllerParams;

/// A report on the wire: an acknowledgement's header.
const REPORT_SIZE: Bytes = Bytes::new(40);

/// What the sender was told to send beyond what arrived, in bytes, up to some arrival.
#[derive(Clone, Copy, Debug)]
struct Balance {
    at: Time,
    surplus: f64,
    /// Bytes per second that it was told from then on.
    told: f64,
}

impl Balance {
    fn by(&self, time: Time) -> f64 {
        self.surplus + self.told * time.since(self.at).as_secs_f64()
    }
}

/// The receiver's half: measures and decides.
#[derive(Clone, Debug)]
pub struct PacketPairPolicy {
    pair: PacketPair,
    /// One entry per arrival, of the last round trip.
    balances: VecDeque<Balance>,
    /// The round trip time at the newest arrival that told it.
    round_trip: Span,
    /// A round trip has passed when the sender echoes a report of this time or later.
    round_began: Time,
    /// Losses found before the sender echoes a report of this time or later belong to a loss already told.
    loss_told: Time,
    /// The lowest number above all that arrived.
    expected: u64,
    due: bool,
}

impl PacketPairPolicy {
    /// A connection's start.
    pub fn new(config: &PacketPairConfig, params: &ControllerParams) -> Self {
        Self {
            pair: PacketPair::new(config, params),
            balances: VecDeque::new(),
            round_trip: Span::ZERO,
            round_began: Time::ZERO,
            loss_told: Time::ZERO,
            expected: 0,
            due: false,
        }
    }

    /// The rate that the sender was told, in bytes per second.
    fn told(&self) -> f64 {
        self.pair.rate.map_or(0.0, |rate| rate * self.pair.segment)
    }

    /// S when the report that could leave now is obeyed, in bytes; see the file's head.
    fn outstanding(&mut self, now: Time, size: Bytes, info: &ControlInfo) -> f64 {
        let before = self.balances.back().map_or(0.0, |last| last.by(now));
        let balance = Balance { at: now, surplus: before - size.as_f64(), told: self.told() };
        self.balances.push_back(balance);
        let then = now.since(Time::ZERO + self.round_trip);
        let then = Time::ZERO + then;
        while self.balances.get(1).is_some_and(|second| second.at <= then) {
            self.balances.pop_front();
        }
        let known = self.round_trip > Span::ZERO;
        let first = self.balances.front().filter(|first| known && first.at <= then);
        let change = first.map_or(0.0, |first| balance.surplus - first.by(then));
        (info.in_flight.as_f64() + change).max(size.as_f64())
    }

    /// What a packet says that is the newest transmission to arrive.
    fn read(&mut self, now: Time, packet: &Packet, info: &ControlInfo) -> Option<Reading> {
        let reader = &mut self.pair.probes;
        // The transmission is known from the header; there is nothing to count here.
        reader.next = reader.next.max(info.packets_sent);
        let sent_at = info.echo.map(|echo| echo + info.held);
        let arrived = Acked {
            number: packet.number,
            size: packet.size(),
            sent_at: sent_at.unwrap_or(now),
            // Without an echo no round trip time is known, as of a packet sent twice.
            retransmitted: sent_at.is_none(),
            pair: packet.pair(),
            tag: info.packets_sent.wrapping_sub(1) as u32,
        };
        reader.read(now, &[arrived])
    }

    /// Whether the sender had seen a report of that time or later.
    fn knows(info: &ControlInfo, of: Time) -> bool {
        info.echo.is_some_and(|echo| echo >= of)
    }

    fn on_data(&mut self, now: Time, packet: &Packet, info: &ControlInfo, cx: &mut Cx<'_>) {
        let idle = now.since(self.pair.active_at);
        let alone = info.in_flight <= packet.size();
        if self.pair.config.idle_restart && alone && self.pair.timeout.is_some_and(|limit| idle > limit) {
            self.pair.rest();
            self.balances.clear();
        }
        self.pair.active_at = now;
        if let Some(echo) = info.echo {
            self.round_trip = now.since(echo + info.held);
        }
        let outstanding = self.outstanding(now, packet.size(), info);
        if packet.number > self.expected {
            let is_new = self.loss_told == Time::ZERO || Self::knows(info, self.loss_told);
            self.pair.lose((packet.number - self.expected) as usize, is_new);
            if is_new {
                self.loss_told = now;
            }
        }
        self.expected = self.expected.max(packet.number.saturating_add(1));
        let round_passed = Self::knows(info, self.round_began);
        if round_passed {
            self.round_began = now;
            self.pair.count_round_trip();
        }
        let Some(Reading { round_trip, spacing, .. }) = self.read(now, packet, info) else { return };
        if let Some(span) = round_trip {
            self.pair.take_round_trip(span);
        }
        if let Some(spacing) = spacing {
            if self.pair.propagation.is_none() && self.pair.rate.is_none() {
                self.open(spacing, cx);
            } else {
                self.pair.on_spacing(spacing, outstanding, cx);
            }
            self.due = self.pair.rate.is_some();
        }
        if round_passed {
            self.pair.on_epoch(round_trip, outstanding);
        }
        if let Some(last) = self.balances.back_mut() {
            last.told = self.pair.rate.map_or(0.0, |rate| rate * self.pair.segment);
        }
    }

    /// The first pair: a first target, although no round trip time is known before the sender has echoed a report.
    fn open(&mut self, spacing: f64, cx: &mut Cx<'_>) {
        self.pair.on_spacing(spacing, 0.0, cx);
        if let Some(service_time) = self.pair.service_time() {
            self.pair.rate = Some(self.pair.rise.towards(1.0 / service_time, true));
        }
    }
}

impl FeedbackPolicy for PacketPairPolicy {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, cx: &mut Cx<'_>) {
        if let (true, Some(info)) = (arrival.is_data(), arrival.control()) {
            self.on_data(now, arrival.packet, info, cx);
        }
    }

    fn poll_report(&mut self, _: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        let rate = self.pair.rate.filter(|_| std::mem::take(&mut self.due))?;
        let report = Report::Rate {
            rate: bit_rate(rate, self.pair.segment),
            setpoint: Bytes::from_f64(self.pair.setpoint * self.pair.segment),
        };
        Some(Outgoing { report, lane: Lane::IN_BAND, size: REPORT_SIZE })
    }
}

/// The sender's half: obeys.
#[derive(Clone, Debug)]
pub struct PacketPairRemote {
    rate: Option<BitRate>,
    timer: RateTimer,
    timeout: Option<Span>,
    timeout_multiplier: f64,
    singleton_timeout: Span,
    segment: Bytes,
    window_limit: Option<Bytes>,
    /// How many packets may be outstanding before the first report: a pair, or one after time-outs.
    opening: u64,
}

impl PacketPairRemote {
    /// A connection's start.
    pub fn new(config: &PacketPairConfig, params: &ControllerParams) -> Self {
        Self {
            rate: config.nominal_rate,
            timer: RateTimer::new(config, params.segment),
            timeout: None,
            timeout_multiplier: config.timeout_multiplier,
            singleton_timeout: config.singleton_timeout,
            segment: params.segment,
            window_limit: (params.max_window != Bytes::MAX).then_some(params.max_window),
            opening: 2,
        }
    }
}

impl Controller for PacketPairRemote {
    fn on_sent(&mut self, now: Time, _: &mut Sent, _: &mut Cx<'_>) {
        self.timer.load(now, self.rate);
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(CongestionEvent::Timeout { consecutive }) = feedback.event
            && (consecutive > 1 || self.rate.is_none())
        {
            // Whoever sets the rate is not there: one packet, to find out when it is again.
            self.rate = None;
            self.opening = 1;
        }
        if let Some(rtt) = feedback.rtt {
            self.timeout = Some(rtt.smoothed.mul_f64(self.timeout_multiplier));
        }
        if !feedback.acked.is_empty() {
            self.opening = 2;
        }
        if let Some(Envelope { report: Report::Rate { rate, setpoint }, .. }) = feedback.report {
            self.rate = Some(*rate);
            cx.note("setpoint", setpoint.as_f64());
        }
        if feedback.report.is_some() || feedback.event.is_some() {
            let round_trip = feedback.rtt.map(|rtt| rtt.smoothed);
            self.timer.change(now, self.rate, round_trip);
        }
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        self.timer.expire(now, self.rate);
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer.next(self.rate)
    }

    fn directive(&self) -> Directive {
        let opening = self.segment * self.opening;
        let (rate, timeout) = (self.timer.in_force(), self.timeout);
        let window = match (rate, self.window_limit) {
            (None, limit) => Some(limit.map_or(opening, |limit| limit.min(opening))),
            (Some(_), limit) => limit,
        };
        let probe = Some(ProbePlan::DataPairs { singleton_timeout: self.singleton_timeout });
        Directive { window, probe, timeout, rate, ..Directive::window(Bytes::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Annex, FlowId, Kind, PairPosition, Stream};

    use super::*;

    const SIZE: Bytes = Bytes::new(1000);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// A header that says 10 kB.
    const TEN: ControlInfo = ControlInfo {
        pair: 0,
        packets_sent: 0,
        bytes_sent: Bytes::ZERO,
        in_flight: Bytes::new(10_000),
        virtual_delay: Span::ZERO,
        sent_at: Time::ZERO,
        echo: None,
        held: Span::ZERO,
        rtt: None,
        app_rate: None,
        request: None,
    };

    fn params() -> ControllerParams {
        ControllerParams::unlimited(SIZE, 1)
    }

    /// A receiver that has told 50 kB/s, 100 ms away.
    fn policy() -> PacketPairPolicy {
        let mut policy = PacketPairPolicy::new(&PacketPairConfig::default(), &params());
        policy.pair.rate = Some(50.0);
        policy.round_trip = Span::from_millis(100);
        policy
    }

    /// In the last 100 ms 5 kB were told, and what arrived later than its beginning is taken off: of what arrived just then the
    /// sender knew when the header left.
    #[test]
    fn what_is_outstanding_changes_by_what_was_told_and_what_arrived_in_a_round_trip() {
        for (nanos, expected) in [(0, 14_000.0), (1, 13_000.0)] {
            let mut policy = policy();
            assert_eq!(policy.outstanding(at(0), SIZE, &TEN), 10_000.0, "nothing was told before");
            policy.outstanding(at(40) + Span::from_nanos(nanos), SIZE, &TEN);
            let outstanding = policy.outstanding(at(140), SIZE, &TEN);
            assert!((outstanding - expected).abs() < 1e-6, "{nanos}: {outstanding}");
        }
    }

    /// The receiver may be there all the same where one packet is lost; where two time-outs follow each other, one packet asks.
    #[test]
    fn a_second_time_out_in_a_row_ends_what_was_told() {
        let mut remote = PacketPairRemote::new(&PacketPairConfig::default(), &params());
        let mut rng = Stream::new(1, "test");
        let mut cx = Cx { rng: &mut rng, notes: None };
        let (rate, setpoint) = (BitRate::from_bits_per_sec(400_000), SIZE);
        let told = Envelope::bare(Report::Rate { rate, setpoint });
        remote.on_feedback(at(0), &Feedback { report: Some(&told), ..Feedback::empty() }, &mut cx);
        for (consecutive, rate) in [(1, Some(rate)), (2, None)] {
            let event = Some(CongestionEvent::Timeout { consecutive });
            remote.on_feedback(at(1000), &Feedback { event, ..Feedback::empty() }, &mut cx);
            assert_eq!(remote.rate, rate, "{consecutive}");
        }
        assert_eq!(remote.directive().window, Some(SIZE));
    }

    /// A sender with nothing to send has not sent what it was told.
    #[test]
    fn what_was_told_before_a_silence_is_not_outstanding() {
        let mut policy = policy();
        policy.outstanding(at(0), SIZE, &TEN);
        policy.pair.timeout = Some(Span::from_millis(300));
        let mut packet = Packet::new(Kind::Data, FlowId(0), 0, SIZE);
        packet.set_pair(PairPosition::First);
        let annex = Annex::Control(ControlInfo { in_flight: SIZE, ..TEN });
        let arrival = Arrival { packet: &packet, annex: Some(&annex), is_new: true };
        policy.on_arrival(at(1000), &arrival, &mut Cx { rng: &mut Stream::new(1, "test"), notes: None });
        assert_eq!(policy.outstanding(at(1010), SIZE, &TEN), 10_000.0);
    }
}
