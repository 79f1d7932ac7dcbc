//! Probe clusters of GCC: when to probe and how fast, and what a cluster's arrivals say of the capacity. What the rate makes of
//! it is in `rate.rs`, when the application limits it in `limit.rs`.
//!
//! Source: libwebrtc (2025), `probe_controller`, `probe_bitrate_estimator`. Rates are bits per second, times seconds.
//!
//! | | |
//! | --- | --- |
//! | at start | clusters at 3 and 6 times the first rate |
//! | further | twice the estimate, while that is above 0.7 of the last cluster's rate and not above the largest rate |
//! | application-limited | twice the estimate every 5 s |
//! | recovery | 0.85 of the rate before it fell to less than 0.66, where delay is normal again within 5 s, and the application limits the sender or did so within 3 s |
//! | a cluster | 5 packets and 15 ms at least |
//! | its estimate | the smaller of the rates at which it left and arrived; 0.95 of the latter, where that is below 0.9 of the former |
//!
//! None begins while delay rises or falls, nor while loss limits the rate.

use std::collections::VecDeque;

use tailback_core::{BitRate, Bytes, ProbePlan};

use super::limit::Limit;
use crate::estimators::arrivals::Arrived;

const FIRST: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
/// The part of the last cluster's rate that an estimate must pass for another cluster.
const FURTHER_FROM: f64 = 0.7;
const LIMITED_EVERY: f64 = 5.0;
const LIMITED_SCALE: f64 = 2.0;
/// How long results are waited for.
const PATIENCE: f64 = 1.0;
/// A large drop leaves less than this part; the probe after it asks for that part, less what is uncertain; within so long,
/// and not again within so long; so long after the application's limit ended.
const DROP: f64 = 0.66;
const AFTER_DROP: f64 = 0.85;
const UNCERTAIN: f64 = 0.05;
const DROP_WITHIN: f64 = 5.0;
const DROP_EVERY: f64 = 5.0;
const LIMIT_ENDED: f64 = 3.0;
/// Packets and seconds of a cluster, and the part of it that must have arrived.
const PACKETS: u32 = 5;
const LASTS: f64 = 0.015;
const ENOUGH: f64 = 0.8;
/// Arrivals faster than departures by more than this are nonsense; below the second the link was full, and the third part of
/// it is used.
const RATIOS: (f64, f64, f64) = (2.0, 0.9, 0.95);
/// The longest that a cluster may take.
const LONGEST: f64 = 1.0;
/// A cluster that left or leaves.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// Its packets, from the first on.
    numbers: (u64, u64),
    /// What has yet to leave, and all of it, in bytes.
    left: f64,
    bytes: f64,
    arrived: u32,
    size: f64,
    departures: (f64, f64),
    arrivals: (f64, f64),
    /// The sizes of the last that left and the first that arrived.
    ends: (f64, f64),
}

impl Cluster {
    fn new(bytes: f64, first: u64) -> Self {
        Self {
            numbers: (first, first),
            left: bytes,
            bytes,
            arrived: 0,
            size: 0.0,
            departures: (f64::INFINITY, f64::NEG_INFINITY),
            arrivals: (f64::INFINITY, f64::NEG_INFINITY),
            ends: (0.0, 0.0),
        }
    }

    fn take(&mut self, sent: f64, at: f64, size: f64) {
        self.arrived += 1;
        self.size += size;
        if sent >= self.departures.1 {
            (self.departures.1, self.ends.0) = (sent, size);
        }
        self.departures.0 = self.departures.0.min(sent);
        if at < self.arrivals.0 {
            (self.arrivals.0, self.ends.1) = (at, size);
        }
        self.arrivals.1 = self.arrivals.1.max(at);
    }

    fn estimate(&self) -> Option<f64> {
        let enough =
            f64::from(self.arrived) >= ENOUGH * f64::from(PACKETS) && self.size >= ENOUGH * self.bytes;
        let rate = |(from, to): (f64, f64), end: f64| {
            let took = to - from;
            (took > 0.0 && took <= LONGEST).then(|| 8.0 * (self.size - end) / took)
        };
        let (left, came) = (rate(self.departures, self.ends.0)?, rate(self.arrivals, self.ends.1)?);
        let full = came < RATIOS.1 * left;
        (enough && came <= RATIOS.0 * left).then(|| if full { RATIOS.2 * came } else { left.min(came) })
    }
}

