//! A flow of media in miniature: a sender that keeps to the rate or sends less, in frames or evenly, a path that delays, loses,
//! marks and reorders at random, and a receiver whose reports tell of arrivals (RFC 8888), and whose clock is another. What is
//! asked of two writings of a scheme's law lives here; no scheme does. What may happen to it is in
//! `path`, what its sender remembers in `records`.

mod path;
mod records;

use std::collections::{BTreeMap, VecDeque};

use tailback_control::{AnyController, Scheme};
use tailback_core::{
    ArrivalWord, BitRate, Bytes, Controller, Cx, Ecn, Envelope, Feedback, PairPosition, ProbePlan, Report,
    Sent, Span, Stream, Time, report_stamp,
};

use super::trace::{self, words};
use super::wire::params;
use super::{after, seconds, within};
pub(crate) use path::Path;
use records::Records;
pub(crate) use records::{Came, News};

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaves {
    pub(crate) number: u64,
    pub(crate) size: f64,
}

/// What leaves beside data: bits per second and bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Beside {
    Cluster { rate: f64, bytes: f64 },
    Padding,
}

/// Bits per second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Directs {
    pub(crate) rate: f64,
    pub(crate) media: Option<f64>,
    pub(crate) beside: Option<Beside>,
}

/// A second writing of a scheme's law. Times in seconds.
pub(crate) trait SecondLaw {
    fn sent(&mut self, _now: f64, _packet: &Leaves) {}
    fn heard(&mut self, now: f64, news: &News);
    fn directs(&self) -> Directs;
    /// What the first writing was to publish at the last report, where that is compared.
    fn published(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
    fn state(&self) -> String;
}

/// How the application offers data.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Offers {
    Always,
    /// This part of the rate.
    Part(f64),
    Never,
}

pub(crate) struct Flow<S> {
    ours: AnyController,
    second: S,
    path: Path,
    now: Time,
    rng: Stream,
    draws: Stream,
    records: Records,
    /// When the next packet leaves, how many more of its frame, and when those before it are through the queue.
    departs: Time,
    of_frame: u64,
    through: Time,
    offers: Offers,
    offers_until: Time,
    silent_until: Time,
    lost_last: bool,
    /// By how much the path is longer now, and what it carries.
    longer: f64,
    capacity: f64,
    /// The cluster that leaves: its identity, and how much of it has not left.
    cluster: (Option<u64>, f64),
    /// On their way, by arrival: number, whether marked.
    under: VecDeque<(Time, u64, bool)>,
    /// What the receiver knows: when each came by its clock.
    known: BTreeMap<u64, (Time, bool)>,
    untold: u64,
    reports_at: Time,
    /// Reports on their way.
    back: VecDeque<(Time, Envelope)>,
    heard: u32,
    trace: VecDeque<String>,
}

impl<S: SecondLaw> Flow<S> {
    pub(crate) fn new(config: serde_json::Value, second: S, path: Path, seed: u64) -> Self {
        let scheme = serde_json::from_value::<Scheme>(config).expect("registered");
        let now = Time::from_nanos(1_000_000_000_000);
        Self {
            ours: scheme.build(&params(2, None)).controller,
            second,
            path,
            now,
            rng: Stream::new(seed, "flow"),
            draws: Stream::new(seed, "controller"),
            records: Records::default(),
            departs: now,
            of_frame: 0,
            through: now,
            offers: Offers::Always,
            offers_until: now,
            silent_until: now,
            lost_last: false,
            longer: 0.0,
            capacity: path.capacity,
            cluster: (None, 0.0),
            under: VecDeque::new(),
            known: BTreeMap::new(),
            untold: 0,
            reports_at: now + Span::from_millis(50),
            back: VecDeque::new(),
            heard: 0,
            trace: VecDeque::new(),
        }
    }

    /// Until so many reports have arrived; both agree after each and after each packet, or the test fails with what went before.
    pub(crate) fn run(&mut self, reports: u32) {
        let mut steps = 0;
        while self.heard < reports && steps < 100 * reports {
            self.step();
            steps += 1;
        }
    }

    fn step(&mut self) {
        let report = self.back.front().map_or(Time::NEVER, |(at, _)| *at);
        // In whole microseconds, which is how GCC counts.
        self.departs = Time::from_nanos(self.departs.as_nanos().next_multiple_of(1000));
        let next = self.departs.min(self.reports_at).min(report);
        self.now = self.now.max(next);
        if next == self.reports_at {
            self.report();
        } else if next == report {
            let (_, envelope) = self.back.pop_front().expect("due");
            self.hear(&envelope);
        } else {
            self.send();
        }
    }

