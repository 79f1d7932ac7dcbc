//! What each window law makes of a rest longer than the retransmission time-out (RFC 5681 §4.1): "RW = min(IW, cwnd)", and
//! slow start back to where the window was. When that is told is the transport's business.

use tailback_control::ControllerParams;
use tailback_control::schemes::{Cubic, CubicConfig, Reno, RenoConfig, Vegas, VegasConfig};
use tailback_core::{Bytes, CongestionEvent, Controller, Cx, Feedback, Stream, Time};

const SEGMENT: Bytes = Bytes::new(1000);

/// An initial window of four, and slow start up to 40.
fn params() -> ControllerParams {
    ControllerParams { initial_ssthresh: Some(SEGMENT * 40), ..ControllerParams::unlimited(SEGMENT, 4) }
}

fn feed(controller: &mut impl Controller, feedback: &Feedback<'_>) -> f64 {
    let mut rng = Stream::new(1, "idle");
    controller.on_feedback(Time::ZERO, feedback, &mut Cx { rng: &mut rng, notes: None });
    controller.directive().window.map_or(f64::NAN, |window| window.as_f64() / 1000.0)
}

fn acks(controller: &mut impl Controller, count: usize) -> f64 {
    let ack = Feedback { advanced: SEGMENT, ..Feedback::empty() };
    (0..count).fold(f64::NAN, |_, _| feed(controller, &ack))
}

fn rest(controller: &mut impl Controller) -> f64 {
    feed(controller, &Feedback { event: Some(CongestionEvent::Idle), ..Feedback::empty() })
}

/// A rest at a window of two, one at 30 and one beyond the threshold.
fn check(mut controller: impl Controller) {
    assert_eq!(rest(&mut controller), 4.0, "the initial window already");
    assert_eq!(acks(&mut controller, 26), 30.0);
    assert_eq!(rest(&mut controller), 4.0);
    // By slow start, one segment per acknowledgement, up to the threshold and no further.
    assert_eq!(acks(&mut controller, 36), 40.0);
    let beyond = acks(&mut controller, 200);
    assert!(beyond > 41.0 && beyond < 80.0, "congestion avoidance: {beyond}");
    assert_eq!(rest(&mut controller), 4.0);
    assert_eq!(acks(&mut controller, 36), 40.0, "the threshold is what it was");
    let timeout = Feedback { event: Some(CongestionEvent::Timeout { consecutive: 1 }), ..Feedback::empty() };
    assert_eq!(feed(&mut controller, &timeout), 1.0);
    assert_eq!(rest(&mut controller), 1.0, "a smaller window stays");
    let spurious = Feedback { event: Some(CongestionEvent::Spurious), ..Feedback::empty() };
    assert_eq!(feed(&mut controller, &spurious), 1.0, "what was reduced before the rest is not taken back");
}

#[test]
fn reno_restarts() {
    check(Reno::new(&RenoConfig::default(), &params()));
}

#[test]
fn cubic_restarts() {
    check(Cubic::new(&CubicConfig::default(), &params()));
}

#[test]
fn vegas_restarts_by_slow_start() {
    let wide = ControllerParams { initial_window: SEGMENT * 20, ..params() };
    let mut vegas = Vegas::new(&VegasConfig::default(), None, &wide);
    let loss = Feedback { event: Some(CongestionEvent::Loss), ..Feedback::empty() };
    assert_eq!(feed(&mut vegas, &loss), 15.0);
    assert_eq!(rest(&mut vegas), 15.0, "below the initial window");
    let mut vegas = Vegas::new(&VegasConfig::default(), None, &params());
    assert_eq!(rest(&mut vegas), 4.0);
}
