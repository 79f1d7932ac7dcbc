//! Running an estimator over a series outside any simulation, for studies of estimators. The estimators are `control`'s.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_control::estimators::{Estimator, EstimatorConfig, Sample};
use tailback_core::Checker;

/// What an estimator, written as JSON, makes of observations: its estimate after each.
#[pyfunction]
#[pyo3(signature = (estimator, observed, /))]
pub(crate) fn estimate<'py>(
    py: Python<'py>,
    estimator: &str,
    observed: Vec<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let config: EstimatorConfig =
        serde_json::from_str(estimator).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut checker = Checker::new();
    config.check(&mut checker);
    if let Err(errors) = checker.finish() {
        let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
        return Err(PyValueError::new_err(told.join("; ")));
    }
    if let Some(bad) = observed.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
        return Err(PyValueError::new_err(format!("{bad} is not allowed; expected finite numbers above 0")));
    }
    let mut running = config.build();
    let estimates: Vec<f64> = observed.into_iter().map(|value| running.update(&Sample::of(value))).collect();
    Ok(estimates.into_pyarray(py))
}
