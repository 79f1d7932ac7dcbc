//! Trains of segments, as segmentation offload makes them in Linux: how many new segments leave at one instant, which of them
//! bears PSH, and when a sender waits until it may send a whole train. Acknowledging PSH at once is the receiver's.
//!
//! Source: Linux 6.18, `net/ipv4/tcp_output.c`; its functions and settings are named where they are followed. A train has
//! `max(2, (rate / 1024 + 64 KiB / 2^(shortest rtt / 512 µs)) / segment)` segments, bytes per second and bytes, where the rate is
//! that of pacing, or `1.2 window / rtt`. Not followed: twice the rate in slow start.

use tailback_core::{BitRate, Bytes, Recovery, Span, Time};

/// A train takes this long at the rate by which Linux spaces packets (`sk_pacing_shift` of 10).
const LENGTH: Span = Span::from_nanos(1_000_000_000 / 1024);
/// That rate over window and round trip time, outside of slow start (`tcp_pacing_ca_ratio`).
const RATIO: f64 = 1.2;
/// Trains have at least so many segments (`tcp_min_tso_segs`), and at most so many bytes.
const LEAST: u64 = 2;
const MOST: u64 = 65_536;
/// Below this rate paced segments leave one by one (`bbr_min_tso_rate`).
const SLOW: BitRate = BitRate::from_bits_per_sec(1_200_000);
/// On short paths they may be longer: by the most, halved for each such part of the shortest round trip time (`tcp_tso_rtt_log`
/// of 9).
const SHORT: Span = Span::from_micros(512);
/// Who sent nothing for so long does not wait, nor who expects an acknowledgement later than in so long, or in half of a round
/// trip time.
const RECENT: Span = Span::from_millis(1);
/// Nor does who may send this part of its window (`tcp_tso_win_divisor`).
const PART: u64 = 3;

/// The train that is leaving, and what its length follows from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    /// When something left last.
    sent_at: Time,
    /// How many segments of the train have yet to leave at that instant.
    left: u64,
    /// When a shaper may be asked for the next train: it was asked for the first segment of the last one only.
    paid_at: Time,
    shortest_rtt: Span,
}

/// What a sender knows when it is about to send a segment of new data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) time: Time,
    /// A segment's size, the window, and what the window has room for, in bytes.
    pub(super) size: u64,
    pub(super) window: u64,
    pub(super) room: u64,
    /// The rate in force, where one is.
    pub(super) rate: Option<BitRate>,
    pub(super) smoothed_rtt: Option<Span>,
    pub(super) latest_rtt: Option<Span>,
    /// When the oldest segment that is not acknowledged left.
    pub(super) oldest: Option<Time>,
    pub(super) state: Recovery,
}

/// What a train means for a shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shaped {
    /// The segment leaves with its train.
    Paid,
    /// The last train is being paid for until then.
    Owes(Time),
    /// It is asked.
    Asked,
}

impl Default for Train {
    fn default() -> Self {
        Self { sent_at: Time::ZERO, left: 0, paid_at: Time::ZERO, shortest_rtt: Span::MAX }
    }
}

impl Train {
    /// Whether the segment should wait until more may leave with it (`tcp_tso_should_defer`).
    pub(super) fn waits(&mut self, now: &Now) -> bool {
        self.shortest_rtt = self.shortest_rtt.min(now.latest_rtt.unwrap_or(Span::MAX));
        if self.is_under_way(now.time) || now.state != Recovery::Open {
            return false;
        }
        let is_recent = now.time <= self.sent_at + RECENT;
        let is_much = now.room >= now.window / PART;
        let (Some(oldest), Some(rtt)) = (now.oldest, now.smoothed_rtt) else { return false };
        let is_ack_near = now.time + RECENT.min(rtt.mul_f64(0.5)) >= oldest + rtt;
        is_recent && !is_much && is_ack_near && now.room < self.goal(now) * now.size
    }

    /// A segment of new data leaves; whether it bears PSH: the last of two and more does.
    pub(super) fn leaves(&mut self, now: &Now) -> bool {
        let is_under_way = self.is_under_way(now.time);
        if !is_under_way {
            self.left = self.goal(now).min(now.room / now.size.max(1)).max(1);
            if let Some(rate) = now.rate.filter(|rate| *rate > BitRate::ZERO) {
                self.paid_at = now.time + rate.span_of(Bytes::new(self.left * now.size));
            }
        }
        self.left -= 1;
        self.sent_at = now.time;
        is_under_way && self.left == 0
    }

    /// What a shaper has to do with the next segment.
    pub(super) fn shaped(&self, now: Time) -> Shaped {
        if self.is_under_way(now) {
            Shaped::Paid
        } else if now < self.paid_at {
            Shaped::Owes(self.paid_at)
        } else {
            Shaped::Asked
        }
    }

    /// A segment leaves again, by itself.
    pub(super) fn breaks(&mut self, now: Time) {
        self.left = 0;
        self.sent_at = now;
    }

