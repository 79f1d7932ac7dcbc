//! What there is to choose from: schemes, queue disciplines and sources by name, with their parameters. Everything comes
//! from the schema and from the tables of `control` and `qdisc`, so that nothing is said twice.

use serde_json::{Value, json};
use tailback_control::SCHEMES;

use crate::schema::schema;
use crate::schema_node::{Node, describe};

/// Everything that can be named, as JSON: `schemes`, `queues`, `sources`, each with `name`, `summary`, `source` and
/// `parameters` (`name`, `default`, `type`, `summary`); schemes also with `reliability` and `expects`, queues with
/// `family` and `state` (the names of what `record.queue_state` records).
pub fn registry() -> Value {
    let mut schemes = choices("/$defs/FlowConfig/properties/scheme");
    for scheme in &mut schemes {
        if let Some(info) = SCHEMES.iter().find(|info| scheme["name"] == info.name) {
            scheme["summary"] = info.summary.into();
            scheme["source"] = info.source.into();
            scheme["expects"] = info.expects_discipline.into();
            scheme["reliability"] = serde_json::to_value(info.reliability).unwrap_or_default();
        }
    }
    let mut queues = choices("/$defs/AccessConfig/properties/queue");
    for queue in &mut queues {
        if let Some(info) = tailback_qdisc::ALL.iter().find(|info| queue["name"] == info.name) {
            queue["summary"] = info.summary.into();
            queue["source"] = info.source.into();
            queue["family"] = info.family.into();
            queue["state"] = info.state().into();
        }
    }
    json!({
        "schemes": schemes,
        "queues": queues,
        "sources": choices("/$defs/FlowConfig/properties/source"),
    })
}

/// The alternatives at a place where a table is told by its `name`.
fn choices(pointer: &str) -> Vec<Value> {
    let place = schema().pointer(pointer).map(Node::new);
    // A bare name or a table: the table is the alternative that has alternatives itself.
    let table = place.and_then(|place| place.alternatives()?.iter().find_map(|node| node.alternatives()));
    table.into_iter().flatten().filter_map(|variant| choice(*variant)).collect()
}

fn choice(variant: Node) -> Option<Value> {
    let name = variant.tag_value("name")?;
    let summary = variant.text("description").unwrap_or_default();
    let parameters: Vec<_> = variant
        .property_names()
        .iter()
        .filter(|parameter| **parameter != "name")
        .filter_map(|parameter| {
            let node = variant.property(parameter)?;
            Some(json!({
                "name": parameter,
                "default": node.keyword("default"),
                "type": describe(node),
                "summary": node.text("description").unwrap_or_default().replace('\n', " "),
            }))
        })
        .collect();
    Some(json!({
        "name": name,
        "summary": summary.replace('\n', " "),
        "source": published(summary),
        "parameters": parameters,
    }))
}

/// The reference in a summary: its first parenthesis with a number in it.
fn published(summary: &str) -> &str {
    let parentheses = summary.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    parentheses.into_iter().find(|text| text.contains(|c: char| c.is_ascii_digit())).unwrap_or_default()
}
