//! Real numbers to the nearest whole one, without a call: `f64::round` is a function of the C library where the processor is
//! not asked for more than it surely has.

/// The nearest whole number, halves away from zero; negative or NaN gives zero, too large the largest. The same as
/// `x.round() as u64`.
#[inline]
pub(crate) fn nearest(x: f64) -> u64 {
    let whole = x as u64;
    // Exact: below 2^53 the fraction of a number is one itself, and above there is none.
    whole.saturating_add(u64::from(x - whole as f64 >= 0.5))
}

/// As a real: the same as `whole as f64`. A processor converts signed numbers in one step, others in several, and nearly all
/// are small enough.
#[inline]
pub(crate) fn real(whole: u64) -> f64 {
    let signed = whole.cast_signed();
    if signed >= 0 { signed as f64 } else { whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::mix;

    #[test]
    fn reals_are_those_of_the_language() {
        let borders = [0, 1, i64::MAX as u64 - 1, i64::MAX as u64, 1 << 63, (1 << 63) + 1025, u64::MAX];
        for whole in
            borders.into_iter().chain((0..10_000).map(mix)).chain((0..10_000).map(|seed| mix(seed) >> 30))
        {
            assert_eq!(real(whole), whole as f64, "{whole}");
        }
    }

    #[test]
    fn borders_are_those_of_round() {
        let odd = ((1_u64 << 53) - 1) as f64;
        let halves = [0.0, -0.0, 0.5, 0.5_f64.next_down(), 1.5, 2.5, -0.5, -7.3, odd, odd + 1.0, odd / 2.0];
        let extremes = [1e19, 2e19, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE];
        for x in halves.into_iter().chain(extremes) {
            assert_eq!(nearest(x), x.round() as u64, "{x}");
        }
    }

    #[test]
    fn others_are_those_of_round() {
        for seed in 0..100_000 {
            let bits = mix(seed);
            let half = (bits >> 11 >> (seed % 53)) as f64 + 0.5;
            for x in [f64::from_bits(bits), half, half.next_down(), half.next_up()] {
                assert_eq!(nearest(x), x.round() as u64, "{x}");
            }
        }
    }
}
