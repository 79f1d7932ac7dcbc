//! Today's schemes against numbers worked out by hand from their equations. What holds for all schemes is in
//! `conformance.rs`; how they fare in networks is tested from Python, in `tests/todays/`.

use tailback_control::{AnyController, ControllerParams, EcnEcho, Scheme};
use tailback_core::{
    Acked, BitRate, Bytes, CongestionEvent, Controller, Cx, DeliverySample, Echoes, Feedback, PairPosition,
    RttSample, Sent, Span, Stream, Time,
};

const SEGMENT: u64 = 1000;

/// A connection of a scheme whose window is `initial` segments at first, and its slow start threshold `ssthresh`.
fn scheme(text: serde_json::Value, initial: u64, ssthresh: Option<u64>) -> AnyController {
    let scheme: Scheme = serde_json::from_value(text).expect("registered");
    let params = ControllerParams {
        initial_ssthresh: ssthresh.map(|segments| Bytes::new(segments * SEGMENT)),
        ..ControllerParams::unlimited(Bytes::new(SEGMENT), initial)
    };
    scheme.build(&params).controller
}

fn feed(controller: &mut AnyController, millis: u64, feedback: &Feedback<'_>) {
    let mut rng = Stream::new(1, "todays");
    let now = Time::ZERO + Span::from_millis(millis);
    controller.on_feedback(now, feedback, &mut Cx { rng: &mut rng, notes: None });
}

/// One segment acknowledged where `outstanding` were, after a round trip of so many milliseconds.
fn ack(outstanding: u64, rtt: u64) -> Feedback<'static> {
    let rtt = Span::from_millis(rtt);
    Feedback {
        advanced: Bytes::new(SEGMENT),
        outstanding: Bytes::new(outstanding * SEGMENT),
        rtt: Some(RttSample { latest: rtt, smoothed: rtt, min: rtt }),
        ..Feedback::empty()
    }
}

fn marked(feedback: Feedback<'_>) -> Feedback<'_> {
    Feedback { echoes: Echoes { ce: 1, rho: 0, eta: 0 }, ..feedback }
}

fn event(event: CongestionEvent, outstanding: u64) -> Feedback<'static> {
    Feedback { event: Some(event), outstanding: Bytes::new(outstanding * SEGMENT), ..Feedback::empty() }
}

/// The window in segments, as exactly as bytes can tell.
fn window(controller: &AnyController) -> f64 {
    controller.directive().window.expect("a window scheme").as_f64() / SEGMENT as f64
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
}

// ── DCTCP (RFC 8257 §3.3) ──

/// Four of ten acknowledgements of a window bear an echo: α becomes 0.4/16, and an echo takes half of that.
#[test]
fn dctcp_gives_up_half_of_the_fraction_that_was_marked() {
    for echo in [EcnEcho::StateChange, EcnEcho::Counted] {
        let text = serde_json::json!({ "name": "dctcp", "initial_alpha": 0.0, "echo": echo });
        let mut dctcp = scheme(text, 10, Some(10));
        feed(&mut dctcp, 0, &ack(10, 100));
        (0..4).for_each(|_| feed(&mut dctcp, 100, &marked(ack(10, 100))));
        (0..6).for_each(|_| feed(&mut dctcp, 100, &ack(10, 100)));
        let before = window(&dctcp);
        feed(&mut dctcp, 100, &event(CongestionEvent::Ecn, 10));
        close(window(&dctcp), before * (1.0 - 0.4 / 16.0 / 2.0), 0.002);
    }
}

#[test]
fn dctcp_halves_after_a_loss_and_at_first() {
    let mut dctcp = scheme(serde_json::json!({ "name": "dctcp" }), 20, Some(20));
    feed(&mut dctcp, 0, &event(CongestionEvent::Ecn, 20));
    assert_eq!(window(&dctcp), 10.0, "α is 1 at first");
    let mut dctcp = scheme(serde_json::json!({ "name": "dctcp", "initial_alpha": 0.1 }), 20, Some(20));
    feed(&mut dctcp, 0, &event(CongestionEvent::Loss, 20));
    assert_eq!(window(&dctcp), 10.0, "a loss is a loss");
}

