//! The line as one of several queues that share it sees it: since when it is idle, and how fast it is. What a queue makes of
//! that is up to the queue.
//!
//! A queue that has packets gets the line's rate for a part of the time, and what computes with a rate (the delay of PIE, the
//! capacity of REM and of AVQ) must know that part. It is measured as RFC 8033 §5.2 measures departures, at the queue's own
//! departures and only while it has more packets; but in bytes of the line and not in time, so that a queue that is alone has
//! the line's rate to the bit, and a line that changes its rate changes all of them at once. From one departure that leaves
//! packets behind to the next, with n bytes of the first one and N that all queues sent:
//!
//! ```text
//! own ← own / (1 + n / 64 KiB) + n      all ← all / (1 + n / 64 KiB) + N      part = own / all
//! ```
//!
//! RFC 8033 averages over as much, 2¹⁶ bytes (appendix A), but does not measure below 16 KiB of packets. A lane of 1 Mbit/s
//! has 2 kB at the delay that PIE aims at.
//!
//! A queue hears of a rate when it is asked for a packet, or when the line's changes, and computes with it until then: a law that
//! looks back at what was due since then must not find that its line was another.

use tailback_core::{BitRate, Bytes, Time};

/// So many bytes of a queue's own are remembered.
const MEMORY: f64 = 65_536.0;

/// The least rate that a queue is told: none would be a line that stands still.
const LEAST: BitRate = BitRate::from_bits_per_sec(1);

/// Whose packet the line took last, since when the others have had none on it, and which part of it each gets.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    last: Option<usize>,
    places: Vec<Place>,
    /// Whether any of them asks how fast the line is.
    measures: bool,
}

/// The line, as one queue sees it.
#[derive(Clone, Copy, Debug)]
struct Place {
    done: Time,
    /// What it was told when it was last asked for a packet.
    rate: BitRate,
    own: f64,
    all: f64,
    part: f64,
    /// The bytes of its last packet, and all since then, if more waited behind that packet.
    since: Option<(f64, f64)>,
}

impl Turns {
    /// Of so many queues, of which none was served, on a line of this rate. Each says whether it asks how fast the line is.
    pub(crate) fn new(asks: impl IntoIterator<Item = bool>, line: BitRate) -> Self {
        let place = Place { done: Time::ZERO, rate: line, own: 0.0, all: 0.0, part: 1.0, since: None };
        let asks: Vec<bool> = asks.into_iter().collect();
        Self { last: None, places: vec![place; asks.len()], measures: asks.contains(&true) }
    }

    /// The line takes a packet of this queue. It is idle since `idle_since`, or was busy until now. `waits` tells whether a queue
    /// has packets left.
    #[inline]
    pub(crate) fn served(
        &mut self,
        queue: usize,
        size: Bytes,
        now: Time,
        idle_since: Option<Time>,
        waits: impl Fn(usize) -> bool,
    ) {
        if let Some(last) = self.last.replace(queue).filter(|last| *last != queue) {
            self.places[last].done = idle_since.unwrap_or(now);
        }
        if self.measures {
            self.measure(queue, size.as_f64(), waits);
        }
    }

    fn measure(&mut self, queue: usize, size: f64, waits: impl Fn(usize) -> bool) {
        for (other, place) in self.places.iter_mut().enumerate() {
            if other == queue {
                place.leaves();
                place.since = waits(other).then_some((size, size));
            } else if let Some((_, all)) = &mut place.since {
                if waits(other) {
                    *all += size;
                } else {
                    // What waited was dropped.
                    place.since = None;
                }
            }
        }
    }

    /// Whether another queue was served since this one, so that the line is busy for others only.
    pub(crate) fn has_passed(&self, queue: usize) -> bool {
        self.last.is_some_and(|last| last != queue)
    }

    /// Since when none of this queue's packets is on the line, which has taken others since.
    pub(crate) fn done(&self, queue: usize) -> Time {
        self.places[queue].done
    }

    /// How fast the line is for this queue while it has packets, as it was told: all of it, as long as nothing else was seen.
    #[inline]
    pub(crate) fn rate(&self, queue: usize) -> BitRate {
        self.places[queue].rate
    }

