//! GCC, Google congestion control, as in libwebrtc: a media rate that falls when the trend of one-way delays shows
//! over-use, and is capped by loss. The scheme `gcc`. The trend is in `trendline.rs`, the rate in `rate.rs`, what loss makes
//! of it in `loss.rs` and `bwe_v2/`, probes in `probes.rs`; its receiver's reports are those of `media/reports.rs`.
//!
//! Source: libwebrtc's generation at the sender (2025; Carlucci et al. 2016 for its ideas). draft-ietf-rmcat-gcc-02 is another
//! algorithm: a Kalman filter at the receiver, and other constants.
//!
//! | part | rule |
//! | --- | --- |
//! | groups | packets sent within 5 ms, or that waited together; `d = Δ arrival − Δ departure` |
//! | trend | slope over 20 groups of the sum of d, smoothed by 0.9; compared as `4 min(groups, 60) slope` |
//! | threshold | 12.5 at first; moves towards the trend by 0.0087 (up) or 0.039 (down) per ms of the difference; 6 to 600 |
//! | over-use | above the threshold for 10 ms and two groups, and not falling |
//! | decrease | `0.85` of the rate of arrivals less 5 kbit/s, not within a round trip of any change, then hold |
//! | increase | 8 % per second; near a known capacity a packet per `2 (RTT + 100 ms)`; at most `1.5 arrivals + 10 kbit/s` |
//! | probes | clusters at 3 and 6 times the first rate, twice what is found as long as that grows; every 5 s where the application sends too little; after a large drop |
//! | padding | while the newer loss part raises the rate: so much leaves as the rate says, whatever the application makes |
//! | loss | the path that explains the last 15 observations best (`bwe_v2/`); with `loss_estimator = "draft-02"` above 10 %: `rate (1 − p/2)`, below 2 %: the cap grows by 8 % per second |
//!
//! Laws: sending s faster than the path carries is over-use from `s = 12.5/(60 · 4) = 5.2 %` on at first, and from 2.5 % on once
//! the threshold has come down to 6; without probes 300 kbit/s become 3 Mbit/s in 29.9 s; after a decrease up to 24 kbit/s are
//! added each second at 1200 bytes and 100 ms.
//!
//! Deviations: the rate of arrivals is that of the last 500 ms by the receiver's clock, where the source has a window of 20
//! packets and a second at least, and leaves out its longest pause. The application's limit ends when it ends, not with the next
//! report. Reports are those of RFC 8888, four times as coarse as transport-wide ones, at a fixed interval; those of the
//! newer loss part are in `bwe_v2/mod.rs`. Padding are packets of their own, as large as data's, not copies. Packets are
//! paced at the rate, not at 2.5 times it: with that, the trend here takes a video's frames for queues, and half of a link of
//! 1 Mbit/s stays unused. Marks are ignored.

mod bwe_v2;
mod heard;
mod limit;
mod loss;
mod probes;
mod rate;
mod trendline;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker, Cx, Directive, ProbePlan, Sent, Span, Time};

use super::media::{ArrivalReports, MediaLaw, MediaSender, ReportPlan};
use crate::estimators::arrivals::{Arrived, Batch};
use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
use heard::Heard;
use limit::Limit;
use loss::Loss;
pub use loss::LossEstimator;
use probes::Probes;
use rate::Rate;
use trendline::{Trendline, Usage};

/// Parameters of GCC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GccConfig {
    /// The least rate. Default 30 kbit/s.
    pub min_rate: BitRate,
    /// The rate at first. Default 300 kbit/s.
    pub start_rate: BitRate,
    /// The largest rate. Default 2.5 Mbit/s.
    pub max_rate: BitRate,
    /// Whether clusters of packets probe for a higher rate: at start, after a drop, and where the application sends too little.
    /// Default true.
    pub probes: bool,
    /// What is made of loss: `bwe-v2`, the default, or `draft-02`.
    pub loss_estimator: LossEstimator,
    /// The time between two reports, 10 ms to 1 s. Default 100 ms.
    pub report_interval: Span,
    /// How many packets of the last report each report tells of again. Default 0.
    pub report_overlap: u32,
    /// By how many parts in a million the receiver's clock runs fast (or, below 0, slow), -1000 to 1000. Default 0.
    pub clock_drift: f64,
}