// ── HighSpeed (RFC 3649 §5); its table is tested beside it ──

#[test]
fn highspeed_adds_and_gives_up_by_its_window() {
    let mut high = scheme(serde_json::json!({ "name": "highspeed" }), 1058, Some(1058));
    (0..1058).for_each(|_| feed(&mut high, 0, &ack(1058, 100)));
    close(window(&high), 1058.0 + 8.0, 0.3);
    let mut high = scheme(serde_json::json!({ "name": "highspeed" }), 1058, Some(1058));
    feed(&mut high, 0, &event(CongestionEvent::Loss, 1058));
    close(window(&high), 1058.0 * (1.0 - 0.33), 6.0);
    let mut low = scheme(serde_json::json!({ "name": "highspeed" }), 30, Some(30));
    feed(&mut low, 0, &event(CongestionEvent::Loss, 30));
    assert_eq!(window(&low), 15.0, "as Reno below 38");
}

// ── Illinois (Liu, Başar and Srikant 2008, §III) ──

#[test]
fn illinois_adds_ten_without_queue_and_gives_up_an_eighth() {
    let mut illinois = scheme(serde_json::json!({ "name": "illinois" }), 100, Some(100));
    feed(&mut illinois, 0, &ack(100, 100));
    let before = window(&illinois);
    (0..100).for_each(|_| feed(&mut illinois, 100, &ack(100, 100)));
    close(window(&illinois) - before, 10.0, 0.6);
    let before = window(&illinois);
    feed(&mut illinois, 200, &event(CongestionEvent::Loss, 1000));
    close(window(&illinois), before * 0.875, 0.01);
}

// ── Compound (Tan et al. 2006, §III) ──

/// One round at 50 segments without queue: the delay window becomes 50^0.75/8 - 1 = 1.350, Reno's grows by 1/51.35.
#[test]
fn compound_grows_by_its_power_without_queue_and_withdraws_with_one() {
    let mut compound = scheme(serde_json::json!({ "name": "compound" }), 50, Some(50));
    feed(&mut compound, 0, &ack(50, 100));
    close(window(&compound), 50.0 + 1.350 + 1.0 / 51.35, 0.002);
    // The next round's least round trip shows 51.4 (1 - 100/1000) = 46 segments queued: above γ.
    (0..50).for_each(|_| feed(&mut compound, 100, &ack(50, 1000)));
    close(window(&compound), 50.0 + 51.0 / 51.7, 0.05);
    feed(&mut compound, 200, &event(CongestionEvent::Loss, 50));
    close(window(&compound), 25.5, 0.1);
}

/// A loss leaves less than 38 segments, where the delay window does not grow. It withdraws there, too: at ten times the least
/// round trip nine tenths of the window wait, which is above γ, and what is left is Reno's window.
#[test]
fn compound_withdraws_from_a_queue_whatever_its_window() {
    let mut compound = scheme(serde_json::json!({ "name": "compound" }), 50, Some(50));
    for _ in 0..8 {
        (0..60).for_each(|_| feed(&mut compound, 0, &ack(60, 100)));
    }
    feed(&mut compound, 100, &event(CongestionEvent::Loss, 100));
    let left = window(&compound);
    assert!((34.0..38.0).contains(&left), "{left}");
    (0..80).for_each(|_| feed(&mut compound, 200, &ack(40, 1000)));
    // Reno's half of 50 and what eight rounds added, and two more rounds of growth.
    close(window(&compound), 30.0, 2.0);
}

// ── LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06, §4) ──

