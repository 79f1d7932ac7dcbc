//! TCP emulated at the receiver (Rhee, Ozdemir and Yi, "TEAR: TCP Emulation At Receivers", NCSU 2000): arrivals and losses
//! drive a congestion window that nobody obeys, and its average over the last loss epochs is the TCP-friendly rate.
//!
//! A *round* is as many arrivals as the window was at its beginning, and stands for a round trip however long it really took.
//! An *epoch* ends with each reduction of the window; its rate is its windows over its rounds' time. Epochs are averaged
//! with the weights of RFC 5348 §5.4, the open one only where it raises the rate.
//!
//! Known to differ from the report: its appendix's timers are taken as four round trip times; delayed acknowledgements are
//! not emulated.

use tailback_core::Span;

use super::loss_intervals::{LossIntervals, LossIntervalsConfig};

/// The emulated sender.
#[derive(Clone, Debug)]
pub struct Tear {
    /// The window, in packets.
    window: f64,
    threshold: f64,
    /// The window at the round's beginning.
    round: f64,
    /// Arrivals of the round.
    arrived: f64,
    /// Losses of the round.
    lost: u64,
    /// Losses of this round and the next belong to one event.
    reduced: bool,
    epoch: Epoch,
    /// Packets per second of the closed epochs.
    epochs: LossIntervals,
}

/// Windows and time since the last reduction.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    packets: f64,
    seconds: f64,
}

impl Epoch {
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.packets / self.seconds } else { 0.0 }
    }
}

impl Tear {
    /// A connection's start.
    pub fn new(config: &LossIntervalsConfig) -> Self {
        Self {
            window: 2.0,
            threshold: f64::INFINITY,
            round: 2.0,
            arrived: 0.0,
            lost: 0,
            reduced: false,
            epoch: Epoch::default(),
            epochs: LossIntervals::new(&LossIntervalsConfig { discounting: false, ..config.clone() }),
        }
    }

    /// Whether enough epochs are known.
    pub fn is_full(&self) -> bool {
        self.epochs.is_full()
    }

    /// Whether no loss was seen.
    pub fn is_empty(&self) -> bool {
        self.epochs.is_empty()
    }

    /// A full history of epochs of so many packets per second: what is known from elsewhere.
    pub fn presume(&mut self, rate: f64) {
        for _ in 0..self.epochs.capacity() {
            self.epochs.close_exactly(rate);
        }
        self.epoch = Epoch::default();
    }

    /// The window, in packets.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Packets per second.
    pub fn rate(&self) -> Option<f64> {
        self.epochs.mean(self.epoch.rate())
    }

    /// A packet arrived, by which so many were found lost.
    pub fn on_arrival(&mut self, losses: u64, round_trip: Span) {
        if losses > 0 {
            self.on_losses(losses, round_trip);
        }
        if self.window < self.threshold {
            self.window += 1.0;
        } else {
            self.window += 1.0 / self.round.max(1.0);
        }
        self.arrived += 1.0;
        if self.arrived + self.lost as f64 >= self.round {
            self.end_round(round_trip);
        }
    }

    fn end_round(&mut self, round_trip: Span) {
        self.epoch.packets += self.round;
        self.epoch.seconds += round_trip.as_secs_f64();
        self.round = self.window.max(1.0);
        (self.arrived, self.lost, self.reduced) = (0.0, 0, false);
    }

    /// Fast recovery, or a time-out where too few packets of the window are left for three duplicates.
    fn on_losses(&mut self, losses: u64, round_trip: Span) {
        self.lost = self.lost.saturating_add(losses);
        if self.reduced {
            return;
        }
        let timed_out = self.round - (self.lost as f64) < 3.0;
        self.threshold = (0.5 * self.window).max(2.0);
        // An epoch without a whole round: what the window was, for a round trip.
        if self.epoch.seconds == 0.0 {
            self.epoch = Epoch { packets: self.round, seconds: round_trip.as_secs_f64() };
        }
        if timed_out {
            self.epoch.seconds += 4.0 * round_trip.as_secs_f64();
        }
        self.epochs.close_exactly(self.epoch.rate());
        self.window = if timed_out { 1.0 } else { self.threshold };
        self.epoch = Epoch::default();
        (self.round, self.arrived, self.lost) = (self.window, 0.0, 0);
        self.reduced = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    /// A window that halves every `period` packets moves between 2/3 and 4/3 of its mean: per cycle 3/8 W² packets, so
    /// W = √(8/3 · period) and the mean rate is √(3/2 · period) per round trip (Mathis et al. 1997).
    #[test]
    fn periodic_loss_gives_the_square_root_law() {
        for period in [200_u64, 1000] {
            let mut tear = Tear::new(&LossIntervalsConfig::default());
            for packet in 1..400 * period {
                tear.on_arrival(u64::from(packet % period == 0), RTT);
            }
            let expected = (1.5 * period as f64).sqrt() / 0.1;
            let rate = tear.rate().unwrap();
            assert!((rate / expected - 1.0).abs() < 0.06, "{rate} for {expected}");
        }
    }

    #[test]
    fn slow_start_doubles_each_round() {
        let mut tear = Tear::new(&LossIntervalsConfig::default());
        for _ in 0..2 + 4 + 8 {
            tear.on_arrival(0, RTT);
        }
        assert_eq!(tear.window(), 16.0);
        assert_eq!(tear.rate(), None);
    }

    #[test]
    fn a_small_window_times_out() {
        let mut tear = Tear::new(&LossIntervalsConfig::default());
        tear.on_arrival(0, RTT);
        tear.on_arrival(1, RTT);
        assert!(tear.window() <= 2.0, "{}", tear.window());
    }
}
