//! What a driver of real packets did comes out as a simulated run does.

use tailback_core::{Bytes, FlowId, Kind, LinkId, Observation, Packet, Span, Time};
use tailback_link::{LinkCounters, StandaloneLink};
use tailback_scenario::Scenario;
use tailback_scenario::emulation::{DrivenFlow, Emulation, FlowCounts, SeenFlow};
use tailback_sim::PacketEvent;

const SCENARIO: &str = r#"{"duration": "1 h", "topology": {"template": "graph", "links": [{"from": "inside",
    "to": "outside", "rate": "8 Mbit/s", "delay": "5 ms", "buffer": "20 packets"}]}, "flows": [{"name": "programs",
    "scheme": "reno", "from": "inside", "to": "outside"}], "record": {"packets": true, "delays": true}}"#;

fn seen(name: &str, packets: u64) -> SeenFlow {
    let bytes = Bytes::new(packets * 1000);
    let sender = Observation { sent_packets: packets, sent_bytes: bytes, ..Observation::default() };
    let receiver = Observation { received_packets: packets, received_bytes: bytes, ..Observation::default() };
    SeenFlow {
        name: name.to_owned(),
        protocol: "tcp".to_owned(),
        from: "inside".to_owned(),
        to: "outside".to_owned(),
        counts: FlowCounts { sender, receiver },
    }
}

#[test]
fn what_a_driver_did_comes_out_as_a_simulated_run_does() {
    let mut emulation = Emulation::new(Scenario::from_json(SCENARIO).unwrap()).unwrap();
    let mut specs = emulation.link_specs().unwrap();
    assert_eq!(specs.len(), 2, "both directions");
    let mut link = StandaloneLink::new(specs.remove(0), 1);
    let mut annexes = tailback_core::Annexes::new();
    let packet = |number| Packet::new(Kind::Data, FlowId(0), number, Bytes::new(1000));
    for number in 0..100_u64 {
        let now = Time::from_nanos(number * 2_000_000);
        let packet = packet(number);
        emulation.packet(now, PacketEvent::Sent(FlowId(0), &packet));
        emulation.packet(now, PacketEvent::Offered(LinkId(0), &packet));
        link.offer(now, packet, &mut annexes);
        emulation.packet(now + Span::from_millis(6), PacketEvent::Delivered(FlowId(0), &packet));
        if emulation.next_sample() <= now {
            let counters = [link.counters(), LinkCounters::default()];
            let flows = [seen("a", number).counts].into_iter();
            emulation.sample(&counters, |_, _| {}, flows);
        }
    }
    let end = Time::from_nanos(300_000_000);
    link.advance(end, &mut annexes);
    let counters = vec![link.counters(), LinkCounters::default()];
    let outcome = emulation.finish(end, counters, vec![seen("a", 100)]).unwrap();
    assert_eq!(outcome.scenario.duration, Span::from_millis(300));
    assert_eq!(outcome.links_measured.counts("delivered_packets"), [100, 0]);
    assert_eq!(outcome.flows_measured.counts("received_bytes"), [100_000]);
    assert_eq!(outcome.flows_measured.get("scheme"), Some(&vec!["tcp".to_owned()].into()));
    let delay = outcome.flows_measured.quantities("delay_p50_seconds")[0];
    assert!((delay - 6e-3).abs() < 5e-5, "{delay}");
    assert_eq!(outcome.times.len(), 1);
    assert_eq!(outcome.link_series[0].1.counts("arrived_packets"), [51]);
    assert_eq!(outcome.flow_series[0].0, "a");
    assert_eq!(outcome.packets.counts("number").len(), 300);
}

#[test]
fn without_flows_there_are_tables_all_the_same() {
    let emulation = Emulation::new(Scenario::from_json(SCENARIO).unwrap()).unwrap();
    let outcome = emulation.finish(Time::ZERO, vec![LinkCounters::default(); 2], Vec::new()).unwrap();
    assert_eq!(outcome.links.counts("arrived_packets"), [0, 0]);
    assert_eq!(outcome.flows.counts("sent_bytes"), [0]);
}

#[test]
fn flows_that_were_driven_come_out_under_their_own_names() {
    let emulation = Emulation::new(Scenario::from_json(SCENARIO).unwrap()).unwrap();
    let counts = |packets| seen("", packets).counts;
    let at = Time::from_nanos;
    let flow = DrivenFlow {
        scheme: Some("kernel-reno".to_owned()),
        bins: Vec::new(),
        warm: counts(30),
        last: counts(100),
        finished: Some(at(200_000_000)),
        messages: vec![(Bytes::new(9), at(1_000_000), at(3_000_000))],
    };
    let links = || vec![LinkCounters::default(); 2];
    let outcome = emulation.finish_driven(at(300_000_000), (links(), links()), &[flow]);
    assert_eq!(outcome.flows.get("scheme"), Some(&vec!["kernel-reno".to_owned()].into()));
    assert_eq!(outcome.flows_measured.counts("received_packets"), [70]);
    assert_eq!(outcome.flows.counts("received_packets"), [100]);
    assert_eq!(outcome.flows.quantities("finished_seconds"), [0.2]);
    assert_eq!(outcome.messages.quantities("ended_seconds"), [0.003]);
    assert_eq!(outcome.flow_series[0].0, "programs");
}
