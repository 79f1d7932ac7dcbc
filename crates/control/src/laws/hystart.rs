//! `HyStart++`: leaves the initial slow start when round trip times rise, before loss does (RFC 9406). It decides how
//! much slow start may grow and when it ends; whose window grows is the scheme's business.
//!
//! Section 4.2 of the RFC, with its constants of §4.3. A round lasts until the highest number sent at its beginning
//! is acknowledged.

use tailback_core::{Acked, Span};

const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// L of §4.3 for senders that do not pace, in segments.
const LIMIT: f64 = 8.0;

/// The state of the initial slow start.
#[derive(Clone, Debug)]
pub struct HyStart {
    highest_sent: u64,
    round_end: u64,
    samples: u32,
    current_min: Span,
    last_min: Span,
    /// In conservative slow start: the round trip time that raised the alarm, and the rounds left.
    conservative: Option<(Span, u32)>,
}

/// What slow start does with an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Advice {
    /// Grow by so many segments.
    Grow(f64),
    /// The bottleneck is full: leave slow start with the threshold at the window.
    Leave,
}

impl Default for HyStart {
    fn default() -> Self {
        Self {
            highest_sent: 0,
            round_end: 0,
            samples: 0,
            current_min: Span::MAX,
            last_min: Span::MAX,
            conservative: None,
        }
    }
}

impl HyStart {
    /// A packet of this number leaves.
    pub fn on_sent(&mut self, number: u64) {
        self.highest_sent = self.highest_sent.max(number);
    }

    /// An acknowledgement of `segments` arrived, perhaps with a round trip time.
    pub fn on_ack(&mut self, acked: &[Acked], segments: f64, rtt: Option<Span>) -> Advice {
        if let Some(rtt) = rtt {
            self.current_min = self.current_min.min(rtt);
            self.samples += 1;
            self.look();
        }
        if acked.last().is_some_and(|last| last.number >= self.round_end) && self.end_round() {
            return Advice::Leave;
        }
        let growth = segments.min(LIMIT);
        Advice::Grow(if self.conservative.is_some() { growth / CSS_GROWTH_DIVISOR } else { growth })
    }

    /// Compares this round's smallest round trip time with the last one's, or with the alarm's.
    fn look(&mut self) {
        if self.samples < SAMPLES {
            return;
        }
        match self.conservative {
            None if self.last_min != Span::MAX => {
                let threshold = (self.last_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.current_min >= self.last_min + threshold {
                    self.conservative = Some((self.current_min, CSS_ROUNDS));
                }
            }
            // The rise was a passing one: back to slow start.
            Some((baseline, _)) if self.current_min < baseline => self.conservative = None,
            _ => {}
        }
    }

    /// Begins the next round; whether conservative slow start has lasted its rounds.
    fn end_round(&mut self) -> bool {
        self.round_end = self.highest_sent.max(self.round_end + 1);
        self.last_min = self.current_min;
        self.current_min = Span::MAX;
        self.samples = 0;
        match &mut self.conservative {
            Some((_, left)) => {
                *left -= 1;
                *left == 0
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_core::{Bytes, PairPosition, Time};

    fn acked(number: u64) -> Acked {
        Acked {
            number,
            size: Bytes::new(1000),
            sent_at: Time::ZERO,
            retransmitted: false,
            pair: PairPosition::Single,
            tag: 0,
        }
    }

    /// An ack-clocked window of 16 packets; round `r` is the acknowledgements `15 r + 1 ..= 15 r + 15`.
    struct Clocked(HyStart, u64);

    impl Clocked {
        fn new(rtt: Span) -> Self {
            let mut hystart = HyStart::default();
            (0..16).for_each(|number| hystart.on_sent(number));
            let mut clocked = Self(hystart, 0);
            clocked.ack(rtt);
            clocked
        }

        fn ack(&mut self, rtt: Span) -> Advice {
            let advice = self.0.on_ack(&[acked(self.1)], 1.0, Some(rtt));
            self.0.on_sent(self.1 + 16);
            self.1 += 1;
            advice
        }

        fn round(&mut self, rtt: Span) -> Vec<Advice> {
            (0..15).map(|_| self.ack(rtt)).collect()
        }
    }

    const BASE: Span = Span::from_millis(50);

    #[test]
    fn steady_round_trips_never_leave() {
        let mut clocked = Clocked::new(BASE);
        assert!((0..50).all(|_| clocked.round(BASE).iter().all(|advice| *advice == Advice::Grow(1.0))));
    }

    #[test]
    fn a_rise_below_the_threshold_is_ignored() {
        // The threshold is 50 ms / 8 = 6.25 ms.
        let mut clocked = Clocked::new(BASE);
        clocked.round(BASE);
        assert!(clocked.round(Span::from_millis(56)).iter().all(|advice| *advice == Advice::Grow(1.0)));
    }

    /// RFC 9406 §4.2: `RttThresh` is an eighth of the last round's least round trip time, from 4 ms to 16 ms, and a rise by as much
    /// is one.
    #[test]
    fn the_threshold_is_an_eighth_within_bounds() {
        for (base, threshold) in [(8_000, 4_000), (50_000, 6_250), (400_000, 16_000)] {
            let slows = |rise: u64| {
                let mut clocked = Clocked::new(Span::from_micros(base));
                clocked.round(Span::from_micros(base));
                clocked.round(Span::from_micros(base + rise)).contains(&Advice::Grow(0.25))
            };
            assert!(slows(threshold), "{base}");
            assert!(!slows(threshold - 1), "{base}");
        }
    }

    #[test]
    fn a_lasting_rise_slows_growth_to_a_quarter_and_then_leaves() {
        let mut clocked = Clocked::new(BASE);
        clocked.round(BASE);
        let alarmed = clocked.round(Span::from_millis(57));
        assert!(alarmed[..7].iter().all(|advice| *advice == Advice::Grow(1.0)));
        assert!(alarmed[7..].iter().all(|advice| *advice == Advice::Grow(0.25)));
        // The alarm's own round counts as the first of five.
        let left: Vec<bool> =
            (0..4).map(|_| clocked.round(Span::from_millis(60)).contains(&Advice::Leave)).collect();
        assert_eq!(left, [false, false, false, true]);
    }

    #[test]
    fn a_passing_rise_resumes_slow_start() {
        let mut clocked = Clocked::new(BASE);
        clocked.round(BASE);
        clocked.round(Span::from_millis(60));
        let calm = clocked.round(BASE);
        assert_eq!(calm[0], Advice::Grow(0.25));
        assert_eq!(calm[14], Advice::Grow(1.0));
    }
}
