//! From a checked scenario to a simulator that is ready to run. What the network looks like is decided in `topology`, what
//! is measured in `outcome`.

use std::sync::Arc;

use tailback_control::{AnyController, AnyPolicy, Parts};
use tailback_core::{Bytes, FeedbackPolicy, FlowId, LinkId, Stream, Time};
use tailback_qdisc::BuildCx;
use tailback_sim::{
    AnyReceiver, AnySender, Chance, Change, FlowSpec, Hop, Impairments, LinkSpec, LossModel, NetworkBuilder,
    Recorder, Reordering, Simulator,
};
use tailback_transport::{
    DatagramConfig, DatagramReceiver, DatagramSender, EcnMode, Egress, Ingress, MulticastSender, Receiver,
    ReceiverConfig, Sender, Silent, StreamConfig,
};

use crate::aggregate::AggregateConfig;
use crate::flow::FlowConfig;
use crate::link::LinkConfig;
use crate::loss::{LossConfig, LossPlace, PacketClass};
use crate::problems::Problems;
use crate::scenario::Scenario;
use crate::schedule::ScheduleStep;
use crate::spread::Draw;
use crate::topology::{Network, NetworkAggregate, NetworkFlow, NetworkLink, Role};
use crate::trace;

/// A simulator of `scenario` on `network`, with random streams from `seed`.
///
/// # Errors
/// A trace that can no longer be read, or what the simulator refuses.
pub fn simulator<R: Recorder>(
    scenario: &Scenario,
    network: &Network,
    seed: u64,
    recorder: R,
) -> Result<Simulator<R>, Problems> {
    let mut builder = NetworkBuilder::new(seed);
    let packets = mean_packets(scenario, network);
    for (link, packet) in network.links.iter().zip(packets) {
        builder.link(link_spec(link, packet)?);
    }
    let groups = scenario.flows.iter().map(Group::new).collect::<Vec<_>>();
    for flow in &network.flows {
        let id = builder.next_flow();
        builder.flow(groups[flow.group].flow_spec(id, flow, seed));
        if let Role::Group(members) = flow.role {
            builder.multicast(id, members_of(id, members).collect());
        }
        if scenario.flows[flow.group].cells {
            builder.carry_in_cells(id);
        }
    }
    for (aggregate, config) in network.aggregates.iter().zip(&scenario.aggregates) {
        let id = builder.next_flow();
        builder.flow(aggregate_spec(id, aggregate, config));
        builder.aggregate(id, LinkId::from(aggregate.edge));
    }
    let refused = |error: tailback_sim::NetworkError| {
        Problems::one("scenario", error.to_string(), "a network that the simulator accepts")
    };
    builder.build(scenario.end(), recorder).map_err(refused)
}

/// The control loop of an aggregate, as a flow from edge to edge.
fn aggregate_spec(id: FlowId, aggregate: &NetworkAggregate, config: &AggregateConfig) -> FlowSpec {
    let ends = config.ends();
    let Parts { controller, policy, .. } = config.scheme.build(&ends.controller_params());
    let near = Ingress::new(id, &ends, controller);
    let far = Egress::new(id, &ends, boxed(policy), near.keeps_window());
    FlowSpec {
        name: aggregate.name.clone(),
        forward: ids(&aggregate.forward),
        reverse: ids(&aggregate.reverse),
        sender: AnySender::Custom(Box::new(near)),
        receiver: AnyReceiver::Custom(Box::new(far)),
        start: Time::ZERO,
        stop: None,
    }
}

fn ids(links: &[usize]) -> Vec<LinkId> {
    links.iter().map(|&link| LinkId::from(link)).collect()
}

fn boxed(policy: Option<AnyPolicy>) -> Option<Box<dyn FeedbackPolicy + Send>> {
    policy.map(|policy| -> Box<dyn FeedbackPolicy + Send> { Box::new(policy) })
}

/// The flows of a group's receivers: those that follow it.
fn members_of(group: FlowId, count: usize) -> impl Iterator<Item = FlowId> {
    (1..=count).map(move |place| FlowId::from(group.index() + place))
}

