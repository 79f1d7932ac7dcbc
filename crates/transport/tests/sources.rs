//! Sources over long times: rates, loops, ends, and what their configurations refuse.

use proptest::prelude::*;
use serde_json::json;
use tailback_core::{Bytes, Checker, Span, Stream, Time};
use tailback_transport::source::{AnySource, Offer, Source, SourceConfig, parse_trace};

fn config(text: serde_json::Value) -> SourceConfig {
    serde_json::from_value(text).expect("well-formed")
}

fn complaints(text: serde_json::Value) -> Vec<String> {
    let mut checker = Checker::new();
    config(text).check(&mut checker);
    checker.finish().err().unwrap_or_default().into_iter().map(|error| error.field).collect()
}

/// A source and the clock that drives it.
struct Drive {
    source: AnySource,
    rng: Stream,
    now: Time,
    /// Messages are acknowledged so long after their last byte was offered.
    delay: Option<Span>,
    pending: Vec<Time>,
    offers: Vec<(Time, Offer)>,
}

impl Drive {
    fn new(text: serde_json::Value, delay: Option<Span>) -> Self {
        let mut drive = Self {
            source: config(text).build(),
            rng: Stream::new(5, "source"),
            now: Time::ZERO,
            delay,
            pending: Vec::new(),
            offers: Vec::new(),
        };
        drive.source.start(Time::ZERO, &mut drive.rng);
        drive
    }

    fn until(&mut self, end: Time) -> &[(Time, Offer)] {
        loop {
            let offer = self.source.next_offer();
            let done = self.pending.first().copied();
            let Some(next) = [offer, done].into_iter().flatten().min().filter(|next| *next <= end) else {
                return &self.offers;
            };
            self.now = self.now.max(next);
            if done.is_some_and(|done| done <= self.now) {
                self.pending.remove(0);
                self.source.on_message_done(self.now, &mut self.rng);
            } else if let Some(offer) = self.source.take_offer(self.now, &mut self.rng) {
                self.offers.push((self.now, offer));
                if let Some(delay) = self.delay.filter(|_| offer.ends_message) {
                    self.pending.push(self.now + delay);
                }
            }
        }
    }

    fn bytes(&self) -> f64 {
        self.offers.iter().map(|(_, offer)| offer.bytes.as_f64()).sum()
    }
}

fn seconds(count: u64) -> Time {
    Time::ZERO + Span::from_secs(count)
}

#[test]
fn bulk_offers_once() {
    let mut drive = Drive::new(json!({ "name": "bulk", "size": "2 MB" }), None);
    let expected = Offer { bytes: Bytes::new(2_000_000), new_connection: false, ends_message: true };
    assert_eq!(drive.until(seconds(10)), [(Time::ZERO, expected)]);
    assert!(drive.source.is_finished());

    let mut endless = Drive::new(json!({ "name": "bulk" }), None);
    let expected = Offer { bytes: Bytes::MAX, new_connection: false, ends_message: false };
    assert_eq!(endless.until(seconds(10)), [(Time::ZERO, expected)]);
}

#[test]
fn on_off_keeps_its_mean_rate() {
    // Each must give rate · E[on] / (E[on] + E[off]) in the long run.
    let constant = json!({ "name": "constant", "value": "2.5 ms" });
    let pause = json!({ "name": "constant", "value": "1.5 ms" });
    let fixed =
        json!({ "name": "on-off", "on": constant, "off": pause, "rate": "8 Mbit/s", "chunk": "1000 B" });
    let mut drive = Drive::new(fixed, None);
    drive.until(seconds(100));
    let expected = 1e6 * 100.0 * 2.5 / 4.0;
    assert!((drive.bytes() / expected - 1.0).abs() < 1e-3, "{}", drive.bytes() / expected);

    for at_once in [false, true] {
        let exponential =
            json!({ "name": "on-off", "rate": "8 Mbit/s", "chunk": "1000 B", "at_once": at_once });
        let mut drive = Drive::new(exponential, None);
        drive.until(seconds(20_000));
        // 20 000 cycles of mean 1 s: the standard error of the mean is about 0.7 %.
        let expected = 1e6 * 20_000.0 * 0.5;
        assert!((drive.bytes() / expected - 1.0).abs() < 0.025, "{}", drive.bytes() / expected);
    }
}

