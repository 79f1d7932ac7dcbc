//! What `left_out.rs` draws: trees and rings, their links and flows, and when they are looked at. What is built of it is in
//! `built.rs`.

use proptest::prelude::*;
use tailback_control::SCHEMES;
use tailback_core::{Distribution, Span};
use tailback_qdisc::ALL;

/// A link one way: bit/s and nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub rate: u64,
    pub delay: u64,
    pub queue: Queue,
    /// Spends an event on every end of transmission.
    pub staged: bool,
    pub lost: Option<f64>,
    pub wear: Option<(f64, f64)>,
    /// The far end takes packets in batches.
    pub batches: Option<Distribution<Span>>,
    pub change: bool,
}

/// Batches that end at instants of their own, or at such at which other things happen as well.
fn batches() -> impl Strategy<Value = Option<Distribution<Span>>> {
    let times = vec![
        Distribution::exponential(Span::from_micros(900)),
        Distribution::constant(Span::from_millis(1)),
        Distribution::constant(Span::from_nanos(1)),
    ];
    prop::option::weighted(0.1, prop::sample::select(times))
}

/// What waits where.
#[derive(Clone, Copy, Debug)]
pub(super) enum Queue {
    Unbounded,
    Bytes(u64),
    /// One of all disciplines.
    Any(usize, u32),
    Marks,
    Fair(&'static str, u32),
}

/// A flow, of which much is decided by what it is drawn for.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    pub from: usize,
    pub to: usize,
    /// Which way it takes around a ring, there and back.
    pub around: (bool, bool),
    pub access: Access,
    /// A scheme, or chatter where there is none.
    pub scheme: Option<usize>,
    pub source: u8,
    /// How many segments, or files, or datagrams.
    pub amount: u64,
    pub segment: u64,
    pub ack_every: u32,
    pub is_paced: bool,
    pub window: f64,
    pub start: u64,
    pub stop: Option<u64>,
}

/// What a flow has between its hosts and the nodes.
#[derive(Clone, Debug)]
pub(super) enum Access {
    /// Nothing: its hosts are the nodes.
    None,
    /// A link up, one down, and both on the way back.
    Own(Box<[Way; 4]>),
    /// Those of an earlier flow with links of its own, if there is one; then all its links, in the other direction or the same.
    Shared(usize, bool),
}

/// A network, its flows, and when it is looked at.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub seed: u64,
    /// To which node of those before it each node but the first is joined, and whether the last is joined to the first, too.
    pub parents: Vec<usize>,
    pub ring: bool,
    /// One there and one back for each of these joints.
    pub ways: Vec<(Way, Way)>,
    pub talks: Vec<Talk>,
    /// Which of both runs has the event queue without a limit of time.
    pub wheels: (bool, bool),
    pub horizon: u64,
    pub look: u64,
    pub steps: Vec<u64>,
    /// A flow that comes before one of the steps.
    pub late: Option<(usize, Talk)>,
}

fn ways() -> impl Strategy<Value = Way> {
    let rate = prop_oneof![
        8 => prop::sample::select(vec![8_000_000_u64, 4_000_000, 1_000_000, 80_000_000]),
        2 => prop::sample::select(vec![8_000, 64_000, 8_000_000_000, 100_000_000_000]),
        1 => Just(10_000_000_000_000_u64),
        2 => 300_000..30_000_000_u64,
    ];
    let delay = prop_oneof![
        3 => prop::sample::select(vec![0_u64, 1, 2, 3]),
        6 => prop::sample::select(vec![1_000_000_u64, 2_000_000, 5_000_000, 20_000_000]),
        2 => 0..10_000_000_u64,
    ];
    let fair = prop::sample::select(vec![
        "round-robin",
        "weighted-round-robin",
        "deficit-round-robin",
        "self-clocked-fair-queueing",
        "weighted-fair-queueing",
    ]);
    let queue = prop_oneof![
        6 => Just(Queue::Unbounded),
        1 => (100..9000_u64).prop_map(Queue::Bytes),
        1 => (0..ALL.len(), 1..20_u32).prop_map(|(index, packets)| Queue::Any(index, packets)),
        1 => Just(Queue::Marks),
        2 => (1..20_u32).prop_map(|packets| Queue::Any(0, packets)),
        5 => (fair, 1..40_u32).prop_map(|(name, packets)| Queue::Fair(name, packets)),
    ];
    let lost = prop::option::weighted(0.08, 0.01..0.1_f64);
    let wear = prop::option::weighted(0.08, (0.0..0.1_f64, 0.0..0.1_f64));
    let (staged, change) = (prop::bool::weighted(0.05), prop::bool::weighted(0.03));
    (rate, delay, queue, staged, lost, wear, batches(), change).prop_map(
        |(rate, delay, queue, staged, lost, wear, batches, change)| Way {
            rate,
            delay,
            queue,
            staged,
            lost,
            wear,
            batches,
            change,
        },
    )
}

