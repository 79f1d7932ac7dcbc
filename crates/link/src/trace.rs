//! Delivery traces in Mahimahi's format, and a place in one. What a link does at each opportunity is `stage.rs`'s business.

use std::fmt;
use std::sync::Arc;

use tailback_core::{BitRate, Bytes, Span, Time};

/// Delivery opportunities in Mahimahi's format: each line a millisecond, non-decreasing; the trace repeats.
///
/// An opportunity delivers up to [`DeliveryTrace::opportunity`] bytes, of several packets or of a part of one; what
/// finds no packet is wasted. Mahimahi's manual says 1500 bytes and its code uses 1504, so the size is explicit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// In milliseconds; shared, since a trace may be long and many links may follow it.
    opportunities: Arc<[u64]>,
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
                // What stands there is not repeated: it may be a line of any file.
                return error(line_number, "not a whole number of milliseconds".to_owned());
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
            Some(_) => Ok(Self { opportunities: opportunities.into(), opportunity }),
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

    /// What opportunities up to `now` could have delivered.
    pub(crate) fn delivered_by(&self, now: Time) -> Bytes {
        self.opportunity * self.passed(now)
    }

    /// When the opportunity comes that ends the delivery of so many bytes, begun after `now`.
    pub(crate) fn time_to_deliver(&self, bytes: Bytes, now: Time) -> Time {
        let needed = bytes.get().div_ceil(self.opportunity.get()).max(1);
        self.time(self.passed(now) + needed - 1)
    }

    /// How many opportunities have come up to `now`.
    fn passed(&self, now: Time) -> u64 {
        let period = self.opportunities.last().copied().unwrap_or(1);
        let count = self.opportunities.len() as u64;
        let millis = now.as_nanos() / 1_000_000;
        // The last opportunity of a repetition may be at the very beginning of the next.
        let whole = (millis / period).saturating_sub(1);
        let after = millis - whole * period;
        let in_first = self.opportunities.partition_point(|&at| at <= after) as u64;
        let in_next = self.opportunities.partition_point(|&at| at + period <= after) as u64;
        whole * count + in_first + in_next
    }

    /// When opportunity number `index` (counted over all repetitions) comes.
    fn time(&self, index: u64) -> Time {
        let period = self.opportunities.last().copied().unwrap_or(1);
        let count = self.opportunities.len() as u64;
        let millis = (index / count) * period + self.opportunities[(index % count) as usize];
        Time::ZERO + Span::from_millis(millis)
    }
}

/// A place in a trace.
#[derive(Debug)]
pub(crate) struct TraceCursor {
    pub(crate) trace: DeliveryTrace,
    /// The next opportunity, counted over all repetitions.
    pub(crate) next: u64,
    /// Bytes of the packet in service that earlier opportunities have delivered.
    pub(crate) delivered: Bytes,
}

impl TraceCursor {
    pub(crate) fn new(trace: DeliveryTrace) -> Self {
        Self { trace, next: 0, delivered: Bytes::ZERO }
    }

    /// When the next opportunity comes.
    pub(crate) fn time(&self) -> Time {
        self.trace.time(self.next)
    }

    /// Lets pass all opportunities up to `now`.
    pub(crate) fn skip_to_after(&mut self, now: Time) {
        if self.trace.time(self.next) > now {
            return;
        }
        // Gallop, then halve: a long idle stretch costs a logarithm.
        let mut step = 1;
        while self.trace.time(self.next + step) <= now {
            self.next += step;
            step *= 2;
        }
        while step > 0 {
            if self.trace.time(self.next + step) <= now {
                self.next += step;
            }
            step /= 2;
        }
        self.next += 1;
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
    fn counts_what_has_passed_as_times_say() {
        let trace = DeliveryTrace::parse("0\n5\n5\n10\n", Bytes::new(1500)).expect("a good trace");
        for tenths in 0..500_u64 {
            let now = Time::from_nanos(tenths * 100_000);
            let counted = (0..1000).take_while(|&index| trace.time(index) <= now).count() as u64;
            assert_eq!(trace.delivered_by(now), Bytes::new(1500) * counted, "{now}");
            assert_eq!(trace.time_to_deliver(Bytes::new(1501), now), trace.time(counted + 1));
        }
    }

    #[test]
    fn refuses_bad_lines_by_number() {
        let message = |text| DeliveryTrace::parse(text, Bytes::new(1500)).unwrap_err().to_string();
        assert_eq!(message("1\nx\n"), "line 2: not a whole number of milliseconds");
        assert_eq!(message("5\n4\n"), "line 2: 4 ms comes before the line above");
        assert_eq!(message("\n"), "the trace is empty");
        assert!(message("0\n0\n").contains("cannot repeat"));
        assert!(message("-3\n").starts_with("line 1"));
    }
}
