//! Spans of time by their quantiles: how late packets left, how late timers ran, how long calls took. Who measures them lives in
//! `router.rs` and elsewhere; what they say of a run is decided in `verdict.rs`.

use hdrhistogram::Histogram;
use tailback_core::Span;

/// Spans of time, of which quantiles are wanted: exact count, mean and greatest, quantiles within 0.8 % (`HdrHistogram`, two
/// significant digits).
#[derive(Clone, Debug)]
pub struct Spans {
    histogram: Histogram<u64>,
    sum: u128,
    greatest: Span,
}

/// The longest span that is told from longer ones.
const LONGEST: u64 = 3_600_000_000_000;

impl Default for Spans {
    fn default() -> Self {
        let histogram =
            Histogram::new_with_bounds(1, LONGEST, 2).expect("two digits up to an hour are allowed");
        Self { histogram, sum: 0, greatest: Span::ZERO }
    }
}

impl Spans {
    /// One more.
    #[inline]
    pub fn add(&mut self, span: Span) {
        self.histogram.saturating_record(span.as_nanos());
        self.sum += u128::from(span.as_nanos());
        self.greatest = self.greatest.max(span);
    }

    /// Others beside these.
    pub fn merge(&mut self, others: &Self) {
        // All have the same bounds, so that none is refused.
        let _ = self.histogram.add(&others.histogram);
        self.sum += others.sum;
        self.greatest = self.greatest.max(others.greatest);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Their mean; zero where there is none.
    pub fn mean(&self) -> Span {
        Span::from_nanos(self.sum.checked_div(u128::from(self.count())).unwrap_or(0) as u64)
    }

    /// The span below which this share of all lies, 0 to 1; zero where there is none.
    pub fn quantile(&self, share: f64) -> Span {
        Span::from_nanos(self.histogram.value_at_quantile(share)).min(self.greatest)
    }

    /// The greatest; zero where there is none.
    pub fn greatest(&self) -> Span {
        self.greatest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(micros: impl IntoIterator<Item = u64>) -> Spans {
        let mut spans = Spans::default();
        micros.into_iter().for_each(|micros| spans.add(Span::from_micros(micros)));
        spans
    }

    #[test]
    fn quantiles_are_within_their_bound() {
        let spans = spans(1..=10_000);
        for (share, exact) in [(0.5, 5000.0), (0.99, 9900.0), (1.0, 10_000.0)] {
            let told = spans.quantile(share).as_secs_f64() * 1e6;
            assert!((told / exact - 1.0).abs() < 0.008, "{share}: {told}");
        }
        assert_eq!((spans.count(), spans.greatest()), (10_000, Span::from_millis(10)));
        assert_eq!(spans.mean(), Span::from_nanos(5_000_500));
        let mut both = self::spans([20_000]);
        both.merge(&spans);
        assert_eq!((both.count(), both.greatest()), (10_001, Span::from_millis(20)));
        assert_eq!(both.quantile(0.5), spans.quantile(0.5));
        assert_eq!(Spans::default().quantile(0.99), Span::ZERO);
    }
}
