//! The recorder of accumulation against cases computed by hand and against laws: of conservation, of paths without
//! propagation, and of the two forms of a link.

use crate::common;

use common::{Echo, OfPackets, chat, drop_tail, link};
use proptest::prelude::*;
use tailback_core::{
    Bytes, DropReason, Endpoint, EndpointCx, FlowId, Input, Kind, LinkId, Observation, Output, Packet, Span,
    Time,
};
use tailback_link::{Change, LossModel};
use tailback_sim::{
    Accumulation, AccumulationPlan, AccumulationSeries, FlowSpec, Hop, NetworkBuilder, PacketEvent, Path,
    Recorder, Series, SeriesPlan, Simulator,
};
use tailback_transport::{AnyReceiver, AnySender};

const BIN: Span = Span::from_millis(1);

fn hop(link: LinkId, millis: u64) -> Hop {
    Hop { link, delay: Span::from_millis(millis), changes: Vec::new(), loses_on_wire: false }
}

/// Three packets of 1000 bytes, all at once.
struct Burst(FlowId, u64);

impl Endpoint for Burst {
    fn handle(&mut self, _: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::Packet(packet) => drop(cx.take_annex(&packet)),
            _ => self.1 = 3,
        }
    }

    fn poll(&mut self, _: Time, _: &mut EndpointCx<'_>) -> Output {
        if self.1 == 0 {
            return Output::Wait(None);
        }
        self.1 -= 1;
        Output::Transmit(Packet::new(Kind::Data, self.0, self.1, Bytes::new(1000)))
    }

    fn observe(&self) -> Observation {
        Observation::default()
    }
}

/// The burst over 8 Mbit/s with 10 ms and 4 Mbit/s with 5 ms.
fn burst(staged: bool, changes: &[(Time, Span)]) -> AccumulationSeries {
    let mut network = NetworkBuilder::new(1);
    let mut first = link("first", 8, 10, drop_tail(10));
    let mut second = link("second", 4, 5, drop_tail(10));
    (first.staged, second.staged) = (staged, staged);
    second.schedule =
        changes.iter().map(|&(at, delay)| Change { at, rate: None, delay: Some(delay) }).collect();
    let links = [network.link(first), network.link(second)];
    let back = network.link(link("back", 8, 1, drop_tail(10)));
    let flow = network.next_flow();
    network.flow(FlowSpec {
        name: "burst".to_owned(),
        forward: links.to_vec(),
        reverse: vec![back],
        sender: AnySender::Custom(Box::new(Burst(flow, 0))),
        receiver: AnyReceiver::Custom(Box::new(Echo::new(flow))),
        start: Time::ZERO,
        stop: None,
    });
    let hops = vec![hop(links[0], 10), Hop { changes: changes.to_vec(), ..hop(links[1], 5) }];
    let recorder = Accumulation::new(&AccumulationPlan {
        bin: BIN,
        bins: 60,
        flows: vec![Path { flow, hops, members: Vec::new() }],
    });
    let end = Time::ZERO + Span::from_millis(60);
    let mut sim = network.build(end, OfPackets::new(recorder)).expect("a sound network");
    sim.run_until(end);
    sim.into_recorder().take::<Accumulation>().finish(60).remove(0)
}

/// The bins in which something is there, from the first on.
fn span(values: &[f64]) -> (usize, &[f64]) {
    let first = values.iter().position(|value| *value > 0.0).unwrap_or(0);
    let last = values.iter().rposition(|value| *value > 0.0).unwrap_or(0);
    (first, &values[first..=last])
}

