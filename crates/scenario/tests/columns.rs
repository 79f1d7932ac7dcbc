//! The columns of all tables: each says what it is, under a name of its own, in one unit wherever it stands.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use tailback_core::DropReason;
use tailback_scenario::columns;

fn each(what: &str) -> Vec<(String, String, String)> {
    let text = |column: &Value, field: &str| column[field].as_str().unwrap().to_owned();
    let all = columns();
    let tables = all.as_object().unwrap().iter();
    let pairs = tables.flat_map(|(table, list)| {
        list.as_array().unwrap().iter().map(move |column| (table.clone(), column.clone()))
    });
    pairs.map(|(table, column)| (table, text(&column, "name"), text(&column, what))).collect()
}

#[test]
fn no_table_has_two_columns_of_one_name() {
    for what in ["name", "key"] {
        let all = each(what);
        let mut seen = HashSet::new();
        for (table, _, said) in all {
            assert!(seen.insert((table.clone(), said.clone())), "{table}: {said} twice");
        }
    }
}

#[test]
fn a_name_has_one_unit_and_one_label_in_every_table() {
    for what in ["unit", "label"] {
        let mut known: HashMap<String, String> = HashMap::new();
        for (table, name, said) in each(what) {
            let before = known.entry(name.clone()).or_insert_with(|| said.clone());
            assert_eq!(*before, said, "{what} of {name} in {table}");
        }
    }
}

/// A copy of the sources to which a column was added looks for that one.
const ONE_OF_A_FLOWS: &str = "sent_bytes";

#[test]
fn a_column_of_a_series_is_told() {
    let all = each("name");
    assert!(all.iter().any(|(table, name, _)| table == "flow_series" && name == ONE_OF_A_FLOWS));
}

#[test]
fn every_column_says_what_it_is() {
    for (table, name, about) in each("about") {
        assert!(about.ends_with('.') && about.contains(' '), "{table}.{name}: {about:?}");
    }
}

#[test]
fn every_reason_to_drop_has_its_column() {
    let all = columns();
    let links = all["links"].as_array().expect("a list");
    let keys: Vec<_> = links.iter().map(|column| column["key"].as_str().expect("a key")).collect();
    let at = keys.iter().position(|key| *key == "dropped_bytes").expect("a column") + 1;
    assert_eq!(keys[at..at + 2], ["dropped_overflow_packets", "dropped_early_packets"]);
    assert_eq!(keys[at..at + DropReason::ALL.len()], DropReason::COUNTED.map(|(key, _)| key));
}