/// When and how fast to probe.
#[derive(Clone, Debug)]
pub(super) struct Probes {
    most: f64,
    packet: f64,
    /// Rates that have yet to be probed, and the cluster that leaves.
    pending: VecDeque<f64>,
    plan: Option<ProbePlan>,
    count: u64,
    clusters: VecDeque<Cluster>,
    /// When the last clusters were asked for; the first ones are with the first packet.
    began: Option<f64>,
    /// An estimate above this asks for another cluster; none where results are not waited for.
    further: Option<f64>,
    estimate: f64,
    /// When the rate last fell by much, and from where; when that was last probed.
    dropped: Option<(f64, f64)>,
    drop_probed: Option<f64>,
    next: u64,
}

impl Probes {
    /// The first clusters, for packets of `packet` bytes.
    pub(super) fn new(start: f64, most: f64, packet: f64) -> Self {
        let mut probes = Self {
            most,
            packet,
            pending: VecDeque::new(),
            plan: None,
            count: 0,
            clusters: VecDeque::new(),
            began: None,
            further: None,
            estimate: start,
            dropped: None,
            drop_probed: None,
            next: 0,
        };
        probes.begin(None, &FIRST.map(|scale| scale * start), true);
        probes
    }

    /// What the shaper is to send.
    pub(super) const fn plan(&self) -> Option<ProbePlan> {
        self.plan
    }

    /// Whether a cluster has yet to leave.
    pub(super) fn is_leaving(&self) -> bool {
        self.clusters.back().is_some_and(|cluster| cluster.left > 0.0)
    }

    fn begin(&mut self, now: Option<f64>, rates: &[f64], further: bool) {
        let capped = rates.iter().any(|rate| *rate >= self.most);
        self.pending.extend(rates.iter().map(|rate| rate.min(self.most)));
        let last = rates.last().copied().unwrap_or(self.most).min(self.most);
        self.began = now;
        self.further = (further && !capped).then_some(FURTHER_FROM * last);
        self.send();
    }

    /// Lets the next cluster leave, unless one does.
    fn send(&mut self) {
        if self.is_leaving() {
            return;
        }
        let Some(rate) = self.pending.pop_front() else { return };
        let bytes = (f64::from(PACKETS) * self.packet).max(LASTS * rate / 8.0);
        self.count += 1;
        let bits = BitRate::from_bits_per_sec_f64(rate.max(1e3));
        self.plan = Some(ProbePlan::Cluster { id: self.count, rate: bits, bytes: Bytes::from_f64(bytes) });
        self.clusters.push_back(Cluster::new(bytes.floor(), self.next));
        if self.clusters.len() > 8 {
            self.clusters.pop_front();
        }
    }

    /// A packet leaves.
    pub(super) fn on_sent(&mut self, now: f64, number: u64, size: f64) {
        self.began.get_or_insert(now);
        self.next = number + 1;
        if let Some(cluster) = self.clusters.back_mut().filter(|cluster| cluster.left > 0.0) {
            if cluster.left >= cluster.bytes {
                cluster.numbers.0 = number;
            }
            cluster.left -= size;
            cluster.numbers.1 = number + 1;
            self.send();
        }
    }

    /// What clusters say of these arrivals, in their order: an estimate of the capacity.
    pub(super) fn on_arrivals(&mut self, arrived: &[Arrived]) -> Option<f64> {
        let seconds = |at: tailback_core::Time| at.as_nanos() as f64 * 1e-9;
        let mut found = None;
        for packet in arrived {
            let Some(at) = packet.at else { continue };
            let of = |cluster: &&mut Cluster| (cluster.numbers.0..cluster.numbers.1).contains(&packet.number);
            if let Some(cluster) = self.clusters.iter_mut().find(of) {
                cluster.take(seconds(packet.sent), seconds(at), packet.size.as_f64());
                found = cluster.estimate().or(found);
            }
        }
        found
    }

