//! Every registered scheme under random operations, against what holds for all controllers and against the laws of its
//! family. A scheme joins by being registered; what its row says is tested in `registered.rs`, numbers that belong to one scheme
//! in `reference.rs`.

use crate::script;

use proptest::prelude::*;
use script::{NEWEST_PAIR, Op, Script, ops, params};
use tailback_control::breaker::UnderBreaker;
use tailback_control::{
    AnyController, CUSTOM_SCHEMES, ControllerParams, CustomScheme, Family, Needs, Parts, Reliability,
    SCHEMES, Scheme, over_stream,
};
use tailback_core::{
    AckFrequency, AckWish, BitRate, Controller, Cx, Directive, Feedback, Report, Span, Time,
};

/// Every scheme with its defaults, and with options that change its path through the code.
fn schemes() -> Vec<Scheme> {
    let variants = [
        serde_json::json!({ "name": "reno", "counting": "bytes", "halve": "window" }),
        serde_json::json!({ "name": "cubic", "counting": "bytes", "halve": "window", "hystart": true }),
        serde_json::json!({ "name": "packet-pair", "setpoint": { "name": "fixed", "packets": 20.0 } }),
        serde_json::json!({ "name": "packet-pair", "law": { "name": "discrete" }, "setpoint": { "name": "section-7" } }),
        serde_json::json!({ "name": "packet-pair", "setpoint": { "name": "probed", "cut": "packet" } }),
        serde_json::json!({ "name": "sac", "over": "lied", "predictor": { "name": "forecast", "method": "fractional" } }),
        serde_json::json!({ "name": "sac", "over": "lied", "predictor": { "name": "forecast", "method": "wavelet" } }),
        serde_json::json!({ "name": "sac", "over": "lied", "predictor": { "name": "forecast", "method": "perceptron" } }),
        serde_json::json!({ "name": "packet-pair", "estimator": { "name": "kalman" }, "propagation": "least" }),
        serde_json::json!({ "name": "packet-pair", "estimator": { "name": "ewma" }, "nominal_rate": "1 Mbit/s", "clock": "10 ms" }),
        serde_json::json!({ "name": "bbr3", "ack_frequency": true }),
        serde_json::json!({ "name": "cubic", "reno_friendly": false, "fast_convergence": false }),
        serde_json::json!({ "name": "newark", "g": 0.5, "adaptive": {}, "counting": "bytes" }),
        serde_json::json!({
            "name": "newark", "burst_reaction": "each-mark", "burst_growth": "round-trip", "grow_unused": true,
            "signals": "one-bit",
        }),
    ];
    let variants = variants.map(|text| serde_json::from_value(text).expect("well-formed"));
    SCHEMES.iter().map(|info| (info.default)()).chain(variants).collect()
}

/// A controller that never hears of packets sent.
struct Deaf(AnyController);

impl Controller for Deaf {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        self.0.on_feedback(now, feedback, cx);
    }

    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.0.on_timer(now, cx);
    }

    fn next_timer(&self) -> Option<Time> {
        self.0.next_timer()
    }

    fn directive(&self) -> Directive {
        self.0.directive()
    }
}

/// All schemes of a family.
fn of(wanted: Family) -> Vec<Scheme> {
    schemes().into_iter().filter(|scheme| scheme.family() == wanted).collect()
}

/// Every scheme that selective aggressiveness can wrap, and so wrapped, without any aggressiveness.
fn wrapped() -> Vec<(Scheme, Scheme)> {
    let inner = schemes().into_iter().filter(|scheme| scheme.heeds_gain() && scheme.name() != "sac");
    let wrap = |inner: Scheme| {
        let over = serde_json::to_value(&inner).expect("a scheme can be written");
        let wrapper = serde_json::json!({ "name": "sac", "over": over, "unit": 0.0 });
        (inner, serde_json::from_value(wrapper).expect("and read within another"))
    };
    inner.map(wrap).collect()
}

const fn is_report(op: &Op) -> bool {
    matches!(op, Op::Report(..))
}