#[test]
fn a_burst_waits_as_computed_by_hand() {
    for staged in [false, true] {
        let seen = burst(staged, &[]);
        // At the first link, seen 15 ms later, the second packet waits 1 ms and the third 2 ms. They reach the second link
        // at 11, 12 and 13 ms, which takes 2 ms for each: seen 5 ms later, they wait 1 ms from 17 ms and 2 ms from 18 ms.
        let waiting = span(&seen.mean_waiting_bytes);
        assert_eq!(waiting, (15, &[2000.0, 1000.0, 1000.0, 1000.0, 1000.0][..]), "staged: {staged}");
        // Transmitted 0 to 3 ms and 11 to 17 ms.
        let transmitting = span(&seen.mean_transmitting_bytes);
        let whole = [1000.0, 2000.0, 2000.0, 1000.0, 1000.0, 1000.0, 1000.0];
        assert_eq!(transmitting, (15, &whole[..]), "staged: {staged}");
        // At a bin's end, nothing that happens then has happened.
        assert_eq!(seen.waiting_bytes[14..21], [0, 2000, 1000, 1000, 1000, 1000, 0]);
    }
}

#[test]
fn where_a_route_becomes_longer_the_last_level_stands() {
    // The second link's delay becomes 25 ms at 14 ms. The third packet waits there from 13 to 15 ms, seen from 18 to 40 ms:
    // between 19 and 39 ms no signal arrives, and nothing is known to have changed.
    let change = (Time::ZERO + Span::from_millis(14), Span::from_millis(25));
    let seen = burst(true, &[change]);
    let (first, waiting) = span(&seen.mean_waiting_bytes);
    assert_eq!((first, waiting.len(), waiting[0]), (15, 25, 2000.0));
    assert!(waiting[1..].iter().all(|bytes| *bytes == 1000.0), "{waiting:?}");
}

/// What conservation makes of the packets that enter and leave: steps in the receiver's time.
struct Ledger {
    flow: FlowId,
    hops: Vec<Hop>,
    steps: Vec<(Time, i64)>,
}

impl Ledger {
    fn way(&self, from: usize) -> Span {
        self.hops[from..].iter().fold(Span::ZERO, |sum, hop| sum + hop.delay)
    }

    fn level(&self, before: Time) -> i64 {
        self.steps.iter().filter(|(at, _)| *at < before).map(|(_, bytes)| bytes).sum()
    }
}

impl Recorder for Ledger {
    const PACKETS: bool = true;

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        let bytes = |packet: &Packet| packet.size().get().cast_signed();
        let at = |link: LinkId| self.hops.iter().position(|hop| hop.link == link);
        match event {
            PacketEvent::Offered(link, packet) if packet.flow == self.flow && at(link) == Some(0) => {
                self.steps.push((now + self.way(0), bytes(packet)));
            }
            PacketEvent::Dropped(link, packet, reason) if packet.flow == self.flow => {
                if let Some(hop) = at(link) {
                    // What is lost on a wire is missed at its far end.
                    let from = if reason == DropReason::Loss { hop + 1 } else { hop };
                    self.steps.push((now + self.way(from), -bytes(packet)));
                }
            }
            PacketEvent::Delivered(flow, packet) if flow == self.flow && packet.kind() == Kind::Data => {
                self.steps.push((now, -bytes(packet)));
            }
            _ => {}
        }
    }
}

/// A line of links with a flow over all of it, first, and one over each.
fn line<R: Recorder + 'static>(
    (seed, hops, staged, loss): (u64, &[(u64, u64, u32)], bool, f64),
    recorder: impl FnOnce(FlowId, Vec<Hop>) -> R,
    others: bool,
) -> Simulator<OfPackets> {
    let mut network = NetworkBuilder::new(seed);
    let mut links = Vec::new();
    for (index, &(mbit, millis, buffer)) in hops.iter().enumerate() {
        let mut spec = link(&format!("forth {index}"), mbit, millis, drop_tail(buffer));
        spec.staged = staged;
        spec.impairments.loss = (loss > 0.0).then_some(LossModel::Independent { probability: loss });
        links.push(network.link(spec));
    }
    let back = network.link(link("back", 100, 1, drop_tail(1000)));
    let flow = chat(&mut network, "long", &links, &[back], Span::from_micros(900));
    for (index, id) in links.iter().enumerate().take(if others { links.len() } else { 0 }) {
        chat(&mut network, &format!("short {index}"), &[*id], &[back], Span::from_micros(900));
    }
    let hop = |(id, &(_, millis, _))| Hop { loses_on_wire: loss > 0.0, ..hop(id, millis) };
    let recorder = recorder(flow, links.into_iter().zip(hops).map(hop).collect());
    network.build(END, OfPackets::new(recorder)).expect("a sound network")
}

