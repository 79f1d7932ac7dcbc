//! GCC's delay part and probes, written a second time from libwebrtc (June 2025: `inter_arrival_delta`, `trendline_estimator`,
//! `aimd_rate_control`, `link_capacity_estimator`, `delay_based_bwe`, `probe_controller`, `probe_bitrate_estimator`,
//! `alr_detector`). The trend of delays is in `trend`, the rate that follows it in `rate`, probes in `probes`, what loss makes
//! of it in `loss` and `draft02`; how they work together, and the tests, are here.
//!
//! Known before: the heads of the first writing and its fields, how it measures the rate of arrivals, and what it asks of each
//! part in which order. Its parts were read after this was first written, and most of what both differed in was mended before
//! they were driven together: so both are by one hand, and their agreement says less than that of two.

mod draft02;
mod loss;
mod probes;
mod rate;
mod trend;

use std::collections::VecDeque;

use serde_json::json;
use tailback_core::Stream;

use super::media::{Beside, Came, Directs, Flow, Leaves, News, Path, SecondLaw};
use draft02::Draft02;
use loss::{Bwe, Observed, State};
use probes::{Alr, Probes};
use rate::Aimd;
use trend::{Trend, Usage};

/// Times that are equal in the first writing may differ by less in seconds.
const NANO: f64 = 2e-10;

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
    let probes = Probes::new(most, start);
    let second = Gcc {
        most,
        trend: Trend::new(),
        aimd: Aimd::new(least, start),
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
