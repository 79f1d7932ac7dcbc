//! A scenario for real packets: the kernel's schemes and their counterparts, and what cannot be had.

use std::path::Path;

use serde_json::{Value, json};
use tailback_control::laws::{Counting, Halve};
use tailback_control::schemes::CubicConfig;
use tailback_core::Span;
use tailback_scenario::Scenario;
use tailback_scenario::lab::{self, counterpart, counterpart_fields, of_value};
use tailback_scenario::parts::{ReceiverConfig, SchemeConfig};
use tailback_transport::wire::DATA_OVERHEAD;
use tailback_transport::{LossDetection, RackConfig, SackCompression};

fn scenario(flows: &Value) -> Value {
    json!({"duration": "1 s", "topology": {"template": "dumbbell", "rate": "8 Mbit/s", "delay": "5 ms",
        "buffer": "20 packets"}, "flows": flows})
}

fn known() -> Vec<String> {
    vec!["cubic".to_owned(), "reno".to_owned()]
}

fn problems(flows: &Value) -> String {
    let (scenario, kernel) = of_value(&scenario(flows), Path::new("")).unwrap();
    scenario.for_lab(&kernel, &known()).unwrap_err().to_string()
}

#[test]
fn schemes_of_the_kernel_have_counterparts() {
    let flows = json!([{"name": "a", "scheme": "kernel-reno"}, {"name": "b", "scheme": "kernel-cubic"},
        {"name": "c", "scheme": "vegas"}]);
    let (scenario, kernel) = of_value(&scenario(&flows), Path::new("")).unwrap();
    let schemes: Vec<_> = scenario.flows.iter().map(|flow| flow.scheme.name()).collect();
    assert_eq!(schemes, ["sack", "cubic", "vegas"]);
    let said: Vec<_> = kernel.iter().map(|(group, name)| (group.as_str(), name.as_str())).collect();
    assert_eq!(said, [("a", "reno"), ("b", "cubic")]);
    let made = scenario.for_lab(&kernel, &known()).unwrap();
    let headers: Vec<_> = made.flows.iter().map(|flow| flow.transport.header.get()).collect();
    assert_eq!(headers, [52, 52, 58]);
    assert_eq!(made.clone().for_lab(&kernel, &known()).unwrap(), made, "once more");
    assert_eq!((counterpart("bbr"), counterpart("nonesuch")), (Some("bbr1"), None));
}

#[test]
fn counterparts_do_as_the_kernel_does() {
    let flows = json!([{"name": "a", "scheme": "kernel-cubic"}, {"name": "b", "scheme": "cubic"}]);
    let (scenario, kernel) = of_value(&scenario(&flows), Path::new("")).unwrap();
    let made = scenario.for_lab(&kernel, &known()).unwrap();
    let [kernel, ours] = &made.flows[..] else { panic!("two flows") };
    // Linux acknowledges every second segment, compresses selective acknowledgements, and shakes hands.
    assert_eq!(kernel.receiver.sack_compression, Some(SackCompression::default()));
    assert_eq!((kernel.receiver.ack_every, kernel.receiver.ack_delay), (2, Span::from_millis(40)));
    let SchemeConfig::Cubic(cubic) = &kernel.scheme.0 else { panic!("{:?}", kernel.scheme) };
    assert_eq!((cubic.counting, cubic.halve), (Counting::Bytes, Halve::Window));
    assert!(cubic.hystart && kernel.transport.handshake && kernel.transport.segmentation_offload);
    assert!(kernel.transport.proportional_rate_reduction);
    assert_eq!(kernel.transport.loss_detection.0, LossDetection::Rack(RackConfig::default()));
    assert!(cubic.whole_segments);
    // Ours is as the scenario has it.
    assert_eq!(ours.receiver, ReceiverConfig::default());
    assert_eq!(ours.scheme.0, SchemeConfig::Cubic(CubicConfig::default()));
    assert!(!ours.transport.handshake && !ours.transport.segmentation_offload);
}

