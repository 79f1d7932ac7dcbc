//! The largest of what was seen in a window that moves, kept by three samples: as Kathleen Nichols's filter in Linux
//! (`lib/win_minmax.c`) has it. What remembers all that may still count is in `windowed.rs`.
//!
//! Of the window it keeps the largest, the largest since, and the largest since that. A second and a third are chosen anew when a
//! quarter and a half of the window have passed without one. So it may forget a value that a list would still have, and never
//! holds one for longer.

/// A value, and when it was seen, in any count that never goes back.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    at: u64,
    value: f64,
}

/// The largest value of a window.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunningMax {
    /// The first, second and third choice: each no earlier and no larger than the one before.
    best: [Seen; 3],
    known: bool,
}

impl RunningMax {
    /// Takes a value in at `at`, and forgets what is older than `window`: what was seen `window` ago still counts.
    #[inline]
    pub fn take(&mut self, at: u64, window: u64, value: f64) {
        let now = Seen { at, value };
        let [first, second, third] = &mut self.best;
        if !self.known || value >= first.value || at - third.at > window {
            *self = Self { best: [now; 3], known: true };
            return;
        }
        if value >= second.value {
            (*second, *third) = (now, now);
        } else if value >= third.value {
            *third = now;
        }
        if at != first.at {
            self.age(now, window);
        }
    }

    /// Time has passed since the first choice.
    fn age(&mut self, now: Seen, window: u64) {
        let [first, second, third] = self.best;
        let age = now.at - first.at;
        if age > window {
            self.best = if now.at - second.at > window { [third, now, now] } else { [second, third, now] };
        } else if second.at == first.at && age > window / 4 {
            self.best = [first, now, now];
        } else if third.at == second.at && age > window / 2 {
            self.best = [first, second, now];
        }
    }

    /// The largest, if anything was seen.
    #[inline]
    pub fn get(&self) -> Option<f64> {
        self.known.then_some(self.best[0].value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// It never says more than a list of the window, nor less than the last half of it, and the newest value counts.
        #[test]
        fn lies_between_the_largest_of_all_and_of_late(
            taken in prop::collection::vec((0_u64..3, 0..50_i32), 1..200),
            window in 4_u64..12,
        ) {
            let (mut max, mut all, mut at) = (RunningMax::default(), Vec::new(), 0);
            for (passed, value) in taken {
                at += passed;
                let value = f64::from(value);
                max.take(at, window, value);
                all.push((at, value));
                let since = |age| {
                    all.iter().filter(|(seen, _)| at - seen <= age).map(|(_, value)| *value).fold(0.0, f64::max)
                };
                let found = max.get().expect("something was taken");
                prop_assert!(found <= since(window), "{found} of {all:?}");
                prop_assert!(found >= value);
                prop_assert!(all.iter().any(|(_, value)| *value == found));
            }
        }

        /// A value larger than all later ones counts for exactly the window.
        #[test]
        fn the_largest_counts_for_the_window(later in prop::collection::vec(0..50_i32, 12), window in 1_u64..11) {
            let mut max = RunningMax::default();
            max.take(0, window, 100.0);
            for (at, value) in (1..).zip(later) {
                max.take(at, window, f64::from(value));
                prop_assert_eq!(max.get() == Some(100.0), at <= window, "at {}", at);
            }
        }
    }

    #[test]
    fn ten_rounds_ago_still_count_and_then_the_largest_of_the_last_three_quarters() {
        let mut max = RunningMax::default();
        let values = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let mut found = Vec::new();
        for (round, value) in (0..).zip(values) {
            max.take(round, 10, value);
            found.push(max.get().expect("a value"));
        }
        // 9 counts up to round 10. Then comes what was chosen when a quarter had passed, at round 3: 6; 8 and 7 are forgotten.
        // It counts up to round 13, and then what was chosen at round 6.
        assert_eq!(found[..=10], [9.0; 11]);
        assert_eq!(found[11..], [6.0, 6.0, 6.0, 3.0]);
    }
}
