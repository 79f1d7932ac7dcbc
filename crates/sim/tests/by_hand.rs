//! One link in the simulator and the same link driven by hand, offered the same packets at the same instants: they deliver and
//! drop the same packets at the same instants, whatever the discipline and whatever goes wrong on the wire.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::common;

use common::{OfPackets, built, chat, link};
use proptest::prelude::*;
use tailback_core::{
    Annexes, BitRate, Bytes, Capacity, Distribution, DropReason, FlowId, Kind, LinkId, Packet, Span, Time,
};
use tailback_link::{
    Chance, Change, Coalescing, DeliveryTrace, Impairments, LinkSpec, LossModel, Passage, Reordering,
    StandaloneLink,
};
use tailback_qdisc::Config;
use tailback_qdisc::bucket::TokenBucketConfig;
use tailback_sim::{MemoryLimit, NetworkBuilder, PacketEvent, Recorder, Simulator};

/// What left a link: when, which packet, and why if it was dropped.
type Left = (Time, FlowId, u64, u64, Option<DropReason>);

fn left(now: Time, packet: &Packet, reason: Option<DropReason>) -> Left {
    (now, packet.flow, packet.number, packet.size().get(), reason)
}

/// What was offered to the link under test, and what left it.
#[derive(Default)]
struct Recorded {
    offered: Vec<(Time, Packet)>,
    left: Vec<Left>,
}

const TESTED: LinkId = LinkId(0);

impl Recorder for Recorded {
    const PACKETS: bool = true;

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        match event {
            PacketEvent::Offered(TESTED, packet) => self.offered.push((now, *packet)),
            PacketEvent::Dropped(TESTED, packet, reason) => self.left.push(left(now, packet, Some(reason))),
            PacketEvent::Delivered(_, packet) if packet.kind() == Kind::Data => {
                self.left.push(left(now, packet, None));
            }
            _ => {}
        }
    }
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    queue: Config,
    packets: u32,
    delay: u64,
    loss_before_queue: f64,
    wear: Impairments,
    schedule: Vec<(u64, u64, u64)>,
    trace: Option<String>,
    gaps: Vec<u64>,
}

const MBIT: u64 = 6;
const END: Time = Time::from_nanos(600_000_000);

impl Case {
    fn spec(&self) -> LinkSpec {
        let queue = built(&self.queue, Capacity::Packets(self.packets), MBIT * 1_000_000);
        let mut spec = link("tested", MBIT, self.delay, queue);
        spec.impairments = self.wear.clone();
        if self.loss_before_queue > 0.0 {
            spec.loss_before_queue = Some(LossModel::Independent { probability: self.loss_before_queue });
        }
        if let Some(text) = &self.trace {
            spec.trace = Some(DeliveryTrace::parse(text, Bytes::new(1500)).expect("a good trace"));
        } else {
            let mut at = Time::ZERO;
            for &(after, mbit, delay) in &self.schedule {
                at += Span::from_millis(after);
                let rate = Some(BitRate::from_bits_per_sec(mbit * 1_000_000));
                spec.schedule.push(Change { at, rate, delay: Some(Span::from_millis(delay)) });
            }
        }
        spec
    }

    fn network(&self) -> Simulator<OfPackets> {
        let mut network = NetworkBuilder::new(self.seed);
        let there = network.link(self.spec());
        let back = network.link(link("back", 100, 1, common::unbounded()));
        for (index, &gap) in self.gaps.iter().enumerate() {
            chat(&mut network, &format!("flow {index}"), &[there], &[back], Span::from_micros(gap));
        }
        network.build(END, OfPackets::new(Recorded::default())).expect("a sound network")
    }

    fn simulate(&self) -> Simulator<OfPackets> {
        let mut simulator = self.network();
        simulator.run_until(END);
        simulator
    }
}

#[expect(clippy::default_trait_access, reason = "each line says its discipline once")]
fn queues() -> impl Strategy<Value = Config> {
    prop::sample::select(vec![
        Config::default(),
        Config::DropHead(Default::default()),
        Config::RandomDrop(Default::default()),
        Config::DeficitRoundRobin(Default::default()),
        Config::WeightedFairQueueing(Default::default()),
        Config::Red(Default::default()),
        Config::Rem(Default::default()),
        Config::Pi(Default::default()),
        Config::Pie(Default::default()),
        Config::Codel(Default::default()),
        Config::FqCodel(Default::default()),
        Config::DualPi2(Default::default()),
        Config::Avq(Default::default()),
        Config::TokenBucket(Default::default()),
    ])
}

