//! TCP Newark's laws against worked numbers: the window, the limit on tokens, their rate. What holds for every scheme is
//! in `conformance.rs`; that tokens are obeyed is the transport's to show.

use tailback_control::schemes::{
    Newark, NewarkAdaptiveConfig, NewarkBurstGrowth, NewarkBurstReaction, NewarkConfig,
};
use tailback_control::{ControllerParams, SchemeConfig};
use tailback_core::{
    Acked, BitRate, Bytes, CongestionEvent, Controller, Cx, DataAmount, Echoes, Feedback, Lost, PairPosition,
    Recovery, RttSample, Sent, Span, Stream, Time, Tokens,
};

/// Each mark counts, not one per round trip.
fn each_mark() -> NewarkConfig {
    NewarkConfig { burst_reaction: NewarkBurstReaction::EachMark, ..NewarkConfig::default() }
}

const ROUND: Span = Span::from_millis(100);

/// A connection whose packets are sent one by one and acknowledged one by one, in order.
struct Line {
    newark: Newark,
    now: Time,
    rng: Stream,
    tags: Vec<u32>,
    acknowledged: usize,
    recovery: Recovery,
}

impl Line {
    fn new(config: &NewarkConfig) -> Self {
        let params = ControllerParams {
            initial_ssthresh: Some(Bytes::new(8000)),
            max_window: Bytes::new(240_000),
            ..ControllerParams::unlimited(Bytes::new(1000), 2)
        };
        let mut checker = tailback_core::Checker::new();
        config.check(&mut checker);
        assert_eq!(checker.finish(), Ok(()));
        Self {
            newark: Newark::new(config, &params),
            now: Time::from_secs_f64(1.0),
            rng: Stream::new(1, "line"),
            tags: Vec::new(),
            acknowledged: 0,
            recovery: Recovery::Open,
        }
    }

    fn send(&mut self, packets: usize) {
        for _ in 0..packets {
            let number = self.tags.len() as u64;
            let mut sent = Sent {
                number,
                size: Bytes::new(1000),
                in_flight: Bytes::new(1000),
                retransmission: false,
                app_limited: false,
                pair: PairPosition::Single,
                tag: 0,
            };
            self.newark.on_sent(self.now, &mut sent, &mut Cx { rng: &mut self.rng, notes: None });
            self.tags.push(sent.tag);
        }
    }

    /// The next packets on the way are acknowledged together, with echoes of marks.
    fn ack(&mut self, packets: usize, rho: u32, eta: u32) {
        let acked: Vec<Acked> = (self.acknowledged..self.acknowledged + packets)
            .map(|index| Acked {
                number: index as u64,
                size: Bytes::new(1000),
                sent_at: self.now - ROUND,
                retransmitted: false,
                pair: PairPosition::Single,
                tag: self.tags[index],
            })
            .collect();
        self.acknowledged += packets;
        let advanced = Bytes::new(1000 * packets as u64);
        let rtt = Some(RttSample { latest: ROUND, smoothed: ROUND, min: ROUND });
        let echoes = Echoes { rho, eta, ..Echoes::default() };
        self.feed(&Feedback { acked: &acked, advanced, rtt, echoes, ..Feedback::empty() });
    }

    fn feed(&mut self, feedback: &Feedback<'_>) {
        let feedback = Feedback { recovery: self.recovery, ..*feedback };
        self.newark.on_feedback(self.now, &feedback, &mut Cx { rng: &mut self.rng, notes: None });
    }

    fn event(&mut self, event: CongestionEvent) {
        self.feed(&Feedback { event: Some(event), ..Feedback::empty() });
    }

    /// Slow start from 2 packets to the threshold of 8.
    fn warm(&mut self) {
        self.round(2);
        self.round(4);
    }

    /// A round trip in which everything sent is acknowledged, one by one.
    fn round(&mut self, packets: usize) {
        self.send(packets);
        self.now += ROUND;
        for _ in 0..packets {
            self.ack(1, 0, 0);
        }
    }
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} against {expected}");
}

#[test]
fn slow_start_then_a_packet_per_round_trip() {
    let mut line = Line::new(&NewarkConfig::default());
    line.round(2);
    close(line.newark.window(), 4.0);
    line.round(4);
    close(line.newark.window(), 8.0);
    // 8 + 1/8, and so on: eight acknowledgements of one packet.
    let expected = (0..8).fold(8.0, |w: f64, _| w + 1.0 / w);
    line.round(8);
    close(line.newark.window(), expected);
    close(line.newark.limit(), 240.0);
}

