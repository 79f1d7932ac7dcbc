//! What a part written in Python borrows for one call: random numbers, and a way to publish its state.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tailback_core::Stream;

use super::not_allowed;

/// What a part borrows for one call.
#[pyclass(name = "Cx", module = "tailback")]
pub(crate) struct Context {
    stream: Option<Stream>,
    listens: bool,
    pub(crate) notes: Vec<(&'static str, f64)>,
}

impl Context {
    pub(crate) fn new() -> Self {
        Self { stream: None, listens: false, notes: Vec::new() }
    }

    pub(crate) fn lend(&mut self, stream: Stream, listens: bool) {
        self.stream = Some(stream);
        self.listens = listens;
    }

    pub(crate) fn take_back(&mut self) -> Option<Stream> {
        self.stream.take()
    }

    /// A context for the time of a call's preparation or end.
    ///
    /// # Errors
    /// Where another thread is in a call of it.
    pub(crate) fn hold<'py>(context: &Bound<'py, Self>) -> PyResult<PyRefMut<'py, Self>> {
        let allowed = "cx is in use by another thread; a context is good for the call it was given to";
        context.try_borrow_mut().map_err(|_| PyRuntimeError::new_err(allowed))
    }

    fn stream(&mut self) -> PyResult<&mut Stream> {
        self.stream.as_mut().ok_or_else(over)
    }
}

/// The error where a part uses a context after its call.
pub(super) fn over() -> PyErr {
    PyRuntimeError::new_err(
        "a context is good for the call it was given to; keep what you need, not the context",
    )
}

#[pymethods]
impl Context {
    /// Uniform on [0, 1).
    pub(super) fn uniform(&mut self) -> PyResult<f64> {
        Ok(self.stream()?.uniform())
    }
    /// Exponential with mean 1.
    fn exponential(&mut self) -> PyResult<f64> {
        Ok(self.stream()?.exponential())
    }
    /// True with the given probability.
    pub(super) fn chance(&mut self, probability: f64) -> PyResult<bool> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(not_allowed("probability", probability, "a number from 0 to 1"));
        }
        Ok(self.stream()?.chance(probability))
    }
    /// Publishes a piece of internal state.
    fn note(&mut self, name: &str, value: f64) {
        if self.listens {
            self.notes.push((known(name), value));
        }
    }
}

/// A note's name for the life of the process; parts publish few different ones.
fn known(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashMap<String, &'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name.to_owned(), kept);
    kept
}
