//! Looks at links that are fed ahead of their time: one at a few of them asks their own feeders, and tells what one at all of them
//! does, for which all that is to come is put in order.

use std::sync::Arc;

use tailback_core::{LinkId, Span, Time};
use tailback_sim::{FlowSpec, NetworkBuilder, Simulator};
use tailback_transport::source::{AnySource, Bulk};
use tailback_transport::{AnyReceiver, AnySender, Receiver, ReceiverConfig, Sender, StreamConfig};

use crate::common::{Sampling, drop_tail, link, unbounded};

const FLOWS: usize = 8;

/// Flows that share a link, with one to each receiver behind it.
fn network() -> (Simulator<Sampling>, Vec<LinkId>) {
    let mut network = NetworkBuilder::new(1);
    let shared = network.link(link("shared", 8, 10, drop_tail(20)));
    let mut receivers = Vec::new();
    for number in 0..FLOWS {
        let down = network.link(link(&format!("down {number}"), 8, 10, unbounded()));
        let back = network.link(link(&format!("back {number}"), 8, 10, unbounded()));
        let flow = network.next_flow();
        let scheme = tailback_control::SCHEMES.iter().find(|info| info.name == "reno").expect("a scheme");
        let config = Arc::new(StreamConfig::default());
        let controller = (scheme.default)().build(&config.controller_params()).controller;
        let sender = Sender::new(flow, config, controller, AnySource::Bulk(Bulk::infinite()));
        network.flow(FlowSpec {
            name: format!("flow {number}"),
            forward: vec![shared, down],
            reverse: vec![back],
            sender: AnySender::Stream(sender),
            receiver: AnyReceiver::Stream(Receiver::new(flow, Arc::new(ReceiverConfig::default()))),
            start: Time::ZERO,
            stop: None,
        });
        receivers.push(down);
    }
    (network.build(Time::from_secs_f64(10.0), Sampling::new(())).expect("a sound network"), receivers)
}

#[test]
fn a_look_at_a_few_links_tells_what_one_at_all_of_them_does() {
    let (mut sim, receivers) = network();
    let mut ahead = 0;
    for step in 1..=200 {
        let now = Time::ZERO + Span::from_micros(3700 * step);
        sim.run_until(now);
        let first = receivers[step as usize % FLOWS];
        let alone = sim.link(first);
        assert!(!sim.has_put_in_order());
        let all: Vec<_> = receivers.iter().map(|receiver| sim.link(*receiver)).collect();
        assert!(sim.has_put_in_order());
        assert_eq!(alone, all[step as usize % FLOWS]);
        assert_eq!(all, receivers.iter().map(|receiver| sim.link(*receiver)).collect::<Vec<_>>());
        assert!(all.iter().all(tailback_link::LinkCounters::is_balanced));
        ahead += sim.work_done() - sim.events_handled();
    }
    assert!(ahead > 1000, "packets are on their way: {ahead}");
}
