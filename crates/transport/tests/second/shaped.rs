//! Ours and the second writing of a shaper (`shaper.rs`) under directives that change at any moment: whatever is asked, both answer
//! the same. What once differed stands below as a case.

use proptest::prelude::*;
use tailback_core::{
    Allowance, BitRate, Burst, Bytes, Directive, Gate, GateTimes, Governor, PairPosition, ProbePlan, Span,
    Stream, Time, Tokens,
};
use tailback_transport::{ShapedGovernor, Shaper, Verdict};

use super::shaper;
use super::shaper::NEVER;

pub const PACKET: u64 = 1000;

/// Both writings, asked the same.
struct Both {
    ours: Shaper,
    second: shaper::Shaper,
    rng: (Stream, Stream),
}

fn span(from: u64, to: u64) -> Span {
    Span::from_nanos(to - from)
}

impl Both {
    fn new(now: u64) -> Self {
        Self {
            ours: Shaper::new(Time::from_nanos(now), Bytes::new(PACKET)),
            second: shaper::Shaper::new(now, PACKET),
            rng: (Stream::new(1, "tokens"), Stream::new(1, "tokens")),
        }
    }

    fn direct(&mut self, now: u64, directive: &Directive) {
        self.ours.direct(Time::from_nanos(now), directive, &mut self.rng.0);
        self.second.direct(now, directive, &mut self.rng.1);
    }

    fn called_late(&mut self, due: u64, now: u64) {
        self.ours.called_late(Time::from_nanos(due), Time::from_nanos(now));
        self.second.called_late(due, now);
    }

    fn ask(&mut self, now: u64, size: u64, behind: Option<u64>, since: Option<u64>) -> shaper::Answer {
        let time = Time::from_nanos(now);
        let (after, written) = (behind.map(Bytes::new), since.map(Time::from_nanos));
        let found = match self.ours.ask(time, Bytes::new(size), after, written, &mut self.rng.0) {
            Verdict::Send(place) => Ok(place),
            Verdict::Wait(at) => Err(at.as_nanos()),
        };
        let expected = self.second.ask(now, size, behind, since, &mut self.rng.1);
        assert_eq!(found, expected, "ours, and the second writing: {:?}", self.second);
        found
    }

    fn pass(&mut self) {
        self.ours.pass();
        self.second.pass();
    }

    fn time_out(&mut self, now: u64) {
        self.ours.on_timeout(Time::from_nanos(now), &mut self.rng.0);
        self.second.time_out(now, &mut self.rng.1);
    }

    fn control(&mut self) -> Option<(u64, bool)> {
        let found = self.ours.take_control();
        assert_eq!(found, self.second.take_control());
        found
    }

    fn check(&self) {
        let (closings, closed, since) = self.second.gate();
        let closed_since = since.map(Time::from_nanos);
        assert_eq!(self.ours.gate_times(), GateTimes { closings, closed: span(0, closed), closed_since });
    }

    /// As many random numbers were drawn.
    fn end(mut self) {
        assert_eq!(self.rng.0.uniform(), self.rng.1.uniform());
    }
}

/// Rates, with the absurd among them.
fn rates() -> impl Strategy<Value = u64> {
    prop_oneof![
        1 => Just(0_u64),
        1 => Just(1_u64),
        4 => prop::sample::select(vec![80_000_u64, 7_777_777, 9_000_000, 1_000_000_007]),
        2 => 1_000_u64..100_000_000,
        1 => Just(1_000_000_000_000_u64),
    ]
}

fn bursts() -> impl Strategy<Value = Burst> {
    let depth = prop_oneof![
        3 => Just(0_u64), 3 => 0_u64..6000, 1 => Just(1_u64 << 40),
    ];
    let tokens = prop_oneof![2 => Just(Tokens::Constant), 1 => Just(Tokens::Poisson)];
    // So few Poisson tokens are drawn one by one.
    let most = |tokens| if tokens == Tokens::Poisson { 1 << 22 } else { u64::MAX };
    (depth, tokens)
        .prop_map(move |(depth, tokens)| Burst { depth: Bytes::new(depth.min(most(tokens))), tokens })
}

