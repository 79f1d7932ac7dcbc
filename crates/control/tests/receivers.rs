//! The receiver's half of every scheme that has one, under arrivals of any kind: what is reported is bounded, makes sense,
//! and is the same for the same arrivals. What schemes steer by is tested in `conformance.rs`.

use proptest::prelude::*;
use tailback_control::{BoxedPolicy, ControllerParams, SCHEMES, Scheme};
use tailback_core::{
    Annex, Arrival, BitRate, Bytes, ControlInfo, Cx, Ecn, FlowId, Kind, Lane, Outgoing, Packet, PairPosition,
    Report, Span, Stream, Time,
};

/// What arrives next, and how long after what came before.
#[derive(Clone, Debug)]
struct Op {
    after: u32,
    kind: What,
    /// By how much the number goes on, or back.
    step: i8,
    marks: u8,
    stamp: Stamp,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Data,
    /// A pair of control packets' first, then its second.
    Control(bool),
}

#[derive(Clone, Copy, Debug)]
enum Stamp {
    None,
    Honest,
    Forged(u64, u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let kind = prop_oneof![5 => Just(What::Data), 1 => any::<bool>().prop_map(What::Control)];
    let stamp = prop_oneof![
        1 => Just(Stamp::None),
        6 => Just(Stamp::Honest),
        1 => (any::<u64>(), any::<u64>()).prop_map(|(a, b)| Stamp::Forged(a, b)),
    ];
    let after = prop_oneof![8 => 0..50_000_u32, 1 => 0..20_000_000_u32];
    let step = prop_oneof![12 => Just(1_i8), 2 => 2..6_i8, 1 => -4..1_i8];
    let op = (after, kind, step, any::<u8>(), stamp).prop_map(|(after, kind, step, marks, stamp)| Op {
        after,
        kind,
        step,
        marks,
        stamp,
    });
    prop::collection::vec(op, 1..200)
}

fn params() -> ControllerParams {
    ControllerParams {
        segment: Bytes::new(1000),
        initial_window: Bytes::new(2000),
        initial_ssthresh: None,
        max_window: Bytes::new(100_000),
    }
}

/// One receiver's half, called as an endpoint calls it.
struct Bench {
    policy: BoxedPolicy,
    now: Time,
    rng: Stream,
    number: u64,
    sent: u64,
    pair: u64,
    reports: Vec<(Time, Outgoing)>,
}

impl Bench {
    fn new(policy: BoxedPolicy) -> Self {
        let (now, rng) = (Time::ZERO, Stream::new(1, "receiver"));
        Self { policy, now, rng, number: 0, sent: 0, pair: 0, reports: Vec::new() }
    }

    /// Takes what is due now: an endpoint asks until there is nothing, so there must be an end.
    fn poll(&mut self) {
        for _ in 0..8 {
            let report = self.policy.poll_report(self.now, &mut Cx { rng: &mut self.rng, notes: None });
            let Some(report) = report else {
                let next = self.policy.next_timer();
                assert!(next.is_none_or(|at| at > self.now), "due again at once: {next:?} at {:?}", self.now);
                return;
            };
            self.reports.push((self.now, report));
        }
        panic!("reports without end");
    }

    fn apply(&mut self, op: &Op) {
        let arrives = self.now + Span::from_micros(op.after.into());
        while let Some(due) = self.policy.next_timer().filter(|due| *due < arrives) {
            self.now = self.now.max(due);
            self.poll();
            assert!(self.reports.len() < 1_000_000, "a report for every moment");
        }
        self.now = arrives;
        let before = self.number;
        self.number = before.saturating_add_signed(op.step.into());
        let (packet, info) = self.packet(op);
        let annex = info.map(Annex::Control);
        let is_new = self.number > before || matches!(op.kind, What::Control(_));
        self.number = self.number.max(before);
        let arrival = Arrival { packet: &packet, annex: annex.as_ref(), is_new };
        self.policy.on_arrival(self.now, &arrival, &mut Cx { rng: &mut self.rng, notes: None });
        self.poll();
    }

