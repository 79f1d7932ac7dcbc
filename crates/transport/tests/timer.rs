//! The retransmission timer of RFC 6298 over a pipe of 50 ms each way: its constants, its samples, its restart and its
//! back-off; and what a sender does after a rest (RFC 5681 §4.1).

use crate::pipe;

use pipe::stream::{ONE_WAY, Test, config, events, transfer};
use pipe::{FLOW, Fate, Pipe, Scripted};
use proptest::prelude::*;
use tailback_control::Reliability;
use tailback_core::{
    AppInput, BitRate, Bytes, Checker, CongestionEvent, Directive, Event, Gate, Kind, Span, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, RtoConfig, RttSampling, Sender, StreamConfig};

#[test]
fn the_timer_backs_off_and_starts_over() {
    // Number 0 is lost four times; initial time-out 1 s, doubled each time (RFC 6298 §5.5).
    for reliability in [Reliability::Reno, Reliability::NewReno, Reliability::Sack] {
        let controller = Scripted { on_timeout: Some(1000), ..Scripted::window(1) };
        let test = transfer(config(reliability), controller, 3)
            .dropping(&[(0, 1), (0, 2), (0, 3), (0, 4)])
            .start()
            .run(Span::from_secs(60));
        let times: Vec<u64> = test.sent().iter().map(|(at, _)| *at).collect();
        assert_eq!(times[..5], [0, 1000, 3000, 7000, 15_000]);
        let expected: Vec<_> = (1..=4).map(|consecutive| CongestionEvent::Timeout { consecutive }).collect();
        assert_eq!(events(&test), expected);
        assert!(test.finished());
    }
}

/// The request for a connection leaves twice, and data begins with 3 s (RFC 6298 §5.7), unless its round trip is known by a stamp. One of
/// 5 s is not "less than 3 seconds", and stays doubled.
#[test]
fn data_behind_a_lost_request_begins_with_three_seconds() {
    let by_stamps = RttSampling::Timestamps;
    for (rtt_sampling, initial, again) in
        [(RttSampling::EveryAck, 1, 4100), (by_stamps, 1, 1400), (RttSampling::EveryAck, 5, 15_100)]
    {
        let rto = RtoConfig { initial: Span::from_secs(initial), ..RtoConfig::default() };
        let config = StreamConfig { handshake: true, rtt_sampling, rto, ..config(Reliability::Sack) };
        let test = transfer(config, Scripted::window(1), 1).dropping(&[(0, 1), (1, 1)]).start();
        let sent = test.run(Span::from_secs(60)).sent();
        let first = initial * 1000;
        assert_eq!(sent, [(0, 0), (first, 0), (first + 100, 1), (again, 1)], "{rtt_sampling:?} {initial} s");
    }
}

/// Round trips of 100 ms that never vary, and a margin of 200 ms above them: the timer stands at 300 ms, and doubles.
#[test]
fn the_margin_above_the_round_trip_is_never_less_than_configured() {
    let expiries = |margin_min| {
        let rto = RtoConfig { margin_min, ..RtoConfig::default() };
        let config = StreamConfig { rto, ..config(Reliability::Sack) };
        let controller = Scripted { on_timeout: Some(1000), ..Scripted::window(1) };
        let test = transfer(config, controller, 41).dropping(&[(40, 1), (40, 2)]).start();
        let sent = test.run(Span::from_secs(60)).sent();
        sent.into_iter().filter(|(_, number)| *number == 40).map(|(at, _)| at - 4000).collect::<Vec<_>>()
    };
    assert_eq!(expiries(Span::ZERO), [0, 200, 600], "the minimum, RFC 6298 §2.4");
    assert_eq!(expiries(Span::from_millis(200)), [0, 300, 900], "as Linux");
}

#[test]
fn a_margin_above_the_longest_timeout_is_refused() {
    let rto = RtoConfig { margin_min: Span::from_secs(61), ..RtoConfig::default() };
    let mut checker = Checker::default();
    rto.check(&mut checker);
    let said = checker.finish().expect_err("too long").iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(said, ["margin_min: 61 s is not allowed; expected at most max (60 s)"]);
}

