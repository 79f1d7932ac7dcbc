//! From TOML and JSON to a checked [`Scenario`], and back. All problems are reported at once: the walk along the schema,
//! the values' own ranges, then what they mean together.

use std::path::Path;

use serde_json::Value;
use tailback_core::Checker;

use crate::check;
use crate::file;
use crate::group_names;
use crate::hash::{canonical, digest};
use crate::lean::lean;
use crate::problems::Problems;
use crate::replay;
use crate::scenario::Scenario;
use crate::topology::{GoOn, Network};
use crate::trace;
use crate::walk::{Walked, walk};

/// Loads a TOML file, or a JSON file where its name ends in `.json`. Traces are looked for beside it.
///
/// # Errors
/// Everything that is wrong with it, by field.
pub fn load(path: &Path) -> Result<Scenario, Problems> {
    load_while(path, &mut || true)
}

/// The same, as long as `go_on` says so.
///
/// # Errors
/// Everything that is wrong with it, by field; one complaint where it was stopped.
pub fn load_while(path: &Path, go_on: GoOn<'_>) -> Result<Scenario, Problems> {
    read(path, |value, base| Scenario::from_value_while(value, base, go_on).map(|(scenario, _)| scenario))
}

/// Reads a file of either kind and makes something of it, with the folder that it lies in; complaints name the file.
pub(crate) fn read<T>(
    path: &Path,
    make: impl FnOnce(&Value, &Path) -> Result<T, Problems>,
) -> Result<T, Problems> {
    let source = path.display().to_string();
    let outcome = file::read(path)
        .map_err(|problem| Problems::one("file", format!("{source} ({problem})"), "a readable scenario file"))
        .and_then(|text| {
            let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
            if is_json { parse_json(&text) } else { parse_toml(&text) }
        })
        .and_then(|value| make(&value, path.parent().unwrap_or(Path::new(""))));
    outcome.map_err(|problems| Problems { source, ..problems })
}

/// Reads TOML, whatever it says.
///
/// # Errors
/// A syntax error, with its line and column.
pub fn parse_toml(text: &str) -> Result<Value, Problems> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        syntax(text, at, &format!("valid TOML: {}", said(error.message())))
    })?;
    Ok(to_json(toml::Value::Table(table)))
}

/// What TOML's reader says, in words about TOML: it names its own types where a whole number is too large for it.
fn said(message: &str) -> &str {
    let is_too_large = ["i64", "u64", "i128", "u128", "overflow"].iter().any(|word| message.contains(word));
    if is_too_large {
        "whole numbers are from -9223372036854775808 to 9223372036854775807, greater ones have a point or an exponent (1e30)"
    } else {
        message
    }
}

/// Reads JSON, whatever it says.
///
/// # Errors
/// A syntax error, with its line and column.
pub fn parse_json(text: &str) -> Result<Value, Problems> {
    serde_json::from_str(text).map_err(|error| {
        let before = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len);
        let at = before.sum::<usize>() + error.column().saturating_sub(1);
        syntax(text, at, &format!("valid JSON: {error}"))
    })
}

fn syntax(text: &str, at: usize, allowed: &str) -> Problems {
    let at = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    let column = before[start..].chars().count() + 1;
    let found: String = text[start..].lines().next().unwrap_or_default().chars().take(80).collect();
    let value =
        if found.trim().is_empty() { "an empty line".to_owned() } else { format!("`{}`", found.trim()) };
    Problems::one(format!("line {line}, column {column}"), value, allowed.trim_end())
}

/// TOML in JSON's terms. Dates and numbers that are none become text, which the walk then refuses where they matter.
fn to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => serde_json::Number::from_f64(number)
            .map_or_else(|| Value::String(number.to_string()), Value::Number),
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(list) => list.into_iter().map(to_json).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, to_json(value))).collect(),
    }
}

/// JSON in TOML's terms; nulls, which TOML lacks, are left out.
fn from_json(value: &Value) -> Option<toml::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(truth) => toml::Value::Boolean(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => toml::Value::Integer(whole),
            None => toml::Value::Float(number.as_f64()?),
        },
        Value::String(text) => toml::Value::String(text.clone()),
        Value::Array(list) => toml::Value::Array(list.iter().filter_map(from_json).collect()),
        Value::Object(map) => toml::Value::Table(
            map.iter().filter_map(|(key, value)| Some((key.clone(), from_json(value)?))).collect(),
        ),
    })
}

impl Scenario {
    /// The scenario in some TOML text. Traces are looked for in the current directory.
    ///
    /// # Errors
    /// Everything that is wrong with it, by field.
    pub fn from_toml(text: &str) -> Result<Self, Problems> {
        Self::from_value(&parse_toml(text)?, Path::new(""))
    }

