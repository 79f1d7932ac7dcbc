//! PCC Vivace, written a second time from Dong et al., NSDI 2018, §4: every packet of every interval is kept, and what an
//! interval is worth is computed when all is known.
//!
//! By the choices at the head of the first writing, which was read before: independent, not blind. From its code alone: what a
//! time-out does to the start, which packets are given up, and when probes are drawn.

use std::collections::HashMap;

use serde_json::json;
use tailback_core::{CongestionEvent, Feedback, Sent, Stream};

use super::Second;
use super::paced::{Paced, Path, SecondTimed};
use super::wire::{SEGMENT, params, scheme};

/// A packet in Mbit.
const PACKET: f64 = SEGMENT as f64 * 8e-6;
const EPSILON: f64 = 0.05;
/// Times that are equal in the first writing may differ by less in seconds.
const NANO: f64 = 1.5e-9;

/// What an interval tries.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tries {
    Doubling,
    Above(usize),
    Below(usize),
    Nothing,
}

struct Packet {
    left: f64,
    trip: Option<f64>,
    arrived: Option<bool>,
}

struct Interval {
    tries: Tries,
    rate: f64,
    packets: Vec<Packet>,
    limited: bool,
    over: bool,
}

/// t, b and c.
#[derive(Clone, Copy)]
struct Utility(f64, f64, f64);

impl Utility {
    /// Equation 2 of the paper, in Mbit/s.
    fn of(self, interval: &Interval) -> Option<f64> {
        let sent = interval.packets.len() as f64;
        let arrived = interval.packets.iter().filter(|packet| packet.arrived == Some(true)).count() as f64;
        let (x, slope) = (interval.rate, gradient(&interval.packets));
        let slope = if slope < 0.01 { 0.0 } else { slope };
        let Self(t, b, c) = self;
        (sent > 0.0).then(|| x.powf(t) - b * x * slope - c * x * (sent - arrived) / sent)
    }
}

/// dRTT/dt by least squares, about the means.
fn gradient(packets: &[Packet]) -> f64 {
    let seen: Vec<(f64, f64)> = packets.iter().filter_map(|p| Some((p.left, p.trip?))).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| seen.iter().map(of).sum::<f64>() / seen.len() as f64;
    let (at, trip) = (mean(|seen| seen.0), mean(|seen| seen.1));
    let over: f64 = seen.iter().map(|seen| (seen.0 - at) * (seen.1 - trip)).sum();
    let below: f64 = seen.iter().map(|seen| (seen.0 - at).powi(2)).sum();
    // All at one instant have no slope; sums about a mean are never quite zero.
    if seen.iter().any(|one| one.0 != seen[0].0) { over / below } else { 0.0 }
}

/// What of the past steps counts: their direction, how many went there, and k of the boundary.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    sign: f64,
    row: i32,
    k: i32,
}

impl Steps {
    /// §4.3: amplifier and boundary.
    fn next(&mut self, gamma: f64, r: f64) -> f64 {
        if gamma.signum() != self.sign {
            *self = Self { sign: gamma.signum(), row: 0, k: 0 };
        }
        self.row += 1;
        let amplifier = if self.row <= 3 { self.row } else { 2 * self.row - 3 };
        let wanted = f64::from(amplifier) * gamma.abs();
        let omega = |k: i32| (0.05 + 0.1 * f64::from(k)).min(0.95);
        if wanted > omega(self.k) * r {
            self.k += 1;
            return gamma.signum() * omega(self.k - 1) * r;
        }
        self.k = (0..=10).find(|k| wanted <= (0.05 + 0.1 * f64::from(*k)) * r).expect("one");
        gamma.signum() * wanted
    }
}

struct Vivace {
    utility: Utility,
    draws: Stream,
    r: f64,
    start: bool,
    /// Rate and utility of the best interval of the start so far.
    best: Option<(f64, f64)>,
    steps: Steps,
    plan: Vec<Tries>,
    found: Vec<(Tries, f64)>,
    useless: bool,
    /// New probes are drawn when the present interval ends.
    redraw: bool,
    /// All there ever were, and the first of which not all is known.
    intervals: Vec<Interval>,
    first: usize,
    /// In which interval a packet left last, and which of its packets it is.
    place: HashMap<u64, (usize, usize)>,
    srtt: Option<f64>,
    heard: f64,
    length: f64,
    ends: Option<f64>,
    published: Vec<(&'static str, f64)>,
}

impl Vivace {
    fn new(utility: Utility, seed: u64) -> Self {
        Self {
            utility,
            draws: Stream::new(seed, "controller"),
            r: 0.0,
            start: true,
            best: None,
            steps: Steps::default(),
            plan: Vec::new(),
            found: Vec::new(),
            useless: false,
            redraw: false,
            intervals: Vec::new(),
            first: 0,
            place: HashMap::new(),
            srtt: None,
            heard: 0.0,
            length: 0.0,
            ends: None,
            published: Vec::new(),
        }
    }

