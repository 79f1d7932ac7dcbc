//! Increases are scaled, decreases are not, and what it stands over is checked.

use tailback_control::prediction::Schedule;
use tailback_control::schemes::{FixedRateConfig, RenoConfig, SacConfig};
use tailback_control::{AnyController, ControllerParams, Scheme};
use tailback_core::{
    Acked, Bytes, Checker, Choice, CongestionEvent, Controller, Cx, Feedback, PairPosition, Stream, Time,
};

fn params() -> ControllerParams {
    let segment = Bytes::new(1000);
    ControllerParams { initial_ssthresh: Some(segment), ..ControllerParams::unlimited(segment, 10) }
}

fn over_reno(config: &SacConfig) -> (AnyController, AnyController) {
    let reno = || Scheme::Reno(RenoConfig::default()).build(&params()).controller;
    let sac = SacConfig { over: Choice(Box::new(Scheme::Reno(RenoConfig::default()))), ..config.clone() };
    (reno(), Scheme::Sac(sac).build(&params()).controller)
}

/// One segment acknowledged every ten milliseconds; growth of the window of both during the second half.
fn growth(config: &SacConfig) -> (f64, f64) {
    let (mut plain, mut scaled) = over_reno(config);
    let mut stream = Stream::new(1, "sac");
    let mut cx = Cx { rng: &mut stream, notes: None };
    let mut halfway = (0.0, 0.0);
    let windows = |plain: &AnyController, scaled: &AnyController| {
        let window = |controller: &AnyController| controller.directive().window.unwrap().as_f64();
        (window(plain), window(scaled))
    };
    for n in 0..1000_u64 {
        let now = Time::from_nanos(n * 10_000_000);
        let sent_at = now;
        let acked = [Acked {
            number: n,
            size: params().segment,
            sent_at,
            retransmitted: false,
            pair: PairPosition::default(),
            tag: 0,
        }];
        let batch = Feedback { acked: &acked, advanced: params().segment, ..Feedback::empty() };
        plain.on_feedback(now, &batch, &mut cx);
        scaled.on_feedback(now, &batch, &mut cx);
        if n == 499 {
            halfway = windows(&plain, &scaled);
        }
    }
    let end = windows(&plain, &scaled);
    (end.0.powi(2) - halfway.0.powi(2), end.1.powi(2) - halfway.1.powi(2))
}

#[test]
fn an_increase_is_scaled_by_one_plus_aggressiveness() {
    // A window that grows by gain / window per acknowledgement has a square that grows by twice the gain.
    for (factor, gain) in [(0.0, 1.0), (1.0, 2.0), (3.0, 4.0)] {
        let schedule = Schedule::Threshold { theta: 8.0, factor, shift: 0.0 };
        let (plain, scaled) = growth(&SacConfig { schedule: schedule.into(), ..SacConfig::default() });
        assert!((scaled / plain - gain).abs() < 0.02, "{factor}: {}", scaled / plain);
    }
}

#[test]
fn a_decrease_is_not_touched() {
    let schedule = Schedule::Threshold { theta: 8.0, factor: 100.0, shift: 0.0 };
    let (mut plain, mut scaled) = over_reno(&SacConfig { schedule: schedule.into(), ..SacConfig::default() });
    let mut stream = Stream::new(1, "sac");
    let mut cx = Cx { rng: &mut stream, notes: None };
    let batch = Feedback {
        event: Some(CongestionEvent::Timeout { consecutive: 1 }),
        outstanding: Bytes::new(10_000),
        ..Feedback::empty()
    };
    for controller in [&mut plain, &mut scaled] {
        controller.on_feedback(Time::from_nanos(5_000_000_000), &batch, &mut cx);
    }
    assert_eq!(plain.directive(), scaled.directive());
}

#[test]
fn over_itself_and_over_what_does_not_increase_is_refused() {
    let wrong = |over: Scheme| {
        let mut checker = Checker::new();
        Scheme::Sac(SacConfig { over: Choice(Box::new(over)), ..SacConfig::default() }).check(&mut checker);
        checker.finish().unwrap_err().remove(0).field
    };
    assert_eq!(wrong(Scheme::Sac(SacConfig::default())), "over");
    assert_eq!(wrong(Scheme::FixedRate(FixedRateConfig::default())), "over");
}