impl Default for GccConfig {
    fn default() -> Self {
        Self {
            min_rate: BitRate::from_bits_per_sec(30_000),
            start_rate: BitRate::from_bits_per_sec(300_000),
            max_rate: BitRate::from_bits_per_sec(2_500_000),
            probes: true,
            loss_estimator: LossEstimator::BweV2,
            report_interval: Span::from_millis(100),
            report_overlap: 0,
            clock_drift: 0.0,
        }
    }
}

/// The window over which arrivals are a rate.
const WINDOW: Span = Span::from_millis(500);
/// A probe leaves so much of what arrives.
const PROBE_KEEPS: f64 = 0.85;

impl SchemeConfig for GccConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "gcc",
            summary: "A media rate that falls when the trend of one-way delays shows over-use",
            source: "libwebrtc, 2025; Carlucci, De Cicco, Holmer and Mascolo 2016",
            reliability: Reliability::Datagram,
            expects_discipline: "any",
        }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn needs(&self) -> Needs {
        Needs { marks: MarkResponse::Controller, ..Needs::over(Reliability::Datagram) }
    }

    fn check(&self, checker: &mut Checker) {
        checker.require(self.min_rate > BitRate::ZERO, "min_rate", self.min_rate, "a rate above zero");
        let allowed = format!("at least {} (min_rate)", self.min_rate);
        checker.require(self.max_rate >= self.min_rate, "max_rate", self.max_rate, allowed);
        let ok = self.min_rate <= self.start_rate && self.start_rate <= self.max_rate;
        let allowed = format!("a rate from {} (min_rate) to {} (max_rate)", self.min_rate, self.max_rate);
        checker.require(ok, "start_rate", self.start_rate, allowed);
        ReportPlan::check(checker, self.report_interval, self.report_overlap, self.clock_drift);
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        let plan = ReportPlan::every(self.report_interval, self.report_overlap, self.clock_drift);
        let controller: BoxedController = Box::new(MediaSender::new(Gcc::new(self, params.segment)));
        Parts::sender(controller).with_policy(Some(ArrivalReports::new(plan)))
    }
}

/// GCC's law.
#[derive(Clone, Debug)]
pub struct Gcc {
    trendline: Trendline,
    rate: Rate,
    loss: Loss,
    bounds: (f64, f64),
    probes: Option<Probes>,
    limit: Limit,
    /// When the newest packet of each report came, by the receiver's clock, and bytes.
    window: VecDeque<(Time, f64)>,
    /// A report's packets in the order of their arrival.
    order: Vec<Arrived>,
    /// Seconds.
    round_trip: f64,
}

impl Gcc {
    /// A connection's start, with packets of `segment` bytes.
    pub fn new(config: &GccConfig, segment: Bytes) -> Self {
        let bits = |rate: BitRate| rate.bits_per_sec() as f64;
        let (start, most) = (bits(config.start_rate), bits(config.max_rate));
        let bounds = (bits(config.min_rate), most);
        Self {
            trendline: Trendline::default(),
            rate: Rate::new(start, bounds.0),
            loss: Loss::new(config.loss_estimator, bounds),
            bounds,
            probes: config.probes.then(|| Probes::new(start, most, segment.as_f64())),
            limit: Limit::default(),
            order: Vec::new(),
            window: VecDeque::new(),
            round_trip: 0.1,
        }
    }

    /// The rate in force.
    fn target(&self) -> f64 {
        self.rate.get().min(self.loss.cap()).clamp(self.bounds.0, self.bounds.1)
    }

    /// What leaves beside data: first of all a cluster that has begun, at its own rate.
    fn plan(&self) -> Option<ProbePlan> {
        let cluster = self.probes.as_ref().filter(|probes| probes.is_leaving() || !self.loss.pads());
        cluster.map_or_else(|| self.loss.pads().then_some(ProbePlan::Padding), Probes::plan)
    }

