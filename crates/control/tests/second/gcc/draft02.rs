//! GCC's older loss part, written a second time from draft-ietf-rmcat-gcc-02 §6 and libwebrtc's `loss_based_bwe`, with the
//! choices that stand at the head of the first writing, which had been seen before. What is done with it is in the parent.

use super::loss::Observed;

/// The largest rate in bits per second; times in seconds.
#[derive(Default)]
pub(crate) struct Draft02 {
    most: Option<f64>,
    /// Packets that reports told of since loss was judged, and which of them are lost.
    told: (usize, usize),
    judged: Option<f64>,
    decreased: Option<f64>,
}

impl Draft02 {
    pub(crate) fn rate(&self) -> f64 {
        self.most.unwrap_or(f64::INFINITY)
    }

    pub(crate) fn print(&self) -> String {
        format!("cap {:?}, {} of {} lost since {:?}", self.most, self.told.1, self.told.0, self.judged)
    }

    /// `target` is the rate in force.
    pub(crate) fn heard(&mut self, now: f64, observed: &Observed<'_>, target: f64) {
        let news = observed.news;
        self.told.0 += news.came.len() + news.lost.len();
        self.told.1 += news.lost.len();
        // A microsecond for roundings: reports often come a second apart.
        if now + 1e-6 < *self.judged.get_or_insert(now) + 1.0 || self.told.0 == 0 {
            return;
        }
        self.judged = Some(now);
        let (all, lost) = std::mem::take(&mut self.told);
        let part = lost as f64 / all as f64;
        if part < 0.02 {
            self.most = self.most.map(|most| 1.08 * most + 1000.0);
        }
        let pause = 0.3 + news.round_trip;
        if part > 0.1 && self.decreased.is_none_or(|at| now >= at + pause) {
            self.decreased = Some(now);
            self.most = Some(target - 0.5 * part * target);
        }
    }
}
