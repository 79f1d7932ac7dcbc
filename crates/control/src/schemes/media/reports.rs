//! The receiver of media: it reports which packets arrived when, as in RTP's congestion control feedback. What the sender
//! makes of it is in `estimators/arrivals.rs`.
//!
//! Source: RFC 8888 §3.1 (format, sizes, what is told of copies) and §5 (how often). Reports are packets like others: they
//! wait, and they can be lost. Each tells again of the newest packets that the one before told of (`overlap`), so that a lost
//! one costs nothing where that is long enough; without overlap a lost report looks like a burst of lost packets.

use std::collections::VecDeque;

use tailback_core::{
    Arrival, ArrivalWord, Bytes, Checker, Cx, Ecn, FeedbackPolicy, Kind, Lane, Outgoing, Report, Span, Time,
    report_stamp,
};

use crate::clock::Drift;

/// IPv4 and UDP, RTCP's head with the sender's source, one stream's head and the time stamp (RFC 8888 §3.1).
const HEAD: u64 = 28 + 8 + 8 + 4;
/// The most packets that one report tells of (RFC 8888 §3.1).
const MOST: usize = 16_384;

/// When reports leave and what they tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportPlan {
    /// The longest time between two reports while packets arrive.
    pub interval: Span,
    /// A report leaves at once after so many packets.
    pub after: Option<u32>,
    /// A report leaves at once after the last packet of a frame.
    pub after_frames: bool,
    /// How many packets of the last report are told of again.
    pub overlap: u64,
    /// How much faster than the sender's clock the receiver's runs.
    pub drift: Drift,
}

impl ReportPlan {
    /// Reports by time alone. `drift` is in parts in a million, as schemes are configured.
    pub fn every(interval: Span, overlap: u32, drift: f64) -> Self {
        let drift = Drift::parts_in_a_million(drift);
        Self { interval, after: None, after_frames: false, overlap: u64::from(overlap), drift }
    }

    /// Complains about a scheme's fields `report_interval`, `report_overlap` and `clock_drift`.
    pub fn check(checker: &mut Checker, interval: Span, overlap: u32, drift: f64) {
        let ok = interval >= Span::from_millis(10) && interval <= Span::from_secs(1);
        checker.require(ok, "report_interval", interval, "10 ms to 1 s");
        checker.require(overlap <= 10_000, "report_overlap", overlap, "at most 10000");
        Drift::check(checker, drift);
    }
}

/// The receiver's half.
#[derive(Clone, Debug)]
pub struct ArrivalReports {
    plan: ReportPlan,
    /// What is known of the packets from `first` on.
    known: VecDeque<Option<(Time, Ecn)>>,
    first: u64,
    /// The first number that no report has told of.
    untold: u64,
    fresh: u32,
    reported: Option<Time>,
    timer: Time,
    due: bool,
}

impl ArrivalReports {
    /// A connection's start.
    pub fn new(plan: ReportPlan) -> Self {
        Self {
            plan,
            known: VecDeque::new(),
            first: 0,
            untold: 0,
            fresh: 0,
            reported: None,
            timer: Time::NEVER,
            due: false,
        }
    }

    /// Makes room for a number; whether it has a place.
    fn reach(&mut self, number: u64) -> bool {
        if number < self.first || number == u64::MAX {
            return false;
        }
        let beyond = number - self.first;
        if beyond >= 2 * MOST as u64 {
            // Further than any loss: another stream of numbers begins.
            self.known.clear();
            (self.first, self.untold) = (number, number);
        }
        while (self.known.len() as u64) <= number - self.first {
            self.known.push_back(None);
        }
        while self.known.len() > MOST {
            self.known.pop_front();
            self.first += 1;
        }
        true
    }

    fn report(&mut self, now: Time) -> Outgoing {
        let begin = self.untold.saturating_sub(self.plan.overlap).max(self.first);
        while self.first < begin && self.known.pop_front().is_some() {
            self.first += 1;
        }
        let left = report_stamp(self.plan.drift.read(now));
        let words: Box<[ArrivalWord]> = self
            .known
            .iter()
            .map(|known| match known {
                Some((at, ecn)) => ArrivalWord::received(left.since(*at), *ecn),
                None => ArrivalWord::MISSING,
            })
            .collect();
        self.untold = self.first + self.known.len() as u64;
        (self.reported, self.timer, self.due, self.fresh) = (Some(now), Time::NEVER, false, 0);
        let size = Bytes::new(HEAD + 4 * (words.len() as u64).div_ceil(2));
        Outgoing { report: Report::Arrivals { first: self.first, left, words }, lane: Lane::IN_BAND, size }
    }
}

impl FeedbackPolicy for ArrivalReports {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        let packet = arrival.packet;
        // Padding has numbers as data has; other control packets bear a stamp, and are not told of.
        let is_padding = packet.kind() == Kind::Control && arrival.annex.is_none();
        if !(arrival.is_data() || is_padding) || !self.reach(packet.number) {
            return;
        }
        let clock = self.plan.drift.read(now);
        let index = (packet.number - self.first) as usize;
        let Some(place) = self.known.get_mut(index) else { return };
        match place {
            // Of a packet that came twice, the first arrival counts, and a mark on either (RFC 8888 §3.1).
            Some((_, ecn)) => {
                if packet.ecn() == Ecn::Ce {
                    *ecn = Ecn::Ce;
                }
                return;
            }
            None => *place = Some((clock, packet.ecn())),
        }
        // One that comes late is told of, with those behind it again.
        self.untold = self.untold.min(packet.number);
        self.fresh += 1;
        self.due |= self.plan.after.is_some_and(|count| self.fresh >= count);
        self.due |= self.plan.after_frames && packet.is_last();
        if self.timer.is_never() {
            self.timer = self.reported.map_or(now, |last| now.max(last + self.plan.interval));
        }
    }

    fn poll_report(&mut self, now: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        (self.due || now >= self.timer).then(|| self.report(now))
    }

    fn next_timer(&self) -> Option<Time> {
        if self.due { Some(Time::ZERO) } else { self.timer.finite() }
    }
}
