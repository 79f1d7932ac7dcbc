//! The networks of `left_out.rs`, made of what `drawn.rs` draws. What is compared in them is not here.

use std::sync::Arc;

use tailback_control::{AnyController, EcnMode, Reliability, SCHEMES};
use tailback_core::{BitRate, Bytes, Capacity, DataAmount, Distribution, FlowId, LinkId, Span, Time};
use tailback_link::{Chance, Change, Coalescing, Impairments, LinkSpec, LossModel, Reordering};
use tailback_qdisc::{ALL, BuildCx, Config, KnownFlows, red::RedConfig};
use tailback_sim::{FlowSpec, NetworkBuilder, Recorder, Simulator};
use tailback_transport::source::{
    Arrivals, BulkConfig, DatagramsConfig, FilesConfig, OnOffConfig, SourceConfig,
};
use tailback_transport::{
    AnyReceiver, AnySender, DatagramConfig, DatagramReceiver, DatagramSender, LossDetection, PacingConfig,
    RackConfig, Receiver, ReceiverConfig, SackCompression, Sender, StreamConfig,
};

use super::drawn::{Access, Case, Queue, Talk, Way};
use crate::common::{Chatter, Echo};

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
    let cx = BuildCx { capacity, rate, mean_packet: Bytes::new(1000), flows: KnownFlows::default() };
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
pub(super) struct Net<'a> {
    pub case: &'a Case,
    joints: Vec<(usize, usize)>,
}

impl<'a> Net<'a> {
    pub(super) fn new(case: &'a Case) -> Self {
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

    pub(super) fn flow(&self, id: FlowId, talk: &Talk, after: Time) -> FlowSpec {
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
        proportional_rate_reduction: needs.reliability == Reliability::Sack && talk.amount.is_multiple_of(4),
        loss_detection: if needs.reliability == Reliability::Sack && talk.amount.is_multiple_of(3) {
            LossDetection::Rack(RackConfig::default()).into()
        } else {
            LossDetection::DupAcks.into()
        },
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

/// The network's simulator, with every link stepped through or not.
pub(super) fn build<R: Recorder>(net: &Net<'_>, link_by_link: bool, recorder: R) -> Simulator<R> {
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
    network.build(Time::from_nanos(case.horizon), recorder).expect("a sound network")
}
