//! What it costs to check a scenario and to lay it out: as much for each flow among thousands as among a hundred. It is counted in
//! names and routes that are looked at, not in time.

use serde_json::{Value, json};
use tailback_scenario::Scenario;
use tailback_scenario::looks::looks;

const LINK: &str = "10 Mbit/s";

/// Looks for each of so many flows, at 100, 1000 and 3000 of them.
fn looks_per_flow(scenario: fn(u64) -> Value) -> [u64; 3] {
    [100, 1000, 3000].map(|flows| {
        let text = scenario(flows).to_string();
        looks(|| drop(Scenario::from_json(&text).expect("a sound scenario"))) / flows
    })
}

fn dumbbell(flows: &Value, record: &Value) -> Value {
    let topology = json!({"template": "dumbbell", "rate": LINK});
    json!({"duration": "1 s", "topology": topology, "flows": flows, "record": record})
}

/// Groups without names, every fifth of two flows.
fn nameless(flows: u64) -> Value {
    let group = |number| json!({"scheme": "sack", "count": if number % 5 == 0 { 2 } else { 1 }});
    dumbbell(&(0..flows).map(group).collect(), &json!({}))
}

/// The same with names, all of which are recorded.
fn named(flows: u64) -> Value {
    let group = |number| json!({"name": format!("flow {number}"), "scheme": "sack", "count": 1 + number % 2});
    let names: Value = (0..flows).map(|number| format!("flow {number}")).collect();
    dumbbell(&(0..flows).map(group).collect(), &json!({"flows": names}))
}

/// One group, of which all members and all links to receivers are recorded by name.
fn members(flows: u64) -> Value {
    let all = |before: &str| -> Value { (0..flows).map(|number| format!("{before}{number}")).collect() };
    let record = json!({"flows": all("flow-"), "links": all("r1->d")});
    dumbbell(&json!([{"name": "flow", "scheme": "sack", "count": flows}]), &record)
}

/// An aggregate for every ten flows, from edges of its own.
fn aggregates(flows: u64) -> Value {
    let edges = || 0..flows / 10;
    let between = |from: String, to: String| json!({"from": from, "to": to, "rate": LINK});
    let links = edges().flat_map(|edge| {
        let ends = [("s", "e"), ("x", "d")].map(|(a, b)| (format!("{a}{edge}"), format!("{b}{edge}")));
        let edges = [(format!("e{edge}"), "a".to_owned()), ("b".to_owned(), format!("x{edge}"))];
        ends.into_iter().chain(edges).map(|(from, to)| between(from, to)).collect::<Vec<_>>()
    });
    let links: Value = links.chain([between("a".to_owned(), "b".to_owned())]).collect();
    let group = |edge| {
        let (name, from, to) = (format!("group {edge}"), format!("s{edge}"), format!("d{edge}"));
        json!({"name": name, "scheme": "sack", "count": 10, "from": from, "to": to})
    };
    let aggregate = |edge| {
        let (name, from, to) = (format!("edge {edge}"), format!("e{edge}"), format!("x{edge}"));
        json!({"name": name, "scheme": "fixed-rate", "from": from, "to": to})
    };
    let groups: Value = edges().map(group).collect();
    let aggregates: Value = edges().map(aggregate).collect();
    let topology = json!({"template": "graph", "links": links});
    json!({"duration": "1 s", "topology": topology, "flows": groups, "aggregates": aggregates})
}

/// As many for each flow, however many there are.
fn expect_few(scenario: fn(u64) -> Value) {
    let looks = looks_per_flow(scenario);
    assert!(looks.iter().all(|looks| *looks <= 8), "{looks:?}");
}

#[test]
fn a_group_without_a_name_is_named_with_as_many_looks_among_thousands() {
    expect_few(nameless);
}

#[test]
fn members_are_told_from_groups_with_as_many_looks_among_thousands() {
    expect_few(named);
}

#[test]
fn names_in_a_long_list_are_found_with_as_many_looks_as_in_a_short_one() {
    expect_few(members);
}

#[test]
fn an_aggregate_looks_at_its_own_flows_among_thousands() {
    expect_few(aggregates);
}

/// Each complaint looks for the nearest of all names.
#[test]
fn a_slip_of_a_large_group_is_looked_into_a_few_times() {
    let slip = |flows: u64| {
        let text = dumbbell(&json!([{"scheme": "sack", "count": flows, "to": "d"}]), &json!({})).to_string();
        let mut told = String::new();
        let looks = looks(|| told = Scenario::from_json(&text).expect_err("no such node").to_string());
        assert!(told.contains("flows[0].to"), "{told}");
        looks / flows
    };
    assert!([100, 1000, 3000].map(slip).iter().all(|looks| *looks <= 300));
}
