//! The synthetic video coder of RFC 8593 §5: frames whose sizes and intervals fluctuate around what the target rate asks for, a
//! coder that is slow to follow, and a burst after an abrupt change. A coder with a film and a quantiser is in `video.rs`;
//! RFC 8593's other model, which scales a recorded trace, is not here.
//!
//! | RFC 8593 | field | rule here |
//! | --- | --- | --- |
//! | `R_v`, target rate (§5.1) | | the rate that the flow's scheme directs, without headers; `R_min` before it directs any |
//! | `R_min`, `R_max` (§5.4) | `min_rate`, `max_rate` | `R_v` is clipped to them |
//! | `tau_v` (§5.1) | `reaction` | after a change of `R_v` was followed, no other is until `tau_v` has passed |
//! | `FPS`, `t0 = 1/FPS` (§5.3) | `frame_rate` | |
//! | `SCALE_t` (§5.3) | `interval_spread` | interval `t0 (1 + Δ)`, Δ Laplacian around 0 with this scale, the interval not below 0 |
//! | `SCALE_B` (§5.3) | `size_spread` | size `B0 (1 + Δ)`, `B0 = R_v/(8 FPS)`, at least 1 byte |
//! | `K_d`, `K_B` (§5.2) | `burst_frames`, `burst_size` | see below |
//!
//! The transient (§5.2) begins where an abrupt change is followed: one frame of `K_B`, then `K_d - 1` of
//! `(K_d B0 - K_B)/(K_d - 1)`, so that the mean of all `K_d` is `B0`. Nothing fluctuates meanwhile: §5.3 is of the steady state.
//!
//! What the RFC leaves open, and what was decided: a change is abrupt that is more than a part of the rate before it (`abrupt`);
//! at low rates, where the frames after the large one would need less than nothing, they have a fifth of `B0`, and the mean is
//! larger. Both are as in the authors' code, which differs elsewhere: it lets small changes of at most 10 % through at a time,
//! and the transient fluctuates. A request that comes while `tau_v` passes is not forgotten where it still stands
//! afterwards: schemes direct a rate, they do not repeat it. The rate of the first frame is no change.
//!
//! Laplacian numbers for sizes and for intervals are from streams of their own, which the first draw of the endpoint's stream
//! seeds: under two schemes the frames of one seed fluctuate alike. With every frame the source publishes its number from 0 on
//! (`frame`), its size in bytes (`frame_size`) and `R_v` in bit/s (`target_rate`). What waits to be sent does not change the
//! frames.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{AppHint, BitRate, Bytes, Checker, Span, Stream, Time};

use super::parts::{BoxedSource, Offer, Source, SourceKind};
use super::video::{VideoPause, check_pauses};

/// The least size of the frames after the large one of a burst, as a part of `B0`.
const LEAST_OF_BURST: f64 = 0.2;

/// The synthetic video coder of RFC 8593 §5. Names of the RFC stand at the fields; defaults are the example values of its figure 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SyntheticVideoConfig {
    /// Frames per second, 0.1 to 1000 (`FPS`; `t0` is one over it). Default 30.
    pub frame_rate: f64,
    /// The least rate of the coder, and the one before any is directed (`R_min`). Default 150 kbit/s.
    pub min_rate: BitRate,
    /// The largest rate of the coder (`R_max`). Default 1.5 Mbit/s.
    pub max_rate: BitRate,
    /// For how long no further change of the rate is followed after one was, up to 10 s (`tau_v`). Default 200 ms.
    pub reaction: Span,
    /// Scale of the Laplacian deviation of intervals between frames, relative to the mean one, 0 to 1 (`SCALE_t`); the
    /// standard deviation is √2 times that. Default 0.15.
    pub interval_spread: f64,
    /// Scale of the Laplacian deviation of frames' sizes, relative to the mean size, 0 to 1 (`SCALE_B`). Default 0.15.
    pub size_spread: f64,
    /// Frames of the burst after an abrupt change of the rate, 0 for none, at most 1000 (`K_d`). Default 8.
    pub burst_frames: u32,
    /// Size of the first frame of a burst (`K_B`). Default 13.5 kB.
    pub burst_size: Bytes,
    /// A change of the rate by more than this part of it is abrupt, 0 to 100. The RFC names none. Default 0.5, as in its
    /// authors' code.
    pub abrupt: f64,
    /// Times without frames, in order. Default none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<VideoPause>,
}

impl Default for SyntheticVideoConfig {
    fn default() -> Self {
        Self {
            frame_rate: 30.0,
            min_rate: BitRate::from_bits_per_sec(150_000),
            max_rate: BitRate::from_bits_per_sec(1_500_000),
            reaction: Span::from_millis(200),
            interval_spread: 0.15,
            size_spread: 0.15,
            burst_frames: 8,
            burst_size: Bytes::new(13_500),
            abrupt: 0.5,
            pauses: Vec::new(),
        }
    }
}

impl SourceKind for SyntheticVideoConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "synthetic-video";

    fn check(&self, checker: &mut Checker) {
        let rate = self.frame_rate;
        checker.require((0.1..=1000.0).contains(&rate), "frame_rate", rate, "0.1 to 1000 per second");
        checker.require(self.min_rate > BitRate::ZERO, "min_rate", self.min_rate, "a rate above zero");
        let allowed = format_args!("at least {} (min_rate)", self.min_rate);
        checker.require(self.max_rate >= self.min_rate, "max_rate", self.max_rate, allowed);
        let reacts = self.reaction >= Span::ZERO && self.reaction <= Span::from_secs(10);
        checker.require(reacts, "reaction", self.reaction, "0 s to 10 s");
        let spreads = [("interval_spread", self.interval_spread), ("size_spread", self.size_spread)];
        for (field, spread) in spreads {
            checker.require((0.0..=1.0).contains(&spread), field, spread, "0 to 1");
        }
        let frames = self.burst_frames;
        checker.require(frames <= 1000, "burst_frames", frames, "at most 1000 frames");
        checker.require(self.burst_size > Bytes::ZERO, "burst_size", self.burst_size, "at least 1 B");
        checker.require((0.0..=100.0).contains(&self.abrupt), "abrupt", self.abrupt, "0 to 100");
        check_pauses(&self.pauses, checker);
    }

    fn build(&self) -> BoxedSource {
        Box::new(SyntheticVideo::new(self.clone()))
    }
}

