//! What BBR version 3 asks of its receiver's acknowledgements, phase by phase (draft-ietf-ccwg-bbr-06, §4.1.3.3). What the draft
//! leaves open, and what was decided, is at the head of `mod.rs`. How a request travels is not the scheme's business.

use tailback_core::{AckFrequency, AckWish, Span};

use super::State;
use crate::reals::{larger, smaller};

/// At least so many acknowledgements come per round trip time in phases that measure.
const LEAST_PER_ROUND: f64 = 4.0;
/// The most packets per acknowledgement in these, as QUIC has it by default (RFC 9000 §13.2.2).
const FREQUENT: f64 = 2.0;
/// The window over what arrives in a round trip time, as long as the rate is not known or looks like more.
const WINDOW_PER_ROUND: f64 = 2.0;
/// The window over a seldom acknowledgement's packets, and the round trip time over its delay.
const WINDOW_PART: f64 = 4.0;
const TRIP_PART: f64 = 2.0;
/// What is asked stays until something differs from it by more than this part.
const NEWS: f64 = 0.25;
/// How often seldom acknowledgements may be made twice as frequent.
const MOST_HALVINGS: i32 = 6;

/// What is asked, and what of it an exhausted window has taken back.
#[derive(Clone, Debug, Default)]
pub(super) struct AckPlan {
    wish: AckWish,
    /// Whether the present request is for seldom acknowledgements, and was so when this round began.
    seldom: bool,
    whole_round: bool,
    /// How often the seldom ones were made twice as frequent.
    halvings: i32,
}

/// What the plan follows.
pub(super) struct Seen {
    pub(super) state: State,
    pub(super) round_start: bool,
    /// The window was full in the round that has just ended.
    pub(super) limited: bool,
    /// Packets that the window has room for.
    pub(super) window: f64,
    /// Packets per second that arrive, 0 before this is known.
    pub(super) rate: f64,
    pub(super) smoothed: Option<Span>,
}

impl AckPlan {
    /// Nothing is asked before there is a round trip time.
    pub(super) fn wish(&self) -> AckWish {
        self.wish
    }

    /// The packet that leaves is the last of its flight.
    pub(super) fn end_flight(&mut self) {
        self.wish.immediate = self.wish.immediate.wrapping_add(1);
    }

    /// Follows the state and, round by round, window and round trip time; whether it asks for something else now.
    pub(super) fn follow(&mut self, seen: &Seen) -> bool {
        let seldom = matches!(seen.state, State::Down | State::Cruise);
        let turns = seldom != self.seldom;
        if !(turns || seen.round_start) {
            return false;
        }
        let Some(smoothed) = seen.smoothed.filter(|smoothed| !smoothed.is_zero()) else { return false };
        if turns && seldom {
            // A cycle begins: perhaps there is more room by now.
            self.halvings = (self.halvings - 1).max(0);
        } else if seldom && self.whole_round && seen.limited {
            self.halvings = (self.halvings + 1).min(MOST_HALVINGS);
        }
        (self.seldom, self.whole_round) = (seldom, seldom && seen.round_start);
        let trip = smoothed.as_secs_f64();
        let often = frequent(seen, trip);
        let (packets, delay) = if seldom {
            let part = 2.0_f64.powi(-self.halvings);
            let (packets, delay) = (seen.window / WINDOW_PART * part, trip / TRIP_PART * part);
            // An exhausted window is no reason to measure more than where it measures.
            (larger(packets, often.0), larger(delay, often.1))
        } else {
            often
        };
        // Within what a receiver heeds, so that what it does not heed is no news.
        let asked =
            AckFrequency { threshold: packets as u32, max_delay: Span::from_secs_f64(delay) }.bounded();
        let is_news = self.wish.frequency.is_none_or(|known| differ(&known, &asked));
        if is_news {
            self.wish.frequency = Some(asked);
        }
        is_news
    }
}

/// Packets per acknowledgement, and its delay, in phases that measure.
fn frequent(seen: &Seen, trip: f64) -> (f64, f64) {
    let by_window = seen.window / WINDOW_PER_ROUND;
    // The window may have room for far more than arrives: for what arrives in bunches, or before any rate is known.
    let arrive = if seen.rate > 0.0 { smaller(by_window, seen.rate * trip) } else { by_window };
    ((arrive / LEAST_PER_ROUND).clamp(1.0, FREQUENT).floor(), trip / LEAST_PER_ROUND)
}

