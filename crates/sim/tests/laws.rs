//! Laws that every run obeys: packets are conserved, a busy link is never idle, the two forms of a link agree packet
//! by packet, equal seeds give equal runs, and adding a flow changes nobody else's draws.

use crate::common;

use common::{OfPackets, Sampling, built, chat, drop_tail, link, unbounded};
use proptest::prelude::*;
use tailback_core::{Bytes, Capacity, Distribution, FlowId, LinkId, Span, Time};
use tailback_link::{
    Chance, Change, Coalescing, DeliveryTrace, Impairments, LinkCounters, LossModel, Reordering,
};
use tailback_qdisc::{Built, Config};
use tailback_sim::{Digest, LogKind, NetworkBuilder, PacketLog, Recorder, Simulator, View};

/// A random network: a line of links in both directions, flows over random stretches of it.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    /// Mbit/s, milliseconds, and packets of buffer where it is bounded.
    hops: Vec<(u64, u64, Option<u32>)>,
    flows: Vec<(usize, usize, u64)>,
    wear: Impairments,
    /// Which discipline: drop-tail for zero, and the fair queues whose links may work ahead.
    queue: u8,
}

/// The queue of a case's links.
#[expect(clippy::default_trait_access, reason = "the variants name what is configured")]
fn queue(kind: u8, buffer: Option<u32>) -> Built {
    let fair = match kind {
        0 => return buffer.map_or_else(unbounded, drop_tail),
        1 => Config::RoundRobin(Default::default()),
        2 => Config::DeficitRoundRobin(Default::default()),
        3 => Config::SelfClockedFairQueueing(Default::default()),
        _ => Config::WeightedFairQueueing(Default::default()),
    };
    // Bounds by packets and by bytes: some of the latter have room for less than one packet.
    let bound = |packets: u32| match packets % 2 {
        0 => Capacity::Packets(packets),
        _ => Capacity::Bytes(Bytes::new(300 * u64::from(packets))),
    };
    built(&fair, buffer.map_or(Capacity::Unlimited, bound), 10_000_000)
}

/// What queues tell of themselves, each millisecond and a bit, or never: a queue at which nobody looks need not hear of
/// everything.
#[derive(Debug, Default, PartialEq)]
struct States {
    is_looking: bool,
    looks: u64,
    told: Vec<f64>,
}

impl Recorder for States {
    fn next_sample(&self) -> Time {
        if self.is_looking { Time::ZERO + Span::from_micros(1100) * self.looks } else { Time::NEVER }
    }

