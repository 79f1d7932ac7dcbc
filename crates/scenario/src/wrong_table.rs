//! Where a field belongs that stands in the wrong table: in one beside it, in one within it, or around it. This is for the
//! complaint only; nothing is moved.

use crate::schema_node::Node;

/// More places than this say nothing.
const MOST: usize = 2;

/// Where the unknown field `key` at `path` belongs, whose table is `node`, in the table `outer`.
pub(crate) fn belongs(path: &str, key: &str, node: Node, outer: Option<Node>) -> Option<String> {
    let own = own_name(path, key);
    if let Some(within) = named(&tables_with(key, node, ""), key) {
        return Some(within);
    }
    let outer = outer?;
    if outer.property_names().contains(&key) {
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

/// The tables in `node`, but `own`, that have a field of this name; where it is none of a plain table, the choices of which
/// some member has it.
fn tables_with(key: &str, node: Node, own: &str) -> Vec<&'static str> {
    let those = |choices: bool| -> Vec<_> {
        let others = node.property_names().iter().copied().filter(|name| *name != own);
        others.filter(|name| node.property(name).is_some_and(|table| has(table, key, choices))).collect()
    };
    let plain = those(false);
    if plain.is_empty() { those(true) } else { plain }
}

fn has(node: Node, key: &str, choices: bool) -> bool {
    let alternatives = node.alternatives().filter(|_| choices || node.tags().is_none());
    node.property_names().contains(&key)
        || alternatives.is_some_and(|several| several.iter().any(|node| has(*node, key, choices)))
}
