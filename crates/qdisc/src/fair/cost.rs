//! What a packet costs that pushes another out of a full buffer, or that comes where the rate has changed: as much among ten
//! thousand flows as among a hundred. It is counted in entries of orders, and in slots, that are looked at, not in time.

use tailback_core::{Annexes, BitRate, Bytes, Capacity, FlowId, Kind, Packet, QueueCx, Span, Stream, Time};

use super::buffer::{BufferConfig, Victim};
use super::clock::VirtualClockConfig;
use super::frames::FramedRoundRobinConfig;
use super::looks::LOOKS;
use super::round::DeficitRoundRobinConfig;
use super::selfclocked::{CellRoundRobinConfig, SelfClockedConfig};
use super::weighted::WeightedFairConfig;
use crate::BoxedQueue;
use crate::cake::CakeConfig;
use crate::cake::settings::CodepointsConfig;
use crate::cake::tins::{Codepoint, Tins};
use crate::fq_codel::FqCodelConfig;
use crate::known::{KnownFlows, NamedFlow};
use crate::parts::{BuildCx, QueueConfig};
use crate::pushout::RandomDropConfig;

/// A server's name, and how its own type makes it: with the enum of all disciplines, every one would be compiled for these tests.
type Server = (&'static str, fn(&BuildCx) -> BoxedQueue);

/// A server, mostly with a full buffer, and the number of the packet that came last.
struct Full {
    queue: BoxedQueue,
    now: Time,
    /// The link's rate as packets find it that come; they leave at the same one always.
    rate: BitRate,
    rng: Stream,
    number: u64,
    lost: u64,
}

const RATE: BitRate = BitRate::from_bits_per_sec(8_000_000_000);

impl Full {
    fn new((_, build): Server, capacity: Capacity) -> Self {
        let cx =
            BuildCx { capacity, rate: RATE, mean_packet: Bytes::new(1000), flows: KnownFlows::default() };
        Self {
            queue: build(&cx),
            now: Time::ZERO,
            rate: RATE,
            rng: Stream::new(1, "full"),
            number: 0,
            lost: 0,
        }
    }

    fn call<T>(&mut self, act: impl FnOnce(&mut BoxedQueue, Time, &mut QueueCx<'_>) -> T) -> T {
        let (mut annexes, mut drops) = (Annexes::new(), Vec::new());
        let (rng, annexes, drops) = (&mut self.rng, &mut annexes, &mut drops);
        let mut cx = QueueCx { rng, annexes, rate: self.rate, idle_since: None, drops, marks: 0 };
        let result = act(&mut self.queue, self.now, &mut cx);
        self.lost += cx.drops.len() as u64;
        result
    }

    fn enter(&mut self, flow: u32, size: u64) {
        self.number += 1;
        let packet = Packet::new(Kind::Data, FlowId(flow), self.number, Bytes::new(size));
        self.call(|queue, now, cx| queue.enqueue(now, packet, cx));
    }

    /// The flow whose packet leaves.
    fn leave(&mut self) -> u32 {
        let packet = self.call(|queue, now, cx| queue.dequeue(now, cx)).expect("a full buffer");
        self.now += Span::from_nanos(packet.size().get());
        packet.flow.0
    }
}

/// Each flow has a packet of 1000 B, and one sends larger ones in vain; now and then a packet leaves and its flow sends again.
fn one_that_loses_all(full: &mut Full, flows: u32) {
    for flow in 1..flows {
        full.enter(flow, 1000);
    }
    for packet in 0..4 * flows {
        full.enter(0, 1400 + u64::from(packet % 90));
        if packet % 8 == 7 {
            let flow = full.leave();
            full.enter(flow, 1000);
        }
    }
}

/// Twice as many packets come as leave, of any flow and size.
fn any(full: &mut Full, flows: u32) {
    for packet in 0..10 * flows {
        let (flow, size) = (full.rng.below(u64::from(flows)) as u32, 40 + full.rng.below(1460));
        full.enter(flow, size);
        if packet > 4 * flows && packet % 2 == 0 {
            full.leave();
        }
    }
}

/// Looks per packet, and how many were lost.
fn looks_and_losses(server: Server, capacity: Capacity, flows: u32, play: fn(&mut Full, u32)) -> (u64, u64) {
    let mut full = Full::new(server, capacity);
    let before = LOOKS.get();
    play(&mut full, flows);
    ((LOOKS.get() - before) / full.number, full.lost)
}

/// Looks per packet where many are lost.
fn looks(server: Server, capacity: Capacity, flows: u32, play: fn(&mut Full, u32)) -> u64 {
    let (looks, lost) = looks_and_losses(server, capacity, flows, play);
    assert!(lost > u64::from(flows) / 2, "{}: {lost} lost", server.0);
    looks
}

#[test]
fn a_push_out_costs_as_much_among_many_flows() {
    let servers: [Server; 5] = [
        ("self-clocked-fair-queueing", |cx| SelfClockedConfig::default().build(cx)),
        ("self-clocked-fair-queueing, longest-head", |cx| {
            let buffer = BufferConfig { victim: Victim::LongestHead, ..BufferConfig::default() };
            SelfClockedConfig { buffer, ..SelfClockedConfig::default() }.build(cx)
        }),
        ("cell-round-robin", |cx| CellRoundRobinConfig::default().build(cx)),
        ("weighted-fair-queueing", |cx| WeightedFairConfig::default().build(cx)),
        ("virtual-clock", |cx| VirtualClockConfig::default().build(cx)),
    ];
    for server in servers {
        for play in [one_that_loses_all, any] {
            let looks = [100, 1000, 10_000].map(|flows| {
                looks(server, Capacity::Bytes(Bytes::new(1000 * u64::from(flows))), flows, play)
            });
            assert!(looks.iter().all(|looks| *looks <= 12), "{}: {looks:?}", server.0);
        }
    }
}

/// Of many flows that have sent, and may be remembered, few have packets; the buffer of 16 is full and empty in turns.
fn few_at_once(full: &mut Full, flows: u32) {
    for flow in 0..flows {
        full.enter(flow, 1000);
        full.leave();
    }
    for _ in 0..flows / 8 {
        for _ in 0..24 {
            let flow = full.rng.below(u64::from(flows)) as u32;
            full.enter(flow, 1000);
        }
        for _ in 0..16 {
            full.leave();
        }
    }
}

#[test]
fn a_push_out_costs_as_much_beside_many_flows_without_packets() {
    let servers: [Server; 8] = [
        ("deficit-round-robin", |cx| DeficitRoundRobinConfig::default().build(cx)),
        ("self-clocked-fair-queueing", |cx| SelfClockedConfig::default().build(cx)),
        ("virtual-clock", |cx| {
            VirtualClockConfig { reserve: 1e-6, ..VirtualClockConfig::default() }.build(cx)
        }),
        ("framed-round-robin", |cx| {
            FramedRoundRobinConfig { frame: Span::from_secs(1), ..FramedRoundRobinConfig::default() }
                .build(cx)
        }),
        ("fq-codel, 4e6 queues", |cx| {
            FqCodelConfig { queues: 4_000_000, ..FqCodelConfig::default() }.build(cx)
        }),
        ("fq-codel, 4e9 queues", |cx| {
            FqCodelConfig { queues: 4_000_000_000, ..FqCodelConfig::default() }.build(cx)
        }),
        ("cake, besteffort", |cx| CakeConfig { tins: Tins::BestEffort, ..CakeConfig::default() }.build(cx)),
        ("cake, diffserv8", |cx| {
            let codepoints =
                vec![CodepointsConfig { flows: NamedFlow::numbered(&[1, 2, 3]), codepoint: Codepoint::Ef }];
            CakeConfig { tins: Tins::Eight, codepoints, ..CakeConfig::default() }.build(cx)
        }),
    ];
    for server in servers {
        let looks =
            [100, 1000, 100_000].map(|flows| looks(server, Capacity::Packets(16), flows, few_at_once));
        assert!(looks.iter().all(|looks| *looks <= 12), "{}: {looks:?}", server.0);
    }
}

/// Random drop walks through a tree for whom it pushes out, and closes up now and then.
#[test]
fn any_packet_of_one_queue_costs_as_much_among_many() {
    let server: Server = ("random-drop", |cx| Box::new(RandomDropConfig::default().build(cx)));
    let looks = [100, 1000, 10_000].map(|flows| looks(server, Capacity::Packets(2 * flows), flows, any));
    assert!(looks.iter().all(|looks| *looks <= 60), "{looks:?}");
}

/// What comes finds a rate ten times as high or as low as the one at which packets leave: the fluid overtakes them all, and each
/// of a flow's packets comes anywhere among those that it has overtaken.
fn at_changing_rates(full: &mut Full, flows: u32) {
    for flow in 0..2 * flows {
        full.enter(flow % flows, 1000);
    }
    for _ in 0..4 * flows {
        full.rate = if full.rng.chance(0.5) { RATE.mul_f64(10.0) } else { RATE.mul_f64(0.1) };
        let (flow, size) = (full.rng.below(u64::from(flows)) as u32, 40 + full.rng.below(1460));
        full.enter(flow, size);
        full.leave();
    }
}

#[test]
fn a_rate_that_changes_costs_as_much_among_many_flows() {
    let server: Server = ("weighted-fair-queueing", |cx| WeightedFairConfig::default().build(cx));
    let looks = [100, 1000, 10_000]
        .map(|flows| looks_and_losses(server, Capacity::Unlimited, flows, at_changing_rates).0);
    assert!(looks.iter().all(|looks| *looks <= 30), "{looks:?}");
}
