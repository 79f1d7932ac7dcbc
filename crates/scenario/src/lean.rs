//! A scenario without what goes without saying: fields at their defaults, and tables that are nothing but a name. It is
//! how scenarios are written for people; machines get them complete.

use serde_json::{Map, Value};

use crate::schema_node::Node;

/// `value`, which fits the schema, with nothing in it that its absence would not say too.
pub(crate) fn lean(value: &Value) -> Value {
    trim(value, Node::root())
}

fn trim(value: &Value, node: Node) -> Value {
    match value {
        Value::Object(map) => match table_of(map, node) {
            Some(table) => shorthand(trim_table(map, table), node),
            None => value.clone(),
        },
        Value::Array(list) => match list_of(node) {
            Some(item) => list.iter().map(|value| trim(value, item)).collect(),
            None => value.clone(),
        },
        plain => plain.clone(),
    }
}

fn trim_table(map: &Map<String, Value>, table: Node) -> Map<String, Value> {
    let required = table.required();
    let mut kept = Map::new();
    for (key, value) in map {
        let Some(property) = table.property(key) else { continue };
        let default = property.keyword("default");
        let is_default = default == Some(value) && !required.contains(&key.as_str());
        // Nothing is what absence says, unless that says something else.
        let is_nothing = value.is_null() && default.is_none_or(Value::is_null);
        if is_nothing || is_default {
            continue;
        }
        let trimmed = trim(value, property);
        // A table that is empty now says nothing, unless its being there does (an optional table of defaults).
        let is_empty = trimmed.as_object().is_some_and(Map::is_empty);
        let is_optional = property.keyword("default").is_none_or(Value::is_null);
        if !is_empty || is_optional {
            kept.insert(key.clone(), trimmed);
        }
    }
    kept
}

/// The alternative that a table is, by its tag or for lack of others.
fn table_of(map: &Map<String, Value>, node: Node) -> Option<Node> {
    let Some(alternatives) = node.alternatives() else {
        return (!node.property_names().is_empty()).then_some(node);
    };
    alternatives.iter().find_map(|alternative| {
        let table = table_of(map, *alternative)?;
        let fits =
            |name: &&str| table.tag_value(name).is_none_or(|tag| map.get(*name) == Some(&Value::from(tag)));
        table.property_names().iter().all(fits).then_some(table)
    })
}

fn list_of(node: Node) -> Option<Node> {
    match node.alternatives() {
        Some(alternatives) => alternatives.iter().find_map(|alternative| list_of(*alternative)),
        None => node.items(),
    }
}

/// The bare name of a table that is nothing else, where a name may stand.
fn shorthand(map: Map<String, Value>, node: Node) -> Value {
    let name = map.get("name").filter(|_| map.len() == 1).cloned();
    match name {
        Some(name) if allows_name(&name, node) => name,
        _ => Value::Object(map),
    }
}

fn allows_name(name: &Value, node: Node) -> bool {
    match node.alternatives() {
        Some(alternatives) => alternatives.iter().any(|alternative| allows_name(name, *alternative)),
        None => node.keyword("enum").and_then(Value::as_array).is_some_and(|names| names.contains(name)),
    }
}