#[test]
fn the_counterpart_of_reno_is_the_same_by_its_fields() {
    let flows = json!([{"name": "a", "scheme": "kernel-reno"}]);
    let (scenario, kernel) = of_value(&scenario(&flows), Path::new("")).unwrap();
    let made = scenario.for_lab(&kernel, &known()).unwrap();
    let SchemeConfig::Sack(sack) = &made.flows[0].scheme.0 else { panic!("{:?}", made.flows[0].scheme) };
    assert_eq!((sack.counting, sack.halve), (Counting::Bytes, Halve::Window));
    let mut fields = counterpart_fields("reno").unwrap();
    assert_eq!(fields["scheme"], json!({"name": "sack", "counting": "bytes", "halve": "window"}));
    let sack_compression = json!({"delay": "1 ms", "rtt_share": 0.05, "slack": "100 µs", "count": 44});
    let receiver = json!({"ack_every": 2, "ack_delay": "40 ms", "sack_compression": sack_compression});
    assert_eq!(fields["receiver"], receiver);
    fields["name"] = "a".into();
    let written = Scenario::from_value(&self::scenario(&json!([fields])), Path::new("")).unwrap();
    assert_eq!(written.flows, made.flows);
    assert_eq!(counterpart_fields("nonesuch"), None);
}

#[test]
fn the_counterpart_of_bbr_counts_in_whole_packets() {
    let flows = json!([{"name": "a", "scheme": "kernel-bbr"}]);
    let (scenario, kernel) = of_value(&scenario(&flows), Path::new("")).unwrap();
    let made = scenario.for_lab(&kernel, &["bbr".to_owned()]).unwrap();
    assert!(matches!(&made.flows[0].scheme.0, SchemeConfig::Bbr1(bbr) if bbr.whole_packets));
    assert!(
        !made.flows[0].transport.proportional_rate_reduction,
        "it says itself what may leave in recovery"
    );
}

#[test]
fn stamps_are_part_of_the_header() {
    let flows = json!([{"name": "a", "scheme": "monaco"},
        {"name": "b", "scheme": "reno", "transport": {"rtt_sampling": "timestamps"}}]);
    let (scenario, kernel) = of_value(&scenario(&flows), Path::new("")).unwrap();
    let made = scenario.for_lab(&kernel, &[]).unwrap();
    let headers: Vec<_> = made.flows.iter().map(|flow| flow.transport.header.get()).collect();
    // IP and UDP, what frames data, and the stamps.
    let framed = 28 + DATA_OVERHEAD as u64;
    assert_eq!(headers, [framed, framed + 73]);
}

#[test]
fn what_cannot_be_had_is_named() {
    let said = problems(&json!([{"name": "a", "scheme": "kernel-bbr"}]));
    assert!(said.contains("flows[0].scheme: kernel-bbr") && said.contains("kernel-cubic"), "{said}");
    let said = problems(&json!([{"name": "a", "scheme": "kernel-reno", "source": "voice"}]));
    assert!(said.contains("flows[0].source: voice"), "{said}");
    let said = problems(&json!([{"name": "a", "scheme": "kernel-reno",
        "transport": {"initial_window": "2 packets"}}]));
    assert!(said.contains("flows[0].transport: a table"), "{said}");
    let said = problems(&json!([{"name": "a", "scheme": "reno", "cells": true}]));
    assert!(said.contains("flows[0].cells: true"), "{said}");
    let said = problems(&json!([{"name": "a", "scheme": "reno", "transport": {"segment_size": "50 B"}}]));
    assert!(said.contains("flows[0].transport.segment_size: 50 B"), "{said}");
    let said = problems(&json!([{"name": "a", "scheme": "reno", "transport": {"header": "20 B"}}]));
    assert!(said.contains("flows[0].transport.header: 20 B"), "{said}");
    let said = problems(&json!([{"name": "a", "count": 65, "scheme": "reno"}]));
    assert!(said.contains("flows: 65 flows"), "{said}");
}

#[test]
fn files_are_refused_as_the_simulators_are() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let wrong = folder.join("wrong.toml");
    std::fs::write(&wrong, "duration = 3").unwrap();
    for path in [folder.join("none.toml"), folder.to_owned(), wrong] {
        let (ours, simulated) = (lab::load(&path).unwrap_err(), tailback_scenario::load(&path).unwrap_err());
        assert_eq!(ours.to_string(), simulated.to_string());
        assert!(ours.to_string().contains(&*path.to_string_lossy()), "{ours}");
    }
}
