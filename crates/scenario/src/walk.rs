//! The first pass over a scenario: a generic walk along the JSON Schema that collects every unknown field, missing field,
//! wrong type, bad unit and unknown name, and hands back what is left. What values mean together is not judged here.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use tailback_core::check::{brief, nearest};
use tailback_core::{BitRate, Bytes, Capacity, DataAmount, FieldError, Span};

use crate::custom_names::{CUSTOM, Kind, setting_of};
use crate::schema_node::{Node, Tags, describe, describe_all, quoted, shown};
use crate::unit_hint::{meant, percentage};
use crate::wrong_table::{Table, belongs};

/// What a walk found.
pub(crate) struct Walked {
    /// The value without what was wrong; `None` where nothing is left.
    pub(crate) value: Option<Value>,
    /// Every complaint.
    pub(crate) errors: Vec<FieldError>,
    /// The paths of the fields that were taken out.
    pub(crate) removed: BTreeSet<String>,
}

/// Walks `value` along the schema.
pub(crate) fn walk(value: &Value) -> Walked {
    let mut walker = Walker::default();
    let value = walker.value("", value, Node::root());
    Walked { value, errors: walker.errors, removed: walker.removed }
}

#[derive(Default)]
struct Walker<'a> {
    errors: Vec<FieldError>,
    removed: BTreeSet<String>,
    /// The tables around the place that is looked at, the outermost first.
    around: Vec<Table<'a>>,
}

impl<'a> Walker<'a> {
    fn complain(&mut self, path: &str, value: impl Into<String>, allowed: impl Into<String>) {
        let field = if path.is_empty() { "scenario" } else { path };
        self.errors.push(FieldError {
            field: field.to_owned(),
            value: brief(&value.into()),
            allowed: allowed.into(),
        });
        self.removed.insert(path.to_owned());
    }

    fn value(&mut self, path: &str, value: &'a Value, node: Node) -> Option<Value> {
        if let Some(alternatives) = node.alternatives() {
            return self.choose(path, value, node, alternatives);
        }
        if let Some(allowed) = node.constants() {
            return self.constant(path, value, allowed);
        }
        if !node.accepts_type_of(value) {
            self.complain(path, shown(value), described(node, value));
            return None;
        }
        match value {
            Value::Object(map) => Some(self.object(path, map, node)),
            Value::Array(list) => self.list(path, list, node),
            Value::String(text) => self.text(path, text, node),
            Value::Number(number) => self.number(path, number, node),
            plain => Some(plain.clone()),
        }
    }

    fn object(&mut self, path: &str, map: &'a Map<String, Value>, node: Node) -> Value {
        let mut kept = Map::new();
        self.around.push(Table { node, map });
        for (key, value) in map {
            let path = join(path, key);
            match node.property(key) {
                Some(property) => {
                    kept.extend(self.value(&path, value, property).map(|value| (key.clone(), value)));
                }
                None => self.unknown(&path, key),
            }
        }
        self.around.pop();
        for key in node.required() {
            // A null stands for an absent field everywhere.
            if map.get(*key).is_none_or(Value::is_null)
                && let Some(property) = node.property(key)
                && !self.removed.contains(&join(path, key))
            {
                self.complain(&join(path, key), "", describe(property));
            }
        }
        Value::Object(kept)
    }

    fn unknown(&mut self, path: &str, key: &str) {
        let [.., table] = self.around[..] else { return };
        let names = table.node.property_names();
        let outer = self.around.iter().rev().nth(1);
        let near = || nearest(key, names.iter().copied()).map(|name| format!("`{name}` (the nearest name)"));
        let hint = belongs(path, key, &table, outer)
            .or_else(near)
            .or_else(|| setting_of(&table, key))
            .unwrap_or_else(|| "a known one".to_owned());
        let allowed = format!("{hint}; the fields here are {}", names.join(", "));
        self.complain(path, format!("the unknown field `{key}`"), allowed);
    }

    fn list(&mut self, path: &str, list: &'a [Value], node: Node) -> Option<Value> {
        let Some(item) = node.items() else { return Some(Value::Array(list.to_vec())) };
        let kept: Vec<_> = list
            .iter()
            .enumerate()
            .filter_map(|(index, value)| self.value(&format!("{path}[{index}]"), value, item))
            .collect();
        // A shorter list would give its later members other numbers than the user sees.
        (kept.len() == list.len()).then_some(Value::Array(kept))
    }

