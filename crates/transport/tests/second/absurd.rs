//! What no directive may do to a shaper, however absurd its numbers are: no panic, no overflow, no endless loop, and never more than
//! the rate allows.

use proptest::prelude::*;
use tailback_core::{BitRate, Bytes, Directive, Gate, PairPosition, ProbePlan, Stream, Time, Tokens};
use tailback_transport::{Shaper, Verdict};

use super::shaped::{CLOSED, MILLI, PACKET, burst, directives, rate};
use super::shaper::NEVER;

/// A pause at 100 Tbit/s before a bucket without a bottom brings more tokens than could be drawn one by one. As many come as are
/// expected, and they vary as much as their number says.
#[test]
fn very_many_tokens_come_at_once() {
    let deep = Directive { burst: burst(u64::MAX, Tokens::Poisson), ..rate(100_000_000_000_000) };
    let mut rng = Stream::new(1, "tokens");
    let (mut below, runs) = ([0_u32; 3], 2000);
    for _ in 0..runs {
        for (below, deviations) in below.iter_mut().zip([-1.0, 0.0, 1.0]) {
            let mut shaper = Shaper::new(Time::ZERO, Bytes::new(PACKET));
            shaper.direct(Time::ZERO, &deep, &mut rng);
            // A hundred million tokens, and ten thousand are a standard deviation; the one at the beginning is not seen.
            let now = Time::from_nanos(8 * MILLI);
            shaper.direct(now, &deep, &mut rng);
            let asked = Bytes::new((1e11 + deviations * 1e7) as u64);
            *below += u32::from(
                shaper.ask(now, asked, None, None, &mut rng) != Verdict::Send(PairPosition::Single),
            );
        }
    }
    for (below, expected) in below.into_iter().zip([0.1587, 0.5, 0.8413]) {
        let share = f64::from(below) / f64::from(runs);
        // Four standard errors of a half.
        assert!((share - expected).abs() < 2.0 / f64::from(runs).sqrt(), "{share} against {expected}");
    }
    let mut shaper = Shaper::new(Time::ZERO, Bytes::new(PACKET));
    shaper.direct(Time::ZERO, &deep, &mut rng);
    let years = Time::from_nanos(NEVER - 1);
    shaper.direct(years, &deep, &mut rng);
    let asked = Bytes::new(1_000_000_000_000_000_000);
    assert_eq!(shaper.ask(years, asked, None, None, &mut rng), Verdict::Send(PairPosition::Single));
}

/// Numbers at the ends of their ranges, and between.
fn absurd() -> impl Strategy<Value = u64> {
    prop_oneof![
        1 => prop::sample::select(vec![0, 1, 1 << 40, 1_000_000_000_000, u64::MAX - 1, u64::MAX]),
        2 => (0_u32..64, any::<u64>()).prop_map(|(shift, any)| any >> shift),
    ]
}

proptest! {
    /// What left is never more than the first packet's tokens and the rate's integral, whatever is directed however often; and
    /// nothing panics, overflows or waits for a time that has passed.
    #[test]
    fn no_number_lets_more_leave_than_its_rate(
        begin in absurd(),
        steps in prop::collection::vec(
            (prop_oneof![2 => Just(0_u64), 1 => Just(1_u64), 2 => absurd()], absurd(), absurd(), 0_u8..4, 1_u64..70_000),
            1..60),
    ) {
        let mut now = begin.min(NEVER - 1);
        let mut shaper = Shaper::new(Time::from_nanos(now), Bytes::new(PACKET));
        let mut rng = Stream::new(1, "tokens");
        let (mut current, mut may, mut did) = (0_u64, u128::from(PACKET) * 8_000_000_000, 0_u128);
        shaper.direct(Time::from_nanos(now), &rate(current), &mut rng);
        for (pause, bits, depth, what, size) in steps {
            let then = now.saturating_add(pause).min(NEVER - 1);
            may = may.saturating_add(u128::from(then - now) * u128::from(current));
            now = then;
            let time = Time::from_nanos(now);
            if what > 0 {
                current = bits;
                let gate = if what == 1 { CLOSED } else { Gate::Open };
                let directive = Directive { gate, burst: burst(depth, Tokens::Constant), ..rate(current) };
                shaper.direct(time, &directive, &mut rng);
            }
            for _ in 0..4 {
                match shaper.ask(time, Bytes::new(size), None, None, &mut rng) {
                    Verdict::Send(_) => did += u128::from(size) * 8_000_000_000,
                    Verdict::Wait(at) => prop_assert!(at > time),
                }
            }
            prop_assert!(did <= may, "{did} left, and {may} may");
        }
    }

    /// Whatever is directed of everything: an answer comes, and it is not in the past.
    #[test]
    fn no_number_makes_a_shaper_stop(
        begin in absurd(),
        steps in prop::collection::vec(
            (prop_oneof![2 => Just(0_u64), 1 => Just(1_u64), 2 => absurd()], directives(), absurd(), absurd(), any::<bool>(),
             1_u64..70_000),
            1..40),
    ) {
        let mut now = begin.min(NEVER - 1);
        let mut shaper = Shaper::new(Time::from_nanos(now), Bytes::new(PACKET));
        let mut rng = Stream::new(1, "tokens");
        let mut due = NEVER;
        for (pause, mut directive, bits, depth, is_late, size) in steps {
            now = now.saturating_add(pause).min(NEVER - 1);
            let time = Time::from_nanos(now);
            if is_late && due < now {
                shaper.called_late(Time::from_nanos(due), time);
            }
            directive.rate = directive.rate.map(|_| BitRate::from_bits_per_sec(bits));
            directive.burst.depth = Bytes::new(depth);
            if let Some(ProbePlan::Cluster { rate, bytes, .. }) = &mut directive.probe {
                (*rate, *bytes) = (BitRate::from_bits_per_sec(bits), Bytes::new(depth));
            }
            shaper.direct(time, &directive, &mut rng);
            due = NEVER;
            for behind in [Some(size), None, None] {
                if let Verdict::Wait(at) = shaper.ask(time, Bytes::new(size), behind.map(Bytes::new), None, &mut rng) {
                    prop_assert!(at > time);
                    due = at.as_nanos();
                }
            }
            shaper.on_timeout(time, &mut rng);
        }
    }
}
