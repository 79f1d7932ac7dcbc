//! A custom part in Rust gets what its needs ask for, as a built-in scheme does. Classes in Python are tested in `tests/custom`,
//! how marks are answered in `marks.rs`.

use serde_json::{Value, json};
use tailback_control::schemes::{Bbr1, Bbr1Config};
use tailback_control::{CUSTOM_SCHEMES, CustomScheme, Needs, SchemeConfig};
use tailback_scenario::{Outcome, Run, Scenario};

/// One flow over a link that loses packets.
fn over_loss(scheme: &Value) -> Outcome {
    let scenario = json!({
        "duration": "10 s",
        "topology": {
            "template": "dumbbell", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1 BDP",
            "loss": { "name": "independent", "probability": 0.02 },
        },
        "flows": [{ "name": "it", "scheme": scheme }],
    });
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap_or_else(|problems| panic!("{problems}"));
    Run::new(scenario, None).and_then(Run::finish).unwrap_or_else(|problems| panic!("{problems}"))
}

/// BBR as a custom part with these needs.
fn bbr(part: &str, needs: Needs) -> Outcome {
    let config = Bbr1Config::default();
    let custom = CustomScheme { needs, ..CustomScheme::new(move |params, _| Bbr1::new(&config, params)) };
    CUSTOM_SCHEMES.enter(part, custom);
    over_loss(&json!({ "name": "custom", "part": part }))
}

#[test]
fn a_custom_part_gets_samples_and_finds_lost_retransmissions_as_a_built_in_scheme_does() {
    let built_in = over_loss(&json!("bbr1"));
    let needs = Bbr1Config::default().needs();
    let same = |custom: &Outcome| {
        ["sent_packets", "received_packets", "goodput_bytes", "timeouts", "recoveries"]
            .iter()
            .all(|column| built_in.flows.counts(column) == custom.flows.counts(column))
    };
    assert!(built_in.flows.counts("goodput_bytes")[0] > 9_000_000, "it fills the link");
    assert!(same(&bbr("bbr-asks", needs)), "with the needs of the built-in one, the same run");
    assert!(!same(&bbr("bbr-unsampled", Needs { delivery: false, ..needs })), "without samples another");
    let waiting = Needs { lost_retransmissions: false, ..needs };
    assert!(!same(&bbr("bbr-waiting", waiting)), "where lost retransmissions wait for the timer another");
}
