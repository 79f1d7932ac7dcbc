//! Arrivals that no text has thought of, and rates that change, for tests of all disciplines.

use proptest::prelude::*;
use tailback_core::{BitRate, Bytes, Capacity, Ecn, Time};

use super::Job;

/// Sizes from 1 B to 64 kB, bursts, pauses up to days, every codepoint.
pub fn wild(flows: u32, most: usize) -> impl Strategy<Value = Vec<Job>> {
    let gap = prop_oneof![
        6 => Just(0_u64),
        6 => 0_u64..3_000_000,
        2 => 0_u64..40_000_000,
        1 => 0_u64..2_000_000_000,
        1 => Just(400_000_000_000_000_u64),
    ];
    let size = prop_oneof![
        Just(40_u64),
        Just(53),
        Just(1000),
        Just(1500),
        1_u64..1500,
        Just(1514),
        Just(9000),
        Just(65_535)
    ];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    (prop::collection::vec((gap, 0..flows, size, ecn, 1..=12_usize), 1..most), any::<bool>()).prop_map(
        |(steps, trains)| {
            let mut clock = 0;
            let mut jobs = Vec::new();
            for (gap, flow, size, ecn, count) in steps {
                clock += gap;
                for _ in 0..if trains { count } else { 1 } {
                    jobs.push(Job { at: Time::from_nanos(clock), ecn, ..Job::new(0, flow, size) });
                }
            }
            jobs
        },
    )
}

/// Buffers of no packet, of one, of some, in bytes, without a bound.
pub fn capacities() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        4 => Just(Capacity::Unlimited),
        1 => Just(Capacity::Packets(1)),
        3 => (0_u32..60).prop_map(Capacity::Packets),
        2 => (100_u64..80_000).prop_map(|bytes| Capacity::Bytes(Bytes::new(bytes))),
    ]
}

/// A rate for ever, or one that changes as time goes.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub first: u64,
    pub second: u64,
    pub period: u64,
}

impl Rates {
    /// The rate at this time.
    pub fn at(&self, now: Time) -> BitRate {
        let odd = (now.as_nanos() / self.period) % 2 == 1;
        BitRate::from_bits_per_sec(if odd { self.second } else { self.first })
    }
}

/// The rate of most tests, very slow, very fast, such as change, and such as stand still in between.
pub fn rates() -> impl Strategy<Value = Rates> {
    prop_oneof![
        4 => Just(Rates { first: 8_000_000, second: 8_000_000, period: u64::MAX }),
        1 => Just(Rates { first: 1000, second: 1000, period: u64::MAX }),
        1 => Just(Rates { first: 100_000_000_000, second: 100_000_000_000, period: u64::MAX }),
        2 => (100_000_u64..50_000_000, 100_000_u64..50_000_000, 1_000_000_u64..500_000_000)
            .prop_map(|(first, second, period)| Rates { first, second, period }),
        1 => (1_000_000_u64..500_000_000).prop_map(|period| Rates { first: 8_000_000, second: 0, period }),
    ]
}
