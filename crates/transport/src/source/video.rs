//! An MPEG-like video coder: groups of I, P and B frames of bursty sizes, whose quantiser is fixed or follows the rate
//! that the sender is told while it runs. What a quantiser is worth to a viewer is not decided here.
//!
//! Source: S. Keshav, "Packet-Pair Flow Control" (1994), §9.5, which feeds the flow control's rate back to the coder;
//! the rate control is that of MPEG-2 Test Model 5 (ISO/IEC JTC1/SC29/WG11 N0400, 1993, ch. 10):
//!
//! | rule | here |
//! | --- | --- |
//! | a part of a frame of complexity X coded with quantiser Q has `S = X/Q` bits | `code` |
//! | X of the next frame of a kind is taken to be that of the last | `expected` |
//! | a frame's target T is its part by X of the group's bits `R N/f`, no less than `R/(8 f)` | step 1, `target` |
//! | `Q = 31 d/r`, 1 to 31, `r = 2 R/f`, `d` a virtual buffer per kind that fills by S and drains by T slice by slice | step 2, `code` |
//!
//! So a frame that is costlier than expected, at a change of scene, is coded coarser towards its end. What waits to be sent
//! is taken off the group's bits, and a frame is skipped while more than a group's worth waits. The buffers stay between
//! nothing and r, so that a film that needs less than it may have does not save up. Step 3, which spreads bits over a
//! picture, changes no frame's size. Complexity is drawn from a stream of the source's own, which the first draw of the
//! endpoint's stream seeds: two controls of the same seed show the same film. With every frame the source publishes its
//! `quantiser`, its number from 0 on (`frame`; skipped ones are missing) and its size in bytes (`frame_size`).

use rand_distr::{Distribution as _, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{AppHint, BitRate, Bytes, Checker, Span, Stream, Time};

use super::parts::{BoxedSource, Offer, Source, SourceKind};

/// The smallest and largest quantiser of MPEG.
const QUANTISERS: (f64, f64) = (1.0, 31.0);
/// Slices of a frame, between which the quantiser may change.
const SLICES: u32 = 30;
/// What the virtual buffers hold at first, as parts of r: 10/31, for B frames 1.4 times that.
const FULLNESS: f64 = 10.0 / 31.0;
/// Frames of a group at most: more is no group.
const LONGEST: usize = 300;

/// What sets the quantiser.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum VideoControl {
    /// The rate that the flow's congestion control directs; before it has directed any, frames are coded at 31.
    Rate {
        /// The part of that rate that is filled, above 0, at most 1; default 0.95.
        #[serde(default = "share")]
        share: f64,
    },
    /// Nothing: the quantiser is fixed, and the rate is what the film asks for.
    Fixed {
        /// The quantiser, 1 to 31.
        quantiser: f64,
    },
}

fn share() -> f64 {
    0.95
}

/// A time in which the camera is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VideoPause {
    /// When it goes off, from the source's start on.
    pub from: Span,
    /// When it is on again, from the source's start on.
    pub to: Span,
}

/// Complains about pauses that are not in order, or empty.
pub(super) fn check_pauses(pauses: &[VideoPause], checker: &mut Checker) {
    let mut earliest = Span::ZERO;
    for (index, pause) in pauses.iter().enumerate() {
        let field = |end| format!("pauses[{index}].{end}");
        let allowed = format_args!("at least {earliest}, where the pause before it ends");
        checker.require(pause.from >= earliest, &field("from"), pause.from, allowed);
        let allowed = format_args!("more than {}, where the pause begins", pause.from);
        checker.require(pause.to > pause.from, &field("to"), pause.to, allowed);
        earliest = pause.to;
    }
}

