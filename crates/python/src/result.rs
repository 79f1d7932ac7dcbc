//! The result of a run as a Python object: tables that become dictionaries of arrays when they are asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};
use tailback_core::Texts;
use tailback_scenario::Outcome;
use tailback_scenario::table::{Parts, Stack, Table};

use crate::convert::{Columns, list, stacked};

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
    columns: Py<Series>,
}

impl Watched {
    fn new(py: Python<'_>, series: Vec<(String, Table)>, bins: usize) -> PyResult<Self> {
        let Stack { members, columns } = py.detach(|| Stack::of(series, bins));
        let columns = columns.into_iter().map(|(name, parts)| (name, Some(Held::Parts(parts)))).collect();
        Ok(Self { members, columns: Py::new(py, Series { columns: Mutex::new(columns) })? })
    }
}

/// Time series of several flows or links by column: the bins of the first, then those of the next. Each becomes an array when
/// somebody asks for it.
#[pyclass(module = "tailback._core", frozen, mapping)]
pub(crate) struct Series {
    /// Nothing in place of what was taken.
    columns: Mutex<Vec<(&'static str, Option<Held>)>>,
}

/// A column, before and after somebody asked for it.
enum Held {
    Parts(Parts),
    Made(Py<PyAny>),
}

impl Series {
    fn held(&self) -> MutexGuard<'_, Vec<(&'static str, Option<Held>)>> {
        self.columns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Series {
    fn __len__(&self) -> usize {
        self.held().iter().filter(|(_, held)| held.is_some()).count()
    }

    fn __contains__(&self, column: &str) -> bool {
        self.held().iter().any(|(name, held)| *name == column && held.is_some())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let names: Vec<_> =
            self.held().iter().filter_map(|(name, held)| held.is_some().then_some(*name)).collect();
        PyList::new(py, names)?.try_iter()
    }

    fn __getitem__(&self, py: Python<'_>, column: &str) -> PyResult<Py<PyAny>> {
        let made = self.pop(py, column)?;
        let kept = Held::Made(made.clone_ref(py));
        if let Some((_, held)) = self.held().iter_mut().find(|(name, _)| *name == column) {
            *held = Some(kept);
        }
        Ok(made)
    }

    /// The column, which is not kept.
    fn pop(&self, py: Python<'_>, column: &str) -> PyResult<Py<PyAny>> {
        let taken =
            self.held().iter_mut().find(|(name, _)| *name == column).and_then(|(_, held)| held.take());
        match taken {
            Some(Held::Made(made)) => Ok(made),
            Some(Held::Parts(parts)) => Ok(stacked(py, parts)?.unbind()),
            None => Err(PyKeyError::new_err(column.to_owned())),
        }
    }
}

impl RunResult {
    /// Holds an outcome's columns until somebody asks for them.
    pub(crate) fn new(py: Python<'_>, outcome: Outcome) -> PyResult<Self> {
        let bins = outcome.times.len();
        Ok(Self {
            scenario: outcome.scenario.to_json(),
            seed: outcome.scenario.seed,
            hash: outcome.hash,
            events: outcome.events,
            times: outcome.times.into_pyarray(py).unbind(),
            links: Counted::new(py, outcome.links, outcome.links_measured),
            flows: Counted::new(py, outcome.flows, outcome.flows_measured),
            aggregates: Counted::new(py, outcome.aggregates, outcome.aggregates_measured),
            messages: Columns::new(py, outcome.messages),
            link_series: Watched::new(py, outcome.link_series, bins)?,
            flow_series: Watched::new(py, outcome.flow_series, bins)?,
            aggregate_series: Watched::new(py, outcome.aggregate_series, bins)?,
            state: Columns::new(py, outcome.state),
            packets: Columns::new(py, outcome.packets),
        })
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
    fn link_series(&self, py: Python<'_>) -> Py<Series> {
        self.link_series.columns.clone_ref(py)
    }

    #[getter]
    fn watched_flows(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        list(py, &self.flow_series.members)
    }

    #[getter]
    fn flow_series(&self, py: Python<'_>) -> Py<Series> {
        self.flow_series.columns.clone_ref(py)
    }

    #[getter]
    fn watched_aggregates(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        list(py, &self.aggregate_series.members)
    }

    #[getter]
    fn aggregate_series(&self, py: Python<'_>) -> Py<Series> {
        self.aggregate_series.columns.clone_ref(py)
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