/// When a flow starts: drawn from a stream of its own, so that nobody else's start depends on it.
pub fn start_of(flow: &FlowConfig, name: &str, seed: u64) -> Time {
    let uniform = match flow.start {
        Draw::At(_) => 0.0,
        Draw::Uniform(_) => Stream::new(seed, &format!("{name} start")).uniform(),
    };
    Time::ZERO + flow.start.draw(uniform)
}

/// Per link, the mean packet size of the flows whose data crosses it; 1000 bytes where none does.
fn mean_packets(scenario: &Scenario, network: &Network) -> Vec<Bytes> {
    let mut sums = vec![(0_u64, 0_u64); network.links.len()];
    for flow in &network.flows {
        let size = scenario.flows[flow.group].packet_size().get();
        for &link in &flow.forward {
            sums[link] = (sums[link].0 + size, sums[link].1 + 1);
        }
    }
    sums.into_iter().map(|(sum, count)| Bytes::new(sum.checked_div(count).unwrap_or(1000))).collect()
}

fn link_spec(link: &NetworkLink, mean_packet: Bytes) -> Result<LinkSpec, Problems> {
    let config = &link.config;
    let read = |trace| trace::read(trace, "".as_ref(), &format!("{}.trace", link.path));
    let trace = config.trace.as_ref().map(read).transpose();
    let trace = trace.map_err(|error| Problems::new("scenario", vec![error]))?.map(|(trace, _)| trace);
    let rate = trace.as_ref().map_or(config.rate, tailback_sim::DeliveryTrace::mean_rate);
    let queue = config.queue.build(&BuildCx { capacity: link.buffer, rate, mean_packet });
    let (before, after) = losses(config);
    let chance = |probability| Chance { probability };
    let spec = LinkSpec::new(&link.name, rate, link.delay, queue);
    Ok(LinkSpec {
        loss_before_queue: before,
        impairments: Impairments {
            loss: after,
            corruption: config.corruption.as_ref().map(|config| chance(config.probability)),
            duplication: config.duplication.as_ref().map(|config| chance(config.probability)),
            reordering: config.reordering.as_ref().map(|config| Reordering {
                probability: config.probability,
                min: config.hold.earliest(),
                max: config.hold.latest(),
            }),
        },
        schedule: config
            .schedule
            .iter()
            .map(|step| Change { at: Time::ZERO + step.at, rate: step.rate, delay: step.delay })
            .collect(),
        trace,
        governed: link.governed,
        ..spec
    })
}

/// What a link adds to the way of a signal through it.
pub(crate) fn hop(network: &Network, link: usize) -> Hop {
    let NetworkLink { delay, config, .. } = &network.links[link];
    let change = |step: &ScheduleStep| step.delay.map(|delay| (Time::ZERO + step.at, delay));
    Hop {
        link: LinkId::from(link),
        delay: *delay,
        changes: config.schedule.iter().filter_map(change).collect(),
        loses_on_wire: losses(config).1.is_some(),
    }
}

/// The loss models before the queue and on the wire.
fn losses(config: &LinkConfig) -> (Option<LossModel>, Option<LossModel>) {
    let Some(loss) = &config.loss else { return (None, None) };
    let model = match &loss.0 {
        LossConfig::Independent(model) => LossModel::Independent { probability: model.probability },
        LossConfig::Selective(model) => {
            LossModel::Selective { probability: model.probability, class: packet_class(model.class) }
        }
        LossConfig::GilbertElliott(model) => LossModel::GilbertElliott {
            to_bad: model.good_to_bad,
            to_good: model.bad_to_good,
            loss_good: model.loss_good,
            loss_bad: model.loss_bad,
        },
        LossConfig::Periodic(model) => LossModel::Periodic { every: model.every, offset: model.offset },
    };
    match loss.place() {
        LossPlace::BeforeQueue => (Some(model), None),
        LossPlace::AfterQueue => (None, Some(model)),
    }
}

fn packet_class(class: PacketClass) -> tailback_sim::PacketClass {
    match class {
        PacketClass::Data => tailback_sim::PacketClass::Data,
        PacketClass::Acknowledgements => tailback_sim::PacketClass::Acknowledgements,
        PacketClass::Control => tailback_sim::PacketClass::Control,
    }
}

