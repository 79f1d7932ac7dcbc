//! The synthetic coder against RFC 8593 §5: moments of frames, the latency, the burst and the clipping.

use super::*;

/// A frame: when it came, its bytes.
type Frame = (f64, f64);

fn told(kilobits: f64) -> AppHint {
    AppHint { rate: Some(BitRate::from_bits_per_sec_f64(kilobits * 1e3)), ..AppHint::default() }
}

/// The frames of the first seconds under a rate in kbit/s by time.
fn coded(config: &SyntheticVideoConfig, seconds: f64, rate: impl Fn(f64) -> f64) -> Vec<Frame> {
    let (mut video, mut rng) = (SyntheticVideo::new(config.clone()), Stream::new(1, "video"));
    video.start(Time::ZERO, &mut rng);
    let mut frames = Vec::new();
    while let Some(due) = video.next_offer().filter(|due| due.since(Time::ZERO).as_secs_f64() < seconds) {
        let at = due.since(Time::ZERO).as_secs_f64();
        video.tell(told(rate(at)));
        if let Some(offer) = video.take_offer(due, &mut rng) {
            frames.push((at, offer.bytes.as_f64()));
        }
    }
    frames
}

/// Nothing fluctuates, and no change is abrupt.
fn even() -> SyntheticVideoConfig {
    SyntheticVideoConfig {
        interval_spread: 0.0,
        size_spread: 0.0,
        burst_frames: 0,
        ..SyntheticVideoConfig::default()
    }
}

/// Mean, standard deviation, and mean of the absolute deviation.
fn moments(values: &[f64]) -> (f64, f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt(), values.iter().map(|value| (value - mean).abs()).sum::<f64>() / count)
}

fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let (a, b) = (moments(left), moments(right));
    let joint = left.iter().zip(right).map(|(x, y)| (x - a.0) * (y - b.0)).sum::<f64>() / left.len() as f64;
    joint / a.1 / b.1
}

/// §5.3: deviations relative to `t0` and `B0` are Laplacian of the scales given: standard deviation √2 σ, mean absolute
/// deviation σ (a normal one would have 1.13 σ). 60 000 frames: an interval of four standard errors is 2.6 % of the deviations.
#[test]
fn sizes_and_intervals_have_the_models_moments() {
    let config =
        SyntheticVideoConfig { interval_spread: 0.1, burst_frames: 0, ..SyntheticVideoConfig::default() };
    let frames = coded(&config, 2000.0, |_| 1200.0);
    let sizes: Vec<f64> = frames.iter().map(|frame| frame.1 / 5000.0).collect();
    let intervals: Vec<f64> = frames.windows(2).map(|pair| (pair[1].0 - pair[0].0) * 30.0).collect();
    for (values, scale) in [(&sizes, 0.15), (&intervals, 0.1)] {
        let (mean, deviation, absolute) = moments(values);
        assert!((mean - 1.0).abs() < 0.004, "{mean} for {scale}");
        assert!((deviation / (2.0_f64.sqrt() * scale) - 1.0).abs() < 0.026, "{deviation} for {scale}");
        assert!((absolute / scale - 1.0).abs() < 0.026, "{absolute} for {scale}");
    }
    // Independent of each other and from frame to frame: four over the root of their number.
    let apart = 4.0 / (intervals.len() as f64).sqrt();
    assert!(correlation(&sizes[1..], &intervals).abs() < apart);
    assert!(correlation(&sizes[1..], &sizes[..sizes.len() - 1]).abs() < apart);
    assert!(correlation(&intervals[1..], &intervals[..intervals.len() - 1]).abs() < apart);
}

/// §5.1: a change is followed at once, and then none until `tau_v` is over, when the rate that stands then is.
#[test]
fn a_second_change_waits_for_the_reaction() {
    let rate = |at: f64| match at {
        at if at < 0.999 => 600.0,
        at if at < 1.099 => 700.0,
        at if at < 1.149 => 800.0,
        _ => 900.0,
    };
    let config = SyntheticVideoConfig { reaction: Span::from_millis(190), ..even() };
    let frames = coded(&config, 2.0, rate);
    let first =
        |bytes: f64| frames.iter().find(|frame| frame.1 == bytes).map(|frame| (frame.0 * 30.0).round());
    assert_eq!(first(2500.0), Some(0.0));
    assert_eq!(first(2917.0), Some(30.0), "at once");
    assert_eq!(first(3333.0), None, "passed over");
    assert_eq!(first(3750.0), Some(36.0), "after 190 ms, at the next frame");
}

