//! The receiver's half of every scheme that has one, under arrivals of any kind: what is reported is bounded, makes sense,
//! and is the same for the same arrivals. What schemes steer by is tested in `conformance.rs`.

use crate::bench::{Op, Stamp, What, told, with_policy};
use proptest::prelude::*;
use tailback_core::{Bytes, Report};

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let kind = prop_oneof![5 => Just(What::Data), 1 => any::<bool>().prop_map(What::Control)];
    let stamp = prop_oneof![
        1 => Just(Stamp::None),
        6 => Just(Stamp::Honest),
        1 => (any::<u64>(), any::<u64>()).prop_map(|(a, b)| Stamp::Forged(a, b)),
    ];
    let after = prop_oneof![8 => 0..50_000_u32, 1 => 0..20_000_000_u32];
    let step = prop_oneof![12 => Just(1_i8), 2 => 2..6_i8, 1 => -4..1_i8];
    let op = (after, kind, step, any::<u8>(), stamp).prop_map(|(after, kind, step, marks, stamp)| Op {
        after,
        kind,
        step,
        marks,
        stamp,
    });
    prop::collection::vec(op, 1..200)
}

/// Whether all numbers of a report are numbers, and probabilities such.
fn makes_sense(report: &Report) -> bool {
    match report {
        Report::Loss { event_rate, .. } => (0.0..=1.0).contains(event_rate),
        Report::Accumulation { backlog, .. } => backlog.is_finite(),
        Report::Custom(values) => values.iter().all(|value| value.is_finite()),
        Report::Interval { .. } | Report::Gate { .. } | Report::Rate { .. } => true,
        Report::Arrivals { words, .. } => words.iter().any(|word| word.is_received()),
    }
}

#[test]
fn the_schemes_with_a_receivers_half_are_these() {
    let mut names: Vec<&str> = with_policy().iter().map(|(_, scheme)| scheme.name()).collect();
    names.sort_unstable();
    names.dedup();
    for name in ["lied", "monaco", "packet-pair", "probabilistic", "sac", "tfrc"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Reports end at every instant, make sense, and need a byte at least.
    #[test]
    fn reports_are_bounded_and_make_sense(ops in ops()) {
        for (name, scheme) in with_policy() {
            for (at, outgoing) in told(&scheme, &ops) {
                prop_assert!(makes_sense(&outgoing.report), "{name}: {outgoing:?} at {at:?}");
                prop_assert!(outgoing.size > Bytes::ZERO, "{name}");
            }
        }
    }

    /// Equal arrivals give equal reports.
    #[test]
    fn reports_are_deterministic(ops in ops()) {
        for (name, scheme) in with_policy() {
            prop_assert_eq!(told(&scheme, &ops), told(&scheme, &ops), "{}", name);
        }
    }
}
