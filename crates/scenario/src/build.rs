//! From a checked scenario to a simulator that is ready to run. What the network looks like is decided in `topology`, which
//! endpoints its flows have in `endpoints`, what is measured in `outcome`.

use tailback_core::{Bytes, Capacity, LinkId, Time};
use tailback_link::{
    Chance, Change, Coalescing, DeliveryTrace, Impairments, LinkSpec, LossModel, Reordering,
};
use tailback_qdisc::{BuildCx, KnownFlows};
use tailback_sim::{FlowSpec, Hop, Logs, NetworkBuilder, Series, Simulation};
use tailback_transport::ShapedGovernor;

use crate::endpoints::{Assembly, Ends, members_of};
use crate::link::LinkConfig;
use crate::loss::{LossConfig, LossPlace, PacketClass};
use crate::parts::QueueConfig;
use crate::problems::Problems;
use crate::scenario::Scenario;
use crate::schedule::ScheduleStep;
use crate::topology::{GoOn, Network, NetworkLink, Role, SOME};
use crate::trace::TraceConfig;

/// A simulator of `scenario` on `network`, with random streams from `seed`, which records this.
///
/// # Errors
/// A trace that was not loaded, or what the simulator refuses; one complaint where `go_on` stopped it.
pub fn simulator(
    scenario: &Scenario,
    network: &Network,
    seed: u64,
    (series, logs): (Series, Option<Logs>),
    wheel: bool,
    go_on: GoOn<'_>,
) -> Result<Box<dyn Simulation + Send>, Problems> {
    let mut builder = NetworkBuilder::new(seed);
    if wheel {
        builder.without_limit_of_time();
    }
    builder.reserve(network.links.len(), network.flows.len() + network.aggregates.len());
    let (packets, known) = (mean_packets(scenario, network), known_flows(network));
    let mut name = String::new();
    for (index, (link, packet)) in network.links.iter().zip(packets).enumerate() {
        if index % SOME == 0 && !go_on() {
            return Err(Problems::stopped());
        }
        if is_open(link) {
            name.clear();
            network.write_link_name(link, &mut name);
            builder.open_link(&name, link.config().rate, link.delay);
        } else {
            builder.link(link_spec(network, link, packet, &known)?);
        }
    }
    let assembly = Assembly::new(scenario, network, seed);
    for (index, flow) in network.flows.iter().enumerate() {
        if index % SOME == 0 && !go_on() {
            return Err(Problems::stopped());
        }
        let id = builder.flow(flow_spec(&flow.name, (&flow.forward, &flow.reverse), assembly.flow(index)));
        if let Role::Group(members) = flow.role {
            builder.multicast(id, members_of(id, members).collect());
        }
        if scenario.flows[flow.group].cells {
            builder.carry_in_cells(id);
        }
    }
    for (index, aggregate) in network.aggregates.iter().enumerate() {
        let routes = (aggregate.forward.as_slice(), aggregate.reverse.as_slice());
        let id = builder.flow(flow_spec(&aggregate.name, routes, assembly.aggregate(index)));
        builder.aggregate(id, LinkId::from(aggregate.edge));
    }
    let refused = |error: tailback_sim::NetworkError| {
        Problems::one("scenario", error.to_string(), "a network that the simulator accepts")
    };
    builder.build_simulation(scenario.end(), series, logs, go_on).map_err(refused)
}

/// Whether a link has a rate and a delay, and nothing else, as millions of access links do.
fn is_open(link: &NetworkLink) -> bool {
    let LinkConfig {
        rate: _,
        delay: _,
        buffer: _,
        queue,
        loss,
        corruption,
        duplication,
        reordering,
        coalescing,
        schedule,
        trace,
        reverse: _,
    } = link.config();
    let is_bare = loss.is_none()
        && corruption.is_none()
        && duplication.is_none()
        && reordering.is_none()
        && coalescing.is_none()
        && schedule.is_empty()
        && trace.is_none();
    is_bare
        && matches!(link.buffer, Capacity::Unlimited)
        && matches!(queue.0, QueueConfig::DropTail(_))
        && link.governed().is_none()
}

/// What the links are made of, in the network's order.
///
/// # Errors
/// A trace that was not loaded.
pub(crate) fn link_specs(scenario: &Scenario, network: &Network) -> Result<Vec<LinkSpec>, Problems> {
    let (packets, known) = (mean_packets(scenario, network), known_flows(network));
    network.links.iter().zip(packets).map(|(link, packet)| link_spec(network, link, packet, &known)).collect()
}