/// §5.2: after an abrupt change, `K_d` frames begin with one of `K_B`, and their mean is `B0`.
#[test]
fn an_abrupt_change_begins_with_a_burst() {
    let config = SyntheticVideoConfig { burst_frames: 8, ..even() };
    let step = |from: f64, to: f64| {
        let frames = coded(&config, 2.0, |at| if at < 0.999 { from } else { to });
        frames[30..].iter().map(|frame| frame.1).collect::<Vec<f64>>()
    };
    let up = step(600.0, 1200.0);
    assert_eq!(up[0], 13_500.0);
    // (8 · 5000 - 13 500)/7
    assert!(up[1..8].iter().all(|size| *size == 3786.0), "{:?}", &up[..8]);
    assert!(up[8..].iter().all(|size| *size == 5000.0));
    assert!((up[..8].iter().sum::<f64>() / 8.0 - 5000.0).abs() < 1.0);
    assert!(step(600.0, 900.0).iter().all(|size| *size == 3750.0), "half as much more is not abrupt");
    // 60 % less; 8 · 1000 are less than the large frame, and a fifth of 1000 is left.
    let down = step(600.0, 240.0);
    assert_eq!(down[0], 13_500.0);
    assert!(down[1..8].iter().all(|size| *size == 200.0) && down[8] == 1000.0, "{:?}", &down[..9]);
}

/// The transient does not fluctuate, whatever the steady state does; and what it draws is not missing afterwards.
#[test]
fn a_burst_is_even_and_changes_no_frame_behind_it() {
    let lasting = |burst_frames| {
        let config =
            SyntheticVideoConfig { burst_frames, interval_spread: 0.0, ..SyntheticVideoConfig::default() };
        coded(&config, 3.0, |at| if at < 0.999 { 600.0 } else { 1200.0 })
    };
    let (with, without) = (lasting(8), lasting(0));
    assert!(with[31..38].iter().all(|frame| frame.1 == 3786.0));
    assert_eq!(with[38..], without[38..]);
    assert_eq!(with[..30], without[..30]);
}

/// §5.4: the rate stays within the coder's range; before any is directed it is the least.
#[test]
fn the_rate_is_clipped_to_the_coders_range() {
    let size = |kilobits: f64| coded(&even(), 0.5, |_| kilobits)[1].1;
    assert_eq!([size(10.0), size(300.0), size(9000.0)], [625.0, 1250.0, 6250.0]);
    let mut video = SyntheticVideo::new(even());
    let mut rng = Stream::new(1, "video");
    video.start(Time::ZERO, &mut rng);
    assert_eq!(video.take_offer(Time::ZERO, &mut rng).map(|offer| offer.bytes.get()), Some(625));
    assert_eq!(video.notes(), [("frame", 0.0), ("frame_size", 625.0), ("target_rate", 150_000.0)]);
}

#[test]
fn a_pause_has_no_frames_and_changes_none_behind_it() {
    let whole = SyntheticVideoConfig::default();
    let pause = VideoPause { from: Span::from_secs(1), to: Span::from_secs(2) };
    let paused = SyntheticVideoConfig { pauses: vec![pause], ..whole.clone() };
    let (whole, parts) = (coded(&whole, 4.0, |_| 800.0), coded(&paused, 4.0, |_| 800.0));
    let seen = |frame: &&Frame| !(1.0..2.0).contains(&frame.0);
    assert_eq!(parts, whole.iter().filter(seen).copied().collect::<Vec<_>>());
    assert!(parts.len() < whole.len());
}

/// Sizes and intervals have streams of their own, of the seed that the endpoint's stream gives: drawn apart from this code.
#[test]
fn each_fluctuation_has_a_stream_of_its_own() {
    let frames = coded(&SyntheticVideoConfig::default(), 9.0, |_| 800.0);
    let seed = Stream::new(1, "video").below(u64::MAX);
    let (mut sizes, mut intervals) = (Stream::new(seed, "frame sizes"), Stream::new(seed, "frame intervals"));
    let deviation = |rng: &mut Stream| 0.15 * (rng.exponential() - rng.exponential());
    for pair in frames.windows(2) {
        let size = 8e5 / 240.0 * (1.0 + deviation(&mut sizes));
        let interval = (1.0 + deviation(&mut intervals)).max(0.0) / 30.0;
        assert_eq!(pair[0].1, size.round().max(1.0));
        assert!((pair[1].0 - pair[0].0 - interval).abs() < 1e-8, "{pair:?} for {interval}");
    }
}

#[test]
fn bad_values_are_named_with_what_is_allowed() {
    let mut checker = Checker::new();
    let config = SyntheticVideoConfig {
        frame_rate: 0.0,
        min_rate: BitRate::from_bits_per_sec(2_000_000),
        reaction: Span::from_secs(11),
        interval_spread: -0.1,
        size_spread: f64::NAN,
        burst_frames: 1001,
        burst_size: Bytes::ZERO,
        abrupt: -1.0,
        ..SyntheticVideoConfig::default()
    };
    config.check(&mut checker);
    let found = checker.finish().expect_err("all of them");
    let fields: Vec<&str> = found.iter().map(|error| error.field.as_str()).collect();
    let expected = [
        "frame_rate",
        "max_rate",
        "reaction",
        "interval_spread",
        "size_spread",
        "burst_frames",
        "burst_size",
        "abrupt",
    ];
    assert_eq!(fields, expected);
    assert!(found[1].to_string().contains("2 Mbit/s"), "{}", found[1]);
}
