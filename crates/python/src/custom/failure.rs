//! What a part raised, kept until whoever runs the simulation can raise it: the traits have no way to fail. A run is one
//! thread, so is this.

use std::cell::RefCell;

use pyo3::prelude::*;

thread_local! {
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps an error; the first one wins, since others follow from it.
pub(crate) fn tell(_py: Python<'_>, error: PyErr) {
    RAISED.with(|raised| {
        raised.borrow_mut().get_or_insert(error);
    });
}

/// The error, if a part has raised one in this thread.
pub(crate) fn take() -> Option<PyErr> {
    RAISED.with(|raised| raised.borrow_mut().take())
}
