//! Events that are left out, in networks that `feeding.rs` does not draw: trees and rings whose links carry data and
//! acknowledgements of many flows in both directions, every discipline and every scheme, links that take no time and such as take
//! seconds, flows that end, stop, or come while running, looks at odd times. Each is compared, look by look, with the same
//! network link by link.

use std::sync::Arc;

use crate::common::{Chatter, Echo, drop_tail, link, unbounded};
use crate::feeding::stream;

use proptest::prelude::*;
use tailback_control::{AnyController, EcnMode, Reliability, SCHEMES};
use tailback_core::{
    BitRate, Bytes, Capacity, DataAmount, Distribution, FlowId, LinkId, Observation, Span, Time,
};
use tailback_link::{Chance, Change, Coalescing, Impairments, LinkCounters, LinkSpec, LossModel, Reordering};
use tailback_qdisc::{ALL, BuildCx, Config, FlowHosts, red::RedConfig};
use tailback_sim::{FlowSpec, Message, NetworkBuilder, Recorder, Simulator, View};
use tailback_transport::source::{
    Arrivals, BulkConfig, DatagramsConfig, FilesConfig, OnOffConfig, SourceConfig,
};
use tailback_transport::{
    AnyReceiver, AnySender, DatagramConfig, DatagramReceiver, DatagramSender, PacingConfig, Receiver,
    ReceiverConfig, SackCompression, Sender, StreamConfig,
};

/// A link one way: bit/s and nanoseconds.
#[derive(Clone, Debug)]
struct Way {
    rate: u64,
    delay: u64,
    queue: Queue,
    /// Spends an event on every end of transmission.
    staged: bool,
    lost: Option<f64>,
    wear: Option<(f64, f64)>,
    /// The far end takes packets in batches.
    batches: Option<Distribution<Span>>,
    change: bool,
}

/// Batches that end at instants of their own, or at such at which other things happen as well.
fn batches() -> impl Strategy<Value = Option<Distribution<Span>>> {
    let times = vec![
        Distribution::exponential(Span::from_micros(900)),
        Distribution::constant(Span::from_millis(1)),
        Distribution::constant(Span::from_nanos(1)),
    ];
    prop::option::weighted(0.1, prop::sample::select(times))
}

