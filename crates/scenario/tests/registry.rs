//! What there is by name: every scheme, discipline and source is listed, with what it takes.

use tailback_control::SCHEMES;
use tailback_scenario::registry;

#[test]
fn lists_every_scheme_queue_and_source() {
    let registry = registry();
    let names = |kind: &str| -> Vec<String> {
        let list = registry[kind].as_array().expect("a list");
        list.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
    };
    let mut schemes = names("schemes");
    schemes.sort_unstable();
    let mut registered: Vec<_> = SCHEMES.iter().map(|info| info.name.to_owned()).collect();
    registered.push("custom".to_owned());
    registered.sort_unstable();
    assert_eq!(schemes, registered);
    assert!(names("queues").iter().any(|name| name == "red"), "{registry:#}");
    assert!(names("sources").iter().any(|name| name == "files"), "{registry:#}");
}

#[test]
fn describes_parameters() {
    let registry = registry();
    let queues = registry["queues"].as_array().expect("a list");
    let red = queues.iter().find(|queue| queue["name"] == "red").expect("RED");
    assert!(red["source"].as_str().expect("words").contains("Floyd and Jacobson"), "{red}");
    let parameters = red["parameters"].as_array().expect("a list");
    let min = parameters.iter().find(|parameter| parameter["name"] == "min").expect("the lower threshold");
    assert_eq!(min["default"], "5 packets");
    assert!(min["type"].as_str().expect("words").contains("packets or bytes"));
}
