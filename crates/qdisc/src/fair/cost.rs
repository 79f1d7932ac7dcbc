//! What a packet costs that pushes another out of a full buffer, or that comes where the rate has changed: as much among ten
//! thousand flows as among a hundred. It is counted in entries of orders, and in slots, that are looked at, not in time.

use tailback_core::{
    Annexes, BitRate, Bytes, Capacity, FlowId, Kind, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};

use super::looks::LOOKS;
use crate::parts::{BuildCx, FlowHosts};
use crate::{Config, Discipline};

/// A server, mostly with a full buffer, and the number of the packet that came last.
struct Full {
    queue: Discipline,
    now: Time,
    /// The link's rate as packets find it that come; they leave at the same one always.
    rate: BitRate,
    rng: Stream,
    number: u64,
    lost: u64,
}

const RATE: BitRate = BitRate::from_bits_per_sec(8_000_000_000);

impl Full {
    fn new(written: &str, capacity: Capacity) -> Self {
        let config: Config = serde_json::from_str(written).expect(written);
        let cx = BuildCx { capacity, rate: RATE, mean_packet: Bytes::new(1000), hosts: FlowHosts::default() };
        let queue = config.build(&cx).into_discipline();
        Self { queue, now: Time::ZERO, rate: RATE, rng: Stream::new(1, "full"), number: 0, lost: 0 }
    }

    fn call<T>(&mut self, act: impl FnOnce(&mut Discipline, Time, &mut QueueCx<'_>) -> T) -> T {
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
        let packet = self.call(QueueDiscipline::dequeue).expect("a full buffer");
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
fn looks_and_losses(written: &str, capacity: Capacity, flows: u32, play: fn(&mut Full, u32)) -> (u64, u64) {
    let mut full = Full::new(written, capacity);
    let before = LOOKS.get();
    play(&mut full, flows);
    ((LOOKS.get() - before) / full.number, full.lost)
}

/// Looks per packet where many are lost.
fn looks(written: &str, capacity: Capacity, flows: u32, play: fn(&mut Full, u32)) -> u64 {
    let (looks, lost) = looks_and_losses(written, capacity, flows, play);
    assert!(lost > u64::from(flows) / 2, "{written}: {lost} lost");
    looks
}

#[test]
fn a_push_out_costs_as_much_among_many_flows() {
    for written in [
        r#"{"name":"self-clocked-fair-queueing"}"#,
        r#"{"name":"self-clocked-fair-queueing","buffer":{"victim":"longest-head"}}"#,
        r#"{"name":"cell-round-robin"}"#,
        r#"{"name":"weighted-fair-queueing"}"#,
        r#"{"name":"virtual-clock"}"#,
    ] {
        for play in [one_that_loses_all, any] {
            let looks = [100, 1000, 10_000].map(|flows| {
                looks(written, Capacity::Bytes(Bytes::new(1000 * u64::from(flows))), flows, play)
            });
            assert!(looks.iter().all(|looks| *looks <= 12), "{written}: {looks:?}");
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
    for written in [
        r#"{"name":"deficit-round-robin"}"#,
        r#"{"name":"self-clocked-fair-queueing"}"#,
        r#"{"name":"virtual-clock","reserve":0.000001}"#,
        r#"{"name":"framed-round-robin","frame":"1 s"}"#,
        r#"{"name":"fq-codel","queues":4000000}"#,
        r#"{"name":"fq-codel","queues":4000000000}"#,
        r#"{"name":"cake","tins":"besteffort"}"#,
        r#"{"name":"cake","tins":"diffserv8","codepoints":[{"flows":[1,2,3],"codepoint":"EF"}]}"#,
    ] {
        let looks =
            [100, 1000, 100_000].map(|flows| looks(written, Capacity::Packets(16), flows, few_at_once));
        assert!(looks.iter().all(|looks| *looks <= 12), "{written}: {looks:?}");
    }
}

/// Random drop walks through a tree for whom it pushes out, and closes up now and then.
#[test]
fn any_packet_of_one_queue_costs_as_much_among_many() {
    let looks = [100, 1000, 10_000]
        .map(|flows| looks(r#"{"name":"random-drop"}"#, Capacity::Packets(2 * flows), flows, any));
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
    let written = r#"{"name":"weighted-fair-queueing"}"#;
    let looks = [100, 1000, 10_000]
        .map(|flows| looks_and_losses(written, Capacity::Unlimited, flows, at_changing_rates).0);
    assert!(looks.iter().all(|looks| *looks <= 30), "{looks:?}");
}
