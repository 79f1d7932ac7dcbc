//! Flows that queues name in shares, classes and levels: each name's numbers, and complaints about those that no flow has and
//! about flows that two lists name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tailback_core::{Checker, FieldError};
use tailback_qdisc::NamedFlow;

use super::Network;
use crate::check::some_of;
use crate::flow::FlowConfig;
use crate::link::LinkConfig;
use crate::scenario::Scenario;

impl Network {
    /// Looks the flows up that queues name, and complains about those that there are not, and about those named twice.
    pub(super) fn find_named(&mut self, scenario: &Scenario) -> Vec<FieldError> {
        let lists = |config: &LinkConfig| -> Vec<_> {
            let lists = config.queue.flow_lists().into_iter();
            lists.map(|(list, flows)| (list, flows.to_vec())).collect()
        };
        // A reverse direction that says nothing of its queue has that of the forward one.
        let mut queues: BTreeMap<&str, Vec<(String, Vec<NamedFlow>)>> = BTreeMap::new();
        for link in self.differing_links() {
            let forward = link.path().strip_suffix(".reverse").unwrap_or(link.path());
            let found = lists(link.config());
            if queues.get(forward) != Some(&found) {
                queues.entry(link.path()).or_insert(found);
            }
        }
        let says_names = |flow: &NamedFlow| matches!(flow, NamedFlow::Name(_));
        let mut all = queues.values().flatten().flat_map(|(_, flows)| flows);
        // There may be a million names, and most queues say none.
        let names = if all.any(says_names) { self.names_of_flows(scenario) } else { BTreeMap::new() };
        let mut checker = Checker::new();
        for (path, lists) in &queues {
            checker.within(format!("{path}.queue"), |checker| {
                Lists { names: &names, count: self.flows.len(), groups: &scenario.flows }
                    .check(lists, checker);
            });
        }
        let said = queues.values().flatten().flat_map(|(_, flows)| flows);
        let said: BTreeSet<&str> = said.filter_map(NamedFlow::name).collect();
        self.named_by_queues = names.into_iter().filter(|(name, _)| said.contains(name.as_str())).collect();
        checker.finish().err().unwrap_or_default()
    }

    /// The numbers of each group's flows, and that of each flow.
    fn names_of_flows(&self, scenario: &Scenario) -> BTreeMap<String, Range<u32>> {
        let mut names = BTreeMap::new();
        let mut of_group: BTreeMap<usize, Range<u32>> = BTreeMap::new();
        for (number, flow) in (0..).zip(&self.flows) {
            names.insert(flow.name.clone(), number..number + 1);
            of_group.entry(flow.group).or_insert(number..number).end = number + 1;
        }
        let group = |(group, range): (usize, _)| (scenario.flows[group].name.clone(), range);
        names.extend(of_group.into_iter().map(group));
        names
    }
}

/// The lists of a queue, and what they are held against.
struct Lists<'a> {
    names: &'a BTreeMap<String, Range<u32>>,
    count: usize,
    groups: &'a [FlowConfig],
}

impl Lists<'_> {
    fn check(&self, lists: &[(String, Vec<NamedFlow>)], checker: &mut Checker) {
        // Lists that stand in one field share out the flows between them: `shares`, `classes`, `levels`.
        let mut taken: BTreeMap<&str, BTreeMap<u32, &str>> = BTreeMap::new();
        for (list, flows) in lists {
            let field = list.rsplit_once('[').map_or(list.as_str(), |(field, _)| field);
            let taken = taken.entry(field).or_default();
            for flow in flows {
                let Some(numbers) = self.numbers(flow) else {
                    // One of them tells as much as all.
                    checker.require(false, list, flow, self.allowed(flow));
                    break;
                };
                let twice = numbers.clone().find_map(|number| Some((number, *taken.get(&number)?)));
                if let Some((number, other)) = twice {
                    let allowed =
                        format!("flows that are named only once: {other} has flow {number} already");
                    checker.require(false, list, flow, allowed);
                    break;
                }
                taken.extend(numbers.map(|number| (number, list.as_str())));
            }
        }
    }

    /// The numbers of a flow, or of a group's flows.
    fn numbers(&self, flow: &NamedFlow) -> Option<Range<u32>> {
        match flow {
            NamedFlow::Number(number) => ((*number as usize) < self.count).then(|| *number..*number + 1),
            NamedFlow::Name(name) => self.names.get(name).cloned(),
        }
    }

    /// What may stand in place of what no flow is called.
    fn allowed(&self, flow: &NamedFlow) -> String {
        match flow {
            NamedFlow::Number(_) if self.count > 1 => {
                format!("the number of a flow in this scenario, 0 to {}", self.count - 1)
            }
            NamedFlow::Number(_) => "the number of a flow in this scenario, 0 alone".to_owned(),
            NamedFlow::Name(name) => {
                // Groups are told before their members, of which there may be very many.
                let mut known: Vec<_> = self.groups.iter().map(|group| group.name.as_str()).collect();
                let groups: BTreeSet<&str> = known.iter().copied().collect();
                known.extend(self.names.keys().map(String::as_str).filter(|name| !groups.contains(name)));
                format!("the name of a group or flow: {}", some_of(&known, name))
            }
        }
    }
}