/// What waits where.
#[derive(Clone, Copy, Debug)]
enum Queue {
    Unbounded,
    Bytes(u64),
    /// One of all disciplines.
    Any(usize, u32),
    Marks,
    Fair(&'static str, u32),
}

/// A flow, of which much is decided by what it is drawn for.
#[derive(Clone, Debug)]
struct Talk {
    from: usize,
    to: usize,
    /// Which way it takes around a ring, there and back.
    around: (bool, bool),
    access: Access,
    /// A scheme, or chatter where there is none.
    scheme: Option<usize>,
    source: u8,
    /// How many segments, or files, or datagrams.
    amount: u64,
    segment: u64,
    ack_every: u32,
    is_paced: bool,
    window: f64,
    start: u64,
    stop: Option<u64>,
}

/// What a flow has between its hosts and the nodes.
#[derive(Clone, Debug)]
enum Access {
    /// Nothing: its hosts are the nodes.
    None,
    /// A link up, one down, and both on the way back.
    Own(Box<[Way; 4]>),
    /// Those of an earlier flow with links of its own, if there is one; then all its links, in the other direction or the same.
    Shared(usize, bool),
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    /// To which node of those before it each node but the first is joined, and whether the last is joined to the first, too.
    parents: Vec<usize>,
    ring: bool,
    /// One there and one back for each of these joints.
    ways: Vec<(Way, Way)>,
    talks: Vec<Talk>,
    /// Which of both runs has the event queue without a limit of time.
    wheels: (bool, bool),
    horizon: u64,
    look: u64,
    steps: Vec<u64>,
    /// A flow that comes before one of the steps.
    late: Option<(usize, Talk)>,
}

fn ways() -> impl Strategy<Value = Way> {
    let rate = prop_oneof![
        8 => prop::sample::select(vec![8_000_000_u64, 4_000_000, 1_000_000, 80_000_000]),
        2 => prop::sample::select(vec![8_000, 64_000, 8_000_000_000, 100_000_000_000]),
        1 => Just(10_000_000_000_000_u64),
        2 => 300_000..30_000_000_u64,
    ];
    let delay = prop_oneof![
        3 => prop::sample::select(vec![0_u64, 1, 2, 3]),
        6 => prop::sample::select(vec![1_000_000_u64, 2_000_000, 5_000_000, 20_000_000]),
        2 => 0..10_000_000_u64,
    ];
    let fair = prop::sample::select(vec![
        "round-robin",
        "weighted-round-robin",
        "deficit-round-robin",
        "self-clocked-fair-queueing",
        "weighted-fair-queueing",
    ]);
    let queue = prop_oneof![
        6 => Just(Queue::Unbounded),
        1 => (100..9000_u64).prop_map(Queue::Bytes),
        1 => (0..ALL.len(), 1..20_u32).prop_map(|(index, packets)| Queue::Any(index, packets)),
        1 => Just(Queue::Marks),
        2 => (1..20_u32).prop_map(|packets| Queue::Any(0, packets)),
        5 => (fair, 1..40_u32).prop_map(|(name, packets)| Queue::Fair(name, packets)),
    ];
    let lost = prop::option::weighted(0.08, 0.01..0.1_f64);
    let wear = prop::option::weighted(0.08, (0.0..0.1_f64, 0.0..0.1_f64));
    let (staged, change) = (prop::bool::weighted(0.05), prop::bool::weighted(0.03));
    (rate, delay, queue, staged, lost, wear, batches(), change).prop_map(
        |(rate, delay, queue, staged, lost, wear, batches, change)| Way {
            rate,
            delay,
            queue,
            staged,
            lost,
            wear,
            batches,
            change,
        },
    )
}

fn access() -> impl Strategy<Value = Access> {
    let delay = prop::sample::select(vec![0_u64, 1, 1_000_000, 5_000_000]);
    let quiet = (delay, any::<bool>(), batches()).prop_map(|(delay, fast, batches)| Way {
        rate: if fast { 80_000_000 } else { 8_000_000 },
        delay,
        queue: Queue::Unbounded,
        staged: false,
        lost: None,
        wear: None,
        batches,
        change: false,
    });
    let own = prop::collection::vec(prop_oneof![8 => quiet, 1 => ways()], 4).prop_map(|ways| {
        let ways = <[Way; 4]>::try_from(ways).expect("four");
        Access::Own(Box::new(ways))
    });
    let shared = (0..6_usize, any::<bool>()).prop_map(|(with, turns)| Access::Shared(with, turns));
    prop_oneof![2 => Just(Access::None), 3 => own, 1 => shared]
}

fn talks() -> impl Strategy<Value = Talk> {
    let paced = ["bbr1", "bbr3", "copa", "vivace", "prague", "monaco", "packet-pair", "newark"];
    let is_paced = |name: &&str| SCHEMES.iter().position(|info| info.name == *name);
    let paced: Vec<usize> = paced.iter().filter_map(is_paced).collect();
    let scheme = prop_oneof![
        1 => Just(None),
        4 => (0..SCHEMES.len()).prop_map(Some),
        4 => prop::sample::select(paced).prop_map(Some),
    ];
    let segment = prop_oneof![3 => Just(1000_u64), 1 => Just(41), 1 => 42..1500_u64];
    let start = prop_oneof![2 => Just(0_u64), 1 => Just(1_000_000), 1 => 0..300_000_000_u64];
    let ends = (start, prop::option::weighted(0.3, 0..400_000_000_u64));
    let shape = (0..6_u8, 1..300_u64, segment, 1..3_u32, prop::bool::weighted(0.3), 1.0..40.0_f64);
    let way = (0..6_usize, 0..6_usize, any::<(bool, bool)>(), access());
    (way, scheme, shape, ends).prop_map(|((from, to, around, access), scheme, shape, (start, stop))| {
        let (source, amount, segment, ack_every, is_paced, window) = shape;
        Talk {
            from,
            to,
            around,
            access,
            scheme,
            source,
            amount,
            segment,
            ack_every,
            is_paced,
            window,
            start,
            stop,
        }
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let step = prop_oneof![
        2 => prop::sample::select(vec![1_u64, 2, 1_000_000]),
        1 => 1..3_000_000_u64,
        4 => 1..120_000_000_u64,
        1 => Just(1_000_000_000),
    ];
    let net =
        (prop::collection::vec(0..6_usize, 1..6), any::<bool>(), prop::collection::vec((ways(), ways()), 6));
    let look = prop_oneof![1 => 900_000..200_000_000_u64, 1 => Just(10_000_000_u64)];
    let times = (50_000_000..1_500_000_000_u64, look, prop::collection::vec(step, 1..12));
    let late = prop::option::weighted(0.2, (0..8_usize, talks()));
    let rest = (any::<u64>(), any::<(bool, bool)>(), times, late);
    (net, prop::collection::vec(talks(), 1..7), rest).prop_map(
        |((parents, ring, ways), talks, (seed, wheels, (horizon, look, steps), late))| Case {
            seed,
            parents,
            ring,
            ways,
            talks,
            wheels,
            horizon,
            look,
            steps,
            late,
        },
    )
}

/// All that is told to a recorder.
#[derive(Debug, Default, PartialEq)]
struct Told {
    every: Span,
    next: Time,
    links: Vec<LinkCounters>,
    ends: Vec<Observation>,
    queues: Vec<(&'static str, f64)>,
    messages: Vec<Message>,
    observed: Vec<(Time, FlowId, Observation)>,
}

impl Recorder for Told {
    const OBSERVED: bool = true;

    fn next_sample(&self) -> Time {
        self.next
    }

    fn sample(&mut self, view: &mut View<'_>) {
        for link in (0..view.link_count()).map(LinkId::from) {
            self.links.push(view.link(link));
            view.queue_state(link, &mut |name, value| self.queues.push((name, value)));
        }
        for flow in (0..view.flow_count()).map(FlowId::from) {
            self.ends.extend([view.sender(flow), view.receiver(flow)]);
        }
        self.next += self.every;
    }

    fn message(&mut self, message: Message) {
        self.messages.push(message);
    }

    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation) {
        self.observed.push((now, flow, *sender));
    }
}

fn spec(name: String, way: &Way) -> LinkSpec {
    let rate = BitRate::from_bits_per_sec(way.rate);
    let (config, capacity) = match way.queue {
        Queue::Unbounded => (Config::default(), Capacity::Unlimited),
        Queue::Bytes(bytes) => (Config::default(), Capacity::Bytes(Bytes::new(bytes))),
        Queue::Any(index, packets) => ((ALL[index].default)(), Capacity::Packets(packets)),
        Queue::Marks => (
            Config::Red(RedConfig {
                ecn: true,
                min: DataAmount::Packets(1.0),
                max: DataAmount::Packets(5.0),
                weight: Some(0.2),
                ..RedConfig::default()
            }),
            Capacity::Packets(30),
        ),
        Queue::Fair(name, packets) => {
            let info = ALL.iter().find(|info| info.name == name).expect("a registered discipline");
            ((info.default)(), Capacity::Packets(packets))
        }
    };
    let cx = BuildCx { capacity, rate, mean_packet: Bytes::new(1000), hosts: FlowHosts::default() };
    let mut spec = LinkSpec::new(name, rate, Span::from_nanos(way.delay), config.build(&cx));
    spec.staged = way.staged;
    spec.loss_before_queue = way.lost.map(|probability| LossModel::Independent { probability });
    if let Some((lost, late)) = way.wear {
        let chance = |probability| Chance { probability };
        spec.impairments = Impairments {
            loss: Some(LossModel::Independent { probability: lost }),
            corruption: Some(chance(lost)),
            duplication: Some(chance(late)),
            reordering: Some(Reordering {
                probability: late,
                min: Span::from_millis(1),
                max: Span::from_millis(9),
            }),
            coalescing: None,
        };
    }
    spec.impairments.coalescing = way.batches.clone().map(|time| Coalescing { time });
    if way.change {
        spec.schedule =
            vec![Change { at: Time::from_nanos(70_000_000), rate: Some(rate.mul_f64(0.5)), delay: None }];
    }
    spec
}

/// The joints and the nodes of a network.
struct Net<'a> {
    case: &'a Case,
    joints: Vec<(usize, usize)>,
}

impl<'a> Net<'a> {
    fn new(case: &'a Case) -> Self {
        let child = |(index, parent): (usize, &usize)| (parent % (index + 1), index + 1);
        let mut joints: Vec<_> = case.parents.iter().enumerate().map(child).collect();
        if case.ring && case.parents.len() > 1 && !joints.contains(&(0, case.parents.len())) {
            joints.push((0, case.parents.len()));
        }
        Self { case, joints }
    }

    /// The links from node to node, without the last joint or only then with it where there is no other way.
    fn path(&self, from: usize, to: usize, around: bool) -> Vec<LinkId> {
        let mut order: Vec<usize> = (0..self.joints.len()).collect();
        if around {
            order.reverse();
        }
        let mut ways: Vec<Option<Vec<LinkId>>> = vec![None; self.case.parents.len() + 1];
        ways[from] = Some(Vec::new());
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for &joint in &order {
                let (low, high) = self.joints[joint];
                let (next, link) = match node {
                    node if node == low => (high, 2 * joint),
                    node if node == high => (low, 2 * joint + 1),
                    _ => continue,
                };
                if ways[next].is_none() {
                    ways[next] = ways[node].as_ref().map(|way| [&way[..], &[LinkId::from(link)]].concat());
                    open.push(next);
                }
            }
        }
        ways[to].clone().unwrap_or_default()
    }

    /// There and back, without or with links of its own.
    fn routes(&self, talk: &Talk) -> [Vec<LinkId>; 2] {
        let nodes = self.case.parents.len() + 1;
        let (from, mut to) = (talk.from % nodes, talk.to % nodes);
        let (index, own) = match talk.access {
            Access::Shared(with, turns) if !self.owners().is_empty() => {
                let owners = self.owners();
                let owner = &self.case.talks[owners[with % owners.len()]];
                let [forward, reverse] = self.routes(owner);
                return if turns { [reverse, forward] } else { [forward, reverse] };
            }
            Access::Own(_) => {
                let is_it = |&owner: &usize| std::ptr::eq(&raw const self.case.talks[owner], talk);
                let place = self.owners().iter().position(is_it);
                (2 * self.joints.len() + 4 * place.unwrap_or_default(), place.is_some())
            }
            _ => (0, false),
        };
        if from == to && !own {
            to = (to + 1) % nodes;
        }
        let (there, back) = (self.path(from, to, talk.around.0), self.path(to, from, talk.around.1));
        if !own {
            return [there, back];
        }
        let link = |number: usize| vec![LinkId::from(index + number)];
        [[link(0), there, link(1)].concat(), [link(2), back, link(3)].concat()]
    }

    /// The flows that have links of their own.
    fn owners(&self) -> Vec<usize> {
        let has_own = |&index: &usize| matches!(self.case.talks[index].access, Access::Own(_));
        (0..self.case.talks.len()).filter(has_own).collect()
    }

    fn flow(&self, id: FlowId, talk: &Talk, after: Time) -> FlowSpec {
        let [forward, reverse] = self.routes(talk);
        let start = after + Span::from_nanos(talk.start);
        let (sender, receiver) = ends(id, talk);
        FlowSpec {
            name: format!("flow {}", id.0),
            forward,
            reverse,
            sender,
            receiver,
            start,
            stop: talk.stop.map(|stop| start + Span::from_nanos(stop)),
        }
    }
}

fn source(talk: &Talk, is_datagram: bool) -> SourceConfig {
    let payload = talk.segment - 40;
    let rate = BitRate::from_bits_per_sec(2_000_000);
    match talk.source {
        _ if is_datagram => SourceConfig::Datagrams(DatagramsConfig {
            rate,
            count: Some(talk.amount),
            size: Distribution::constant(Bytes::new(payload)).into(),
            arrivals: if talk.source > 2 { Arrivals::Poisson } else { Arrivals::Constant },
        }),
        0 => SourceConfig::OnOff(OnOffConfig {
            rate,
            on: Distribution::exponential(Span::from_millis(40)).into(),
            off: Distribution::exponential(Span::from_millis(60)).into(),
            total: Some(Bytes::new(talk.amount * payload)),
            ..OnOffConfig::default()
        }),
        1 => SourceConfig::Files(FilesConfig {
            size: Distribution::exponential(Bytes::new(12 * payload)).into(),
            pause: Distribution::exponential(Span::from_millis(40)).into(),
            count: Some(talk.amount / 10 + 1),
            ..FilesConfig::default()
        }),
        _ => SourceConfig::Bulk(BulkConfig { size: Some(Bytes::new(2 * talk.amount * payload + 1)) }),
    }
}

fn ends(id: FlowId, talk: &Talk) -> (AnySender, AnyReceiver) {
    let Some(scheme) = talk.scheme else {
        let sender = Chatter::new(id, Span::from_micros(1500));
        return (AnySender::Custom(Box::new(sender)), AnyReceiver::Custom(Box::new(Echo::new(id))));
    };
    let scheme = (SCHEMES[scheme].default)();
    let needs = scheme.needs();
    let is_datagram = needs.reliability == Reliability::Datagram;
    let source = source(talk, is_datagram).build();
    let segment_size = Bytes::new(talk.segment);
    let ecn = if talk.amount.is_multiple_of(2) { EcnMode::Ect0 } else { EcnMode::Off };
    let window = DataAmount::Packets(talk.window);
    if is_datagram {
        let config = DatagramConfig { segment_size, ecn, ..DatagramConfig::default() }.serving(&needs);
        let parts = scheme.build(&config.controller_params());
        let config = Arc::new(config);
        let sender = DatagramSender::new(id, Arc::clone(&config), parts.controller, source);
        let receiver = DatagramReceiver::new(id, config);
        let receiver = match parts.policy {
            Some(policy) => receiver.with_policy(policy),
            None => receiver,
        };
        return (AnySender::Datagram(Box::new(sender)), AnyReceiver::Datagram(Box::new(receiver)));
    }
    let config = StreamConfig {
        segment_size,
        ecn,
        window_limit: Some(window),
        initial_window: if talk.amount.is_multiple_of(3) { DataAmount::Packets(1.0) } else { window },
        pacing: talk.is_paced.then(PacingConfig::default),
        handshake: talk.amount.is_multiple_of(5),
        segmentation_offload: talk.amount.is_multiple_of(7),
        ..StreamConfig::default()
    }
    .serving(&needs);
    let params = config.controller_params();
    let parts = scheme.build(&params);
    let reading = Distribution::Uniform { from: Span::ZERO, to: Span::from_millis(1) };
    let receiver = ReceiverConfig {
        ack_every: talk.ack_every,
        ack_delay: Span::from_millis(10),
        sack_compression: talk.amount.is_multiple_of(3).then(SackCompression::default),
        reading: talk.amount.is_multiple_of(4).then(|| reading.into()),
        ..ReceiverConfig::default()
    };
    let receiver = Receiver::new(id, Arc::new(receiver.serving(&needs).matching(&config)));
    let receiver = match parts.policy {
        Some(policy) => receiver.with_policy(policy),
        None => receiver,
    };
    let fresh: Arc<dyn Fn() -> AnyController + Send + Sync> =
        Arc::new(move || scheme.build(&params).controller);
    let sender = Sender::new(id, Arc::new(config), parts.controller, source).with_restart(fresh);
    (AnySender::Stream(sender), AnyReceiver::Stream(receiver))
}

fn build(net: &Net<'_>, link_by_link: bool) -> Simulator<Told> {
    let case = net.case;
    let mut network = NetworkBuilder::new(case.seed);
    if link_by_link {
        network.link_by_link();
    }
    if if link_by_link { case.wheels.0 } else { case.wheels.1 } {
        network.without_limit_of_time();
    }
    for (index, (there, back)) in case.ways.iter().take(net.joints.len()).enumerate() {
        network.link(spec(format!("there {index}"), there));
        network.link(spec(format!("back {index}"), back));
    }
    for owner in net.owners() {
        if let Access::Own(ways) = &case.talks[owner].access {
            for (number, way) in ways.iter().enumerate() {
                network.link(spec(format!("access {owner} {number}"), way));
            }
        }
    }
    for talk in &case.talks {
        let flow = net.flow(network.next_flow(), talk, Time::ZERO);
        network.flow(flow);
    }
    let every = Span::from_nanos(case.look);
    let told = Told { every, next: Time::ZERO + every, ..Told::default() };
    network.build(Time::from_nanos(case.horizon), told).expect("a sound network")
}

/// All that anybody can see now.
fn seen(sim: &mut Simulator<Told>) -> impl PartialEq + std::fmt::Debug + use<> {
    let links: Vec<_> = (0..sim.link_count()).map(|index| sim.link(LinkId::from(index))).collect();
    let flows = (0..sim.flow_count()).map(FlowId::from);
    let flows: Vec<_> =
        flows.map(|id| (sim.sender(id), sim.receiver(id), sim.discarded(id), sim.finished_at(id))).collect();
    (sim.now(), links, flows, sim.events_handled(), sim.live_annexes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nobody_sees_which_events_are_left_out(case in cases()) {
        let net = Net::new(&case);
        let (mut ahead, mut each) = (build(&net, false), build(&net, true));
        let mut now = Time::ZERO;
        for (index, step) in case.steps.iter().enumerate() {
            if let Some((_, talk)) = case.late.as_ref().filter(|(before, _)| *before == index) {
                let flow = |sim: &Simulator<Told>| net.flow(FlowId::from(sim.flow_count()), talk, sim.now());
                // What it refuses changes nothing.
                if ahead.add_flow(flow(&ahead)).is_ok() {
                    each.add_flow(flow(&each)).expect("any way");
                }
            }
            now += Span::from_nanos(*step);
            ahead.run_until(now);
            each.run_until(now);
            prop_assert_eq!(seen(&mut ahead), seen(&mut each), "at {:?}", now);
        }
        prop_assert_eq!(each.events_left_out(), 0);
        prop_assert_eq!(ahead.into_recorder(), each.into_recorder());
    }
}

/// Two paced streams, equal in all, whose first links take no time and meet in one: who goes second there has a longer round trip
/// time, by a nanosecond.
fn begin_without_time(link_by_link: bool, seed: u64) -> Simulator<()> {
    let mut network = NetworkBuilder::new(seed);
    if link_by_link {
        network.link_by_link();
    }
    let shared = network.link(link("shared", 8_000_000, 1, drop_tail(1000)));
    for number in 0..2 {
        let fast = BitRate::from_bits_per_sec(10_000_000_000_000);
        let first = network.link(LinkSpec::new(format!("first {number}"), fast, Span::ZERO, unbounded()));
        let [access, back] = ["access", "back"]
            .map(|name| network.link(link(&format!("{name} {number}"), 10, 20, unbounded())));
        let flow = network.next_flow();
        network.flow(stream(flow, "monaco", 1, &[first, shared, access], &[back]));
    }
    network.build(Time::from_secs_f64(100.0), ()).expect("a sound network")
}

#[test]
fn who_is_first_at_equal_times_is_the_same_where_first_links_take_no_time() {
    for seed in 0..60 {
        let run = |link_by_link| {
            let mut sim = begin_without_time(link_by_link, seed);
            sim.run_until(Time::from_secs_f64(2.0));
            let ends = [0, 1].map(|id| (sim.sender(FlowId(id)), sim.receiver(FlowId(id))));
            (ends, (0..7).map(|index| sim.link(LinkId(index))).collect::<Vec<_>>(), sim.events_handled())
        };
        assert_eq!(run(false), run(true), "seed {seed}");
    }
}