    fn is_under_way(&self, now: Time) -> bool {
        self.left > 0 && self.sent_at == now
    }

    /// The segments of a train (`tcp_tso_autosize`).
    fn goal(&self, now: &Now) -> u64 {
        let at_rate = match (now.rate, now.smoothed_rtt) {
            (Some(rate), _) if rate < SLOW => return 1,
            (Some(rate), _) => rate.bits_per_sec() as f64 / 8.0 * LENGTH.as_secs_f64(),
            (None, Some(rtt)) => {
                RATIO * now.window as f64 * LENGTH.as_secs_f64() / rtt.as_secs_f64().max(1e-9)
            }
            (None, None) => return LEAST,
        };
        let halvings = self.shortest_rtt.as_nanos() / SHORT.as_nanos();
        let more = if halvings < 32 { MOST >> halvings } else { 0 };
        let bytes = (at_rate as u64).saturating_add(more).min(MOST);
        (bytes / now.size.max(1)).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender with a window of so many segments of 1500 B, and room for some.
    fn now(window: u64, room: u64, rtt: Span) -> Now {
        Now {
            time: Time::ZERO + Span::from_secs(1),
            size: 1500,
            window: window * 1500,
            room: room * 1500,
            rate: None,
            smoothed_rtt: Some(rtt),
            latest_rtt: Some(rtt),
            oldest: Some(Time::ZERO + Span::from_secs(1) - rtt),
            state: Recovery::Open,
        }
    }

    /// How many segments a train has.
    fn length(now: &Now) -> u64 {
        let mut train = Train::default();
        train.waits(now);
        (1..100).find(|_| train.leaves(now) || train.left == 0).unwrap()
    }

    #[test]
    fn a_train_is_of_a_millisecond_at_the_windows_rate() {
        let rtt = Span::from_millis(50);
        // 1.2 windows in 50 ms, of which 1/1024 s: 0.0234 windows.
        for (window, expected) in [(10, 2), (100, 2), (129, 3), (1000, 23)] {
            assert_eq!(length(&now(window, window, rtt)), expected, "{window}");
        }
        assert_eq!(length(&now(100_000, 100_000, rtt)), 43, "64 KiB at most");
        assert_eq!(length(&now(10, 1, rtt)), 1, "no more than there is room for");
    }

    #[test]
    fn a_paced_train_leaves_at_once_and_is_paid_for_afterwards() {
        let paced = |bits| Now {
            rate: Some(BitRate::from_bits_per_sec(bits)),
            ..now(1000, 1000, Span::from_millis(50))
        };
        for (bits, expected) in [(1_000_000, 1), (2_000_000, 2), (100_000_000, 8), (10_000_000_000, 43)] {
            assert_eq!(length(&paced(bits)), expected, "{bits}");
        }
        let (now, mut train) = (paced(100_000_000), Train::default());
        assert_eq!(train.shaped(now.time), Shaped::Asked);
        let pushed: Vec<_> = (0..8)
            .map(|index| {
                assert_eq!(train.shaped(now.time) == Shaped::Paid, index > 0);
                train.leaves(&now)
            })
            .collect();
        assert_eq!(pushed, [false, false, false, false, false, false, false, true]);
        // Eight segments of 1500 B at 100 Mbit/s.
        let paid = now.time + Span::from_micros(960);
        assert_eq!(train.shaped(now.time), Shaped::Owes(paid));
        assert_eq!(train.shaped(paid), Shaped::Asked);
    }

    #[test]
    fn on_a_short_path_a_train_is_longer() {
        // Two halvings of 64 KiB, and 0.96 windows.
        assert_eq!(length(&now(10, 10, Span::from_micros(1220))), 10);
        assert_eq!(
            length(&now(40, 40, Span::from_micros(1220))),
            40.min((0.960_6 * 60_000.0 + 16_384.0) as u64 / 1500)
        );
    }

    #[test]
    fn a_sender_waits_only_where_an_acknowledgement_is_near() {
        let rtt = Span::from_millis(50);
        let near = now(10, 1, rtt);
        let waits = |change: fn(&mut Now)| {
            let mut changed = near;
            change(&mut changed);
            let mut train = Train { sent_at: near.time, ..Train::default() };
            train.waits(&changed)
        };
        assert!(waits(|_| ()));
        assert!(!waits(|now| now.room = 3 * now.size), "room for a train");
        assert!(!waits(|now| now.window = 3 * now.size), "a third of the window");
        assert!(!waits(|now| now.state = Recovery::Fast));
        assert!(!waits(|now| now.oldest = None));
        assert!(
            !waits(|now| now.oldest = now.oldest.map(|at| at + Span::from_micros(1001))),
            "1 ms too early"
        );
        assert!(!waits(|now| now.time += Span::from_micros(1001)), "silent for longer than 1 ms");
    }
}