    fn rtt(&self) -> f64 {
        self.srtt.unwrap_or(0.1)
    }

    fn at_least(&self, rate: f64) -> f64 {
        rate.max(2.0 * PACKET / self.rtt()).min(1e7)
    }

    fn begin(&mut self, tries: Tries, rate: f64) {
        self.length = self.rtt().max(10.0 * PACKET / rate);
        self.ends = None;
        let (packets, limited, over) = (Vec::new(), false, false);
        self.intervals.push(Interval { tries, rate, packets, limited, over });
    }

    fn begin_next(&mut self) {
        let planned = if self.plan.is_empty() { Tries::Nothing } else { self.plan.remove(0) };
        let (tries, factor) = match planned {
            _ if self.start => (Tries::Doubling, 1.0),
            Tries::Above(_) => (planned, 1.0 + EPSILON),
            Tries::Below(_) => (planned, 1.0 - EPSILON),
            _ => (planned, 1.0),
        };
        self.begin(tries, self.at_least(factor * self.r));
    }

    fn probe(&mut self, now: f64) {
        self.start = false;
        self.plan.clear();
        self.found.clear();
        self.useless = false;
        self.redraw = true;
        self.ends = Some(now);
        self.intervals[self.first..].iter_mut().for_each(|interval| interval.tries = Tries::Nothing);
    }

    /// What is known whole, or was left behind by two intervals, is judged, in order.
    fn judge(&mut self, now: f64, newest: Option<usize>) {
        while self.first + 1 < self.intervals.len() {
            let interval = &self.intervals[self.first];
            let known = interval.over && interval.packets.iter().all(|packet| packet.arrived.is_some());
            let behind = newest.is_some_and(|newest| newest >= self.first + 2);
            let many = self.intervals.len() - self.first > 64;
            if !(known || behind || many) {
                return;
            }
            let utility = if many { None } else { self.utility.of(interval) };
            let (tries, rate, limited) = (interval.tries, interval.rate, interval.limited);
            self.first += 1;
            match (tries, utility) {
                (Tries::Doubling, Some(utility)) if self.start => self.doubled(now, rate, limited, utility),
                (Tries::Above(_) | Tries::Below(_), _) => {
                    self.useless |= limited || utility.is_none();
                    self.found.push((tries, utility.unwrap_or(0.0)));
                    if self.found.len() == 4 {
                        self.step(now);
                    }
                }
                _ => {}
            }
            self.published.extend(utility.map(|utility| ("utility", utility)));
        }
    }

    fn doubled(&mut self, now: f64, rate: f64, limited: bool, utility: f64) {
        if let Some((good, better)) = self.best
            && utility < better
        {
            self.r = good;
            self.probe(now);
        } else if limited {
            self.r = self.r.min(rate);
        } else {
            self.best = Some((rate, utility));
        }
    }

    fn step(&mut self, now: f64) {
        let found = |tries| self.found.iter().find(|found| found.0 == tries).expect("probed").1;
        let gamma = |pair| (found(Tries::Above(pair)) - found(Tries::Below(pair))) / (2.0 * EPSILON * self.r);
        let (one, other): (f64, f64) = (gamma(0), gamma(1));
        let agree = (one > 0.0 && other > 0.0) || (one < 0.0 && other < 0.0);
        if !self.useless && agree {
            let change = self.steps.next(f64::midpoint(one, other), self.r);
            self.r = self.at_least(self.r + change);
        } else if !self.useless {
            self.steps = Steps::default();
        }
        self.probe(now);
    }

    fn time_out(&mut self, now: f64) {
        let present = self.intervals[self.intervals.len() - 1].rate;
        if self.start {
            self.r = self.at_least(self.best.map_or(0.0, |best| best.0)).min(present);
        } else if now - self.heard > 2.0 * self.rtt() {
            self.r = self.at_least(self.r / 2.0).min(present);
        }
        self.steps = Steps::default();
        self.place.clear();
        self.first = self.intervals.len();
        self.probe(now);
        self.begin(Tries::Nothing, self.r.min(present));
    }

