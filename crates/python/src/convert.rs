//! From the core's tables and problems to Python's objects. What is in them is decided in `scenario`.

use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use tailback_core::Texts;
use tailback_scenario::Problems;
use tailback_scenario::table::{Column, Parts, Table};

/// The exception that carries all problems: Python's own class, so that there is one to catch.
pub(crate) fn raise(py: Python<'_>, problems: &Problems) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let errors = py.import("tailback.errors")?;
        let problem = errors.getattr("Problem")?;
        let list = problems
            .errors
            .iter()
            .map(|error| problem.call1((&error.field, &error.value, &error.allowed)))
            .collect::<PyResult<Vec<_>>>()?;
        let error = errors.getattr("ScenarioError")?.call1((list, &problems.source))?;
        Ok(PyErr::from_value(error))
    };
    make().unwrap_or_else(|error| error)
}

/// A table whose columns become arrays and lists when somebody asks for it.
pub(crate) struct Columns {
    /// Those that nobody has asked for yet, the first last.
    waiting: Mutex<Vec<(&'static str, Column)>>,
    made: Py<PyDict>,
}

impl Columns {
    /// The columns of a table.
    pub(crate) fn new(py: Python<'_>, table: Table) -> Self {
        let mut waiting = table.0;
        waiting.reverse();
        Self { waiting: Mutex::new(waiting), made: PyDict::new(py).unbind() }
    }

    /// Its dictionary; arrays take the vectors' own memory.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        loop {
            // A million names take a while. Whatever a signal's handler asks for meanwhile, nothing is held.
            py.check_signals()?;
            let next = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some((name, column)) = next else { return Ok(self.made.clone_ref(py)) };
            self.made.bind(py).set_item(name, array(py, column)?)?;
        }
    }
}

/// One array of the parts of several members, in memory of its own, which goes back to the system when it is freed. That of
/// the only member takes the vector's memory.
pub(crate) fn stacked(py: Python<'_>, parts: Parts) -> PyResult<Bound<'_, PyAny>> {
    let parts = match parts.only() {
        Ok(column) => return array(py, column),
        Err(parts) => parts,
    };
    Ok(if parts.are_counts() {
        let made = PyArray1::<u64>::zeros(py, parts.rows(), false);
        parts.put_counts(made.readwrite().as_slice_mut()?);
        made.into_any()
    } else {
        let made = PyArray1::<f64>::zeros(py, parts.rows(), false);
        parts.put_quantities(made.readwrite().as_slice_mut()?);
        made.into_any()
    })
}

/// A list of texts. Those that are the same as the one before are one object: names of groups, of schemes.
pub(crate) fn list(py: Python<'_>, texts: &Texts) -> PyResult<Py<PyList>> {
    let mut before: Option<(&str, Bound<'_, PyString>)> = None;
    let object = |text| match &before {
        Some((known, object)) if *known == text => object.clone(),
        _ => before.insert((text, PyString::new(py, text))).1.clone(),
    };
    Ok(PyList::new(py, texts.iter().map(object))?.unbind())
}

fn array(py: Python<'_>, column: Column) -> PyResult<Bound<'_, PyAny>> {
    Ok(match column {
        Column::Text(texts) => list(py, &texts)?.into_bound(py).into_any(),
        Column::Bool(values) => values.into_pyarray(py).into_any(),
        Column::U8(values) => values.into_pyarray(py).into_any(),
        Column::U16(values) => values.into_pyarray(py).into_any(),
        Column::U32(values) => values.into_pyarray(py).into_any(),
        Column::U64(values) => values.into_pyarray(py).into_any(),
        Column::F64(values) => values.into_pyarray(py).into_any(),
    })
}