/// At a base of 20 ms the gain is 1/⌈120/20⌉ = 1/6; slow start ends above 45 ms of queue; two round trips later the
/// window is two segments for two round trips, climbs back, and the next slowdown comes after nine times as long.
#[test]
fn ledbat_plus_plus_slows_down_and_comes_back() {
    let mut ledbat = scheme(serde_json::json!({ "name": "ledbat-plus-plus" }), 12, None);
    (0..12).for_each(|_| feed(&mut ledbat, 0, &ack(12, 20)));
    close(window(&ledbat), 14.0, 0.01);
    (0..4).for_each(|_| feed(&mut ledbat, 20, &ack(14, 70)));
    let full = window(&ledbat);
    close(full, 14.0 + 4.0 / 6.0, 0.2);
    feed(&mut ledbat, 150, &ack(14, 70));
    assert!(window(&ledbat) > 13.0, "not before two round trips");
    feed(&mut ledbat, 161, &ack(14, 20));
    assert_eq!(window(&ledbat), 2.0, "a slowdown");
    (0..3).for_each(|_| feed(&mut ledbat, 190, &ack(2, 20)));
    assert_eq!(window(&ledbat), 2.0, "frozen for two round trips");
    // From 2 segments by a sixth each: 12 or so segments need about 75 acknowledgements.
    let mut millis = 201;
    while window(&ledbat) < full - 0.5 {
        feed(&mut ledbat, millis, &ack(2, 20));
        millis += 1;
    }
    (0..10).for_each(|_| feed(&mut ledbat, millis, &ack(14, 20)));
    assert!((260..290).contains(&millis), "back at {millis} ms");
    let length = millis - 161;
    let due = millis + 9 * length;
    feed(&mut ledbat, due - 20, &ack(14, 20));
    assert!(window(&ledbat) > 13.0);
    feed(&mut ledbat, due + 20, &ack(14, 20));
    assert_eq!(window(&ledbat), 2.0, "the next slowdown");
}

/// What a time-out in a slowdown has lost left before it, at the window that is to be returned to: half of that is left, and not
/// half of the two segments in force.
#[test]
fn ledbat_plus_plus_returns_to_half_after_a_timeout_in_a_slowdown() {
    let mut ledbat = scheme(serde_json::json!({ "name": "ledbat-plus-plus" }), 40, Some(40));
    (0..4).for_each(|_| feed(&mut ledbat, 0, &ack(40, 20)));
    feed(&mut ledbat, 50, &ack(40, 20));
    assert_eq!(window(&ledbat), 2.0, "a slowdown");
    feed(&mut ledbat, 60, &event(CongestionEvent::Timeout { consecutive: 1 }, 40));
    assert_eq!(window(&ledbat), 1.0);
    (0..120).for_each(|_| feed(&mut ledbat, 80, &ack(2, 20)));
    close(window(&ledbat), 20.0, 0.5);
}

/// Above the target the window shrinks by W (q/T - 1) per round trip, at most by half.
#[test]
fn ledbat_plus_plus_shrinks_in_proportion_to_the_excess() {
    let text = serde_json::json!({ "name": "ledbat-plus-plus", "slowdowns": false });
    let mut ledbat = scheme(text, 40, Some(40));
    feed(&mut ledbat, 0, &ack(40, 20));
    // 92 ms: q = 72 ms, a fifth above the target. The newest four count.
    (0..4).for_each(|_| feed(&mut ledbat, 100, &ack(40, 92)));
    let before = window(&ledbat);
    feed(&mut ledbat, 100, &ack(40, 92));
    close(window(&ledbat), before + (1.0 / 6.0 - before * 0.2) / before, 0.01);
}

// ── BBR, version 1 (Linux, `bbr_cwnd_event` and `bbr_check_probe_rtt_done`) ──

