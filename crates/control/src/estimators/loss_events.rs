//! Which packets of a numbered sequence are lost, and which losses are one loss event, as RFC 5348 §5.1 to §5.3 finds it
//! at the receiver; with the history of intervals it gives the loss event rate. Short intervals may be counted by
//! their losses (RFC 4828 §4.4). What follows from the rate is a scheme's business.
//!
//! A packet is lost when three with higher numbers have come (or when a router marked it: then at once). A loss's time is
//! interpolated between the arrivals around it, and it begins a new event if it comes a round trip time or more after
//! the first loss of the last event.
//!
//! Deviations: where packets overtake each other, a loss's time is taken from the highest number that came before, not from the
//! last arrival. Where everything is lost for very long, the first `2n + 2` events of it are counted, n the intervals that are kept;
//! the rest belongs to the last of these.

use std::collections::VecDeque;

use tailback_core::{Span, Time};

use super::loss_intervals::{LossIntervals, LossIntervalsConfig};

/// NDUPACK of RFC 5348 §5.1.
const LATER_ARRIVALS: u32 = 3;
/// Holes that wait for judgement at once; the oldest is judged lost when there are more. A network that reorders
/// so much has no better answer, and a peer that makes holes on purpose fills no memory.
const MOST_HOLES: usize = 256;

/// Numbers that have not come, between two arrivals.
#[derive(Clone, Copy, Debug)]
struct Hole {
    /// The first number missing.
    start: u64,
    /// The first number beyond.
    end: u64,
    /// The arrival before it.
    before: (u64, Time),
    /// The arrival after it.
    after: (u64, Time),
    /// New arrivals with higher numbers.
    later: u32,
}

impl Hole {
    /// When a packet of the hole would have come.
    fn time_of(&self, number: u64) -> Time {
        let ((from, t0), (to, t1)) = (self.before, self.after);
        let part = (number - from) as f64 / (to - from).max(1) as f64;
        t0 + t1.since(t0).mul_f64(part.clamp(0.0, 1.0))
    }

    /// The first number in `from..` whose time is `due` or later.
    fn first_at(&self, from: u64, due: Time) -> u64 {
        let ((n0, t0), (n1, t1)) = (self.before, self.after);
        let span = t1.since(t0).as_nanos().max(1) as f64;
        let steps = (due.since(t0).as_nanos() as f64 / span * (n1 - n0) as f64).ceil();
        n0.saturating_add(steps as u64).max(from)
    }
}

/// The loss event under way.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// Its first loss.
    first: u64,
    at: Time,
    /// Losses since it began, its own included.
    losses: u64,
}

/// How loss events are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// One event per round trip of losses (RFC 5348 §5.3).
    #[default]
    Events,
    /// In intervals of at most two round trips, every loss counts (RFC 4828 §4.4): small packets sent often lose many of
    /// a burst.
    ShortIntervalsByLosses,
}

/// What an arrival changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Packets newly found lost or marked.
    pub losses: u64,
    /// Loss events newly begun.
    pub events: u32,
}

/// Loss events among the packets that arrive.
#[derive(Clone, Debug)]
pub struct LossEvents {
    history: LossIntervals,
    counting: Counting,
    holes: VecDeque<Hole>,
    /// The highest number that came, and when.
    highest: Option<(u64, Time)>,
    event: Option<Event>,
    lost: u64,
    /// The newest known.
    round_trip: Span,
}

impl LossEvents {
    /// A receiver that has seen nothing.
    pub fn new(config: &LossIntervalsConfig, counting: Counting) -> Self {
        Self {
            history: LossIntervals::new(config),
            counting,
            holes: VecDeque::new(),
            highest: None,
            event: None,
            lost: 0,
            round_trip: Span::ZERO,
        }
    }

    /// Forgets everything, as when a flow begins anew. Numbers go on.
    pub fn restart(&mut self) {
        self.history.clear();
        self.holes.clear();
        self.highest = None;
        self.event = None;
    }

