//! What a sender of media learns from reports of arrivals (RFC 8888): which packets came when, which are lost, what is in
//! flight and how long a round trip takes. When reports leave is in `schemes/media/reports.rs`; what follows from them is
//! each scheme's.

use std::collections::VecDeque;

use tailback_core::{ArrivalWord, Bytes, Span, Time};

/// A packet is lost when one this far beyond it has arrived (as for streams, RFC 5681).
const REORDERING: u64 = 3;
/// Packets remembered at most: more are not told of in one report (RFC 8888 §3.1).
const MOST: usize = 16_384;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrived {
    /// Its number.
    pub number: u64,
    /// Bytes on the wire.
    pub size: Bytes,
    /// When it left, by the sender's clock.
    pub sent: Time,
    /// When it arrived, by the receiver's clock; `None` where the report does not tell.
    pub at: Option<Time>,
    /// Whether it was marked.
    pub marked: bool,
}

impl Arrived {
    /// Its one-way delay in seconds, up to what the clocks differ by; it may be negative.
    pub fn one_way(&self) -> Option<f64> {
        self.at.map(|at| (at.as_nanos() as f64 - self.sent.as_nanos() as f64) * 1e-9)
    }
}

/// What one report said that was not known before.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Packets that arrived, in the order of their numbers.
    pub arrived: Vec<Arrived>,
    /// Packets newly taken for lost, and their bytes.
    pub lost: u32,
    /// Bytes of these.
    pub lost_bytes: Bytes,
    /// When the first of these left.
    pub lost_since: Option<Time>,
    /// Of the newest packet that arrived, without the time that its arrival was held back.
    pub round_trip: Option<Span>,
    /// By how many bytes the newest packet that arrived is further than before, lost ones included.
    pub advanced: Bytes,
    /// Bytes sent beyond it.
    pub ahead: Bytes,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    sent: Time,
    size: Bytes,
    told: bool,
}

/// Packets on their way.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    records: VecDeque<Record>,
    /// The number of the oldest record.
    first: u64,
    in_flight: Bytes,
    /// Bytes sent beyond the newest number that arrived.
    ahead: Bytes,
    /// One beyond the newest number that arrived.
    newest: u64,
    batch: Batch,
}

impl Arrivals {
    /// A packet leaves. Numbers rise by one.
    pub fn on_sent(&mut self, now: Time, number: u64, size: Bytes) {
        if number != self.first + self.records.len() as u64 {
            // A flow that begins anew.
            self.records.clear();
            (self.first, self.newest) = (number, number);
            (self.in_flight, self.ahead) = (Bytes::ZERO, Bytes::ZERO);
        }
        if self.records.len() == MOST {
            self.forget();
        }
        self.records.push_back(Record { sent: now, size, told: false });
        self.in_flight += size;
        self.ahead += size;
    }

    fn forget(&mut self) -> Option<Record> {
        let record = self.records.pop_front()?;
        self.first += 1;
        if !record.told {
            self.in_flight = self.in_flight.saturating_sub(record.size);
        }
        Some(record)
    }

    /// Bytes that are neither reported nor lost.
    pub const fn in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// Bytes sent beyond the newest packet that is known to have arrived; losses among them count until then.
    pub const fn ahead(&self) -> Bytes {
        self.ahead
    }

