//! So many flows that the simulator looks ahead: it does so without a trace in what is simulated.

use std::sync::Arc;

use crate::common::{Sampling, drop_tail, link, unbounded};
use tailback_control::{SCHEMES, Scheme};
use tailback_core::{FlowId, LinkId, Observation, Span, Time};
use tailback_link::LinkCounters;
use tailback_sim::{FlowSpec, NetworkBuilder, Simulator};
use tailback_transport::source::{AnySource, Bulk};
use tailback_transport::{AnyReceiver, AnySender, Receiver, ReceiverConfig, Sender, StreamConfig};

/// With four links each, except for those who share theirs, they have 5800 leaves: more than 2¹².
const FLOWS: usize = 1000;
/// So many flows apart stand those who share.
const SHARING: usize = 25;
const UNTIL: f64 = 0.4;

fn flow(id: FlowId, scheme: &Scheme, forward: Vec<LinkId>, reverse: Vec<LinkId>) -> FlowSpec {
    let stream = StreamConfig::default().serving(&scheme.needs());
    let receiver = ReceiverConfig::default().serving(&scheme.needs()).matching(&stream);
    let controller = scheme.build(&stream.controller_params()).controller;
    FlowSpec {
        name: format!("flow {}", id.0),
        sender: AnySender::Stream(Sender::new(id, stream, controller, AnySource::Bulk(Bulk::infinite()))),
        receiver: AnyReceiver::Stream(Receiver::new(id, Arc::new(receiver))),
        forward,
        reverse,
        // Few at first, and many never: a test has other things to do. The one that comes late starts at once.
        start: Time::ZERO + Span::from_millis((id.index() % FLOWS) as u64 / 2),
        stop: None,
    }
}

/// A dumbbell whose bottleneck loses a lot, in both forms of event queue, and with every arrival at a link an event or not; one
/// flow comes while it runs.
fn dumbbell(wheel: bool, link_by_link: bool) -> Simulator<Sampling> {
    let scheme = SCHEMES.iter().find(|info| info.name == "sack").map(|info| (info.default)());
    let scheme = scheme.expect("a built-in scheme");
    let mut network = NetworkBuilder::new(3);
    if wheel {
        network.without_limit_of_time();
    }
    if link_by_link {
        network.link_by_link();
    }
    let (there, back) =
        (network.link(link("there", 300, 5, drop_tail(60))), network.link(link("back", 300, 5, unbounded())));
    let mut last = (vec![], vec![]);
    let access = |network: &mut NetworkBuilder, whose: &str| {
        ["up", "up back", "down", "down back"]
            .map(|name| network.link(link(&format!("{name} {whose}"), 100, 1, unbounded())))
    };
    let shared = access(&mut network, "of several");
    for index in 0..FLOWS {
        let [up, up_back, down, down_back] =
            if index % SHARING == 0 { shared } else { access(&mut network, &index.to_string()) };
        last = (vec![up, there, down], vec![down_back, back, up_back]);
        network.flow(flow(network.next_flow(), &scheme, last.0.clone(), last.1.clone()));
    }
    let mut sim = network.build(Time::from_secs_f64(10.0), Sampling::new(())).expect("a sound network");
    assert_eq!(sim.looks_far_ahead(), !wheel);
    sim.run_until(Time::from_secs_f64(UNTIL / 2.0));
    sim.add_flow(flow(FlowId::from(FLOWS), &scheme, last.0, last.1)).expect("a sound flow");
    sim.run_until(Time::from_secs_f64(UNTIL));
    sim
}

fn seen(mut sim: Simulator<Sampling>) -> (u64, Vec<Observation>, Vec<LinkCounters>) {
    let ends = (0..sim.flow_count()).map(FlowId::from);
    let ends = ends.flat_map(|id| [sim.sender(id), sim.receiver(id)]).collect();
    let links = (0..sim.link_count()).map(|index| sim.link(LinkId::from(index))).collect();
    (sim.events_handled(), ends, links)
}

#[test]
fn looking_ahead_changes_nothing() {
    let (ahead, without) = (seen(dumbbell(false, false)), seen(dumbbell(true, true)));
    assert!(ahead.0 > 50_000, "{} events", ahead.0);
    assert!(ahead.2[0].dropped_total().packets > 100, "{:?}", ahead.2[0]);
    assert!(ahead == without, "looking ahead changes what is simulated");
    assert!(ahead == seen(dumbbell(false, true)), "looking ahead changes what is simulated link by link");
}