    fn text(&mut self, path: &str, text: &str, node: Node) -> Option<Value> {
        let error = |text: &str| match node.format() {
            Some("time") => text.parse::<Span>().err(),
            Some("rate") => text.parse::<BitRate>().err(),
            Some("bytes") => text.parse::<Bytes>().err(),
            Some("capacity") => text.parse::<Capacity>().err(),
            Some("data") => text.parse::<DataAmount>().err(),
            _ => None,
        };
        let Some(found) = error(text) else { return Some(Value::from(text)) };
        let allowed = match meant(text, |text| error(text).is_none()) {
            Some(meant) => format!("{} (did you mean {meant:?}?)", found.expected),
            None => found.expected.to_owned(),
        };
        self.complain(path, format!("{text:?}"), allowed);
        None
    }

    fn number(&mut self, path: &str, number: &serde_json::Number, node: Node) -> Option<Value> {
        let value = number.as_f64().unwrap_or(f64::NAN);
        let bound = |key| node.keyword(key).and_then(Value::as_f64);
        let ok = bound("minimum").is_none_or(|bound| value >= bound)
            && bound("maximum").is_none_or(|bound| value <= bound)
            && bound("exclusiveMinimum").is_none_or(|bound| value > bound)
            && bound("exclusiveMaximum").is_none_or(|bound| value < bound)
            && node.widest().is_none_or(|widest| value <= widest);
        if !ok {
            self.complain(path, number.to_string(), describe(node));
        }
        ok.then(|| Value::Number(number.clone()))
    }

    fn constant(&mut self, path: &str, value: &Value, allowed: &[&Value]) -> Option<Value> {
        if allowed.contains(&value) {
            return Some(value.clone());
        }
        let names: Vec<_> = allowed.iter().filter_map(|name| name.as_str()).collect();
        self.complain(path, shown(value), one_of(value, &names));
        None
    }

    fn choose(&mut self, path: &str, value: &'a Value, node: Node, alternatives: &[Node]) -> Option<Value> {
        if value.is_null() && alternatives.iter().any(|node| node.takes_null()) {
            return Some(Value::Null);
        }
        if (part_of_one(value).is_some() || is_no_number(value)) && takes_numbers(node) {
            // No name is like it, though the field may take names too.
            self.complain(path, shown(value), described(node, value));
            return None;
        }
        if let Some(names) = node.all_constants() {
            return self.constant(path, value, names);
        }
        if let Some(tags) = node.tags() {
            return self.tagged(path, value, node, tags);
        }
        if let (Some(name), Some((kind, tags))) = (value.as_str(), Kind::at(alternatives))
            && tags.table(name).is_none()
        {
            return self.custom_name(path, name, kind, tags);
        }
        let matching: Vec<_> = alternatives.iter().copied().filter(|node| could_be(value, *node)).collect();
        match matching[..] {
            [] => {
                self.complain(path, shown(value), describe(node));
                None
            }
            [only] => self.value(path, value, only),
            _ => self.best(path, value, &matching),
        }
    }

    /// Where several alternatives have the value's type: the one with the fewest complaints. A text that is none of them is told
    /// all of them.
    fn best(&mut self, path: &str, value: &'a Value, alternatives: &[Node]) -> Option<Value> {
        let best = alternatives
            .iter()
            .map(|node| {
                let mut attempt = Self { around: self.around.clone(), ..Self::default() };
                (*node, attempt.value(path, value, *node), attempt.errors, attempt.removed)
            })
            .min_by_key(|(.., errors, _)| errors.len());
        let (node, found, mut errors, removed) = best?;
        if value.is_string() && !errors.is_empty() {
            let (own, all) = (describe(node), describe_all(alternatives));
            for error in errors.iter_mut().filter(|error| error.field == path) {
                if let Some(hint) = error.allowed.strip_prefix(&own) {
                    error.allowed = format!("{all}{hint}");
                }
            }
        }
        self.errors.extend(errors);
        self.removed.extend(removed);
        found
    }

    /// A table whose tag says which alternative it is.
    fn tagged(&mut self, path: &str, value: &'a Value, node: Node, tags: &Tags) -> Option<Value> {
        let Value::Object(map) = value else {
            self.complain(
                path,
                shown(value),
                format!("a table with `{}` {}", tags.field, quoted(&tags.names)),
            );
            return None;
        };
        let given = map.get(tags.field).unwrap_or(&Value::Null);
        if let Some(node) = given.as_str().and_then(|name| tags.table(name)) {
            return Some(self.object(path, map, node));
        }
        let kind = Kind::of(node);
        let allowed = match (kind, given.as_str(), tags.table(CUSTOM)) {
            (Some(kind), Some(name), Some(table)) if kind.has(name) => {
                return Some(self.custom_table(path, map, name, table));
            }
            (Some(kind), Some(name), _) => kind.allowed(name, &tags.names),
            _ => one_of(given, &tags.names),
        };
        let found = if given.is_null() { String::new() } else { shown(given) };
        self.complain(&join(path, tags.field), found, allowed);
        self.removed.insert(path.to_owned());
        None
    }

