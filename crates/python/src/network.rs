//! A scenario's directed links and the flows' routes over them, for predictions that need no run. Routing is `scenario`'s.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailback_core::Span;
use tailback_scenario::Scenario;
use tailback_scenario::aggregate::AggregateConfig;
use tailback_scenario::flow::FlowConfig;
use tailback_scenario::topology::{NetworkLink, Role};

use crate::waiting::patiently;

/// Links by name with their rates, delays and disciplines; per flow its name, its group, the links that its data and its
/// acknowledgements pass, and how many receivers follow it; the same of aggregates, with the flows whose data they take in; and
/// per group its name, whether there is always something to send, when it stops, what each of its flows holds in queues at rest,
/// and its packets' sizes.
#[pyfunction]
#[pyo3(signature = (scenario, /))]
pub(crate) fn network<'py>(py: Python<'py>, scenario: &str) -> PyResult<Bound<'py, PyDict>> {
    let text = scenario.to_owned();
    let (scenario, network) = patiently(py, move |go_on| Scenario::laid_out(&text, go_on))?;
    let links = &network.links;
    let flows = &network.flows;
    let dict = PyDict::new(py);
    dict.set_item("links", links.iter().map(|link| network.link_name(link)).collect::<Vec<_>>())?;
    dict.set_item(
        "rate_bits",
        links.iter().map(|link| link.config().nominal_rate().bits_per_sec()).collect::<Vec<_>>(),
    )?;
    dict.set_item("delay_seconds", links.iter().map(|link| link.delay.as_secs_f64()).collect::<Vec<_>>())?;
    let queue = |link: &NetworkLink| serde_json::to_string(&link.config().queue).unwrap_or_default();
    dict.set_item("queues", links.iter().map(queue).collect::<Vec<_>>())?;
    dict.set_item("flows", flows.iter().map(|flow| &flow.name).collect::<Vec<_>>())?;
    dict.set_item("groups", flows.iter().map(|flow| flow.group).collect::<Vec<_>>())?;
    dict.set_item("routes", flows.iter().map(|flow| &flow.forward).collect::<Vec<_>>())?;
    dict.set_item("return_routes", flows.iter().map(|flow| &flow.reverse).collect::<Vec<_>>())?;
    dict.set_item("receivers", flows.iter().map(|flow| receivers(flow.role)).collect::<Vec<_>>())?;
    let said = &scenario.flows;
    let full = |group: &FlowConfig| group.packet_size().get();
    dict.set_item("packet_bytes", said.iter().map(full).collect::<Vec<_>>())?;
    dict.set_item("header_bytes", said.iter().map(|group| group.header_size().get()).collect::<Vec<_>>())?;
    dict.set_item("cells", said.iter().map(|group| group.cells).collect::<Vec<_>>())?;
    dict.set_item("group_names", said.iter().map(|group| &group.name).collect::<Vec<_>>())?;
    dict.set_item("greedy", said.iter().map(FlowConfig::is_greedy).collect::<Vec<_>>())?;
    let stop = |group: &FlowConfig| group.stop.map(Span::as_secs_f64);
    dict.set_item("stop_seconds", said.iter().map(stop).collect::<Vec<_>>())?;
    let held = |group: &FlowConfig| group.scheme.held(group.transport.segment_size);
    let loops = &network.aggregates;
    dict.set_item("aggregates", loops.iter().map(|one| &one.name).collect::<Vec<_>>())?;
    dict.set_item("aggregate_routes", loops.iter().map(|one| &one.forward).collect::<Vec<_>>())?;
    dict.set_item("aggregate_edges", loops.iter().map(|one| one.edge).collect::<Vec<_>>())?;
    dict.set_item("aggregate_members", loops.iter().map(|one| &one.members.0).collect::<Vec<_>>())?;
    let target = |one: &AggregateConfig| one.scheme.held(one.segment_size);
    dict.set_item("aggregate_held_bytes", scenario.aggregates.iter().map(target).collect::<Vec<_>>())?;
    dict.set_item("held_bytes", said.iter().map(held).collect::<Vec<_>>())?;
    Ok(dict)
}

/// How many flows after a multicast group's own are its receivers.
fn receivers(role: Role) -> usize {
    if let Role::Group(members) = role { members } else { 0 }
}
