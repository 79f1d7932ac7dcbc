//! The largest or smallest of what was seen in a window that moves: of rounds, of time, or of any other count that
//! never goes back. Averages are elsewhere.

use std::collections::VecDeque;

/// The extreme of the values of the last so many units: the largest where `MAX`, else the smallest.
#[derive(Clone, Debug)]
pub struct Windowed<const MAX: bool> {
    /// Each younger and less extreme than the one before.
    values: VecDeque<(u64, f64)>,
}

/// The largest value of a window.
pub type WindowedMax = Windowed<true>;
/// The smallest value of a window.
pub type WindowedMin = Windowed<false>;

impl<const MAX: bool> Default for Windowed<MAX> {
    fn default() -> Self {
        Self { values: VecDeque::new() }
    }
}

impl<const MAX: bool> Windowed<MAX> {
    /// Takes a value in at `at`, and forgets what was taken before `oldest`.
    #[inline]
    pub fn take(&mut self, at: u64, oldest: u64, value: f64) {
        let beaten = |other: f64| if MAX { other <= value } else { other >= value };
        while self.values.back().is_some_and(|(_, other)| beaten(*other)) {
            self.values.pop_back();
        }
        self.values.push_back((at, value));
        self.forget(oldest);
    }

    /// Forgets what was taken before `oldest`.
    #[inline]
    pub fn forget(&mut self, oldest: u64) {
        while self.values.front().is_some_and(|(at, _)| *at < oldest) {
            self.values.pop_front();
        }
    }

    /// The extreme, if anything is remembered.
    #[inline]
    pub fn get(&self) -> Option<f64> {
        self.values.front().map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_of_the_last_three() {
        let (mut most, mut least) = (WindowedMax::default(), WindowedMin::default());
        let mut found = Vec::new();
        for (at, value) in [5.0, 3.0, 4.0, 1.0, 2.0, 0.0].into_iter().enumerate() {
            let at = at as u64;
            most.take(at, at.saturating_sub(2), value);
            least.take(at, at.saturating_sub(2), value);
            found.push((most.get().unwrap_or(f64::NAN), least.get().unwrap_or(f64::NAN)));
        }
        assert_eq!(found, [(5.0, 5.0), (5.0, 3.0), (5.0, 3.0), (4.0, 1.0), (4.0, 1.0), (2.0, 0.0)]);
    }
}
