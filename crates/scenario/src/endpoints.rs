//! From a checked scenario to the endpoints of its flows: senders, receivers and their applications, as state machines
//! that any driver may carry, a simulator or a socket. Over which links they talk is said in `topology`.

use std::sync::Arc;

use tailback_control::breaker::{ReceptionReports, UnderBreaker};
use tailback_control::{AnyController, BoxedPolicy, Parts};
use tailback_core::{FlowId, Stream, Time};
use tailback_transport::source::AnySource;
use tailback_transport::{
    AnyReceiver, AnySender, DatagramConfig, DatagramReceiver, DatagramSender, Egress, Ingress,
    MulticastSender, Receiver, ReceiverConfig, Sender, Silent, StreamConfig,
};

use crate::flow::FlowConfig;
use crate::scenario::Scenario;
use crate::spread::Draw;
use crate::topology::{Network, Role};

/// The two ends of a flow, and when its application speaks.
#[derive(Debug)]
pub struct Ends {
    /// The sending endpoint.
    pub sender: AnySender,
    /// The receiving endpoint.
    pub receiver: AnyReceiver,
    /// When the application begins.
    pub start: Time,
    /// When the application is stopped, if it is.
    pub stop: Option<Time>,
}

/// Makes the endpoints of a scenario's flows, one flow after another, so that a large scenario's are never held twice.
///
/// A flow's packets carry its index in [`Network::flows`]; the aggregates follow behind all flows.
pub struct Assembly<'a> {
    scenario: &'a Scenario,
    network: &'a Network,
    seed: u64,
    groups: Vec<Group<'a>>,
}

impl<'a> Assembly<'a> {
    /// The assembly of a checked scenario on its network, with starts drawn from streams of `seed`.
    pub fn new(scenario: &'a Scenario, network: &'a Network, seed: u64) -> Self {
        Self { scenario, network, seed, groups: scenario.flows.iter().map(Group::new).collect() }
    }

    /// The ends of flow number `index`.
    ///
    /// # Panics
    /// When the network has no such flow.
    pub fn flow(&self, index: usize) -> Ends {
        let flow = &self.network.flows[index];
        let group = &self.groups[flow.group];
        let (sender, receiver) = group.ends(FlowId::from(index), flow.role);
        Ends {
            sender,
            receiver,
            start: start_of(group.config, &flow.name, self.seed),
            stop: group.config.stop.map(|stop| Time::ZERO + stop),
        }
    }

    /// The ends of aggregate number `index`: its control loop, as a flow from edge to edge.
    ///
    /// # Panics
    /// When the scenario has no such aggregate.
    pub fn aggregate(&self, index: usize) -> Ends {
        let id = FlowId::from(self.network.flows.len() + index);
        let config = &self.scenario.aggregates[index];
        let ends = config.ends();
        let Parts { controller, policy } = config.scheme.build(&ends.controller_params());
        let near = Ingress::new(id, &ends, controller);
        let far = Egress::new(id, &ends, policy, near.keeps_window());
        Ends {
            sender: AnySender::Edge(Box::new(near)),
            receiver: AnyReceiver::Edge(Box::new(far)),
            start: Time::ZERO,
            stop: None,
        }
    }
}

/// The two ends of a flow that carries bytes from outside, for drivers of sockets: flow 0, whatever application the
/// configuration names. `None` where the flow sends datagrams, which are not repaired.
pub fn piped(config: &FlowConfig) -> Option<(Sender, Receiver)> {
    if config.sends_datagrams() {
        return None;
    }
    let (needs, id) = (config.needs(), FlowId(0));
    let stream = config.transport.clone().serving(&needs);
    let mut receiving = config.receiver.clone().serving(&needs).matching(&stream);
    receiving.delivery_events = true;
    let Parts { controller, policy } = config.parts();
    let sender = Sender::new(id, stream, controller, AnySource::pushed());
    let receiver = Receiver::new(id, receiving);
    Some((
        sender,
        match policy {
            Some(policy) => receiver.with_policy(policy),
            None => receiver,
        },
    ))
}

/// The flows of a group's receivers: those that follow it.
pub(crate) fn members_of(group: FlowId, count: usize) -> impl Iterator<Item = FlowId> {
    (1..=count).map(move |place| FlowId::from(group.index() + place))
}

/// When a flow starts: drawn from a stream of its own, so that nobody else's start depends on it.
pub(crate) fn start_of(flow: &FlowConfig, name: &str, seed: u64) -> Time {
    let uniform = match flow.start {
        Draw::At(_) => 0.0,
        Draw::Uniform(_) => Stream::of_part(seed, name, "start").uniform(),
    };
    Time::ZERO + flow.start.draw(uniform)
}

/// What the members of a group share.
struct Group<'a> {
    config: &'a FlowConfig,
    shared: Shared,
}

/// The endpoints' configurations, shared by all members.
enum Shared {
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
        let needs = config.needs();
        let shared = if config.sends_datagrams() {
            Shared::Datagram(Arc::new(config.datagram.clone().serving(&needs)))
        } else {
            let sender = config.transport.clone().serving(&needs);
            let receiver = config.receiver.clone().serving(&needs).matching(&sender);
            let alike = config.clone();
            let fresh = Arc::new(move || alike.parts().controller);
            Shared::Stream { sender: Arc::new(sender), receiver: Arc::new(receiver), fresh }
        };
        Self { config, shared }
    }

    /// The two ends of a member.
    fn ends(&self, id: FlowId, role: Role) -> (AnySender, AnyReceiver) {
        match role {
            Role::Alone => self.pair(id),
            Role::Group(members) => (self.multicast(id, members), AnyReceiver::Custom(Box::new(Silent))),
            Role::Member => (AnySender::Custom(Box::new(Silent)), self.pair(id).1),
        }
    }

    /// The sender of a group.
    fn multicast(&self, id: FlowId, members: usize) -> AnySender {
        // Schemes that send datagrams have no groups; a check has said so.
        let Shared::Stream { sender, fresh, .. } = &self.shared else {
            return AnySender::Custom(Box::new(Silent));
        };
        let receivers = members_of(id, members).map(|member| (member, fresh()));
        let source = self.config.source.build();
        AnySender::Custom(Box::new(MulticastSender::new(id, Arc::clone(sender), receivers, source)))
    }

    /// One sender and one receiver.
    fn pair(&self, id: FlowId) -> (AnySender, AnyReceiver) {
        let Parts { controller, policy } = self.config.parts();
        let source = self.config.source.build();
        match &self.shared {
            Shared::Stream { sender, receiver, fresh } => {
                let sender = Sender::new(id, Arc::clone(sender), controller, source);
                let receiver = Receiver::new(id, Arc::clone(receiver));
                let receiver = match policy {
                    Some(policy) => receiver.with_policy(policy),
                    None => receiver,
                };
                (AnySender::Stream(sender.with_restart(Arc::clone(fresh))), AnyReceiver::Stream(receiver))
            }
            Shared::Datagram(config) => {
                let (controller, policy) = under_breaker(config, controller, policy);
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

/// Both halves under a circuit breaker, where the flow is to have one.
fn under_breaker(
    config: &DatagramConfig,
    controller: AnyController,
    policy: Option<BoxedPolicy>,
) -> (AnyController, Option<BoxedPolicy>) {
    let Some(interval) = config.circuit_breaker else { return (controller, policy) };
    let reports = || -> BoxedPolicy { Box::new(ReceptionReports::new(interval)) };
    let controller = AnyController::Custom(Box::new(UnderBreaker::new(controller, interval)));
    (controller, Some(policy.unwrap_or_else(reports)))
}
