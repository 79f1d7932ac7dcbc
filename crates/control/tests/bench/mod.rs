//! A stand-in for a receiving endpoint: hands arrivals to a scheme's receiver's half and takes its reports, in the order in
//! which an endpoint does. No assertion about what reports say lives here.

use tailback_control::{BoxedPolicy, SCHEMES, Scheme};
use tailback_core::{
    Annex, Arrival, BitRate, Bytes, ControlInfo, Cx, Ecn, FlowId, Kind, Lane, Outgoing, Packet, PairPosition,
    Span, Stream, Time,
};

use crate::script::params;

/// What arrives next, and how long after what came before.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    /// In microseconds.
    pub(crate) after: u32,
    pub(crate) kind: What,
    /// By how much the number goes on, or back.
    pub(crate) step: i8,
    /// A packet's place in a pair by its remainder of 3; bits 16, 32 and 64 are ρ, η and congestion experienced.
    pub(crate) marks: u8,
    pub(crate) stamp: Stamp,
}

/// What arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Data,
    /// A pair of control packets' first, then its second.
    Control(bool),
}

/// What it says of its sender.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stamp {
    None,
    Honest,
    Forged(u64, u64),
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
            request: None,
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
                request: None,
            }),
        };
        (packet, info)
    }
}

/// Every scheme, and variants whose halves take another path through the code, each with its name.
pub(crate) fn schemes() -> Vec<(&'static str, Scheme)> {
    let variants = [
        (
            "packet-pair-at-receiver",
            serde_json::json!({ "name": "packet-pair", "controlled_at": "receiver" }),
        ),
        ("tfrc-sp", serde_json::json!({ "name": "tfrc", "small_packets": true })),
        ("probabilistic-tear", serde_json::json!({ "name": "probabilistic", "friendly_rate": "tear" })),
        (
            "probabilistic-probing",
            serde_json::json!({
                "name": "probabilistic", "friendly_rate": "normalised", "probes": { "while_off": true },
            }),
        ),
    ];
    let variants = variants.map(|(name, text)| (name, serde_json::from_value(text).expect("well-formed")));
    SCHEMES.iter().map(|info| (info.name, (info.default)())).chain(variants).collect()
}

/// Those whose receiver has something to say.
pub(crate) fn with_policy() -> Vec<(&'static str, Scheme)> {
    schemes().into_iter().filter(|(_, scheme)| scheme.build(&params()).policy.is_some()).collect()
}

/// What a scheme's receiver reports of these arrivals, and when.
pub(crate) fn told(scheme: &Scheme, ops: &[Op]) -> Vec<(Time, Outgoing)> {
    let mut bench = Bench::new(scheme.build(&params()).policy.expect("has one"));
    for op in ops {
        bench.apply(op);
    }
    bench.reports
}
