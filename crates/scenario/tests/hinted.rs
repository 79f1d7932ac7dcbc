//! Complaints that say what was meant: percentages, fields in the wrong table, values in place of tables. All others are in
//! `bad_input.rs`.

use tailback_scenario::Scenario;

use crate::bad_input::{complains, with};

#[test]
fn percentages() {
    let loss = with("buffer =", "loss = \"1 %\"\nbuffer =");
    complains(&loss, "topology.loss", &["\"1 %\" is not allowed", "expected a number", "did you mean 0.01?"]);
    let model = with("buffer =", "loss = { name = \"selective\", probability = \"0.5%\" }\nbuffer =");
    complains(
        &model,
        "topology.loss.probability",
        &["\"0.5%\"", "did you mean 0.005? Percentages are written as"],
    );
    let marks = with("queue = \"drop-tail\"", "queue = { name = \"red\", max_p = \"10 %\" }");
    complains(&marks, "topology.queue.max_p", &["did you mean 0.1?"]);
    let scheme = with("scheme = \"reno\"", "scheme = { name = \"cubic\", beta = \"70 %\" }");
    complains(&scheme, "flows[0].scheme.beta", &["did you mean 0.7?"]);
    // No number with a fraction belongs here.
    let count = with("start = \"0 s\"", "count = \"50 %\"");
    let problems = Scenario::from_toml(&count).expect_err("a bad scenario").to_string();
    assert!(problems.contains("flows[0].count") && !problems.contains("did you mean"), "{problems}");
}

#[test]
fn numbers_that_are_none() {
    for text in ["nan", "inf", "-inf"] {
        let allowed = ["expected a number from 0 up to 1", "or one of \"independent\""];
        complains(&with("buffer =", &format!("loss = \"{text}\"\nbuffer =")), "topology.loss", &allowed);
        // Without the quotes, what TOML calls a number.
        let plain = Scenario::from_toml(&with("buffer =", &format!("loss = {text}\nbuffer =")));
        assert!(plain.unwrap_err().to_string().contains("expected a number from 0 up to 1"), "{text}");
    }
}

#[test]
fn fields_in_the_wrong_table() {
    let flow = |line: &str| with("scheme =", &format!("{line}\nscheme ="));
    let transport = flow("transport = { ecn_echo = \"per-packet\" }");
    complains(
        &transport,
        "flows[0].transport.ecn_echo",
        &["expected `ecn_echo` in `receiver` or in `datagram`; the fields here"],
    );
    complains(&flow("ecn = \"ect0\""), "flows[0].ecn", &["expected `ecn` in `transport` or in `datagram`;"]);
    complains(
        &flow("warm_up = \"1 s\""),
        "flows[0].warm_up",
        &["expected `warm_up` beside `flows`, not in it;"],
    );
    complains(&flow("queue = \"red\""), "flows[0].queue", &["expected `queue` in `topology`;"]);
    let source = flow("source = { name = \"files\", stop = \"1 s\" }");
    complains(&source, "flows[0].source.stop", &["expected `stop` beside `source`, not in it;"]);
    complains(
        &with("duration =", "rate = \"1 Mbit/s\"\nduration ="),
        "rate",
        &["expected `rate` in `topology`;"],
    );
    // Other schemes have a field of this name; this one has not.
    complains(&flow("loss = 0.01"), "flows[0].loss", &["expected `loss` in `topology`;"]);
    complains(&flow("beta = 0.5"), "flows[0].beta", &["expected a known one;"]);
    let cubic = flow("beta = 0.5").replace("\"reno\"", "\"cubic\"");
    complains(&cubic, "flows[0].beta", &["expected `beta` in `scheme`;"]);
    // What is there nowhere, and what is misspelt, is told as before.
    complains(&flow("colour = 1"), "flows[0].colour", &["expected a known one;"]);
    complains(
        &flow("transport = { ecnn = \"ect0\" }"),
        "flows[0].transport.ecnn",
        &["`ecn` (the nearest name)"],
    );
}

#[test]
fn nothing_in_place_of_a_choice() {
    let without = |field: &str| {
        Scenario::from_json(&format!(
            r#"{{"duration": "10 s", "topology": {{"template": "dumbbell", "rate": "1 Mbit/s", "{field}": null}},
                "flows": [{{"name": "a", "scheme": "reno"}}]}}"#
        ))
    };
    let problems = without("queue").expect_err("a queue of no name");
    assert_eq!(problems.errors.len(), 1, "{problems}");
    assert_eq!(problems.errors[0].field, "topology.queue", "{problems}");
    assert!(
        problems.to_string().contains("null is not allowed; expected one of \"drop-tail\""),
        "{problems}"
    );
    // What may be absent is so.
    assert!(without("loss").is_ok());
}

#[test]
fn values_alone_in_place_of_distributions() {
    let files =
        |size: &str| with("scheme =", &format!("source = {{ name = \"files\", size = {size} }}\nscheme ="));
    let short = Scenario::from_toml(&files("\"30 kB\"")).expect("a value alone");
    let table = Scenario::from_toml(&files("{ name = \"constant\", value = \"30 kB\" }")).expect("a table");
    assert_eq!(short.to_toml(), table.to_toml());
    assert!(short.to_toml().contains("constant"), "{}", short.to_toml());
    let allowed = ["an amount of data with its unit", "or a table with `name` one of \"constant\""];
    complains(&files("30000"), "flows[0].source.size", &allowed);
    complains(&files("\"30 ms\""), "flows[0].source.size", &["an amount of data with its unit"]);
    complains(&files("\"0 B\""), "flows[0].source.size.value", &["more than zero"]);
}
