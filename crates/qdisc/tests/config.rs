//! What the table of disciplines says of each: names, parameters and defaults.

use schemars::schema_for;
use tailback_core::Checker;
use tailback_qdisc::{ALL, Config, Registered, find};

#[test]
fn every_name_is_that_of_its_configuration() {
    for info in ALL {
        let written = format!("{{\"name\":\"{}\"}}", info.name);
        let config: Config = serde_json::from_str(&written).expect(info.name);
        assert_eq!(config, (info.default)());
        assert_eq!(config.name(), info.name);
    }
}

#[test]
fn every_default_passes_its_own_check() {
    for info in ALL {
        let mut checker = Checker::new();
        (info.default)().check(&mut checker);
        assert_eq!(checker.finish(), Ok(()), "{}", info.name);
    }
}

#[test]
fn configurations_survive_writing_and_reading() {
    for info in ALL {
        let config = (info.default)();
        // By way of a value, as other tests write: no second form is compiled.
        let written = serde_json::to_value(&config).unwrap().to_string();
        assert_eq!(serde_json::from_str::<Config>(&written).unwrap(), config, "{written}");
    }
}

#[test]
fn the_schema_describes_every_parameter() {
    let schema = serde_json::to_value(schema_for!(Config)).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    assert_eq!(variants.len(), ALL.len() + 1, "and custom ones");
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let Some(properties) = definition["properties"].as_object() else { continue };
        for (field, property) in properties {
            assert!(property["description"].is_string(), "{name}.{field} is not described");
        }
    }
}

#[test]
fn the_state_that_is_told_has_names_of_its_own() {
    for info in ALL {
        let mut names = info.state();
        let told = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), told, "{} tells two values by one name", info.name);
        let managed = info.family == "active" || info.family == "shaper";
        assert!(!managed || told > 0, "{} keeps its state to itself", info.name);
    }
    assert_eq!(find("tdqm").map(Registered::state).unwrap_or_default(), ["rho", "eta"]);
}

#[test]
fn unknown_parameters_are_refused() {
    let read = |text: &str| serde_json::from_str::<Config>(text);
    assert!(read(r#"{"name":"red","min":"5 packets"}"#).is_ok());
    let message = read(r#"{"name":"red","minimum":"5 packets"}"#).unwrap_err().to_string();
    assert!(message.contains("minimum"), "{message}");
}
