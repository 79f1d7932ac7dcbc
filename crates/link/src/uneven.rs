//! Tests of queues that are looked at at regular times, on links whose rate is not always the same. What laws make of what they
//! see is tested in the crate `qdisc`.

use tailback_core::{Annexes, BitRate, Bytes, Capacity, DataAmount, FlowId, Kind, Packet, Span, Time};
use tailback_qdisc::{BuildCx, Config, KnownFlows, pi::PiConfig, rem::RemConfig};

use crate::schedule::Change;
use crate::spec::LinkSpec;
use crate::standalone::StandaloneLink;
use crate::trace::DeliveryTrace;

const RATE: BitRate = BitRate::from_bits_per_sec(8_000_000);
/// The probability after twenty looks, ten in a second, at so many packets and ten at none.
fn after_looks_at(waiting: f64) -> f64 {
    let (mut probability, mut before) = (0.0_f64, 0.0);
    for length in [[waiting; 20].as_slice(), &[0.0; 10]].concat() {
        probability = (probability + 0.002 * (length - 5.0) - 0.001 * (before - 5.0)).clamp(0.0, 1.0);
        before = length;
    }
    probability
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// Soon stands still until two seconds are over.
fn stands_still(spec: &mut LinkSpec) {
    let step = |at, rate| Change { at, rate: Some(rate), delay: None };
    spec.schedule = vec![step(at(500), BitRate::ZERO), step(at(2_000_000), RATE)];
}

/// What a discipline tells by this name on a link that gets twenty packets, sends nearly all of them after two seconds, and then gets
/// one more.
fn told(queue: &Config, name: &str, last: Time, change: impl FnOnce(&mut LinkSpec)) -> f64 {
    let cx = BuildCx {
        capacity: Capacity::Unlimited,
        rate: RATE,
        mean_packet: Bytes::new(1000),
        flows: KnownFlows::default(),
    };
    let mut spec = LinkSpec::new("uneven", RATE, Span::from_millis(1), queue.build(&cx));
    change(&mut spec);
    let (mut link, mut annexes) = (StandaloneLink::new(spec, 1), Annexes::new());
    for number in 0..21 {
        let at = if number < 20 { Time::ZERO } else { last };
        link.offer(at, Packet::new(Kind::Data, FlowId(0), number, Bytes::new(1000)), &mut annexes);
    }
    let mut found = f64::NAN;
    link.queue_state(&mut |told, value| {
        if told == name {
            found = value;
        }
    });
    found
}

#[test]
fn a_link_that_stood_still_is_not_taken_to_have_drained_evenly() {
    let pi = PiConfig { target: DataAmount::Packets(5.0), a: 0.002, b: 0.001, frequency: 10.0, ecn: false };
    let found =
        |change: fn(&mut LinkSpec)| told(&Config::Pi(pi.clone()), "probability", at(3_000_000), change);
    let lets_go_late = |spec: &mut LinkSpec| {
        let times: Vec<String> = (2001..2021).chain([60_000]).map(|millis: u32| millis.to_string()).collect();
        spec.trace = Some(DeliveryTrace::parse(&times.join("\n"), Bytes::new(1000)).expect("a trace"));
    };
    // There one of the twenty has begun; a trace lets none begin before its time.
    for (found, waiting) in [(found(stands_still), 19.0), (found(lets_go_late), 20.0)] {
        let expected = after_looks_at(waiting);
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }
}

/// Nothing could be sent meanwhile, whatever can be afterwards.
#[test]
fn the_capacity_of_a_link_that_stood_still_was_none() {
    let rem = RemConfig {
        target: DataAmount::Packets(5.0),
        alpha: 0.1,
        gamma: 0.001,
        period: Span::from_millis(100),
        ..RemConfig::default()
    };
    let found = told(&Config::Rem(rem), "price", at(2_050_000), stands_still);
    // Twenty looks at nineteen packets; before the first, twenty came.
    let expected = 0.001 * (20.0 + 20.0 * 0.1 * (19.0 - 5.0));
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}
