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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::mix;

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