/// Where the application pauses in ProbeRTT, nobody acknowledges anything that could end it. What leaves after the pause does,
/// but not before the 200 ms are over, and the window is as before at once.
#[test]
fn bbr1_ends_probe_rtt_when_data_leaves_after_a_pause() {
    let mut bbr = scheme(serde_json::json!({ "name": "bbr1" }), 20, None);
    let acked = |millis, rtt| DeliverySample {
        delivered: Bytes::new(SEGMENT),
        newly_acked: Bytes::new(SEGMENT),
        rate: Some(BitRate::from_bits_per_sec(1_000_000)),
        rtt: Some(Span::from_millis(rtt)),
        sent_at: Time::ZERO + Span::from_millis(millis - rtt),
        ..DeliverySample::default()
    };
    let deliver = |bbr: &mut AnyController, millis, rtt| {
        let sample = acked(millis, rtt);
        let in_flight = Bytes::new(3 * SEGMENT);
        feed(bbr, millis, &Feedback { delivery: Some(&sample), in_flight, ..ack(4, rtt) });
    };
    deliver(&mut bbr, 40, 40);
    let before = window(&bbr);
    assert!(before >= 20.0, "{before}");
    deliver(&mut bbr, 11_000, 50);
    assert_eq!(window(&bbr), 4.0, "the smallest round trip time is old: ProbeRTT, until 11.2 s at least");
    let mut resume = |millis| {
        let size = Bytes::new(SEGMENT);
        let mut sent = Sent {
            number: 30,
            size,
            in_flight: size,
            retransmission: false,
            pair: PairPosition::Single,
            app_limited: true,
            tag: 0,
        };
        let mut rng = Stream::new(1, "todays");
        let now = Time::ZERO + Span::from_millis(millis);
        bbr.on_sent(now, &mut sent, &mut Cx { rng: &mut rng, notes: None });
        window(&bbr)
    };
    assert_eq!(resume(11_200), 4.0, "not over yet");
    assert!(resume(11_201) >= before, "over");
}

// ── PCC Vivace ──

/// An interval lasts from its first packet on. Round trips of no time at all, which a peer can feign, would else be a timer
/// event per microsecond at a sender that may not send.
#[test]
fn vivace_waits_for_a_packet_before_its_interval_ends() {
    let mut vivace = scheme(serde_json::json!({"name": "vivace"}), 10, None);
    let mut rng = Stream::new(1, "todays");
    let mut cx = Cx { rng: &mut rng, notes: None };
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    feed(&mut vivace, 1, &ack(1, 0));
    for number in 0..5u64 {
        let now = at(2 + number);
        assert_eq!(vivace.next_timer(), None, "interval {number} has no packet yet");
        let size = Bytes::new(SEGMENT);
        let mut sent = Sent {
            number,
            size,
            in_flight: size,
            retransmission: false,
            pair: PairPosition::Single,
            app_limited: false,
            tag: 0,
        };
        vivace.on_sent(now, &mut sent, &mut cx);
        let ends = vivace.next_timer().expect("it has begun");
        assert!(ends > now && ends < at(3 + number), "{ends} after {now}");
        vivace.on_timer(ends, &mut cx);
    }
}

/// Prague's mean window over a path that marks at random, a round trip of 25 ms, without packets: 16 acknowledged at a time, as
/// quickly as the window lets them. From `initial` segments on; the first half of so many rounds does not count.
fn prague_of_random_marks(chance: f64, initial: u64, rounds: u64) -> f64 {
    const BATCH: u64 = 16;
    let trip = Span::from_millis(25);
    let acked = [ONE; BATCH as usize];
    let mut prague = scheme(serde_json::json!({"name": "prague"}), initial, Some(initial));
    let mut rng = Stream::new(1, "marks");
    let (mut now, mut until, mut sum) = (Time::ZERO, rng.exponential() / chance, 0.0);
    let end = Time::ZERO + trip.mul_f64(rounds as f64);
    let half = Time::ZERO + trip.mul_f64(0.5 * rounds as f64);
    while now < end {
        let mut echoes = Echoes::default();
        until -= BATCH as f64;
        while until < 0.0 {
            echoes.ce += 1;
            until += rng.exponential() / chance;
        }
        let had = window(&prague);
        let feedback = Feedback {
            acked: &acked,
            advanced: Bytes::new(BATCH * SEGMENT),
            echoes,
            window_limited: true,
            ..ack(had as u64, 25)
        };
        prague.on_feedback(now, &feedback, &mut Cx { rng: &mut rng, notes: None });
        let took = trip.mul_f64(BATCH as f64 / had);
        now += took;
        if now > half {
            sum += had * took.as_secs_f64();
        }
    }
    sum / now.since(half).as_secs_f64()
}

const ONE: Acked = Acked {
    number: 0,
    size: Bytes::new(SEGMENT),
    sent_at: Time::ZERO,
    retransmitted: false,
    pair: PairPosition::Single,
    tag: 0,
};