#[test]
fn utilization_echoes_halve_the_window_once_per_round_trip() {
    let mut line = Line::new(&NewarkConfig::default());
    line.warm();
    line.send(8);
    line.now += ROUND;
    line.ack(1, 1, 0);
    close(line.newark.window(), 4.0);
    // The rest of that window was sent before: marked or not, it says nothing new, and what is marked does not grow.
    line.ack(1, 1, 0);
    close(line.newark.window(), 4.0);
    line.ack(1, 0, 0);
    close(line.newark.window(), 4.25);
    line.send(4);
    for _ in 0..5 {
        line.ack(1, 1, 0);
    }
    close(line.newark.window(), 4.25);
    // Sent after the reduction.
    line.ack(1, 1, 0);
    close(line.newark.window(), 2.125);
    close(line.newark.limit(), 240.0);
}

#[test]
fn an_echo_goes_down_to_one_packet_and_a_loss_to_two() {
    let mut line = Line::new(&NewarkConfig::default());
    line.send(1);
    line.ack(1, 1, 0);
    line.send(1);
    line.ack(1, 1, 0);
    close(line.newark.window(), 1.0);
    let mut line = Line::new(&NewarkConfig::default());
    line.warm();
    line.event(CongestionEvent::Loss);
    close(line.newark.window(), 4.0);
    line.event(CongestionEvent::RecoveryEnd);
    line.now += ROUND;
    line.event(CongestionEvent::Loss);
    line.now += ROUND;
    line.event(CongestionEvent::Loss);
    close(line.newark.window(), 2.0);
}

#[test]
fn a_loss_of_what_was_sent_before_the_last_reduction_changes_nothing() {
    let mut line = Line::new(&NewarkConfig::default());
    line.warm();
    line.send(8);
    line.ack(1, 1, 0);
    close(line.newark.window(), 4.0);
    let lost = [Lost { number: 10, size: Bytes::new(1000), sent_at: Time::ZERO, tag: line.tags[10] }];
    line.feed(&Feedback { lost: &lost, event: Some(CongestionEvent::Loss), ..Feedback::empty() });
    close(line.newark.window(), 4.0);
}

#[test]
fn a_time_out_leaves_one_packet_and_one_token_until_it_is_cleared() {
    let mut line = Line::new(&NewarkConfig::default());
    line.warm();
    line.send(8);
    line.recovery = Recovery::Timeout;
    line.event(CongestionEvent::Timeout { consecutive: 1 });
    close(line.newark.window(), 1.0);
    assert_eq!(line.newark.directive().burst.depth, Bytes::new(1000), "one token");
    close(line.newark.limit(), 240.0);
    line.event(CongestionEvent::Timeout { consecutive: 2 });
    // The threshold was held: slow start leads back to half of the window at the first expiry.
    for _ in 0..8 {
        line.ack(1, 0, 0);
    }
    let expected = (0..5).fold(4.0, |w: f64, _| w + 1.0 / w);
    close(line.newark.window(), expected);
    assert_eq!(line.newark.directive().burst.depth, Bytes::new(1000), "still one token");
    line.recovery = Recovery::Open;
    line.event(CongestionEvent::RecoveryEnd);
    assert_eq!(line.newark.directive().burst.depth, Bytes::new(240_000), "as many as before");
}

#[test]
fn a_spurious_time_out_is_taken_back() {
    let mut line = Line::new(&NewarkConfig::default());
    line.warm();
    line.recovery = Recovery::Timeout;
    line.event(CongestionEvent::Timeout { consecutive: 1 });
    line.recovery = Recovery::Open;
    line.event(CongestionEvent::Spurious);
    close(line.newark.window(), 8.0);
    assert_eq!(line.newark.directive().burst.depth, Bytes::new(240_000));
}

#[test]
fn burstiness_echoes_halve_the_limit_and_quiet_acknowledgements_raise_it_by_a_packet() {
    let mut line = Line::new(&each_mark());
    line.warm();
    line.send(3);
    line.ack(1, 0, 1);
    close(line.newark.limit(), 120.0);
    // The window is not concerned: it grew by the acknowledgement.
    close(line.newark.window(), 8.125);
    // Two marks in one delayed acknowledgement count twice.
    line.ack(2, 0, 2);
    close(line.newark.limit(), 30.0);
    line.send(1);
    line.ack(1, 0, 0);
    close(line.newark.limit(), 31.0);
}

