//! Datagrams at even or Poisson intervals, whatever becomes of them. With Poisson arrivals and exponential sizes a
//! link is an M/M/1 queue, since a packet's service time is proportional to its size.
//!
//! Known deviation: intervals are whole nanoseconds, and the mean interval is rounded to them. At a datagram per microsecond
//! the rate is right within a part in 2000; at one per 5 ns (64 B at 100 Gbit/s) it may be a tenth off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker, Span, Stream, Time};

use super::drawn::Drawn;
use super::parts::{BoxedSource, Offer, Source, SourceKind};
use super::{Distribution, Quantity};

/// When datagrams come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At even intervals.
    #[default]
    Constant,
    /// At intervals that are uniform within half of the mean around it, as those of ns-2's constant bit rate with `random_`:
    /// an application whose timer is not in step with anything.
    Jittered,
    /// At exponential intervals: a Poisson process.
    Poisson,
}

/// Datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DatagramsConfig {
    /// When datagrams come: `constant`, `jittered` or `poisson`. Default constant.
    pub arrivals: Arrivals,
    /// Mean application data per time; the mean interval is the mean size over this. Default 1 Mbit/s.
    pub rate: BitRate,
    /// How large datagrams are, without the header that the endpoint adds. Default constant, 960 B.
    pub size: Drawn<Bytes>,
    /// The source ends after so many datagrams; by default never.
    pub count: Option<u64>,
}

impl Default for DatagramsConfig {
    fn default() -> Self {
        Self {
            arrivals: Arrivals::Constant,
            rate: BitRate::from_bits_per_sec(1_000_000),
            size: Distribution::constant(Bytes::new(960)).into(),
            count: None,
        }
    }
}

impl SourceKind for DatagramsConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "datagrams";

    fn check(&self, checker: &mut Checker) {
        checker.require(self.rate > BitRate::ZERO, "rate", self.rate, "a rate above zero");
        checker.within("size", |size| self.size.check(size));
        let finite = self.size.mean().is_finite();
        checker.require(finite, "size", "an infinite mean", "a distribution with a finite mean");
        if let Some(count) = self.count {
            checker.require(count > 0, "count", count, "at least 1 datagram");
        }
    }

    fn build(&self) -> BoxedSource {
        Box::new(Datagrams::new(self.clone()))
    }

    fn has_messages(&self) -> bool {
        false
    }
}

impl DatagramsConfig {
    /// The mean time from datagram to datagram.
    fn interval(&self) -> Span {
        let nanos = self.size.mean() * 8e9 / self.rate.bits_per_sec().max(1) as f64;
        Span::from_real(nanos)
    }
}

/// Datagrams, running.
#[derive(Clone, Debug)]
pub struct Datagrams {
    arrivals: Arrivals,
    interval: Span,
    size: Distribution<Bytes>,
    rate: BitRate,
    next: Option<Time>,
    left: u64,
}

impl Datagrams {
    /// A source that has not started.
    pub fn new(config: DatagramsConfig) -> Self {
        let interval = config.interval();
        let left = config.count.unwrap_or(u64::MAX);
        Self { arrivals: config.arrivals, interval, size: config.size.0, rate: config.rate, next: None, left }
    }

    fn gap(&self, rng: &mut Stream) -> Span {
        match self.arrivals {
            Arrivals::Constant => self.interval,
            Arrivals::Jittered => self.interval.mul_f64(0.5 + rng.uniform()),
            Arrivals::Poisson => Distribution::exponential(self.interval).sample(rng),
        }
    }
}

impl Source for Datagrams {
    fn start(&mut self, now: Time, rng: &mut Stream) {
        if self.left > 0 {
            // A Poisson process has no first point at its beginning.
            let wait = if self.arrivals == Arrivals::Poisson { self.gap(rng) } else { Span::ZERO };
            self.next = Some(now + wait);
        }
    }

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, rng: &mut Stream) -> Option<Offer> {
        let due = self.next.filter(|due| *due <= now)?;
        self.left -= 1;
        self.next = (self.left > 0).then(|| due + self.gap(rng));
        Some(Offer { bytes: self.size.sample(rng), new_connection: false, ends_message: false })
    }

    fn stated_rate(&self) -> Option<BitRate> {
        Some(self.rate)
    }

    fn on_message_done(&mut self, _: Time, _: &mut Stream) {}

    fn is_finished(&self) -> bool {
        self.left == 0
    }

    fn stop(&mut self, _: Time) {
        self.next = None;
        self.left = 0;
    }
}
