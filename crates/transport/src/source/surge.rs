//! Web traffic of SURGE's user equivalents: pages of files, fetched one after another with short pauses between them and
//! long ones between pages. Files with sizes and pauses of any distribution are in `files.rs`.
//!
//! Source: Barford and Crovella, "Generating Representative Web Workloads for Network and Server Performance Evaluation",
//! SIGMETRICS 1998, whose parameters are the defaults:
//!
//! | | distribution | parameters |
//! | --- | --- | --- |
//! | sizes of requested files | Pareto | least 1000 B, shape 1.0 |
//! | sizes of files, body | log-normal | μ 9.357, σ 1.318 of the natural logarithm of bytes |
//! | sizes of files, tail | Pareto | from 133 kB, shape 1.1 |
//! | files of a page | Pareto | least 1, shape 2.43, cut to whole files |
//! | pauses within a page (active OFF) | Weibull | scale 1.46 s, shape 0.382 |
//! | pauses between pages (inactive OFF) | Pareto | least 1 s, shape 1.5 |
//!
//! A user equivalent is one thread: it asks for a file, waits until all of it has arrived, pauses, and asks for the next.
//! The load is closed: a slow network slows its users down. Offered load is set by the number of flows.
//!
//! Inferred, where the paper leaves a choice: the distribution of embedded references is taken for that of the files of
//! a page, the first of them its base file; a pause within a page stays below the second that tells active from inactive
//! pauses; sizes are cut at a largest file, since a mean of shape 1 is infinite, by default at what the largest of the
//! paper's 2000 files is likely to be.
//!
//! Left out, since a network carries bytes and not names: which file is asked for. So there is no popularity (Zipf) but
//! for its effect on sizes, by which requested files are smaller than the files of a server, and no temporal locality,
//! which matters to caches. Nor are there requests on the way up, a server's time to think, parallel connections of one
//! user, or the pipelining of HTTP/1.1.

use rand_distr::Distribution as _;
use rand_distr::StandardNormal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, Span, Stream, Time};

use super::Quantity;
use super::parts::{BoxedSource, Offer, Source, SourceKind};

/// Which files are fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SurgeSizes {
    /// Files as they are asked for: Pareto, cut at the largest file.
    Requests {
        /// The smallest file. Published 1000 B.
        #[serde(default = "requests_min")]
        min: Bytes,
        /// The tail's exponent. Published 1.0.
        #[serde(default = "one")]
        shape: f64,
        /// The largest file. Default 12 MB, the likely largest of the 140 tail files among 2000 (inferred).
        #[serde(default = "largest")]
        max: Bytes,
    },
    /// Files as they lie on a server, each as likely as the others: a log-normal body below a Pareto tail.
    Files {
        /// Mean of the natural logarithm of the body's bytes. Published 9.357.
        #[serde(default = "body_mu")]
        mu: f64,
        /// Standard deviation of the natural logarithm of the body's bytes. Published 1.318.
        #[serde(default = "body_sigma")]
        sigma: f64,
        /// Where the tail begins. Published 133 kB.
        #[serde(default = "tail_min")]
        tail: Bytes,
        /// The tail's exponent. Published 1.1.
        #[serde(default = "tail_shape")]
        tail_shape: f64,
        /// The part of files in the tail. Default 0.07.
        #[serde(default = "tail_part")]
        tail_part: f64,
        /// The largest file. Default 12 MB, the likely largest of the 140 tail files among 2000 (inferred).
        #[serde(default = "largest")]
        max: Bytes,
    },
}

const fn requests_min() -> Bytes {
    Bytes::new(1000)
}
const fn one() -> f64 {
    1.0
}
/// 133 kB · 140^(1/1.1)
const fn largest() -> Bytes {
    Bytes::new(12_000_000)
}
const fn body_mu() -> f64 {
    9.357
}
const fn body_sigma() -> f64 {
    1.318
}
const fn tail_min() -> Bytes {
    Bytes::new(133_000)
}
const fn tail_shape() -> f64 {
    1.1
}
const fn tail_part() -> f64 {
    0.07
}

impl Default for SurgeSizes {
    fn default() -> Self {
        Self::Requests { min: requests_min(), shape: 1.0, max: largest() }
    }
}

