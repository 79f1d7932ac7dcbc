//! GCC's delay part and probes, written a second time from libwebrtc (June 2025: `inter_arrival_delta`, `trendline_estimator`,
//! `aimd_rate_control`, `link_capacity_estimator`, `delay_based_bwe`, `probe_controller`, `probe_bitrate_estimator`,
//! `alr_detector`). What loss makes of it is in `gcc_loss.rs`.
//!
//! Known before: the heads of the first writing and its fields, how it measures the rate of arrivals, and what it asks of each
//! part in which order. Its parts were read after this was first written, and most of what both differed in was mended before
//! they were driven together: so both are by one hand, and their agreement says less than that of two.

use std::collections::{BTreeMap, VecDeque};

use serde_json::json;
use tailback_core::Stream;

use super::gcc_draft02::Draft02;
use super::gcc_loss::{Bwe, Observed, State};
use super::media::{Beside, Came, Directs, Flow, Leaves, News, Path, SecondLaw};

/// Times that are equal in the first writing may differ by less in seconds.
const NANO: f64 = 2e-10;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Usage {
    Normal,
    Over,
    Under,
}

/// Times of a group of packets in milliseconds.
#[derive(Clone, Copy)]
struct Group {
    first_sent: f64,
    sent: f64,
    first_came: f64,
    came: f64,
    system: f64,
}

struct Trend {
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
    deltas: u32,
    first_came: Option<f64>,
    accumulated: f64,
    smoothed: f64,
    line: VecDeque<(f64, f64)>,
    threshold: f64,
    updated: Option<f64>,
    slope: f64,
    over_for: Option<f64>,
    over_count: u32,
    usage: Usage,
    last_seen: Option<f64>,
}

impl Trend {
    fn new() -> Self {
        Self {
            current: None,
            previous: None,
            reordered: 0,
            deltas: 0,
            first_came: None,
            accumulated: 0.0,
            smoothed: 0.0,
            line: VecDeque::new(),
            threshold: 12.5,
            updated: None,
            slope: 0.0,
            over_for: None,
            over_count: 0,
            usage: Usage::Normal,
            last_seen: None,
        }
    }

    /// A packet, in order of arrival.
    fn packet(&mut self, now: f64, sent: f64, came: f64) {
        if self.last_seen.is_none_or(|seen| now - seen > 2000.0) {
            *self = Self::new();
        }
        self.last_seen = Some(now);
        if let Some((came_delta, sent_delta)) = self.deltas(now, sent, came) {
            self.update(came_delta, sent_delta, came);
        }
    }

    fn deltas(&mut self, now: f64, sent: f64, came: f64) -> Option<(f64, f64)> {
        let fresh = Group { first_sent: sent, sent, first_came: came, came, system: now };
        let Some(mut current) = self.current else {
            self.current = Some(fresh);
            return None;
        };
        if current.first_sent > sent {
            return None;
        }
        let (sent_delta, came_delta) = (sent - current.sent, came - current.came);
        let bursts = sent_delta == 0.0
            || (came_delta < sent_delta && came_delta <= 5.0 && came - current.first_came < 100.0);
        if bursts || sent - current.first_sent <= 5.0 {
            current.sent = current.sent.max(sent);
            (current.came, current.system) = (came, now);
            self.current = Some(current);
            return None;
        }
        let mut found = None;
        if let Some(previous) = self.previous {
            let deltas = (current.came - previous.came, current.sent - previous.sent);
            if deltas.0 - (current.system - previous.system) >= 3000.0 {
                (self.current, self.previous, self.reordered) = (None, None, 0);
                return None;
            }
            if deltas.0 < 0.0 {
                self.reordered += 1;
                if self.reordered >= 3 {
                    (self.current, self.previous, self.reordered) = (None, None, 0);
                }
                return None;
            }
            self.reordered = 0;
            found = Some(deltas);
        }
        self.previous = Some(current);
        self.current = Some(fresh);
        found
    }

