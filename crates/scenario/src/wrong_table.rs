//! Where a field belongs that stands in the wrong table: in one beside it, in one within it, or around it. This is for the
//! complaint only; nothing is moved.

use serde_json::{Map, Value};

use crate::schema_node::Node;

/// More places than this say nothing.
const MOST: usize = 2;

/// A table of a scenario.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    /// What may stand in it.
    pub(crate) node: Node,
    /// What stands in it.
    pub(crate) map: &'a Map<String, Value>,
}

/// Where the unknown field `key` at `path` belongs, which stands in `table`, which stands in `outer`.
pub(crate) fn belongs(path: &str, key: &str, table: &Table<'_>, outer: Option<&Table<'_>>) -> Option<String> {
    let own = own_name(path, key);
    if let Some(within) = named(&tables_with(key, table, ""), key) {
        return Some(within);
    }
    let outer = outer?;
    if outer.node.property_names().contains(&key) {
        return Some(format!("`{key}` beside `{own}`, not in it"));
    }
    named(&tables_with(key, outer, own), key)
}

fn named(tables: &[&str], key: &str) -> Option<String> {
    let listed: Vec<_> = tables.iter().map(|table| format!("in `{table}`")).collect();
    (1..=MOST).contains(&listed.len()).then(|| format!("`{key}` {}", listed.join(" or ")))
}

/// The name of the table that `path` leads through last: `transport` of `flows[0].transport.ecn_echo`.
fn own_name<'a>(path: &'a str, key: &str) -> &'a str {
    let table = path.strip_suffix(key).unwrap_or(path).trim_end_matches('.');
    let name = table.rsplit('.').next().unwrap_or(table);
    name.split('[').next().unwrap_or(name)
}

/// The tables in `table`, but `own`, that have a field of this name.
fn tables_with(key: &str, table: &Table<'_>, own: &str) -> Vec<&'static str> {
    let others = table.node.property_names().iter().copied().filter(|name| *name != own);
    let has_key =
        |name: &&str| table.node.property(name).is_some_and(|part| has(part, key, table.map.get(*name)));
    others.filter(has_key).collect()
}

/// Whether a table that may stand here has the field. Of a choice that is the one which was `given`, if there is one: a scheme
/// of another name is nobody's business.
fn has(node: Node, key: &str, given: Option<&Value>) -> bool {
    if let Some(tags) = node.tags() {
        let name = given.and_then(|given| given.get(tags.field).unwrap_or(given).as_str());
        return name.and_then(|name| tags.table(name)).is_some_and(|table| has(table, key, None));
    }
    node.property_names().contains(&key)
        || node.alternatives().is_some_and(|several| several.iter().any(|node| has(*node, key, given)))
}
