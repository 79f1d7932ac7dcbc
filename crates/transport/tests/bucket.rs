//! A shaper that remembers its answers, and what it was told, gives the answers of one that counts its tokens and reads its
//! directive anew each time. What else it obeys is in `shaping`.

use proptest::prelude::*;
use tailback_core::{
    BitRate, Burst, Bytes, Directive, Gate, PairPosition, ProbePlan, Span, Stream, Time, Tokens,
};
use tailback_transport::{Shaper, Verdict};

const BYTE: u128 = 8_000_000_000;
const PACKET: u64 = 1000;

/// Tokens in bits times nanoseconds per second, counted at every call.
struct Model {
    tokens: u128,
    at: Time,
    rate: u64,
    depth: u64,
}

impl Model {
    fn accrue(&mut self, now: Time) {
        let more = u128::from(self.rate) * u128::from(now.since(self.at).as_nanos());
        self.tokens = (self.tokens + more).min(u128::from(self.depth) * BYTE + u128::from(self.rate));
        self.at = now;
    }

    fn direct(&mut self, now: Time, rate: u64, depth: u64) {
        self.accrue(now);
        (self.rate, self.depth) = (rate, depth.max(PACKET));
        self.tokens = self.tokens.min(u128::from(self.depth) * BYTE);
    }

    fn ask(&mut self, now: Time, size: u64) -> Verdict {
        self.accrue(now);
        let cost = u128::from(size.min(self.depth)) * BYTE;
        if self.tokens >= cost {
            self.tokens -= cost;
            return Verdict::Send(PairPosition::Single);
        }
        let nanos = (cost - self.tokens).div_ceil(u128::from(self.rate));
        Verdict::Wait(now + Span::from_nanos(nanos as u64))
    }
}

proptest! {
    #[test]
    fn remembered_answers_are_those_of_counting(
        steps in prop::collection::vec(
            (prop_oneof![Just(0_u64), 0_u64..3000, 0_u64..1_000_000], 0_usize..6, 0_usize..3, 0_u64..4), 1..300),
    ) {
        let rates = [9_000_000, 7_777_777, 100_000_003];
        let (mut shaper, mut rng) = (Shaper::new(Time::ZERO, Bytes::new(PACKET)), Stream::new(1, "tokens"));
        let mut model = Model { tokens: u128::from(PACKET) * BYTE, at: Time::ZERO, rate: rates[0], depth: PACKET };
        let mut now = Time::ZERO;
        let (mut rate, mut depth, mut due) = (0, 0, Time::ZERO);
        let directive = |rate: usize, depth| {
            let burst = Burst { depth: Bytes::new(depth), tokens: Tokens::Constant };
            Directive { burst, ..Directive::rate(BitRate::from_bits_per_sec(rates[rate])) }
        };
        shaper.direct(now, &directive(rate, depth), &mut rng);
        for (pause, what, which, deep) in steps {
            // Now and then exactly when the last packet that had to wait may leave.
            now = if what == 5 { due.max(now) } else { now + Span::from_nanos(pause) };
            if what == 0 {
                (rate, depth) = (which, deep * 700);
            }
            if what < 3 {
                shaper.direct(now, &directive(rate, depth), &mut rng);
                model.direct(now, rates[rate], depth);
            }
            let size = [40, 500, PACKET][which];
            let found = shaper.ask(now, Bytes::new(size), None, None, &mut rng);
            prop_assert_eq!(found, model.ask(now, size));
            due = if let Verdict::Wait(at) = found { at } else { due };
        }
    }
}

/// Directives of all kinds, most of which repeat the one before or change its rate alone.
fn directive() -> impl Strategy<Value = Directive> {
    let rate = prop_oneof![6 => (0_usize..2).prop_map(Some), 1 => Just(None)];
    let probe = prop_oneof![
        4 => Just(None),
        2 => Just(Some(ProbePlan::DataPairs { singleton_timeout: Span::from_micros(300) })),
        2 => (0_u64..2).prop_map(|id| Some(ProbePlan::ControlPair { id })),
        1 => (0_u64..2).prop_map(|id| Some(ProbePlan::Cluster {
            id,
            rate: BitRate::from_bits_per_sec(50_000_000),
            bytes: Bytes::new(2500),
        })),
        1 => Just(Some(ProbePlan::Padding)),
    ];
    let gate = prop_oneof![6 => Just(Gate::Open), 1 => Just(Gate::Closed { until: None })];
    let media = prop_oneof![6 => Just(None), 1 => Just(Some(BitRate::from_bits_per_sec(5_000_000)))];
    (rate, 0_u64..3, any::<bool>(), probe, gate, media).prop_map(|(rate, depth, even, probe, gate, media)| {
        let tokens = if even { Tokens::Constant } else { Tokens::Poisson };
        Directive {
            rate: rate.map(|which| BitRate::from_bits_per_sec([9_000_000, 70_000_003][which])),
            burst: Burst { depth: Bytes::new(depth * 1500), tokens },
            probe,
            gate,
            media,
            ..Directive::window(Bytes::MAX)
        }
    })
}

proptest! {
    #[test]
    fn what_is_said_again_or_of_the_rate_alone_is_obeyed_as_if_it_were_new(
        said in prop::collection::vec(directive(), 1..4),
        steps in prop::collection::vec(
            (prop_oneof![Just(0_u64), 0_u64..3000, 0_u64..1_000_000], 0_usize..8, 0_usize..4, 0_usize..2), 1..300),
    ) {
        let start = |seed| (Shaper::new(Time::ZERO, Bytes::new(PACKET)), Stream::new(seed, "tokens"));
        let ((mut quick, mut quick_rng), (mut slow, mut slow_rng)) = (start(1), start(1));
        let (mut now, mut due, mut at) = (Time::ZERO, Time::ZERO, 0);
        for (pause, what, which, size) in steps {
            now = if what == 7 && due != Time::NEVER { due.max(now) } else { now + Span::from_nanos(pause) };
            at = if what < 2 { which % said.len() } else { at };
            let mut directive = said[at];
            if what == 2 {
                directive.rate = directive.rate.map(|rate| rate * 2);
            }
            if what < 6 {
                quick.direct(now, &directive, &mut quick_rng);
                slow.forget_said();
                slow.direct(now, &directive, &mut slow_rng);
            }
            let behind = (which == 1).then_some(Bytes::new(PACKET));
            let size = Bytes::new([500, PACKET][size]);
            let found = quick.ask(now, size, behind, None, &mut quick_rng);
            prop_assert_eq!(found, slow.ask(now, size, behind, None, &mut slow_rng));
            prop_assert_eq!(quick.gate_times(), slow.gate_times());
            prop_assert_eq!(quick.take_control(), slow.take_control());
            due = if let Verdict::Wait(at) = found { at } else { due };
        }
        prop_assert_eq!(quick_rng.uniform(), slow_rng.uniform(), "as many tokens were drawn");
    }
}