const END: Time = Time::from_nanos(300_000_000);
const BINS: usize = 300;

fn exact(flow: FlowId, hops: Vec<Hop>) -> Accumulation {
    Accumulation::new(&AccumulationPlan {
        bin: BIN,
        bins: 1000,
        flows: vec![Path { flow, hops, members: Vec::new() }],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_entered_is_there_until_it_leaves(
        seed: u64,
        hops in prop::collection::vec((2_u64..20, 0_u64..8, 0_u32..12), 1..5),
        staged: bool,
        loss in prop_oneof![Just(0.0), Just(0.1)],
    ) {
        let both = |flow, hops: Vec<Hop>| {
            (exact(flow, hops.clone()), Ledger { flow, hops, steps: Vec::new() })
        };
        let mut sim = line((seed, &hops, staged, loss), both, true);
        sim.run_until(END);
        let (recorder, ledger): (Accumulation, Ledger) = sim.into_recorder().take();
        let seen = recorder.finish(BINS).remove(0);
        let mut most = 0;
        for bin in 0..BINS {
            let end = Time::ZERO + BIN * (bin as u64 + 1);
            let kept = seen.waiting_bytes[bin] + seen.transmitting_bytes[bin];
            prop_assert_eq!(kept, ledger.level(end), "bin {}", bin);
            prop_assert!(seen.waiting_bytes[bin] >= 0 && seen.transmitting_bytes[bin] >= 0);
            most = most.max(kept);
        }
        prop_assert!(most > 0, "nothing was ever there");
    }

    #[test]
    fn without_propagation_it_is_what_waits_in_the_queues(
        seed: u64,
        rates in prop::collection::vec((2_u64..12, 1_u32..12), 1..4),
        staged: bool,
    ) {
        let hops: Vec<_> = rates.iter().map(|&(mbit, buffer)| (mbit, 0, buffer)).collect();
        let both = |flow, hops: Vec<Hop>| {
            let links = hops.iter().map(|hop| hop.link).collect();
            let plan = SeriesPlan { bin: BIN, links, flows: Vec::new(), queue_state: false };
            (exact(flow, hops), Series::new(plan))
        };
        let mut sim = line((seed, &hops, staged, 0.0), both, false);
        sim.run_until(END);
        let (recorder, series): (Accumulation, Series) = sim.into_recorder().take();
        let series = series.finish();
        let seen = recorder.finish(series.times.len()).remove(0);
        for bin in 0..series.times.len() {
            let queued: u64 = series.links.iter().map(|link| link.queue_bytes[bin]).sum();
            prop_assert_eq!(seen.waiting_bytes[bin], queued.cast_signed(), "bin {}", bin);
        }
    }

    #[test]
    fn the_two_forms_of_a_link_agree(
        seed: u64,
        hops in prop::collection::vec((2_u64..20, 0_u64..8, 0_u32..12), 1..4),
    ) {
        let run = |staged| {
            let mut sim = line((seed, &hops, staged, 0.0), exact, true);
            sim.run_until(END);
            sim.into_recorder().take::<Accumulation>().finish(BINS).remove(0)
        };
        let (direct, staged) = (run(false), run(true));
        // A packet in transmission at the end, known only to the direct form, is nothing yet to the receiver.
        prop_assert_eq!(direct.waiting_bytes, staged.waiting_bytes);
        prop_assert_eq!(direct.mean_waiting_bytes, staged.mean_waiting_bytes);
    }
}