    /// A report that left at `left` by the receiver's clock, of the packets from `first` on.
    pub fn on_report(&mut self, now: Time, first: u64, left: Time, words: &[ArrivalWord]) -> &Batch {
        self.batch.arrived.clear();
        (self.batch.lost, self.batch.lost_bytes) = (0, Bytes::ZERO);
        (self.batch.lost_since, self.batch.round_trip) = (None, None);
        let before = self.newest.max(self.first);
        for (number, word) in (first..=u64::MAX).zip(words) {
            let Some(index) = number.checked_sub(self.first) else { continue };
            let Some(record) = usize::try_from(index).ok().and_then(|index| self.records.get_mut(index))
            else {
                continue;
            };
            if !word.is_received() || record.told {
                continue;
            }
            record.told = true;
            self.in_flight = self.in_flight.saturating_sub(record.size);
            self.newest = self.newest.max(number + 1);
            let at = word.age().map(|age| Time::from_nanos(left.as_nanos().saturating_sub(age.as_nanos())));
            let trip = now.since(record.sent).saturating_sub(word.age().unwrap_or(Span::ZERO));
            self.batch.round_trip = Some(trip);
            let (size, sent) = (record.size, record.sent);
            self.batch.arrived.push(Arrived { number, size, sent, at, marked: word.is_marked() });
        }
        let passed = self.newest.saturating_sub(before) as usize;
        let from = before.saturating_sub(self.first) as usize;
        self.batch.advanced = self.records.iter().skip(from).take(passed).map(|record| record.size).sum();
        self.ahead = self.ahead.saturating_sub(self.batch.advanced);
        self.batch.ahead = self.ahead;
        // What a report does not tell any more, being too old or in one that was lost, is lost like the rest.
        while self.first + REORDERING < self.newest {
            match self.forget() {
                Some(record) if !record.told => {
                    self.batch.lost += 1;
                    self.batch.lost_bytes += record.size;
                    self.batch.lost_since.get_or_insert(record.sent);
                }
                Some(_) => {}
                None => break,
            }
        }
        &self.batch
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Ecn;

    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_report_tells_of_arrivals_losses_and_the_round_trip() {
        let mut arrivals = Arrivals::default();
        for number in 0..6 {
            arrivals.on_sent(at(10 * number), number, Bytes::new(1000));
        }
        assert_eq!(arrivals.in_flight(), Bytes::new(6000));
        let came =
            |millis: u64| ArrivalWord::received(Span::from_nanos(millis * 1_000_000_000 / 1024), Ecn::Ce);
        // Numbers 0, 2, 3, 4, 5; the report leaves at 1 s by a clock that runs ahead.
        let words = [came(40), ArrivalWord::MISSING, came(30), came(20), came(10), came(0)];
        let batch = arrivals.on_report(at(150), 0, at(1000), &words).clone();
        assert_eq!((batch.arrived.len(), batch.lost, batch.lost_bytes), (5, 1, Bytes::new(1000)));
        assert_eq!(batch.round_trip, Some(Span::from_millis(100)));
        let last = batch.arrived[4];
        assert_eq!((last.number, last.marked), (5, true));
        assert!(last.one_way().is_some_and(|delay| (delay - 0.95).abs() < 1e-9));
        assert_eq!(arrivals.in_flight(), Bytes::ZERO);
        assert_eq!((batch.advanced, batch.ahead), (Bytes::new(6000), Bytes::ZERO), "lost ones, too");
        let again = arrivals.on_report(at(200), 0, at(1050), &words);
        assert_eq!((again.arrived.len(), again.lost), (0, 0), "the same again says nothing new");
        assert_eq!(again.advanced, Bytes::ZERO);
    }

    #[test]
    fn what_no_report_told_is_lost_when_later_ones_are_there() {
        let mut arrivals = Arrivals::default();
        for number in 0..20 {
            arrivals.on_sent(at(number), number, Bytes::new(1000));
        }
        let came = ArrivalWord::received(Span::ZERO, Ecn::NotEct);
        let batch = arrivals.on_report(at(100), 10, at(90), &[came; 10]);
        assert_eq!((batch.arrived.len(), batch.lost), (10, 10));
        assert_eq!(batch.advanced, Bytes::new(20_000));
        arrivals.on_sent(at(101), 20, Bytes::new(700));
        assert_eq!(arrivals.ahead(), Bytes::new(700));
        let forged = arrivals.on_report(at(100), u64::MAX, at(90), &[came; 10]);
        assert_eq!((forged.arrived.len(), forged.lost), (0, 0));
    }
}
