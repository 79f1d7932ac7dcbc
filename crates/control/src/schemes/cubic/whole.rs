//! CUBIC's growth in whole segments, as Linux counts it (`bictcp_update` of `net/ipv4/tcp_cubic.c`, Linux 6.18). The cubic itself,
//! and what a loss does, are in `cubic.rs`.
//!
//! Windows in segments. With `w` the window:
//!
//! | rule | Linux |
//! | --- | --- |
//! | Reno's window grows by one for each `⌊w ⌊8/α⌋ / 8⌋` acknowledged: 15/8 of a window with β of 0.7 | `tcp_cwnd` |
//! | the window grows by one for each `⌊w / (target - w)⌋` acknowledged, at least 2; for each `100 w` where the target is no more | `cnt` |
//! | the target is the cubic, rounded toward its plateau, or Reno's window, if that is more | `bic_target` |
//! | at most 20 before anything was lost, and after a time-out | `last_max_cwnd == 0` |
//! | while `w` stays, this is looked at once in 31 ms | `HZ / 32` |
//!
//! So windows are up to a segment and 31 ms behind those of RFC 9438. Not here: Linux tells time in ticks of 1 to 10 ms.

use tailback_core::{Span, Time};

use crate::laws::WholeSteps;

/// How long a look counts while the window stays.
const LOOK: Span = Span::from_micros(31_250);
/// The longest step before a loss.
const UNBOUNDED: f64 = 20.0;

/// What a stage of congestion avoidance counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole {
    steps: WholeSteps,
    /// What Reno would have, by the last look.
    estimate: f64,
    /// Acknowledged since, and not in `estimate`.
    acked: f64,
    /// The window grows by one when so many are acknowledged.
    step: f64,
    /// The window that was looked at last, and when.
    looked: Option<(f64, Time)>,
}

/// What a look needs to know.
pub(super) struct Law {
    /// α of RFC 9438, or none where Reno does not matter.
    pub(super) alpha: Option<f64>,
    /// Whether the stage follows a reduction.
    pub(super) is_bounded: bool,
}

impl Whole {
    /// The beginning of a stage.
    pub(super) fn new(window: f64) -> Self {
        Self { estimate: window, ..Self::default() }
    }

    /// By how much the window grows with `acked` segments more; `target` is the cubic, as a whole number.
    pub(super) fn grow(
        &mut self,
        now: Time,
        window: f64,
        acked: f64,
        law: &Law,
        target: impl FnOnce() -> f64,
    ) -> f64 {
        self.acked += acked;
        if self.looked.is_none_or(|(seen, at)| seen != window || now.since(at) >= LOOK) {
            self.looked = Some((window, now));
            self.look(window, law, target());
        }
        self.steps.grow(self.step, acked)
    }

    fn look(&mut self, window: f64, law: &Law, target: f64) {
        self.step = if target > window { (window / (target - window)).floor() } else { 100.0 * window };
        if !law.is_bounded {
            self.step = self.step.min(UNBOUNDED);
        }
        if let Some(alpha) = law.alpha {
            self.advance(window, alpha);
            if self.estimate > window {
                self.step = self.step.min((window / (self.estimate - window)).floor());
            }
        }
        self.step = self.step.max(2.0);
    }