#[test]
fn karn_ignores_ambiguous_samples() {
    for sampling in [RttSampling::EveryAck, RttSampling::PerRoundTrip] {
        let config = StreamConfig { rtt_sampling: sampling, ..config(Reliability::Sack) };
        let test =
            transfer(config, Scripted::window(1), 1).dropping(&[(0, 1)]).start().run(Span::from_secs(5));
        assert!(test.finished());
        assert_eq!(test.sender.latest_rtt(), None, "{sampling:?}");
    }
    let config = StreamConfig { rtt_sampling: RttSampling::Timestamps, ..config(Reliability::Sack) };
    let test = transfer(config, Scripted::window(1), 1).dropping(&[(0, 1)]).start().run(Span::from_secs(5));
    assert_eq!(
        test.sender.latest_rtt(),
        Some(Span::from_millis(100)),
        "the echo tells which was acknowledged"
    );
    assert!(test.annexes.is_empty());
}

#[test]
fn one_sample_per_round_trip() {
    let config = StreamConfig { rtt_sampling: RttSampling::PerRoundTrip, ..config(Reliability::Sack) };
    let test = transfer(config, Scripted::window(5), 25).start().run(Span::from_secs(5));
    let samples = test.sender.controller().log.feedback.iter().filter(|told| told.rtt.is_some()).count();
    assert_eq!(samples, 5);
}

