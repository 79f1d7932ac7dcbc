//! Whose a flow's name is: its group is looked up, be there ever so many. How members are called is said in `flow`.

use std::collections::BTreeMap;

use crate::flow::FlowConfig;

/// Groups of flows by name.
pub(crate) struct Members<'a>(BTreeMap<&'a str, &'a FlowConfig>);

impl<'a> Members<'a> {
    /// Those of groups of which no two have the same name.
    pub(crate) fn new(groups: &'a [FlowConfig]) -> Self {
        Self(groups.iter().map(|group| (group.name.as_str(), group)).collect())
    }

    /// The names of all groups, in order.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &'a str> {
        self.0.keys().copied()
    }

    /// Whether a group or a flow has this name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name) || self.of_several(name).is_some()
    }

    /// The group of several flows of which one has this name.
    pub(crate) fn of_several(&self, name: &str) -> Option<&'a FlowConfig> {
        let (group, _) = name.rsplit_once('-')?;
        self.0.get(group).copied().filter(|group| group.count > 1 && group.has_member(name))
    }
}