impl SurgeSizes {
    fn sample(&self, rng: &mut Stream) -> Bytes {
        match *self {
            Self::Requests { min, shape, max } => Bytes::from_real(cut_pareto(min, shape, max, rng)),
            Self::Files { mu, sigma, tail, tail_shape, tail_part, max } => {
                if rng.chance(tail_part) {
                    return Bytes::from_real(cut_pareto(tail, tail_shape, max, rng));
                }
                // The body ends where the tail begins; a check sees to it that most draws do.
                loop {
                    let normal: f64 = StandardNormal.sample(rng);
                    let size = (mu + sigma * normal).exp();
                    if size < tail.as_f64() {
                        return Bytes::from_real(size);
                    }
                }
            }
        }
    }

    fn check(&self, checker: &mut Checker) {
        let exponent = |field: &str, value: f64, checker: &mut Checker| {
            checker.require(value > 0.0 && value <= 100.0, field, value, "above 0, at most 100");
        };
        let (least, max) = match *self {
            Self::Requests { min, shape, max } => {
                checker.require(min > Bytes::ZERO, "min", min, "at least 1 B");
                exponent("shape", shape, checker);
                (min, max)
            }
            Self::Files { mu, sigma, tail, tail_shape, tail_part, max } => {
                checker.require((0.0..=40.0).contains(&mu), "mu", mu, "0 to 40");
                checker.require((0.0..=10.0).contains(&sigma), "sigma", sigma, "0 to 10");
                let ok = tail.as_f64() > mu.exp();
                checker.require(ok, "tail", tail, "more than the body's median, exp(mu) bytes");
                exponent("tail_shape", tail_shape, checker);
                checker.require((0.0..=1.0).contains(&tail_part), "tail_part", tail_part, "0 to 1");
                (tail, max)
            }
        };
        let ok = max > least && max < Bytes::MAX;
        checker.require(ok, "max", max, format_args!("more than the smallest ({least})"));
    }
}

/// Pareto from `min` on with what lies above `max` left out: `P(X > x) = ((min/x)^a - (min/max)^a) / (1 - (min/max)^a)`.
fn cut_pareto(min: Bytes, shape: f64, max: Bytes, rng: &mut Stream) -> f64 {
    let above = (min.as_f64() / max.as_f64()).powf(shape);
    let part = above + rng.uniform_positive() * (1.0 - above);
    min.as_f64() * part.powf(-1.0 / shape)
}

/// What carries the files of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SurgeConnection {
    /// A new connection for every file, as HTTP/1.0 has it.
    #[default]
    PerFile,
    /// A new connection for every page, as HTTP/1.1 has it.
    PerPage,
    /// One connection that is kept.
    Kept,
}

/// A user of the web.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SurgeConfig {
    /// How large files are, headers not counted: `{ name = "requests" }`, the default, or `{ name = "files" }`.
    pub sizes: SurgeSizes,
    /// The exponent of the Pareto distribution, from 1 on, of a page's number of files. Default 2.43.
    pub page_shape: f64,
    /// The scale of the Weibull distribution of pauses within a page (active OFF). Default 1.46 s.
    pub active_scale: Span,
    /// Its exponent. Default 0.382.
    pub active_shape: f64,
    /// No pause within a page is longer; what would be is drawn again. Default 1 s (inferred).
    pub active_max: Span,
    /// The shortest pause between pages (inactive OFF). Default 1 s.
    pub inactive_min: Span,
    /// The exponent of the Pareto distribution of pauses between pages. Default 1.5.
    pub inactive_shape: f64,
    /// What carries the files: `per-file`, `per-page` or `kept`. Default per-file, as HTTP/1.0 has it.
    pub connection: SurgeConnection,
    /// The user leaves after so many pages; by default never.
    pub pages: Option<u64>,
    /// Whether the user begins with a pause, so that many of them do not begin in step. Default true.
    pub pause_first: bool,
}

impl Default for SurgeConfig {
    fn default() -> Self {
        Self {
            sizes: SurgeSizes::default(),
            page_shape: 2.43,
            active_scale: Span::from_millis(1460),
            active_shape: 0.382,
            active_max: Span::from_secs(1),
            inactive_min: Span::from_secs(1),
            inactive_shape: 1.5,
            connection: SurgeConnection::PerFile,
            pages: None,
            pause_first: true,
        }
    }
}

