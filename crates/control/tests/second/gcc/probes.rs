//! Clusters of probes, and how an application that sends little is noticed, in the second writing of GCC.

use std::collections::{BTreeMap, VecDeque};

use crate::second::media::{Came, Leaves};
use crate::second::wire::SEGMENT;

/// `alr_detector`, with a budget in bits.
#[derive(Default)]
pub(super) struct Alr {
    last: Option<f64>,
    pub(super) budget: f64,
    pub(super) since: Option<f64>,
    ended: Option<f64>,
}

impl Alr {
    pub(super) fn sent(&mut self, now: f64, bits: f64, rate: f64) {
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

pub(super) struct Probes {
    most: f64,
    packet: f64,
    queue: VecDeque<f64>,
    /// The newest cluster: rate and bytes; what has yet to leave; its first packet.
    pub(super) newest: Option<(f64, f64)>,
    pub(super) left: f64,
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
    /// The first are at three and six times the rate to begin with.
    pub(super) fn new(most: f64, start: f64) -> Self {
        let mut probes = Self {
            most,
            packet: SEGMENT as f64,
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
        probes
    }

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

    pub(super) fn sent(&mut self, packet: &Leaves) {
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
    pub(super) fn heard(&mut self, came: &[Came]) -> Option<f64> {
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
    pub(super) fn estimated(&mut self, now: f64, rate: f64, allowed: bool) {
        if rate < 0.66 * self.estimate {
            self.drop = Some((now, self.estimate));
        }
        self.estimate = rate;
        if self.waits && rate > self.further && allowed {
            self.initiate(now, &[2.0 * rate], true);
        }
    }

    /// `RequestProbe`.
    pub(super) fn recovered(&mut self, now: f64, alr: &Alr, allowed: bool) {
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
    pub(super) fn process(&mut self, now: f64, alr: &Alr, allowed: bool) {
        if self.initiated.is_some_and(|at| now - at > 1.0) {
            self.waits = false;
        }
        let since = alr.since.map(|since| self.initiated.map_or(since, |at| at.max(since)));
        if !self.waits && since.is_some_and(|since| now >= since + 5.0) && allowed {
            self.initiate(now, &[2.0 * self.estimate], true);
        }
    }
}