fn access() -> impl Strategy<Value = Access> {
    let delay = prop::sample::select(vec![0_u64, 1, 1_000_000, 5_000_000]);
    let quiet = (delay, any::<bool>(), batches()).prop_map(|(delay, fast, batches)| Way {
        rate: if fast { 80_000_000 } else { 8_000_000 },
        delay,
        queue: Queue::Unbounded,
        staged: false,
        lost: None,
        wear: None,
        batches,
        change: false,
    });
    let own = prop::collection::vec(prop_oneof![8 => quiet, 1 => ways()], 4).prop_map(|ways| {
        let ways = <[Way; 4]>::try_from(ways).expect("four");
        Access::Own(Box::new(ways))
    });
    let shared = (0..6_usize, any::<bool>()).prop_map(|(with, turns)| Access::Shared(with, turns));
    prop_oneof![2 => Just(Access::None), 3 => own, 1 => shared]
}

fn talks() -> impl Strategy<Value = Talk> {
    let paced = ["bbr1", "bbr3", "copa", "vivace", "prague", "monaco", "packet-pair", "newark"];
    let is_paced = |name: &&str| SCHEMES.iter().position(|info| info.name == *name);
    let paced: Vec<usize> = paced.iter().filter_map(is_paced).collect();
    let scheme = prop_oneof![
        1 => Just(None),
        4 => (0..SCHEMES.len()).prop_map(Some),
        4 => prop::sample::select(paced).prop_map(Some),
    ];
    let segment = prop_oneof![3 => Just(1000_u64), 1 => Just(41), 1 => 42..1500_u64];
    let start = prop_oneof![2 => Just(0_u64), 1 => Just(1_000_000), 1 => 0..300_000_000_u64];
    let ends = (start, prop::option::weighted(0.3, 0..400_000_000_u64));
    let shape = (0..6_u8, 1..300_u64, segment, 1..3_u32, prop::bool::weighted(0.3), 1.0..40.0_f64);
    let way = (0..6_usize, 0..6_usize, any::<(bool, bool)>(), access());
    (way, scheme, shape, ends).prop_map(|((from, to, around, access), scheme, shape, (start, stop))| {
        let (source, amount, segment, ack_every, is_paced, window) = shape;
        Talk {
            from,
            to,
            around,
            access,
            scheme,
            source,
            amount,
            segment,
            ack_every,
            is_paced,
            window,
            start,
            stop,
        }
    })
}

pub(super) fn cases() -> impl Strategy<Value = Case> {
    let step = prop_oneof![
        2 => prop::sample::select(vec![1_u64, 2, 1_000_000]),
        1 => 1..3_000_000_u64,
        4 => 1..120_000_000_u64,
        1 => Just(1_000_000_000),
    ];
    let net =
        (prop::collection::vec(0..6_usize, 1..6), any::<bool>(), prop::collection::vec((ways(), ways()), 6));
    let look = prop_oneof![1 => 900_000..200_000_000_u64, 1 => Just(10_000_000_u64)];
    let times = (50_000_000..1_500_000_000_u64, look, prop::collection::vec(step, 1..12));
    let late = prop::option::weighted(0.2, (0..8_usize, talks()));
    let rest = (any::<u64>(), any::<(bool, bool)>(), times, late);
    (net, prop::collection::vec(talks(), 1..7), rest).prop_map(
        |((parents, ring, ways), talks, (seed, wheels, (horizon, look, steps), late))| Case {
            seed,
            parents,
            ring,
            ways,
            talks,
            wheels,
            horizon,
            look,
            steps,
            late,
        },
    )
}
