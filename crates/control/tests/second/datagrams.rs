//! A connection of datagrams in miniature, for schemes that direct a rate and live on their receiver's reports: a sender that
//! keeps to the rate, an application that has much, little or nothing, a path that delays, loses, marks and reorders at random,
//! and falls silent, in both directions. What is asked of two writings of both halves lives here; no scheme does.

use std::collections::HashSet;

use tailback_control::{AnyController, BoxedPolicy};
use tailback_core::{
    Annex, Arrival, Bytes, ControlInfo, Controller, Cx, Ecn, Envelope, Feedback, FlowId, Kind, Packet,
    PairPosition, Report, RttSample, Sent, Span, Stream, Time,
};

use super::trace::{self, words};
use super::{after, seconds, within};

pub(crate) const SIZE: u64 = 1000;

/// What may happen to a connection; chances are per packet, times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) loss: f64,
    /// How likely the next packet is lost after a lost one.
    pub(crate) burst: f64,
    pub(crate) mark: f64,
    pub(crate) report_loss: f64,
    /// A packet is held up, so that some pass it.
    pub(crate) late: f64,
    /// Nothing arrives for some time, either way.
    pub(crate) outage: f64,
    /// The application has less than the rate allows for some time, or nothing.
    pub(crate) limited: f64,
    pub(crate) idle: f64,
    /// The path's rate in bytes per second, what it holds at most, and the round trip without a queue.
    pub(crate) capacity: f64,
    pub(crate) queue: f64,
    pub(crate) base: f64,
}

impl Path {
    pub(crate) const CALM: Self = Self {
        loss: 0.0,
        burst: 0.0,
        mark: 0.0,
        report_loss: 0.0,
        late: 0.0,
        outage: 0.0,
        limited: 0.0,
        idle: 0.0,
        capacity: 250_000.0,
        queue: 0.1,
        base: 0.05,
    };
    pub(crate) const ROUGH: Self = Self {
        loss: 0.01,
        burst: 0.3,
        mark: 0.0,
        report_loss: 0.03,
        late: 0.01,
        outage: 0.0005,
        limited: 0.002,
        idle: 0.0005,
        ..Self::CALM
    };
}

/// A packet of data as the receiver's half hears of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    pub(crate) number: u64,
    pub(crate) marked: bool,
    /// The sender's round trip time, where it knew one.
    pub(crate) rtt: Option<f64>,
}

/// A second writing of a sender's half. Rates in bits per second, times in seconds.
pub(crate) trait SecondSender {
    fn sent(&mut self, now: f64, sent: &Sent);
    fn heard(&mut self, now: f64, feedback: &Feedback<'_>);
    fn timer(&mut self, _now: f64) {}
    fn due(&self) -> Option<f64> {
        None
    }
    fn rate(&self) -> Option<f64>;
    fn state(&self) -> String;
}

/// A second writing of a receiver's half.
pub(crate) trait SecondReceiver {
    fn came(&mut self, now: f64, came: Came);
    /// Checks what the first writing reports now, or that it reports nothing.
    fn agrees(&mut self, now: f64, reported: Option<&Report>) -> Result<(), String>;
    fn state(&self) -> String;
}

/// What is on its way.
enum Under {
    Data { number: u64, sent_at: Time, marked: bool, rtt: Option<Span> },
    Report(Box<Envelope>),
}

/// How the application offers data.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Offers {
    Always,
    /// A packet each so many seconds.
    Every(f64),
    Never,
}

pub(crate) struct Datagrams<S, R> {
    ours: AnyController,
    policy: BoxedPolicy,
    sender: S,
    receiver: R,
    path: Path,
    now: Time,
    rng: Stream,
    draws: Stream,
    next: u64,
    /// When the last packet left, and when those before the next are through the queue.
    left: Time,
    through: Time,
    offers: Offers,
    offers_until: Time,
    silent_until: Time,
    lost_last: bool,
    /// The application had nothing yet when the sender was ready: it timed the first packet.
    starts_late: bool,
    under: Vec<(Time, Under)>,
    /// The packet with the highest number that arrived: number, when it left, when it came.
    newest: Option<(u64, Time, Time)>,
    arrived: HashSet<u64>,
    smoothed: Option<Span>,
    least: Span,
    trace: Vec<String>,
}

impl<S: SecondSender, R: SecondReceiver> Datagrams<S, R> {
    pub(crate) fn new(
        (ours, policy): (AnyController, BoxedPolicy),
        (sender, receiver): (S, R),
        path: Path,
        seed: u64,
    ) -> Self {
        let now = Time::from_nanos(1_000_000_000);
        Self {
            ours,
            policy,
            sender,
            receiver,
            path,
            now,
            rng: Stream::new(seed, "path"),
            draws: Stream::new(seed, "controller"),
            next: 0,
            left: now,
            through: now,
            offers: Offers::Always,
            offers_until: now,
            silent_until: now,
            lost_last: false,
            starts_late: seed % 2 == 1,
            under: Vec::new(),
            newest: None,
            arrived: HashSet::new(),
            smoothed: None,
            least: Span::MAX,
            trace: Vec::new(),
        }
    }

