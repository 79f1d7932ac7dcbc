//! The result of a run as a Python object: a holder of dictionaries of arrays.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailback_scenario::Outcome;

use crate::convert::{table, tables};

/// What a run measured.
#[pyclass(name = "Result", module = "tailback._core", frozen, get_all)]
pub(crate) struct RunResult {
    scenario: String,
    seed: u64,
    hash: String,
    events: u64,
    links: Py<PyDict>,
    links_measured: Py<PyDict>,
    flows: Py<PyDict>,
    flows_measured: Py<PyDict>,
    aggregates: Py<PyDict>,
    aggregates_measured: Py<PyDict>,
    messages: Py<PyDict>,
    times: Py<PyArray1<f64>>,
    link_series: Py<PyDict>,
    flow_series: Py<PyDict>,
    aggregate_series: Py<PyDict>,
    state: Py<PyDict>,
    packets: Py<PyDict>,
}

impl RunResult {
    /// Moves an outcome's columns into arrays.
    pub(crate) fn new(py: Python<'_>, outcome: Outcome) -> PyResult<Self> {
        Ok(Self {
            scenario: outcome.scenario.to_json(),
            seed: outcome.scenario.seed,
            hash: outcome.hash,
            events: outcome.events,
            links: table(py, outcome.links)?,
            links_measured: table(py, outcome.links_measured)?,
            flows: table(py, outcome.flows)?,
            flows_measured: table(py, outcome.flows_measured)?,
            aggregates: table(py, outcome.aggregates)?,
            aggregates_measured: table(py, outcome.aggregates_measured)?,
            messages: table(py, outcome.messages)?,
            times: outcome.times.into_pyarray(py).unbind(),
            link_series: tables(py, outcome.link_series)?,
            flow_series: tables(py, outcome.flow_series)?,
            aggregate_series: tables(py, outcome.aggregate_series)?,
            state: table(py, outcome.state)?,
            packets: table(py, outcome.packets)?,
        })
    }
}
