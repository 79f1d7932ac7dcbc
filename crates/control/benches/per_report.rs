//! What a report costs selective aggressiveness control, and what the same report costs the scheme beneath alone: the
//! difference is its own. `cargo bench -p tailback-control`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tailback_control::{AnyController, ControllerParams, Scheme};
use tailback_core::{Bytes, Controller, Cx, Envelope, Feedback, Report, Span, Stream, Time};

fn main() {
    divan::main();
}

/// Reports per measured call, so that the call itself does not count.
const BATCH: u64 = 1000;
const INTERVAL: Span = Span::from_millis(50);

/// A connection that reports what arrived, which swings as traffic does.
struct Reported {
    controller: AnyController,
    rng: Stream,
    now: Time,
    arrived: u64,
    draw: u64,
}

impl Reported {
    fn new(scheme: serde_json::Value) -> Self {
        let params = ControllerParams::unlimited(Bytes::new(1000), 1);
        let scheme: Scheme = serde_json::from_value(scheme).expect("a scheme");
        let controller = scheme.build(&params).controller;
        let mut made =
            Self { controller, rng: Stream::new(1, "reports"), now: Time::ZERO, arrived: 0, draw: 1 };
        // Past the first periods, so that something is predicted.
        for _ in 0..10_000 {
            made.report();
        }
        made
    }

    fn report(&mut self) {
        self.now += INTERVAL;
        self.draw = self.draw.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        let packets = (self.draw >> 57) as u32;
        let received = Bytes::new(1000 * u64::from(packets));
        self.arrived += received.get();
        let report = Report::Interval { span: INTERVAL, received, packets, lost: packets / 32 };
        let mut envelope = Envelope::bare(report);
        envelope.arrived_bytes = Bytes::new(self.arrived);
        let mut cx = Cx { rng: &mut self.rng, notes: None };
        let feedback = Feedback { report: Some(&envelope), ..Feedback::empty() };
        self.controller.on_feedback(self.now, &feedback, &mut cx);
    }
}

fn measure(bencher: Bencher<'_, '_>, scheme: serde_json::Value) {
    let mut reported = Reported::new(scheme);
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for _ in 0..BATCH {
            reported.report();
        }
        black_box(&reported.controller);
    });
}

#[divan::bench]
fn lied(bencher: Bencher<'_, '_>) {
    measure(bencher, serde_json::json!({ "name": "lied" }));
}

#[divan::bench]
fn sac(bencher: Bencher<'_, '_>) {
    measure(bencher, serde_json::json!({ "name": "sac", "over": "lied" }));
}

#[divan::bench]
fn sac_of_three_levels(bencher: Bencher<'_, '_>) {
    let slower = serde_json::json!([{ "history": "20 s" }, { "history": "60 s" }]);
    measure(bencher, serde_json::json!({ "name": "sac", "over": "lied", "slower": slower }));
}
