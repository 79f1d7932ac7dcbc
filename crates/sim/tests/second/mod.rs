//! A link written a second time (`link.rs`), before `crates/link` was read, and the same packets through both: alone, and in networks
//! in which packets enter links ahead of their time. Rates are odd, so that hardly anything happens at the instant of something else;
//! a network in which two packets reach a link at once is not compared, since the seed decides which is first.

mod link;

use proptest::prelude::*;
use tailback_core::{Annexes, BitRate, Bytes, Capacity, FlowId, Kind, LinkId, Packet, Span, Time};
use tailback_link::{Change, DeliveryTrace, LinkCounters, LinkSpec, Passage, StandaloneLink};
use tailback_qdisc::Config;
use tailback_qdisc::bucket::TokenBucketConfig;
use tailback_qdisc::cake::CakeConfig;
use tailback_qdisc::cake::framing::Framing;
use tailback_qdisc::cake::settings::Isolation;
use tailback_qdisc::cake::tins::Tins;
use tailback_sim::{NetworkBuilder, PacketEvent, Recorder, Simulator};

use crate::common::{OfPackets, Sampling, built, chat};
use link::{Counts, Described, Fate, Gate, Step};

fn time(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// The link for the library.
fn spec(name: &str, described: &Described) -> LinkSpec {
    let config = match described.gate {
        Gate::Open => Config::default(),
        Gate::Bucket { rate, depth } => Config::TokenBucket(TokenBucketConfig {
            rate: Some(BitRate::from_bits_per_sec(rate)),
            burst: Bytes::new(depth),
            ..TokenBucketConfig::default()
        }),
        // One queue, and no packet is ever dropped for its delay.
        Gate::Clock { rate, overhead, least, cells } => Config::Cake(CakeConfig {
            rate: Some(BitRate::from_bits_per_sec(rate)),
            rtt: Span::from_secs(1_000_000),
            isolation: Isolation::None,
            tins: Tins::BestEffort,
            overhead: Bytes::new(overhead),
            least_frame: Bytes::new(least),
            framing: if cells { Framing::Atm } else { Framing::None },
            ..CakeConfig::default()
        }),
    };
    let queue = built(&config, described.capacity, described.rate);
    let (rate, delay) = (BitRate::from_bits_per_sec(described.rate), Span::from_nanos(described.delay));
    let mut spec = LinkSpec::new(name, rate, delay, queue);
    spec.schedule.extend(described.steps.iter().map(|step| Change {
        at: time(step.at),
        rate: step.rate.map(BitRate::from_bits_per_sec),
        delay: step.delay.map(Span::from_nanos),
    }));
    spec.trace = described.trace.as_ref().map(|(times, bytes)| {
        let text = times.iter().map(u64::to_string).collect::<Vec<_>>().join("\n");
        DeliveryTrace::parse(&text, Bytes::new(*bytes)).expect("a good trace")
    });
    spec
}

fn rates() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 500_001_u64..20_000_000, 1 => 20_000_u64..500_000, 1 => 20_000_000_u64..3_000_000_000]
}

fn delays() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0_u64), 3 => 0_u64..30_000_000]
}

/// Changes of the rate, which may be none for a while, and of the delay.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![1 => 1_u64..10_000, 4 => 1_u64..80_000_000];
    let rate = prop::option::weighted(0.8, prop_oneof![1 => Just(0_u64), 3 => rates()]);
    let delay = prop::option::weighted(0.5, delays());
    prop::collection::vec((gap, rate, delay), 0..8).prop_map(|steps| {
        let mut clock = 0;
        let mut step = |(gap, rate, delay)| {
            clock += gap;
            Step { at: clock, rate, delay }
        };
        steps.into_iter().map(&mut step).collect()
    })
}

fn traces() -> impl Strategy<Value = Option<(Vec<u64>, u64)>> {
    let gaps = prop::collection::vec(prop_oneof![1 => Just(0_u64), 3 => 0_u64..5, 1 => 0_u64..40], 1..20);
    let size = prop_oneof![Just(1500_u64), Just(1504), 1_u64..9000];
    prop::option::weighted(0.3, (gaps, size)).prop_map(|given| {
        let (gaps, size) = given?;
        let mut clock = 0;
        let mut times: Vec<u64> = gaps
            .into_iter()
            .map(|gap| {
                clock += gap;
                clock
            })
            .collect();
        times.push(clock.max(1));
        Some((times, size))
    })
}

fn capacities() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        2 => Just(Capacity::Unlimited),
        2 => (0_u32..20).prop_map(Capacity::Packets),
        1 => (100_u64..30_000).prop_map(|bytes| Capacity::Bytes(Bytes::new(bytes))),
    ]
}