/// A video coder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VideoConfig {
    /// The kinds of the frames of a group, `I`, `P` and `B`, an `I` first. Default `IBBPBBPBBPBB`.
    pub pattern: String,
    /// Frames per second. Default 24.
    pub frame_rate: f64,
    /// The film's mean rate at `reference`. Default 1.5 Mbit/s.
    pub rate: BitRate,
    /// The quantiser at which the film has that rate, 1 to 31. Default 8.
    pub reference: f64,
    /// Bits of an `I` frame relative to a `B` frame at one quantiser. Default 5.
    pub i_weight: f64,
    /// Bits of a `P` frame relative to a `B` frame at one quantiser. Default 2.
    pub p_weight: f64,
    /// Standard deviation of the logarithm of frames' complexity around their scene's. Default 0.25.
    pub jitter: f64,
    /// The chance that a group begins a new scene. Default 0.08.
    pub scene_chance: f64,
    /// Standard deviation of the logarithm of scenes' complexity. Default 0.35.
    pub scene_spread: f64,
    /// What sets the quantiser. Default the directed rate.
    pub control: VideoControl,
    /// Times without frames, in order; the film goes on meanwhile. Default none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<VideoPause>,
}

impl Default for VideoConfig {
    fn default() -> Self {
        Self {
            pattern: "IBBPBBPBBPBB".to_owned(),
            frame_rate: 24.0,
            rate: BitRate::from_bits_per_sec(1_500_000),
            reference: 8.0,
            i_weight: 5.0,
            p_weight: 2.0,
            jitter: 0.25,
            scene_chance: 0.08,
            scene_spread: 0.35,
            control: VideoControl::Rate { share: share() },
            pauses: Vec::new(),
        }
    }
}

impl SourceKind for VideoConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "video";

    fn check(&self, checker: &mut Checker) {
        let pattern = &self.pattern;
        let kinds = pattern.starts_with('I') && pattern.chars().all(|kind| "IPB".contains(kind));
        let ok = kinds && pattern.len() <= LONGEST;
        checker.require(ok, "pattern", format_args!("{pattern:?}"), "an I, then at most 299 of I, P and B");
        let rate = self.frame_rate;
        checker.require((0.1..=1000.0).contains(&rate), "frame_rate", rate, "0.1 to 1000 per second");
        checker.require(self.rate > BitRate::ZERO, "rate", self.rate, "a rate above zero");
        let quantiser = |value: f64| (QUANTISERS.0..=QUANTISERS.1).contains(&value);
        checker.require(quantiser(self.reference), "reference", self.reference, "1 to 31");
        for (field, weight) in [("i_weight", self.i_weight), ("p_weight", self.p_weight)] {
            checker.require((0.01..=1000.0).contains(&weight), field, weight, "0.01 to 1000");
        }
        for (field, deviation) in [("jitter", self.jitter), ("scene_spread", self.scene_spread)] {
            checker.require((0.0..=3.0).contains(&deviation), field, deviation, "0 to 3");
        }
        let chance = self.scene_chance;
        checker.require((0.0..=1.0).contains(&chance), "scene_chance", chance, "0 to 1");
        checker.within("control", |control| match self.control {
            VideoControl::Rate { share } => {
                control.require(share > 0.0 && share <= 1.0, "share", share, "a part above 0, at most 1");
            }
            VideoControl::Fixed { quantiser: value } => {
                control.require(quantiser(value), "quantiser", value, "1 to 31");
            }
        });
        check_pauses(&self.pauses, checker);
    }

    fn build(&self) -> BoxedSource {
        Box::new(Video::new(self.clone()))
    }
}

impl VideoConfig {
    /// Mean complexity of a frame of each kind in the pattern: bits times quantiser.
    fn complexities(&self) -> Vec<f64> {
        let weight = |kind: char| match kind {
            'I' => self.i_weight,
            'P' => self.p_weight,
            _ => 1.0,
        };
        let weights: Vec<f64> = self.pattern.chars().map(weight).collect();
        let group_bits = self.rate.bits_per_sec() as f64 * weights.len() as f64 / self.frame_rate;
        let unit = group_bits * self.reference / weights.iter().sum::<f64>();
        weights.into_iter().map(|weight| weight * unit).collect()
    }
}

/// A film: what every frame would cost.
#[derive(Clone, Debug)]
struct Film {
    rng: Stream,
    scene: f64,
}

