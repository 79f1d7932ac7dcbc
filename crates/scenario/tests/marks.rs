//! A window of one segment under heavy marks: who follows RFC 3168 §6.1.2 falls silent, who answers marks alone sends
//! on. How an endpoint does it, is tested in `transport`.

use serde_json::{Value, json};
use tailback_control::schemes::{FixedWindow, FixedWindowConfig};
use tailback_control::{CUSTOM_SCHEMES, CustomScheme};
use tailback_core::DataAmount;
use tailback_scenario::{Outcome, Run, Scenario};

/// Seconds.
const DURATION: f64 = 45.0;

/// One flow at a window of one segment beside one of eight, which keeps the queue where RED marks at probability 1: from `max` to
/// twice `max`, with `max_p` 1. The line is never idle.
fn beside_eight(scheme: &Value) -> Outcome {
    let flow = |name: &str, scheme: &Value| json!({ "name": name, "scheme": scheme, "transport": { "ecn": "ect0", "segment_size": "1000 B" } });
    let red = json!({
        "name": "red", "ecn": true, "min": "2 packets", "max": "5 packets", "max_p": 1.0, "weight": 1.0,
    });
    let scenario = json!({
        "duration": format!("{DURATION} s"),
        "topology": {
            "template": "dumbbell", "rate": "1 Mbit/s", "delay": "5 ms", "buffer": "50 packets", "queue": red,
        },
        "flows": [flow("one", scheme), flow("eight", &json!({ "name": "fixed-window", "window": "8 packets" }))],
    });
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap_or_else(|problems| panic!("{problems}"));
    Run::new(scenario, None).and_then(Run::finish).unwrap_or_else(|problems| panic!("{problems}"))
}

fn sent(outcome: &Outcome) -> u64 {
    outcome.flows.counts("sent_packets")[0]
}

#[test]
fn a_fixed_window_of_one_segment_sends_on_whatever_is_marked() {
    let outcome = beside_eight(&json!({ "name": "fixed-window", "window": "1 packets" }));
    // One departure of nine is its own, at 8 ms each.
    let due = DURATION / (9.0 * 8e-3);
    let found = sent(&outcome) as f64;
    assert!((found - due).abs() < 0.02 * due, "{found} packets, {due} are due");
    let marked: u64 = outcome.links.counts("marks").iter().sum();
    let all: u64 = outcome.flows.counts("sent_packets").iter().sum();
    // After a mark RED counts from zero, so that the packet behind it passes (Floyd and Jacobson 1993, §4).
    assert!(
        marked as f64 > 0.49 * all as f64,
        "{marked} marks on {all} packets: not every second one is marked"
    );
    assert_eq!(outcome.flows.counts("timeouts"), [0, 0]);
}

#[test]
fn the_same_window_under_rfc_3168_waits_for_its_timer() {
    CUSTOM_SCHEMES.enter(
        "one-segment",
        CustomScheme::new(|params, _| {
            let config = FixedWindowConfig { window: DataAmount::Packets(1.0) };
            FixedWindow::new(&config, params)
        }),
    );
    let found = sent(&beside_eight(&json!({ "name": "custom", "part": "one-segment" })));
    assert!((20..300).contains(&found), "{found} packets: an echo silences it for a retransmission time-out");
}