#[test]
fn or_by_a_packet_per_round_trip() {
    let growth = NewarkBurstGrowth::RoundTrip;
    let mut line = Line::new(&NewarkConfig { burst_growth: growth, ..NewarkConfig::default() });
    line.warm();
    line.send(2);
    line.ack(1, 0, 1);
    let window = line.newark.window();
    line.ack(1, 0, 0);
    close(line.newark.limit(), 120.0 + 1.0 / window);
}

#[test]
fn at_a_limit_of_one_token_burstiness_acts_on_the_window() {
    let mut line = Line::new(&each_mark());
    line.warm();
    line.send(10);
    for _ in 0..8 {
        line.ack(1, 0, 1);
    }
    close(line.newark.limit(), 1.0);
    let window = line.newark.window();
    assert!(window > 8.0, "untouched so far: {window}");
    line.ack(1, 0, 1);
    close(line.newark.window(), window / 2.0);
    // Once per round trip, as by the other bit; the two share a round trip.
    line.ack(1, 1, 1);
    close(line.newark.window(), window / 2.0);
}

#[test]
fn the_limit_is_halved_once_per_round_trip() {
    let mut line = Line::new(&NewarkConfig::default());
    line.round(2);
    line.send(4);
    for _ in 0..4 {
        line.ack(1, 0, 1);
    }
    close(line.newark.limit(), 120.0);
    line.now += ROUND;
    line.send(1);
    line.ack(1, 0, 1);
    close(line.newark.limit(), 60.0);
}

#[test]
fn tokens_come_at_the_window_over_g_round_trips() {
    let mut line = Line::new(&NewarkConfig { g: 2.0, ..NewarkConfig::default() });
    let first = line.newark.directive();
    assert_eq!((first.window, first.rate), (Some(Bytes::new(2000)), None), "no round trip time is known");
    line.warm();
    let directive = line.newark.directive();
    // 8 packets of 8000 bits in 2 · 100 ms.
    assert_eq!(directive.rate, Some(BitRate::from_bits_per_sec(320_000)));
    assert_eq!((directive.window, directive.burst.tokens), (None, Tokens::Poisson));
}

#[test]
fn a_window_of_one_packet_grows_whatever_g_is() {
    let mut line = Line::new(&NewarkConfig { g: 4.0, ..NewarkConfig::default() });
    for _ in 0..2 {
        line.send(1);
        line.ack(1, 1, 0);
    }
    close(line.newark.window(), 1.0);
    line.round(1);
    close(line.newark.window(), 2.0);
}

#[test]
fn what_the_application_leaves_unused_does_not_grow() {
    for (grow_unused, expected) in [(false, 2.0), (true, 3.0)] {
        let mut line = Line::new(&NewarkConfig { grow_unused, ..NewarkConfig::default() });
        let advanced = Bytes::new(1000);
        line.feed(&Feedback { advanced, window_limited: false, ..Feedback::empty() });
        close(line.newark.window(), expected);
        line.event(CongestionEvent::Idle);
        close(line.newark.window(), expected);
    }
}

#[test]
fn an_adaptive_g_goes_below_a_packet_per_round_trip_and_back() {
    let adaptive = Some(NewarkAdaptiveConfig::default());
    let mut line = Line::new(&NewarkConfig { adaptive, ..NewarkConfig::default() });
    for _ in 0..4 {
        line.send(1);
        line.now += ROUND;
        line.ack(1, 1, 0);
    }
    // From 2 to 1 packet, and then g doubles three times.
    assert_eq!(line.newark.directive().rate, Some(BitRate::from_bits_per_sec(80_000 / 8)));
    line.round(1);
    close(line.newark.window(), 1.0);
    for _ in 0..100 {
        line.round(1);
    }
    assert_eq!(line.newark.directive().rate.map(|rate| rate.bits_per_sec() >= 80_000), Some(true));
}

#[test]
fn bad_parameters_are_named() {
    let config = NewarkConfig {
        g: 0.0,
        adaptive: Some(NewarkAdaptiveConfig { most: 0.5, ..NewarkAdaptiveConfig::default() }),
        max_burst: DataAmount::Packets(0.5),
        burst_decrease: 1.0,
        burst_increase: f64::NAN,
        ..NewarkConfig::default()
    };
    let mut checker = tailback_core::Checker::new();
    config.check(&mut checker);
    let found: Vec<String> =
        checker.finish().expect_err("bad").into_iter().map(|error| error.field).collect();
    assert_eq!(found, ["g", "adaptive.most", "max_burst", "burst_decrease", "burst_increase"]);
}
