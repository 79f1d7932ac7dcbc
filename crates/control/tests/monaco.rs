//! Monaco's two halves against a network that a test makes up: what the receiver measures, what the sender believes.

use proptest::prelude::*;
use tailback_control::schemes::MonacoPolicy;
use tailback_control::{AnyController, ControllerParams, Scheme};
use tailback_core::{
    Annex, Arrival, Bytes, ControlInfo, Controller, Cx, Envelope, Feedback, FeedbackPolicy, FlowId, Kind,
    Lane, Packet, PairPosition, ProbePlan, Report, RttSample, Sent, Span, Stream, Time,
};

const PACKET: Bytes = Bytes::new(1000);

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// A receiver, and the flow's packets as they reach it.
struct Receiver {
    policy: MonacoPolicy,
    rng: Stream,
    sent: u64,
}

impl Receiver {
    fn new() -> Self {
        Self { policy: MonacoPolicy::new(0.5, PACKET), rng: Stream::new(1, "receiver"), sent: 0 }
    }

    fn arrive(&mut self, now: Time, packet: &Packet, annex: Option<&Annex>) {
        let mut cx = Cx { rng: &mut self.rng, notes: None };
        self.policy.on_arrival(now, &Arrival { packet, annex, is_new: true }, &mut cx);
    }

    fn data(&mut self, now: Time) {
        self.arrive(now, &Packet::new(Kind::Data, FlowId(0), 0, PACKET), None);
    }

    fn control(&mut self, now: Time, lane: Lane, info: ControlInfo) {
        let mut packet = Packet::new(Kind::Control, FlowId(0), info.pair, Bytes::new(40));
        packet.set_lane(lane);
        self.arrive(now, &packet, Some(&Annex::Control(info)));
    }

    fn report(&mut self, now: Time) -> Option<(f64, u64)> {
        let mut cx = Cx { rng: &mut self.rng, notes: None };
        let outgoing = self.policy.poll_report(now, &mut cx)?;
        assert_eq!(outgoing.lane, Lane::OUT_OF_BAND);
        let Report::Accumulation { backlog, lost, .. } = outgoing.report else { panic!("another report") };
        Some((backlog, lost.get()))
    }

    /// A period of 100 data packets, one per millisecond, and its control pair, whose second half waits; of the data
    /// so many packets are lost.
    fn period(&mut self, pair: u64, waits: Span, out_of_band: Span, lost: u64) -> (f64, u64) {
        let began = pair * 100_000;
        self.sent += 100_000;
        (0..100 - lost).for_each(|number| self.data(at(began + number * 1000)));
        let sent_at = at(began + 99_000);
        let info = ControlInfo { pair, bytes_sent: Bytes::new(self.sent), sent_at, ..ControlInfo::default() };
        self.control(sent_at + out_of_band, Lane::OUT_OF_BAND, info);
        self.control(sent_at + out_of_band + waits, Lane::IN_BAND, info);
        let now = sent_at + out_of_band + waits;
        let report = self.report(now).expect("a report per pair");
        assert_eq!(self.report(now), None, "one report per pair");
        report
    }
}

#[test]
fn accumulation_is_egress_rate_times_waiting() {
    let mut receiver = Receiver::new();
    let waits = Span::from_millis(3);
    let reports = (1..20).map(|pair| receiver.period(pair, waits, Span::from_millis(10), 0));
    // 1000 packets per second that wait 3 ms: 3 packets (Little's law).
    let (backlog, lost) = reports.last().expect("reports");
    assert!((backlog - 3000.0).abs() < 1.0, "{backlog}");
    assert_eq!(lost, 0);
}

#[test]
fn missing_bytes_are_lost_even_when_control_packets_are() {
    let mut receiver = Receiver::new();
    let (waits, way) = (Span::from_millis(3), Span::from_millis(10));
    receiver.period(1, waits, way, 0);
    assert_eq!(receiver.period(2, waits, way, 4).1, 4000);
    assert_eq!(receiver.period(3, waits, way, 0).1, 0);
    // The pair of the fourth period never arrives: its losses show in the fifth.
    receiver.sent += 100_000;
    (0..93).for_each(|number| receiver.data(at(400_000 + number * 1000)));
    assert_eq!(receiver.period(5, waits, way, 0).1, 7000);
}

#[test]
fn pairs_that_lost_a_half_or_came_twice_make_no_report() {
    let mut receiver = Receiver::new();
    let info = ControlInfo { pair: 7, ..ControlInfo::default() };
    receiver.control(at(10), Lane::IN_BAND, info);
    assert_eq!(receiver.report(at(10)), None);
    let info = ControlInfo { pair: 8, ..info };
    receiver.control(at(20), Lane::OUT_OF_BAND, info);
    receiver.control(at(30), Lane::IN_BAND, info);
    assert!(receiver.report(at(30)).is_some());
    receiver.control(at(40), Lane::OUT_OF_BAND, info);
    receiver.control(at(50), Lane::IN_BAND, info);
    assert_eq!(receiver.report(at(50)), None);
}