#[test]
fn on_off_is_evenly_spaced_while_on_and_silent_while_off() {
    let on = json!({ "name": "constant", "value": "10 ms" });
    let off = json!({ "name": "constant", "value": "30 ms" });
    let text = json!({ "name": "on-off", "on": on, "off": off, "rate": "4 Mbit/s", "chunk": "1000 B" });
    let mut drive = Drive::new(text, None);
    let times: Vec<u64> = drive.until(seconds(1)).iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(times[..12], [0, 2, 4, 6, 8, 40, 42, 44, 46, 48, 80, 82]);
}

#[test]
fn a_closed_loop_pauses_after_the_acknowledgement() {
    let on = json!({ "name": "constant", "value": "10 ms" });
    let off = json!({ "name": "constant", "value": "30 ms" });
    let text = json!({ "name": "on-off", "on": on, "off": off, "rate": "4 Mbit/s", "closed": true,
                       "at_once": true });
    let mut drive = Drive::new(text.clone(), Some(Span::from_millis(100)));
    let offers: Vec<(u64, u64)> = drive
        .until(Time::ZERO + Span::from_millis(300))
        .iter()
        .map(|(at, offer)| (at.as_nanos() / 1_000_000, offer.bytes.get()))
        .collect();
    assert_eq!(offers, [(0, 5000), (130, 5000), (260, 5000)]);

    // Never acknowledged: never again.
    let mut drive = Drive::new(text, None);
    assert_eq!(drive.until(seconds(100)).len(), 1);
    assert!(!drive.source.is_finished());
}

#[test]
fn on_off_ends_after_its_total() {
    let mut drive = Drive::new(json!({ "name": "on-off", "total": "100500 B", "chunk": "1000 B" }), None);
    drive.until(seconds(1000));
    assert_eq!(drive.bytes(), 100_500.0);
    assert!(drive.source.is_finished());
    assert!(drive.offers.last().expect("offers").1.ends_message);
}

#[test]
fn files_follow_one_another_with_pauses() {
    let pause = json!({ "name": "constant", "value": "1 s" });
    let text = json!({ "name": "files", "pause": pause, "count": 3 });
    let mut drive = Drive::new(text, Some(Span::from_millis(250)));
    let offers = drive.until(seconds(100));
    let times: Vec<f64> = offers.iter().map(|(at, _)| at.as_secs_f64()).collect();
    assert_eq!(times, [0.0, 1.25, 2.5]);
    let fresh: Vec<bool> = offers.iter().map(|(_, offer)| offer.new_connection).collect();
    assert_eq!(fresh, [false, true, true]);
    assert!(drive.source.is_finished());

    let kept = json!({ "name": "files", "connection": "kept", "count": 3 });
    let mut drive = Drive::new(kept, Some(Span::from_millis(250)));
    assert!(drive.until(seconds(100)).iter().all(|(_, offer)| !offer.new_connection));
}

#[test]
fn file_sessions_have_their_means() {
    let size = json!({ "name": "pareto", "mean": "10 kB", "shape": 2.5 });
    let text = json!({ "name": "files", "size": size });
    let mut drive = Drive::new(text, Some(Span::from_millis(500)));
    drive.until(seconds(60_000));
    let count = drive.offers.len() as f64;
    // Cycles of 0.5 s and an exponential pause of 1 s: 40 000 of them, standard error 0.33 %.
    assert!((count / 40_000.0 - 1.0).abs() < 0.015, "{count}");
    assert!((drive.bytes() / count / 10_000.0 - 1.0).abs() < 0.02, "{}", drive.bytes() / count);
}