    fn judge_packet(&mut self, number: u64, left: f64, trip: Option<f64>, arrived: bool) -> Option<usize> {
        let (interval, index) = *self.place.get(&number)?;
        let packet = self.intervals[interval].packets.get_mut(index).expect("left");
        assert_eq!(packet.left, left, "another packet");
        (packet.trip, packet.arrived) = (trip, Some(arrived));
        (interval >= self.first).then_some(interval)
    }
}

impl Second for Vivace {
    fn sent(&mut self, now: f64, sent: &Sent) {
        self.place.remove(&sent.number);
        let index = self.intervals.len().wrapping_sub(1);
        let Some(interval) = self.intervals.last_mut() else { return };
        self.ends.get_or_insert(now + self.length);
        interval.limited |= sent.app_limited;
        self.place.insert(sent.number, (index, interval.packets.len()));
        interval.packets.push(Packet { left: now, trip: None, arrived: None });
    }

    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        self.srtt = f.rtt.map(|rtt| rtt.smoothed.as_secs_f64()).or(self.srtt);
        if self.intervals.is_empty() {
            if f.rtt.is_some() {
                self.r = self.at_least(10.0 * PACKET / self.rtt());
                self.begin_next();
            }
            return;
        }
        if !f.acked.is_empty() {
            self.heard = now;
        }
        let mut newest = None;
        for acked in f.acked {
            let left = super::seconds(acked.sent_at);
            let trip = (!acked.retransmitted).then_some(now - left);
            newest = newest.max(self.judge_packet(acked.number, left, trip, true));
        }
        for lost in f.lost {
            self.judge_packet(lost.number, super::seconds(lost.sent_at), None, false);
        }
        self.judge(now, newest);
        if matches!(f.event, Some(CongestionEvent::Timeout { .. })) {
            self.time_out(now);
        }
    }

    fn window(&self) -> f64 {
        let Some(present) = self.intervals.last() else { return 10.0 };
        (2.0 * present.rate.max(self.r) * self.rtt() / PACKET).max(10.0)
    }

    fn rate(&self) -> Option<f64> {
        self.intervals.last().map(|present| present.rate * 1e6)
    }

    fn state(&self) -> String {
        let open: Vec<_> = self.intervals[self.first..]
            .iter()
            .rev()
            .take(6)
            .map(|i| {
                let unknown = i.packets.iter().filter(|packet| packet.arrived.is_none()).count();
                format!("{:?} {:.4} {}/{unknown}", i.tries, i.rate, i.packets.len())
            })
            .collect();
        format!("r {:.5} {:?} found {:?} from {} {open:?}", self.r, self.steps, self.found, self.first)
    }
}

impl SecondTimed for Vivace {
    fn timer(&mut self, now: f64) {
        while self.ends.is_some_and(|ends| now >= ends - NANO) {
            let present = self.intervals.last_mut().expect("one ends");
            present.over = true;
            let limited = present.limited;
            if self.start && !limited {
                self.r = self.at_least(2.0 * self.r);
            } else if self.start {
                self.r = self.at_least(self.r);
            } else if std::mem::take(&mut self.redraw) {
                for pair in 0..2 {
                    let above_first = self.draws.chance(0.5);
                    self.plan.push(if above_first { Tries::Above(pair) } else { Tries::Below(pair) });
                    self.plan.push(if above_first { Tries::Below(pair) } else { Tries::Above(pair) });
                }
            }
            self.begin_next();
            self.judge(now, None);
            self.published.push(("base_rate", self.r * 1e6));
        }
    }

    fn due(&self) -> Option<f64> {
        self.ends
    }

    fn published(&mut self) -> Vec<(&'static str, f64)> {
        std::mem::take(&mut self.published)
    }
}

fn case(seed: u64) {
    let mut rng = Stream::new(seed, "case");
    let path = Path::drawn(&mut rng);
    let plain = rng.chance(0.6);
    let t = if plain { 0.9 } else { 0.05 + 0.9 * rng.uniform() };
    let b = if plain { 900.0 } else { 2000.0 * rng.uniform().powi(3) };
    let c = if plain { 11.35 } else { 30.0 * rng.uniform() };
    let ours = scheme(json!({"name": "vivace", "exponent": t, "latency": b, "loss": c}), &params(10, None));
    Paced::new(ours, Vivace::new(Utility(t, b, c), seed), path, seed).run(6000);
}

#[test]
fn vivace_over_any_path() {
    (0..200).for_each(case);
}

/// Dozens of intervals pass without news before the timer expires.
#[test]
fn vivace_beyond_its_memory() {
    for seed in 0..80 {
        let path = Path {
            limited: 0.0005,
            limited_lasts: 2.0,
            outage: 0.003,
            outage_lasts: 0.19,
            capacity: 1.25e8,
            base: 0.001,
            ..Path::CALM
        };
        let ours = scheme(json!({"name": "vivace"}), &params(10, None));
        Paced::new(ours, Vivace::new(Utility(0.9, 900.0, 11.35), seed), path, seed).run(6000);
    }
}

/// The path becomes wider by orders of magnitude: more than ten steps in a row up, each of which is cut.
#[test]
fn vivace_where_the_path_opens() {
    for seed in 0..10 {
        let path = Path { capacity: 2.5e4, queue: 0.05, base: 0.2, ..Path::CALM };
        let ours = scheme(json!({"name": "vivace"}), &params(10, None));
        let mut stream = Paced::new(ours, Vivace::new(Utility(0.9, 900.0, 11.35), seed), path, seed);
        stream.run(3000);
        stream.widen(1000.0);
        stream.run(10_000);
    }
}