impl SourceKind for SurgeConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "surge";

    fn check(&self, checker: &mut Checker) {
        checker.within("sizes", |sizes| self.sizes.check(sizes));
        for (field, value) in [
            ("page_shape", self.page_shape),
            ("active_shape", self.active_shape),
            ("inactive_shape", self.inactive_shape),
        ] {
            let ok = (0.05..=100.0).contains(&value);
            checker.require(ok, field, value, "0.05 to 100");
        }
        for (field, value) in [
            ("active_scale", self.active_scale),
            ("active_max", self.active_max),
            ("inactive_min", self.inactive_min),
        ] {
            let ok = !value.is_zero() && value <= Span::from_secs(1_000_000);
            checker.require(ok, field, value, "more than 0 s, at most 1000000 s");
        }
        if let Some(pages) = self.pages {
            checker.require(pages > 0, "pages", pages, "at least 1 page");
        }
    }

    fn build(&self) -> BoxedSource {
        Box::new(Surge::new(self.clone()))
    }
}

impl SurgeConfig {
    /// The number of a page's files, its base file included.
    fn page(&self, rng: &mut Stream) -> u64 {
        // A page of more would never end.
        (rng.pareto(self.page_shape) as u64).clamp(1, 100_000)
    }

    /// A pause within a page: the Weibull distribution as it is below its longest value.
    fn active(&self, rng: &mut Stream) -> Span {
        let longest = self.active_max.ratio(self.active_scale).powf(self.active_shape);
        // Of the whole distribution, this part is at or below the longest.
        let part = -(-longest).exp_m1();
        let exponential = -(-rng.uniform() * part).ln_1p();
        Span::from_real(self.active_scale.to_real() * exponential.powf(1.0 / self.active_shape))
    }

    fn inactive(&self, rng: &mut Stream) -> Span {
        Span::from_real(self.inactive_min.to_real() * rng.pareto(self.inactive_shape))
    }
}

/// A user, at work.
#[derive(Clone, Debug)]
pub struct Surge {
    config: SurgeConfig,
    next: Option<Time>,
    /// Files of the page that are still to be fetched.
    left: u64,
    pages: u64,
    begun: bool,
    awaiting: bool,
    finished: bool,
}

impl Surge {
    /// A user who has not started.
    pub const fn new(config: SurgeConfig) -> Self {
        Self { config, next: None, left: 0, pages: 0, begun: false, awaiting: false, finished: false }
    }
}

