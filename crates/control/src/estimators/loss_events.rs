//! Which packets of a numbered sequence are lost, and which losses are one loss event, as RFC 5348 §5.1 to §5.3 finds it
//! at the receiver; with the history of intervals it gives the loss event rate. Short intervals may be counted by
//! their losses (RFC 4828 §4.4). What follows from the rate is a scheme's business.
//!
//! A packet is lost when three with higher numbers have come (or when a router marked it: then at once). A loss's time is
//! interpolated between the arrivals around it, and it begins a new event if it comes a round trip time or more after
//! the first loss of the last event.
//!
//! Numbers that are missing in a row would have come at equal gaps, so the events among them are equally many packets apart, and
//! a row as long as it likes costs `2n` of them, n the intervals that are kept (`LossEvents::judge`).
//!
//! Deviation: where packets overtake each other, a loss's time is taken from the highest number that came before, not from the
//! last arrival. Times are cut to whole nanoseconds.

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
    /// The time that its numbers lie apart, as a fraction: nanoseconds, and gaps that they are for.
    fn spacing(&self) -> (u128, u128) {
        let ((from, t0), (to, t1)) = (self.before, self.after);
        (u128::from(t1.since(t0).as_nanos()), u128::from(to - from))
    }

    /// When a packet of the hole would have come.
    fn time_of(&self, number: u64) -> Time {
        let ((from, t0), (nanos, gaps)) = (self.before, self.spacing());
        let late = nanos * u128::from(number - from) / gaps;
        t0 + Span::from_nanos(late.try_into().unwrap_or(u64::MAX))
    }

    /// How many numbers on a packet would have come so much later or more.
    fn numbers_in(&self, span: Span) -> u64 {
        let (nanos, gaps) = self.spacing();
        match (u128::from(span.as_nanos()) * gaps, nanos) {
            (0, _) => 0,
            (_, 0) => u64::MAX,
            (wanted, nanos) => wanted.div_ceil(nanos).try_into().unwrap_or(u64::MAX),
        }
    }

    /// The first of its numbers whose time is `due` or later; its end if none is.
    fn first_at(&self, due: Time) -> u64 {
        let (n0, t0) = self.before;
        n0.saturating_add(self.numbers_in(due.since(t0))).clamp(self.start, self.end)
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
    ///
    /// The second and every later one begins the same number of packets after the one before. Once 2n intervals of one length
    /// have closed, further ones change nothing: n fill the history, after which none is longer than twice the mean, and
    /// n more push out those that were discounted. So of a long hole the last 2n intervals are closed, and the rest are only
    /// counted.
    fn judge(&mut self, hole: &Hole, judged: &mut Judged) {
        let losses = hole.end - hole.start;
        judged.losses += losses;
        self.lost += losses;
        let first = self.event_end().map_or(hole.start, |due| hole.first_at(due));
        if let Some(event) = &mut self.event {
            event.losses += first - hole.start;
        }
        if first == hole.end {
            return;
        }
        self.begin(first, hole.time_of(first), judged);
        let apart = hole.numbers_in(self.round_trip).max(1);
        let more = (hole.end - 1 - first) / apart;
        let closed = more.min(2 * self.history.capacity() as u64);
        let skipped = more - closed;
        judged.events = judged.events.saturating_add(skipped.try_into().unwrap_or(u32::MAX));
        let mut begins = first + skipped * apart;
        self.event = Some(Event { first: begins, at: hole.time_of(begins), losses: apart });
        for _ in 0..closed {
            begins += apart;
            self.begin(begins, hole.time_of(begins), judged);
            self.event = self.event.map(|event| Event { losses: apart, ..event });
        }
        self.event = self.event.map(|event| Event { losses: hole.end - begins, ..event });
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
        judged.events = judged.events.saturating_add(1);
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
#[path = "loss_events_tests.rs"]
mod tests;
