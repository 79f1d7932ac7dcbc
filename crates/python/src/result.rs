//! The result of a run as a Python object: tables that become dictionaries of arrays when they are asked for.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tailback_scenario::Outcome;
use tailback_scenario::table::{Stack, Table};
use tailback_scenario::texts::Texts;

use crate::convert::{Columns, list};

/// What a run measured.
#[pyclass(name = "Result", module = "tailback._core", frozen)]
pub(crate) struct RunResult {
    #[pyo3(get)]
    scenario: String,
    #[pyo3(get)]
    seed: u64,
    #[pyo3(get)]
    hash: String,
    #[pyo3(get)]
    events: u64,
    #[pyo3(get)]
    times: Py<PyArray1<f64>>,
    links: Counted,
    flows: Counted,
    aggregates: Counted,
    messages: Columns,
    link_series: Watched,
    flow_series: Watched,
    aggregate_series: Watched,
    state: Columns,
    packets: Columns,
}

/// A table of counters, over the whole run and from the end of the warm-up.
struct Counted {
    whole: Columns,
    /// None where it is the same.
    measured: Option<Columns>,
}

impl Counted {
    fn new(py: Python<'_>, whole: Arc<Table>, measured: Arc<Table>) -> Self {
        let measured = (!Arc::ptr_eq(&whole, &measured)).then_some(measured);
        let columns = |table| Columns::new(py, Arc::unwrap_or_clone(table));
        Self { measured: measured.map(columns), whole: columns(whole) }
    }

    fn measured(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.measured.as_ref().unwrap_or(&self.whole).get(py)
    }
}

/// The series of those that were watched.
struct Watched {
    members: Texts,
    columns: Columns,
}

impl Watched {
    fn new(py: Python<'_>, series: Vec<(String, Table)>, bins: usize) -> Self {
        let Stack { members, columns } = py.detach(|| Stack::of(series, bins));
        Self { members, columns: Columns::new(py, columns) }
    }
}

impl RunResult {
    /// Holds an outcome's columns until somebody asks for them.
    pub(crate) fn new(py: Python<'_>, outcome: Outcome) -> Self {
        let bins = outcome.times.len();
        Self {
            scenario: outcome.scenario.to_json(),
            seed: outcome.scenario.seed,
            hash: outcome.hash,
            events: outcome.events,
            times: outcome.times.into_pyarray(py).unbind(),
            links: Counted::new(py, outcome.links, outcome.links_measured),
            flows: Counted::new(py, outcome.flows, outcome.flows_measured),
            aggregates: Counted::new(py, outcome.aggregates, outcome.aggregates_measured),
            messages: Columns::new(py, outcome.messages),
            link_series: Watched::new(py, outcome.link_series, bins),
            flow_series: Watched::new(py, outcome.flow_series, bins),
            aggregate_series: Watched::new(py, outcome.aggregate_series, bins),
            state: Columns::new(py, outcome.state),
            packets: Columns::new(py, outcome.packets),
        }
    }
}

#[pymethods]
impl RunResult {
    #[getter]
    fn links(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.links.whole.get(py)
    }

    #[getter]
    fn links_measured(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.links.measured(py)
    }

    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.flows.whole.get(py)
    }

    #[getter]
    fn flows_measured(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.flows.measured(py)
    }

    #[getter]
    fn aggregates(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.aggregates.whole.get(py)
    }

    #[getter]
    fn aggregates_measured(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.aggregates.measured(py)
    }

    #[getter]
    fn messages(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.messages.get(py)
    }

    #[getter]
    fn watched_links(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        list(py, &self.link_series.members)
    }

    #[getter]
    fn link_series(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.link_series.columns.get(py)
    }

    #[getter]
    fn watched_flows(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        list(py, &self.flow_series.members)
    }

    #[getter]
    fn flow_series(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.flow_series.columns.get(py)
    }

    #[getter]
    fn watched_aggregates(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        list(py, &self.aggregate_series.members)
    }

    #[getter]
    fn aggregate_series(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.aggregate_series.columns.get(py)
    }

    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.state.get(py)
    }

    #[getter]
    fn packets(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.packets.get(py)
    }
}