impl Source for Surge {
    fn start(&mut self, now: Time, rng: &mut Stream) {
        if self.finished {
            return;
        }
        let pause = if self.config.pause_first { self.config.inactive(rng) } else { Span::ZERO };
        self.next = Some(now + pause);
    }

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, rng: &mut Stream) -> Option<Offer> {
        self.next.take_if(|due| *due <= now)?;
        let is_base = self.left == 0;
        if is_base {
            self.left = self.config.page(rng);
            self.pages += 1;
        }
        self.left -= 1;
        let new_connection = self.begun
            && match self.config.connection {
                SurgeConnection::PerFile => true,
                SurgeConnection::PerPage => is_base,
                SurgeConnection::Kept => false,
            };
        self.begun = true;
        self.finished = self.left == 0 && self.config.pages.is_some_and(|pages| self.pages >= pages);
        self.awaiting = !self.finished;
        Some(Offer { bytes: self.config.sizes.sample(rng), new_connection, ends_message: true })
    }

    fn on_message_done(&mut self, now: Time, rng: &mut Stream) {
        if std::mem::take(&mut self.awaiting) {
            let pause = if self.left > 0 { self.config.active(rng) } else { self.config.inactive(rng) };
            self.next = Some(now + pause);
        }
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn stop(&mut self, _: Time) {
        self.next = None;
        self.awaiting = false;
        self.finished = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 40_000;

    fn draws(mut draw: impl FnMut(&mut Stream) -> f64) -> Vec<f64> {
        let mut rng = Stream::new(17, "surge");
        let mut values: Vec<f64> = (0..DRAWS).map(|_| draw(&mut rng)).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Kolmogorov's and Smirnov's test at 1 %: the largest distance of the two distribution functions is below 1.63/√n.
    fn agrees(values: &[f64], distribution: impl Fn(f64) -> f64) {
        let count = values.len() as f64;
        let distance = values.iter().enumerate().fold(0.0_f64, |most, (index, value)| {
            let expected = distribution(*value);
            most.max(expected - index as f64 / count).max((index + 1) as f64 / count - expected)
        });
        assert!(distance < 1.63 / count.sqrt(), "{distance}");
    }

    /// The part of draws at or below each quantile is that of the quantile, within four standard deviations.
    fn has_quantiles(values: &[f64], quantiles: &[(f64, f64)]) {
        for (part, quantile) in quantiles {
            let seen = values.partition_point(|value| value <= quantile) as f64 / values.len() as f64;
            let deviation = (part * (1.0 - part) / values.len() as f64).sqrt();
            assert!((seen - part).abs() < 4.0 * deviation, "{seen} of the draws are at most {quantile}");
        }
    }

    fn pareto(min: f64, shape: f64, max: f64) -> impl Fn(f64) -> f64 {
        move |x| (1.0 - (min / x).powf(shape)) / (1.0 - (min / max).powf(shape))
    }

    #[test]
    fn requested_files_are_pareto_up_to_the_largest() {
        let sizes = SurgeSizes::default();
        let values = draws(|rng| sizes.sample(rng).as_f64());
        // Sizes are whole bytes: half a byte less than a size is as likely as the size.
        agrees(&values, |x| pareto(1000.0, 1.0, 12e6)(x.max(1000.0)));
        assert!(values[0] >= 1000.0 && values[DRAWS - 1] <= 12e6);
        // min · ln(max/min) / (1 - min/max)
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        assert!((mean / 9393.5 - 1.0).abs() < 0.15, "{mean}");
    }

    #[test]
    fn files_have_a_lognormal_body_and_a_pareto_tail() {
        let files = || serde_json::from_str(r#"{ "name": "files" }"#).expect("the published one");
        let sizes: SurgeSizes = files();
        let values = draws(|rng| sizes.sample(rng).as_f64());
        let (body, tail) = values.split_at(values.partition_point(|value| *value < 133_000.0));
        let part = tail.len() as f64 / DRAWS as f64;
        assert!((part - 0.07).abs() < 4.0 * (0.07 * 0.93 / DRAWS as f64).sqrt(), "{part}");
        agrees(tail, pareto(133e3, 1.1, 12e6));
        // scipy.stats.lognorm(s=1.318, scale=exp(9.357)), cut at 133 kB.
        let quantiles = [(0.05, 1297.7), (0.25, 4603.4), (0.5, 10_983.2), (0.75, 25_560.2), (0.95, 73_520.0)];
        has_quantiles(body, &quantiles);
    }

    #[test]
    fn pauses_are_weibull_within_pages_and_pareto_between() {
        let config = SurgeConfig::default();
        let active = draws(|rng| config.active(rng).as_secs_f64());
        // scipy.stats.weibull_min(0.382, scale=1.46), cut at 1 s.
        has_quantiles(
            &active,
            &[
                (0.05, 0.000_142_609),
                (0.25, 0.011_349_941),
                (0.5, 0.087_920_367),
                (0.75, 0.334_810_832),
                (0.95, 0.811_052_84),
            ],
        );
        assert!(active[DRAWS - 1] <= 1.0);
        let weibull = |x: f64| 1.0 - (-(x / 1.46).powf(0.382)).exp();
        agrees(&active, |x| weibull(x) / weibull(1.0));
        let inactive = draws(|rng| config.inactive(rng).as_secs_f64());
        agrees(&inactive, pareto(1.0, 1.5, f64::INFINITY));
    }

    #[test]
    fn pages_have_whole_files() {
        let config = SurgeConfig::default();
        let files = draws(|rng| config.page(rng) as f64);
        // P(N ≥ n) = n^-2.43.
        for count in 1..6_u32 {
            let count = f64::from(count);
            let seen = (DRAWS - files.partition_point(|value| *value < count)) as f64 / DRAWS as f64;
            assert!((seen - count.powf(-2.43)).abs() < 0.01, "{seen} have {count} files or more");
        }
    }
}
