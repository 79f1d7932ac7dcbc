//! The larger and the smaller of two real numbers that are both numbers. `f64::max` and `f64::min` also say what becomes of
//! NaN, which costs five instructions where one is enough. Laws keep to numbers: nothing here checks.

/// The larger one: `a.max(b)`, where neither is NaN.
#[inline]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller one: `a.min(b)`, where neither is NaN.
#[inline]
pub(crate) fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_compared_as_by_the_language(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            prop_assert_eq!(larger(a, b), a.max(b));
            prop_assert_eq!(smaller(a, b), a.min(b));
        }
    }
}