#[test]
fn a_timed_segment_that_is_only_reported_gives_no_sample() {
    // 1 is held back by 120 ms and comes at 170; 2, which leaves at 100, is reported at 200.
    let samples = |sampling| {
        let config = StreamConfig { rtt_sampling: sampling, ..config(Reliability::Sack) };
        let late = Span::from_millis(120);
        let test = transfer(config, Scripted::window(2), 3)
            .script(move |packet, _, _| match (packet.kind(), packet.number) {
                (Kind::Data, 1) => Fate::Late(late),
                _ => Fate::Deliver,
            })
            .start()
            .run(Span::from_secs(5));
        assert!(test.finished());
        let told = test.sender.controller().log.feedback.iter();
        told.filter_map(|told| told.rtt.map(|rtt| rtt.as_nanos() / 1_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(samples(RttSampling::PerRoundTrip), [100], "as BSD and ns-2 time, who know no ranges");
    assert_eq!(samples(RttSampling::EveryAck)[..2], [100, 100], "by the report");
}

#[test]
fn every_new_acknowledgement_restarts_the_timer() {
    // RFC 6298 §5.3. 0 and 1 leave at once; 1 is lost. 0's acknowledgement at 100 ms gives SRTT 100 ms and RTTVAR 50 ms and
    // restarts the timer with 300 ms. The duplicate that 2 brings at 200 ms restarts nothing.
    for reliability in [Reliability::Reno, Reliability::NewReno, Reliability::Sack] {
        let config = StreamConfig { limited_transmit: false, ..config(reliability) };
        let test = transfer(config, Scripted::window(2), 6).dropping(&[(1, 1)]).start();
        let test = test.run(Span::from_secs(5));
        assert_eq!(test.sent_at(400).first(), Some(&1), "{reliability:?}: {:?}", test.sent());
        assert!(test.finished());
    }
}

#[test]
fn the_back_off_lasts_until_a_sample() {
    // 0 is lost twice: it leaves at 0, 1 and 3 s. Its acknowledgement is no sample (Karn), so the time-out of 4 s stays for 1,
    // which is lost once. 2 is acknowledged within 100 ms: SRTT 100 ms, RTTVAR 50 ms, 300 ms; 3 is lost once.
    let test = transfer(config(Reliability::Sack), Scripted::window(1), 5)
        .dropping(&[(0, 1), (0, 2), (1, 1), (3, 1)])
        .start()
        .run(Span::from_secs(60));
    let expected =
        [(0, 0), (1000, 0), (3000, 0), (3100, 1), (7100, 1), (7200, 2), (7300, 3), (7600, 3), (7700, 4)];
    assert_eq!(test.sent(), expected);
    assert!(test.finished());
}

#[test]
fn a_rest_is_told_before_data_leaves_again() {
    // "if the TCP has not sent data in an interval exceeding the retransmission timeout" (RFC 5681 §4.1): 300 ms after one
    // sample of 100 ms, counted from when 4 left.
    for (restart_after_idle, after, told) in
        [(true, 301, true), (true, 299, false), (true, 60_000, true), (false, 60_000, false)]
    {
        let config = StreamConfig { restart_after_idle, ..config(Reliability::Sack) };
        let receiver = ReceiverConfig::default().matching(&config);
        let sender = Sender::new(FLOW, config, Scripted::window(1), AnySource::pushed());
        let mut test = Pipe::new(sender, Receiver::new(FLOW, receiver), ONE_WAY).start();
        let second = Time::ZERO + Span::from_millis(after);
        test.app(AppInput::Write(Bytes::new(960)));
        while test.step(second) {}
        test.now = second;
        test.app(AppInput::Write(Bytes::new(10 * 960)));
        let test = test.run(Span::from_secs(20));
        let log = &test.sender.controller().log;
        let idle: Vec<Time> =
            log.feedback.iter().filter(|t| t.event == Some(CongestionEvent::Idle)).map(|t| t.at).collect();
        let expected = if told { vec![second] } else { Vec::new() };
        assert_eq!(idle, expected, "{restart_after_idle} after {after} ms");
        assert_eq!(test.receiver.counters().delivered_packets, 11);
    }
}

/// One segment, all of whose transmissions are lost, behind a gate that is closed from half a second on until a time.
fn behind_a_gate(config: StreamConfig, opens: u64, run: Span) -> Test {
    let window = Directive::window(Bytes::new(1000));
    let closed = Directive { gate: Gate::Closed { until: None }, ..window };
    let controller = Scripted::new(window)
        .at(Time::ZERO + Span::from_millis(500), closed)
        .at(Time::ZERO + Span::from_secs(opens), window);
    transfer(config, controller, 1).script(|_, _, _| Fate::Drop).start().run(run)
}

/// The timer expires once for what was lost, after 1 s. What a gate holds back is not in the network: no timer runs for it, until it
/// leaves (RFC 6298 §5.4 to §5.6), and then with the back-off of that one expiry.
#[test]
fn no_timer_runs_for_what_a_gate_holds_back() {
    for reliability in [Reliability::Reno, Reliability::NewReno, Reliability::Sack, Reliability::Vegas] {
        let test = behind_a_gate(config(reliability), 20, Span::from_secs(27));
        assert_eq!(test.sent(), [(0, 0), (20_000, 0), (22_000, 0), (26_000, 0)], "{reliability:?}");
        let expected: Vec<_> = (1..=3).map(|consecutive| CongestionEvent::Timeout { consecutive }).collect();
        assert_eq!(events(&test), expected, "{reliability:?}");
    }
}

/// Nor for what waits for its tokens: at 800 bit/s, a packet has them every 10 s.
#[test]
fn no_timer_runs_for_what_a_rate_holds_back() {
    let slow =
        Directive { window: Some(Bytes::new(1000)), ..Directive::rate(BitRate::from_bits_per_sec(800)) };
    let test = transfer(config(Reliability::Sack), Scripted::new(slow), 1).script(|_, _, _| Fate::Drop);
    let test = test.start().run(Span::from_secs(35));
    assert_eq!(test.sent(), [(0, 0), (10_000, 0), (20_000, 0), (30_000, 0)]);
    // 1 s, 2 s, 4 s and 8 s behind the transmissions, of which the last has yet to come.
    assert_eq!(events(&test).len(), 3);
}

/// A sender gives up when its peer is silent for 100 s, not when its own gate is closed for so long: the timer expires at 1 s, then
/// from 500 s on, when the segment leaves again, by its back-off: at 502, 506, 514, 530, 562 and 622 s.
#[test]
fn a_closed_gate_is_no_reason_to_give_up() {
    let config = StreamConfig { user_timeout: Span::from_secs(100), ..config(Reliability::Sack) };
    let test = behind_a_gate(config, 500, Span::from_secs(2000));
    let seconds: Vec<u64> = test.sent().iter().map(|(at, _)| at / 1000).collect();
    assert_eq!(seconds, [0, 500, 502, 506, 514, 530, 562]);
    let gave_up: Vec<_> = test.events.iter().filter(|(_, event)| *event == Event::GaveUp).collect();
    assert_eq!(gave_up.len(), 1);
    assert_eq!(gave_up[0].0, Time::ZERO + Span::from_secs(622));
}

/// RFC 6298 §2 taken literally, in seconds; the time-out without and with its bounds.
struct Literal {
    srtt: Option<f64>,
    rttvar: f64,
}

impl Literal {
    fn sample(&mut self, r: f64, rto: &RtoConfig) -> f64 {
        let srtt = if let Some(srtt) = self.srtt {
            self.rttvar = (1.0 - rto.beta) * self.rttvar + rto.beta * (srtt - r).abs();
            (1.0 - rto.alpha) * srtt + rto.alpha * r
        } else {
            self.rttvar = r / 2.0;
            r
        };
        self.srtt = Some(srtt);
        (rto.srtt_factor * srtt + rto.k * self.rttvar).max(rto.min.as_secs_f64())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Every constant of the timer counts: one packet after the other over a path of changing delay, then silence. The gaps
    /// between the last packet's transmissions are the time-out and its multiples, up to the maximum.
    #[test]
    fn every_constant_is_obeyed(
        alpha in 0.01..1.0, beta in 0.01..1.0, k in 0.0..8.0, srtt_factor in 1.0..3.0, backoff in 1.0..4.0,
        min in 1_u64..3000, longer in 500_u64..20_000, initial in 1_u64..5000, packets in 0_u64..25, seed: u64,
    ) {
        let (min, max) = (Span::from_millis(min), Span::from_millis(min + longer));
        let initial = Span::from_millis(initial);
        let rto = RtoConfig { alpha, beta, k, srtt_factor, backoff, min, max, initial, ..RtoConfig::default() };
        let config = StreamConfig { rto: rto.clone(), ..config(Reliability::Sack) };
        let test = transfer(config, Scripted::window(1), packets + 1)
            .seed(seed)
            .script(move |packet, _, rng| match packet.number {
                number if number >= packets => Fate::Drop,
                _ => Fate::Late(Span::from_millis(rng.below(60))),
            })
            .start()
            .run(Span::from_secs(100));
        let sent = |number| -> Vec<Time> {
            test.departures.iter().filter(|one| one.packet.number == number).map(|one| one.at).collect()
        };
        // Where a time-out was shorter than the round trip, samples are ambiguous: other tests' business.
        prop_assume!((0..packets).all(|number| sent(number).len() == 1));
        let mut literal = Literal { srtt: None, rttvar: 0.0 };
        let mut timeout = initial.as_secs_f64();
        for told in test.sender.controller().log.feedback.iter().filter_map(|told| told.rtt) {
            timeout = literal.sample(told.as_secs_f64(), &rto);
        }
        let last = sent(packets);
        prop_assert!(last.len() > 2, "{last:?}");
        for (expiries, pair) in (0..).zip(last.windows(2)) {
            let expected = (timeout * backoff.powi(expiries).min(1e9)).min(max.as_secs_f64());
            let gap = pair[1].since(pair[0]).as_secs_f64();
            prop_assert!((gap - expected).abs() < 1e-6 * (1.0 + expected), "{gap} s for {expected} s");
        }
    }
}