#[test]
fn constant_datagrams_are_even() {
    let size = json!({ "name": "constant", "value": "500 B" });
    let text = json!({ "name": "datagrams", "rate": "4 Mbit/s", "size": size, "count": 1000 });
    let mut drive = Drive::new(text, None);
    let offers = drive.until(seconds(10));
    assert_eq!(offers.len(), 1000);
    assert!(
        offers.iter().enumerate().all(|(i, (at, _))| *at == Time::ZERO + Span::from_millis(1) * i as u64)
    );
}

#[test]
fn poisson_datagrams_are_poisson() {
    let size = json!({ "name": "exponential", "mean": "1000 B" });
    let text = json!({ "name": "datagrams", "arrivals": "poisson", "rate": "8 Mbit/s", "size": size });
    let mut drive = Drive::new(text, None);
    drive.until(seconds(200));
    let offers = &drive.offers;
    assert!((offers.len() as f64 / 200_000.0 - 1.0).abs() < 0.01, "{}", offers.len());
    assert!((drive.bytes() / 200e6 - 1.0).abs() < 0.015, "{}", drive.bytes());
    // Counts in windows of 10 ms have a variance equal to their mean (10).
    let mut counts = vec![0.0_f64; 20_000];
    for (at, _) in offers {
        if let Some(count) = counts.get_mut((at.as_nanos() / 10_000_000) as usize) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / 2e4;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 2e4;
    assert!((variance / mean - 1.0).abs() < 0.05, "index of dispersion {}", variance / mean);
    // Sizes: the exponential's coefficient of variation is 1.
    let n = offers.len() as f64;
    let mean = drive.bytes() / n;
    let variance = offers.iter().map(|(_, offer)| (offer.bytes.as_f64() - mean).powi(2)).sum::<f64>() / n;
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{}", variance.sqrt() / mean);
}

#[test]
fn replay_plays_and_repeats() {
    let mut text = config(json!({ "name": "replay", "file": "trace.csv", "repeat_every": "1 s" }));
    let SourceConfig::Replay(replay) = &mut text else { panic!("a replay") };
    replay.load("# recorded\nseconds,bytes\n0.1,1000\n\n0.1,500\n0.7,1\n").expect("a good trace");
    let mut source = text.build();
    let mut rng = Stream::new(1, "replay");
    source.start(seconds(5), &mut rng);
    let mut offers = Vec::new();
    while offers.len() < 7 {
        let at = source.next_offer().expect("repeats for ever");
        let offer = source.take_offer(at, &mut rng).expect("due");
        offers.push((at.as_nanos() / 1_000_000, offer.bytes.get()));
    }
    assert_eq!(
        offers,
        [(5100, 1000), (5100, 500), (5700, 1), (6100, 1000), (6100, 500), (6700, 1), (7100, 1000)]
    );
}

#[test]
fn traces_name_the_bad_line() {
    for (text, line, message) in [
        ("1 ms, 100 B\n2 ms\n", 2, "separated by a comma"),
        ("1 ms, 100 B\n\n# ok\nx, 100 B\n", 4, "not a time with its unit"),
        ("1 ms, 100 B\n1 ms, 100\n", 2, "not an amount with its unit"),
        ("5 ms, 100 B\n1 ms, 100 B\n", 2, "must not go back"),
        ("seconds,bytes\n1,0\n", 2, "at least 1 B"),
        ("seconds,bytes\n1,-5\n", 2, "not an amount in the heading's unit"),
        ("seconds,bytes\nseconds,bytes\n", 2, "not a time in the heading's unit"),
        ("0.5, 100\n", 1, "not a time with its unit"),
        ("", 0, "no entries"),
        ("seconds,bytes\n", 0, "no entries"),
    ] {
        let error = parse_trace(text).expect_err(text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.to_string().contains(message), "{error}");
        assert!(!error.to_string().contains("100"), "no line of a file is repeated: {error}");
    }
}

#[test]
fn bad_configurations_are_named() {
    let none: [&str; 0] = [];
    for &name in SourceConfig::NAMES {
        let bare = config(json!({ "name": name }));
        assert_eq!(bare.name(), name);
        if name != "replay" {
            assert_eq!(complaints(json!({ "name": name })), none);
        }
    }
    assert_eq!(complaints(json!({ "name": "bulk", "size": "0 B" })), ["size"]);
    let zero = json!({ "name": "constant", "value": "0 s" });
    assert_eq!(
        complaints(
            json!({ "name": "on-off", "on": zero, "rate": "0 bit/s", "chunk": "0 B", "total": "0 B" })
        ),
        ["on.value", "rate", "chunk", "total"]
    );
    assert_eq!(complaints(json!({ "name": "files", "count": 0 })), ["count"]);
    let endless = json!({ "name": "pareto", "min": "1 kB", "shape": 0.9 });
    assert_eq!(complaints(json!({ "name": "datagrams", "size": endless })), ["size"]);
    assert_eq!(complaints(json!({ "name": "replay" })), ["entries"]);
    let control = json!({ "name": "rate", "share": 0 });
    assert_eq!(
        complaints(
            json!({ "name": "video", "pattern": "BI", "rate": "0 bit/s", "reference": 32, "control": control })
        ),
        ["pattern", "rate", "reference", "control.share"]
    );
    let back = json!([{ "at": "2 s", "size": "1 B" }, { "at": "1 s", "size": "0 B" }]);
    assert_eq!(
        complaints(json!({ "name": "replay", "entries": back, "repeat_every": "1 ms" })),
        ["entries[1].at", "entries[1].size", "repeat_every"]
    );
}

#[test]
fn unknown_fields_are_refused() {
    for &name in SourceConfig::NAMES {
        let text = json!({ "name": name, "no_such_field": 1 });
        let error = serde_json::from_value::<SourceConfig>(text).expect_err("unknown").to_string();
        assert!(error.contains("no_such_field"), "{error}");
    }
    let typo = json!({ "name": "on-off", "on": { "name": "exponential", "mean": "1 s", "shape": 2 } });
    assert!(serde_json::from_value::<SourceConfig>(typo).is_err());
}

fn any_source() -> impl Strategy<Value = serde_json::Value> {
    let on = json!({ "name": "lognormal", "mean": "20 ms", "sigma": 2.0 });
    let entries = json!([{ "at": "0 s", "size": "1 B" }, { "at": "20 ms", "size": "9 B" }]);
    prop::sample::select(vec![
        json!({ "name": "bulk", "size": "1 kB" }),
        json!({ "name": "on-off", "on": on, "chunk": "7 kB" }),
        json!({ "name": "on-off", "closed": true, "pause_first": true, "total": "1 MB" }),
        json!({ "name": "files", "count": 5, "pause_first": true }),
        json!({ "name": "files" }),
        json!({ "name": "datagrams", "arrivals": "poisson", "count": 20 }),
        json!({ "name": "replay", "entries": entries, "repeat_every": "20 ms" }),
        json!({ "name": "datagrams", "arrivals": "jittered" }),
        json!({ "name": "game", "direction": "client", "players": 3 }),
        json!({ "name": "surge", "pages": 3 }),
        json!({ "name": "video" }),
        json!({ "name": "synthetic-video", "interval_spread": 1, "reaction": "0 s" }),
        json!({ "name": "voice" }),
        json!({ "name": "voice", "suppress_silence": true }),
    ])
}

proptest! {
    /// Whatever the caller does: offers come only when due, are never empty, never come after the end, and time
    /// passes between rounds of them.
    #[test]
    fn sources_keep_their_contract(
        text in any_source(),
        steps in prop::collection::vec((0..200_u64, 0..4_u8), 1..200),
    ) {
        let mut source = config(text).build();
        let mut rng = Stream::new(3, "contract");
        let mut now = Time::ZERO;
        prop_assert_eq!(source.next_offer(), None);
        prop_assert_eq!(source.take_offer(now, &mut rng), None);
        source.start(now, &mut rng);
        for (millis, what) in steps {
            now += Span::from_millis(millis);
            if what == 0 {
                source.on_message_done(now, &mut rng);
            }
            let mut count = 0;
            while let Some(due) = source.next_offer().filter(|due| *due <= now) {
                if due > Time::ZERO {
                    prop_assert_eq!(source.take_offer(due - Span::from_nanos(1), &mut rng), None);
                }
                if let Some(offer) = source.take_offer(now, &mut rng) {
                    prop_assert!(offer.bytes > Bytes::ZERO && offer.bytes < Bytes::MAX);
                }
                count += 1;
                prop_assert!(count < 100_000, "time does not pass");
            }
            if source.is_finished() {
                prop_assert_eq!(source.next_offer(), None);
            }
        }
        source.stop(now);
        prop_assert!(source.is_finished());
        prop_assert_eq!(source.next_offer(), None);
        source.on_message_done(now, &mut rng);
        prop_assert_eq!(source.next_offer(), None);
    }

    /// Reading a trace never panics, whatever the text.
    #[test]
    fn any_text_is_a_trace_or_an_error(text in "([0-9.,;\t sBm#a-f-]{0,20}\n){0,10}") {
        let _ = parse_trace(&text);
    }
}

#[test]
fn users_of_the_web_fetch_pages() {
    for (connection, kept, fresh) in
        [("per-file", false, true), ("per-page", true, true), ("kept", true, false)]
    {
        let text = json!({ "name": "surge", "connection": connection, "pages": 200 });
        let delay = Span::from_millis(100);
        let mut drive = Drive::new(text, Some(delay));
        let offers = drive.until(seconds(100_000)).to_vec();
        assert!(drive.source.is_finished(), "{connection}");
        assert!(offers.iter().all(|(_, offer)| offer.ends_message));
        assert!(!offers[0].1.new_connection && offers[0].0 >= seconds(1), "it begins with a pause");
        let pauses =
            offers.windows(2).map(|pair| (pair[1].0.since(pair[0].0) - delay, pair[1].1.new_connection));
        let (within, between): (Vec<_>, Vec<_>) = pauses.partition(|(pause, _)| *pause < Span::from_secs(1));
        assert_eq!(between.len(), 199, "a page follows a second or more after the last");
        assert!(between.iter().all(|(_, new)| *new == fresh), "{connection}");
        assert!(within.iter().all(|(_, new)| *new != kept), "{connection}");
        // Pages have 1.36 files on average, the sum of n^-2.43.
        assert!((offers.len() as f64 / 200.0 - 1.36).abs() < 0.15, "{} files", offers.len());
    }
}

#[test]
fn surge_refuses_what_makes_no_sense() {
    let surge = |field: &str, value: serde_json::Value| complaints(json!({ "name": "surge", field: value }));
    assert_eq!(surge("page_shape", json!(0)), ["page_shape"]);
    assert_eq!(surge("active_max", json!("0 s")), ["active_max"]);
    assert_eq!(surge("pages", json!(0)), ["pages"]);
    assert_eq!(surge("sizes", json!({ "name": "requests", "max": "500 B" })), ["sizes.max"]);
    assert_eq!(surge("sizes", json!({ "name": "files", "mu": 20.0 })), ["sizes.tail"]);
    assert_eq!(surge("sizes", json!({ "name": "files", "tail_part": 1.5 })), ["sizes.tail_part"]);
    assert!(surge("sizes", json!({ "name": "files" })).is_empty());
}
