//! On-line estimation of `Pr{L2 | L1}` from reports of throughput (Tuan and Park 1999, appendix A.2), and the level of
//! the moment. The table itself lives in `cond_prob.rs`; time comes with each report.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Span, Time};

use super::{CondProb, Levels, Quantiser};

/// The two periods that a pair of levels is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    /// T1: the recent past.
    pub past: Span,
    /// T2: the near future.
    pub future: Span,
}

/// What the level of a connection's own throughput says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// How much others leave over: much throughput of one's own is little contention, so level ℓ of it is level
    /// m + 1 - ℓ of contention.
    #[default]
    Contention,
    /// Itself, as the letter of §3.2.2 has it: `ℓ = L1(S_t)`.
    Throughput,
}

/// So many whole pairs of periods without a report are closed one by one; after more the clock begins anew, because such
/// a silence says nothing of traffic.
const LONGEST_SILENCE: u64 = 64;

/// What is to follow the period that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// T1 runs: its level is not known yet.
    Past,
    /// T2 runs, after a T1 of this level.
    Future(usize),
}

/// Learns which level follows which while reports come in. Each report costs constant time on average.
#[derive(Clone, Debug)]
pub struct OnLine {
    periods: Periods,
    reading: Reading,
    past: Levels,
    future: Levels,
    table: CondProb,
    /// Whether the table still learns.
    learns: bool,
    phase: Phase,
    /// When the period that runs ends; `None` before the first report.
    ends: Option<Time>,
    amount: f64,
    recent: Recent,
    pairs: u64,
}

impl OnLine {
    /// Begins with the given table, empty or not.
    pub fn new(periods: Periods, quantiser: Quantiser, reading: Reading, table: CondProb) -> Self {
        let levels = Levels::new(quantiser, table.levels());
        Self {
            periods,
            reading,
            past: levels.clone(),
            future: levels,
            table,
            learns: true,
            phase: Phase::Past,
            ends: None,
            amount: 0.0,
            recent: Recent::new(periods.past),
            pairs: 0,
        }
    }

    /// From now on the table stays as it is; what a level is goes on being learnt.
    pub fn freeze(&mut self) {
        self.learns = false;
    }

    /// A report: so much arrived since the last one. Returns the pair of levels that this closes, if any.
    pub fn report(&mut self, now: Time, amount: f64) -> Option<(usize, usize)> {
        let closed = self.close_until(now);
        self.amount += amount;
        self.recent.add(now, amount);
        closed
    }

    fn close_until(&mut self, now: Time) -> Option<(usize, usize)> {
        let ends = *self.ends.get_or_insert(now + self.periods.past);
        if now < ends {
            return None;
        }
        let cycle = self.periods.past + self.periods.future;
        if now >= ends + cycle * LONGEST_SILENCE {
            self.phase = Phase::Past;
            self.ends = Some(now + self.periods.past);
            self.amount = 0.0;
            return None;
        }
        let mut closed = None;
        while let Some(ends) = self.ends.filter(|ends| now >= *ends) {
            closed = self.close(ends).or(closed);
        }
        closed
    }

    /// The alarm of appendix A.2: mean and deviation are updated first, then the level is taken.
    fn close(&mut self, ends: Time) -> Option<(usize, usize)> {
        let amount = std::mem::take(&mut self.amount);
        match self.phase {
            Phase::Past => {
                self.past.learn(amount);
                self.phase = Phase::Future(self.read(self.past.level(amount)));
                self.ends = Some(ends + self.periods.future);
                None
            }
            Phase::Future(first) => {
                self.future.learn(amount);
                let second = self.read(self.future.level(amount));
                if self.learns {
                    self.table.add(first, second);
                }
                self.pairs += 1;
                self.phase = Phase::Past;
                self.ends = Some(ends + self.periods.past);
                Some((first, second))
            }
        }
    }

    fn read(&self, level: usize) -> usize {
        match self.reading {
            Reading::Contention => self.table.levels() + 1 - level,
            Reading::Throughput => level,
        }
    }

    /// The level of what was reported during the last T1 (`ℓ = L1(S_t)`, §3.2.2). Before the first T1 has passed there is
    /// none.
    pub fn level(&mut self, now: Time) -> Option<usize> {
        let amount = self.recent.sum(now)?;
        Some(self.read(self.past.level(amount)))
    }

    /// How many pairs of levels were seen.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Goes on with another table of as many levels.
    pub fn replace(&mut self, table: CondProb) {
        self.table = table;
    }

    /// The table as it is.
    pub fn table(&self) -> &CondProb {
        &self.table
    }
}

/// What was reported during the last so much time.
#[derive(Clone, Debug)]
struct Recent {
    length: Span,
    /// Reports this close together are one entry.
    piece: Span,
    since: Option<Time>,
    reports: VecDeque<(Time, f64)>,
    sum: f64,
}

/// Reports are summed in pieces of this part of the period, so that memory is bounded however often they come.
const PIECES: u64 = 64;

impl Recent {
    fn new(length: Span) -> Self {
        let piece = Span::from_nanos(length.as_nanos() / PIECES);
        Self { length, piece, since: None, reports: VecDeque::new(), sum: 0.0 }
    }