    /// Begins anew with a full history of intervals of so many packets: what is known from elsewhere.
    pub fn presume(&mut self, packets: f64) {
        self.restart();
        for _ in 0..self.history.capacity() {
            self.history.close(packets);
        }
    }

    /// The interval before the first event, which no event began: what a scheme takes it for (RFC 5348 §6.3.1). Without
    /// it there is no rate before the second event.
    pub fn seed(&mut self, packets: f64) {
        self.history.seed(packets);
    }

    /// The loss event rate; 0 before the first loss.
    pub fn event_rate(&self) -> f64 {
        self.history.event_rate(self.open())
    }

    /// The average loss interval in packets.
    pub fn mean_interval(&self) -> Option<f64> {
        self.history.mean(self.open())
    }

    /// The history of intervals.
    pub fn history(&self) -> &LossIntervals {
        &self.history
    }

    /// Packets lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The highest number that came.
    pub fn highest(&self) -> Option<u64> {
        self.highest.map(|(number, _)| number)
    }

    /// When the loss event under way began.
    pub fn event_began(&self) -> Option<Time> {
        self.event.map(|event| event.at)
    }

    /// Packets since the last loss event began, `I_0`.
    pub fn open(&self) -> f64 {
        let Some((highest, now)) = self.highest else { return 0.0 };
        let Some(event) = self.event else { return highest as f64 };
        let packets = highest.saturating_sub(event.first) as f64 + 1.0;
        self.counted(packets, &event, now)
    }

    /// A packet arrived, perhaps marked; `round_trip` is what the receiver knows of it, zero before it knows.
    /// `is_new` is false for a number that had come before.
    pub fn on_arrival(
        &mut self,
        now: Time,
        number: u64,
        marked: bool,
        is_new: bool,
        round_trip: Span,
    ) -> Judged {
        let mut judged = Judged::default();
        if !is_new {
            return judged;
        }
        self.round_trip = round_trip;
        match self.highest {
            None => self.highest = Some((number, now)),
            Some((highest, at)) if number > highest => {
                if number > highest + 1 {
                    let hole = Hole {
                        start: highest + 1,
                        end: number,
                        before: (highest, at),
                        after: (number, now),
                        later: 0,
                    };
                    self.holes.push_back(hole);
                }
                self.highest = Some((number, now));
            }
            Some(_) => self.fill(number),
        }
        for hole in &mut self.holes {
            hole.later += u32::from(hole.end <= number);
        }
        while let Some(hole) = self.holes.front().copied() {
            if hole.later < LATER_ARRIVALS && self.holes.len() <= MOST_HOLES {
                break;
            }
            self.holes.pop_front();
            self.judge(&hole, &mut judged);
        }
        if marked {
            judged.losses += 1;
            self.loss_at(number, now, &mut judged);
        }
        judged
    }

    /// A number of a hole came late: it is not lost.
    fn fill(&mut self, number: u64) {
        let Some(index) = self.holes.iter().position(|hole| (hole.start..hole.end).contains(&number)) else {
            return;
        };
        let hole = self.holes[index];
        let (left, right) = (Hole { end: number, ..hole }, Hole { start: number + 1, ..hole });
        match (left.start < left.end, right.start < right.end) {
            (false, false) => drop(self.holes.remove(index)),
            (true, false) => self.holes[index] = left,
            (false, true) => self.holes[index] = right,
            (true, true) => {
                self.holes[index] = left;
                self.holes.insert(index + 1, right);
            }
        }
    }

    /// All of a hole is lost: it may hold several events if it lasts longer than a round trip.
    fn judge(&mut self, hole: &Hole, judged: &mut Judged) {
        judged.losses += hole.end - hole.start;
        self.lost += hole.end - hole.start;
        // Only so many events can matter as the history holds; a hole that long is a silence.
        let most = 2 * self.history.capacity() + 2;
        let mut at = hole.start;
        for _ in 0..most {
            let beyond = self.event_end();
            let next = beyond.map_or(at, |due| hole.first_at(at, due)).min(hole.end);
            if next > at
                && let Some(event) = &mut self.event
            {
                event.losses += next - at;
            }
            if next >= hole.end {
                return;
            }
            self.begin(next, hole.time_of(next), judged);
            at = next + 1;
        }
    }

