//! A custom part in Rust gets what its needs ask for, as a built-in scheme does. Classes in Python are tested in `tests/custom`,
//! how marks are answered in `marks.rs`.

use serde_json::{Value, json};
use tailback_control::schemes::{Bbr1, Bbr1Config, FixedWindow, FixedWindowConfig};
use tailback_control::{CUSTOM_SCHEMES, CustomScheme, Needs, SchemeConfig};
use tailback_qdisc::codel::CodelConfig;
use tailback_qdisc::{CUSTOM_QUEUES, CustomQueue, QueueConfig};
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

/// A scenario with this queue and this scheme, or why it is none.
fn written(queue: &str, scheme: &str) -> Result<Value, String> {
    let text = format!(
        "duration = \"1 s\"\n[topology]\ntemplate = \"dumbbell\"\nqueue = {queue}\n[[flows]]\nscheme = {scheme}\n"
    );
    Scenario::from_toml(&text).map(|scenario| scenario.to_value()).map_err(|problems| problems.to_string())
}

#[test]
fn custom_parts_have_their_plain_names_in_files() {
    let fixed = FixedWindowConfig::default();
    CUSTOM_SCHEMES.enter("mild-one", CustomScheme::new(move |params, _| FixedWindow::new(&fixed, params)));
    CUSTOM_QUEUES.enter("short-one", CustomQueue::new(|cx, _| *CodelConfig::default().build(cx)));
    let part = |name: &str, settings: Value| json!({ "name": "custom", "part": name, "settings": settings });

    let plain = written("\"short-one\"", "\"mild-one\"").expect("plain names");
    assert_eq!(plain["topology"]["queue"], part("short-one", json!({})));
    assert_eq!(plain["flows"][0]["scheme"], part("mild-one", json!({})));
    assert_eq!(plain["flows"][0]["name"], "mild-one");

    let told = json!({ "gain": 2.0, "fast": true });
    let tables = written(
        "{ name = \"short-one\", limit = \"9 packets\" }",
        "{ name = \"mild-one\", gain = 2, fast = true }",
    );
    let tables = tables.expect("tables with settings");
    assert_eq!(tables["topology"]["queue"], part("short-one", json!({ "limit": "9 packets" })));
    assert_eq!(tables["flows"][0]["scheme"], part("mild-one", told));

    let wrapped = written("\"drop-tail\"", "{ name = \"sac\", inner = \"mild-one\" }");
    assert!(
        !wrapped.is_err_and(|why| why.contains("\"mild-one\" is not allowed; expected one of")),
        "within others, too"
    );
    let why = written("\"drop-tail\"", "\"mild-won\"").expect_err("a slip");
    assert!(why.contains("\"mild-one\" (the nearest name)"), "{why}");
    let why = written("\"drop-tail\"", "{ name = \"nothing-like-it\" }").expect_err("no such name");
    assert!(why.contains("flows[0].scheme.name") && why.contains("\"mild-one\""), "{why}");
    let why = written("\"drop-tail\"", "{ name = \"mild-one\", gain = [2] }").expect_err("no setting");
    assert!(why.contains("flows[0].scheme.gain: a list is not allowed"), "{why}");
}

#[test]
fn a_probability_alone_is_independent_loss() {
    let read = |loss: &str| {
        let text = format!(
            "duration = \"1 s\"\n[topology]\ntemplate = \"dumbbell\"\nloss = {loss}\n[[flows]]\nscheme = \"reno\"\n"
        );
        Scenario::from_toml(&text).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let table = read("{ name = \"independent\", probability = 0.02 }");
    assert_eq!(read("0.02").hash(), table.hash());
    assert_eq!(read("1").to_value()["topology"]["loss"]["probability"], 1.0);
    assert_eq!(
        read("\"independent\"").to_value()["topology"]["loss"]["probability"],
        0.01,
        "as the reference says"
    );
}