    fn chance(&mut self, of: f64) -> bool {
        of > 0.0 && self.rng.uniform() < of
    }

    /// So many happenings; both agree after each, or the test fails with what went before.
    pub(crate) fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
    }

    /// When the next packet leaves, and whether the application, not the rate or the window, says so.
    fn next_departure(&self) -> (Time, bool) {
        let directive = self.ours.directive();
        let rate = directive.rate.map_or(1e9, |rate| rate.bits_per_sec() as f64);
        if self.next == 0 {
            return (self.now, self.starts_late);
        }
        let allowed = self.left + Span::from_secs_f64((SIZE as f64 * 8.0 / rate.max(1e-3)).min(1e6));
        let offered = match self.offers {
            Offers::Always => self.left,
            Offers::Every(gap) => self.left + Span::from_secs_f64(gap),
            Offers::Never => self.offers_until,
        };
        (allowed.max(offered).max(self.now), offered > allowed)
    }

    fn step(&mut self) {
        let (departure, by_application) = self.next_departure();
        let arrival = (0..self.under.len()).min_by_key(|index| self.under[*index].0);
        let due = arrival.map_or(Time::NEVER, |index| self.under[index].0);
        let timer = self.ours.next_timer().unwrap_or(Time::NEVER).max(self.now);
        let report = self.policy.next_timer().unwrap_or(Time::NEVER).max(self.now);
        let next = departure.min(due).min(timer).min(report);
        self.now = next;
        if next == report {
            self.poll("report's timer");
        } else if next == timer {
            self.ours.on_timer(self.now, &mut Cx { rng: &mut self.draws, notes: None });
            self.sender.timer(seconds(self.now));
            self.compare("sender's timer");
        } else if next == due {
            let (_, under) = self.under.swap_remove(arrival.expect("due"));
            match under {
                Under::Data { number, sent_at, marked, rtt } => self.come(number, sent_at, marked, rtt),
                Under::Report(envelope) => self.hear(&envelope),
            }
        } else {
            self.send(by_application);
        }
    }

    fn send(&mut self, by_application: bool) {
        let size = Bytes::new(SIZE);
        let mut sent = Sent {
            number: self.next,
            size,
            in_flight: size,
            retransmission: false,
            pair: PairPosition::Single,
            app_limited: by_application,
            tag: 0,
        };
        self.sender.sent(seconds(self.now), &sent);
        self.ours.on_sent(self.now, &mut sent, &mut Cx { rng: &mut self.draws, notes: None });
        self.compare(&words!(
            "sent {}{}",
            self.next,
            if by_application { " by the application" } else { "" }
        ));
        self.travel();
        self.left = self.now;
        self.next += 1;
        if self.now >= self.offers_until {
            self.offers = Offers::Always;
            if self.chance(self.path.limited) {
                self.offers = Offers::Every(0.002 + 0.2 * self.rng.uniform().powi(3));
                self.offers_until = within(self.now, &mut self.rng, (0.1, 3.0), 1);
            } else if self.chance(self.path.idle) {
                self.offers = Offers::Never;
                self.offers_until = within(self.now, &mut self.rng, (0.1, 20.0), 2);
            }
        }
    }

    /// The packet that leaves now passes the path, or does not.
    fn travel(&mut self) {
        if self.chance(self.path.outage) {
            // Up to eighty round trips.
            self.silent_until = within(self.now, &mut self.rng, (0.1, 8.0), 3);
        }
        let loss = if self.lost_last { self.path.burst } else { self.path.loss };
        let begins = self.through.max(self.now);
        let full = begins.since(self.now) > Span::from_secs_f64(self.path.queue);
        self.lost_last = self.chance(loss) && self.next > 4;
        if full || self.lost_last || self.now < self.silent_until {
            return;
        }
        self.through = begins + Span::from_secs_f64(SIZE as f64 / self.path.capacity);
        let mut arrives = self.through + Span::from_secs_f64(self.path.base / 2.0);
        if self.chance(self.path.late) {
            arrives += Span::from_secs_f64(0.02 * self.rng.uniform());
        }
        let waits = begins.since(self.now).as_secs_f64();
        let marked = self.chance(self.path.mark) || (self.path.mark > 0.0 && waits > 0.5 * self.path.queue);
        let (number, sent_at, rtt) = (self.next, self.now, self.smoothed);
        self.under.push((arrives, Under::Data { number, sent_at, marked, rtt }));
    }

    fn come(&mut self, number: u64, sent_at: Time, marked: bool, rtt: Option<Span>) {
        let mut packet = Packet::new(Kind::Data, FlowId(0), number, Bytes::new(SIZE));
        packet.set_ecn(if marked { Ecn::Ce } else { Ecn::Ect0 });
        let annex = Annex::Control(ControlInfo {
            packets_sent: number + 1,
            bytes_sent: Bytes::new((number + 1) * SIZE),
            in_flight: Bytes::new(SIZE),
            sent_at,
            rtt,
            ..ControlInfo::default()
        });
        let is_new = self.arrived.insert(number);
        let arrival = Arrival { packet: &packet, annex: Some(&annex), is_new };
        self.policy.on_arrival(self.now, &arrival, &mut Cx { rng: &mut self.draws, notes: None });
        let came = Came { number, marked, rtt: rtt.map(Span::as_secs_f64) };
        self.receiver.came(seconds(self.now), came);
        if self.newest.is_none_or(|(newest, ..)| number > newest) {
            self.newest = Some((number, sent_at, self.now));
        }
        self.poll(&words!("arrived {number}{}", if marked { " marked" } else { "" }));
    }

    fn poll(&mut self, what: &str) {
        let outgoing = self.policy.poll_report(self.now, &mut Cx { rng: &mut self.draws, notes: None });
        let reported = outgoing.as_ref().map(|outgoing| &outgoing.report);
        let verdict = self.receiver.agrees(seconds(self.now), reported);
        self.note(&words!("{what}: {reported:?} | {}", self.receiver.state()));
        if let Err(expected) = verdict {
            self.fail(&format!("reported {reported:?}, expected {expected}"));
        }
        let Some(outgoing) = outgoing else { return };
        let more = self.policy.poll_report(self.now, &mut Cx { rng: &mut self.draws, notes: None });
        assert!(more.is_none(), "two reports at once");
        if self.chance(self.path.report_loss) || self.now < self.silent_until {
            return;
        }
        let envelope = Envelope {
            echo: self.newest.map(|(_, sent_at, _)| sent_at),
            held: self.newest.map_or(Span::ZERO, |(.., came)| self.now.since(came)),
            arrived_bytes: Bytes::new(self.arrived.len() as u64 * SIZE),
            arrived_packets: self.arrived.len() as u64,
            report: outgoing.report,
        };
        let arrives = after(self.now, self.path.base / 2.0);
        self.under.push((arrives, Under::Report(Box::new(envelope))));
    }

    fn hear(&mut self, envelope: &Envelope) {
        let rtt = envelope.round_trip(self.now).map(|latest| {
            self.least = self.least.min(latest);
            let smoothed = self.smoothed.map_or(latest, |old| (old * 7 + latest) / 8);
            self.smoothed = Some(smoothed);
            RttSample { latest, smoothed, min: self.least }
        });
        let feedback = Feedback { rtt, report: Some(envelope), ..Feedback::empty() };
        self.sender.heard(seconds(self.now), &feedback);
        self.ours.on_feedback(self.now, &feedback, &mut Cx { rng: &mut self.draws, notes: None });
        self.compare(&words!("heard {:?}", envelope.report));
    }

    fn note(&mut self, what: &str) {
        self.trace.push(words!("{:.6} {what}", seconds(self.now)));
    }

    fn fail(&self, why: &str) -> ! {
        let from = self.trace.len().saturating_sub(40);
        panic!("{why}\nafter {} happenings:\n{}", self.trace.len(), trace::last(&self.trace[from..]))
    }

    fn compare(&mut self, what: &str) {
        let near = |ours: Option<f64>, theirs: Option<f64>, floor: f64| match (ours, theirs) {
            (Some(ours), Some(theirs)) => (ours - theirs).abs() <= floor + 1e-5 * theirs.abs(),
            (ours, theirs) => ours.is_none() == theirs.is_none(),
        };
        let directive = self.ours.directive();
        let rate = directive.rate.map(|rate| rate.bits_per_sec() as f64);
        let due = self.ours.next_timer().map(seconds);
        self.note(&words!(
            "{what} | ours {rate:?} second {:?} due {due:?}, {:?} | {}",
            self.sender.rate(),
            self.sender.due(),
            self.sender.state()
        ));
        for (name, ours, theirs, floor) in
            [("rate", rate, self.sender.rate(), 8.0), ("timer", due, self.sender.due(), 1e-6)]
        {
            if !near(ours, theirs, floor) {
                self.fail(&format!("{name} {ours:?}, second {theirs:?}"));
            }
        }
    }
}
