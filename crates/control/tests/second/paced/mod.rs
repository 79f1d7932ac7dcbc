//! A stream in miniature whose sender keeps to a rate: an application that has much, little or nothing, a path that queues,
//! delays, loses and reorders and whose rate wanders, acknowledgements of each packet that may come together, retransmissions
//! that may be lost too, and time-outs, needless ones among them. What is asked of two writings of one scheme lives here; no
//! scheme does. What may happen to it is in `path`.

mod path;

use std::collections::{BTreeSet, VecDeque};

use tailback_control::AnyController;
use tailback_core::{
    Acked, Bytes, CongestionEvent, Controller, Cx, Feedback, Lost, PairPosition, Recovery, RttSample, Sent,
    Span, Stream, Time,
};

use super::trace::{self, words};
use super::wire::SEGMENT;
use super::{Second, after, agree, seconds, within};
pub(crate) use path::Path;

/// A second writing with a timer, and with state to show.
pub(crate) trait SecondTimed: Second {
    fn timer(&mut self, now: f64);
    fn due(&self) -> Option<f64>;
    /// What was to be published since this was asked last.
    fn published(&mut self) -> Vec<(&'static str, f64)>;
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    UnderWay,
    Lost,
    Arrived,
}

/// A packet, as it left last.
#[derive(Clone, Copy, Debug)]
struct Record {
    left: Time,
    /// Which departure that was, and how many of this packet there were.
    order: u64,
    copies: u32,
    tag: u32,
    state: State,
}

/// How the application offers data.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Offers {
    Always,
    /// A packet each so many seconds.
    Every(f64),
    Never,
}

pub(crate) struct Paced<S> {
    ours: AnyController,
    second: S,
    path: Path,
    now: Time,
    rng: Stream,
    draws: Stream,
    records: Vec<Record>,
    /// The first that has not arrived; departures so far; what is to leave again.
    una: usize,
    under_way: usize,
    order: u64,
    again: BTreeSet<u64>,
    left: Time,
    through: Time,
    capacity: f64,
    offers: Offers,
    offers_until: Time,
    silent_until: Time,
    lost_last: bool,
    /// Packets whose acknowledgements are on their way.
    under: Vec<(Time, u64)>,
    smoothed: Option<Span>,
    least: Span,
    expires: Time,
    timeouts: u32,
    recovery: Recovery,
    recover: usize,
    published: Vec<(&'static str, f64)>,
    trace: VecDeque<String>,
}

impl<S: SecondTimed> Paced<S> {
    pub(crate) fn new(ours: AnyController, second: S, path: Path, seed: u64) -> Self {
        let now = Time::from_nanos(1_000_000_000);
        Self {
            ours,
            second,
            path,
            now,
            rng: Stream::new(seed, "paced"),
            draws: Stream::new(seed, "controller"),
            records: Vec::new(),
            una: 0,
            under_way: 0,
            order: 0,
            again: BTreeSet::new(),
            left: now,
            through: now,
            capacity: path.capacity,
            offers: Offers::Always,
            offers_until: now,
            silent_until: now,
            lost_last: false,
            under: Vec::new(),
            smoothed: None,
            least: Span::MAX,
            expires: Time::NEVER,
            timeouts: 0,
            recovery: Recovery::Open,
            recover: 0,
            published: Vec::new(),
            trace: VecDeque::new(),
        }
    }

    fn bytes(packets: usize) -> Bytes {
        Bytes::new(packets as u64 * SEGMENT)
    }

    /// A packet is under way, lost or there from now on.
    fn turn(&mut self, number: usize, state: State) {
        let of = |state| usize::from(state == State::UnderWay);
        self.under_way = self.under_way + of(state) - of(self.records[number].state);
        self.records[number].state = state;
    }

    /// So many happenings; both agree after each, or the test fails with what went before.
    pub(crate) fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
    }

    /// The path's rate becomes so many times what it was.
    pub(crate) fn widen(&mut self, by: f64) {
        self.capacity *= by;
    }

    /// When the next packet leaves, and whether the application, not the rate or the window, says so.
    fn next_departure(&self) -> (Time, bool) {
        let directive = self.ours.directive();
        let (window, under_way) = (directive.window.expect("a window"), self.under_way);
        if under_way > 0 && Self::bytes(under_way + 1) > window {
            return (Time::NEVER, false);
        }
        let rate = directive.rate.map_or(8e9, |rate| rate.bits_per_sec() as f64);
        let allowed = self.left + Span::from_secs_f64(8.0 * SEGMENT as f64 / rate);
        let offered = match self.offers {
            _ if !self.again.is_empty() => self.left,
            Offers::Always => self.left,
            Offers::Every(gap) => self.left + Span::from_secs_f64(gap),
            Offers::Never => self.offers_until,
        };
        (allowed.max(offered).max(self.now), offered > allowed)
    }