    fn send(&mut self) {
        if self.now >= self.offers_until {
            self.offer();
        }
        let small = self.path.mixed && self.rng.chance(0.25);
        let size = if small { 100 } else { self.path.size };
        let number = self.records.packets.len() as u64;
        self.records.packets.push((size, self.now, false));
        let ahead = self.records.bytes(self.records.beyond, self.records.packets.len());
        let mut sent = Sent {
            number,
            size: Bytes::new(size),
            in_flight: Bytes::new(ahead as u64),
            retransmission: false,
            pair: PairPosition::Single,
            app_limited: false,
            tag: 0,
        };
        self.second.sent(seconds(self.now), &Leaves { number, size: size as f64 });
        self.ours.on_sent(self.now, &mut sent, &mut Cx { rng: &mut self.draws, notes: None });
        self.compare(&words!("sent {number}"));
        self.travel(number, size as f64);
        self.depart(size as f64);
    }

    fn offer(&mut self) {
        self.offers = Offers::Always;
        if self.rng.chance(self.path.limited) {
            self.offers = Offers::Part(0.02 + 0.9 * self.rng.uniform());
            self.offers_until = within(self.now, &mut self.rng, (0.1, 9.0), 1);
        } else if self.rng.chance(self.path.idle) {
            self.offers = Offers::Never;
            self.offers_until = within(self.now, &mut self.rng, (0.1, 6.0), 2);
        }
    }

    /// When the next packet leaves.
    fn depart(&mut self, size: f64) {
        let directive = self.ours.directive();
        let bits = |rate: Option<BitRate>| rate.map_or(1e7, |rate| rate.bits_per_sec() as f64);
        if let Some(ProbePlan::Cluster { id, rate, bytes }) = directive.probe {
            if self.cluster.0 == Some(id) {
                self.cluster.1 -= size;
            } else {
                self.cluster = (Some(id), bytes.as_f64());
            }
            if self.cluster.1 > 0.0 {
                self.departs = after(self.now, 8.0 * size / bits(Some(rate)));
                return;
            }
        }
        if self.of_frame > 0 {
            self.of_frame -= 1;
            self.departs = after(self.now, 2e-4);
            return;
        }
        self.of_frame = self.path.frame - 1;
        let rate = bits(directive.media.or(directive.rate));
        let gap = self.path.frame as f64 * 8.0 * self.path.size as f64 / rate;
        self.departs = match self.offers {
            _ if directive.probe == Some(ProbePlan::Padding) => after(self.now, gap),
            Offers::Always => after(self.now, gap),
            Offers::Part(part) => after(self.now, gap / part),
            Offers::Never => self.offers_until,
        };
    }

    /// The packet that leaves now passes the path, or does not.
    fn travel(&mut self, number: u64, size: f64) {
        if self.rng.chance(self.path.outage) {
            self.silent_until = within(self.now, &mut self.rng, (0.05, 1.5), 2);
        }
        if self.rng.chance(self.path.step) {
            self.longer = 0.15 * self.rng.uniform();
        }
        if self.path.change > 0.0 && self.rng.chance(self.path.change) {
            let drawn = 2.0 * self.rng.uniform() - 1.0;
            self.capacity = self.path.capacity * self.path.wander.powf(drawn);
        }
        let loss = if self.lost_last { self.path.burst.max(self.path.loss) } else { self.path.loss };
        let begins = self.through.max(self.now);
        let waits = begins.since(self.now).as_secs_f64();
        self.lost_last = self.rng.chance(loss);
        if waits > self.path.queue || self.lost_last || self.now < self.silent_until {
            return;
        }
        self.through = begins + Span::from_secs_f64(size / self.capacity);
        let mut arrives = self.through + Span::from_secs_f64(self.path.base / 2.0 + self.longer);
        if self.rng.chance(self.path.late) {
            arrives += Span::from_secs_f64(0.03 * self.rng.uniform());
        }
        let marked = self.rng.chance(self.path.mark) || waits > self.path.threshold;
        let place = self.under.iter().rposition(|(at, ..)| *at <= arrives).map_or(0, |index| index + 1);
        self.under.insert(place, (arrives, number, marked));
    }

    /// The receiver's clock.
    fn there(&self, at: Time) -> Time {
        Time::from_secs_f64(seconds(at) * (1.0 + self.path.drift) + self.path.ahead)
    }

