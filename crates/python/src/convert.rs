//! From the core's tables and problems to Python's objects. What is in them is decided in `scenario`.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tailback_scenario::Problems;
use tailback_scenario::table::{Column, Table};

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

/// A dictionary of columns; arrays take the vectors' own memory.
pub(crate) fn table(py: Python<'_>, table: Table) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in table.0 {
        // A million names take a while.
        py.check_signals()?;
        dict.set_item(name, array(py, column)?)?;
    }
    Ok(dict.unbind())
}

/// A dictionary of tables.
pub(crate) fn tables(py: Python<'_>, list: Vec<(String, Table)>) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    for (name, columns) in list {
        dict.set_item(name, table(py, columns)?)?;
    }
    Ok(dict.unbind())
}

fn array(py: Python<'_>, column: Column) -> PyResult<Bound<'_, PyAny>> {
    Ok(match column {
        Column::Text(values) => PyList::new(py, values)?.into_any(),
        Column::Bool(values) => values.into_pyarray(py).into_any(),
        Column::U8(values) => values.into_pyarray(py).into_any(),
        Column::U16(values) => values.into_pyarray(py).into_any(),
        Column::U32(values) => values.into_pyarray(py).into_any(),
        Column::U64(values) => values.into_pyarray(py).into_any(),
        Column::F64(values) => values.into_pyarray(py).into_any(),
    })
}
