//! CAKE's filter of acknowledgements written anew from Linux's `cake_ack_filter` and tc-cake, over queues that nobody serves. Of
//! ours the settings and the tests in `cake.rs` were read before. That flags which change begin the search anew was forgotten
//! at first, and looked up in `sch_cake`.
//!
//! The library's choice is in here, too: what names ranges stays, whatever comes, and so does what has the newest's number;
//! Linux compares ranges (`cake_tcph_sack_compare`). Options of TCP, and headers that are not TCP's, are left out. What goes while
//! packets leave, and what shaper and autorate make of it, is compared in `autorate`.

use proptest::prelude::*;
use tailback_core::{
    AckBlocks, Annex, Annexes, Backlog, Bytes, Capacity, FlowId, Kind, Packet, QueueCx, QueueDiscipline,
    SeqRange, Stream, Time,
};

use crate::common::{self, RATE, build, config};

/// A packet as the filter sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    serial: usize,
    flow: u32,
    is_ack: bool,
    number: u64,
    ranges: Vec<SeqRange>,
    echo: bool,
}

impl Seen {
    /// Of a packet that names no ranges.
    pub fn plain(packet: &Packet) -> Self {
        Self {
            serial: 0,
            flow: packet.flow.0,
            is_ack: packet.kind() == Kind::Ack,
            number: packet.number,
            ranges: Vec::new(),
            echo: packet.ecn_echo(),
        }
    }
}

/// A discipline in whose arrivals small packets are acknowledgements, some with an echo.
pub struct Acknowledging<'a>(pub &'a mut dyn QueueDiscipline);

impl QueueDiscipline for Acknowledging<'_> {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let mut packet = packet;
        if packet.size() < Bytes::new(1000) {
            let (ecn, lane) = (packet.ecn(), packet.lane());
            packet = Packet::new(Kind::Ack, packet.flow, packet.number, packet.size());
            packet.set_ecn(ecn);
            packet.set_lane(lane);
            packet.set_ecn_echo(packet.number % 7 > 4);
        }
        self.0.enqueue(now, packet, cx);
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.0.dequeue(now, cx)
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        self.0.next_ready(now)
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

/// `cake_ack_filter`: which of the queue goes for its last.
pub fn goes(queue: &[Seen], aggressive: bool) -> Option<usize> {
    let (newest, before) = queue.split_last()?;
    if !newest.is_ack {
        return None;
    }
    let mut eligible = None;
    for (at, older) in before.iter().enumerate() {
        if !older.is_ack || older.flow != newest.flow {
            continue;
        }
        // What says that an echo begins or ends must not be passed over.
        eligible = eligible.filter(|first: &usize| before[*first].echo == older.echo);
        if !older.ranges.is_empty() || older.number >= newest.number {
            continue;
        }
        if eligible.is_some() {
            return eligible;
        }
        eligible = Some(at);
    }
    let at = eligible?;
    (aggressive && at + 1 == before.len() && before[at].echo == newest.echo).then_some(at)
}

fn packets() -> impl Strategy<Value = Vec<(u32, bool, u64, Vec<(u64, u64)>, bool)>> {
    let ranges = prop_oneof![
        3 => Just(Vec::new()),
        2 => prop::collection::vec((0_u64..6, 1_u64..4), 1..4),
    ];
    let packet = (0_u32..2, prop::bool::weighted(0.85), 0_u64..4, ranges, prop::bool::weighted(0.2));
    prop::collection::vec(packet, 1..40)
}

proptest! {
    #![proptest_config(common::cases(2000))]

    #[test]
    fn the_filter(packets in packets(), aggressive: bool) {
        let name = if aggressive { "aggressive" } else { "on" };
        let written = format!(r#"{{"name":"cake","isolation":"flowblind","tins":"besteffort","ack_filter":"{name}"}}"#);
        let mut ours = build(&config(&written), Capacity::Unlimited);
        let (mut rng, mut annexes, mut drops) = (Stream::new(1, "queue"), Annexes::new(), Vec::new());
        let mut queue: Vec<Seen> = Vec::new();
        let mut numbers = [0_u64; 2];
        for (serial, (flow, is_ack, step, blocks, echo)) in packets.into_iter().enumerate() {
            let number = &mut numbers[flow as usize];
            // Now and then an older one comes late.
            *number = if step == 3 { number.saturating_sub(1) } else { *number + step };
            let mut blocks: Vec<(u64, u64)> = blocks;
            blocks.sort_unstable();
            let mut above = *number + 1;
            let ranges = blocks.into_iter().map(|(gap, length)| {
                let range = SeqRange { start: above + gap, end: above + gap + length };
                above = range.end + 1;
                range
            });
            let ranges: Vec<SeqRange> = if is_ack { ranges.collect() } else { Vec::new() };
            let kind = if is_ack { Kind::Ack } else { Kind::Data };
            let mut packet = Packet::new(kind, FlowId(flow), *number, Bytes::new(40));
            packet.set_ecn_echo(echo);
            if !ranges.is_empty() {
                let mut said = AckBlocks { count: ranges.len() as u8, ..AckBlocks::default() };
                said.blocks[..ranges.len()].copy_from_slice(&ranges);
                packet.annex = annexes.insert(Annex::Blocks(said));
            }
            queue.push(Seen { serial, flow, is_ack, number: *number, ranges, echo });
            let gone = goes(&queue, aggressive).map(|at| queue.remove(at));
            let rng = &mut rng;
            let mut cx = QueueCx {
                rng, annexes: &mut annexes, rate: RATE, idle_since: None, drops: &mut drops, marks: 0,
            };
            ours.enqueue(Time::ZERO, packet, &mut cx);
            let dropped: Vec<_> = drops.drain(..).map(|(packet, _)| {
                let ranges = match annexes.take(packet.annex) {
                    Some(Annex::Blocks(said)) => said.as_slice().to_vec(),
                    _ => Vec::new(),
                };
                (packet.flow.0, packet.number, ranges)
            }).collect();
            let expected: Vec<_> = gone.iter().map(|seen| (seen.flow, seen.number, seen.ranges.clone())).collect();
            prop_assert_eq!(dropped, expected, "packet {}: {:?} goes; {:?}", serial, gone.map(|seen| seen.serial), queue);
        }
    }
}
