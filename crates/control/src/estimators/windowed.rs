//! The largest or smallest of what was seen in a window that moves: of rounds, of time, or of any other count that
//! never goes back. Averages are elsewhere.

use std::collections::VecDeque;

/// The extreme of the values of the last so many units: the largest where `MAX`, else the smallest.
#[derive(Clone, Debug, Default)]
pub struct Windowed<const MAX: bool> {
    /// Each younger and less extreme than the one before.
    values: VecDeque<(u64, f64)>,
    /// The first and the last of them, at hand.
    extreme: Option<f64>,
    last: Option<(u64, f64)>,
    /// What was taken before is forgotten.
    oldest: u64,
}

/// The largest value of a window.
pub type WindowedMax = Windowed<true>;
/// The smallest value of a window.
pub type WindowedMin = Windowed<false>;

impl<const MAX: bool> Windowed<MAX> {
    /// Takes a value in at `at`, and forgets what was taken before `oldest`.
    #[inline]
    pub fn take(&mut self, at: u64, oldest: u64, value: f64) {
        // Mostly another of the same time is more extreme, and is forgotten no earlier: this one never counts.
        if self.last.is_none_or(|(same, other)| same != at || Self::beats(value, other)) {
            self.put(at, value);
        }
        if oldest != self.oldest || at < oldest {
            self.forget(oldest);
        }
    }

    /// Whether a later value makes an earlier one worthless.
    #[inline]
    fn beats(value: f64, other: f64) -> bool {
        if MAX { other <= value } else { other >= value }
    }

    #[inline(never)]
    fn put(&mut self, at: u64, value: f64) {
        let one_less = self.values.len().wrapping_sub(2);
        let stays = self.values.get(one_less).is_some_and(|(_, other)| !Self::beats(value, *other));
        match self.values.back_mut() {
            // It takes the place of the last one, and no other's.
            Some(last) if stays && Self::beats(value, last.1) => {
                *last = (at, value);
                self.last = Some((at, value));
                return;
            }
            _ => {}
        }
        while self.values.back().is_some_and(|(_, other)| Self::beats(value, *other)) {
            self.values.pop_back();
        }
        self.values.push_back((at, value));
        self.know();
    }

    fn know(&mut self) {
        self.extreme = self.values.front().map(|(_, value)| *value);
        self.last = self.values.back().copied();
    }

    /// Forgets what was taken before `oldest`.
    pub fn forget(&mut self, oldest: u64) {
        self.oldest = oldest;
        while self.values.front().is_some_and(|(at, _)| *at < oldest) {
            self.values.pop_front();
        }
        self.know();
    }

    /// The extreme, if anything is remembered.
    #[inline]
    pub fn get(&self) -> Option<f64> {
        self.extreme
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a list of all that was taken.
        #[test]
        fn agrees_with_a_list(taken in prop::collection::vec((0_u64..3, 0_u64..6, 0..8_i32), 0..200)) {
            let (mut most, mut least) = (WindowedMax::default(), WindowedMin::default());
            let (mut all, mut at, mut oldest) = (Vec::new(), 0, 0);
            for (passed, age, value) in taken {
                at += passed;
                oldest = at.saturating_sub(age).max(oldest);
                let value = f64::from(value);
                most.take(at, oldest, value);
                least.take(at, oldest, value);
                all.push((at, value));
                let held = || all.iter().filter(|(at, _)| *at >= oldest).map(|(_, value)| *value);
                prop_assert_eq!(most.get(), held().reduce(f64::max));
                prop_assert_eq!(least.get(), held().reduce(f64::min));
            }
        }
    }

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