    /// Whether the delay fell and is normal again.
    fn take(&mut self, now: Time, batch: &Batch) -> bool {
        let millis = |at: Time| at.as_nanos() as f64 * 1e-6;
        let mut bytes = 0.0;
        let mut newest = self.window.back().map_or(Time::ZERO, |(at, _)| *at);
        self.order.clear();
        for arrived in &batch.arrived {
            bytes += arrived.size.as_f64();
            newest = arrived.at.map_or(newest, |at| newest.max(at));
        }
        self.order.extend(batch.arrived.iter().filter(|arrived| arrived.at.is_some()));
        self.order.sort_by_key(|arrived| arrived.at);
        let mut recovered = false;
        for arrived in &self.order {
            let before = self.trendline.usage();
            let at = arrived.at.unwrap_or(now);
            self.trendline.take(millis(now), millis(arrived.sent), millis(at));
            recovered |= before == Usage::Under && self.trendline.usage() == Usage::Normal;
        }
        if let Some(trip) = batch.round_trip {
            self.round_trip = trip.as_secs_f64();
        }
        self.window.push_back((newest, bytes));
        while self.window.front().is_some_and(|(at, _)| newest.since(*at) > WINDOW) {
            self.window.pop_front();
        }
        recovered
    }

    /// Bits per second that arrived: those of the oldest report in the window came before it. Whole ones, as in the source: what
    /// is equal except for rounding is no increase.
    fn arriving(&self) -> Option<f64> {
        let (first, last) = (self.window.front()?.0, self.window.back()?.0);
        let covered = last.since(first).as_secs_f64();
        let bytes: f64 = self.window.iter().skip(1).map(|(_, bytes)| bytes).sum();
        (covered > 0.0).then(|| (8.0 * bytes / covered).round())
    }

    fn update(&mut self, now: Time, news: &Batch, cx: &mut Cx<'_>) {
        let recovered = self.take(now, news);
        let (seconds, usage, arriving) = (now.as_secs_f64(), self.trendline.usage(), self.arriving());
        let probed = self.probes.as_mut().and_then(|probes| probes.on_arrivals(&self.order));
        // A probe that found little takes no more than over-use would.
        let kept = arriving.map_or(0.0, |arriving| self.rate.get().min(PROBE_KEEPS * arriving));
        let probed = probed.map(|probed| probed.max(kept));
        let took = probed.is_none() && usage != Usage::Over;
        if let Some(probed) = probed.filter(|_| usage != Usage::Over) {
            self.rate.set(seconds, probed);
            cx.note("probed_rate", probed);
        } else {
            self.rate.update(seconds, usage, arriving, self.round_trip);
        }
        self.take_loss(seconds, news);
        let (target, allowed) = (self.target(), usage == Usage::Normal && !self.loss.forbids_probes());
        if let Some(probes) = &mut self.probes {
            probes.on_rate(seconds, target, &self.limit, allowed);
            if recovered && took {
                probes.on_recovery(seconds, &self.limit, allowed);
            }
        }
        if let Some(inherent) = self.loss.inherent() {
            cx.note("inherent_loss", inherent);
        }
        let (trend, threshold) = self.trendline.compared();
        cx.note("trend", trend);
        cx.note("threshold", threshold);
    }

    fn take_loss(&mut self, now: f64, news: &Batch) {
        let (Some(first), Some(last)) = (news.arrived.first(), news.arrived.last()) else { return };
        let began = news.lost_since.map_or(first.sent, |since| since.min(first.sent));
        let heard = Heard {
            now,
            sent: (began.as_secs_f64(), last.sent.as_secs_f64()),
            kept: news.arrived.iter().map(|arrived| arrived.size.as_f64()).sum(),
            lost: news.lost_bytes.as_f64(),
            packets: (news.arrived.len() as f64, f64::from(news.lost)),
            delay_rate: self.rate.get(),
            target: self.target(),
            arriving: self.arriving(),
            round_trip: self.round_trip,
            limited: self.limit.since().is_some(),
        };
        self.loss.take(&heard);
    }
}

impl MediaLaw for Gcc {
    fn on_sent(&mut self, now: Time, sent: &Sent, _: Bytes) -> bool {
        let (size, target) = (sent.size.as_f64(), self.target());
        self.limit.on_sent(now.as_secs_f64(), 8.0 * size, target);
        let plan = self.plan();
        let Some(probes) = &mut self.probes else { return false };
        probes.on_sent(now.as_secs_f64(), sent.number, size);
        self.plan() != plan
    }

    fn on_news(&mut self, now: Time, news: &Batch, cx: &mut Cx<'_>) {
        self.update(now, news, cx);
    }