/// Rates of tokens are powers of two of bytes per nanosecond: in real numbers, too, tokens are whole.
fn gates() -> impl Strategy<Value = Gate> {
    let bucket = (0_u32..5, prop_oneof![100_u64..3000, Just(15_000)])
        .prop_map(|(power, depth)| Gate::Bucket { rate: 7_812_500 << power >> 2, depth });
    let clock = (100_000_u64..15_000_000, 0_u64..60, 0_u64..120, any::<bool>())
        .prop_map(|(rate, overhead, least, cells)| Gate::Clock { rate, overhead, least, cells });
    prop_oneof![2 => Just(Gate::Open), 1 => bucket, 1 => clock]
}

prop_compose! {
    fn described()(
        rate in rates(), delay in delays(), steps in steps(), trace in traces(), gate in gates(), capacity in capacities(),
    ) -> Described {
        let mut steps = steps;
        if trace.is_some() {
            // A scenario has a trace or other rates.
            for step in &mut steps {
                step.rate = None;
            }
        }
        // CAKE drops of the longest queue, which is no line's way.
        let capacity = if matches!(gate, Gate::Clock { .. }) { Capacity::Unlimited } else { capacity };
        Described { rate, delay, steps, trace, gate, capacity }
    }
}

/// Packets in bursts and alone.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![2 => Just(0_u64), 4 => 1_u64..3_000_000, 1 => 1_u64..60_000_000];
    let size = prop_oneof![Just(40_u64), Just(1500), 1_u64..1500, Just(9000)];
    prop::collection::vec((gap, size), 1..150).prop_map(|packets| {
        let mut clock = 0;
        let mut packet = |(gap, size)| {
            clock += gap;
            (clock, size)
        };
        packets.into_iter().map(&mut packet).collect()
    })
}

const END: u64 = 600_000_000;

/// What came out of the library's link: when, which packet, and whether it was dropped.
type Passed = Vec<(u64, u64, bool)>;

/// Plays packets into the library's link, and looks at it at each multiple of `every`.
fn passed(described: &Described, arrivals: &[(u64, u64)], every: u64) -> (Passed, Vec<(u64, LinkCounters)>) {
    let (mut link, mut annexes) = (StandaloneLink::new(spec("tested", described), 1), Annexes::new());
    let (mut passed, mut looks, mut next) = (Vec::new(), Vec::new(), every);
    let mut look_until = |link: &mut StandaloneLink, annexes: &mut Annexes, now: u64| {
        while next < now {
            link.advance(time(next), annexes);
            looks.push((next, link.counters()));
            next += every;
        }
    };
    for (number, &(at, size)) in arrivals.iter().enumerate().filter(|(_, arrival)| arrival.0 <= END) {
        look_until(&mut link, &mut annexes, at);
        let packet = Packet::new(Kind::Data, FlowId(0), number as u64, Bytes::new(size));
        link.offer(time(at), packet, &mut annexes);
    }
    look_until(&mut link, &mut annexes, END);
    link.advance(time(END), &mut annexes);
    while let Some((at, passage)) = link.poll() {
        match passage {
            Passage::Delivered(packet) => passed.push((at.as_nanos(), packet.number, false)),
            Passage::Dropped(packet, _) => passed.push((at.as_nanos(), packet.number, true)),
            Passage::Duplicated(_) => {}
        }
    }
    (passed, looks)
}

/// The same from the second writing.
fn passed_anew(fates: &[Fate]) -> Passed {
    let out = |fate: &Fate| {
        let at = if fate.dropped { Some(fate.arrived) } else { fate.reaches };
        at.filter(|at| *at <= END).map(|at| (at, fate.number, fate.dropped))
    };
    let mut passed: Passed = fates.iter().filter(|fate| fate.arrived <= END).filter_map(out).collect();
    passed.sort_unstable();
    passed
}

/// The packets of each flow that are offered to its first link.
#[derive(Default)]
struct Offered(Vec<(LinkId, u64, u64)>);

impl Recorder for Offered {
    const PACKETS: bool = true;

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        if let PacketEvent::Offered(link, packet) = event {
            self.0.push((link, now.as_nanos(), packet.size().get()));
        }
    }
}

/// Flows that each have a link before and behind the links that all share, and a way back of their own.
#[derive(Clone, Debug)]
struct Network {
    seed: u64,
    shared: Vec<Described>,
    /// Before, behind, back, and the mean gap in microseconds.
    flows: Vec<([Described; 3], u64)>,
}

/// Where nothing ever changes, and nothing is dropped.
fn plain() -> impl Strategy<Value = Described> {
    (rates(), delays()).prop_map(|(rate, delay)| Described {
        rate,
        delay,
        steps: Vec::new(),
        trace: None,
        gate: Gate::Open,
        capacity: Capacity::Unlimited,
    })
}

fn networks() -> impl Strategy<Value = Network> {
    let any_link = || prop_oneof![2 => plain(), 1 => described()];
    let behind = (any_link(), prop::bool::weighted(0.7)).prop_map(|(link, unlimited)| {
        let capacity = if unlimited { Capacity::Unlimited } else { link.capacity };
        Described { capacity, ..link }
    });
    let flow = (any_link(), behind, plain(), 300_u64..4000);
    let flow = flow.prop_map(|(before, behind, back, gap)| ([before, behind, back], gap));
    (any::<u64>(), prop::collection::vec(any_link(), 1..4), prop::collection::vec(flow, 1..5))
        .prop_map(|(seed, shared, flows)| Network { seed, shared, flows })
}

