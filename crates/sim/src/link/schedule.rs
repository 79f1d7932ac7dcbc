//! How a link changes while running: steps of rate and delay, and delivery traces in Mahimahi's format.
//! The link's reaction is `staged.rs`'s business.

use std::fmt;

use tailback_core::{BitRate, Bytes, Span, Time};

/// A step of a link's rate or delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// The new rate; zero stops the link until a later change.
    pub rate: Option<BitRate>,
    /// The new propagation delay. Packets do not overtake each other when it falls.
    pub delay: Option<Span>,
}

/// Delivery opportunities in Mahimahi's format: each line a millisecond, non-decreasing; the trace repeats.
///
/// An opportunity delivers up to [`DeliveryTrace::opportunity`] bytes, of several packets or of a part of one; what
/// finds no packet is wasted. Mahimahi's manual says 1500 bytes and its code uses 1504, so the size is explicit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    opportunities: Vec<u64>,
    opportunity: Bytes,
}

/// What is wrong with a delivery trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The line, counted from 1; 0 for the trace as a whole.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            f.write_str(&self.problem)
        } else {
            write!(f, "line {}: {}", self.line, self.problem)
        }
    }
}

impl std::error::Error for TraceError {}

impl DeliveryTrace {
    /// Reads a trace: one whole number of milliseconds per line, none smaller than the one before.
    ///
    /// # Errors
    /// The first line that is no such number, an empty trace, a trace that ends at 0 ms, or a zero opportunity.
    pub fn parse(text: &str, opportunity: Bytes) -> Result<Self, TraceError> {
        let error = |line, problem: String| Err(TraceError { line, problem });
        let mut opportunities = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            if line.trim().is_empty() {
                continue;
            }
            let Ok(millis) = line.trim().parse::<u64>() else {
                return error(line_number, format!("{line:?} is not a whole number of milliseconds"));
            };
            if millis > u64::MAX / 1_000_000_000 {
                return error(line_number, format!("{millis} ms is beyond any run"));
            }
            if opportunities.last().is_some_and(|&last| millis < last) {
                return error(line_number, format!("{millis} ms comes before the line above"));
            }
            opportunities.push(millis);
        }
        if opportunity == Bytes::ZERO {
            return error(0, "an opportunity of 0 bytes delivers nothing".to_owned());
        }
        match opportunities.last() {
            None => error(0, "the trace is empty".to_owned()),
            Some(0) => error(0, "the trace ends at 0 ms, so that it cannot repeat".to_owned()),
            Some(_) => Ok(Self { opportunities, opportunity }),
        }
    }

    /// Bytes that one opportunity delivers.
    pub fn opportunity(&self) -> Bytes {
        self.opportunity
    }

    /// The trace's mean rate.
    pub fn mean_rate(&self) -> BitRate {
        let period = self.opportunities.last().copied().unwrap_or(1);
        BitRate::of(self.opportunity * self.opportunities.len() as u64, Span::from_millis(period))
    }

    /// When opportunity number `index` (counted over all repetitions) comes.
    pub(crate) fn time(&self, index: u64) -> Time {
        let period = self.opportunities.last().copied().unwrap_or(1);
        let count = self.opportunities.len() as u64;
        let millis = (index / count) * period + self.opportunities[(index % count) as usize];
        Time::ZERO + Span::from_millis(millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_repeats_a_trace() {
        let trace = DeliveryTrace::parse("0\n5\n5\n10\n", Bytes::new(1500)).expect("a good trace");
        let millis: Vec<u64> = (0..6).map(|i| trace.time(i).as_nanos() / 1_000_000).collect();
        assert_eq!(millis, [0, 5, 5, 10, 10, 15]);
        assert_eq!(trace.mean_rate(), BitRate::from_bits_per_sec(4_800_000));
    }

    #[test]
    fn refuses_bad_lines_by_number() {
        let message = |text| DeliveryTrace::parse(text, Bytes::new(1500)).unwrap_err().to_string();
        assert_eq!(message("1\nx\n"), "line 2: \"x\" is not a whole number of milliseconds");
        assert_eq!(message("5\n4\n"), "line 2: 4 ms comes before the line above");
        assert_eq!(message("\n"), "the trace is empty");
        assert!(message("0\n0\n").contains("cannot repeat"));
        assert!(message("-3\n").starts_with("line 1"));
    }
}
