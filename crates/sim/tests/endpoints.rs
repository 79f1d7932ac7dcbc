//! Real endpoints in the simulator: every packet through the wire codec changes nothing, transfers end whatever the
//! path does to them, flows born while running cost nothing once gone, and streams keep the laws of the network.

use crate::common;

use std::sync::Arc;

use common::{OfPackets, Sampling, built, drop_tail, link};
use proptest::prelude::*;
use tailback_control::{SCHEMES, Scheme};
use tailback_core::{Annexes, Bytes, Capacity, Distribution, FlowId, LinkId, Packet, Span, Time};
use tailback_link::{Chance, Coalescing, Impairments, LossModel, Reordering};
use tailback_sim::{Digest, FlowSpec, NetworkBuilder, Recorder, Simulator};
use tailback_transport::source::{AnySource, Bulk};
use tailback_transport::{AnyReceiver, AnySender, Receiver, ReceiverConfig, Sender, StreamConfig, wire};

/// Schemes over reliable streams whose reports and probes the codec must carry.
const STREAMS: [&str; 5] = ["reno", "newreno", "sack", "cubic", "vegas"];

fn scheme(name: &str) -> Scheme {
    let info = SCHEMES.iter().find(|info| info.name == name).expect("a registered scheme");
    (info.default)()
}

fn stream(flow: FlowId, name: &str, size: Bytes) -> (AnySender, AnyReceiver) {
    let scheme = scheme(name);
    let config = StreamConfig::default().serving(&scheme.needs());
    let parts = scheme.build(&config.controller_params());
    let receiver = ReceiverConfig::default().matching(&config);
    let source = AnySource::Bulk(Bulk::finite(size));
    let sender = Sender::new(flow, Arc::new(config), parts.controller, source);
    (AnySender::Stream(sender), AnyReceiver::Stream(Receiver::new(flow, Arc::new(receiver))))
}

fn spec(flow: FlowId, name: &str, size: Bytes, route: [LinkId; 2], start: Time) -> FlowSpec {
    let (sender, receiver) = stream(flow, name, size);
    FlowSpec {
        name: format!("{name} {}", flow.0),
        forward: vec![route[0]],
        reverse: vec![route[1]],
        sender,
        receiver,
        start,
        stop: None,
    }
}

fn network<R: Recorder>(size: Bytes, wear: &Impairments, recorder: R) -> Simulator<R> {
    let mut network = NetworkBuilder::new(9);
    let mut forward = link("forward", 10, 20, drop_tail(30));
    forward.impairments = wear.clone();
    let route = [network.link(forward), network.link(link("reverse", 10, 20, drop_tail(1000)))];
    for name in STREAMS {
        let flow = network.next_flow();
        network.flow(spec(flow, name, size, route, Time::ZERO));
    }
    network.build(Time::from_secs_f64(10_000.0), recorder).expect("a sound network")
}

/// A packet through its byte form and back.
fn through_bytes(mut packet: Packet, annexes: &mut Annexes) -> Packet {
    let annex = annexes.take(packet.annex);
    let mut bytes = Vec::new();
    wire::encode(&packet, annex.as_ref(), 0, &[], &mut bytes).expect("every packet has a byte form");
    let frame = wire::decode(&bytes).expect("what was encoded can be decoded");
    assert_eq!(frame.annex, annex);
    packet = frame.packet;
    if let Some(annex) = frame.annex {
        packet.annex = annexes.insert(annex);
    }
    packet
}

#[test]
fn the_wire_codec_carries_everything() {
    let run = |coded: bool| {
        let mut sim = network(Bytes::MAX, &Impairments::default(), OfPackets::new(Digest::default()));
        if coded {
            sim.force_codec(through_bytes);
        }
        sim.run_until(Time::from_secs_f64(20.0));
        assert!(
            sim.link(LinkId(0)).dropped_total().packets > 0,
            "losses, so that there are ranges to report"
        );
        sim.into_recorder().take::<Digest>()
    };
    assert_eq!(run(false), run(true));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn transfers_end_whatever_the_path_does(
        loss in 0.0..0.1_f64, damage in 0.0..0.05_f64, copies in 0.0..0.1_f64, late in 0.0..0.1_f64,
    ) {
        let wear = Impairments {
            loss: Some(LossModel::Independent { probability: loss }),
            corruption: Some(Chance { probability: damage }),
            duplication: Some(Chance { probability: copies }),
            reordering: Some(Reordering {
                probability: late, min: Span::from_millis(1), max: Span::from_millis(50) }),
 coalescing: Some(Coalescing { time: Distribution::exponential(Span::from_millis(2)) }),
        };
        let size = Bytes::new(200_000);
        let mut sim = network(size, &wear, Sampling::new(()));
        sim.run_until(Time::from_secs_f64(2000.0));
        for (index, name) in STREAMS.iter().enumerate() {
            let flow = FlowId::from(index);
            prop_assert!(sim.finished_at(flow).is_some(), "{name} did not end");
            // Each segment's 960 bytes of payload travel with 40 of header, each once.
            let segments = size.get().div_ceil(960);
            prop_assert_eq!(sim.receiver(flow).goodput_bytes, size + Bytes::new(40) * segments);
        }
        prop_assert!(sim.link(LinkId(0)).is_balanced());
        prop_assert_eq!(sim.live_annexes(), 0, "nothing on its way holds memory once all is over");
    }
}

#[test]
fn flows_are_born_and_die_by_the_thousand_while_running() {
    let mut network = NetworkBuilder::new(4);
    let queue = || built(&tailback_qdisc::Config::default(), Capacity::Packets(100), 50_000_000);
    let route =
        [network.link(link("forward", 50, 5, queue())), network.link(link("reverse", 50, 5, queue()))];
    let mut sim = network.build(Time::from_secs_f64(1000.0), Sampling::new(())).expect("a sound network");
    let flows = 3000;
    for born in 0..flows {
        let start = Time::ZERO + Span::from_millis(10 * born);
        sim.run_until(start);
        let flow = FlowId(born as u32);
        let added = sim.add_flow(spec(flow, "sack", Bytes::new(20_000), route, start)).expect("a sound flow");
        assert_eq!(added, flow);
    }
    sim.run_until(sim.now() + Span::from_secs(60));
    let unfinished = (0..flows as u32).filter(|&flow| sim.finished_at(FlowId(flow)).is_none()).count();
    assert_eq!(unfinished, 0);
    assert!(sim.link(route[0]).is_balanced());
    // Once all are gone, time passes without events.
    let before = sim.events_handled();
    sim.run_until(sim.now() + Span::from_secs(300));
    assert!(sim.events_handled() - before <= 2 * flows, "finished flows keep no clock running");
}