fn probes() -> impl Strategy<Value = Option<ProbePlan>> {
    let micros = prop::sample::select(vec![0_u64, 10, 300, 5_000]);
    prop_oneof![
        4 => Just(None),
        3 => micros.prop_map(|micros| {
            Some(ProbePlan::DataPairs { singleton_timeout: Span::from_micros(micros) })
        }),
        1 => (0_u64..3).prop_map(|id| Some(ProbePlan::ControlPair { id })),
        2 => (0_u64..3, rates(), 0_u64..5000).prop_map(|(id, rate, bytes)| {
            let rate = BitRate::from_bits_per_sec(rate);
            Some(ProbePlan::Cluster { id, rate, bytes: Bytes::new(bytes) })
        }),
        1 => Just(Some(ProbePlan::Padding)),
    ]
}

fn gates() -> impl Strategy<Value = Gate> {
    let until = prop::option::of((0_u64..1_000_000).prop_map(Time::from_nanos));
    prop_oneof![6 => Just(Gate::Open), 1 => until.prop_map(|until| Gate::Closed { until })]
}

pub fn directives() -> impl Strategy<Value = Directive> {
    let rate = prop::option::weighted(0.8, rates().prop_map(BitRate::from_bits_per_sec));
    (rate, bursts(), probes(), gates()).prop_map(|(rate, burst, probe, gate)| Directive {
        rate,
        burst,
        probe,
        gate,
        ..Directive::window(Bytes::MAX)
    })
}

/// What a sender does with its shaper.
#[derive(Clone, Debug)]
enum Step {
    /// One of the directives.
    Direct(usize),
    /// One of them, with another rate.
    Rate(usize, u64),
    Ask {
        size: u64,
        behind: Option<u64>,
        since: Option<u64>,
    },
    /// Asks until nothing may leave, or so often.
    Burst {
        size: u64,
        most: u32,
    },
    Pass,
    TimeOut,
    Control,
}

fn sizes() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![40_u64, 500, PACKET])
}

fn step() -> impl Strategy<Value = Step> {
    let behind = prop::option::weighted(0.6, sizes());
    let since = prop::option::weighted(0.3, 0_u64..400_000);
    prop_oneof![
        4 => (0_usize..5).prop_map(Step::Direct),
        1 => (0_usize..5, rates()).prop_map(|(which, rate)| Step::Rate(which, rate)),
        6 => (sizes(), behind, since).prop_map(|(size, behind, since)| Step::Ask { size, behind, since }),
        3 => (sizes(), 1_u32..6).prop_map(|(size, most)| Step::Burst { size, most }),
        1 => Just(Step::Pass),
        1 => Just(Step::TimeOut),
        1 => Just(Step::Control),
    ]
}

/// How much time goes by before a step.
#[derive(Clone, Debug)]
enum Pause {
    /// None, or so many nanoseconds.
    For(u64),
    /// Until what waits is due, or so much later or earlier.
    Due { late: u64, early: bool },
}

fn pause() -> impl Strategy<Value = Pause> {
    let late = prop_oneof![2 => Just(0_u64), 1 => Just(1_u64), 2 => 0_u64..2_000_000];
    prop_oneof![
        3 => Just(Pause::For(0)),
        1 => (0_u64..3).prop_map(Pause::For),
        2 => (0_u64..3_000_000).prop_map(Pause::For),
        4 => (late, prop::bool::weighted(0.2)).prop_map(|(late, early)| Pause::Due { late, early }),
    ]
}