/// As in the module: at the first mark nothing is known of how many there are, and the window is halved, also where a loss has
/// ended slow start. A later one takes half of α, also in the slow start after a time-out.
#[test]
fn prague_halves_at_the_first_mark_of_all_and_at_no_other() {
    let mut prague = scheme(serde_json::json!({ "name": "prague" }), 20, Some(10));
    feed(&mut prague, 0, &marked(ack(20, 25)));
    assert_eq!(window(&prague), 10.0);
    feed(&mut prague, 30, &marked(ack(10, 25)));
    assert_eq!(window(&prague), 10.0, "α is 0 yet");
    feed(&mut prague, 60, &event(CongestionEvent::Timeout { consecutive: 1 }, 10));
    (0..3).for_each(|_| feed(&mut prague, 100, &Feedback { acked: &[ONE], ..ack(10, 25) }));
    assert_eq!(window(&prague), 4.0, "slow start");
    feed(&mut prague, 130, &marked(Feedback { acked: &[ONE], ..ack(10, 25) }));
    assert_eq!(window(&prague), 4.0, "α is a sixteenth at most");
}

/// Where everything is marked the rate falls to its least, 100 kbit/s, and two segments may still be in flight: a receiver that
/// acknowledges every second packet would else wait for its timer.
#[test]
fn prague_goes_below_two_segments_by_its_pacing() {
    let mut prague = scheme(serde_json::json!({ "name": "prague" }), 4, Some(2));
    feed(&mut prague, 0, &Feedback { acked: &[ONE], ..ack(4, 25) });
    for round in 1..300 {
        feed(&mut prague, 30 * round, &marked(Feedback { acked: &[ONE], ..ack(1, 25) }));
    }
    assert_eq!(window(&prague), 2.0);
    let rate = prague.directive().rate.expect("it paces").bits_per_sec();
    assert_eq!(rate, 100_000);
    feed(&mut prague, 10_000, &event(CongestionEvent::Timeout { consecutive: 1 }, 2));
    assert_eq!(window(&prague), 1.0, "after a time-out");
}

/// Below one segment, too, a loss halves the rate, its repair leaves it, and a time-out does not raise it: a whole segment in
/// flight would be twenty times as much here.
#[test]
fn prague_gives_way_to_losses_below_one_segment() {
    let mut prague = scheme(serde_json::json!({ "name": "prague" }), 4, Some(2));
    let rate = |prague: &AnyController| prague.directive().rate.expect("it paces").bits_per_sec();
    feed(&mut prague, 0, &Feedback { acked: &[ONE], ..ack(4, 5) });
    let mut round = 0;
    while rate(&prague) > 800_000 {
        round += 1;
        feed(&mut prague, 30 * round, &marked(Feedback { acked: &[ONE], ..ack(1, 5) }));
    }
    let before = rate(&prague);
    feed(&mut prague, 30 * round + 30, &event(CongestionEvent::Loss, 2));
    close(rate(&prague) as f64, before as f64 / 2.0, 2.0);
    feed(&mut prague, 30 * round + 40, &event(CongestionEvent::RecoveryEnd, 2));
    close(rate(&prague) as f64, before as f64 / 2.0, 2.0);
    feed(&mut prague, 30 * round + 50, &event(CongestionEvent::Timeout { consecutive: 1 }, 2));
    close(rate(&prague) as f64, before as f64 / 4.0, 2.0);
}

/// The law of `tests/todays/test_prague.py` at a mark in a thousand packets, which takes 2000 periods to forget where it began:
/// from either side. In the simulator that is 10 million packets and more; from slow start at 100 ms, 800 s.
#[test]
fn prague_at_one_mark_in_a_thousand() {
    for (chance, initial) in [(0.001, 1600), (0.001, 4000), (0.01, 200)] {
        let kept: f64 = 1.0 - chance;
        let law = (kept + (kept * kept + 2.0 * kept).sqrt()) / chance * (1.0 - chance / 4.0);
        let mean = prague_of_random_marks(chance, initial, 16_000);
        close(mean / law, 1.0, 0.05);
    }
}
