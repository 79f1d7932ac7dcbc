//! What the sender of a file tells the receiver of its flow, and the scenario that the receiver makes of it. Moving bytes is
//! `net`'s, the endpoints are `endpoints.rs`'s.
//!
//! A peer may name its scheme and the fields of both endpoints, and nothing else: not what is recorded, which network is laid
//! out, or which files are opened here.

use serde_json::{Map, Value, json};

use crate::problems::Problems;
use crate::scenario::Scenario;

/// What a peer may say of its flow.
const FIELDS: [&str; 4] = ["scheme", "reliable", "transport", "receiver"];

/// What the receiver must know of the one flow of this scenario, as JSON.
pub fn flow_of(scenario: &Scenario) -> String {
    let lean = crate::lean::lean(&scenario.to_value());
    let flow = lean["flows"][0].as_object().into_iter().flatten();
    let told: Map<String, Value> = flow
        .filter(|(field, _)| FIELDS.contains(&field.as_str()))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    Value::from(told).to_string()
}

/// The receiver's scenario of a file of this name that comes in a flow of which the sender tells this.
///
/// # Errors
/// Whatever else the sender tells, and whatever in it makes no flow.
pub fn scenario_of(name: &str, told: &str) -> Result<Scenario, Problems> {
    let wrong = |value: String| Problems::one("the offered flow", value, format!("JSON with {}", listed()));
    let told: Map<String, Value> = serde_json::from_str(told).map_err(|error| wrong(error.to_string()))?;
    if let Some(field) = told.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(wrong(format!("the field {field:?}")));
    }
    let mut flow = told;
    flow.extend(
        [("name", "transfer"), ("from", "sender"), ("to", "receiver")]
            .map(|(field, value)| (field.to_owned(), value.into())),
    );
    let link =
        json!({"from": "sender", "to": "receiver", "rate": "1 Gbit/s", "delay": "10 ms", "buffer": "1 BDP"});
    let scenario = json!({
        "name": format!("transfer of {name}"),
        // For as long as it takes.
        "duration": "1 h",
        // Nothing is known of the network between: one link stands for it.
        "topology": {"template": "graph", "links": [link]},
        "flows": [flow],
        "record": {"links": "none"},
    });
    Scenario::from_json(&scenario.to_string())
}

fn listed() -> String {
    FIELDS.map(|field| format!("`{field}`")).join(", ")
}