/// All steps through both, from an instant on.
fn compare(begin: u64, told: &[Directive], steps: &[(Pause, Step)]) {
    let (mut both, mut now, mut due) = (Both::new(begin), begin, NEVER);
    let mut last = told[0];
    both.direct(now, &last);
    for (pause, step) in steps {
        now = match *pause {
            Pause::For(nanos) => now.saturating_add(nanos),
            Pause::Due { early: true, .. } if due != NEVER => now.max(due - 1),
            Pause::Due { late, .. } if due != NEVER => now.max(due.saturating_add(late)),
            Pause::Due { .. } => now,
        };
        if now >= NEVER - 1 {
            return;
        }
        // As a sender does: what was due is heard of once.
        if due < now {
            both.called_late(due, now);
        }
        due = NEVER;
        match *step {
            Step::Direct(which) => {
                last = told[which % told.len()];
                both.direct(now, &last);
            }
            Step::Rate(which, rate) => {
                last = told[which % told.len()];
                last.rate = Some(BitRate::from_bits_per_sec(rate));
                both.direct(now, &last);
            }
            Step::Ask { size, behind, since } => {
                let since = since.map(|before| now.saturating_sub(before));
                due = both.ask(now, size, behind, since).err().unwrap_or(NEVER);
            }
            Step::Burst { size, most } => {
                for _ in 0..most {
                    if let Err(at) = both.ask(now, size, Some(size), None) {
                        due = at;
                        break;
                    }
                }
            }
            Step::Pass => both.pass(),
            Step::TimeOut => {
                both.time_out(now);
                both.direct(now, &last);
            }
            Step::Control => {
                both.control();
            }
        }
        both.check();
    }
    both.end();
}

proptest! {
    #[test]
    fn both_shapers_answer_the_same_under_whatever_is_directed(
        begin in prop_oneof![3 => Just(0_u64), 1 => Just(NEVER - 3_000_000_000)],
        told in prop::collection::vec(directives(), 1..5),
        steps in prop::collection::vec((pause(), step()), 1..150),
    ) {
        compare(begin, &told, &steps);
    }
}

pub const MILLI: u64 = 1_000_000;
pub const CLOSED: Gate = Gate::Closed { until: None };

pub fn rate(bits: u64) -> Directive {
    Directive::rate(BitRate::from_bits_per_sec(bits))
}

pub fn burst(depth: u64, tokens: Tokens) -> Burst {
    Burst { depth: Bytes::new(depth), tokens }
}

fn pairs(timeout: u64) -> Directive {
    let probe = Some(ProbePlan::DataPairs { singleton_timeout: Span::from_nanos(timeout) });
    Directive { probe, ..rate(8_000_000) }
}

/// A hundred packets, a millisecond each.
fn cluster() -> ProbePlan {
    let rate = BitRate::from_bits_per_sec(8_000_000);
    ProbePlan::Cluster { id: 1, rate, bytes: Bytes::new(100 * PACKET) }
}

/// A gate closes between the two packets of a pair: what leaves when it opens would be measured as if it had been back to back.
#[test]
fn what_leaves_when_a_gate_opens_is_no_second_of_a_pair() {
    let mut both = Both::new(0);
    both.direct(0, &pairs(MILLI));
    assert_eq!(both.ask(0, PACKET, Some(PACKET), None), Ok(PairPosition::First));
    both.direct(0, &Directive { gate: CLOSED, ..pairs(MILLI) });
    assert_eq!(both.ask(0, PACKET, None, None), Err(NEVER));
    both.direct(50 * MILLI, &pairs(MILLI));
    assert_eq!(both.ask(50 * MILLI, PACKET, Some(PACKET), None), Ok(PairPosition::First));
    assert_eq!(both.ask(50 * MILLI, PACKET, None, None), Ok(PairPosition::Second));
}

/// The newest directive says how long a packet waits for its partner, also one that waits already.
#[test]
fn another_wait_for_a_partner_counts_at_once() {
    let mut both = Both::new(0);
    both.direct(0, &pairs(100 * MILLI));
    assert_eq!(both.ask(0, PACKET, None, None), Err(100 * MILLI));
    both.direct(MILLI, &pairs(5 * MILLI));
    assert_eq!(both.ask(MILLI, PACKET, None, None), Err(5 * MILLI));
    both.direct(2 * MILLI, &pairs(30 * MILLI));
    assert_eq!(both.ask(5 * MILLI, PACKET, None, None), Err(30 * MILLI));
    assert_eq!(both.ask(30 * MILLI, PACKET, None, None), Ok(PairPosition::Single));
}