/// Between which nodes each flow runs, for queues that are fair to hosts, and the names by which queues name some.
fn known_flows(network: &Network) -> KnownFlows {
    let hosts = network.flows.iter().map(|flow| (flow.ends.0 as u32, flow.ends.1 as u32));
    hosts.collect::<KnownFlows>().named(network.named_by_queues.clone())
}

/// A flow over these routes.
fn flow_spec(name: &str, (forward, reverse): (&[usize], &[usize]), ends: Ends) -> FlowSpec {
    let Ends { sender, receiver, start, stop } = ends;
    let name = name.to_owned();
    FlowSpec { name, forward: ids(forward), reverse: ids(reverse), sender, receiver, start, stop }
}

fn ids(links: &[usize]) -> Vec<LinkId> {
    links.iter().map(|&link| LinkId::from(link)).collect()
}

/// Per link, the mean packet size of the flows whose data crosses it; 1000 bytes where none does.
fn mean_packets(scenario: &Scenario, network: &Network) -> Vec<Bytes> {
    let mut sums = vec![(0_u64, 0_u64); network.links.len()];
    let sizes: Vec<u64> = scenario.flows.iter().map(|flow| flow.packet_size().get()).collect();
    for flow in &network.flows {
        let size = sizes[flow.group];
        for &link in &flow.forward {
            sums[link] = (sums[link].0 + size, sums[link].1 + 1);
        }
    }
    sums.into_iter().map(|(sum, count)| Bytes::new(sum.checked_div(count).unwrap_or(1000))).collect()
}

/// What a trace says, which loading the scenario has read.
fn loaded(trace: &TraceConfig, path: &str) -> Result<DeliveryTrace, Problems> {
    let unread = || {
        let allowed = "a trace that was read when the scenario was loaded";
        Problems::one(format!("{path}.trace"), trace.file.clone(), allowed)
    };
    trace.times.clone().ok_or_else(unread)
}

fn link_spec(
    network: &Network,
    link: &NetworkLink,
    mean_packet: Bytes,
    flows: &KnownFlows,
) -> Result<LinkSpec, Problems> {
    let config = link.config();
    let trace = config.trace.as_ref().map(|trace| loaded(trace, link.path())).transpose()?;
    let rate = config.nominal_rate();
    let cx = BuildCx { capacity: link.buffer, rate, mean_packet, flows: flows.clone() };
    let queue = config.queue.build(&cx);
    let (before, after) = losses(config);
    let chance = |probability| Chance { probability };
    let spec = LinkSpec::new(network.link_name(link), rate, link.delay, queue);
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
            coalescing: config.coalescing.as_ref().map(|config| Coalescing { time: config.time.0.clone() }),
        },
        schedule: config
            .schedule
            .iter()
            .map(|step| Change { at: Time::ZERO + step.at, rate: step.rate, delay: step.delay })
            .collect(),
        trace,
        governor: link.governed().map(|packet| Box::new(ShapedGovernor::new(packet)) as _),
        ..spec
    })
}

/// What a link adds to the way of a signal through it.
pub(crate) fn hop(network: &Network, link: usize) -> Hop {
    let config = network.links[link].config();
    let change = |step: &ScheduleStep| step.delay.map(|delay| (Time::ZERO + step.at, delay));
    Hop {
        link: LinkId::from(link),
        delay: network.links[link].delay,
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
        LossConfig::Scheduled(model) => LossModel::Scheduled {
            steps: model.steps.iter().map(|step| (Time::ZERO + step.at, step.probability)).collect(),
        },
        LossConfig::Periodic(model) => LossModel::Periodic { every: model.every, offset: model.offset },
    };
    match loss.place() {
        LossPlace::BeforeQueue => (Some(model), None),
        LossPlace::AfterQueue => (None, Some(model)),
    }
}

fn packet_class(class: PacketClass) -> tailback_link::PacketClass {
    match class {
        PacketClass::Data => tailback_link::PacketClass::Data,
        PacketClass::Acknowledgements => tailback_link::PacketClass::Acknowledgements,
        PacketClass::Control => tailback_link::PacketClass::Control,
    }
}
