//! A fair queue is as if a packet that passed it by had never come. That links do not show which packets pass is tested in
//! the simulator's `laws`.

use crate::common;

use common::{RATE, build, config};
use tailback_core::{
    Annexes, Bytes, Capacity, DropReason, FlowId, Kind, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::{Discipline, HearsLate};

/// One call at `micros`, and which flows lost a packet in it.
fn call<T>(
    queue: &mut Discipline,
    micros: u64,
    is_idle: bool,
    act: impl FnOnce(&mut Discipline, Time, &mut QueueCx<'_>) -> T,
) -> (T, Vec<u32>) {
    let now = Time::ZERO + Span::from_micros(micros);
    let mut drops: Vec<(Packet, DropReason)> = Vec::new();
    let mut cx = QueueCx {
        rng: &mut Stream::new(1, "passing"),
        annexes: &mut Annexes::new(),
        rate: RATE,
        idle_since: is_idle.then_some(now),
        drops: &mut drops,
        marks: 0,
    };
    let result = act(queue, now, &mut cx);
    (result, drops.iter().map(|(packet, _)| packet.flow.0).collect())
}

fn join(queue: &mut Discipline, micros: u64, is_idle: bool, flow: u32, size: u64) -> Vec<u32> {
    let packet = Packet::new(Kind::Data, FlowId(flow), 0, Bytes::new(size));
    call(queue, micros, is_idle, |queue, now, cx| queue.enqueue(now, packet, cx)).1
}

fn leave(queue: &mut Discipline, micros: u64) -> Option<u32> {
    call(queue, micros, true, Discipline::dequeue).0.map(|packet| packet.flow.0)
}

/// Flow 1's packet goes into transmission, flow 5's waits, and flow 3's is one too many: who loses?
fn overflow(queue: &mut Discipline, micros: u64) -> Vec<u32> {
    assert!(join(queue, micros, true, 1, 1000).is_empty());
    assert_eq!(leave(queue, micros), Some(1));
    assert!(join(queue, micros + 1, false, 5, 1000).is_empty());
    let lost = join(queue, micros + 2, false, 3, 1000);
    assert!(leave(queue, micros + 1000).is_some());
    assert_eq!(leave(queue, micros + 2000), None);
    lost
}

/// A small packet makes the buffer forget who had most. Where the buffer holds less than two large ones, nothing else does.
#[test]
fn a_packet_may_pass_only_where_the_buffer_would_forget_nothing_by_it() {
    for name in ["round-robin", "deficit-round-robin", "weighted-fair-queueing"] {
        let lost = |may_pass: bool| {
            let mut queue =
                build(&config(&format!("{{\"name\":\"{name}\"}}")), Capacity::Bytes(Bytes::new(1500)));
            let first = overflow(&mut queue, 0);
            let (then, now) = (Time::ZERO + Span::from_millis(10), Time::ZERO + Span::from_millis(20));
            let passes = may_pass
                && queue.lets_pass(then, RATE)
                && queue.has_forgotten(then, now, Bytes::new(40), RATE);
            if !passes {
                assert!(join(&mut queue, 10_000, true, 2, 40).is_empty());
                assert_eq!(leave(&mut queue, 10_000), Some(2));
                assert_eq!(leave(&mut queue, 10_040), None);
            }
            (first, overflow(&mut queue, 20_000))
        };
        assert_eq!(lost(true), lost(false), "{name}");
    }
}