    /// Brings Reno's window up to date.
    fn advance(&mut self, window: f64, alpha: f64) {
        let per_segment = (window * (8.0 / alpha).floor() / 8.0).floor().max(1.0);
        let grown = ((self.acked - 1.0).max(0.0) / per_segment).floor();
        self.acked -= grown * per_segment;
        self.estimate += grown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALPHA: f64 = 9.0 / 17.0;
    const BOUNDED: Law = Law { alpha: Some(ALPHA), is_bounded: true };

    /// A stage of the CUBIC of Linux 6.18, from 26 segments on, with a plateau of 32: seconds since it began, segments
    /// acknowledged until then, and the window that followed (`tcp:tcp_probe`, at 20 Mbit/s beside the kernel's BBR).
    const KERNEL: [(f64, f64, f64); 13] = [
        (0.0283, 25.0, 27.0),
        (0.1290, 109.0, 28.0),
        (0.1963, 163.0, 29.0),
        (0.2628, 218.0, 30.0),
        (0.3318, 273.0, 31.0),
        (0.3985, 330.0, 32.0),
        (0.4681, 388.0, 33.0),
        (0.5353, 446.0, 34.0),
        (0.6025, 506.0, 35.0),
        (0.7045, 596.0, 36.0),
        (0.7723, 659.0, 37.0),
        (0.8395, 723.0, 38.0),
        (0.9085, 788.0, 39.0),
    ];

    #[test]
    fn windows_are_those_of_the_kernel_within_a_look() {
        let (mut whole, mut window, mut acked, mut reached) = (Whole::new(26.0), 26.0, 0.0, Vec::new());
        let mut from = (0.0, 0.0);
        let beyond = (0.98, 850.0, 0.0);
        for (seconds, total, _) in KERNEL.into_iter().chain([beyond]) {
            while acked < total {
                acked += 2.0;
                let now = from.0 + (seconds - from.0) * (acked - from.1) / (total - from.1);
                let missing = (0.4 * ((6.0_f64 / 0.4).cbrt() - now - 0.0106).powi(3)).trunc();
                let at = Time::from_secs_f64(now);
                let grown = whole.grow(at, window, 2.0, &BOUNDED, || 32.0 - missing);
                if grown > 0.0 {
                    window += grown;
                    reached.push((now, window));
                }
            }
            from = (seconds, total);
        }
        for (seconds, _, window) in KERNEL {
            let (at, _) = reached.iter().find(|(_, had)| *had >= window).expect("the kernel's window");
            assert!((at - seconds).abs() < 0.04, "{window} at {at} s, in the kernel at {seconds} s");
        }
    }

    #[test]
    fn beside_reno_a_segment_more_takes_fifteen_eighths_of_a_window() {
        // Far below the plateau, one segment per acknowledgement, a look with each: 16 · 15/8 = 30 and one more.
        let mut whole = Whole::new(16.0);
        let grown = (1..=31_u64).map(|ack| {
            let now = Time::from_secs_f64(0.04 * ack as f64);
            whole.grow(now, 16.0, 1.0, &BOUNDED, || 0.0)
        });
        assert_eq!(grown.collect::<Vec<_>>(), [vec![0.0; 30], vec![1.0]].concat());
    }

    #[test]
    fn while_the_window_stays_it_is_looked_at_once_in_31_ms() {
        let mut whole = Whole::new(16.0);
        let mut looks = 0;
        for ack in 0..100_u64 {
            let now = Time::from_secs_f64(0.001 * ack as f64);
            let law = Law { alpha: None, is_bounded: true };
            whole.grow(now, 16.0, 1.0, &law, || {
                looks += 1;
                0.0
            });
        }
        assert_eq!(looks, 4, "at 0, 32, 64 and 96 ms");
    }

    #[test]
    fn steps_are_of_two_acknowledged_at_least_and_of_twenty_before_a_loss() {
        let law = Law { alpha: None, is_bounded: false };
        let first = |law: &Law, window: f64, target: f64| {
            let mut whole = Whole::new(window);
            (1..=2000)
                .find(|ack| {
                    let at = Time::from_secs_f64(0.04 * f64::from(*ack));
                    whole.grow(at, window, 1.0, law, || target) > 0.0
                })
                .expect("growth")
        };
        assert_eq!(first(&law, 100.0, 10_000.0), 2);
        assert_eq!(first(&law, 100.0, 0.0), 20);
        assert_eq!(first(&Law { is_bounded: true, ..law }, 10.0, 0.0), 1000);
        assert_eq!(first(&Law { is_bounded: true, ..law }, 100.0, 104.0), 25);
    }
}