/// No token is there before the first has come, whichever way they come.
#[test]
fn a_cluster_without_a_rate_waits_for_its_first_token() {
    for tokens in [Tokens::Constant, Tokens::Poisson] {
        let mut both = Both::new(0);
        let directive = Directive { rate: None, burst: burst(0, tokens), probe: Some(cluster()), ..rate(0) };
        both.direct(0, &directive);
        let wait = both.ask(0, PACKET, None, None).expect_err("nothing has come");
        assert_eq!(both.ask(wait, PACKET, None, None), Ok(PairPosition::Single), "{tokens:?}");
    }
}

/// A rate begins with a packet's worth of tokens, but not in the middle of a cluster, which has its own.
#[test]
fn a_rate_that_comes_and_goes_does_not_hasten_a_cluster() {
    let mut both = Both::new(0);
    let without = Directive { rate: None, probe: Some(cluster()), ..rate(0) };
    both.direct(0, &without);
    let mut left = 0;
    for micro in 1..=10_000 {
        let now = micro * 1000;
        both.direct(now, &Directive { rate: Some(BitRate::from_bits_per_sec(1_000)), ..without });
        left += u32::from(both.ask(now, PACKET, None, None).is_ok());
        both.direct(now, &without);
    }
    assert_eq!(left, 10, "in 10 ms, of which each packet takes one");
}

/// The retransmission timer expires late, as all that is called late: one token is kept, and none is made up for beside.
#[test]
fn nothing_is_made_up_for_behind_a_time_out() {
    let mut both = Both::new(0);
    let fast = Directive { burst: burst(10_000, Tokens::Constant), ..rate(80_000_000) };
    both.direct(0, &fast);
    assert_eq!(both.ask(0, PACKET, None, None), Ok(PairPosition::Single));
    assert_eq!(both.ask(0, PACKET, None, None), Err(100_000));
    both.called_late(100_000, 900_000);
    both.time_out(900_000);
    both.direct(900_000, &fast);
    assert_eq!(both.ask(900_000, PACKET, None, None), Ok(PairPosition::Single));
    assert_eq!(both.ask(900_000, PACKET, None, None), Err(1_000_000));
    // A rate that comes at a late call has missed nothing.
    let mut both = Both::new(0);
    both.direct(0, &Directive { rate: None, ..pairs(MILLI) });
    assert_eq!(both.ask(0, PACKET, None, None), Err(MILLI));
    both.called_late(MILLI, 2 * MILLI);
    both.direct(2 * MILLI, &fast);
    assert_eq!(both.ask(2 * MILLI, PACKET, None, None), Ok(PairPosition::Single));
    assert_eq!(both.ask(2 * MILLI, PACKET, None, None), Err(2 * MILLI + 100_000));
}

/// Edges of aggregates let packets go that are larger than what their scheme counts in: 1500 B, say, where that is 1000 B. They are
/// paid for as a whole, or 4 Mbit/s would be 6.
#[test]
fn a_packet_larger_than_the_bucket_pays_for_all_of_its_size() {
    for tokens in [Tokens::Constant, Tokens::Poisson] {
        let mut governor = ShapedGovernor::new(Bytes::new(PACKET));
        let mut rng = Stream::new(1, "tokens");
        let directive = Allowance {
            total: None,
            rate: Some(BitRate::from_bits_per_sec(4_000_000)),
            burst: burst(0, tokens),
            gate: Gate::Open,
        };
        governor.allow(Time::ZERO, &directive, &mut rng);
        let (mut now, mut left, mut calls) = (Time::ZERO, 0, 0);
        while now < Time::from_nanos(10_000 * MILLI) {
            match governor.ask(now, Bytes::new(1500), &mut rng) {
                Ok(()) => left += 1500,
                Err(at) => now = at,
            }
            calls += 1;
            if calls % 7 == 0 {
                governor.allow(now, &directive, &mut rng);
            }
        }
        let share = f64::from(left) * 8.0 / 40e6;
        // 5000 Poisson tokens come, give or take 71: five times that.
        let off = if tokens == Tokens::Constant { 0.001 } else { 0.07 };
        assert!((share - 1.0).abs() < off, "{share} of {tokens:?}");
    }
}