    /// This queue was asked for a packet, and is told of a line of this rate.
    #[inline]
    pub(crate) fn asked(&mut self, queue: usize, line: BitRate) {
        let Place { rate, part, .. } = &mut self.places[queue];
        *rate = if *part < 1.0 { line.mul_f64(*part).max(LEAST).min(line) } else { line };
    }
}

impl Place {
    /// The next packet of its own leaves.
    #[inline]
    fn leaves(&mut self) {
        if let Some((own, all)) = self.since {
            let kept = MEMORY / (MEMORY + own);
            self.own = kept * self.own + own;
            self.all = kept * self.all + all;
            self.part = self.own / self.all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: BitRate = BitRate::from_bits_per_sec(8_000_000);

    /// What a queue hears of a line.
    fn told(turns: &mut Turns, queue: usize, line: BitRate) -> BitRate {
        turns.asked(queue, line);
        turns.rate(queue)
    }

    /// The rates of two queues after packets of these queues and sizes have left, while both always had more.
    fn rates(served: impl IntoIterator<Item = (usize, u64)>) -> [u64; 2] {
        let mut turns = Turns::new([true; 2], LINE);
        for (queue, size) in served {
            turns.served(queue, Bytes::new(size), Time::ZERO, None, |_| true);
        }
        [0, 1].map(|queue| told(&mut turns, queue, LINE).bits_per_sec())
    }

    #[test]
    fn a_queue_alone_has_the_whole_line() {
        assert_eq!(rates([]), [8_000_000; 2]);
        let alone = (1..1000).map(|number| (0, 40 + number * 7919 % 1500));
        assert_eq!(rates(alone), [8_000_000; 2]);
    }

    /// To a hundredth: the newest packet counts for a sixty-fifth of what is remembered.
    #[test]
    fn three_bytes_to_one_are_three_quarters_and_one() {
        let turns = |number| if number % 4 == 0 { (0, 1000) } else { (1, 1000) };
        let sizes = |number| if number % 2 == 0 { (0, 500) } else { (1, 1500) };
        for rates in [rates((0..4000).map(turns)), rates((0..4000).map(sizes))] {
            let parts = rates.map(|rate| rate as f64 / 8e6);
            assert!((parts[0] - 0.25).abs() < 0.0025 && (parts[1] - 0.75).abs() < 0.0075, "{parts:?}");
        }
    }

    /// 64 KiB of its own later, the past counts for about a third.
    #[test]
    fn what_was_long_ago_fades() {
        let alone = (0..1000).map(|_| (0, 1000));
        let in_turns = |rounds: usize| (0..rounds).flat_map(|_| [(1, 1000), (0, 1000)]);
        let [soon, later] = [66, 500].map(|rounds| rates(alone.clone().chain(in_turns(rounds)))[0]);
        // Of 66 kB behind and 66 kB since, three to five.
        assert!((4_900_000..5_100_000).contains(&soon), "{soon}");
        assert!((4_000_000..4_010_000).contains(&later), "{later}");
    }

    /// What others send while a queue is empty is nothing that it wanted.
    #[test]
    fn an_empty_queue_is_not_measured() {
        let mut turns = Turns::new([true; 2], LINE);
        for _ in 0..100 {
            for queue in [0, 1, 1, 1] {
                turns.served(queue, Bytes::new(1000), Time::ZERO, None, |queue| queue == 1);
            }
        }
        assert_eq!(told(&mut turns, 0, LINE), LINE);
        assert!(told(&mut turns, 1, LINE) < LINE);
    }

    /// A line that stands still does so for everyone, and no other does.
    #[test]
    fn only_a_line_that_stands_still_has_no_rate() {
        let mut turns = Turns::new([true; 2], LINE);
        for queue in [0, 1, 0] {
            turns.served(queue, Bytes::new(if queue == 0 { 1 } else { 65_535 }), Time::ZERO, None, |_| true);
        }
        assert_eq!(told(&mut turns, 0, BitRate::ZERO), BitRate::ZERO);
        assert_eq!(told(&mut turns, 0, BitRate::from_bits_per_sec(1000)), LEAST);
    }
}