    /// The rate is this now: probes further, and when the application limits it, where nothing forbids that.
    pub(super) fn on_rate(&mut self, now: f64, rate: f64, limit: &Limit, allowed: bool) {
        if rate < DROP * self.estimate {
            self.dropped = Some((now, self.estimate));
        }
        self.estimate = rate;
        if allowed && self.further.is_some_and(|further| rate > further) {
            return self.begin(Some(now), &[FURTHER * rate], true);
        }
        if self.began.is_some_and(|began| now - began > PATIENCE) {
            self.further = None;
        }
        let since = limit.since().filter(|_| allowed).map(|since| since.max(self.began.unwrap_or(since)));
        if self.further.is_none() && since.is_some_and(|since| now >= since + LIMITED_EVERY) {
            self.begin(Some(now), &[LIMITED_SCALE * rate], true);
        }
    }

    /// Delay is normal again after a queue drained: probes what a large drop took, where nothing forbids that.
    pub(super) fn on_recovery(&mut self, now: f64, limit: &Limit, allowed: bool) {
        let limited = limit.lately(now, LIMIT_ENDED);
        let Some((at, before)) = self.dropped.filter(|_| limited && self.further.is_none()) else { return };
        let asked = AFTER_DROP * before;
        let lately = self.drop_probed.is_some_and(|probed| now - probed <= DROP_EVERY);
        if (1.0 - UNCERTAIN) * asked > self.estimate && now - at < DROP_WITHIN && !lately {
            self.drop_probed = Some(now);
            if allowed {
                self.begin(Some(now), &[asked], false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Time;

    use super::*;

    fn cluster(probes: &Probes) -> (u64, f64) {
        match probes.plan() {
            Some(ProbePlan::Cluster { id, rate, .. }) => (id, rate.bits_per_sec() as f64),
            _ => (0, 0.0),
        }
    }

    /// Sends packets of 1200 bytes at the planned rates until no cluster leaves; they arrive at no more than `capacity`. What
    /// is estimated, in the order of clusters.
    fn probe(probes: &mut Probes, now: &mut f64, capacity: f64) -> Vec<f64> {
        let (mut found, mut free, bits) = (Vec::new(), *now, 9600.0);
        while probes.clusters.back().is_some_and(|cluster| cluster.left > 0.0) {
            let (rate, number, sent) = (cluster(probes).1, probes.next, *now);
            probes.on_sent(0.0, number, 1200.0);
            free = f64::max(free, sent) + bits / capacity;
            let at = Time::from_secs_f64(free + 0.05);
            let size = Bytes::new(1200);
            let sent = Time::from_secs_f64(sent);
            found.extend(probes.on_arrivals(&[Arrived { number, size, sent, at: Some(at), marked: false }]));
            *now += bits / rate;
        }
        found
    }

    /// 300 kbit/s: 0.9 and 1.8 Mbit/s at first, then twice what is found, up to the largest rate.
    #[test]
    fn probes_double_as_long_as_the_path_carries_them() {
        let mut probes = Probes::new(300e3, 10e6, 1200.0);
        assert_eq!(cluster(&probes), (1, 900e3));
        let mut now = 0.0;
        let found = probe(&mut probes, &mut now, 100e6);
        assert!((found[0] / 900e3 - 1.0).abs() < 0.01, "{found:?}");
        assert!((found[found.len() - 1] / 1.8e6 - 1.0).abs() < 0.01, "{found:?}");
        let mut rate = 1.8e6;
        for wanted in [3.6e6, 7.2e6, 10e6] {
            probes.on_rate(now, rate, &Limit::default(), true);
            assert!((cluster(&probes).1 / wanted - 1.0).abs() < 1e-9, "{wanted}");
            probe(&mut probes, &mut now, 100e6);
            rate = wanted;
        }
        let count = probes.count;
        probes.on_rate(now, 10e6, &Limit::default(), true);
        assert_eq!(probes.count, count, "the largest rate is reached");
    }

    /// A link of 1 Mbit/s: the cluster at 1.8 Mbit/s arrives at 1, of which 0.95 is taken, and no other cluster follows.
    #[test]
    fn a_full_link_shows_its_capacity() {
        let mut probes = Probes::new(300e3, 10e6, 1200.0);
        let mut now = 0.0;
        let found = probe(&mut probes, &mut now, 1e6);
        let last = found[found.len() - 1];
        assert!((last / 0.95e6 - 1.0).abs() < 0.03, "{found:?}");
        probes.on_rate(now, last, &Limit::default(), true);
        assert_eq!(probes.count, 2);
    }

    /// Who is told of a cluster that came more than twice as fast as it left learns nothing: something held it up on the way.
    #[test]
    fn a_cluster_that_came_in_a_heap_says_nothing() {
        let found = |faster: f64| {
            let mut probes = Probes::new(300e3, 10e6, 1200.0);
            let (mut found, mut now, first) = (Vec::new(), 0.0, cluster(&probes));
            while cluster(&probes) == first {
                probes.on_sent(0.0, probes.next, 1200.0);
                let [sent, at] = [now, 0.05 + now / faster].map(Time::from_secs_f64);
                let (number, size) = (probes.next - 1, Bytes::new(1200));
                found.extend(probes.on_arrivals(&[Arrived {
                    number,
                    size,
                    sent,
                    at: Some(at),
                    marked: false,
                }]));
                now += 9600.0 / first.1;
            }
            found.last().copied()
        };
        assert!(found(1.9).is_some_and(|rate| (rate / 900e3 - 1.0).abs() < 0.01), "as fast as it left");
        assert_eq!(found(2.1), None);
    }

    /// Application-limited for five seconds: a cluster at twice the rate. After a drop that is over: 0.85 of what was before.
    #[test]
    fn limits_and_drops_are_probed() {
        let mut probes = Probes::new(300e3, 10e6, 1200.0);
        let mut now = 0.0;
        probe(&mut probes, &mut now, 100e6);
        let mut limit = Limit::default();
        let mut send = |probes: &mut Probes, rate: f64, seconds: u32, allowed: bool| {
            for _ in 0..seconds * 10 {
                now += 0.1;
                limit.on_sent(now, 9600.0, rate);
                probes.on_sent(now, probes.next, 1200.0);
                probes.on_rate(now, rate, &limit, allowed);
            }
            (now, limit)
        };
        send(&mut probes, 1.2e6, 1, true);
        let before = probes.count;
        send(&mut probes, 1.2e6, 6, false);
        assert_eq!(probes.count, before, "not while loss or delay forbids it");
        send(&mut probes, 1.2e6, 1, true);
        assert_eq!((probes.count, cluster(&probes).1), (before + 1, 2.4e6));
        let (now, limit) = send(&mut probes, 0.6e6, 1, true);
        probes.on_recovery(now + 0.05, &limit, true);
        assert!((cluster(&probes).1 / (0.85 * 1.2e6) - 1.0).abs() < 1e-9, "{:?}", cluster(&probes));
    }

    /// What a drop took is probed, too, where the application's limit ended within three seconds.
    #[test]
    fn a_limit_that_has_just_ended_counts() {
        for (later, probed) in [(2.9, true), (3.1, false)] {
            let mut probes = Probes::new(300e3, 10e6, 1200.0);
            let mut now = 0.0;
            probe(&mut probes, &mut now, 100e6);
            let mut limit = Limit::default();
            limit.on_sent(now, 0.0, 1.2e6);
            limit.on_sent(now + 10.0, 0.0, 1.2e6);
            assert!(limit.since().is_some());
            limit.on_sent(now + 10.0, 300e3, 1.2e6);
            assert!(limit.since().is_none());
            probes.on_rate(now + 10.0, 1.2e6, &limit, true);
            probes.on_rate(now + 10.0, 0.6e6, &limit, true);
            let before = probes.count;
            probes.on_recovery(now + 10.0 + later, &limit, true);
            assert_eq!(probes.count > before, probed, "{later} s later");
        }
    }
}
