//! BBR's guess that a token bucket polices the flow ("long-term bandwidth" in Linux): two intervals in a row that lose
//! a fifth of their data at about one rate. Then that rate is kept for 48 rounds.

use tailback_core::{Bytes, DeliverySample, Time};

use super::super::bbr_shared::Rounds;

/// An interval has at least so many rounds, and at most four times as many.
const LEAST_ROUNDS: u32 = 4;
/// It loses at least this part of what is delivered.
const LOSS: f64 = 50.0 / 256.0;
/// Two rates are one within this part, or within this many bytes per second.
const ALIKE: (f64, f64) = (1.0 / 8.0, 500.0);
/// Rounds for which the policer's rate is kept.
const KEPT: u32 = 48;

/// The detector.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    in_use: bool,
    rate: f64,
    rounds: u32,
    began: Time,
    delivered: Bytes,
    lost: Bytes,
    /// A time-out counts as a loss of the next sample.
    timed_out: bool,
}

impl Policer {
    /// The policer's rate, in bytes per second, where one was found.
    #[inline]
    pub(super) fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.rate)
    }

    pub(super) fn on_timeout(&mut self) {
        self.timed_out = true;
    }

    fn begin(&mut self, now: Time, sample: &DeliverySample) {
        (self.began, self.delivered, self.lost, self.rounds) = (now, sample.delivered, sample.lost, 0);
    }

    fn reset(&mut self, now: Time, sample: &DeliverySample) {
        (self.sampling, self.in_use, self.rate) = (false, false, 0.0);
        self.begin(now, sample);
    }

    /// Takes a sample in; whether the rate's time is over, so that ProbeBW begins anew.
    #[inline]
    pub(super) fn take(
        &mut self,
        now: Time,
        sample: &DeliverySample,
        rounds: &Rounds,
        probing: bool,
    ) -> bool {
        let round_start = rounds.begins;
        let lossy = sample.newly_lost > Bytes::ZERO || std::mem::take(&mut self.timed_out);
        if self.in_use {
            self.rounds += u32::from(probing && round_start);
            if self.rounds >= KEPT {
                self.reset(now, sample);
                return true;
            }
            return false;
        }
        if !self.sampling {
            if !lossy {
                return false;
            }
            self.begin(now, sample);
            self.sampling = true;
        }
        // By the application, or in ProbeRTT.
        if rounds.limited {
            self.reset(now, sample);
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset(now, sample);
            return false;
        }
        if self.rounds >= LEAST_ROUNDS && lossy {
            self.end_interval(now, sample);
        }
        false
    }

    #[inline(never)]
    fn end_interval(&mut self, now: Time, sample: &DeliverySample) {
        let lost = sample.lost.saturating_sub(self.lost).as_f64();
        let delivered = sample.delivered.saturating_sub(self.delivered).as_f64();
        let passed = now.since(self.began).as_secs_f64();
        if delivered <= 0.0 || lost < LOSS * delivered || passed < 1e-3 {
            return;
        }
        let rate = delivered / passed;
        let apart = (rate - self.rate).abs();
        if self.rate > 0.0 && (apart <= ALIKE.0 * self.rate || apart <= ALIKE.1) {
            (self.rate, self.in_use, self.rounds) = (f64::midpoint(rate, self.rate), true, 0);
            return;
        }
        self.rate = rate;
        self.begin(now, sample);
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::BitRate;

    use super::super::{Bbr1, Bbr1Config};
    use super::*;
    use crate::parts::ControllerParams;

    /// Whether a policer was found after so many rounds in each of which a third is lost, in one of them by a sample that is
    /// limited.
    fn found(samples: u64, limited: Option<u64>) -> bool {
        let mut policer = Policer::default();
        for at in 0..samples {
            let sample = DeliverySample {
                delivered: Bytes::new(2000 * at),
                lost: Bytes::new(1000 * at),
                newly_lost: Bytes::new(1000),
                ..DeliverySample::default()
            };
            let mut rounds = Rounds::default();
            (rounds.begins, rounds.limited) = (true, limited == Some(at));
            policer.take(Time::from_nanos(50_000_000 * at), &sample, &rounds, true);
        }
        policer.rate().is_some()
    }

    #[test]
    fn an_interval_ends_where_the_rate_is_limited() {
        // The first interval ends at its fourth round, sample 3, the second one four rounds later.
        assert!(!found(7, None) && found(8, None));
        // The second one began anew.
        assert!(!found(8, Some(5)));
    }

    /// The rate in force after an interval of so many nanoseconds behind one of 2000 B/s, in which so much was delivered and so
    /// much lost.
    fn after(nanos: u64, delivered: u64, lost: u64) -> Option<f64> {
        let mut policer = Policer { sampling: true, rate: 2000.0, ..Policer::default() };
        let sample = DeliverySample {
            delivered: Bytes::new(delivered),
            lost: Bytes::new(lost),
            ..DeliverySample::default()
        };
        policer.end_interval(Time::from_nanos(nanos), &sample);
        policer.rate()
    }

    /// `bbr_lt_bw_interval_done`: 4 kbit/s apart are alike, however slow, from a loss of a fifth (50 of 256) and 1 ms on.
    #[test]
    fn slow_rates_are_alike_within_four_kilobits_per_second() {
        let second = 1_000_000_000;
        assert_eq!(after(second, 2500, 600), Some(2250.0));
        assert_eq!(after(second, 2501, 600), None);
        assert_eq!(after(second, 1500, 600), Some(1750.0));
        assert_eq!(after(second, 2304, 450), Some(2152.0));
        assert_eq!(after(second, 2304, 449), None, "too little lost");
        assert_eq!(after(1_000_000, 2, 1), Some(2000.0));
        assert_eq!(after(999_999, 2, 1), None, "too short");
    }

    /// Linux counts a time-out as a loss: an interval begins with the next sample, and with no other.
    #[test]
    fn a_time_out_begins_an_interval() {
        for timed_out in [false, true] {
            let mut policer = Policer::default();
            let take = |policer: &mut Policer| {
                policer.take(Time::ZERO, &DeliverySample::default(), &Rounds::default(), true);
                (policer.sampling, policer.timed_out)
            };
            if timed_out {
                policer.on_timeout();
            }
            assert_eq!(take(&mut policer), (timed_out, false));
        }
    }

    /// A sample without a rate is none: neither its loss nor what it says of time and data counts (`bbr_update_bw`).
    #[test]
    fn a_sample_without_a_rate_is_none() {
        let params = ControllerParams::unlimited(Bytes::new(1000), 10);
        for rate in [None, Some(BitRate::from_bits_per_sec(8_000_000))] {
            let mut bbr = Bbr1::new(&Bbr1Config::default(), &params);
            for at in 0..8 {
                bbr.model.rounds.begins = true;
                let sample = DeliverySample {
                    delivered: Bytes::new(2000 * at),
                    lost: Bytes::new(1000 * at),
                    newly_lost: Bytes::new(1000),
                    rate,
                    ..DeliverySample::default()
                };
                bbr.look_for_policer(Time::from_nanos(50_000_000 * at), &sample);
            }
            assert_eq!(bbr.policed().is_some(), rate.is_some());
        }
    }
}
