//! The sender's rules, one by one, by hand from RFC 5348 §4.

use tailback_core::{Bytes, PairPosition, Stream};

use super::*;
use crate::laws::AssumedTimeout;

const RTT: Span = Span::from_millis(100);

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

struct Bench {
    sender: Tfrc,
    rng: Stream,
    next: u64,
}

impl Bench {
    fn new(config: &TfrcConfig) -> Self {
        let params = ControllerParams::unlimited(Bytes::new(1000), 10);
        Self { sender: Tfrc::new(config, &params), rng: Stream::new(1, "tfrc"), next: 0 }
    }

    fn plain() -> Self {
        Self::new(&TfrcConfig { damping: false, ..TfrcConfig::default() })
    }

    fn send(&mut self, now: Time, size: u64, app_limited: bool) {
        let mut sent = Sent {
            number: self.next,
            size: Bytes::new(size),
            in_flight: Bytes::ZERO,
            retransmission: false,
            pair: PairPosition::Single,
            app_limited,
            tag: 0,
        };
        self.next += 1;
        self.sender.on_sent(now, &mut sent, &mut Cx { rng: &mut self.rng, notes: None });
    }

    /// A report that left for a packet sent a round trip ago.
    fn report(&mut self, now: Time, loss: f64, received: f64) {
        let report =
            Report::Loss { event_rate: loss, receive_rate: BitRate::from_bits_per_sec_f64(received * 8.0) };
        let envelope =
            Envelope { echo: Some(Time::ZERO + now.since(Time::ZERO + RTT)), ..Envelope::bare(report) };
        let feedback = Feedback { report: Some(&envelope), ..Feedback::empty() };
        self.sender.on_feedback(now, &feedback, &mut Cx { rng: &mut self.rng, notes: None });
    }

    fn fire(&mut self) -> Time {
        let now = self.sender.next_timer().expect("set");
        self.sender.on_timer(now, &mut Cx { rng: &mut self.rng, notes: None });
        now
    }

    fn rate(&self) -> f64 {
        self.sender.directive().rate.expect("always").bytes_per_sec()
    }
}

fn close(rate: f64, expected: f64) -> bool {
    (rate / expected - 1.0).abs() < 1e-3
}

#[test]
fn slow_start_begins_with_four_packets_and_doubles_within_what_arrives() {
    let mut bench = Bench::plain();
    assert_eq!(bench.rate(), 1000.0, "one packet per second");
    bench.send(at(0), 1000, false);
    assert_eq!(bench.sender.next_timer(), Some(at(2000)));
    bench.report(at(100), 0.0, 0.0);
    assert!(close(bench.rate(), 40_000.0), "W_init = min(4 s, max(2 s, 4380)) = 4 packets: {}", bench.rate());
    for (report, (received, expected)) in
        [(40_000.0, 80_000.0), (80_000.0, 160_000.0), (100_000.0, 200_000.0), (100_000.0, 200_000.0)]
            .into_iter()
            .enumerate()
    {
        let now = at(200 + 101 * report as u64);
        bench.send(now - Span::from_millis(150), 1000, false);
        bench.report(now, 0.0, received);
        assert!(close(bench.rate(), expected), "report {report}: {}", bench.rate());
    }
}

#[test]
fn with_losses_the_equation_decides_within_twice_what_arrives() {
    let mut bench = Bench::plain();
    bench.send(at(0), 1000, false);
    bench.report(at(100), 0.0, 0.0);
    bench.send(at(150), 1000, false);
    bench.report(at(300), 0.01, 100_000.0);
    assert!(close(bench.rate(), 112_332.0), "{}", bench.rate());
    bench.send(at(350), 1000, false);
    bench.report(at(510), 0.01, 40_000.0);
    bench.send(at(550), 1000, false);
    bench.report(at(720), 0.01, 40_000.0);
    assert!(close(bench.rate(), 80_000.0), "twice 40 000: {}", bench.rate());
    bench.send(at(800), 1000, false);
    bench.report(at(930), 1.0, 40_000.0);
    assert!(close(bench.rate(), 41.1), "loss of everything: {}", bench.rate());
}

#[test]
fn a_report_that_lies_makes_no_absurd_rate() {
    let mut bench = Bench::plain();
    bench.send(at(0), 1000, false);
    bench.report(at(100), 0.0, 0.0);
    for (loss, received) in [(f64::NAN, 1e5), (-1.0, 1e5), (1e300, 1e5), (0.0, 1e300)] {
        bench.send(at(150), 1000, false);
        bench.report(at(300), loss, received);
        assert!(bench.rate() > 0.0 && bench.rate() < 1e9, "{loss}: {}", bench.rate());
    }
}

