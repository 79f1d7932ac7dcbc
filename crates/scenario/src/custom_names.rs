//! Custom parts by the names under which they were registered: `scheme = "mine"` says the same as
//! `scheme = { name = "custom", part = "mine" }`, and `{ name = "mine", gain = 2 }` has a setting besides. And what is said
//! where a scheme or a queue has a name that nobody knows. The way along the schema is in `walk`.

use serde_json::Value;
use tailback_control::CUSTOM_SCHEMES;
use tailback_core::check::nearest;
use tailback_qdisc::CUSTOM_QUEUES;

use crate::schema_node::{Node, Tags, quoted};
use crate::wrong_table::Table;

/// The tag of tables that name a custom part.
pub(crate) const CUSTOM: &str = "custom";
/// Flows whose scheme begins so are the kernel's, in a laboratory.
pub(crate) const KERNEL: &str = "kernel-";

/// A kind of custom parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Scheme,
    Queue,
}

/// Where the unknown field `key` belongs if `table` names a custom part, which has settings by any name.
pub(crate) fn setting_of(table: &Table<'_>, key: &str) -> Option<String> {
    let is_custom = table.map.get("name").and_then(Value::as_str) == Some(CUSTOM);
    (is_custom && table.node.property_names().contains(&"settings"))
        .then(|| format!("`settings.{key}`, if it is a setting of the custom part"))
}

impl Kind {
    /// The kind whose tables are the alternatives at a place, if they are one's.
    pub(crate) fn of(choice: Node) -> Option<Self> {
        let kinds = [("Scheme", Self::Scheme), ("Config", Self::Queue)];
        kinds.into_iter().find_map(|(name, kind)| choice.is_definition(name).then_some(kind))
    }

    /// The kind that may stand at a place by its bare name, and the tables that may stand there.
    pub(crate) fn at(alternatives: &[Node]) -> Option<(Self, &'static Tags)> {
        alternatives.iter().find_map(|node| Some((Self::of(*node)?, node.tags()?)))
    }

    /// Whether a part of this name was registered.
    pub(crate) fn has(self, name: &str) -> bool {
        match self {
            Self::Scheme => CUSTOM_SCHEMES.find(name).is_some(),
            Self::Queue => CUSTOM_QUEUES.find(name).is_some(),
        }
    }

    fn registered(self) -> Vec<String> {
        match self {
            Self::Scheme => CUSTOM_SCHEMES.names(),
            Self::Queue => CUSTOM_QUEUES.names(),
        }
    }

    /// What is allowed in place of a name that nobody knows, beside those of the library.
    pub(crate) fn allowed(self, given: &str, own: &[&str]) -> String {
        let registered = self.registered();
        let custom = registered.iter().map(String::as_str).filter(|name| !own.contains(name));
        let names: Vec<&str> = own.iter().copied().chain(custom).collect();
        let listed = quoted(&names);
        if self == Self::Scheme && given.starts_with(KERNEL) {
            return format!(
                "{listed}. Schemes of the kernel are for files that `tailback lab` runs: \"{KERNEL}reno\", \"{KERNEL}cubic\", and \
                 what else /proc/sys/net/ipv4/tcp_available_congestion_control lists, after \"{KERNEL}\""
            );
        }
        if let Some(near) = nearest(given, names.iter().copied()) {
            return format!("{near:?} (the nearest name); {listed}");
        }
        if registered.is_empty() {
            let what = if self == Self::Scheme { "scheme" } else { "queue" };
            return format!(
                "{listed}. A {what} of your own has its name once its file is loaded: --custom FILE.py"
            );
        }
        listed
    }
}
