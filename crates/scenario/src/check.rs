//! The second and third pass of validation: each value's own range, and what the values mean together. Types, units and
//! names were seen to by `walk`.

use std::collections::{BTreeMap, BTreeSet};

use tailback_core::{Checker, Controller, FieldError, Span};

use crate::flow::FlowConfig;
use crate::link::LinkConfig;
use crate::looks::look;
use crate::members::Members;
use crate::parts::SchemeConfig;
use crate::record::Which;
use crate::scenario::Scenario;
use crate::topology::{GoOn, Network};

/// The longest run taken seriously.
const LONGEST: Span = Span::from_secs(365 * 24 * 3600);
/// The most flows of a scenario.
const MOST_FLOWS: usize = 1_000_000;

/// Complains about every value that is wrong by itself or beside its neighbours.
pub(crate) fn values(scenario: &Scenario, checker: &mut Checker) {
    let Scenario { duration, warm_up, seed, .. } = scenario;
    let sensible = !duration.is_zero() && *duration <= LONGEST;
    checker.require(sensible, "duration", duration, "a time longer than zero, at most a year (8760 h)");
    checker.require(
        warm_up < duration || duration.is_zero(),
        "warm_up",
        warm_up,
        format_args!("a time shorter than `duration` ({duration})"),
    );
    checker.require(
        i64::try_from(*seed).is_ok(),
        "seed",
        seed,
        format_args!("a whole number up to {}", i64::MAX),
    );
    checker.within("topology", |checker| scenario.topology.check(checker));
    flows(scenario, checker);
    aggregates(scenario, checker);
    if sensible {
        checker.within("record", |checker| scenario.record.check(*duration, checker));
    }
}

fn flows(scenario: &Scenario, checker: &mut Checker) {
    checker.require(!scenario.flows.is_empty(), "flows", "an empty list", "at least one group of flows");
    let count = scenario.flow_count();
    checker.require(
        count <= MOST_FLOWS,
        "flows",
        format_args!("{count} flows"),
        "at most 1000000 flows in all groups",
    );
    let mut names = BTreeSet::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        checker.within(format!("flows.[{index}]"), |checker| {
            flow.check(checker);
            let name = format_args!("{:?}", flow.name);
            checker.require(names.insert(&flow.name), "name", name, "a name that no other group has");
            let (start, duration) = (flow.start.latest(), scenario.duration);
            let ok = start < duration || duration.is_zero();
            checker.require(
                ok,
                "start",
                start,
                format_args!("a time before the end of the run ({duration})"),
            );
        });
    }
}

fn aggregates(scenario: &Scenario, checker: &mut Checker) {
    let members = Members::new(&scenario.flows);
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (index, aggregate) in scenario.aggregates.iter().enumerate() {
        checker.within(format!("aggregates.[{index}]"), |checker| {
            aggregate.check(checker);
            let name = aggregate.name.as_str();
            let is_new = names.insert(name) && !members.knows(name);
            let allowed = "a name that no flow, group or other aggregate has";
            checker.require(is_new, "name", format_args!("{name:?}"), allowed);
        });
    }
}

/// The network of a scenario, and complaints about what does not fit together: nodes, routes, marks, names in `record`;
/// nothing where it was stopped.
pub(crate) fn meaning(scenario: &Scenario, go_on: GoOn<'_>) -> Option<(Network, Vec<FieldError>)> {
    let (network, mut errors) = Network::new_while(scenario, go_on)?;
    let mut checker = Checker::new();
    if errors.is_empty() {
        marks(scenario, &network, &mut checker);
        guaranteed_rates(scenario, &network, &mut checker);
    }
    nothing_limits(scenario, &mut checker);
    member_names(scenario, &mut checker);
    checker.within("record", |checker| recorded(scenario, &network, checker));
    errors.extend(checker.finish().err().unwrap_or_default());
    Some((network, errors))
}

/// Marks help only where somebody listens: a marking queue that no ECN-capable flow crosses is a slip.
fn marks(scenario: &Scenario, network: &Network, checker: &mut Checker) {
    let mut listened: BTreeSet<&str> = BTreeSet::new();
    let listens: Vec<bool> = scenario.flows.iter().map(FlowConfig::is_ecn_capable).collect();
    for flow in &network.flows {
        if listens[flow.group] {
            listened.extend(flow.forward.iter().map(|&link| network.links[link].path().as_ref()));
        }
    }
    let mut seen = BTreeSet::new();
    for link in network.differing_links() {
        if listened.contains(link.path().as_ref()) || !seen.insert(link.path()) {
            continue;
        }
        for switch in link.config().queue.ecn_switches() {
            checker.require(
                false,
                &format!("{}.queue.{switch}", link.path()),
                "true",
                "false, or an ECN-capable flow over this link (`transport = { ecn = \"ect0\" }`)",
            );
        }
    }
}

