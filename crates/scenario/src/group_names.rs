//! Names of groups of flows that a scenario leaves out: the scheme's, with a number where another group has it already. Which
//! names are allowed is said in `flow`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::looks::look;

/// The scenario with a name for every group of flows; the value itself where nothing lacks.
pub(crate) fn filled(value: &Value) -> Option<Value> {
    let is_nameless = |group: &Value| group.is_object() && group.get("name").is_none_or(Value::is_null);
    let groups = value.get("flows")?.as_array()?;
    if !groups.iter().any(is_nameless) {
        return None;
    }
    let named = |group: &Value| group.get("name").and_then(Value::as_str).map(str::to_owned);
    let mut used: BTreeSet<String> = groups.iter().filter_map(named).collect();
    let (mut filled, mut numbers) = (value.clone(), BTreeMap::new());
    for group in filled.get_mut("flows")?.as_array_mut()?.iter_mut().filter(|group| is_nameless(group)) {
        let own = scheme(group).unwrap_or("flows").to_owned();
        // What was taken stays taken, so that nobody counts from 2 for each of thousands of groups.
        let next = numbers.entry(own.clone()).or_insert(1_u64);
        let mut numbered = (*next..).map(|number| {
            let name = if number == 1 { own.clone() } else { format!("{own} {number}") };
            look();
            (number, name)
        });
        let (number, name) = numbered.find(|(_, name)| !used.contains(name))?;
        *next = number + 1;
        used.insert(name.clone());
        group["name"] = name.into();
    }
    Some(filled)
}

/// What a group's scheme is called, a custom one by its part.
fn scheme(group: &Value) -> Option<&str> {
    let scheme = group.get("scheme")?;
    let table = || scheme.get("part").or_else(|| scheme.get("name"))?.as_str();
    scheme.as_str().or_else(table).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn groups_without_names_are_called_like_their_schemes() {
        let part = json!({ "name": "custom", "part": "mine" });
        let flows = json!([
            { "scheme": "reno" }, { "scheme": { "name": "reno" } }, { "scheme": part }, { "name": "cubic", "scheme": "sack" },
            { "scheme": "cubic" }, {},
        ]);
        let filled = filled(&json!({ "flows": flows })).expect("names were missing");
        let groups = filled["flows"].as_array().expect("a list");
        let names: Vec<_> = groups.iter().map(|group| group["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["reno", "reno 2", "mine", "cubic", "cubic 2", "flows"]);
        assert_eq!(super::filled(&filled), None);
    }
}