    fn fit(&self) -> Option<f64> {
        let n = self.line.len() as f64;
        let x_mean = self.line.iter().map(|(x, _)| x).sum::<f64>() / n;
        let y_mean = self.line.iter().map(|(_, y)| y).sum::<f64>() / n;
        let products = self.line.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum::<f64>();
        let squares = self.line.iter().map(|(x, _)| (x - x_mean).powi(2)).sum::<f64>();
        (squares > 0.0).then(|| products / squares)
    }

    fn update(&mut self, came_delta: f64, sent_delta: f64, came: f64) {
        self.deltas = (self.deltas + 1).min(1000);
        let first = *self.first_came.get_or_insert(came);
        self.accumulated += came_delta - sent_delta;
        self.smoothed = 0.9 * self.smoothed + 0.1 * self.accumulated;
        self.line.push_back((came - first, self.smoothed));
        if self.line.len() > 20 {
            self.line.pop_front();
        }
        let trend = if self.line.len() == 20 { self.fit().unwrap_or(self.slope) } else { self.slope };
        if self.deltas < 2 {
            self.usage = Usage::Normal;
            return;
        }
        let modified = f64::from(self.deltas.min(60)) * trend * 4.0;
        if modified > self.threshold {
            self.over_for = Some(self.over_for.map_or(sent_delta / 2.0, |over| over + sent_delta));
            self.over_count += 1;
            if self.over_for > Some(10.0) && self.over_count > 1 && trend >= self.slope {
                self.over_for = Some(0.0);
                self.over_count = 0;
                self.usage = Usage::Over;
            }
        } else {
            self.over_for = None;
            self.over_count = 0;
            self.usage = if modified < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.slope = trend;
        self.adapt(modified.abs(), came);
    }

    fn adapt(&mut self, modified: f64, came: f64) {
        let last = self.updated.replace(came).unwrap_or(came);
        if modified > self.threshold + 15.0 {
            return;
        }
        let k = if modified < self.threshold { 0.039 } else { 0.0087 };
        let step = (came - last).min(100.0);
        self.threshold = (self.threshold + k * (modified - self.threshold) * step).clamp(6.0, 600.0);
    }
}

/// `link_capacity_estimator`, in kilobits per second.
#[derive(Default)]
struct Capacity {
    estimate: Option<f64>,
    deviation: f64,
}

impl Capacity {
    fn bounds(&self) -> (f64, f64) {
        let Some(estimate) = self.estimate else { return (0.0, f64::INFINITY) };
        let deviation = 3.0 * (self.deviation * estimate).sqrt();
        ((estimate - deviation).max(0.0), estimate + deviation)
    }