/// A rate that the network guarantees is one that all links on the way have; what a scheme sends at more than that, before
/// it measures anything, would fill memory and not the network.
fn guaranteed_rates(scenario: &Scenario, network: &Network, checker: &mut Checker) {
    let rate_of = |link: usize| {
        let LinkConfig { rate, schedule, trace, .. } = network.links[link].config();
        let later = schedule.iter().filter_map(|step| step.rate).max();
        trace.is_none().then(|| later.map_or(*rate, |later| later.max(*rate)))
    };
    let mut groups = BTreeSet::new();
    let rates: Vec<_> = scenario.flows.iter().map(|flow| flow.scheme.guaranteed_rate()).collect();
    for flow in &network.flows {
        let Some((field, rate)) = rates[flow.group] else { continue };
        let slowest = flow.forward.iter().filter_map(|&link| rate_of(link)).min();
        if let Some(slowest) = slowest.filter(|slowest| rate > *slowest)
            && groups.insert(flow.group)
        {
            let allowed = format_args!("at most {slowest}, the rate of the slowest link on the way");
            checker.require(false, &format!("flows[{}].scheme.{field}", flow.group), rate, allowed);
        }
    }
}

/// Where neither a window nor a rate limits what is sent, the application must: one that always has more would send without
/// end at one instant. Custom schemes are asked when they run.
fn nothing_limits(scenario: &Scenario, checker: &mut Checker) {
    for (index, flow) in scenario.flows.iter().enumerate() {
        if !flow.is_greedy() || matches!(flow.scheme.0, SchemeConfig::Custom(_)) {
            continue;
        }
        let directive = flow.scheme.build(&flow.controller_params()).controller.directive();
        let limited = directive.window.is_some() || directive.rate.is_some() || !directive.gate.is_open();
        let allowed =
            format_args!("a source that ends or has a rate, since {:?} sets none", flow.scheme.name());
        checker.require(
            limited,
            &format!("flows[{index}].source"),
            format_args!("{:?}", flow.source.0.name()),
            allowed,
        );
    }
}

/// Members of one group must not be called like another group: `a` of two flows and a group `a-1`.
fn member_names(scenario: &Scenario, checker: &mut Checker) {
    let members = Members::new(&scenario.flows);
    let mut clashes: BTreeMap<&str, &str> = BTreeMap::new();
    for name in members.groups() {
        if let Some(group) = members.of_several(name) {
            clashes.entry(&group.name).or_insert(name);
        }
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        if let Some(clash) = clashes.get(flow.name.as_str()) {
            let allowed = format!("a name whose members are not called {clash:?}, as another group is");
            checker.require(false, &format!("flows[{index}].name"), format_args!("{:?}", flow.name), allowed);
        }
    }
}

fn recorded(scenario: &Scenario, network: &Network, checker: &mut Checker) {
    if let Which::Named(names) = &scenario.record.flows {
        let members = Members::new(&scenario.flows);
        let aggregates = || scenario.aggregates.iter().map(|aggregate| aggregate.name.as_str());
        let others: BTreeSet<&str> = aggregates().collect();
        let known = || scenario.flows.iter().map(|flow| flow.name.as_str()).chain(aggregates()).collect();
        let is_known = |name: &str| members.knows(name) || others.contains(name);
        all_known("flows", (names, "the name of a flow, group or aggregate"), is_known, known, checker);
    }
    if let Which::Named(names) = &scenario.record.links {
        let links: Vec<_> = network.links.iter().map(|link| network.link_name(link)).collect();
        let sorted: BTreeSet<&str> = links.iter().map(String::as_str).collect();
        let known = || links.iter().map(String::as_str).collect();
        let is_known = |name: &str| sorted.contains(name);
        all_known("links", (names, "the name of a link"), is_known, known, checker);
    }
}

/// Complains about each of these names that is not known, and only then looks for the nearest of all that are.
fn all_known<'a>(
    field: &str,
    (names, what): (&[String], &str),
    is_known: impl Fn(&str) -> bool,
    known: impl Fn() -> Vec<&'a str>,
    checker: &mut Checker,
) {
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !is_known(name)) {
        let allowed = format_args!("{what}: {}", some_of(&known(), name));
        checker.require(false, &format!("{field}[{index}]"), format_args!("{name:?}"), allowed);
    }
}

/// The nearest known name, then a few of all.
pub(crate) fn some_of(known: &[&str], name: &str) -> String {
    for _ in known {
        look();
    }
    let hint = tailback_core::check::nearest(name, known.iter().copied());
    let hint = hint.map(|hint| format!("{hint:?} (the nearest name); ")).unwrap_or_default();
    let shown: Vec<_> = known.iter().take(12).map(|name| format!("{name:?}")).collect();
    let more =
        if known.len() > shown.len() { format!(", … ({} in all)", known.len()) } else { String::new() };
    format!("{hint}{}{more}", shown.join(", "))
}
