//! What a controller written in Python is told of the delivery of its data, where its class asks for samples. How they are
//! measured is in `crates/control/src/estimators/delivery_rate.rs`.

use pyo3::prelude::*;
use tailback_core::{BitRate, Bytes, DeliverySample, LostThen, Span};

use super::seconds;

/// A packet newly believed lost, with what was known when it left.
#[pyclass(name = "LostThen", frozen, get_all, module = "tailback")]
pub(crate) struct PyLostThen {
    size: u64,
    in_flight: u64,
    lost_since: u64,
    delivered_then: u64,
    app_limited: bool,
}

impl From<&LostThen> for PyLostThen {
    fn from(lost: &LostThen) -> Self {
        Self {
            size: lost.size.get(),
            in_flight: lost.in_flight.get(),
            lost_since: lost.lost_since.get(),
            delivered_then: lost.delivered_then.get(),
            app_limited: lost.app_limited,
        }
    }
}

/// One sample; its fields become Python's when somebody looks at them.
#[pyclass(name = "DeliverySample", frozen, module = "tailback")]
pub(crate) struct PyDelivery(pub(crate) DeliverySample);

#[pymethods]
impl PyDelivery {
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered.get()
    }
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost.get()
    }
    #[getter]
    fn newly_acked(&self) -> u64 {
        self.0.newly_acked.get()
    }
    #[getter]
    fn newly_lost(&self) -> u64 {
        self.0.newly_lost.get()
    }
    #[getter]
    fn rate(&self) -> Option<u64> {
        self.0.rate.map(BitRate::bits_per_sec)
    }
    #[getter]
    fn interval(&self) -> f64 {
        self.0.interval.as_secs_f64()
    }
    /// A packet that left counts itself as in flight: where nothing was, there is no packet, and 0 s would be a time.
    #[getter]
    fn sent_at(&self) -> Option<f64> {
        (self.0.prior_in_flight > Bytes::ZERO).then(|| seconds(self.0.sent_at))
    }
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.0.prior_delivered.get()
    }
    #[getter]
    fn prior_in_flight(&self) -> u64 {
        self.0.prior_in_flight.get()
    }
    #[getter]
    fn lost_since(&self) -> u64 {
        self.0.lost_since.get()
    }
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(Span::as_secs_f64)
    }
    #[getter]
    fn round_start(&self) -> bool {
        self.0.round_start
    }
    #[getter]
    fn losses(&self) -> Vec<PyLostThen> {
        self.0.losses.iter().map(PyLostThen::from).collect()
    }
}