    fn step(&mut self) {
        let (departure, by_application) = self.next_departure();
        let arrival = self.under.iter().map(|(at, _)| *at).min().unwrap_or(Time::NEVER);
        let timer = self.ours.next_timer().unwrap_or(Time::NEVER).max(self.now);
        self.now = departure.min(arrival).min(timer).min(self.expires).max(self.now);
        if self.now == timer {
            let cx = &mut Cx { rng: &mut self.draws, notes: Some(&mut self.published) };
            self.ours.on_timer(self.now, cx);
            self.second.timer(seconds(self.now));
            self.compare("timer");
        } else if self.now == arrival {
            self.hear();
        } else if self.now == self.expires || (self.under_way > 0 && self.rng.chance(self.path.timeout)) {
            self.time_out();
        } else {
            self.send(by_application);
        }
    }

    fn send(&mut self, by_application: bool) {
        let repeats = self.una < self.records.len() && self.rng.chance(self.path.repeat);
        let (number, retransmission) = match self.again.pop_first() {
            Some(number) => (number, true),
            None if repeats && self.records[self.una].state == State::UnderWay => (self.una as u64, true),
            None => (self.records.len() as u64, false),
        };
        if !retransmission {
            let state = State::Lost;
            self.records.push(Record { left: self.now, order: 0, copies: 0, tag: 0, state });
        }
        self.turn(number as usize, State::UnderWay);
        let mut sent = Sent {
            number,
            size: Bytes::new(SEGMENT),
            in_flight: Self::bytes(self.under_way),
            retransmission,
            pair: PairPosition::Single,
            app_limited: by_application && !retransmission,
            tag: self.records[number as usize].tag,
        };
        self.second.sent(seconds(self.now), &sent);
        self.ours.on_sent(self.now, &mut sent, &mut Cx { rng: &mut self.draws, notes: None });
        let record = &mut self.records[number as usize];
        (record.left, record.order, record.tag) = (self.now, self.order, sent.tag);
        record.copies += 1;
        self.order += 1;
        self.left = self.now;
        if self.expires == Time::NEVER {
            self.restart();
        }
        let what = if by_application { " by the application" } else { "" };
        self.compare(&words!("sent {number}{what}"));
        self.travel(number);
        self.offer();
    }

    fn offer(&mut self) {
        if self.now < self.offers_until {
            return;
        }
        self.offers = Offers::Always;
        if self.rng.chance(self.path.limited) {
            self.offers = Offers::Every(self.path.base * (0.05 + 2.0 * self.rng.uniform().powi(2)));
            self.offers_until = within(self.now, &mut self.rng, (0.0, self.path.limited_lasts), 1);
        } else if self.rng.chance(self.path.idle) {
            self.offers = Offers::Never;
            self.offers_until = within(self.now, &mut self.rng, (0.01, 2.0), 3);
        }
    }

    /// The packet that leaves now passes the path, or does not.
    fn travel(&mut self, number: u64) {
        let path = self.path;
        if self.rng.chance(path.change) {
            self.capacity = path.capacity * path.wander.powf(2.0 * self.rng.uniform() - 1.0);
        }
        if self.rng.chance(path.outage) {
            self.silent_until = within(self.now, &mut self.rng, (0.0, path.outage_lasts), 1);
        }
        let loss = if self.lost_last { path.burst.max(path.loss) } else { path.loss };
        let begins = self.through.max(self.now);
        self.lost_last = self.rng.chance(loss);
        let silent = self.now < self.silent_until;
        let full = begins.since(self.now).as_secs_f64() > path.queue;
        if full || self.lost_last || (silent && !path.outage_holds) {
            return;
        }
        self.through = begins + Span::from_secs_f64(SEGMENT as f64 / self.capacity);
        let mut comes = self.through + Span::from_secs_f64(path.base);
        if silent {
            comes = comes.max(self.silent_until);
        }
        if self.rng.chance(path.late) {
            comes += Span::from_secs_f64(path.lateness * self.rng.uniform());
        }
        let bunch = Span::from_secs_f64(path.bunch).as_nanos().max(1);
        self.under.push((Time::from_nanos(comes.as_nanos().next_multiple_of(bunch)), number));
    }

    /// The retransmission timer starts anew.
    fn restart(&mut self) {
        let wait =
            self.smoothed.map_or(1.0, |smoothed| (self.path.patience * smoothed.as_secs_f64()).max(0.2));
        self.expires = if self.una == self.records.len() {
            Time::NEVER
        } else {
            after(self.now, wait * f64::from(1 << self.timeouts.min(6)))
        };
    }

    fn time_out(&mut self) {
        self.timeouts += 1;
        let outstanding = Self::bytes(self.records.len() - self.una);
        for number in self.una..self.records.len() {
            if self.records[number].state != State::Arrived {
                self.turn(number, State::Lost);
                self.again.insert(number as u64);
            }
        }
        (self.recovery, self.recover) = (Recovery::Timeout, self.records.len());
        self.restart();
        let event = Some(CongestionEvent::Timeout { consecutive: self.timeouts });
        self.tell("time-out", &Feedback { event, outstanding, ..Feedback::empty() });
    }