impl Network {
    fn build<R: Recorder>(&self, recorder: R) -> Simulator<R> {
        let mut network = NetworkBuilder::new(self.seed);
        let shared: Vec<LinkId> = self
            .shared
            .iter()
            .enumerate()
            .map(|(at, link)| network.link(spec(&format!("shared {at}"), link)))
            .collect();
        for (at, (links, gap)) in self.flows.iter().enumerate() {
            let [before, behind, back] =
                [0, 1, 2].map(|which| network.link(spec(&format!("{at} {which}"), &links[which])));
            let forward = [&[before][..], &shared, &[behind]].concat();
            chat(&mut network, &format!("flow {at}"), &forward, &[back], Span::from_micros(*gap));
        }
        network.build(Time::from_secs_f64(1000.0), recorder).expect("a sound network")
    }

    /// What becomes of all packets at each link, in the order in which links were made, from what is sent into the first links;
    /// nothing where two packets reach a link at once.
    fn play(&self, sent: &[Vec<(u64, u64)>]) -> Option<Vec<(Described, Vec<Fate>)>> {
        let mut own = Vec::new();
        // With the flow.
        let mut here: Vec<(u64, u64, usize)> = Vec::new();
        for (flow, (links, _)) in self.flows.iter().enumerate() {
            let fates = links[0].play(&sent[flow], END);
            here.extend(reached(&fates).map(|(at, size)| (at, size, flow)));
            own.push(vec![(links[0].clone(), fates)]);
        }
        let mut all = Vec::new();
        for link in &self.shared {
            here.sort_unstable();
            if here.windows(2).any(|two| two[0].0 == two[1].0) {
                return None;
            }
            let arrivals: Vec<(u64, u64)> = here.iter().map(|(at, size, _)| (*at, *size)).collect();
            let fates = link.play(&arrivals, END);
            let flow = |fate: &Fate| here[fate.number as usize].2;
            let next = fates.iter().filter_map(|fate| Some((fate.reaches?, fate.size, flow(fate))));
            let next: Vec<(u64, u64, usize)> = next.filter(|packet| packet.0 <= END).collect();
            here = next;
            all.push((link.clone(), fates));
        }
        for (flow, (links, _)) in self.flows.iter().enumerate() {
            let mine = here.iter().filter(|packet| packet.2 == flow).map(|packet| (packet.0, packet.1));
            let behind = links[1].play(&mine.collect::<Vec<_>>(), END);
            let answers: Vec<(u64, u64)> = reached(&behind).map(|(at, _)| (at, 40)).collect();
            let back = links[2].play(&answers, END);
            own[flow].extend([(links[1].clone(), behind), (links[2].clone(), back)]);
        }
        all.extend(own.into_iter().flatten());
        Some(all)
    }
}

/// What reaches the far end.
fn reached(fates: &[Fate]) -> impl Iterator<Item = (u64, u64)> + '_ {
    fates.iter().filter_map(|fate| Some((fate.reaches.filter(|at| *at <= END)?, fate.size)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_link_by_itself(described in described(), arrivals in arrivals(), every in 100_001_u64..40_000_000) {
        let (passed, looks) = passed(&described, &arrivals, every);
        let fates = described.play(&arrivals, END);
        let anew = passed_anew(&fates);
        let differs = (0..passed.len().max(anew.len())).find(|at| passed.get(*at) != anew.get(*at));
        prop_assert_eq!(differs.map(|at| (at, passed.get(at), anew.get(at))), None);
        for (now, counters) in looks {
            let anew = Counts::at(now, &described, &fates);
            prop_assert_eq!(Counts::told(&counters, &anew, &described), anew, "at {}", now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn links_in_a_network(network in networks(), every in 1_000_001_u64..90_000_000) {
        let mut recorded = network.build(OfPackets::new(Offered::default()));
        recorded.run_until(time(END));
        let Offered(offered) = recorded.into_recorder().take();
        let first = |flow: usize| LinkId::from(network.shared.len() + 3 * flow);
        let sent = (0..network.flows.len()).map(|flow| {
            offered.iter().filter(|one| one.0 == first(flow)).map(|one| (one.1, one.2)).collect::<Vec<_>>()
        });
        let Some(links) = network.play(&sent.collect::<Vec<_>>()) else { return Ok(()) };
        let mut sim = network.build(Sampling::new(()));
        let mut now = every;
        while now < END {
            sim.run_until(time(now));
            for (at, (described, fates)) in links.iter().enumerate() {
                let anew = Counts::at(now, described, fates);
                let told = Counts::told(&sim.link(LinkId::from(at)), &anew, described);
                prop_assert_eq!(told, anew, "link {} at {}", at, now);
            }
            now += every;
        }
    }
}
