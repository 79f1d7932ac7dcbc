//! Disciplines that measure what arrives, written anew: two-dimensional queue management from Li and Mills, §II, and adaptive
//! virtual delay from Xia et al., §IV-D, over the virtual queue of Kunniyur and Srikant 2001. Then both writings,
//! compared.

use proptest::prelude::*;
use tailback_core::{
    Annex, ArrivalPolicy, Backlog, BitRate, Capacity, ControlInfo, DropReason, Ecn, Lane, Packet, QueueCx,
    QueueDiscipline, Span, Time, Verdict,
};
use tailback_qdisc::{BuildCx, Fifo, Limit};

use super::{difference, ours};
use crate::common::wild::{Rates, capacities, rates, wild};
use crate::common::{self, Job, config, serve_at};

const FULL: Verdict = Verdict::Drop(DropReason::Overflow);

/// Fig. 2 for one of the two factors: its average, and when to mark.
pub struct Thresholds {
    pub min: f64,
    pub max: f64,
    pub max_p: f64,
    pub weight: f64,
    average: f64,
    /// Packets since the last mark.
    since: f64,
}

impl Thresholds {
    pub fn new(min: f64, max: f64, max_p: f64, weight: f64) -> Self {
        Self { min, max, max_p, weight, average: 0.0, since: 0.0 }
    }

    fn learn(&mut self, sample: f64) {
        self.average = (1.0 - self.weight) * self.average + self.weight * sample;
    }

    /// So many samples that are all the same.
    fn learn_often(&mut self, sample: f64, times: u64) {
        let kept = (1.0 - self.weight).powf(times as f64);
        self.average = kept * self.average + (1.0 - kept) * sample;
    }

    /// Whether the arriving packet is marked; Floyd and Jacobson 1993, §7: marks are evenly spread.
    fn marks(&mut self, cx: &mut QueueCx<'_>) -> bool {
        if self.average <= self.min {
            self.since = 0.0;
            return false;
        }
        let certain = self.average > self.max || {
            let p = self.max_p * (self.average - self.min) / (self.max - self.min);
            let left = 1.0 - self.since * p;
            left <= 0.0 || p / left >= 1.0 || cx.rng.uniform() < p / left
        };
        self.since = if certain { 0.0 } else { self.since + 1.0 };
        certain
    }
}

/// What bears the marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    TwoBits,
    Codepoints,
    OneBit,
}

/// A packet of the present busy period: how long it waits, and how long its service takes, in nanoseconds.
type Part = (f64, f64);

/// §II. Times in nanoseconds; the server's are those that it needs for the packets that are taken in, each at the rate at which it
/// came. In nanoseconds the sums of what takes whole ones are exact, and a busy period of just b is told from a longer one.
pub struct Tdqm {
    pub window: f64,
    pub shortest: f64,
    /// ρ is what arrives, dropped or not.
    pub offered: bool,
    /// The packet in transmission is a part of the queueing delay.
    pub work: bool,
    pub rho: Thresholds,
    pub eta: Thresholds,
    pub form: Form,
    pub limit: Limit,
    /// Of a link that stands still, the one before.
    pub rate: f64,
    /// When the server has done what it was given.
    pub done: f64,
    pub period: Vec<Part>,
    /// What short busy periods add up to: the area below the delay, and their length.
    pub merged: (f64, f64),
    /// The number of the present window, and what counts in it.
    pub number: u64,
    pub load: f64,
    /// Until when the server's time has been counted.
    pub counted: f64,
}

impl Tdqm {
    pub fn new(
        window: f64,
        shortest: f64,
        marks: (Thresholds, Thresholds),
        form: Form,
        capacity: Capacity,
        rate: BitRate,
    ) -> Self {
        Self {
            window,
            shortest,
            offered: false,
            work: false,
            rho: marks.0,
            eta: marks.1,
            form,
            limit: Limit::new(capacity),
            rate: rate.bytes_per_sec(),
            done: 0.0,
            period: Vec::new(),
            merged: (0.0, 0.0),
            number: 0,
            load: 0.0,
            counted: 0.0,
        }
    }

    /// §II-A: the windows that have ended by `now`, each with what of it the server was busy, or with what arrived.
    fn windows(&mut self, now: f64) {
        while (self.number + 1) as f64 * self.window <= now {
            let end = (self.number + 1) as f64 * self.window;
            if !self.offered {
                self.load += (self.done.min(end) - self.counted).max(0.0);
            }
            self.rho.learn((self.load / self.window).min(if self.offered { f64::INFINITY } else { 1.0 }));
            (self.counted, self.load) = (end, 0.0);
            self.number += 1;
            // What follows is all alike until the server is done, or until now.
            let alike = if self.offered || self.done <= end { now } else { self.done.min(now) };
            let times = (((alike - end) / self.window).floor() - 1.0).max(0.0);
            if times > 2.0 {
                let busy = !self.offered && self.done > end;
                self.rho.learn_often(f64::from(u8::from(busy)), times as u64);
                self.number += times as u64;
                self.counted = self.number as f64 * self.window;
            }
        }
        if !self.offered {
            self.load += (self.done.min(now) - self.counted).max(0.0);
        }
        self.counted = now;
    }

