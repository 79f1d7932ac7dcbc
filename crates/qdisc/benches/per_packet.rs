//! What a packet costs in each discipline: one enqueue and one dequeue in a queue that stays about as long as it is,
//! with 10, 1000 and 100 000 active flows where they have queues of their own. `cargo bench -p tailback-qdisc`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tailback_core::{
    Annexes, ArrivalPolicy, Backlog, BitRate, Bytes, Capacity, FlowId, Kind, Packet, QueueCx,
    QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::{BuildCx, Built, Config, Discipline, KnownFlows};

fn main() {
    divan::main();
}

const RATE: BitRate = BitRate::from_bits_per_sec(10_000_000_000);
const SIZE: Bytes = Bytes::new(1000);
const FLOWS: [u32; 3] = [10, 1000, 100_000];
/// Packets per measured call, so that the call itself does not count.
const BATCH: u64 = 1000;

/// A queue in steady state: packets come in as fast as they go out.
struct Steady {
    queue: Discipline,
    rng: Stream,
    annexes: Annexes,
    drops: Vec<(Packet, tailback_core::DropReason)>,
    now: Time,
    flows: u32,
    draw: u64,
}

impl Steady {
    fn new(name: &str, flows: u32, backlog: u32) -> Self {
        let config: Config = serde_json::from_str(&format!("{{\"name\":\"{name}\"}}")).expect(name);
        // The link is faster than its load, so that framed servers keep up too.
        let rate = RATE.mul_f64(4.0);
        let cx = BuildCx {
            capacity: Capacity::Packets(2 * backlog),
            rate,
            mean_packet: SIZE,
            flows: KnownFlows::default(),
        };
        let mut steady = Self {
            queue: config.build(&cx).into_discipline(),
            rng: Stream::new(1, name),
            annexes: Annexes::new(),
            drops: Vec::new(),
            now: Time::ZERO,
            flows,
            draw: 1,
        };
        for flow in 0..backlog {
            steady.enqueue(flow % flows);
        }
        // Into steady state before the clock runs.
        for _ in 0..2 * backlog {
            steady.step();
        }
        steady
    }

    fn enqueue(&mut self, flow: u32) {
        let packet = Packet::new(Kind::Data, FlowId(flow), 0, SIZE);
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: RATE,
            idle_since: None,
            drops: &mut self.drops,
            marks: 0,
        };
        self.queue.enqueue(self.now, packet, &mut cx);
    }

    fn step(&mut self) {
        self.now += Span::from_nanos(800);
        // A cheap draw of the flow: drawing is not what is measured.
        self.draw = self.draw.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        let flow = ((self.draw >> 32) * u64::from(self.flows)) >> 32;
        self.enqueue(flow as u32);
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: RATE,
            idle_since: None,
            drops: &mut self.drops,
            marks: 0,
        };
        black_box(self.queue.dequeue(self.now, &mut cx));
        self.drops.clear();
    }
}

fn measure(bencher: Bencher<'_, '_>, name: &str, flows: u32, backlog: u32) {
    let mut steady = Steady::new(name, flows, backlog);
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for _ in 0..BATCH {
            steady.step();
        }
    });
}

/// A discipline that does nothing: what the measuring itself costs.
struct Nothing(Option<Packet>);

impl QueueDiscipline for Nothing {
    fn enqueue(&mut self, _: Time, packet: Packet, _: &mut QueueCx<'_>) {
        self.0 = Some(packet);
    }

    fn dequeue(&mut self, _: Time, _: &mut QueueCx<'_>) -> Option<Packet> {
        self.0.take()
    }

    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
}

#[divan::bench]
fn nothing(bencher: Bencher<'_, '_>) {
    let mut steady = Steady::new("drop-tail", 10, 100);
    steady.queue = Discipline::Custom(Box::new(Nothing(None)));
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for _ in 0..BATCH {
            steady.step();
        }
    });
}

/// The decision alone, as a link takes it that computes departures at entry.
#[divan::bench(args = ["drop-tail", "red", "rem", "pi", "pie", "avq", "avd", "tdqm", "policer"])]
fn admission(bencher: Bencher<'_, '_>, name: &str) {
    let config: Config = serde_json::from_str(&format!("{{\"name\":\"{name}\"}}")).expect(name);
    let cx = BuildCx {
        capacity: Capacity::Packets(100),
        rate: RATE,
        mean_packet: SIZE,
        flows: KnownFlows::default(),
    };
    let Built::Arrival(mut policy) = config.build(&cx) else { return };
    let (mut rng, mut annexes, mut drops) = (Stream::new(1, name), Annexes::new(), Vec::new());
    let mut now = Time::ZERO;
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for number in 0..BATCH {
            now += Span::from_nanos(800);
            let mut packet = Packet::new(Kind::Data, FlowId(0), number, SIZE);
            let waiting = (number % 16) as u32;
            let backlog = Backlog { packets: waiting, bytes: SIZE * u64::from(waiting) };
            let mut cx = QueueCx {
                rng: &mut rng,
                annexes: &mut annexes,
                rate: RATE,
                idle_since: None,
                drops: &mut drops,
                marks: 0,
            };
            black_box(policy.admit(now, &mut packet, &backlog, &mut cx));
            black_box(&packet);
        }
    });
}

#[divan::bench(args = ["drop-tail", "drop-head", "random-drop", "priority"])]
fn plain(bencher: Bencher<'_, '_>, name: &str) {
    measure(bencher, name, 10, 100);
}

#[divan::bench(args = ["red", "rem", "pi", "pie", "codel", "dualpi2", "avq", "avd", "tdqm", "policer", "token-bucket"])]
fn active(bencher: Bencher<'_, '_>, name: &str) {
    measure(bencher, name, 10, 100);
}

macro_rules! fair {
    ($($function:ident $name:literal;)*) => {
        $(#[divan::bench(args = FLOWS)]
        fn $function(bencher: Bencher<'_, '_>, flows: u32) {
            measure(bencher, $name, flows, 2 * flows);
        })*
    };
}

fair! {
    round_robin "round-robin";
    weighted_round_robin "weighted-round-robin";
    cell_round_robin "cell-round-robin";
    deficit_round_robin "deficit-round-robin";
    self_clocked_fair_queueing "self-clocked-fair-queueing";
    weighted_fair_queueing "weighted-fair-queueing";
    virtual_clock "virtual-clock";
    framed_round_robin "framed-round-robin";
    hierarchical_round_robin "hierarchical-round-robin";
    fq_codel "fq-codel";
}
