//! What BBR version 1 believes of its path: the largest delivery rate of the last ten rounds and the present one, the smallest
//! round trip time of ten seconds, how far acknowledgements bunch, and whether the pipe is full. What follows from it is in
//! `mod.rs`.

use tailback_core::{BitRate, DeliverySample, Span, Time};

use super::super::bbr_shared::{Epoch, Rounds};
use crate::estimators::RunningMax;
use crate::reals::larger;

/// For so many rounds after its own a rate counts (`bbr_bw_rtts` in Linux, whose filter keeps what is as old as its window).
const RATE_ROUNDS: u64 = 10;
/// How long the smallest round trip time counts.
const RTT_AGE: Span = Span::from_secs(10);
/// Rounds that each of two slots of aggregation lasts.
const AGGREGATION_ROUNDS: u32 = 5;
/// What was aggregated is at most what arrives in this time at the rate.
const MOST_AGGREGATION: f64 = 0.1;

/// The model; rates in bytes per second.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    rates: RunningMax,
    pub(super) rounds: Rounds,
    min_rtt: Option<(Span, Time)>,
    aggregation: Aggregation,
    /// A packet's bytes, where what arrives is expected in whole packets.
    whole: Option<f64>,
}

/// How much more is acknowledged at once than the rate says.
#[derive(Clone, Copy, Debug, Default)]
struct Aggregation {
    epoch: Epoch,
    most: [f64; 2],
    slot: usize,
    rounds: u32,
}

impl Model {
    /// A model that expects whole packets of so many bytes.
    pub(super) fn of_whole(packet: f64) -> Self {
        Self { whole: Some(packet), ..Self::default() }
    }

    /// The rate; 0 before the first sample.
    pub(super) fn bandwidth(&self) -> f64 {
        self.rates.get().unwrap_or(0.0)
    }

    pub(super) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    /// Looks whether a round begins, and whether the sample is the application's.
    #[inline]
    pub(super) fn start_round(&mut self, sample: &DeliverySample) {
        self.rounds.take(sample, sample.rate.is_some());
    }

    /// Takes a rate in: that of an application only if it is no less than what is known.
    #[inline]
    pub(super) fn take_rate(&mut self, sample: &DeliverySample) {
        let Some(rate) = sample.rate.map(BitRate::bytes_per_sec) else { return };
        if !self.rounds.limited || rate >= self.bandwidth() {
            self.rates.take(self.rounds.count, RATE_ROUNDS, rate);
        }
    }

    /// Takes a round trip time in; whether the smallest had expired.
    #[inline]
    pub(super) fn take_rtt(&mut self, now: Time, rtt: Option<Span>) -> bool {
        let expired = self.min_rtt.is_some_and(|(_, at)| now.since(at) > RTT_AGE);
        if let Some(rtt) = rtt
            && (expired || self.min_rtt.is_none_or(|(least, _)| rtt < least))
        {
            self.min_rtt = Some((rtt, now));
        }
        expired
    }

    /// The smallest round trip time counts from now on.
    pub(super) fn refresh_min_rtt(&mut self, now: Time) {
        if let Some((_, at)) = &mut self.min_rtt {
            *at = now;
        }
    }

    /// A new epoch of acknowledgements begins.
    pub(super) fn restart_aggregation(&mut self, now: Time) {
        self.aggregation.epoch.restart(now);
    }

    /// Takes in what is acknowledged: what exceeds the rate since the epoch began was aggregated.
    #[inline]
    pub(super) fn take_aggregation(
        &mut self,
        now: Time,
        sample: &DeliverySample,
        bandwidth: f64,
        window: f64,
    ) {
        let whole = self.whole;
        let this = &mut self.aggregation;
        if self.rounds.begins {
            this.rounds += 1;
            if this.rounds >= AGGREGATION_ROUNDS {
                this.rounds = 0;
                this.slot = 1 - this.slot;
                this.most[this.slot] = 0.0;
            }
        }
        let mut expected = bandwidth * this.epoch.lasted(now);
        if let Some(packet) = whole {
            expected = (expected / packet).floor() * packet;
        }
        let extra = this.epoch.excess(now, sample.newly_acked, expected, window);
        let most = &mut this.most[this.slot & 1];
        *most = larger(*most, extra);
    }

    /// The most that was aggregated, in bytes.
    #[inline]
    pub(super) fn most_aggregated(&self) -> f64 {
        larger(self.aggregation.most[0], self.aggregation.most[1])
    }

    /// What the window needs for so much aggregation, in packets, with this bandwidth in force.
    pub(super) fn aggregated(most: f64, bandwidth: f64, segment: f64) -> f64 {
        (most.min(bandwidth * MOST_AGGREGATION) / segment).floor()
    }
}

/// Whether the rate has stopped growing: three rounds without a quarter more.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    level: f64,
    rounds: u32,
    reached: bool,
}

impl FullPipe {
    pub(super) const fn is_reached(&self) -> bool {
        self.reached
    }

    /// A round begins, with this rate.
    pub(super) fn look(&mut self, bandwidth: f64) {
        if self.reached {
            return;
        }
        if bandwidth >= self.level * 1.25 {
            (self.level, self.rounds) = (bandwidth, 0);
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= 3;
    }

    /// The rate may have stayed because of a loss that was none.
    pub(super) fn forget_growth(&mut self) {
        (self.level, self.rounds) = (0.0, 0);
    }

    /// A time-out: what the rate grew from says nothing any more.
    pub(super) fn forget_level(&mut self) {
        self.level = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Bytes;

    use super::*;

    /// What was aggregated, in packets of 1000 bytes, where two are acknowledged at once and two more 1.5 ms later, and one per
    /// millisecond is expected.
    fn aggregated(mut model: Model) -> f64 {
        let sample = DeliverySample {
            rate: Some(BitRate::from_bits_per_sec(8_000_000)),
            newly_acked: Bytes::new(2000),
            ..DeliverySample::default()
        };
        model.take_rate(&sample);
        for micros in [0, 1500] {
            model.take_aggregation(Time::ZERO + Span::from_micros(micros), &sample, 1e6, 1e6);
        }
        Model::aggregated(model.most_aggregated(), model.bandwidth(), 1000.0)
    }

    #[test]
    fn whole_packets_that_are_expected_are_rounded_down() {
        // 4 less 1.5 are 2.5, of which 2 are whole; 4 less 1 are 3.
        assert_eq!(aggregated(Model::default()), 2.0);
        assert_eq!(aggregated(Model::of_whole(1000.0)), 3.0);
    }
}
