//! How a controller written in Python asks its receiver to acknowledge. That it does so is said by its class.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_core::{AckFrequency, Span};

use super::{not_allowed, positive};

/// How often the receiver is to acknowledge.
#[pyclass(name = "AckFrequency", frozen, from_py_object, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyAckFrequency(pub(crate) AckFrequency);

#[pymethods]
impl PyAckFrequency {
    #[new]
    fn new(threshold: i64, max_delay: f64) -> PyResult<Self> {
        let Some(packets) =
            u32::try_from(threshold).ok().filter(|packets| (1..=AckFrequency::MOST).contains(packets))
        else {
            let most = AckFrequency::MOST;
            let message = format!("threshold: {threshold} is not allowed; expected 1 to {most} packets");
            return Err(PyValueError::new_err(message));
        };
        let allowed = "seconds from 0 to 10";
        let delay = positive("max_delay", max_delay, allowed)?;
        if delay > AckFrequency::LONGEST.as_secs_f64() {
            return Err(not_allowed("max_delay", delay, allowed));
        }
        Ok(Self(AckFrequency { threshold: packets, max_delay: Span::from_secs_f64(delay) }))
    }

    #[getter]
    const fn threshold(&self) -> u32 {
        self.0.threshold
    }

    #[getter]
    fn max_delay(&self) -> f64 {
        self.0.max_delay.as_secs_f64()
    }

    pub(crate) fn __repr__(&self) -> String {
        format!("AckFrequency(threshold={}, max_delay={})", self.threshold(), self.max_delay())
    }
}