    fn directive(&self) -> Directive {
        let rate = BitRate::from_bits_per_sec_f64(self.target().max(1e3));
        Directive { probe: self.plan(), ..Directive::rate(rate) }
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Stream;

    use super::*;

    /// A report each 100 ms of packets that took 50 ms, at the rate of an application that makes 800 kbit/s at most, of which
    /// this part is lost, or at the rate that is padded; what leaves beside data meanwhile, report by report.
    fn plans(gcc: &mut Gcc, from: u32, reports: u32, loss: f64) -> Vec<Option<ProbePlan>> {
        let mut stream = Stream::new(u64::from(from), "loss");
        let step = |report: u32| {
            let at = |packet: u32| Time::from_secs_f64(0.1 * f64::from(report) + 0.0125 * f64::from(packet));
            let mut batch = Batch::default();
            let pads = gcc.directive().probe == Some(ProbePlan::Padding);
            let size = if pads { Bytes::from_f64(gcc.target() / 640.0) } else { Bytes::new(1200) };
            for packet in 0..8 {
                let number = u64::from(8 * report + packet);
                if stream.chance(loss) {
                    batch.lost += 1;
                    batch.lost_bytes += size;
                } else {
                    let sent = at(packet);
                    let arrived = Some(sent + Span::from_millis(50));
                    batch.arrived.push(Arrived { number, size, sent, at: arrived, marked: false });
                }
            }
            let mut rng = Stream::new(1, "controller");
            gcc.on_news(at(8), &batch, &mut Cx { rng: &mut rng, notes: None });
            gcc.directive().probe
        };
        (from..from + reports).map(step).collect()
    }

    fn started(loss_estimator: LossEstimator, probes: bool) -> Gcc {
        let start_rate = BitRate::from_bits_per_sec(800_000);
        let config = GccConfig { start_rate, probes, loss_estimator, ..GccConfig::default() };
        Gcc::new(&config, Bytes::new(1200))
    }

    /// Loss of half of all pulls the rate down; when it is over, loss's part raises it, and pads, except while it holds,
    /// until delay's part decides.
    #[test]
    fn it_pads_while_losss_part_raises_the_rate() {
        let padding = Some(ProbePlan::Padding);
        let mut gcc = started(LossEstimator::BweV2, false);
        assert!(plans(&mut gcc, 0, 30, 0.0).iter().all(Option::is_none));
        let before = gcc.target();
        assert!(plans(&mut gcc, 30, 12, 0.5).iter().all(Option::is_none), "it falls");
        let low = gcc.target();
        assert!(low < 0.6 * before, "{low}");
        let after = plans(&mut gcc, 42, 200, 0.0);
        let began = after.iter().position(|plan| *plan == padding).expect("it pads");
        let ended = after.iter().rposition(|plan| *plan == padding).expect("it pads");
        assert!(
            after[began..began + 20].iter().all(|plan| *plan == padding),
            "for 2 s after a rise at least"
        );
        assert!(ended < 199 && gcc.loss.cap() >= gcc.rate.get(), "delay's part decides");
        // The older part has no such state.
        let mut old = started(LossEstimator::Draft02, false);
        for (from, reports, loss) in [(0, 30, 0.0), (30, 12, 0.5), (42, 200, 0.0)] {
            assert!(plans(&mut old, from, reports, loss).iter().all(Option::is_none));
        }
    }

    /// A cluster that has begun leaves first, at its own rate; what it has sent is not padding.
    #[test]
    fn a_cluster_leaves_before_it_pads() {
        let mut gcc = started(LossEstimator::BweV2, true);
        let is_cluster = |plan: Option<ProbePlan>| matches!(plan, Some(ProbePlan::Cluster { .. }));
        let mut told = [plans(&mut gcc, 0, 30, 0.0), plans(&mut gcc, 30, 12, 0.5)].concat();
        let pads = (42..242).find(|from| {
            told.extend(plans(&mut gcc, *from, 1, 0.0));
            gcc.loss.pads()
        });
        assert!(pads.is_some() && told.into_iter().all(is_cluster), "the first has yet to leave");
        let sent = |number| Sent {
            number,
            size: Bytes::new(1200),
            in_flight: Bytes::ZERO,
            retransmission: false,
            pair: tailback_core::PairPosition::Single,
            app_limited: false,
            tag: 0,
        };
        let last = (1000..1100).find(|number| {
            let changed = gcc.on_sent(Time::from_secs_f64(9.1), &sent(*number), Bytes::ZERO);
            changed && gcc.directive().probe == Some(ProbePlan::Padding)
        });
        // Five packets at three times the first rate and seven at six times, which is bounded by the largest.
        assert!((1009..=1012).contains(&last.expect("clusters end")), "{last:?}");
    }
}