    fn over_use(&mut self, sample: f64) {
        let estimate = self.estimate.map_or(sample, |old| 0.95 * old + 0.05 * sample);
        let error = estimate - sample;
        self.deviation = (0.95 * self.deviation + 0.05 * error * error / estimate.max(1.0)).clamp(0.4, 2.5);
        self.estimate = Some(estimate);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Control {
    Hold,
    Increase,
}

struct Aimd {
    least: f64,
    rate: f64,
    throughput: f64,
    state: Control,
    changed: Option<f64>,
    rtt: f64,
    capacity: Capacity,
}

impl Aimd {
    /// `MaybeUpdateEstimate`, without a probe.
    fn update(&mut self, now: f64, usage: Usage, acked: Option<f64>) {
        match (usage, acked) {
            (Usage::Over, Some(acked)) if !self.reduces(now, acked) => {}
            (Usage::Over, None) => {
                if self.reduces(now, f64::INFINITY) {
                    self.set(now, self.rate / 2.0);
                }
            }
            _ => self.change(now, usage, acked),
        }
    }

    fn reduces(&self, now: f64, acked: f64) -> bool {
        self.changed.is_none_or(|at| now - at >= self.rtt.clamp(0.01, 0.2)) || acked < 0.5 * self.rate
    }

    fn set(&mut self, now: f64, rate: f64) {
        self.rate = rate.max(self.least);
        self.changed = Some(now);
    }

    fn change(&mut self, now: f64, usage: Usage, acked: Option<f64>) {
        let throughput = acked.unwrap_or(self.throughput);
        self.throughput = throughput;
        match usage {
            Usage::Over => return self.decrease(now, throughput),
            Usage::Under => self.state = Control::Hold,
            Usage::Normal if self.state == Control::Hold => {
                self.changed = Some(now);
                self.state = Control::Increase;
            }
            Usage::Normal => {}
        }
        if self.state == Control::Increase {
            self.increase(now, throughput);
        }
    }

    fn increase(&mut self, now: f64, throughput: f64) {
        if throughput > 1e3 * self.capacity.bounds().1 {
            self.capacity.estimate = None;
        }
        let limit = 1.5 * throughput + 10e3;
        let past = self.changed.map_or(1.0, |at| now - at);
        if self.rate < limit {
            let more = if self.capacity.estimate.is_some() {
                self.near_capacity() * past
            } else {
                (self.rate * (1.08_f64.powf(past.min(1.0)) - 1.0)).max(1000.0)
            };
            self.rate = (self.rate + more).min(limit).max(self.least);
        }
        self.changed = Some(now);
    }

    /// Bits per second, each second.
    fn near_capacity(&self) -> f64 {
        let frame = self.rate / 30.0;
        let packet = frame / (frame / 9600.0).ceil();
        (packet / (2.0 * (self.rtt + 0.1))).max(4000.0)
    }

    fn decrease(&mut self, now: f64, throughput: f64) {
        let mut to = 0.85 * throughput;
        if to > 5000.0 {
            to -= 5000.0;
        }
        if let Some(capacity) = self.capacity.estimate.filter(|_| to > self.rate) {
            to = 0.85 * 1e3 * capacity;
        }
        self.rate = self.rate.min(to).max(self.least);
        if throughput < 1e3 * self.capacity.bounds().0 {
            self.capacity.estimate = None;
        }
        self.capacity.over_use(throughput / 1e3);
        self.state = Control::Hold;
        self.changed = Some(now);
    }
}

/// `alr_detector`, with a budget in bits.
#[derive(Default)]
struct Alr {
    last: Option<f64>,
    budget: f64,
    since: Option<f64>,
    ended: Option<f64>,
}

impl Alr {
    fn sent(&mut self, now: f64, bits: f64, rate: f64) {
        let Some(last) = self.last.replace(now) else { return };
        let most = 0.65 * rate * 0.5;
        self.budget = (self.budget.clamp(-most, most) - bits).max(-most);
        self.budget = (self.budget + 0.65 * rate * (now - last)).min(most);
        if self.budget > 0.8 * most {
            self.since.get_or_insert(now);
        } else if self.budget < 0.5 * most {
            self.ended = self.since.take().map_or(self.ended, |_| Some(now));
        }
    }
}

/// What is known of a cluster: bounds of its packets and bits.
struct Cluster {
    numbers: (u64, u64),
    asked: f64,
    sent: (f64, f64),
    came: (f64, f64),
    last_sent: f64,
    first_came: f64,
    total: f64,
    packets: u32,
}

struct Probes {
    most: f64,
    packet: f64,
    queue: VecDeque<f64>,
    /// The newest cluster: rate and bytes; what has yet to leave; its first packet.
    newest: Option<(f64, f64)>,
    left: f64,
    first: Option<u64>,
    clusters: BTreeMap<u64, Cluster>,
    waits: bool,
    initiated: Option<f64>,
    further: f64,
    estimate: f64,
    drop: Option<(f64, f64)>,
    drop_probed: f64,
}

impl Probes {
    fn begin(&mut self) {
        if self.left <= 0.0
            && let Some(rate) = self.queue.pop_front()
        {
            let bytes = (0.015 * rate / 8.0).max(5.0 * self.packet).floor();
            self.newest = Some((rate, bytes));
            (self.left, self.first) = (bytes, None);
        }
    }

    fn initiate(&mut self, now: f64, rates: &[f64], mut further: bool) {
        for rate in rates {
            further &= *rate < self.most;
            self.queue.push_back(rate.min(self.most));
        }
        self.initiated = Some(now);
        self.waits = further;
        self.further = if further { 0.7 * self.queue.back().expect("asked") } else { f64::INFINITY };
        self.begin();
    }

    fn sent(&mut self, packet: &Leaves) {
        let Some((_, bytes)) = self.newest.filter(|_| self.left > 0.0) else { return };
        let first = *self.first.get_or_insert(packet.number);
        self.left -= packet.size;
        let cluster = self.clusters.entry(first).or_insert(Cluster {
            numbers: (first, first),
            asked: 8.0 * bytes,
            sent: (f64::INFINITY, f64::NEG_INFINITY),
            came: (f64::INFINITY, f64::NEG_INFINITY),
            last_sent: 0.0,
            first_came: 0.0,
            total: 0.0,
            packets: 0,
        });
        cluster.numbers.1 = packet.number;
        self.begin();
    }

    /// `HandleProbeAndEstimateBitrate`, by order of arrival; the last estimate counts.
    fn heard(&mut self, came: &[Came]) -> Option<f64> {
        let mut found = None;
        for packet in came {
            self.clusters.retain(|_, cluster| !(cluster.packets > 0 && cluster.came.1 + 1.0 < packet.at));
            let cluster = self
                .clusters
                .values_mut()
                .find(|cluster| cluster.numbers.0 <= packet.number && packet.number <= cluster.numbers.1);
            let Some(cluster) = cluster else { continue };
            let bits = 8.0 * packet.size;
            cluster.sent.0 = cluster.sent.0.min(packet.left);
            if packet.left > cluster.sent.1 {
                (cluster.sent.1, cluster.last_sent) = (packet.left, bits);
            }
            if packet.at < cluster.came.0 {
                (cluster.came.0, cluster.first_came) = (packet.at, bits);
            }
            cluster.came.1 = cluster.came.1.max(packet.at);
            cluster.total += bits;
            cluster.packets += 1;
            if cluster.packets < 4 || cluster.total < 0.8 * cluster.asked {
                continue;
            }
            let (sending, coming) = (cluster.sent.1 - cluster.sent.0, cluster.came.1 - cluster.came.0);
            if sending <= 0.0 || sending > 1.0 || coming <= 0.0 || coming > 1.0 {
                continue;
            }
            let sent = (cluster.total - cluster.last_sent) / sending;
            let arrived = (cluster.total - cluster.first_came) / coming;
            if arrived > 2.0 * sent {
                continue;
            }
            found = Some(if arrived < 0.9 * sent { 0.95 * arrived } else { sent.min(arrived) });
        }
        found
    }

    /// `SetEstimatedBitrate`.
    fn estimated(&mut self, now: f64, rate: f64, allowed: bool) {
        if rate < 0.66 * self.estimate {
            self.drop = Some((now, self.estimate));
        }
        self.estimate = rate;
        if self.waits && rate > self.further && allowed {
            self.initiate(now, &[2.0 * rate], true);
        }
    }

    /// `RequestProbe`.
    fn recovered(&mut self, now: f64, alr: &Alr, allowed: bool) {
        let recently = alr.ended.is_some_and(|ended| now - ended < 3.0);
        let Some((at, before)) = self.drop.filter(|_| alr.since.is_some() || recently) else { return };
        let suggested = 0.85 * before;
        if !self.waits && 0.95 * suggested > self.estimate && now - at < 5.0 && now - self.drop_probed > 5.0 {
            self.drop_probed = now;
            if allowed {
                self.initiate(now, &[suggested], false);
            }
        }
    }

    /// `Process`.
    fn process(&mut self, now: f64, alr: &Alr, allowed: bool) {
        if self.initiated.is_some_and(|at| now - at > 1.0) {
            self.waits = false;
        }
        let since = alr.since.map(|since| self.initiated.map_or(since, |at| at.max(since)));
        if !self.waits && since.is_some_and(|since| now >= since + 5.0) && allowed {
            self.initiate(now, &[2.0 * self.estimate], true);
        }
    }
}

/// Either loss part.
enum Loss {
    Bwe(Box<Bwe>),
    Draft02(Draft02),
}

impl Loss {
    fn rate(&self) -> f64 {
        match self {
            Self::Bwe(part) => part.rate(),
            Self::Draft02(part) => part.rate(),
        }
    }

    /// Delay's part decides, or none is said to.
    fn state(&self) -> State {
        if let Self::Bwe(part) = self { part.state() } else { State::Delay }
    }

    fn print(&self) -> String {
        match self {
            Self::Bwe(part) => part.print(),
            Self::Draft02(part) => part.print(),
        }
    }
}

struct Gcc {
    most: f64,
    trend: Trend,
    aimd: Aimd,
    loss: Loss,
    alr: Alr,
    probes: Option<Probes>,
    /// When the newest packet of each report came, and its bits.
    arrivals: VecDeque<(f64, f64)>,
}

impl Gcc {
    fn target(&self) -> f64 {
        self.aimd.rate.min(self.loss.rate()).min(self.most).max(self.aimd.least)
    }

    /// The rate of arrivals of the last 500 ms, by the receiver's clock, in whole bits per second.
    fn arriving(&mut self, came: &[Came]) -> Option<f64> {
        let newest = came.iter().map(|came| came.at).fold(f64::NEG_INFINITY, f64::max);
        let newest = self.arrivals.back().map_or(newest, |(at, _)| at.max(newest));
        self.arrivals.push_back((newest, came.iter().map(|came| 8.0 * came.size).sum()));
        while self.arrivals.front().is_some_and(|(at, _)| newest - at > 0.5 + NANO) {
            self.arrivals.pop_front();
        }
        let span = newest - self.arrivals[0].0;
        let bits: f64 = self.arrivals.iter().skip(1).map(|(_, bits)| bits).sum();
        (span > 0.0).then(|| (bits / span).round())
    }
}

impl SecondLaw for Gcc {
    fn sent(&mut self, now: f64, packet: &Leaves) {
        let target = self.target();
        self.alr.sent(now, 8.0 * packet.size, target);
        if let Some(probes) = &mut self.probes {
            probes.sent(packet);
        }
    }

    fn heard(&mut self, now: f64, news: &News) {
        let mut came = news.came.clone();
        came.sort_by(|one, other| one.at.total_cmp(&other.at));
        let acked = self.arriving(&came);
        let probed = self.probes.as_mut().and_then(|probes| probes.heard(&came));
        let probed =
            probed.map(|rate| acked.map_or(rate, |acked| rate.max(self.aimd.rate.min(0.85 * acked))));
        let mut recovered = false;
        for packet in &came {
            let before = self.trend.usage;
            self.trend.packet(1e3 * now, 1e3 * packet.left, 1e3 * packet.at);
            recovered |= before == Usage::Under && self.trend.usage == Usage::Normal;
        }
        self.aimd.rtt = news.round_trip;
        let usage = self.trend.usage;
        if let Some(rate) = probed.filter(|_| usage != Usage::Over) {
            self.aimd.set(now, rate);
            recovered = false;
        } else {
            self.aimd.update(now, usage, acked);
        }
        recovered &= usage != Usage::Over;
        let target = self.target();
        let observed = Observed { news, acked, delay: self.aimd.rate, limited: self.alr.since.is_some() };
        match &mut self.loss {
            Loss::Bwe(part) => part.heard(&observed),
            Loss::Draft02(part) => part.heard(now, &observed, target),
        }
        let target = self.target();
        let allowed = usage == Usage::Normal && self.loss.state() == State::Delay;
        if let Some(probes) = &mut self.probes {
            probes.estimated(now, target, allowed);
            if recovered {
                probes.recovered(now, &self.alr, allowed);
            }
            probes.process(now, &self.alr, allowed);
        }
    }

    fn directs(&self) -> Directs {
        let pads = self.loss.state() == State::Padding;
        let cluster = self.probes.as_ref().filter(|probes| probes.left > 0.0 || !pads);
        let beside = match cluster.and_then(|probes| probes.newest) {
            Some((rate, bytes)) => Some(Beside::Cluster { rate, bytes }),
            None => pads.then_some(Beside::Padding),
        };
        Directs { rate: self.target(), media: None, beside }
    }

    fn state(&self) -> String {
        let (trend, aimd) = (&self.trend, &self.aimd);
        format!(
            "{:?} trend {:.4} threshold {:.3} deltas {} | aimd {:.1} {:?} capacity {:?} acked {:.1} | {} | alr {:?} {:.0}",
            trend.usage,
            trend.slope,
            trend.threshold,
            trend.deltas,
            aimd.rate,
            aimd.state,
            aimd.capacity.estimate,
            aimd.throughput,
            self.loss.print(),
            self.alr.since,
            self.alr.budget
        )
    }
}

/// Over a path of at most so many bits per second, for so many steps.
fn case(seed: u64, probing: bool, older: bool, (capacity, steps): (f64, u32)) {
    let mut rng = Stream::new(seed, "case");
    let path = Path::drawn(&mut rng, capacity, false);
    let plain = rng.chance(0.5);
    let (least, start, most) = if plain {
        (30_000, 300_000, 2_500_000)
    } else {
        let least = if capacity < 1e6 { 1000 } else { 10_000 + rng.below(100_000) };
        let start = least + rng.below(500_000);
        (least, start, start + rng.below(2_000_000))
    };
    let rate = |rate: u64| format!("{rate} bit/s");
    let config = json!({"name": "gcc", "probes": probing, "min_rate": rate(least), "start_rate": rate(start),
        "max_rate": rate(most), "loss_estimator": if older { "draft-02" } else { "bwe-v2" }});
    let (least, start, most) = (least as f64, start as f64, most as f64);
    let capacity = Capacity { estimate: None, deviation: 0.4 };
    let aimd = Aimd {
        least,
        rate: start,
        throughput: start,
        state: Control::Hold,
        changed: None,
        rtt: 0.2,
        capacity,
    };
    let mut probes = Probes {
        most,
        packet: super::wire::SEGMENT as f64,
        queue: VecDeque::new(),
        newest: None,
        left: 0.0,
        first: None,
        clusters: BTreeMap::new(),
        waits: false,
        initiated: None,
        further: f64::INFINITY,
        estimate: start,
        drop: None,
        drop_probed: 0.0,
    };
    probes.initiate(1000.0, &[3.0 * start, 6.0 * start], true);
    let second = Gcc {
        most,
        trend: Trend::new(),
        aimd,
        loss: if older {
            Loss::Draft02(Draft02::default())
        } else {
            Loss::Bwe(Box::new(Bwe::new(least, most)))
        },
        alr: Alr::default(),
        probes: probing.then_some(probes),
        arrivals: VecDeque::new(),
    };
    Flow::new(config, second, path, seed).run(steps);
}

const USUAL: (f64, u32) = (4e6, 300);

#[test]
fn gcc_without_probes() {
    (0..300).for_each(|seed| case(seed, false, false, USUAL));
}

#[test]
fn gcc_with_probes() {
    (1000..1300).for_each(|seed| case(seed, true, false, USUAL));
}

#[test]
fn gcc_with_the_older_loss_part() {
    (2000..2300).for_each(|seed| case(seed, seed % 2 == 0, true, USUAL));
}

/// Minutes, so that holds become as long as they may, and little to share.
#[test]
fn gcc_for_long_and_slowly() {
    (3000..3040).for_each(|seed| case(seed, seed % 2 == 0, false, (2e5, 4000)));
}