#[test]
fn silence_halves_the_rate_down_to_a_packet_in_64_seconds() {
    let mut bench = Bench::plain();
    bench.send(at(0), 1000, false);
    bench.report(at(100), 0.0, 0.0);
    let before = bench.rate();
    bench.send(at(110), 1000, false);
    assert_eq!(bench.fire(), at(500), "four round trips");
    assert!(close(bench.rate(), 0.5 * before));
    for _ in 0..40 {
        bench.send(bench.sender.next_timer().unwrap() - Span::from_millis(1), 1000, false);
        bench.fire();
    }
    assert!(close(bench.rate(), 1000.0 / 64.0), "{}", bench.rate());
}

#[test]
fn silence_before_any_report_halves_what_was_sent() {
    let mut bench = Bench::plain();
    bench.send(at(0), 1000, false);
    bench.send(at(1000), 1000, false);
    assert_eq!(bench.fire(), at(2000));
    assert!(close(bench.rate(), 500.0));
}

#[test]
fn silence_while_idle_takes_nothing_back_below_a_starts_rate() {
    let mut bench = Bench::plain();
    bench.send(at(0), 1000, false);
    bench.report(at(100), 0.0, 0.0);
    // X = 40 000 is less than twice the rate of a start.
    let before = bench.rate();
    bench.fire();
    assert_eq!(bench.rate(), before);
}

#[test]
fn a_sender_short_of_data_keeps_what_it_has_proven() {
    let mut bench = Bench::plain();
    bench.send(at(0), 1000, false);
    bench.report(at(100), 0.0, 0.0);
    bench.send(at(150), 1000, false);
    bench.report(at(300), 0.005, 100_000.0);
    bench.send(at(310), 1000, true);
    bench.report(at(450), 0.005, 100_000.0);
    // The application pauses: little arrives, and yet twice the old rate is allowed.
    for report in 0..10 {
        let now = at(600 + 150 * report);
        bench.send(now - Span::from_millis(130), 1000, true);
        bench.report(now, 0.004, 5_000.0);
    }
    assert!(bench.rate() > 150_000.0, "{}", bench.rate());
    // Losses meanwhile: at most 0.85 of what arrives, or half of what was proven.
    bench.send(at(2050), 1000, true);
    bench.report(at(2200), 0.006, 5_000.0);
    assert!(close(bench.rate(), 50_000.0), "{}", bench.rate());
}

#[test]
fn a_first_report_bounds_nothing_though_the_application_timed_its_packet() {
    let mut bench = Bench::plain();
    bench.send(at(0), 1000, true);
    // Marked: the rate is the equation's, not a packet in 64 s for a receive rate of 0.
    bench.report(at(100), 0.01, 0.0);
    assert!(close(bench.rate(), 112_332.0), "{}", bench.rate());
}

#[test]
fn longer_round_trips_damp_the_rate() {
    let mut bench = Bench::new(&TfrcConfig::default());
    bench.send(at(0), 1000, false);
    bench.report(at(100), 0.0, 0.0);
    assert!(close(bench.rate(), 40_000.0));
    // A sample of 400 ms: √0.1 · 0.9 + √0.4 · 0.1 against √0.4.
    let report = Report::Loss { event_rate: 0.01, receive_rate: BitRate::from_bits_per_sec(8_000_000) };
    let envelope = Envelope { echo: Some(at(200)), ..Envelope::bare(report) };
    let feedback = Feedback { report: Some(&envelope), ..Feedback::empty() };
    bench.sender.on_feedback(at(600), &feedback, &mut Cx { rng: &mut bench.rng, notes: None });
    let factor = (0.9 * 0.1_f64.sqrt() + 0.1 * 0.4_f64.sqrt()) / 0.4_f64.sqrt();
    assert!(close(bench.rate(), 112_332.0 / 1.3 * factor), "{}", bench.rate());
}

#[test]
fn small_packets_get_the_bytes_of_large_ones_but_ten_milliseconds_apart() {
    let config = TfrcConfig { small_packets: true, damping: false, ..TfrcConfig::default() };
    let mut bench = Bench::new(&config);
    for packet in 0..200 {
        bench.send(at(packet), 100, false);
    }
    bench.report(at(300), 0.0, 0.0);
    bench.send(at(350), 100, false);
    bench.report(at(500), 0.1, 1e9);
    // Equation with s = 1500 at p = 0.1, R = 0.1 s gives 28 kB/s; 100 bytes in 10 ms are 10 kB/s.
    assert!(close(bench.rate(), 10_000.0), "{}", bench.rate());
    bench.send(at(550), 100, false);
    bench.report(at(700), 0.3, 1e9);
    let equation = ThroughputEquation::new(1500.0, AssumedTimeout::FourRoundTrips).rate(0.3, RTT);
    assert!(equation < 10_000.0 && close(bench.rate(), equation), "{} for {equation}", bench.rate());
}
