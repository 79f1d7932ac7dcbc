//! What the sender of a file tells the receiver of its flow: that flow is made of it again, and nothing else.

use serde_json::{Value, json};
use tailback_scenario::transfer::{flow_of, scenario_of};

const TOLD: &str =
    r#"{"scheme":"tfrc","reliable":true,"transport":{"header":"60 B"},"receiver":{"ack_every":2}}"#;

#[test]
fn a_flow_is_told_and_made_again() {
    let made = scenario_of("film", TOLD).expect("a scenario");
    assert_eq!((made.flows.len(), made.name.as_str()), (1, "transfer of film"));
    assert!(made.flows[0].reliable && !made.flows[0].sends_datagrams());
    assert_eq!(made.flows[0].scheme.name(), "tfrc");
    assert_eq!(flow_of(&made), TOLD);
}

/// What is recorded, laid out or opened here is no business of a peer.
#[test]
fn a_peer_says_nothing_but_its_flow() {
    let told: Value = serde_json::from_str(TOLD).expect("JSON");
    for (field, value) in [
        ("source", json!({"name": "replay", "file": "/etc/hostname"})),
        ("record", json!({"bin": "1 ns"})),
        ("topology", json!({"template": "parking-lot", "rate": "1 Gbit/s", "hops": 100_000})),
        ("duration", json!("10 ms")),
        ("count", json!(1_000_000)),
        ("flows", json!([told.clone()])),
    ] {
        let mut more = told.clone();
        more[field] = value;
        let said = scenario_of("film", &more.to_string()).expect_err(field).to_string();
        let expected = format!("the field \"{field}\"");
        assert!(said.contains(&expected) && said.contains("`receiver`"), "{said}");
        assert!(!said.contains("/etc"), "{said}");
    }
    for nonsense in
        ["", "[]", "7", "{}", r#"{"scheme":"cubik"}"#, r#"{"scheme":"cubic","transport":{"file":"/etc"}}"#]
    {
        scenario_of("film", nonsense).expect_err(nonsense);
    }
}