/// Zero-mean Laplacian numbers.
fn laplacian(rng: &mut Stream, scale: f64) -> f64 {
    scale * (rng.exponential() - rng.exponential())
}

/// The streams of the two fluctuations.
#[derive(Clone, Debug)]
struct Fluctuations {
    sizes: Stream,
    intervals: Stream,
}

impl Fluctuations {
    fn new(seed: u64) -> Self {
        Self { sizes: Stream::new(seed, "frame sizes"), intervals: Stream::new(seed, "frame intervals") }
    }
}

/// A synthetic coder, running.
#[derive(Clone, Debug)]
pub struct SyntheticVideo {
    config: SyntheticVideoConfig,
    /// `None` before the start.
    drawn: Option<Fluctuations>,
    /// `R_v` as it is followed, in bits per second.
    target: f64,
    /// When a change was followed last.
    changed: Option<Time>,
    /// How many frames of a burst are still to come.
    burst_left: u32,
    frame: u64,
    began: Time,
    next: Option<Time>,
    directed: Option<BitRate>,
    notes: [(&'static str, f64); 3],
}

impl SyntheticVideo {
    /// A coder that has not started.
    pub fn new(config: SyntheticVideoConfig) -> Self {
        Self {
            drawn: None,
            target: config.min_rate.bits_per_sec() as f64,
            changed: None,
            burst_left: 0,
            frame: 0,
            began: Time::ZERO,
            next: None,
            directed: None,
            notes: [("frame", f64::NAN), ("frame_size", f64::NAN), ("target_rate", f64::NAN)],
            config,
        }
    }

    /// Follows the directed rate, unless the last change is too fresh.
    fn follow(&mut self, now: Time) {
        let Some(directed) = self.directed else { return };
        let bits = |rate: BitRate| rate.bits_per_sec() as f64;
        let wanted = bits(directed).clamp(bits(self.config.min_rate), bits(self.config.max_rate));
        if self.frame == 0 {
            // It begins.
            self.target = wanted;
            return;
        }
        let is_busy = self.changed.is_some_and(|at| now < at + self.config.reaction);
        if is_busy || wanted == self.target {
            return;
        }
        if (wanted - self.target).abs() > self.config.abrupt * self.target {
            self.burst_left = self.config.burst_frames;
        }
        (self.target, self.changed) = (wanted, Some(now));
    }

    /// The next frame's size in bytes and the seconds until the one after it.
    fn code(&mut self, size_deviation: f64, interval_deviation: f64) -> (f64, f64) {
        let (size, interval) = (self.target / 8.0 / self.config.frame_rate, 1.0 / self.config.frame_rate);
        if self.burst_left == 0 {
            return (size * (1.0 + size_deviation), interval * (1.0 + interval_deviation).max(0.0));
        }
        let (frames, large) = (self.config.burst_frames, self.config.burst_size.as_f64());
        let is_first = self.burst_left == frames;
        self.burst_left -= 1;
        if is_first {
            return (large, interval);
        }
        let frames = f64::from(frames);
        let rest = (frames * size - large) / (frames - 1.0);
        (rest.max(LEAST_OF_BURST * size), interval)
    }

    /// Whether the camera is off at this time.
    fn is_off(&self, at: Time) -> bool {
        let began = self.began;
        self.config.pauses.iter().any(|pause| at >= began + pause.from && at < began + pause.to)
    }
}

impl Source for SyntheticVideo {
    fn start(&mut self, now: Time, rng: &mut Stream) {
        self.drawn = Some(Fluctuations::new(rng.below(u64::MAX)));
        self.began = now;
        self.next = Some(now);
    }

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, _: &mut Stream) -> Option<Offer> {
        while let Some(due) = self.next.filter(|due| *due <= now) {
            let drawn = self.drawn.as_mut()?;
            let size_deviation = laplacian(&mut drawn.sizes, self.config.size_spread);
            let interval_deviation = laplacian(&mut drawn.intervals, self.config.interval_spread);
            self.follow(due);
            let (size, interval) = self.code(size_deviation, interval_deviation);
            self.next = Some(due + Span::from_secs_f64(interval));
            self.frame += 1;
            if self.is_off(due) {
                continue;
            }
            let bytes = Bytes::from_f64(size.round().max(1.0));
            self.notes = [
                ("frame", (self.frame - 1) as f64),
                ("frame_size", bytes.as_f64()),
                ("target_rate", self.target),
            ];
            return Some(Offer { bytes, new_connection: false, ends_message: true });
        }
        None
    }

    fn tell(&mut self, hint: AppHint) {
        self.directed = hint.rate;
    }

    fn notes(&self) -> &[(&'static str, f64)] {
        &self.notes
    }

    fn on_message_done(&mut self, _: Time, _: &mut Stream) {}

    fn is_finished(&self) -> bool {
        self.drawn.is_some() && self.next.is_none()
    }

    fn stop(&mut self, _: Time) {
        self.next = None;
        self.drawn.get_or_insert_with(|| Fluctuations::new(0));
    }
}

#[cfg(test)]
mod tests;
