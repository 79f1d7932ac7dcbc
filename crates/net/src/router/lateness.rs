//! How late a router is: the time between a packet's being due and its leaving, and the budget beyond which a run does not
//! count. Who measures it lives in `router.rs`.

use std::fmt;

use hdrhistogram::Histogram;
use tailback_core::Span;

/// Spans of time, of which quantiles are wanted: exact mean, least and greatest, quantiles within 0.4 % (`HdrHistogram`, two
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

/// How late packets may leave in a run that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Half of them at most this late.
    pub median: Span,
    /// 99 of 100 at most this late.
    pub p99: Span,
}

impl Default for Budget {
    fn default() -> Self {
        Self { median: Span::from_micros(200), p99: Span::from_millis(1) }
    }
}

/// Why a run does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The median of lateness was this, and more than the budget has.
    Median(Span, Span),
    /// The 99th percentile of lateness was this, and more than the budget has.
    P99(Span, Span),
    /// So many packets were lost before the router could read them, or because it holds no more.
    Unread(u64),
    /// So many packets were due to leave and their device would not have them.
    Unsent(u64),
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Median(was, may) => {
                write!(f, "packets left {} late at the median, and {may} is allowed", millis(*was))
            }
            Self::P99(was, may) => {
                write!(f, "packets left {} late at the 99th percentile, and {may} is allowed", millis(*was))
            }
            Self::Unread(packets) => {
                write!(f, "the router did not read {packets} packets in time, which were lost")
            }
            Self::Unsent(packets) => {
                write!(f, "the system would not take {packets} packets that were due to leave")
            }
        }
    }
}

/// A measured span for a reader, who has no use for its last nanosecond.
fn millis(span: Span) -> String {
    format!("{:.3} ms", span.as_secs_f64() * 1e3)
}

impl Budget {
    /// Every reason why a run with this lateness does not count.
    pub fn judge(&self, lateness: &Spans) -> Vec<Invalid> {
        let (median, p99) = (lateness.quantile(0.5), lateness.quantile(0.99));
        let mut reasons = Vec::new();
        if median > self.median {
            reasons.push(Invalid::Median(median, self.median));
        }
        if p99 > self.p99 {
            reasons.push(Invalid::P99(p99, self.p99));
        }
        reasons
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
            assert!((told / exact - 1.0).abs() < 0.01, "{share}: {told}");
        }
        assert_eq!((spans.count(), spans.greatest()), (10_000, Span::from_millis(10)));
        assert_eq!(spans.mean(), Span::from_nanos(5_000_500));
        let mut both = self::spans([20_000]);
        both.merge(&spans);
        assert_eq!((both.count(), both.greatest()), (10_001, Span::from_millis(20)));
        assert_eq!(both.quantile(0.5), spans.quantile(0.5));
        assert_eq!(Spans::default().quantile(0.99), Span::ZERO);
    }

    #[test]
    fn a_run_beyond_its_budget_does_not_count_and_says_why() {
        let budget = Budget::default();
        assert_eq!(budget.judge(&Spans::default()), []);
        assert_eq!(budget.judge(&spans((0..1000).map(|n| if n < 985 { 100 } else { 900 }))), []);
        let late = budget.judge(&spans((0..1000).map(|n| if n < 985 { 100 } else { 5000 })));
        assert!(matches!(late[..], [Invalid::P99(..)]), "{late:?}");
        let message = late[0].to_string();
        assert!(message.ends_with("late at the 99th percentile, and 1 ms is allowed"), "{message}");
        let slow = budget.judge(&spans([300; 10]));
        assert!(matches!(slow[..], [Invalid::Median(..)]), "{slow:?}");
    }
}
