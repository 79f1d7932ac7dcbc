//! How a controller written in Python asks its receiver to acknowledge. That it does so is said by its class.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tailback_core::{AckFrequency, Span};

use super::given::{Call, Given, number, whole};
use super::{not_allowed, positive, refused};

/// How often the receiver is to acknowledge.
#[pyclass(name = "AckFrequency", frozen, from_py_object, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyAckFrequency(pub(crate) AckFrequency);

#[pymethods]
impl PyAckFrequency {
    #[new]
    #[pyo3(
        signature = (threshold=Given::LEFT_OUT, max_delay=Given::LEFT_OUT, *further, **others),
        text_signature = "(threshold, max_delay)"
    )]
    fn new(
        threshold: Given<'_>,
        max_delay: Given<'_>,
        further: &Bound<'_, PyTuple>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let call = Call("AckFrequency", &["threshold", "max_delay"]);
        call.takes_no_others(further, others)?;
        let threshold = call.needs("threshold", threshold)?;
        let max_delay = call.needs("max_delay", max_delay)?;
        let most = AckFrequency::MOST;
        let allowed = format!("1 to {most} packets");
        let packets: u32 = whole("threshold", &threshold, &allowed)?;
        if !(1..=most).contains(&packets) {
            let message = format!("threshold: {packets} is not allowed; expected {allowed}");
            return Err(refused(message));
        }
        let allowed = "seconds from 0 to 10";
        let delay = positive("max_delay", number("max_delay", &max_delay, allowed)?, allowed)?;
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
