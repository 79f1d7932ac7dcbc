//! Whether a delay goes up and down again and again, by more than so much each time. What swings, and what follows from it,
//! is said in `schemes/monaco.rs`.
//!
//! A step, such as a longer route, is one swing whatever its size, and a drift is none: only what comes back counts on.

/// So many swings within [`WITHIN`] samples are no accident.
const SWINGS: usize = 4;
const WITHIN: u64 = 50;

/// Swings of one delay.
#[derive(Clone, Debug, Default)]
pub struct Swings {
    samples: u64,
    /// The smallest and the largest since the last swing; of the direction of that, only one matters.
    low: i128,
    high: i128,
    /// Where the last swing went; none yet.
    up: Option<bool>,
    /// The samples of the last swings, the newest last.
    at: [Option<u64>; SWINGS],
}

impl Swings {
    /// A delay, and by how much it must come back to have swung; whether it has swung often lately.
    pub fn sample(&mut self, delay: i128, least: i128) -> bool {
        if self.samples == 0 {
            (self.low, self.high) = (delay, delay);
        }
        self.samples += 1;
        self.low = self.low.min(delay);
        self.high = self.high.max(delay);
        let rose = self.up != Some(true) && delay - self.low > least;
        let fell = self.up != Some(false) && self.high - delay > least;
        if rose || fell {
            self.up = Some(rose);
            (self.low, self.high) = (delay, delay);
            self.at.rotate_left(1);
            self.at[SWINGS - 1] = Some(self.samples);
        }
        self.at[0].is_some_and(|first| self.samples - first < WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(delays: impl IntoIterator<Item = i128>) -> bool {
        let mut swings = Swings::default();
        delays.into_iter().any(|delay| swings.sample(delay, 10))
    }

    #[test]
    fn what_goes_up_and_down_swings() {
        assert!(any([0, 20, 0, 20, 0]));
        assert!(any((0..40).map(|round: i128| 3 * (round % 8 - 4).abs())), "in small steps, too");
        assert!(any([100, 80, 100, 80, 100]), "whichever way it begins");
    }

    /// The first of four swings at the eleventh sample, and the last one that of this number, counted from zero.
    #[test]
    fn four_swings_are_often_within_fifty_samples() {
        let any_until = |last: i128| {
            let is_high = |round: i128| (10..20).contains(&round) || (30..last).contains(&round);
            any((0..=last).map(|round| if is_high(round) { 20 } else { 0 }))
        };
        assert!(any_until(59), "50 samples, both ends counted");
        assert!(!any_until(60));
    }

    #[test]
    fn steps_drifts_and_noise_do_not() {
        assert!(!any((0..1000).map(|round| if round < 300 { 0 } else { 1_000_000 })), "a longer route");
        assert!(!any((0..1000).map(|round| [0, 1_000_000, 0][round / 334])), "and back");
        assert!(!any((0..1000).map(|round| 7 * round)), "a clock that goes wrong");
        assert!(!any((0..1000).map(|round| 10 * (round % 2))), "no more than the least");
        assert!(!any((0..1000).map(|round| 10 * (round % 2) - round / 2)), "nor where it falls by more");
        assert!(!any((0..1000).map(|round| round / 2 - 10 * (round % 2))), "nor where it rises by more");
        assert!(!any((0..1000).map(|round| 20 * (round / 20 % 2))), "too seldom");
    }
}
