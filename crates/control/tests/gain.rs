//! The gain of a batch multiplies every additive increase and nothing else.

use tailback_control::ControllerParams;
use tailback_control::laws::accumulation::Law;
use tailback_control::schemes::{
    Accumulation, AccumulationConfig, AccumulationEstimator, Cubic, CubicConfig, Reno, RenoConfig, Vegas,
    VegasConfig,
};
use tailback_core::{Bytes, Controller, Cx, Feedback, RttSample, Sent, Span, Stream, Time};

const SEGMENT: Bytes = Bytes::new(1000);
const TRIP: Span = Span::from_millis(100);

fn params(ssthresh: u64) -> ControllerParams {
    ControllerParams {
        initial_ssthresh: Some(SEGMENT * ssthresh),
        ..ControllerParams::unlimited(SEGMENT, 20)
    }
}

/// How far a window grows in ten round trips without queues, acknowledgement by acknowledgement, with this gain.
fn growth(mut controller: impl Controller, gain: f64) -> f64 {
    let mut rng = Stream::new(1, "gain");
    let mut cx = Cx { rng: &mut rng, notes: None };
    let rtt = Some(RttSample { latest: TRIP, smoothed: TRIP, min: TRIP });
    for step in 0..220_u64 {
        let now = Time::ZERO + Span::from_millis(5 * step);
        let mut sent = Sent {
            number: step,
            size: SEGMENT,
            in_flight: SEGMENT * 20,
            retransmission: false,
            pair: tailback_core::PairPosition::Single,
            app_limited: false,
            tag: 0,
        };
        controller.on_sent(now, &mut sent, &mut cx);
        // Twenty are on their way at any time.
        let Some(number) = step.checked_sub(20) else { continue };
        let acked = [tailback_core::Acked {
            number,
            size: SEGMENT,
            sent_at: now - TRIP,
            retransmitted: false,
            pair: sent.pair,
            tag: sent.tag,
        }];
        let outstanding = SEGMENT * 20;
        let batch =
            Feedback { acked: &acked, advanced: SEGMENT, rtt, outstanding, gain, ..Feedback::empty() };
        controller.on_feedback(now, &batch, &mut cx);
    }
    controller.directive().window.map_or(f64::NAN, Bytes::as_f64) / 1000.0 - 20.0
}

fn ratio<C: Controller>(make: impl Fn() -> C) -> f64 {
    assert_eq!(growth(make(), 1.0), growth(make(), 1.0));
    growth(make(), 2.0) / growth(make(), 1.0)
}

#[test]
fn additive_increases_are_multiplied() {
    let reno = ratio(|| Reno::new(&RenoConfig::default(), &params(10)));
    assert!((1.7..=2.0).contains(&reno), "w += 1/w, with a larger w: {reno}");
    let cubic = ratio(|| Cubic::new(&CubicConfig::default(), &params(10)));
    assert!((1.5..=2.1).contains(&cubic), "{cubic}");
    for history in [None, Some(10)] {
        let vegas = ratio(|| Vegas::new(&VegasConfig::default(), history, &params(10)));
        assert!((1.7..=2.1).contains(&vegas), "{history:?}: {vegas}");
    }
    let config = AccumulationConfig {
        estimator: AccumulationEstimator::Vegas,
        gamma: None,
        pace: false,
        ..AccumulationConfig::default()
    };
    for law in [Law::Aiad, Law::Mw, Law::Proportional] {
        let found = ratio(|| Accumulation::new(law, &config, &params(10)));
        assert!((1.5..=2.1).contains(&found), "{law:?}: {found}");
    }
}

#[test]
fn slow_start_is_not_additive() {
    assert_eq!(ratio(|| Reno::new(&RenoConfig::default(), &params(1000))), 1.0);
    assert_eq!(ratio(|| Cubic::new(&CubicConfig::default(), &params(1000))), 1.0);
}
