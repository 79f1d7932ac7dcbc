//! What parts answer, read from Python's values; and the error for an answer that is not allowed. What is done with answers
//! is up to each kind of part.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use tailback_core::Time;

use super::values::{plain_number, time_of};

/// What `next_timer` says.
pub(crate) fn timer(py: Python<'_>, part: &Bound<'_, PyAny>) -> PyResult<Option<Time>> {
    let said = part.call_method0(intern!(py, "next_timer"))?;
    if said.is_none() {
        return Ok(None);
    }
    let value = plain_number(&said).ok_or_else(|| wrong(part, "next_timer", &said, "seconds, or None"))?;
    time_of(value).map(Some).ok_or_else(|| wrong(part, "next_timer", &said, "seconds of at least 0, or None"))
}

/// The error for a method's wrong answer, with the place where the method is written.
pub(crate) fn wrong(part: &Bound<'_, PyAny>, method: &str, said: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    let place = || -> PyResult<String> {
        let code = part.getattr(method)?.getattr("__code__")?;
        let (file, line) = (code.getattr("co_filename")?, code.getattr("co_firstlineno")?);
        Ok(format!(" ({file}, line {line})"))
    };
    let class = part.get_type().name().map_or_else(|_| "part".to_owned(), |name| name.to_string());
    let shown = said.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    let message = format!(
        "{class}.{method}{}: {shown} is not allowed; expected {allowed}",
        place().unwrap_or_default()
    );
    if said.extract::<f64>().is_ok() { PyValueError::new_err(message) } else { PyTypeError::new_err(message) }
}