fn cases() -> impl Strategy<Value = Case> {
    let wear = prop_oneof![
        Just(Impairments::default()),
        (0.0..0.2_f64, 0.0..0.2_f64, 0.0..0.2_f64, 0.0..0.3_f64).prop_map(|(loss, damage, copy, late)| {
            Impairments {
                loss: Some(LossModel::Independent { probability: loss }),
                corruption: Some(Chance { probability: damage }),
                duplication: Some(Chance { probability: copy }),
                reordering: Some(Reordering {
                    probability: late,
                    min: Span::from_millis(1),
                    max: Span::from_millis(9),
                }),
                coalescing: (copy > 0.1)
                    .then(|| Coalescing { time: Distribution::exponential(Span::from_millis(1)) }),
            }
        }),
    ];
    let schedule = prop::collection::vec((1_u64..200, 0_u64..10, 0_u64..9), 0..4);
    let trace = prop::option::weighted(
        0.2,
        prop::collection::vec(1_u64..4, 1..20).prop_map(|gaps| {
            let mut at = 0;
            let line = |gap| {
                at += gap;
                format!("{at}\n")
            };
            gaps.into_iter().map(line).collect::<String>()
        }),
    );
    let gaps = prop::collection::vec(300_u64..5000, 1..5);
    (
        any::<u64>(),
        queues(),
        0_u32..40,
        0_u64..9,
        prop_oneof![Just(0.0), Just(0.1)],
        wear,
        schedule,
        trace,
        gaps,
    )
        .prop_map(|(seed, queue, packets, delay, loss_before_queue, wear, schedule, trace, gaps)| Case {
            seed,
            queue,
            packets,
            delay,
            loss_before_queue,
            wear,
            schedule,
            trace,
            gaps,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_link_in_the_simulator_and_by_hand_passes_the_same_packets(case in cases(), lag in 1_u64..50) {
        let mut simulator = case.simulate();
        let counted = simulator.link(TESTED);
        let Recorded { offered, left: simulated } = simulator.into_recorder().take();
        prop_assert!(offered.len() > 20);

        let (mut by_hand, mut annexes) = (StandaloneLink::new(case.spec(), case.seed), Annexes::new());
        let mut passed = Vec::new();
        let mut gather = |link: &mut StandaloneLink| {
            while let Some((at, passage)) = link.poll() {
                match passage {
                    // A damaged packet ends at its receiver, which tells nobody.
                    Passage::Delivered(packet) if packet.is_corrupted() => {}
                    Passage::Delivered(packet) => passed.push(left(at, &packet, None)),
                    Passage::Dropped(packet, reason) => passed.push(left(at, &packet, Some(reason))),
                    Passage::Duplicated(_) => {}
                }
            }
        };
        for (at, packet) in offered {
            // Whoever drives a link may be late between two packets; what happens, happens at its own time.
            by_hand.advance(at - Span::from_micros(at.as_nanos() % lag), &mut annexes);
            gather(&mut by_hand);
            by_hand.offer(at, packet, &mut annexes);
        }
        by_hand.advance(END - Span::from_nanos(1), &mut annexes);
        gather(&mut by_hand);
        let differs = passed.iter().zip(&simulated).find(|(by_hand, simulated)| by_hand != simulated);
        prop_assert_eq!(differs, None);
        prop_assert_eq!(passed.len(), simulated.len());
        prop_assert!(counted.is_balanced());
        prop_assert_eq!(by_hand.counters().dropped, counted.dropped);
        prop_assert_eq!(by_hand.counters().duplicated, counted.duplicated);
        prop_assert!(annexes.is_empty());
    }
}

/// A link that stands still asks for no packet, though a shaper has one ready: the clock stood still there.
#[test]
fn a_link_of_no_rate_under_a_shaper_waits_for_its_next_rate() {
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    // In between a packet is in transmission at some of these times, and waits for tokens at others.
    for stops_after in 150..158 {
        let case = Case {
            seed: 1,
            queue: Config::TokenBucket(TokenBucketConfig::default()),
            packets: 40,
            delay: 3,
            loss_before_queue: 0.0,
            wear: Impairments::default(),
            // Faster than the shaper, then still, then as at first.
            schedule: vec![(50, 9, 3), (stops_after, 0, 3), (200, 6, 3)],
            trace: None,
            gaps: vec![300, 400, 500],
        };
        let mut simulator = case.network();
        LOOKS.store(0, Ordering::Relaxed);
        // Some thousand events are many more than there are.
        simulator.limit_memory(MemoryLimit {
            most: 1,
            in_use: || if LOOKS.fetch_add(1, Ordering::Relaxed) < 20 { 0 } else { 2 },
        });
        simulator.run_until(Time::ZERO + Span::from_millis(390));
        assert!(!simulator.is_stopped(), "the clock stands still");
        let before = simulator.link(TESTED).delivered.packets;
        simulator.run_until(END);
        assert!(!simulator.is_stopped());
        assert!(simulator.link(TESTED).delivered.packets > before + 50, "it goes on");
    }
}