    /// The bare name of a custom part.
    fn custom_name(&mut self, path: &str, name: &str, kind: Kind, tags: &Tags) -> Option<Value> {
        if kind.has(name) {
            return Some(json!({ "name": CUSTOM, "part": name }));
        }
        self.complain(path, format!("{name:?}"), kind.allowed(name, &tags.names));
        None
    }

    /// A table that names a custom part as others name a scheme: all its other fields are settings.
    fn custom_table(&mut self, path: &str, map: &'a Map<String, Value>, name: &str, table: Node) -> Value {
        let mut settings = Map::new();
        for (key, value) in map.iter().filter(|(key, _)| *key != "name") {
            let setting = table.property("settings").and_then(|settings| settings.property(key));
            let read = setting.and_then(|setting| self.value(&join(path, key), value, setting));
            settings.extend(read.map(|value| (key.clone(), value)));
        }
        json!({ "name": CUSTOM, "part": name, "settings": settings })
    }
}

/// What is allowed at a place, with the number that is meant where somebody wrote a percentage.
fn described(node: Node, value: &Value) -> String {
    match part_of_one(value).filter(|_| takes_numbers(node)) {
        Some(meant) => {
            format!("{} (did you mean {meant}? Percentages are written as parts of one)", describe(node))
        }
        None => describe(node),
    }
}

/// Numbers that JSON does not have are texts, as Python writes them.
fn is_no_number(value: &Value) -> bool {
    value.as_str().is_some_and(|text| ["nan", "inf", "-inf"].iter().any(|one| text.eq_ignore_ascii_case(one)))
}

fn part_of_one(value: &Value) -> Option<f64> {
    value.as_str().and_then(percentage)
}

/// Whether numbers with a fraction may stand here, and no text but names and quantities.
fn takes_numbers(node: Node) -> bool {
    match node.alternatives() {
        Some(alternatives) => {
            alternatives.iter().any(|node| takes_numbers(*node))
                && !alternatives.iter().any(|node| takes_text(*node))
        }
        None => node.accepts_type_of(&json!(0.5)) && !takes_text(node),
    }
}

fn takes_text(node: Node) -> bool {
    let any = node.constants().is_none() && node.format().is_none();
    node.alternatives().is_none() && any && node.accepts_type_of(&json!(""))
}

fn could_be(value: &Value, node: Node) -> bool {
    match node.alternatives() {
        Some(alternatives) => alternatives.iter().any(|node| could_be(value, *node)),
        None => node.accepts_type_of(value),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn one_of(value: &Value, names: &[&str]) -> String {
    let hint = value.as_str().and_then(|text| nearest(text, names.iter().copied()));
    match hint {
        Some(hint) => format!("{hint:?} (the nearest name); {}", quoted(names)),
        None => quoted(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::schema;

    /// Every field of every table of the schema that takes numbers with a fraction, by its place.
    fn number_fields() -> Vec<(String, Node)> {
        let tables = schema()["$defs"].as_object().unwrap();
        let variants = |part: &'static Value| {
            let listed = part.get("oneOf").or_else(|| part.get("anyOf")).and_then(Value::as_array);
            listed.into_iter().flatten().chain([part])
        };
        let fields = tables.iter().flat_map(|(table, part)| variants(part).map(move |part| (table, part)));
        let fields = fields.filter_map(|(table, part)| Some((table, part.get("properties")?.as_object()?)));
        let nodes = fields.flat_map(|(table, part)| {
            part.iter().map(move |(field, part)| (format!("{table}.{field}"), Node::new(part)))
        });
        nodes.filter(|(_, node)| takes_numbers(*node)).collect()
    }

    #[test]
    fn a_percentage_is_refused_with_its_number_wherever_a_number_belongs() {
        let fields = number_fields();
        assert!(fields.len() > 100, "{}", fields.len());
        assert!(fields.iter().any(|(place, _)| place == "Dumbbell.loss"), "loss takes names too");
        let written = json!("2.5 %");
        for (place, node) in fields {
            let mut walker = Walker::default();
            assert_eq!(walker.value("field", &written, node), None, "{place}");
            let [error] = &walker.errors[..] else { panic!("{place}: {:?}", walker.errors) };
            assert!(error.allowed.contains("did you mean 0.025?"), "{place}: {error}");
            assert!(error.allowed.starts_with("a number"), "{place}: {error}");
        }
    }
}