/// Whether it is worth a request.
fn differ(known: &AckFrequency, asked: &AckFrequency) -> bool {
    let far = |known: f64, asked: f64| (asked - known).abs() > NEWS * known;
    far(known.threshold.into(), asked.threshold.into())
        || far(known.max_delay.as_secs_f64(), asked.max_delay.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use tailback_core::Bytes;

    use super::super::Bbr3;
    use super::*;
    use crate::parts::ControllerParams;

    fn seen(state: State, round_start: bool, limited: bool, window: f64, millis: u64) -> Seen {
        // The pipe is half of the window.
        let rate = window / 2.0 / (millis as f64 * 1e-3);
        Seen { state, round_start, limited, window, rate, smoothed: Some(Span::from_millis(millis)) }
    }

    fn asked(plan: &AckPlan) -> (u32, u64) {
        let asked = plan.wish().frequency.expect("something is asked");
        (asked.threshold, asked.max_delay.as_nanos() / 1_000_000)
    }

    #[test]
    fn each_phase_asks_for_what_the_draft_says() {
        for (state, window, expected) in [
            (State::Startup, 100.0, (2, 10)),
            (State::Startup, 15.0, (1, 10)),
            (State::Drain, 100.0, (2, 10)),
            (State::Refill, 100.0, (2, 10)),
            (State::Up, 4.0, (1, 10)),
            (State::ProbeRtt, 4.0, (1, 10)),
            (State::Down, 100.0, (25, 20)),
            (State::Cruise, 10.0, (2, 20)),
            (State::Cruise, 4.0, (1, 20)),
        ] {
            let mut plan = AckPlan::default();
            plan.follow(&seen(state, true, false, window, 40));
            assert_eq!(asked(&plan), expected, "{state:?}");
        }
    }

    #[test]
    fn nothing_is_asked_before_there_is_a_round_trip_time() {
        let mut plan = AckPlan::default();
        let blind = Seen { smoothed: None, ..seen(State::Startup, true, false, 10.0, 1) };
        assert!(!plan.follow(&blind));
        assert_eq!(plan.wish(), AckWish::default());
    }

    #[test]
    fn a_request_leaves_when_something_has_changed_by_much() {
        let mut plan = AckPlan::default();
        assert!(plan.follow(&seen(State::Cruise, true, false, 100.0, 40)));
        assert!(!plan.follow(&seen(State::Cruise, true, false, 120.0, 48)));
        assert!(!plan.follow(&seen(State::Cruise, false, false, 400.0, 40)), "in the middle of a round");
        assert!(plan.follow(&seen(State::Cruise, true, false, 140.0, 40)));
        assert!(plan.follow(&seen(State::Refill, false, false, 140.0, 40)), "with the phase at once");
    }

    #[test]
    fn a_window_that_is_exhausted_meanwhile_makes_acknowledgements_more_frequent() {
        let mut plan = AckPlan::default();
        let mut round = |state, limited| {
            plan.follow(&seen(state, true, limited, 64.0, 40));
            asked(&plan)
        };
        assert_eq!(round(State::Down, true), (16, 20), "the round before had no part in it");
        assert_eq!(round(State::Down, true), (8, 10));
        assert_eq!(round(State::Cruise, false), (8, 10));
        assert_eq!(round(State::Cruise, true), (4, 10));
        assert_eq!(round(State::Refill, true), (2, 10));
        assert_eq!(round(State::Down, false), (8, 10), "one step back with every cycle");
        for _ in 0..20 {
            round(State::Cruise, true);
        }
        assert_eq!(round(State::Cruise, true), (2, 10), "never more frequent than where it measures");
    }

    #[test]
    fn in_a_phase_that_measures_at_least_four_come_per_round_trip() {
        for (window, arrive) in
            (1..200_u32).flat_map(|window| (0..=window).map(move |arrive| (window, arrive)))
        {
            let rate = f64::from(arrive) / 0.04;
            let mut plan = AckPlan::default();
            plan.follow(&Seen { rate, ..seen(State::Up, true, false, window.into(), 40) });
            // Before there is a rate, the pipe is half of the window.
            let arrive = if arrive == 0 { f64::from(window) / 2.0 } else { arrive.into() };
            let (threshold, _) = asked(&plan);
            assert!(threshold == 1 || arrive / f64::from(threshold) >= 4.0, "{window}, {arrive}");
        }
    }

    #[test]
    fn no_more_is_asked_for_than_a_quarter_of_the_window_and_half_a_round_trip_time() {
        for window in (1..400_u32).map(|quarters| f64::from(quarters) / 4.0 + 3.75) {
            for rounds in 0..10 {
                let mut plan = AckPlan::default();
                for _ in 0..=rounds {
                    plan.follow(&seen(State::Cruise, true, true, window, 40));
                }
                let (threshold, delay) = asked(&plan);
                assert!(threshold == 1 || f64::from(threshold) <= window / 4.0, "{window}, {rounds}");
                let mut measuring = AckPlan::default();
                measuring.follow(&seen(State::Up, true, false, window, 40));
                assert!((measuring.wish().frequency.unwrap().threshold, 10) <= (threshold, delay));
                assert!((10..=20).contains(&delay), "{window}, {rounds}");
            }
        }
    }

    #[test]
    fn what_no_receiver_heeds_is_not_asked_for() {
        let mut plan = AckPlan::default();
        assert!(plan.follow(&seen(State::Cruise, true, false, 1e6, 40_000)));
        assert_eq!(asked(&plan), (AckFrequency::MOST, 10_000));
        assert!(!plan.follow(&seen(State::Cruise, true, false, 2e6, 80_000)), "no news to a receiver");
    }

    /// §5.5.8 of the draft: the lesser of what the threshold and what the delay holds back.
    #[test]
    fn the_window_has_room_for_what_is_held_back_at_the_present_rate() {
        let params = ControllerParams::unlimited(Bytes::new(1000), 100);
        let mut bbr = Bbr3 { acks: Some(Box::default()), state: State::Cruise, ..Bbr3::new(&params) };
        let quanta = bbr.control.with_quanta(0.0, false);
        for (rate, room) in [(5e5, 10_000.0), (1e6, 20_000.0), (2e6, 25_000.0)] {
            bbr.model.set_rate(rate);
            bbr.plan_acks(true, Some(Span::from_millis(40)));
            assert_eq!(bbr.acks.as_ref().map(|acks| asked(acks)), Some((25, 20)));
            assert_eq!(bbr.control.with_quanta(0.0, false) - quanta, room);
        }
    }
}
