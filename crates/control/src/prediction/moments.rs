//! Running mean and standard deviation in constant memory. Quantiles live in `quantiles.rs`.

/// Mean and variance of what was seen, by Welford's recursion: the same numbers as the sums of the paper's appendix A.2,
/// without the cancellation of `E(X²) - E(X)²`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Takes a value in.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; zero without values.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their standard deviation, as of a whole population (`E(X²) - E(X)²` under the root); zero without values.
    pub fn deviation(&self) -> f64 {
        if self.count == 0 { 0.0 } else { (self.squares / self.count as f64).max(0.0).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn worked_numbers() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean(), moments.deviation()), (0.0, 0.0));
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            moments.add(value);
        }
        assert_eq!((moments.count(), moments.mean(), moments.deviation()), (8, 5.0, 2.0));
    }

    proptest! {
        #[test]
        fn equal_the_sums(values in prop::collection::vec(-1e6_f64..1e6, 1..200)) {
            let mut moments = Moments::default();
            for value in &values {
                moments.add(*value);
            }
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
            prop_assert!((moments.mean() - mean).abs() < 1e-6 * mean.abs().max(1.0));
            prop_assert!((moments.deviation() - variance.sqrt()).abs() < 1e-6 * variance.sqrt().max(1.0));
        }
    }
}
