//! Windows that grow by whole segments, as in Linux (`tcp_cong_avoid_ai` of `net/ipv4/tcp_cong.c`). After how many acknowledged
//! segments a window grows, and when it shrinks, is each scheme's own.

/// What was acknowledged since a window last grew.
#[derive(Clone, Copy, Debug, Default)]
pub struct WholeSteps {
    /// In segments.
    acked: f64,
}

impl WholeSteps {
    /// By how many segments the window grows, where `acked` are acknowledged and it grows by one for each `step` of them.
    #[inline]
    pub fn grow(&mut self, step: f64, acked: f64) -> f64 {
        // What was gathered while steps were longer counts for one.
        let gathered = self.acked >= step;
        self.acked = if gathered { acked } else { self.acked + acked };
        let steps = (self.acked / step).floor();
        self.acked -= steps * step;
        steps + f64::from(u8::from(gathered))
    }

    /// Starts again, as every reduction does.
    pub fn restart(&mut self) {
        self.acked = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_by_one_when_as_many_are_acknowledged() {
        let mut steps = WholeSteps::default();
        let grown: Vec<f64> = (0..10).map(|_| steps.grow(5.0, 2.0)).collect();
        assert_eq!(grown, [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn what_gathered_over_longer_steps_counts_once() {
        let mut steps = WholeSteps::default();
        assert_eq!(steps.grow(1000.0, 50.0), 0.0);
        assert_eq!(steps.grow(20.0, 2.0), 1.0);
        assert_eq!(steps.grow(20.0, 17.0), 0.0);
        assert_eq!(steps.grow(20.0, 1.0), 1.0);
        assert_eq!(steps.grow(20.0, 45.0), 2.0);
        steps.restart();
        assert_eq!(steps.grow(20.0, 19.0), 0.0);
    }
}