    /// A single loss.
    fn loss_at(&mut self, number: u64, at: Time, judged: &mut Judged) {
        let due = self.event_end();
        match &mut self.event {
            Some(event) if due.is_some_and(|due| at < due) => event.losses += 1,
            _ => self.begin(number, at, judged),
        }
    }

    /// From when on a loss begins a new event.
    fn event_end(&self) -> Option<Time> {
        self.event.map(|event| event.at + self.round_trip)
    }

    fn begin(&mut self, first: u64, at: Time, judged: &mut Judged) {
        judged.events += 1;
        let event = Event { first, at, losses: 1 };
        if let Some(last) = self.event.replace(event) {
            let packets = first.saturating_sub(last.first) as f64;
            let counted = self.counted(packets, &last, at);
            self.history.close(counted);
        }
    }

    /// The length of an interval that began with `event`, by the way of counting.
    fn counted(&self, packets: f64, event: &Event, end: Time) -> f64 {
        let short = end.since(event.at) <= self.round_trip * 2;
        if self.counting == Counting::ShortIntervalsByLosses && short {
            packets / event.losses as f64
        } else {
            packets
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// One packet every 10 ms, except those lost.
    fn feed(events: &mut LossEvents, numbers: std::ops::Range<u64>, lost: &[u64]) -> Judged {
        let mut all = Judged::default();
        for number in numbers.filter(|number| !lost.contains(number)) {
            let judged = events.on_arrival(at(10 * number), number, false, true, RTT);
            all.losses += judged.losses;
            all.events += judged.events;
        }
        all
    }

    fn fresh() -> LossEvents {
        LossEvents::new(&LossIntervalsConfig::default(), Counting::Events)
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut events = fresh();
        // 20, 25 and 29 lie within 100 ms of 20; 30 does not.
        let judged = feed(&mut events, 0..40, &[20, 25, 29, 30]);
        assert_eq!(judged, Judged { losses: 4, events: 2 });
        assert_eq!(events.history().len(), 1, "one interval, from 20 to 30");
        assert_eq!(events.mean_interval(), Some(10.0));
        assert_eq!(events.event_rate(), 0.1);
        assert_eq!(events.open(), 10.0, "30 to 39");
    }

    #[test]
    fn a_loss_is_one_after_three_later_arrivals() {
        let mut events = fresh();
        feed(&mut events, 0..11, &[10]);
        for (number, expected) in [(11, 0), (12, 0), (13, 1)] {
            let judged = events.on_arrival(at(10 * number), number, false, true, RTT);
            assert_eq!(judged.losses, expected, "at {number}");
        }
        // What comes late but in time is none, and the other half of its hole still is.
        let mut events = fresh();
        feed(&mut events, 0..13, &[10, 11]);
        events.on_arrival(at(125), 10, false, true, RTT);
        let judged = feed(&mut events, 13..20, &[]);
        assert_eq!(judged, Judged { losses: 1, events: 1 });
    }

    #[test]
    fn copies_are_no_later_arrivals() {
        let mut events = fresh();
        feed(&mut events, 0..12, &[10]);
        for _ in 0..5 {
            assert_eq!(events.on_arrival(at(115), 11, false, false, RTT), Judged::default());
        }
    }

    #[test]
    fn a_long_hole_holds_an_event_per_round_trip() {
        let mut events = fresh();
        // 450 ms are missing: events at its start and every 100 ms after.
        let lost: Vec<u64> = (20..65).collect();
        let judged = feed(&mut events, 0..70, &lost);
        assert_eq!(judged, Judged { losses: 45, events: 5 });
        assert_eq!(events.mean_interval(), Some(10.0));
    }

    #[test]
    fn marks_count_at_once() {
        let mut events = fresh();
        feed(&mut events, 0..10, &[]);
        let judged = events.on_arrival(at(100), 10, true, true, RTT);
        assert_eq!(judged, Judged { losses: 1, events: 1 });
        let judged = events.on_arrival(at(110), 11, true, true, RTT);
        assert_eq!(judged, Judged { losses: 1, events: 0 });
    }

    #[test]
    fn short_intervals_may_be_counted_by_their_losses() {
        let counting = Counting::ShortIntervalsByLosses;
        let mut events = LossEvents::new(&LossIntervalsConfig::default(), counting);
        // Events at 20 and 35, 150 ms apart: a short interval of 15 packets with 3 losses. RFC 4828 §4.4.
        feed(&mut events, 0..120, &[20, 22, 24, 35]);
        assert_eq!(events.history().mean(0.0), Some(5.0));
        // Events 400 ms apart are counted as ever.
        let mut events = LossEvents::new(&LossIntervalsConfig::default(), counting);
        feed(&mut events, 0..120, &[20, 22, 24, 60]);
        assert_eq!(events.history().mean(0.0), Some(40.0));
    }

    #[test]
    fn a_seed_stands_before_the_first_event() {
        let mut events = fresh();
        feed(&mut events, 0..30, &[20]);
        assert_eq!(events.mean_interval(), None);
        events.seed(50.0);
        assert_eq!(events.event_rate(), 0.02);
        feed(&mut events, 30..60, &[50]);
        assert_eq!(events.mean_interval(), Some(40.0), "50 and 30");
    }

    #[test]
    fn absurd_numbers_end_soon() {
        let mut events = fresh();
        feed(&mut events, 0..10, &[]);
        for (step, number) in
            [1 << 40, u64::MAX - 5, 3, u64::MAX, u64::MAX - 1, u64::MAX - 2].into_iter().enumerate()
        {
            events.on_arrival(at(200 + step as u64), number, true, true, RTT);
        }
        let rate = events.event_rate();
        assert!((0.0..=1.0).contains(&rate), "{rate}");
    }

    proptest! {
        /// In any order and with any marks: a rate from 0 to 1, and no loss counted that came.
        #[test]
        fn rates_are_rates(arrivals in prop::collection::vec((0..300_u64, 0..50_u64, prop::bool::weighted(0.05)), 1..400)) {
            let mut events = fresh();
            let (mut now, mut seen) = (0, std::collections::BTreeSet::new());
            for (number, pause, marked) in arrivals {
                now += pause;
                events.on_arrival(at(now), number, marked, seen.insert(number), RTT);
                let rate = events.event_rate();
                prop_assert!((0.0..=1.0).contains(&rate));
                let highest = seen.last().copied().unwrap_or(0);
                prop_assert!(events.lost() <= highest);
            }
        }

        /// Under independent loss at even spacing the mean interval is that of the events: losses 1/p apart on average, of which
        /// those within a round trip merge, so 1/p plus what a round trip holds beyond the first.
        #[test]
        fn independent_loss_gives_its_event_rate(seed in 0..20_u64) {
            let mut rng = tailback_core::Stream::new(seed, "loss");
            let config = LossIntervalsConfig { intervals: 64, discounting: false };
            let mut events = LossEvents::new(&config, Counting::Events);
            let (p, mut sum) = (0.05, 0.0);
            for number in 0..40_000 {
                if !rng.chance(p) {
                    events.on_arrival(at(10 * number), number, false, true, RTT);
                    sum += events.event_rate();
                }
            }
            // After an event, 9 more packets belong to it; then a geometric wait of 1/p.
            let expected = 1.0 / (9.0 + 1.0 / p);
            let measured = sum / (40_000.0 * (1.0 - p));
            prop_assert!((measured / expected - 1.0).abs() < 0.1, "{measured} for {expected}");
        }
    }
}