    /// §II-B, Eq. 2, of a busy period that has ended.
    fn busy_period(&mut self) {
        let length: f64 = self.period.iter().map(|(_, service)| service).sum();
        let own = if self.work { 0.5 } else { 0.0 };
        let area: f64 =
            self.period.iter().map(|(wait, service)| wait * service + own * service * service).sum();
        self.period.clear();
        if length > self.shortest {
            self.eta.learn(area / (0.5 * length * length));
            return;
        }
        self.merged = (self.merged.0 + area, self.merged.1 + length);
        if self.merged.1 > self.shortest {
            self.eta.learn(self.merged.0 / (0.5 * self.merged.1 * self.merged.1));
            self.merged = (0.0, 0.0);
        }
    }

    fn bear(&self, (rho, eta): (bool, bool), packet: &mut Packet, cx: &mut QueueCx<'_>) {
        match self.form {
            Form::TwoBits => {
                if rho {
                    cx.mark_rho(packet);
                }
                if eta {
                    cx.mark_eta(packet);
                }
            }
            Form::OneBit if rho || eta => {
                cx.mark_ce(packet);
            }
            Form::Codepoints if rho => {
                cx.mark_ce(packet);
                // RFC 6660 §3: the greater mark takes the place of the lesser.
            }
            Form::Codepoints if eta && packet.ecn() == Ecn::Ect0 => {
                packet.set_ecn(Ecn::Ect1);
                cx.marks += 1;
            }
            _ => {}
        }
    }
}

impl ArrivalPolicy for Tdqm {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        if cx.rate > BitRate::ZERO {
            self.rate = cx.rate.bytes_per_sec();
        }
        let now = now.as_nanos() as f64;
        self.windows(now);
        // A packet that comes as the server ends begins a busy period.
        if !self.period.is_empty() && self.done <= now {
            self.busy_period();
        }
        let service = packet.size().as_f64() * 1e9 / self.rate;
        if self.offered {
            self.load += service;
        }
        if !self.limit.admits(packet, backlog, cx.idle_since.is_some()) {
            return FULL;
        }
        let marks = (self.rho.marks(cx), self.eta.marks(cx));
        self.bear(marks, packet, cx);
        self.done = self.done.max(now);
        self.period.push((self.done - now, service));
        self.done += service;
        Verdict::Accept
    }
}

/// §IV-D: a virtual queue of an adaptive capacity, and its delay added to control packets that pass it. The library's choices:
/// it has no bound, its capacity is at least a hundredth of the link's, and a packet is told of the queue that it finds.
pub struct Avd {
    gain: f64,
    limit: Limit,
    rate: f64,
    capacity: f64,
    queue: f64,
    before: Time,
}

impl Avd {
    pub fn new(gain: f64, capacity: Capacity, rate: BitRate) -> Self {
        let (limit, rate) = (Limit::new(capacity), rate.bytes_per_sec());
        Self { gain, limit, rate, capacity: rate, queue: 0.0, before: Time::ZERO }
    }
}

impl ArrivalPolicy for Avd {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        if cx.rate > BitRate::ZERO {
            self.rate = cx.rate.bytes_per_sec();
        }
        let gap = now.since(self.before).as_secs_f64();
        self.before = now;
        self.queue = (self.queue - self.capacity * gap).max(0.0);
        self.capacity = (self.capacity + self.gain * 0.98 * self.rate * gap).min(self.rate);
        if !self.limit.admits(packet, backlog, cx.idle_since.is_some()) {
            return FULL;
        }
        if packet.lane() != Lane::OUT_OF_BAND
            && let Some(Annex::Control(control)) = cx.annexes.get_mut(packet.annex)
        {
            control.virtual_delay += Span::from_secs_f64(self.queue / self.capacity);
        }
        let size = packet.size().as_f64();
        self.queue += size;
        self.capacity = (self.capacity - self.gain * size).max(0.01 * self.rate);
        Verdict::Accept
    }
}

/// A queue into which every other packet comes with control information, some out of band, and what that says when it leaves.
pub struct Controls<'a> {
    pub queue: &'a mut dyn QueueDiscipline,
    pub told: Vec<(u64, Span)>,
}

