//! What a part raised, kept until whoever runs it can raise it: the traits have no way to fail. Parts keep to the run in
//! which they were made, whichever thread calls them. How real time is kept is said in `real_time.rs`.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use tailback_core::Time;

thread_local! {
    static CURRENT: RefCell<Arc<Shared>> = RefCell::default();
}

/// Whoever carries parts in real time.
pub(crate) trait RealTime: Send + Sync {
    /// A call begins now.
    fn begin(&self) -> Time;

    /// One that began then has ended.
    fn end(&self, began: Time);

    /// A part has failed, and with it the run.
    fn fail(&self);
}

/// What the parts of a run share.
#[derive(Default)]
pub(crate) struct Shared {
    raised: Mutex<Option<PyErr>>,
    real: Option<Box<dyn RealTime>>,
}

impl Shared {
    /// Keeps an error; the first one wins, since others follow from it.
    pub(crate) fn tell(&self, _py: Python<'_>, error: PyErr) {
        let mut error = Some(error);
        {
            let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
            if raised.is_none() {
                *raised = error.take();
            }
        }
        // Only now may what is left of another one go: it may run Python's code, which lets other threads in.
        drop(error);
        if let Some(real) = &self.real {
            real.fail();
        }
    }

    /// The error, if a part has raised one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What a call begins with.
    #[inline]
    pub(crate) fn begin(&self) -> Option<Time> {
        self.real.as_ref().map(|real| real.begin())
    }

    /// What it ends with.
    #[inline]
    pub(crate) fn end(&self, began: Option<Time>) {
        if let (Some(real), Some(began)) = (&self.real, began) {
            real.end(began);
        }
    }
}

/// What the parts share that this thread makes.
pub(crate) fn current() -> Arc<Shared> {
    CURRENT.with(|current| Arc::clone(&current.borrow()))
}

/// The error, if a part that this thread has made has raised one.
pub(crate) fn take() -> Option<PyErr> {
    current().take()
}

/// From here on, the parts that this thread makes run in real time.
pub(crate) fn enter(real: Box<dyn RealTime>) -> Arc<Shared> {
    let shared = Arc::new(Shared { raised: Mutex::default(), real: Some(real) });
    CURRENT.with(|current| *current.borrow_mut() = Arc::clone(&shared));
    shared
}

/// From here on they do not.
pub(crate) fn leave() {
    CURRENT.with(|current| *current.borrow_mut() = Arc::default());
}