    fn add(&mut self, now: Time, amount: f64) {
        self.since.get_or_insert(now);
        self.sum += amount;
        match self.reports.back_mut() {
            Some((begun, sum)) if now < *begun + self.piece => *sum += amount,
            _ => self.reports.push_back((now, amount)),
        }
    }

    fn sum(&mut self, now: Time) -> Option<f64> {
        let since = self.since?;
        while let Some((_, amount)) = self.reports.front().copied().filter(|(at, _)| *at + self.length <= now)
        {
            self.reports.pop_front();
            self.sum -= amount;
        }
        if self.reports.is_empty() {
            // Rounding does not add up over a long life.
            self.sum = 0.0;
        }
        (since + self.length <= now).then_some(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: f64) -> Time {
        Time::ZERO + Span::from_nanos((seconds * 1e9) as u64)
    }

    fn learner(levels: usize) -> OnLine {
        let second = Span::from_nanos(2 * SECOND);
        let periods = Periods { past: second, future: second };
        OnLine::new(periods, Quantiser::SigmaBands, Reading::Throughput, CondProb::new(levels))
    }

    /// Appendix A.2 written down again, over a list of whole periods, without a clock.
    fn plain(amounts: &[f64], levels: usize) -> CondProb {
        let mut table = CondProb::new(levels);
        let (mut past, mut future) = (Vec::new(), Vec::new());
        let level = |seen: &[f64], amount: f64| {
            let n = seen.len() as f64;
            let mean = seen.iter().sum::<f64>() / n;
            let deviation = (seen.iter().map(|x| x * x).sum::<f64>() / n - mean * mean).max(0.0).sqrt();
            let half = levels as f64 / 2.0;
            if deviation == 0.0 {
                // All bands are empty; the first amount of all is its own mean, and no extreme.
                return levels / 2 + 1;
            }
            let bands: Vec<f64> = (1..levels).map(|i| mean + (i as f64 - half) * deviation).collect();
            1 + bands.iter().filter(|bound| amount >= **bound).count()
        };
        for pair in amounts.chunks_exact(2) {
            past.push(pair[0]);
            future.push(pair[1]);
            table.add(level(&past, pair[0]), level(&future, pair[1]));
        }
        table
    }

    #[test]
    fn agrees_with_the_appendix_written_anew() {
        let mut stream = tailback_core::Stream::new(5, "on-line");
        // Whole numbers of thirty-two parts, so that sums have no rounding and ties are ties.
        let amounts: Vec<f64> = (0..400).map(|_| 32.0 * (stream.exponential() * 50.0).floor()).collect();
        let mut learner = learner(8);
        for (period, amount) in amounts.iter().enumerate() {
            for part in 0..32 {
                learner.report(at(2.0 * period as f64 + f64::from(part) / 16.0), amount / 32.0);
            }
        }
        learner.report(at(2.0 * amounts.len() as f64), 0.0);
        let plain = plain(&amounts, 8);
        let pairs = (1..=8).flat_map(|first| (1..=8).map(move |second| (first, second)));
        let same = pairs.filter(|(first, second)| {
            learner.table().probability(*first, *second) == plain.probability(*first, *second)
        });
        assert_eq!((same.count(), learner.pairs()), (64, 200));
    }

    #[test]
    fn the_level_of_the_moment_is_of_the_last_period() {
        let mut learner = learner(8);
        for tenth in 0..200 {
            let amount = if tenth % 80 < 40 { 0.0 } else { 1.0 };
            learner.report(at(f64::from(tenth) * 0.1), amount);
        }
        assert_eq!(
            learner.level(at(20.0)),
            Some(learner.past.level(0.0)),
            "20 s: 4 s of silence just passed"
        );
        assert!(learner.level(at(20.0)).unwrap() < 5);
    }

    #[test]
    fn much_throughput_of_ones_own_is_little_contention() {
        let second = Span::from_nanos(SECOND);
        let periods = Periods { past: second, future: second };
        let seen = |reading| {
            let mut learner = OnLine::new(periods, Quantiser::SigmaBands, reading, CondProb::new(8));
            let amounts = [5.0, 5.0, 4.0, 6.0, 5.0, 5.0, 9.0, 1.0, 0.0];
            (0..9).filter_map(|n| learner.report(at(n as f64), amounts[n])).last()
        };
        assert_eq!(seen(Reading::Throughput), Some((6, 3)));
        assert_eq!(seen(Reading::Contention), Some((3, 6)));
    }

    #[test]
    fn a_long_silence_begins_anew() {
        let mut learner = learner(8);
        for second in 0..40 {
            learner.report(at(f64::from(second)), 1.0);
        }
        let before = learner.pairs();
        assert_eq!(learner.report(at(1e6), 1.0), None);
        assert_eq!(learner.pairs(), before);
        learner.report(at(1e6 + 4.0), 1.0);
        assert_eq!(learner.pairs(), before + 1);
    }

    #[test]
    fn memory_is_bounded_however_often_reports_come() {
        let mut learner = learner(8);
        for n in 0..100_000 {
            learner.report(Time::ZERO + Span::from_nanos(n * 40_000), 1.0);
        }
        learner.level(at(4.0));
        assert!(learner.recent.reports.len() <= 66, "{}", learner.recent.reports.len());
    }
}
