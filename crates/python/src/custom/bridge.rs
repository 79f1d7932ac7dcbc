//! One call from whoever carries a part into it and back: random stream and notes go in, what the part says comes out. The
//! context object is made once per part and lent its stream for the time of a call.

use std::sync::Arc;

use pyo3::prelude::*;
use tailback_core::{Cx, Stream};

use super::Maker;
use super::failure::{self, Shared};
use super::values::Context;

/// A part with its context; falls silent after its first error.
pub(crate) struct Bridge {
    /// The part, while it has not failed.
    part: Option<Py<PyAny>>,
    context: Option<Py<Context>>,
    /// What it shares with the other parts of its run.
    run: Arc<Shared>,
}

impl Bridge {
    /// A bridge to a new part.
    pub(crate) fn new<'py, A: IntoPyObject<'py>>(
        py: Python<'py>,
        maker: &Maker,
        about: A,
        settings: &tailback_core::custom::Settings,
    ) -> Self {
        let run = failure::current();
        let part = maker.part(py, about, settings).map_err(|error| run.tell(py, error)).ok();
        let context = Py::new(py, Context::new()).map_err(|error| run.tell(py, error)).ok();
        Self { part, context, run }
    }

    /// Whether the part has not failed yet.
    pub(crate) fn is_alive(&self) -> bool {
        self.part.is_some()
    }

    /// Calls into the part without a context, for what only asks.
    pub(crate) fn ask<T>(
        &mut self,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let part = self.part.as_ref()?;
        let answer =
            Python::attach(|py| call(py, part.bind(py)).map_err(|error| self.run.tell(py, error)).ok());
        if answer.is_none() {
            self.part = None;
        }
        answer
    }

    /// Calls into the part with its context.
    pub(crate) fn call<T>(
        &mut self,
        stream: &mut Stream,
        notes: Option<&mut Vec<(&'static str, f64)>>,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>, &Bound<'_, Context>) -> PyResult<T>,
    ) -> Option<T> {
        let (part, context) = (self.part.as_ref()?, self.context.as_ref()?);
        let began = self.run.begin();
        let answer = Python::attach(|py| {
            let context = context.bind(py);
            let answer = Context::hold(context).and_then(|mut lent| {
                lent.lend(stream.clone(), notes.is_some());
                drop(lent);
                let answer = call(py, part.bind(py), context);
                let mut returned = Context::hold(context)?;
                *stream = returned.take_back().unwrap_or_else(|| stream.clone());
                if let Some(notes) = notes {
                    notes.append(&mut returned.notes);
                }
                answer
            });
            answer.map_err(|error| self.run.tell(py, error)).ok()
        });
        self.run.end(began);
        if answer.is_none() {
            self.part = None;
        }
        answer
    }

    /// As [`Bridge::call`], with the context of controllers and policies.
    pub(crate) fn call_with<T>(
        &mut self,
        cx: &mut Cx<'_>,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>, &Bound<'_, Context>) -> PyResult<T>,
    ) -> Option<T> {
        self.call(cx.rng, cx.notes.as_deref_mut(), call)
    }
}