    /// All acknowledgements that come now, in one batch.
    fn hear(&mut self) {
        let mut came: Vec<u64> =
            self.under.iter().filter(|(at, _)| *at == self.now).map(|(_, number)| *number).collect();
        self.under.retain(|(at, _)| *at != self.now);
        came.sort_unstable();
        came.dedup();
        came.retain(|number| self.records[*number as usize].state != State::Arrived);
        if came.is_empty() {
            return;
        }
        let (size, pair) = (Bytes::new(SEGMENT), PairPosition::Single);
        let outstanding = Self::bytes(self.records.len() - self.una);
        let mut acked = Vec::new();
        for &number in &came {
            self.turn(number as usize, State::Arrived);
            self.again.remove(&number);
            let Record { left: sent_at, copies, tag, .. } = self.records[number as usize];
            acked.push(Acked { number, size, sent_at, retransmitted: copies > 1, pair, tag });
        }
        let rtt = self.round_trip(&acked);
        let lost = self.overtaken(&came);
        let before = self.una;
        while self.records.get(self.una).is_some_and(|record| record.state == State::Arrived) {
            self.una += 1;
        }
        let event = self.recover(!lost.is_empty());
        self.timeouts = 0;
        self.restart();
        let feedback = Feedback {
            acked: &acked,
            lost: &lost,
            advanced: Self::bytes(self.una - before),
            rtt,
            event,
            recovery: self.recovery,
            outstanding,
            ..Feedback::empty()
        };
        self.tell(&format!("arrived {came:?}"), &feedback);
    }

    fn round_trip(&mut self, acked: &[Acked]) -> Option<RttSample> {
        let newest = acked.iter().filter(|acked| !acked.retransmitted).map(|acked| acked.sent_at).max()?;
        let latest = self.now.since(newest);
        self.least = self.least.min(latest);
        let smoothed = self.smoothed.map_or(latest, |old| (old * 7 + latest) / 8);
        self.smoothed = Some(smoothed);
        Some(RttSample { latest, smoothed, min: self.least })
    }

    /// What left three departures before one that arrived is lost; it will leave again.
    fn overtaken(&mut self, came: &[u64]) -> Vec<Lost> {
        let surely = |record: &&Record| record.copies == 1 || record.left + self.least <= self.now;
        let newest = came.iter().map(|number| &self.records[*number as usize]).filter(surely);
        let Some(newest) = newest.map(|record| record.order).max() else { return Vec::new() };
        let mut lost = Vec::new();
        for number in self.una..self.records.len() {
            let record = self.records[number];
            if record.state == State::UnderWay && record.order + 3 <= newest {
                self.turn(number, State::Lost);
                let (number, size) = (number as u64, Bytes::new(SEGMENT));
                self.again.insert(number);
                lost.push(Lost { number, size, sent_at: record.left, tag: record.tag });
            }
        }
        lost
    }

    /// What loss recovery does after a batch, and what it says of that.
    fn recover(&mut self, lost: bool) -> Option<CongestionEvent> {
        if self.recovery == Recovery::Open {
            if lost {
                (self.recovery, self.recover) = (Recovery::Fast, self.records.len());
            }
            return lost.then_some(CongestionEvent::Loss);
        }
        let ended = self.una >= self.recover;
        if ended {
            self.recovery = Recovery::Open;
        }
        ended.then_some(CongestionEvent::RecoveryEnd)
    }

    fn tell(&mut self, what: &str, feedback: &Feedback<'_>) {
        let feedback = Feedback { in_flight: Self::bytes(self.under_way), ..*feedback };
        let cx = &mut Cx { rng: &mut self.draws, notes: Some(&mut self.published) };
        self.ours.on_feedback(self.now, &feedback, cx);
        self.second.heard(seconds(self.now), &feedback);
        let lost: Vec<u64> = feedback.lost.iter().map(|lost| lost.number).collect();
        self.compare(&words!("{what}, lost {lost:?}, {:?}", feedback.event));
    }

    fn compare(&mut self, what: &str) {
        let directive = self.ours.directive();
        let due = self.ours.next_timer().map(seconds);
        let ours = std::mem::take(&mut self.published);
        let theirs = self.second.published();
        self.trace.push_back(words!("{:.6} {what} | {ours:?} | {}", seconds(self.now), self.second.state()));
        if self.trace.len() > 40 {
            self.trace.pop_front();
        }
        let near = |ours: f64, theirs: f64, floor: f64| (ours - theirs).abs() <= floor + 1e-5 * theirs.abs();
        let timers = match (due, self.second.due()) {
            (Some(ours), Some(theirs)) => (ours - theirs).abs() < 1e-6,
            (ours, theirs) => ours.is_none() == theirs.is_none(),
        };
        let published = ours.len() == theirs.len()
            && ours.iter().zip(&theirs).all(|(a, b)| a.0 == b.0 && near(a.1, b.1, 1e-5));
        assert!(
            timers && published && agree(&directive, &self.second, SEGMENT as f64),
            "window {:?} rate {:?} due {due:?} {ours:?}\nsecond {} {:?} {:?} {theirs:?}\n{:?}\n{}",
            directive.window,
            directive.rate,
            self.second.window(),
            self.second.rate(),
            self.second.due(),
            self.path,
            trace::last(&self.trace)
        );
    }
}
