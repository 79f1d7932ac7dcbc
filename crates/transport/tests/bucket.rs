//! A shaper that remembers its answers gives those of one that counts its tokens anew each time. What else it obeys is in
//! `shaping.rs`.

use proptest::prelude::*;
use tailback_core::{BitRate, Burst, Bytes, Directive, PairPosition, Span, Stream, Time, Tokens};
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
        let (mut shaper, mut rng) = (Shaper::new(Time::ZERO, PACKET), Stream::new(1, "tokens"));
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
            let found = shaper.ask(now, size, None, None, &mut rng);
            prop_assert_eq!(found, model.ask(now, size));
            due = if let Verdict::Wait(at) = found { at } else { due };
        }
    }
}
