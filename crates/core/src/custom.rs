//! Custom parts by name: the settings that a scenario gives them, and the register in which they are found.
//! What a part is, and what makes one, is said by the crates that use them (`control`, `qdisc`).

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value that a scenario hands to a custom part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Setting {
    /// True or false.
    Truth(bool),
    /// A number, in a unit that the part's documentation says.
    Number(f64),
    /// Text, for example a quantity with its unit.
    Text(String),
}

/// Settings by name.
pub type Settings = BTreeMap<String, Setting>;

/// Parts by name, for a whole process: scenarios name parts, so whoever runs them must have registered these before.
#[derive(Debug)]
pub struct Register<T>(RwLock<BTreeMap<String, Arc<T>>>);

impl<T> Register<T> {
    /// An empty register.
    pub const fn new() -> Self {
        Self(RwLock::new(BTreeMap::new()))
    }

    /// Enters a part, in place of an older one of that name.
    pub fn enter(&self, name: impl Into<String>, part: T) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), Arc::new(part));
    }

    /// The part of this name.
    pub fn find(&self, name: &str) -> Option<Arc<T>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).map(Arc::clone)
    }

    /// Whether no part was entered.
    pub fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// What is allowed where a part is named, for complaints.
    pub fn allowed(&self) -> String {
        let names = self.names();
        if names.is_empty() {
            "the name of a registered part; none is registered in this process".to_owned()
        } else {
            format!("the name of a registered part: {}", names.join(", "))
        }
    }
}

impl<T> Default for Register<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_name_and_replaced() {
        let register = Register::new();
        assert!(register.find("a").is_none());
        register.enter("a", 1);
        register.enter("a", 2);
        assert_eq!(register.find("a").as_deref(), Some(&2));
        assert_eq!(register.allowed(), "the name of a registered part: a");
    }
}
