//! What a sender of a stream lets leave when, under directives that change at any moment: windows, rates and their buckets, gates, pairs,
//! pairs of control packets and clusters. Ours and a second writing of the whole sender (`anew.rs`) are on one path with troubles, and
//! everything that leaves, is told or announced, and every time that either waits for, must be the same.
//!
//! The second writing is from what `Directive` and its parts say of themselves, RFC 6675 §4 and §5, RFC 5681 §3 and §4.1, and RFC 6298
//! §5. What is lost and what would leave next is that of the older second writings (`scoreboard.rs`, `duplicates.rs`, `rack.rs`), and
//! when that may leave of `shaper.rs`. What could follow a packet is found by letting the packet leave in a copy of the sender.

mod anew;
mod law;
mod run;

use proptest::prelude::*;
use tailback_control::Reliability;
use tailback_core::{BitRate, Burst, Bytes, Directive, Gate, ProbePlan, Span, Time, Tokens};

use super::comparisons::{options, rack_options, trouble};
use super::{Options, duplicates, rack, scoreboard};
use law::Law;
use run::difference;

/// Windows, below a segment too.
fn windows() -> impl Strategy<Value = Option<Bytes>> {
    prop_oneof![
        1 => Just(None),
        1 => Just(Some(Bytes::ZERO)),
        8 => prop::sample::select(vec![300_u64, 1000, 2500, 4000, 8000, 20_000])
            .prop_map(|bytes| Some(Bytes::new(bytes))),
    ]
}

fn probes() -> impl Strategy<Value = Option<ProbePlan>> {
    let pairs = prop::sample::select(vec![0_u64, 300, 5_000, 100_000]);
    prop_oneof![
        4 => Just(None),
        4 => pairs.prop_map(|micros| {
            Some(ProbePlan::DataPairs { singleton_timeout: Span::from_micros(micros) })
        }),
        1 => (0_u64..3).prop_map(|id| Some(ProbePlan::ControlPair { id })),
        1 => (0_u64..3, 0_u64..5000).prop_map(|(id, bytes)| {
            Some(ProbePlan::Cluster { id, rate: BitRate::from_bits_per_sec(3_000_000), bytes: Bytes::new(bytes) })
        }),
    ]
}

prop_compose! {
    fn directives()(
        window in windows(),
        rate in prop::option::weighted(
            0.6, prop::sample::select(vec![800_u64, 80_000, 1_000_000, 7_777_777, 100_000_000])
        ),
        depth in prop_oneof![1 => Just(0_u64), 1 => 0_u64..6000],
        even in prop::bool::weighted(0.7),
        probe in probes(),
        gate in prop_oneof![
            6 => Just(Gate::Open),
            1 => prop::option::of((0_u64..2).prop_map(Time::from_nanos)).prop_map(|until| Gate::Closed { until }),
        ],
    ) -> Directive {
        let tokens = if even { Tokens::Constant } else { Tokens::Poisson };
        // Without either, all data would leave at once.
        let window = if rate.is_none() { window.or(Some(Bytes::new(8000))) } else { window };
        Directive {
            window, probe, gate,
            rate: rate.map(BitRate::from_bits_per_sec),
            burst: Burst { depth: Bytes::new(depth), tokens },
            ..Directive::window(Bytes::ZERO)
        }
    }
}

prop_compose! {
    /// Directives in turn: at these times, in nanoseconds, and at each event.
    fn laws()(
        told in prop::collection::vec(directives(), 1..6),
        pauses in prop::collection::vec(
            prop_oneof![3 => 0_u64..60_000_000, 1 => 0_u64..3_000_000_000], 0..40
        ),
    ) -> Law {
        let turns = pauses.iter().scan(0, |at, pause| { *at += pause; Some(*at) });
        Law::new(told, turns.collect())
    }
}

/// Ours beside the writing that is asked for.
fn compare(options: &Options, law: &Law, seed: u64, trouble: &super::path::Trouble) -> Option<String> {
    if options.rack.is_some() {
        difference(options, rack::RackTlp::new(options.clone()), law, trouble, seed)
    } else if options.reliability == Reliability::Sack {
        difference(options, scoreboard::Scoreboard::new(options.clone()), law, trouble, seed)
    } else {
        difference(options, duplicates::Duplicates::new(options.clone()), law, trouble, seed)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn by_ranges(options in options(Reliability::Sack), law in laws(), trouble in trouble(), seed: u64) {
        prop_assert_eq!(compare(&options, &law, seed, &trouble), None);
    }

    #[test]
    fn by_duplicates(options in options(Reliability::NewReno), law in laws(), trouble in trouble(), seed: u64) {
        prop_assert_eq!(compare(&options, &law, seed, &trouble), None);
    }

    #[test]
    fn by_duplicates_one_by_one(
        options in options(Reliability::Reno), law in laws(), trouble in trouble(), seed: u64,
    ) {
        prop_assert_eq!(compare(&options, &law, seed, &trouble), None);
    }

    #[test]
    fn by_time(options in rack_options(), law in laws(), trouble in trouble(), seed: u64) {
        prop_assert_eq!(compare(&options, &law, seed, &trouble), None);
    }
}
