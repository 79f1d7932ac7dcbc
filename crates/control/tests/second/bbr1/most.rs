//! The windowed maximum of the second writing of BBR version 1.

/// `minmax_running_max` of `lib/win_minmax.c`, with a window of ten: three pairs of time and value.
#[derive(Clone, Debug, Default)]
pub(super) struct Most([(f64, f64); 3]);

impl Most {
    const WINDOW: f64 = 10.0;

    pub(super) fn add(&mut self, round: f64, value: f64) {
        let (new, s) = ((round, value), &mut self.0);
        if value >= s[0].1 || round - s[2].0 > Self::WINDOW {
            *s = [new; 3];
            return;
        }
        if value >= s[1].1 {
            s[1] = new;
            s[2] = new;
        } else if value >= s[2].1 {
            s[2] = new;
        }
        let age = round - s[0].0;
        if age > Self::WINDOW {
            for _ in 0..2 {
                if round - s[0].0 > Self::WINDOW {
                    *s = [s[1], s[2], new];
                }
            }
        } else if s[1].0 == s[0].0 && age > 2.0 {
            s[1] = new;
            s[2] = new;
        } else if s[2].0 == s[1].0 && age > 5.0 {
            s[2] = new;
        }
    }

    pub(super) fn get(&self) -> f64 {
        self.0[0].1
    }
}
