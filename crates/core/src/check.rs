//! Complaints about configured values: every one names the field, the value and what is allowed, and all of them are
//! collected before anybody is told. What is allowed is said where a value is used.

use std::fmt::{self, Display};

use strsim::osa_distance;

/// One wrong value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where it stands, as in `flows[2].scheme.beta`.
    pub field: String,
    /// The value found; empty where it is missing.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_empty() {
            return write!(f, "{} is missing; expected {}", self.field, self.allowed);
        }
        write!(f, "{}: {} is not allowed; expected {}", self.field, self.value, self.allowed)
    }
}

impl std::error::Error for FieldError {}

/// How far back a complaint about the same value is looked for: the checks of one table follow each other.
const RECENT: usize = 8;

/// Collects complaints while walking through a configuration.
#[derive(Debug, Default)]
pub struct Checker {
    path: Vec<String>,
    errors: Vec<FieldError>,
}

impl Checker {
    /// A checker that stands at the root.
    pub fn new() -> Self {
        Self::default()
    }

    /// Complains about `field` unless `ok`, or unless something else was just found wrong with the same value: one
    /// reason is enough.
    pub fn require(&mut self, ok: bool, field: &str, value: impl Display, allowed: impl Display) {
        if !ok {
            let mut path = self.path.join(".");
            if !path.is_empty() && !field.is_empty() {
                path.push('.');
            }
            let field = (path + field).replace(".[", "[");
            let value = brief(&value.to_string());
            let mut recent = self.errors.iter().rev().take(RECENT);
            if !recent.any(|error| error.field == field && error.value == value) {
                self.errors.push(FieldError { field, value, allowed: allowed.to_string() });
            }
        }
    }

    /// Checks a nested table or list entry (`"queue"`, `"[3]"`) under its own path.
    pub fn within(&mut self, name: impl Into<String>, check: impl FnOnce(&mut Self)) {
        self.path.push(name.into());
        check(self);
        self.path.pop();
    }

    /// What was found.
    ///
    /// # Errors
    /// All complaints, where there are any.
    pub fn finish(self) -> Result<(), Vec<FieldError>> {
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }
}

/// A value as complaints show it: no number of hundreds of digits, no text of pages.
pub fn brief(value: &str) -> String {
    const LONGEST: usize = 100;
    let length = value.chars().count();
    match value.parse::<f64>() {
        Ok(number) if length > 20 => format!("{number:e}"),
        _ if length > LONGEST => {
            format!("{}… ({length} characters)", value.chars().take(LONGEST).collect::<String>())
        }
        _ => value.to_owned(),
    }
}

/// The candidate nearest to a misspelt name, if any is near: edit distance at most a third of its length, where capitals
/// count as small letters, and a swap of neighbours, the commonest slip of all, as one edit. Names of which nothing is alike
/// are not near, however short they are.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (osa_distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance * 3 <= candidate.len().max(3))
        .filter(|(distance, candidate)| *distance < name.chars().count().max(candidate.chars().count()))
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collects_all_complaints_with_their_paths() {
        let mut checker = Checker::new();
        checker.within("flows", |flows| {
            flows.within("[2]", |flow| {
                flow.require(false, "beta", 1.5, "a number from 0 to 1");
                flow.require(true, "c", 0.4, "anything");
                flow.require(false, "beta", 1.5, "less than twice c");
            });
        });
        let errors = checker.finish().unwrap_err();
        assert_eq!(errors[0].to_string(), "flows[2].beta: 1.5 is not allowed; expected a number from 0 to 1");
        assert_eq!(errors.len(), 1, "one reason is enough");
    }

    #[test]
    fn absurd_values_are_shown_in_brief() {
        let shown = |value: &dyn Display| {
            let mut checker = Checker::new();
            checker.require(false, "x", value, "less");
            checker.finish().unwrap_err().remove(0).value
        };
        assert_eq!(shown(&1e300), "1e300");
        assert_eq!(shown(&-1e-300), "-1e-300");
        assert_eq!(shown(&0.125), "0.125");
        assert_eq!(shown(&u64::MAX), "18446744073709551615");
        assert_eq!(shown(&"é".repeat(5000)), format!("{}… (5000 characters)", "é".repeat(100)));
    }

    #[test]
    fn suggests_near_names_only() {
        let known = ["reno", "newreno", "cubic"];
        assert_eq!(nearest("cubik", known), Some("cubic"));
        assert_eq!(nearest("codle", ["pie", "codel"]), Some("codel"));
        assert_eq!(nearest("CUBIC", known), Some("cubic"));
        assert_eq!(nearest("quic", known), None);
        assert_eq!(nearest("x", ["a", "b"]), None, "nothing is alike");
        assert_eq!(nearest("", ["a", "b"]), None, "a name that is missing");
        assert_eq!(nearest("r9", ["r0", "d0"]), Some("r0"));
    }
}