impl Film {
    /// The logarithm of a normal factor of mean 1.
    fn spread(&mut self, deviation: f64) -> f64 {
        let normal: f64 = StandardNormal.sample(&mut self.rng);
        deviation * (normal - 0.5 * deviation)
    }

    /// The next frame's complexity relative to its kind's mean. Draws the same whatever the control does.
    fn next(&mut self, first: bool, config: &VideoConfig) -> f64 {
        if first {
            let fresh = self.spread(config.scene_spread);
            if self.rng.chance(config.scene_chance) || self.scene.is_nan() {
                self.scene = fresh;
            }
        }
        let jitter = self.spread(config.jitter);
        (self.scene + jitter).exp()
    }
}

/// A video coder, running.
#[derive(Clone, Debug)]
pub struct Video {
    config: VideoConfig,
    film: Option<Film>,
    /// Per place in the group: the mean complexity, and what is expected after the last frame of that kind.
    mean: Vec<f64>,
    kinds: Vec<u8>,
    expected: [f64; 256],
    /// Per kind: the virtual buffer in bits; `None` before the first frame of the kind.
    fullness: [Option<f64>; 256],
    frame: u64,
    began: Time,
    next: Option<Time>,
    hint: AppHint,
    notes: [(&'static str, f64); 3],
}

impl Video {
    /// A coder that has not started.
    pub fn new(config: VideoConfig) -> Self {
        let mean = config.complexities();
        let kinds: Vec<u8> = config.pattern.bytes().collect();
        let mut expected = [0.0; 256];
        for (kind, mean) in kinds.iter().zip(&mean) {
            expected[usize::from(*kind)] = *mean;
        }
        Self {
            film: None,
            mean,
            kinds,
            expected,
            fullness: [None; 256],
            frame: 0,
            began: Time::ZERO,
            next: None,
            hint: AppHint::default(),
            notes: [("quantiser", f64::NAN), ("frame", f64::NAN), ("frame_size", f64::NAN)],
            config,
        }
    }

    fn due(&self) -> Time {
        self.began + Span::from_secs_f64(self.frame as f64 / self.config.frame_rate)
    }

    /// Whether the camera is off when the next frame is due.
    fn is_off(&self) -> bool {
        let (due, began) = (self.due(), self.began);
        self.config.pauses.iter().any(|pause| due >= began + pause.from && due < began + pause.to)
    }

    /// The bits of a frame of this complexity at this place; `None` to skip it.
    fn code(&mut self, place: usize, complexity: f64) -> Option<f64> {
        let share = match self.config.control {
            VideoControl::Fixed { quantiser } => return Some(complexity / quantiser),
            VideoControl::Rate { share } => share,
        };
        let Some(rate) = self.hint.rate else { return Some(complexity / QUANTISERS.1) };
        let rate = share * rate.bits_per_sec() as f64;
        let target = self.target(place, rate)?;
        let kind = self.kinds[place];
        let reaction = (2.0 * rate / self.config.frame_rate).max(1.0);
        let initial = if kind == b'B' { 1.4 * FULLNESS } else { FULLNESS };
        let (mut fullness, mut bits) = (self.fullness[usize::from(kind)].unwrap_or(initial * reaction), 0.0);
        let slices = f64::from(SLICES);
        for _ in 0..SLICES {
            let quantiser = (31.0 * fullness / reaction).clamp(QUANTISERS.0, QUANTISERS.1);
            let slice = complexity / slices / quantiser;
            bits += slice;
            fullness = (fullness + slice - target / slices).clamp(0.0, reaction);
        }
        self.fullness[usize::from(kind)] = Some(fullness);
        Some(bits)
    }

    /// The bits that the frame at this place should have of `rate` bits per second; `None` to skip it.
    fn target(&self, place: usize, rate: f64) -> Option<f64> {
        let expected = |kind: &u8| self.expected[usize::from(*kind)];
        let group = rate * self.kinds.len() as f64 / self.config.frame_rate;
        let waiting = 8.0 * self.hint.backlog.as_f64();
        if waiting > group {
            return None;
        }
        let part = expected(&self.kinds[place]) / self.kinds.iter().map(expected).sum::<f64>();
        Some((part * (group - waiting)).max(rate / (8.0 * self.config.frame_rate)))
    }
}

impl Source for Video {
    fn start(&mut self, now: Time, rng: &mut Stream) {
        self.film = Some(Film { rng: Stream::new(rng.below(u64::MAX), "film"), scene: f64::NAN });
        self.began = now;
        self.next = Some(now);
    }

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, _: &mut Stream) -> Option<Offer> {
        while self.next.is_some_and(|due| due <= now) {
            let place = (self.frame % self.kinds.len() as u64) as usize;
            let (off, factor) = (self.is_off(), self.film.as_mut()?.next(place == 0, &self.config));
            self.frame += 1;
            self.next = Some(self.due());
            if off {
                continue;
            }
            let complexity = factor * self.mean[place];
            let Some(bits) = self.code(place, complexity) else {
                continue;
            };
            self.expected[usize::from(self.kinds[place])] = complexity;
            let bytes = Bytes::from_f64((bits / 8.0).max(1.0).round());
            self.notes = [
                ("quantiser", complexity / bits),
                ("frame", (self.frame - 1) as f64),
                ("frame_size", bytes.as_f64()),
            ];
            return Some(Offer { bytes, new_connection: false, ends_message: true });
        }
        None
    }

    fn tell(&mut self, hint: AppHint) {
        self.hint = hint;
    }

    /// Of a film of fixed quality: factors of frames and scenes have mean 1.
    fn stated_rate(&self) -> Option<BitRate> {
        match self.config.control {
            VideoControl::Fixed { quantiser } => {
                Some(self.config.rate.mul_f64(self.config.reference / quantiser))
            }
            VideoControl::Rate { .. } => None,
        }
    }

    fn notes(&self) -> &[(&'static str, f64)] {
        &self.notes
    }

    fn on_message_done(&mut self, _: Time, _: &mut Stream) {}

    fn is_finished(&self) -> bool {
        self.film.is_some() && self.next.is_none()
    }

    fn stop(&mut self, _: Time) {
        self.next = None;
        self.film.get_or_insert_with(|| Film { rng: Stream::new(0, "film"), scene: f64::NAN });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Span = Span::from_nanos(41_666_667);

    fn coded(config: &VideoConfig, frames: u32, mut hint: impl FnMut(u32) -> AppHint) -> Vec<(u64, f64)> {
        let mut video = Video::new(config.clone());
        let mut rng = Stream::new(1, "video");
        video.start(Time::ZERO, &mut rng);
        let mut found = Vec::new();
        for frame in 0..frames {
            video.tell(hint(frame));
            if let Some(offer) = video.take_offer(Time::ZERO + FRAME * u64::from(frame), &mut rng) {
                found.push((offer.bytes.get(), video.notes()[0].1));
            }
        }
        found
    }

    fn told(megabits: f64) -> AppHint {
        AppHint { rate: Some(BitRate::from_bits_per_sec_f64(megabits * 1e6)), ..AppHint::default() }
    }

    fn rate_of(frames: &[(u64, f64)]) -> f64 {
        frames.iter().map(|frame| frame.0 as f64 * 8.0).sum::<f64>() * 24.0 / frames.len() as f64
    }

    #[test]
    fn a_fixed_quantiser_has_the_films_rate() {
        let control = VideoControl::Fixed { quantiser: 8.0 };
        let film = VideoConfig { control, scene_chance: 1.0, ..VideoConfig::default() };
        let rate = rate_of(&coded(&film, 12_000, |_| AppHint::default()));
        assert!((rate / 1.5e6 - 1.0).abs() < 0.05, "{rate}");
    }

    #[test]
    fn twice_the_quantiser_is_half_the_bits_of_the_same_film() {
        let fixed =
            |quantiser| VideoConfig { control: VideoControl::Fixed { quantiser }, ..VideoConfig::default() };
        let (fine, coarse) =
            (coded(&fixed(8.0), 100, |_| AppHint::default()), coded(&fixed(16.0), 100, |_| told(5.0)));
        for (fine, coarse) in fine.iter().zip(&coarse) {
            assert!((fine.0 as f64 / coarse.0 as f64 - 2.0).abs() < 0.02, "{fine:?} {coarse:?}");
        }
    }

    #[test]
    fn the_rate_is_followed_within_a_group() {
        let config = VideoConfig::default();
        let frames = coded(&config, 960, |frame| told(if frame < 480 { 2.0 } else { 0.7 }));
        for (part, megabits) in [(&frames[48..480], 2.0), (&frames[492..960], 0.7)] {
            let rate = rate_of(part);
            assert!((rate / (0.95e6 * megabits) - 1.0).abs() < 0.1, "{rate} for {megabits} Mbit/s");
        }
    }

    #[test]
    fn what_waits_is_coded_less_and_too_much_skips() {
        let config = VideoConfig::default();
        let waiting =
            |seconds: f64| AppHint { backlog: Bytes::from_f64(0.95 * 125_000.0 * seconds), ..told(1.0) };
        let free = rate_of(&coded(&config, 240, |_| waiting(0.0)));
        let behind = rate_of(&coded(&config, 240, |_| waiting(0.25)));
        assert!(behind < 0.6 * free, "{behind} of {free}");
        assert_eq!(coded(&config, 240, |_| waiting(0.51)), []);
    }

    #[test]
    fn a_change_of_scene_is_coded_coarser_not_much_larger() {
        let config =
            VideoConfig { jitter: 0.0, scene_spread: 0.5, scene_chance: 0.3, ..VideoConfig::default() };
        let frames = coded(&config, 2400, |_| told(1.5));
        let largest = frames.iter().map(|frame| frame.0).max().unwrap_or(0) as f64;
        // An I frame's part of a group of half a second is 5/19; twice that at the most, with r on top.
        let target = 0.95 * 1.5e6 / 8.0 * 0.5 * 5.0 / 19.0;
        assert!(largest < 2.0 * target, "{largest} for {target}");
    }

    #[test]
    fn a_pause_has_no_frames_and_changes_none_behind_it() {
        let fixed = VideoConfig {
            control: VideoControl::Fixed { quantiser: 8.0 },
            scene_chance: 0.3,
            ..VideoConfig::default()
        };
        let pause = VideoPause { from: Span::from_secs(1), to: Span::from_secs(3) };
        let paused = VideoConfig { pauses: vec![pause], ..fixed.clone() };
        let (whole, parts) =
            (coded(&fixed, 120, |_| AppHint::default()), coded(&paused, 120, |_| AppHint::default()));
        // 24 frames per second: the frames due at 1 s and later, and before 3 s, are missing.
        assert_eq!(parts, [&whole[..24], &whole[72..]].concat());
    }

    #[test]
    fn pauses_are_in_order_and_last() {
        let complaints = |from, to| {
            let second = VideoPause { from: Span::from_secs(from), to: Span::from_secs(to) };
            let first = VideoPause { from: Span::from_secs(1), to: Span::from_secs(3) };
            let mut checker = Checker::new();
            VideoConfig { pauses: vec![first, second], ..VideoConfig::default() }.check(&mut checker);
            checker.finish().err().map(|found| found.iter().map(|one| one.field.clone()).collect::<Vec<_>>())
        };
        assert_eq!(complaints(3, 4), None);
        assert_eq!(complaints(2, 4), Some(vec!["pauses[1].from".to_owned()]));
        assert_eq!(complaints(4, 4), Some(vec!["pauses[1].to".to_owned()]));
    }

    #[test]
    fn before_any_rate_is_told_frames_are_as_small_as_can_be() {
        assert!(
            coded(&VideoConfig::default(), 24, |_| AppHint::default())
                .iter()
                .all(|frame| (frame.1 - 31.0).abs() < 1e-9)
        );
    }
}