    fn sample(&mut self, view: &mut View<'_>) {
        self.looks += 1;
        for index in 0..view.link_count() {
            view.queue_state(LinkId::from(index), &mut |_, value| self.told.push(value));
        }
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let hop = (1_u64..20, 0_u64..8, prop::option::weighted(0.7, 0_u32..12));
    let flow = (0_usize..4, 0_usize..4, 200_u64..4000);
    let wear = prop_oneof![
           3 => Just(Impairments::default()),
           1 => (0.0..0.3_f64, 0.0..0.2_f64, 0.0..0.2_f64, 0.0..0.3_f64).prop_map(|(loss, damage, copy, late)| {
               Impairments {
                   loss: Some(LossModel::Independent { probability: loss }),
                   corruption: Some(Chance { probability: damage }),
                   duplication: Some(Chance { probability: copy }),
                   reordering: Some(Reordering {
                       probability: late, min: Span::from_millis(1), max: Span::from_millis(9) }),
    coalescing: (copy > 0.1).then(|| Coalescing { time: Distribution::exponential(Span::from_micros(900)) }),
               }
           }),
       ];
    (any::<u64>(), prop::collection::vec(hop, 1..5), prop::collection::vec(flow, 1..6), wear, 0_u8..5)
        .prop_map(|(seed, hops, flows, wear, queue)| Case { seed, hops, flows, wear, queue })
}

fn build<R: Recorder>(case: &Case, staged: bool, flows: usize, recorder: R) -> Simulator<R> {
    let mut network = NetworkBuilder::new(case.seed);
    let mut lines: [Vec<LinkId>; 2] = [Vec::new(), Vec::new()];
    for (index, &(mbit, millis, buffer)) in case.hops.iter().enumerate() {
        for (direction, line) in lines.iter_mut().enumerate() {
            let queue = queue(case.queue, buffer);
            let mut spec = link(&format!("{index} {direction}"), mbit, millis, queue);
            spec.staged = staged;
            if direction == 0 {
                spec.impairments = case.wear.clone();
            }
            line.push(network.link(spec));
        }
    }
    for (index, &(from, to, gap)) in case.flows.iter().take(flows).enumerate() {
        let (from, to) = (from % case.hops.len(), to % case.hops.len());
        let (from, to) = (from.min(to), from.max(to));
        let reverse: Vec<LinkId> = lines[1][from..=to].iter().rev().copied().collect();
        chat(&mut network, &format!("flow {index}"), &lines[0][from..=to], &reverse, Span::from_micros(gap));
    }
    network.build(Time::from_secs_f64(1000.0), recorder).expect("a sound network")
}

const END: Time = Time::from_nanos(400_000_000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn packets_are_conserved(case in cases(), staged in any::<bool>()) {
        let mut sim = build(&case, staged, usize::MAX, Sampling::new(()));
        for step in 1..=8 {
            sim.run_until(Time::from_nanos(END.as_nanos() * step / 8));
            let mut offered = 0;
            let mut gone = 0;
            for index in 0..sim.link_count() {
                let counters = sim.link(LinkId::from(index));
                prop_assert!(counters.is_balanced(), "link {index}: {counters:?}");
                offered += counters.duplicated.packets;
                gone += counters.dropped_total().packets + counters.waiting.packets
                    + counters.in_service.packets + counters.propagating.packets;
            }
            for index in 0..sim.flow_count() {
                let flow = FlowId::from(index);
                offered += sim.sender(flow).sent_packets + sim.receiver(flow).sent_packets;
                gone += sim.sender(flow).received_packets + sim.receiver(flow).received_packets
                    + sim.discarded(flow);
            }
            prop_assert_eq!(offered, gone);
        }
        prop_assert_eq!(sim.live_annexes(), 0);
    }

    #[test]
    fn what_a_link_delivers_arrives_at_the_next_place(case in cases(), staged in any::<bool>()) {
        let mut sim = build(&case, staged, usize::MAX, OfPackets::new(PacketLog::default()));
        sim.run_until(END);
        let links = sim.link_count();
        let delivered: u64 = (0..links).map(|index| sim.link(LinkId::from(index)).delivered.packets).sum();
        let arrived: u64 = (0..links).map(|index| sim.link(LinkId::from(index)).arrived.packets).sum();
        let discarded: u64 = (0..sim.flow_count()).map(|index| sim.discarded(FlowId::from(index))).sum();
        let log: PacketLog = sim.into_recorder().take();
        let count = |kind: LogKind| (0..log.kind.len()).filter(|&row| log.kind[row] == kind as u8).count() as u64;
        // Offers that did not come from an endpoint came from a link, and so did what endpoints got.
        prop_assert_eq!(arrived, count(LogKind::Offered));
        let from_links = count(LogKind::Offered) - count(LogKind::Sent);
        prop_assert_eq!(delivered, from_links + count(LogKind::Delivered) + discarded);
    }

    #[test]
    fn a_busy_link_is_never_idle(case in cases(), staged in any::<bool>()) {
        let mut sim = build(&case, staged, usize::MAX, Sampling::new(()));
        let mut now = Time::ZERO;
        while now < END {
            now += Span::from_micros(733);
            sim.run_until(now);
            for index in 0..sim.link_count() {
                let counters = sim.link(LinkId::from(index));
                prop_assert!(counters.waiting.packets == 0 || counters.in_service.packets == 1);
                // Busy time is what the transmitted bytes take, up to the one in service.
                let (mbit, _, _) = case.hops[index / 2];
                let bits = (counters.transmitted.bytes.get() * 8) as f64;
                let rate = (mbit * 1_000_000) as f64;
                let busy = counters.busy.as_secs_f64() * rate;
                // Each busy period may end a fraction of a nanosecond early.
                let rounding = counters.transmitted.packets as f64 * rate * 1e-9 + rate * 1e-9 + 1.0;
                prop_assert!(busy >= bits - rounding && busy <= bits + 1500.0 * 8.0, "{busy} {bits}");
            }
        }
    }

    #[test]
    fn both_forms_of_a_link_agree(case in cases(), is_looking in any::<bool>()) {
        let run = |staged| {
            let states = States { is_looking, ..States::default() };
            let recorder = (states, (Digest::default(), PacketLog::default()));
            let mut sim = build(&case, staged, usize::MAX, OfPackets::new(recorder));
            let mut counters = Vec::new();
            for step in 1..=20 {
                sim.run_until(Time::from_nanos(END.as_nanos() / 20 * step));
                counters.extend((0..sim.link_count()).map(|i| sim.link(LinkId::from(i))));
            }
            (counters, sim.into_recorder().take::<(States, (Digest, PacketLog))>())
        };
        let (direct_counters, (direct_states, (direct, direct_log))) = run(false);
        let (staged_counters, (staged_states, (staged, staged_log))) = run(true);
        prop_assert_eq!(direct_states, staged_states);
        prop_assert!(direct_log.time == staged_log.time);
        prop_assert!(direct_log.number == staged_log.number);
        prop_assert!(direct_log.kind == staged_log.kind);
        prop_assert_eq!(direct, staged);
        for (a, b) in direct_counters.iter().zip(&staged_counters) {
            // The staged form rounds each transmission to a nanosecond, the direct form only the sum.
            prop_assert!(a.busy.abs_diff(b.busy) <= Span::from_nanos(1 + a.transmitted.packets));
            prop_assert_eq!(LinkCounters { busy: Span::ZERO, ..*a }, LinkCounters { busy: Span::ZERO, ..*b });
        }
    }

    #[test]
    fn equal_seeds_give_equal_runs_also_on_another_thread(case in cases()) {
        let run = |case: &Case| {
            let mut sim = build(case, false, usize::MAX, OfPackets::new(Digest::default()));
            sim.run_until(END);
            sim.into_recorder().take::<Digest>()
        };
        let here = run(&case);
        let there = std::thread::scope(|scope| scope.spawn(|| run(&case)).join().expect("no panic"));
        prop_assert_eq!(here, there);
    }

    #[test]
    fn a_run_in_steps_is_the_same_run(case in cases(), steps in 1_u64..50) {
        let mut whole = build(&case, false, usize::MAX, OfPackets::new(Digest::default()));
        whole.run_until(END);
        let mut cut = build(&case, false, usize::MAX, OfPackets::new(Digest::default()));
        for step in 1..=steps {
            cut.run_until(Time::from_nanos(END.as_nanos() / steps * step));
        }
        cut.run_until(END);
        prop_assert_eq!(whole.into_recorder().take::<Digest>(), cut.into_recorder().take::<Digest>());
    }

    #[test]
    fn adding_a_flow_leaves_the_draws_of_others_alone(case in cases()) {
        let sent = |flows: usize| {
            let mut sim = build(&case, false, flows, OfPackets::new(PacketLog::default()));
            sim.run_until(END);
            let log: PacketLog = sim.into_recorder().take();
            (0..log.time.len())
                .filter(|&i| log.kind[i] == 0 && log.flow[i] == 0 && log.bits[i].is_multiple_of(4))
                .map(|i| (log.time[i], log.number[i], log.size[i]))
                .collect::<Vec<_>>()
        };
        prop_assert_eq!(sent(1), sent(usize::MAX));
    }
}

/// The unit recorder: nothing watches.
#[test]
fn the_clock_never_goes_back() {
    let case = Case {
        seed: 5,
        hops: vec![(3, 2, Some(9)), (2, 1, Some(4))],
        flows: vec![(0, 1, 300), (1, 1, 500)],
        wear: Impairments::default(),
        queue: 0,
    };
    let mut sim = build(&case, false, usize::MAX, OfPackets::new(PacketLog::default()));
    sim.run_until(END);
    assert!(sim.recorder().get::<PacketLog>().time.is_sorted());
    assert!(sim.recorder().get::<PacketLog>().time.len() > 1000);
}

#[test]
fn a_rate_change_and_an_outage_take_effect() {
    let mut network = NetworkBuilder::new(1);
    let mut spec = link("forward", 8, 1, drop_tail(1000));
    let at = |millis: u64, mbit: u64| Change {
        at: Time::ZERO + Span::from_millis(millis),
        rate: Some(tailback_core::BitRate::from_bits_per_sec(mbit * 1_000_000)),
        delay: None,
    };
    spec.schedule = vec![at(1000, 0), at(2000, 4)];
    let forward = network.link(spec);
    let reverse = network.link(link("reverse", 100, 1, drop_tail(1000)));
    chat(&mut network, "flow", &[forward], &[reverse], Span::from_micros(100));
    let mut sim = network.build(Time::from_secs_f64(10.0), Sampling::new(())).expect("a sound network");
    let mut transmitted = |millis: u64| {
        sim.run_until(Time::ZERO + Span::from_millis(millis));
        sim.link(forward).transmitted.bytes.get()
    };
    let (first, second, third) = (transmitted(1002), transmitted(2000), transmitted(3000));
    assert!((first as f64 - 1e6).abs() < 0.05e6, "8 Mbit/s for a second: {first}");
    assert_eq!(first, second, "nothing leaves during the outage");
    assert!(((third - second) as f64 - 0.5e6).abs() < 0.02e6, "4 Mbit/s for a second: {third}");
}

#[test]
fn a_delivery_trace_sets_the_rate_and_wastes_unused_opportunities() {
    let mut network = NetworkBuilder::new(1);
    let mut spec = link("forward", 12, 1, drop_tail(100_000));
    let text = (1..=1000).map(|millis| millis.to_string()).collect::<Vec<_>>().join("\n");
    spec.trace = Some(DeliveryTrace::parse(&text, Bytes::new(1500)).expect("a good trace"));
    let forward = network.link(spec);
    let reverse = network.link(link("reverse", 100, 1, drop_tail(1000)));
    chat(&mut network, "flow", &[forward], &[reverse], Span::from_micros(50));
    let mut sim = network.build(Time::from_secs_f64(10.0), Sampling::new(())).expect("a sound network");
    sim.run_until(Time::from_secs_f64(3.0));
    let bytes = sim.link(forward).transmitted.bytes.get() as f64;
    assert!((bytes / 3.0 - 1.5e6).abs() < 2e4, "1500 B a millisecond: {bytes}");
    assert!(sim.link(forward).is_balanced());
}