    /// The scenario in some JSON text. Traces are looked for in the current directory.
    ///
    /// # Errors
    /// Everything that is wrong with it, by field.
    pub fn from_json(text: &str) -> Result<Self, Problems> {
        Self::from_json_while(text, &mut || true)
    }

    /// The same, as long as `go_on` says so.
    ///
    /// # Errors
    /// Everything that is wrong with it, by field; one complaint where it was stopped.
    pub fn from_json_while(text: &str, go_on: GoOn<'_>) -> Result<Self, Problems> {
        Self::laid_out(text, go_on).map(|(scenario, _)| scenario)
    }

    /// The same with the network that it describes: the check lays it out, and a run need not do so again.
    ///
    /// # Errors
    /// Those of [`Scenario::from_json_while`].
    pub fn laid_out(text: &str, go_on: GoOn<'_>) -> Result<(Self, Network), Problems> {
        Self::from_value_while(&parse_json(text)?, Path::new(""), go_on)
    }

    /// The scenario that a parsed value describes; traces are looked for relative to `base`.
    ///
    /// # Errors
    /// Everything that is wrong with it, by field.
    pub fn from_value(value: &Value, base: &Path) -> Result<Self, Problems> {
        Self::from_value_while(value, base, &mut || true).map(|(scenario, _)| scenario)
    }

    fn from_value_while(value: &Value, base: &Path, go_on: GoOn<'_>) -> Result<(Self, Network), Problems> {
        let named = group_names::filled(value);
        let Walked { value, mut errors, removed } = walk(named.as_ref().unwrap_or(value));
        let fail = |errors| Err(Problems::new("scenario", errors));
        let mut scenario: Self = match serde_json::from_value(value.unwrap_or(Value::Null)) {
            Ok(scenario) => scenario,
            // The walk has said why; if it has not, the walk and the structs disagree, which a test would catch.
            Err(_) if !errors.is_empty() => return fail(errors),
            Err(error) => return Err(Problems::one("scenario", error.to_string(), "what the schema says")),
        };
        let clean = errors.is_empty();
        let mut checker = Checker::new();
        check::values(&scenario, &mut checker);
        if let Err(found) = checker.finish() {
            // A default stands in for what the walk took out; what its neighbours are to it says nothing.
            errors.extend(
                found.into_iter().filter(|error| !removed.iter().any(|path| is_beside(path, &error.field))),
            );
        }
        if !clean || !errors.is_empty() {
            return fail(errors);
        }
        // Before the network is laid out, whose links are driven by these traces; complaints come last all the same.
        let mut unread = trace::locate(&mut scenario, base);
        unread.extend(replay::inline(&mut scenario, base));
        let (network, mut errors) = check::meaning(&scenario, go_on).ok_or_else(Problems::stopped)?;
        errors.extend(unread);
        if errors.is_empty() { Ok((scenario, network)) } else { fail(errors) }
    }

    /// The scenario as a JSON value, complete with defaults.
    ///
    /// # Panics
    /// Never: every part of a scenario has a JSON form, which a test holds.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a scenario has a JSON form")
    }

    /// The scenario as canonical JSON: complete with defaults, keys sorted, no spaces.
    pub fn to_json(&self) -> String {
        canonical(&self.to_value())
    }

    /// The scenario as TOML for people: what is at its default is left out.
    ///
    /// # Panics
    /// Never: every part of a scenario has a TOML form, which a test holds.
    pub fn to_toml(&self) -> String {
        let table = from_json(&lean(&self.to_value())).expect("a scenario is a table");
        toml::to_string(&table).expect("a scenario has a TOML form")
    }

    /// A complete scenario as JSON, without what is at its default. Whether it makes sense is not looked at.
    ///
    /// # Errors
    /// Text that is no JSON.
    pub fn lean_json(text: &str) -> Result<String, Problems> {
        Ok(lean(&parse_json(text)?).to_string())
    }

    /// A 128-bit digest (FNV-1a) of the canonical JSON. A trace counts by its contents, not by where its file lies.
    pub fn hash(&self) -> String {
        let mut nameless = self.clone();
        for (_, trace) in trace::of(&mut nameless) {
            if trace.digest.is_some() {
                trace.file = String::new();
            }
        }
        digest(nameless.to_json().as_bytes())
    }
}

/// Whether two paths have the same parent, or the second is the first one's parent.
fn is_beside(a: &str, b: &str) -> bool {
    let parent = |path: &str| path.rsplit_once('.').map_or(String::new(), |(parent, _)| parent.to_owned());
    parent(a) == parent(b) || parent(a) == b
}