    fn report(&mut self) {
        while self.under.front().is_some_and(|(at, ..)| *at <= self.now) {
            let (at, number, marked) = self.under.pop_front().expect("there");
            self.known.insert(number, (self.there(at), marked));
        }
        let vary = 1.0 + self.path.jitter * (2.0 * self.rng.uniform() - 1.0);
        self.reports_at = after(self.now, self.path.interval * vary);
        let Some(newest) = self.known.last_key_value().map(|(number, _)| *number) else { return };
        let first = self.untold.saturating_sub(self.path.overlap);
        self.known.retain(|number, _| *number >= first);
        let told = newest + 1 > self.untold || self.path.overlap > 0;
        if !told || self.known.is_empty() {
            return;
        }
        let left = report_stamp(self.there(self.now));
        let word = |number| {
            self.known.get(&number).map_or(ArrivalWord::MISSING, |(at, marked)| {
                ArrivalWord::received(left.since(*at), if *marked { Ecn::Ce } else { Ecn::Ect0 })
            })
        };
        let words = (first..=newest).map(word).collect();
        self.untold = newest + 1;
        let lost = self.rng.chance(self.path.report_loss) || self.now < self.silent_until;
        if !lost {
            let envelope = Envelope::bare(Report::Arrivals { first, left, words });
            let mut arrives = after(self.now, self.path.base / 2.0);
            if self.path.held > 0.0 && self.rng.chance(self.path.held) {
                arrives += Span::from_secs_f64(self.path.held_by * self.rng.uniform());
            }
            arrives = self.back.back().map_or(arrives, |(last, _)| arrives.max(*last));
            self.back.push_back((arrives, envelope));
        }
    }

    fn hear(&mut self, envelope: &Envelope) {
        let Report::Arrivals { first, left, words } = &envelope.report else { panic!("of another kind") };
        let news = self.records.report(self.now, *first, *left, words);
        if !news.came.is_empty() {
            self.second.heard(seconds(self.now), &news);
        }
        let feedback = Feedback { report: Some(envelope), ..Feedback::empty() };
        let mut published = Vec::new();
        let cx = &mut Cx { rng: &mut self.draws, notes: Some(&mut published) };
        self.ours.on_feedback(self.now, &feedback, cx);
        self.heard += 1;
        let (came, lost) = (news.came.len(), news.lost.len());
        let what = words!("heard of {came}, lost {lost}, rtt {:.4}", news.round_trip);
        let line = words!("{:.6} {what} | {}", seconds(self.now), self.second.state());
        self.trace.push_back(line);
        if self.trace.len() > 30 {
            self.trace.pop_front();
        }
        self.compare(&what);
        let near = |(ours, theirs): (&(&str, f64), &(&str, f64))| {
            ours.0 == theirs.0 && (ours.1 - theirs.1).abs() <= 1e-7 + 1e-6 * theirs.1.abs()
        };
        let wanted = self.second.published();
        let some = !news.came.is_empty() && !wanted.is_empty();
        if some && !(published.len() == wanted.len() && published.iter().zip(&wanted).all(near)) {
            self.fail(&format!("{what}\nours {published:?}\nsecond {wanted:?}"));
        }
    }

    fn fail(&self, what: &str) -> ! {
        panic!(
            "{what}\n{}\n{:?} after {} reports:\n{}",
            self.second.state(),
            self.path,
            self.heard,
            trace::last(&self.trace)
        );
    }

    fn compare(&mut self, what: &str) {
        let directive = self.ours.directive();
        let bits = |rate: BitRate| rate.bits_per_sec() as f64;
        let beside = directive.probe.map(|plan| match plan {
            ProbePlan::Cluster { rate, bytes, .. } => {
                Beside::Cluster { rate: bits(rate), bytes: bytes.as_f64() }
            }
            ProbePlan::Padding => Beside::Padding,
            _ => panic!("no plan of media"),
        });
        let ours =
            Directs { rate: bits(directive.rate.expect("a rate")), media: directive.media.map(bits), beside };
        let second = self.second.directs();
        let near = |ours: f64, theirs: f64| (ours - theirs).abs() <= 2.0 + 1e-6 * theirs.abs();
        let pace = near(ours.rate, second.rate);
        let media = match (ours.media, second.media) {
            (Some(ours), Some(theirs)) => near(ours, theirs),
            (ours, theirs) => ours.is_none() == theirs.is_none(),
        };
        let beside = match (ours.beside, second.beside) {
            (Some(Beside::Cluster { rate, bytes }), Some(Beside::Cluster { rate: rated, bytes: size })) => {
                near(rate, rated) && near(bytes, size)
            }
            (ours, theirs) => ours == theirs,
        };
        if !(pace && media && beside) {
            self.fail(&format!("{what}\nours {ours:?}\nsecond {second:?}"));
        }
    }
}