impl QueueDiscipline for Controls<'_> {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut QueueCx<'_>) {
        if packet.number.is_multiple_of(2) {
            let before = Span::from_nanos(packet.number);
            let info = ControlInfo { virtual_delay: before, ..ControlInfo::default() };
            packet.annex = cx.annexes.insert(Annex::Control(info));
        }
        if packet.flow.0 == 2 {
            packet.set_lane(Lane::OUT_OF_BAND);
        }
        self.queue.enqueue(now, packet, cx);
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let packet = self.queue.dequeue(now, cx)?;
        if let Some(Annex::Control(control)) = cx.annexes.get_mut(packet.annex) {
            self.told.push((packet.number, control.virtual_delay));
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

/// What the comparison of TDQM draws beside arrivals, buffer and rates.
#[derive(Clone, Copy)]
struct Settings {
    offered: bool,
    work: bool,
    form: usize,
    low: bool,
    window: u64,
}

/// The first difference of both TDQMs.
fn tdqm_differs(jobs: &[Job], capacity: Capacity, rates: Rates, settings: Settings) -> Option<String> {
    let Settings { offered, work, form, low, window } = settings;
    let (form, form_name) =
        [(Form::TwoBits, "two-bits"), (Form::Codepoints, "codepoints"), (Form::OneBit, "one-bit")][form];
    // No round numbers: a quarter of a window of which 12 ms of 30 were busy is 0.1, and the last bit would decide.
    let rho = if low { (0.1013, 0.6017, 0.3, 0.25) } else { (0.5017, 0.9017, 0.05, 0.7) };
    let eta = if low { (0.02, 0.5, 0.4, 0.3) } else { (0.1, 0.2, 0.1, 0.05) };
    let marks =
        |(min, max, max_p, weight)| format!(r#""min":{min},"max":{max},"max_p":{max_p},"weight":{weight}"#);
    let written = format!(
        r#"{{"name":"tdqm","window":"{window} ms","shortest_busy_period":"1 ms","marks":"{form_name}",
            "rho":{{"load":"{}",{}}},"eta":{{"delay":"{}",{}}}}}"#,
        if offered { "offered" } else { "busy" },
        marks(rho),
        if work { "work" } else { "waiting" },
        marks(eta),
    );
    let ours = ours(&written, capacity, jobs, rates);
    let thresholds = |(min, max, max_p, weight)| Thresholds::new(min, max, max_p, weight);
    let both = (thresholds(rho), thresholds(eta));
    let anew = Tdqm {
        offered,
        work,
        ..Tdqm::new(window as f64 * 1e6, 1e6, both, form, capacity, rates.at(Time::ZERO))
    };
    let anew = serve_at(&mut Fifo::new(anew), jobs, 1, &|now| rates.at(now));
    difference(&ours, &anew)
}

proptest! {
    #![proptest_config(common::cases(400))]

    #[test]
    fn tdqm(
        jobs in wild(3, 200), capacity in capacities(), rates in rates(), offered: bool, work: bool,
        form in 0..3_usize, low: bool, window in prop_oneof![Just(2_u64), Just(30)],
    ) {
        let settings = Settings { offered, work, form, low, window };
        prop_assert_eq!(tdqm_differs(&jobs, capacity, rates, settings), None);
    }

    #[test]
    fn avd(jobs in wild(3, 200), capacity in capacities(), rates in rates(), slow: bool) {
        let gain = if slow { 0.15 } else { 0.6 };
        let written = format!(r#"{{"name":"avd","gain":{gain}}}"#);
        let link = BuildCx { rate: rates.at(Time::ZERO), ..common::link(capacity) };
        let mut first = config(&written).build(&link).into_discipline();
        let mut ours = Controls { queue: &mut first, told: Vec::new() };
        let outcome = serve_at(&mut ours, &jobs, 1, &|now| rates.at(now));
        let mut second = Fifo::new(Avd::new(gain, capacity, rates.at(Time::ZERO)));
        let mut anew = Controls { queue: &mut second, told: Vec::new() };
        let other = serve_at(&mut anew, &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&outcome, &other), None);
        prop_assert_eq!(ours.told, anew.told);
    }
}

/// Found by chance: the second busy period is as long as the shortest that gives a sample by itself, but no longer, and the last
/// packets come as the third ends.
#[test]
fn a_busy_period_as_long_as_the_shortest_is_merged() {
    let batches: [(u64, &[(u64, usize)]); 5] = [
        (0, &[(40, 1), (1514, 1), (40, 1)]),
        (1_594_001, &[(53, 5), (105, 7)]),
        (2_594_002, &[(71, 12)]),
        (2_783_133, &[(40, 4)]),
        (3_606_002, &[(40, 8)]),
    ];
    let batch = |at: u64, size: u64, count: usize| {
        std::iter::repeat_n(Job { at: Time::from_nanos(at), ..Job::new(0, 0, size) }, count)
    };
    let jobs: Vec<Job> = batches
        .iter()
        .flat_map(|(at, sizes)| sizes.iter().flat_map(move |(size, count)| batch(*at, *size, *count)))
        .collect();
    let rates = Rates { first: 8_000_000, second: 8_000_000, period: u64::MAX };
    let settings = Settings { offered: false, work: true, form: 0, low: false, window: 2 };
    assert_eq!(tdqm_differs(&jobs, Capacity::Packets(13), rates, settings), None);
}