#[test]
fn a_missing_priority_lane_is_noticed_and_a_longer_route_is_not_mistaken_for_one() {
    // Both control packets wait in a queue that grows by a packet per round trip.
    let mut receiver = Receiver::new();
    let grown = |pair: u64| Span::from_millis(10 + pair);
    let last = (1..20).map(|pair| receiver.period(pair, Span::ZERO, grown(pair), 0).0).last();
    assert!(last.expect("reports") > 15_000.0, "{last:?}");
    // A route that becomes longer once, with nothing waiting.
    let mut receiver = Receiver::new();
    let jumped = |pair: u64| Span::from_millis(if pair < 10 { 10 } else { 50 });
    let last = (1..20).map(|pair| receiver.period(pair, Span::ZERO, jumped(pair), 0).0).last();
    assert_eq!(last, Some(0.0));
}

/// A sender whose receiver says what a test wants.
struct Sender {
    controller: AnyController,
    rng: Stream,
    now: Time,
}

const TRIP: Span = Span::from_millis(50);

impl Sender {
    fn new() -> Self {
        let text = serde_json::json!({ "name": "monaco" });
        let scheme: Scheme = serde_json::from_value(text).expect("registered");
        let params =
            ControllerParams { initial_ssthresh: Some(PACKET * 2), ..ControllerParams::unlimited(PACKET, 2) };
        let mut sender = Self {
            controller: scheme.build(&params).controller,
            rng: Stream::new(1, "sender"),
            now: Time::ZERO,
        };
        sender.send();
        let rtt = RttSample { latest: TRIP, smoothed: TRIP, min: TRIP };
        sender.feed(&Feedback { rtt: Some(rtt), outstanding: PACKET, ..Feedback::empty() });
        sender
    }

    fn send(&mut self) {
        let mut sent = Sent {
            number: 0,
            size: PACKET,
            in_flight: PACKET,
            retransmission: false,
            pair: PairPosition::Single,
            app_limited: false,
            tag: 0,
        };
        self.controller.on_sent(self.now, &mut sent, &mut Cx { rng: &mut self.rng, notes: None });
    }

    fn feed(&mut self, feedback: &Feedback<'_>) {
        self.controller.on_feedback(self.now, feedback, &mut Cx { rng: &mut self.rng, notes: None });
    }

    fn pair(&self) -> u64 {
        match self.controller.directive().probe {
            Some(ProbePlan::ControlPair { id }) => id,
            other => panic!("{other:?}"),
        }
    }

    fn window(&self) -> u64 {
        self.controller.directive().window.expect("a window").get()
    }

    /// A report after so much time, then the next pair.
    fn report(&mut self, after: Span, pair: u64, backlog: f64) {
        self.now += after;
        let report = Report::Accumulation {
            pair,
            backlog,
            lost: Bytes::ZERO,
            egress_rate: tailback_core::BitRate::from_bits_per_sec(1_000_000),
            virtual_delay: Span::ZERO,
        };
        self.feed(&Feedback {
            report: Some(&Envelope::bare(report)),
            outstanding: PACKET,
            ..Feedback::empty()
        });
        if let Some(due) = self.controller.next_timer().filter(|due| due.since(self.now) < TRIP) {
            self.now = due;
            self.controller.on_timer(due, &mut Cx { rng: &mut self.rng, notes: None });
        }
    }
}

#[test]
fn the_window_follows_equation_10() {
    let mut sender = Sender::new();
    for (backlog, expected) in [(0.0, 3500), (1000.0, 4500), (3000.0, 4500), (4000.0, 4000)] {
        let pair = sender.pair();
        sender.report(TRIP, pair, backlog);
        assert_eq!(sender.window(), expected, "after {backlog}");
        assert!(sender.pair() > pair);
    }
}

#[test]
fn a_lying_receiver_gains_no_more_than_additive_increase() {
    let mut sender = Sender::new();
    for backlog in [f64::NAN, f64::NEG_INFINITY, -1e18, 0.0, f64::MIN_POSITIVE] {
        let before = sender.window();
        let pair = sender.pair();
        sender.report(TRIP, pair, backlog);
        assert!(sender.window() <= before + 1500, "{backlog}: {before} to {}", sender.window());
    }
    let before = sender.window();
    let pair = sender.pair();
    sender.report(Span::from_millis(1), pair, 0.0);
    assert_eq!(sender.window(), before, "too early to be true");
    sender.report(TRIP, pair + 1, 0.0);
    assert_eq!(sender.window(), before, "not the pair asked for");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever is reported, the window stays within its bounds and one report never takes more than half of it, but
    /// for the rounding to whole bytes.
    #[test]
    fn reports_never_break_the_window(backlogs in prop::collection::vec(any::<f64>(), 1..50)) {
        let mut sender = Sender::new();
        for backlog in backlogs {
            let before = sender.window();
            let pair = sender.pair();
            sender.report(TRIP, pair, backlog);
            prop_assert!(sender.window() + 1 >= PACKET.get().max(before / 2), "{before} to {}", sender.window());
            prop_assert!(sender.window() <= before + 1501, "{before} to {}", sender.window());
        }
    }
}