fn run(scheme: &Scheme, script: &[Op]) -> Vec<Directive> {
    let mut runner = Script::new(scheme.build(&params()).controller);
    script.iter().map(|op| runner.apply(op)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A window holds at least one segment and never exceeds its bound; a rate is neither zero nor absurd.
    #[test]
    fn directives_stay_within_bounds(script in ops()) {
        for scheme in schemes() {
            for directive in run(&scheme, &script) {
                if let Some(window) = directive.window {
                    prop_assert!(window >= params().segment, "{}: {window}", scheme.name());
                    prop_assert!(window <= params().max_window, "{}: {window}", scheme.name());
                }
                if let Some(rate) = directive.rate {
                    prop_assert!(rate > BitRate::ZERO, "{}: {rate}", scheme.name());
                    prop_assert!(rate.bits_per_sec() < 1 << 50, "{}: {rate}", scheme.name());
                }
                let bounded = directive.window.is_some() || directive.rate.is_some();
                prop_assert_eq!(bounded, scheme.family() != Family::Gate, "{}", scheme.name());
            }
        }
    }

    /// While fast recovery repairs, no window grows by acknowledgements; what shrinks it may come at any time.
    #[test]
    fn windows_never_grow_in_fast_recovery(script in ops()) {
        for scheme in of(Family::Window) {
            let mut runner = Script::new(scheme.build(&params()).controller);
            for op in script.iter().filter(|op| !is_report(op)) {
                let before = runner.directive().window;
                let after = runner.apply(op).window;
                if runner.in_fast_recovery() {
                    prop_assert!(after <= before, "{}: {before:?} to {after:?} at {op:?}", scheme.name());
                }
            }
        }
    }

    /// A time-out leaves a window of one segment, two of Vegas's (see there), and a loss never enlarges a window. Who lives on
    /// reports stretches it by what they say of round trips: here there are none.
    #[test]
    fn congestion_never_enlarges_a_window(script in ops()) {
        for scheme in of(Family::Window) {
            let mut runner = Script::new(scheme.build(&params()).controller);
            for op in script.iter().filter(|op| !is_report(op)) {
                let before = runner.directive().window;
                let directive = runner.apply(op);
                let after = directive.window;
                match op {
                    Op::Timeout if after.is_some() => {
                        let segments = if scheme.name().starts_with("vegas") { 2 } else { 1 };
                        prop_assert_eq!(after, Some(params().segment * segments), "{}", scheme.name());
                    }
                    Op::Loss | Op::Ecn => prop_assert!(after <= before, "{}", scheme.name()),
                    _ => {}
                }
            }
        }
    }

    /// A loss, an echo of a mark or a time-out never raises a rate, but packet-pair's, which begins its search anew after a
    /// time-out (Keshav 1994, §9.2).
    #[test]
    fn congestion_never_raises_a_rate(script in ops()) {
        for scheme in of(Family::Rate).into_iter().filter(|scheme| scheme.name() != "packet-pair") {
            let mut runner = Script::new(scheme.build(&params()).controller);
            for op in &script {
                runner.fire_timers();
                let before = runner.directive().rate;
                let after = runner.apply(op).rate;
                if matches!(op, Op::Loss | Op::Ecn | Op::Timeout) && before.is_some() {
                    prop_assert!(after <= before, "{}: {before:?} to {after:?} at {op:?}", scheme.name());
                }
            }
        }
    }

    /// A gate closes when the receiver says so, has a timer while it is closed, so that it closes nothing for ever, and is
    /// not moved by congestion that acknowledgements tell of.
    #[test]
    fn gates_obey_and_open_again(script in ops()) {
        for scheme in of(Family::Gate) {
            let mut runner = Script::new(scheme.build(&params()).controller);
            for op in &script {
                runner.fire_timers();
                let before = runner.directive().gate;
                let after = runner.apply(op).gate;
                match op {
                    Op::Report(Report::Gate { on: false, off_for }, _) if *off_for > Span::ZERO => {
                        prop_assert!(!after.is_open(), "{}: {op:?}", scheme.name());
                    }
                    Op::Loss | Op::Ecn | Op::Timeout => {
                        prop_assert!(after.is_open() <= before.is_open(), "{}: {op:?}", scheme.name());
                    }
                    _ => {}
                }
                let waits = runner.next_timer().is_some();
                prop_assert!(after.is_open() || waits, "{}: closed for ever", scheme.name());
            }
        }
    }

    /// The gain of a batch moves those that heed it, and no others; and by more it never makes anybody smaller that only
    /// hears acknowledgements.
    #[test]
    fn gain_moves_those_that_heed_it(script in ops()) {
        for scheme in schemes().into_iter().filter(|scheme| !scheme.heeds_gain()) {
            let mut runner = Script::new(scheme.build(&params()).controller).with_gain(3.0);
            let directives: Vec<Directive> = script.iter().map(|op| runner.apply(op)).collect();
            prop_assert_eq!(directives, run(&scheme, &script), "{}", scheme.name());
        }
    }

    /// Selective aggressiveness that scales nothing directs what the scheme beneath directs.
    #[test]
    fn a_wrapper_that_changes_nothing_is_not_noticed(script in ops()) {
        for (inner, wrapper) in wrapped() {
            prop_assert_eq!(run(&wrapper, &script), run(&inner, &script), "{}", inner.name());
        }
    }

    /// What is configured to be as it is stays so, whatever happens.
    #[test]
    fn nothing_moves_what_does_not_respond(script in ops()) {
        for scheme in of(Family::Unresponsive) {
            let first = scheme.build(&params()).controller.directive();
            for directive in run(&scheme, &script) {
                prop_assert_eq!(directive, first, "{}", scheme.name());
            }
        }
    }

    /// Reading the directive changes nothing, and the same operations give the same directives.
    #[test]
    fn directives_are_stable_and_deterministic(script in ops()) {
        for scheme in schemes() {
            let first = run(&scheme, &script);
            prop_assert_eq!(&first, &run(&scheme, &script), "{}", scheme.name());
            let mut runner = Script::new(scheme.build(&params()).controller);
            for (op, expected) in script.iter().zip(&first) {
                runner.apply(op);
                prop_assert_eq!(runner.directive(), *expected, "{}", scheme.name());
                prop_assert_eq!(runner.directive(), *expected, "{}", scheme.name());
            }
        }
    }

    /// A controller that says that it does not watch packets leave is the same without hearing of them.
    #[test]
    fn unwatched_packets_change_nothing(script in ops()) {
        for scheme in schemes() {
            let controller = scheme.build(&params()).controller;
            if controller.watches_sent() {
                continue;
            }
            let mut runner = Script::new(AnyController::Custom(Box::new(Deaf(controller))));
            let deaf: Vec<Directive> = script.iter().map(|op| runner.apply(op)).collect();
            prop_assert_eq!(deaf, run(&scheme, &script), "{}", scheme.name());
        }
    }

    /// Who does not say so never asks for acknowledgements; who does sends a stream, and asks for no fewer than one per round
    /// trip: for none beyond its window, and for no longer delay than that of a round trip, of which half a second is the longest
    /// here.
    #[test]
    fn only_those_ask_for_acknowledgements_who_say_so(script in ops()) {
        for scheme in schemes() {
            let needs = scheme.needs();
            let mut runner = Script::new(scheme.build(&params()).controller);
            for op in &script {
                let directive = runner.apply(op);
                let wish = runner.ack_wish();
                if !needs.ack_requests {
                    prop_assert_eq!(wish, AckWish::default(), "{}", scheme.name());
                } else if let Some(asked) = wish.frequency {
                    let most = params().max_window.get() / params().segment.get();
                    prop_assert!((1..=most).contains(&asked.threshold.into()), "{}: {asked:?}", scheme.name());
                    prop_assert!(asked.max_delay <= Span::from_millis(500), "{}: {asked:?}", scheme.name());
                    prop_assert!(directive.window.is_some(), "{}", scheme.name());
                }
            }
            prop_assert!(!needs.ack_requests || needs.reliability != Reliability::Datagram, "{}", scheme.name());
        }
    }

    /// Feedback that says nothing leaves the directive alone.
    #[test]
    fn empty_feedback_changes_nothing(script in ops()) {
        for scheme in schemes() {
            let mut runner = Script::new(scheme.build(&params()).controller);
            for op in &script {
                runner.apply(op);
            }
            runner.fire_timers();
            let before = runner.directive();
            prop_assert_eq!(runner.say_nothing(), before, "{}", scheme.name());
        }
    }
}

/// A wrapper hands on all that the scheme beneath says of itself, and its receiver's half.
#[test]
fn a_wrapper_wants_what_the_scheme_beneath_wants() {
    let all = wrapped();
    assert!(all.len() >= 10, "{}", all.len());
    for (inner, wrapper) in all {
        let name = inner.name();
        assert_eq!(wrapper.needs(), inner.needs(), "{name}");
        assert_eq!(wrapper.family(), inner.family(), "{name}");
        assert_eq!(wrapper.held(params().segment), inner.held(params().segment), "{name}");
        assert_eq!(wrapper.guaranteed_rate(), inner.guaranteed_rate(), "{name}");
        assert_eq!(wrapper.lives_on_reports(), inner.lives_on_reports(), "{name}");
        assert_eq!(wrapper.heeds_gain(), inner.heeds_gain(), "{name}");
        let has_policy = |scheme: &Scheme| scheme.build(&params()).policy.is_some();
        assert_eq!(has_policy(&wrapper), has_policy(&inner), "{name}");
    }
}

/// The laws above hold of somebody, and of whom they should.
#[test]
fn every_scheme_is_in_the_family_that_it_should_be_in() {
    let families = [
        ("sack", Family::Window),
        ("cubic", Family::Window),
        ("vegas", Family::Window),
        ("monaco", Family::Window),
        ("packet-pair", Family::Rate),
        ("tfrc", Family::Rate),
        ("lied", Family::Rate),
        ("sac", Family::Rate),
        ("newark", Family::Window),
        ("probabilistic", Family::Gate),
        ("fixed-window", Family::Unresponsive),
        ("fixed-rate", Family::Unresponsive),
    ];
    for (name, wanted) in families {
        assert!(of(wanted).iter().any(|scheme| scheme.name() == name), "{name}: {wanted:?}");
    }
}

/// Who says that he heeds the gain of a batch grows by more under more of it, when nothing but acknowledgements and reports
/// of a free network comes; the law above holds of all others.
#[test]
fn who_heeds_gain_grows_by_it() {
    let calm: Vec<Op> = (0..60_u16)
        .flat_map(|step| {
            let received = tailback_core::Bytes::new(100_000);
            let span = Span::from_millis(50);
            let report = match step % 2 {
                0 => Report::Interval { span, received, packets: 100, lost: 0 },
                _ => Report::Accumulation {
                    pair: NEWEST_PAIR,
                    backlog: 0.0,
                    lost: tailback_core::Bytes::ZERO,
                    egress_rate: BitRate::from_bits_per_sec(16_000_000),
                    virtual_delay: Span::ZERO,
                },
            };
            [Op::Send(4), Op::Ack(2, 100, false), Op::Wait(20), Op::Report(report, 100)]
        })
        .collect();
    let reached = |scheme: &Scheme, gain: f64| {
        // Beyond slow start from the first batch on.
        let params = ControllerParams { initial_ssthresh: Some(params().segment * 2), ..params() };
        let mut runner = Script::new(scheme.build(&params).controller).with_gain(gain);
        let mut area = 0.0;
        for op in &calm {
            let Directive { window, rate, .. } = runner.apply(op);
            area += window.map_or(0.0, tailback_core::Bytes::as_f64);
            area += rate.map_or(0.0, |rate| rate.bits_per_sec() as f64);
        }
        area
    };
    // Acknowledgements come as often here however large a window is, which Vegas-k soon takes for a queue: its growth over
    // a true path is in `gain.rs`.
    let heeding = schemes().into_iter().filter(|scheme| scheme.heeds_gain() && scheme.name() != "vegas-k");
    let heeding: Vec<Scheme> = heeding.collect();
    assert!(heeding.len() >= 10, "{}", heeding.len());
    for scheme in heeding {
        let (plain, more) = (reached(&scheme, 1.0), reached(&scheme, 2.0));
        assert!(more > plain, "{}: {plain} and {more}", scheme.name());
    }
}

/// A window that asks for something.
struct Asking;

impl Controller for Asking {
    fn on_feedback(&mut self, _: Time, _: &Feedback<'_>, _: &mut Cx<'_>) {}

    fn directive(&self) -> Directive {
        Directive::window(params().segment)
    }

    fn ack_wish(&self) -> AckWish {
        let frequency = AckFrequency { threshold: 3, max_delay: Span::from_millis(4) };
        AckWish { frequency: Some(frequency), immediate: 5 }
    }
}

/// What a controller asks of acknowledgements passes through those that wrap it.
#[test]
fn a_wrapper_asks_for_what_the_controller_beneath_asks() {
    let asking = CustomScheme {
        needs: Needs { ack_requests: true, ..Needs::default() },
        ..CustomScheme::new(|_, _| Asking)
    };
    CUSTOM_SCHEMES.enter("asking", asking);
    let over = serde_json::json!({ "name": "custom", "part": "asking" });
    let sac: Scheme =
        serde_json::from_value(serde_json::json!({ "name": "sac", "over": over })).expect("well-formed");
    assert!(sac.needs().ack_requests);
    assert_eq!(sac.build(&params()).controller.ack_wish(), Asking.ack_wish());
    assert_eq!(UnderBreaker::new(Asking, Span::from_secs(1)).ack_wish(), Asking.ack_wish());
    let stream = over_stream(Parts::sender(AnyController::Custom(Box::new(Asking))));
    assert_eq!(stream.controller.ack_wish(), Asking.ack_wish());
}