/// What the members of a group share.
struct Group<'a> {
    config: &'a FlowConfig,
    endpoints: Endpoints,
}

/// The endpoints' configurations, shared by all members.
enum Endpoints {
    Stream {
        sender: Arc<StreamConfig>,
        receiver: Arc<ReceiverConfig>,
        /// Makes a controller for each new connection of a session.
        fresh: Arc<dyn Fn() -> AnyController + Send + Sync>,
    },
    Datagram(Arc<DatagramConfig>),
}

impl<'a> Group<'a> {
    fn new(config: &'a FlowConfig) -> Self {
        let params = config.controller_params();
        let needs = config.scheme.needs();
        let ecn = |asked| if needs.ecn && asked == EcnMode::Off { EcnMode::Ect0 } else { asked };
        let endpoints = if config.sends_datagrams() {
            let mut datagram = config.datagram.clone();
            datagram.stamps |= needs.stamps;
            datagram.ecn = ecn(datagram.ecn);
            Endpoints::Datagram(Arc::new(datagram))
        } else {
            let mut sender = config.transport.clone();
            sender.reliability = config.scheme.reliability();
            sender.stamps |= needs.stamps;
            sender.ecn = ecn(sender.ecn);
            let mut receiver = config.receiver.clone().matching(&sender);
            if needs.prompt_acks {
                receiver.ack_every = 1;
            }
            let scheme = config.scheme.0.clone();
            let fresh = Arc::new(move || scheme.build(&params).controller);
            Endpoints::Stream { sender: Arc::new(sender), receiver: Arc::new(receiver), fresh }
        };
        Self { config, endpoints }
    }

    fn flow_spec(&self, id: FlowId, flow: &NetworkFlow, seed: u64) -> FlowSpec {
        let (sender, receiver) = match flow.role {
            Role::Alone => self.ends(id),
            Role::Group(members) => (self.multicast(id, members), AnyReceiver::Custom(Box::new(Silent))),
            Role::Member => (AnySender::Custom(Box::new(Silent)), self.ends(id).1),
        };
        FlowSpec {
            name: flow.name.clone(),
            forward: ids(&flow.forward),
            reverse: ids(&flow.reverse),
            sender,
            receiver,
            start: start_of(self.config, &flow.name, seed),
            stop: self.config.stop.map(|stop| Time::ZERO + stop),
        }
    }

    /// The sender of a group.
    fn multicast(&self, id: FlowId, members: usize) -> AnySender {
        // Schemes that send datagrams have no groups; a check has said so.
        let Endpoints::Stream { sender, fresh, .. } = &self.endpoints else {
            return AnySender::Custom(Box::new(Silent));
        };
        let receivers = members_of(id, members).map(|member| (member, fresh()));
        let source = self.config.source.build();
        AnySender::Custom(Box::new(MulticastSender::new(id, Arc::clone(sender), receivers, source)))
    }

    fn ends(&self, id: FlowId) -> (AnySender, AnyReceiver) {
        let Parts { controller, policy, .. } = self.config.scheme.build(&self.config.controller_params());
        let source = self.config.source.build();
        let policy = boxed(policy);
        match &self.endpoints {
            Endpoints::Stream { sender, receiver, fresh } => {
                let sender = Sender::new(id, Arc::clone(sender), controller, source);
                let receiver = Receiver::new(id, Arc::clone(receiver));
                let receiver = match policy {
                    Some(policy) => receiver.with_policy(policy),
                    None => receiver,
                };
                (AnySender::Stream(sender.with_restart(Arc::clone(fresh))), AnyReceiver::Stream(receiver))
            }
            Endpoints::Datagram(config) => {
                let sender = DatagramSender::new(id, Arc::clone(config), controller, source);
                let receiver = DatagramReceiver::new(id, Arc::clone(config));
                let receiver = match policy {
                    Some(policy) => receiver.with_policy(policy),
                    None => receiver,
                };
                (AnySender::Datagram(Box::new(sender)), AnyReceiver::Datagram(Box::new(receiver)))
            }
        }
    }
}
