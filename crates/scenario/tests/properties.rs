//! Whatever is thrown at the loader, it answers and never panics; and what it accepts, it can write and read again.

use proptest::prelude::*;
use serde_json::{Value, json};
use tailback_scenario::{Run, Scenario, load::parse_toml, schema};

/// Any JSON at all, with the words of scenarios among its keys.
fn noise() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(keys(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "10 Mbit/s",
        "0 bit/s",
        "20 ms",
        "-1 s",
        "9000 h",
        "0 s",
        "1 BDP",
        "0 packets",
        "50 packets",
        "unlimited",
        "r0",
        "r1",
        "s0",
        "d0",
        "hub",
        "h0",
        "dumbbell",
        "star",
        "graph",
        "parking-lot",
        "home",
        "isp",
        "reno",
        "cubic",
        "fixed-rate",
        "red",
        "drop-tail",
        "bulk",
        "files",
        "all",
        "none",
        "main",
        "a",
        "b",
        "",
        "r0->r1",
        "independent",
        "ect0",
    ])
    .prop_map(str::to_owned)
}

fn keys() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "name",
        "duration",
        "warm_up",
        "seed",
        "topology",
        "template",
        "flows",
        "record",
        "rate",
        "delay",
        "buffer",
        "queue",
        "loss",
        "schedule",
        "trace",
        "reverse",
        "access",
        "links",
        "from",
        "to",
        "hops",
        "hosts",
        "devices",
        "servers",
        "scheme",
        "source",
        "start",
        "stop",
        "route",
        "return_route",
        "count",
        "transport",
        "receiver",
        "bin",
        "packets",
        "at",
        "file",
        "probability",
        "size",
        "ecn",
        "junk",
    ])
    .prop_map(str::to_owned)
}

/// Every path to a value within a value.
fn paths(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| paths(value, &format!("{at}/{key}"), found));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| paths(value, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

fn good() -> Value {
    let flows = json!([
        { "name": "a", "count": 3, "scheme": "sack", "start": { "from": "0 s", "to": "1 s" } },
        { "name": "b", "scheme": { "name": "cubic", "beta": 0.7 }, "from": "a", "to": "c", "route": ["b"], "stop": "2 s" },
    ]);
    let link = |from: &str, to: &str| {
        json!({
            "from": from, "to": to, "rate": "10 Mbit/s", "delay": "5 ms", "buffer": "1 BDP",
            "queue": { "name": "red", "min": "5 packets" },
            "loss": { "name": "independent", "probability": 0.1 },
            "schedule": [{ "at": "1 s", "rate": "5 Mbit/s" }],
            "reverse": { "delay": "9 ms" },
        })
    };
    let mut scenario = json!({
        "duration": "3 s", "warm_up": "1 s", "seed": 3,
        "topology": { "template": "graph", "links": [link("a", "b"), link("b", "c")] },
        "flows": flows,
        "record": { "bin": "10 ms", "links": ["a->b"] },
    });
    scenario["flows"][0]["from"] = "a".into();
    scenario["flows"][0]["to"] = "c".into();
    scenario
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn noise_is_refused_with_words(value in noise()) {
        let problems = Scenario::from_value(&value, "".as_ref()).expect_err("noise is no scenario");
        prop_assert!(!problems.errors.is_empty());
        prop_assert!(!problems.to_string().is_empty());
    }

    #[test]
    fn one_broken_place_never_panics(choice in any::<prop::sample::Index>(), junk in noise()) {
        let mut value = good();
        let mut places = Vec::new();
        paths(&value, "", &mut places);
        let place = choice.get(&places).clone();
        *value.pointer_mut(&place).expect("a path of this value") = junk;
        match Scenario::from_value(&value, "".as_ref()) {
            Err(problems) => prop_assert!(!problems.errors.is_empty()),
            Ok(scenario) => {
                let again = Scenario::from_json(&scenario.to_json()).expect("what was accepted is accepted again");
                prop_assert_eq!(&again, &scenario);
                let again = Scenario::from_toml(&scenario.to_toml()).expect("what was accepted is accepted again");
                prop_assert_eq!(again.hash(), scenario.hash());
            }
        }
    }

    #[test]
    fn numbers_are_read_as_they_were_written(probability in 0.0..1.0_f64, by in -40_i32..0) {
        let probability = probability * 10_f64.powi(by);
        let mut value = good();
        *value.pointer_mut("/topology/links/0/loss/probability").expect("a path of this value") = json!(probability);
        let scenario = Scenario::from_value(&value, "".as_ref()).unwrap_or_else(|problems| panic!("{problems}"));
        prop_assert_eq!(&Scenario::from_json(&value.to_string()), &Ok(scenario.clone()));
        prop_assert_eq!(&Scenario::from_json(&scenario.to_json()), &Ok(scenario));
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,60}") {
        let _ = Scenario::from_toml(&text);
        let _ = Scenario::from_json(&text);
        let _ = parse_toml(&format!("seed = {text}\n"));
    }

    #[test]
    fn removing_any_field_never_panics(choice in any::<prop::sample::Index>()) {
        let mut value = good();
        let mut places = Vec::new();
        paths(&value, "", &mut places);
        let place = choice.get(&places).clone();
        if let Some((parent, key)) = place.rsplit_once('/') {
            match value.pointer_mut(parent).expect("a parent") {
                Value::Object(map) => drop(map.remove(key)),
                Value::Array(list) => drop(list.remove(key.parse::<usize>().expect("an index"))),
                _ => {}
            }
        }
        let _ = Scenario::from_value(&value, "".as_ref());
    }
}

/// One place too many was found by chance in such a number.
#[test]
fn a_number_of_seventeen_digits_is_read_to_the_last_bit() {
    let mut value = good();
    value["topology"]["links"][0]["loss"]["probability"] = json!(6.030_961_724_994_43e-35);
    let scenario = Scenario::from_value(&value, "".as_ref()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(Scenario::from_json(&scenario.to_json()), Ok(scenario));
}

#[test]
fn the_good_scenario_is_good_and_runs() {
    let scenario = Scenario::from_value(&good(), "".as_ref()).unwrap_or_else(|problems| panic!("{problems}"));
    let outcome =
        Run::new(scenario, Some(9)).and_then(Run::finish).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(outcome.scenario.seed, 9);
    assert_eq!(outcome.times.len(), 300);
}

#[test]
fn the_schema_and_the_structs_agree_on_defaults() {
    // What the walk accepts as the minimum, serde completes; and the completed form passes the walk again.
    let minimal = json!({
        "duration": "1 s", "topology": { "template": "star" }, "flows": [{ "name": "a", "scheme": "reno" }],
    });
    let scenario =
        Scenario::from_value(&minimal, "".as_ref()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(Scenario::from_value(&scenario.to_value(), "".as_ref()), Ok(scenario));
    assert_eq!(schema()["title"], "Scenario");
}