    fn packet(&mut self, op: &Op) -> (Packet, Option<ControlInfo>) {
        let (kind, number, size) = match op.kind {
            What::Data => (Kind::Data, self.number, 1000),
            What::Control(first) => {
                self.pair += u64::from(first);
                (Kind::Control, self.pair, 40)
            }
        };
        let mut packet = Packet::new(kind, FlowId(0), number, Bytes::new(size));
        if let What::Control(first) = op.kind {
            packet.set_lane(if first { Lane::OUT_OF_BAND } else { Lane::IN_BAND });
        } else {
            self.sent += 1;
            let place = [PairPosition::Single, PairPosition::First, PairPosition::Second];
            packet.set_pair(place[usize::from(op.marks % 3)]);
            packet.set_ecn(if op.marks & 64 == 0 { Ecn::Ect0 } else { Ecn::Ce });
            packet.set_rho(op.marks & 16 != 0);
            packet.set_eta(op.marks & 32 != 0);
        }
        let before = |span: Span| Time::from_nanos(self.now.as_nanos().saturating_sub(span.as_nanos()));
        let honest = ControlInfo {
            pair: if kind == Kind::Control { self.pair } else { 0 },
            packets_sent: self.sent,
            bytes_sent: Bytes::new(self.sent * 1000),
            in_flight: Bytes::new(10_000),
            virtual_delay: Span::ZERO,
            sent_at: before(Span::from_millis(50)),
            echo: self.reports.last().map(|(at, _)| *at),
            held: Span::from_millis(1),
            rtt: Some(Span::from_millis(100)),
            app_rate: Some(BitRate::from_bits_per_sec(800_000)),
        };
        let info = match op.stamp {
            Stamp::None => None,
            Stamp::Honest => Some(honest),
            Stamp::Forged(a, b) => Some(ControlInfo {
                pair: a,
                packets_sent: b,
                bytes_sent: Bytes::new(a),
                in_flight: Bytes::new(b),
                virtual_delay: Span::from_nanos(a),
                sent_at: Time::from_nanos(b),
                echo: Some(Time::from_nanos(a)),
                held: Span::from_nanos(b),
                rtt: Some(Span::from_nanos(a)),
                app_rate: Some(BitRate::from_bits_per_sec(b)),
            }),
        };
        (packet, info)
    }
}

/// Every scheme whose receiver has something to say.
fn schemes() -> Vec<Scheme> {
    let variants = [
        serde_json::json!({ "name": "packet-pair", "controlled_at": "receiver" }),
        serde_json::json!({ "name": "tfrc", "small_packets": true }),
        serde_json::json!({ "name": "probabilistic", "friendly_rate": "tear" }),
        serde_json::json!({ "name": "probabilistic", "friendly_rate": "normalised", "probes": { "while_off": true } }),
    ];
    let variants = variants.map(|text| serde_json::from_value(text).expect("well-formed"));
    let all = SCHEMES.iter().map(|info| (info.default)()).chain(variants);
    all.filter(|scheme| scheme.build(&params()).policy.is_some()).collect()
}

fn told(scheme: &Scheme, ops: &[Op]) -> Vec<(Time, Outgoing)> {
    let mut bench = Bench::new(scheme.build(&params()).policy.expect("has one"));
    ops.iter().for_each(|op| bench.apply(op));
    bench.reports
}

/// Whether all numbers of a report are numbers, and probabilities such.
fn makes_sense(report: &Report) -> bool {
    match report {
        Report::Loss { event_rate, .. } => (0.0..=1.0).contains(event_rate),
        Report::Accumulation { backlog, .. } => backlog.is_finite(),
        Report::Custom(values) => values.iter().all(|value| value.is_finite()),
        Report::Interval { .. } | Report::Gate { .. } | Report::Rate { .. } => true,
    }
}

#[test]
fn the_schemes_with_a_receivers_half_are_these() {
    let mut names: Vec<&str> = schemes().iter().map(Scheme::name).collect();
    names.sort_unstable();
    names.dedup();
    for name in ["lied", "monaco", "packet-pair", "probabilistic", "sac", "tfrc"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Reports end at every instant, make sense, and need a byte at least.
    #[test]
    fn reports_are_bounded_and_make_sense(ops in ops()) {
        for scheme in schemes() {
            for (at, outgoing) in told(&scheme, &ops) {
                prop_assert!(makes_sense(&outgoing.report), "{}: {outgoing:?} at {at:?}", scheme.name());
                prop_assert!(outgoing.size > Bytes::ZERO, "{}", scheme.name());
            }
        }
    }

    /// Equal arrivals give equal reports.
    #[test]
    fn reports_are_deterministic(ops in ops()) {
        for scheme in schemes() {
            prop_assert_eq!(told(&scheme, &ops), told(&scheme, &ops), "{}", scheme.name());
        }
    }
}
