//! `X_recv_set` of RFC 5348 §4.3: the last receive rates that were reported, whose largest bounds the sending rate. What
//! becomes of the rate is the sender's business.

use tailback_core::{Span, Time};

/// At most so many are kept: a round trip has one or two reports, plus those that loss events send early.
const MOST: usize = 8;

/// Receive rates of the last two round trips, in bytes per second.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceiveRates {
    /// None has been reported: without limit.
    entries: Vec<(Time, f64)>,
    unlimited: bool,
}

impl ReceiveRates {
    /// Without limit until the first report.
    pub(super) fn unlimited() -> Self {
        Self { entries: Vec::new(), unlimited: true }
    }

    /// max(`X_recv_set`).
    pub(super) fn largest(&self) -> f64 {
        if self.unlimited {
            return f64::INFINITY;
        }
        self.entries.iter().fold(0.0, |largest, (_, rate)| largest.max(*rate))
    }

    /// `Update X_recv_set()`: adds a rate and forgets those older than two round trips.
    pub(super) fn update(&mut self, now: Time, rate: f64, round_trip: Span) {
        self.entries.retain(|(at, _)| now.since(*at) <= round_trip * 2);
        if self.entries.len() == MOST {
            self.entries.remove(0);
        }
        self.entries.push((now, rate));
        // The initial infinity is two round trips old when two reports have come.
        if self.entries.len() > 1 {
            self.unlimited = false;
        }
    }

    /// `Maximize X_recv_set()`: keeps the largest alone, the initial infinity excepted.
    pub(super) fn maximize(&mut self, now: Time, rate: f64) {
        let known = if self.unlimited { 0.0 } else { self.largest() };
        self.replace(now, known.max(rate));
    }

    /// Halves all rates.
    pub(super) fn halve(&mut self) {
        for (_, rate) in &mut self.entries {
            *rate *= 0.5;
        }
    }

    /// Puts one rate in place of all.
    pub(super) fn replace(&mut self, now: Time, rate: f64) {
        self.unlimited = false;
        self.entries.clear();
        self.entries.push((now, rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn rates_of_two_round_trips_count() {
        let mut rates = ReceiveRates::unlimited();
        assert_eq!(rates.largest(), f64::INFINITY);
        rates.update(at(100), 50.0, RTT);
        assert_eq!(rates.largest(), f64::INFINITY, "the first packet's rate says nothing");
        rates.update(at(200), 30.0, RTT);
        assert_eq!(rates.largest(), 50.0);
        rates.update(at(301), 20.0, RTT);
        assert_eq!(rates.largest(), 30.0, "50 is older than two round trips");
        rates.halve();
        assert_eq!(rates.largest(), 15.0);
    }

    #[test]
    fn the_largest_alone_is_kept_while_data_is_short() {
        let mut rates = ReceiveRates::unlimited();
        rates.maximize(at(100), 40.0);
        assert_eq!(rates.largest(), 40.0, "infinity is none");
        rates.maximize(at(200), 10.0);
        assert_eq!(rates.largest(), 40.0);
        rates.update(at(450), 20.0, RTT);
        assert_eq!(rates.largest(), 20.0);
    }
}
