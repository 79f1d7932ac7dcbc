//! Work that takes long, such as laying out a million flows, in a thread of its own: a signal ends the wait for it at once,
//! whatever it is at, and what is half done is freed there. What the work is stands in `lib.rs`.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use pyo3::prelude::*;
use tailback_control::CUSTOM_SCHEMES;
use tailback_qdisc::CUSTOM_QUEUES;
use tailback_scenario::Problems;
use tailback_scenario::topology::GoOn;

use crate::convert::raise;

/// How often signals are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// As much as a program's first thread has.
const STACK: usize = 8 << 20;

/// Does the work; a signal that raises an exception ends the wait for it.
pub(crate) fn patiently<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(GoOn<'_>) -> Result<T, Problems> + Send + 'static,
) -> PyResult<T> {
    let done = if has_custom_parts() { here(py, work) } else { apart(py, work) }?;
    done.map_err(|problems| raise(py, &problems))
}

/// Frees what may be large, while the caller goes on.
pub(crate) fn free<T: Send + 'static>(large: T) {
    if has_custom_parts() {
        drop(large);
    } else {
        // Where there is no thread to be had, it is freed here and now.
        let _ = Builder::new().name("tailback-free".to_owned()).spawn(move || drop(large));
    }
}

/// Whether there are parts written in Python: they tell what they raise to the thread that calls them, and whoever watches
/// how long they take looks for them in the thread that began the run.
pub(crate) fn has_custom_parts() -> bool {
    !CUSTOM_SCHEMES.is_empty() || !CUSTOM_QUEUES.is_empty()
}

fn here<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(GoOn<'_>) -> Result<T, Problems> + Send,
) -> PyResult<Result<T, Problems>> {
    // A function, since the method itself is not general over lifetimes.
    fn signals(py: Python<'_>) -> PyResult<()> {
        py.check_signals()
    }
    let mut stopped = None;
    let mut is_wanted = || {
        if stopped.is_none() {
            stopped = Python::attach(signals).err();
        }
        stopped.is_none()
    };
    let done = py.detach(|| work(&mut is_wanted));
    stopped.map_or(Ok(done), Err)
}

fn apart<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(GoOn<'_>) -> Result<T, Problems> + Send + 'static,
) -> PyResult<Result<T, Problems>> {
    let is_wanted = Arc::new(AtomicBool::new(true));
    // It holds nothing: what nobody takes any more is freed by whoever made it.
    let (teller, mut told) = sync_channel(0);
    let asked = Arc::clone(&is_wanted);
    let thread = Builder::new().name("tailback-work".to_owned()).stack_size(STACK);
    let worker = thread.spawn(move || {
        let done = work(&mut || asked.load(Ordering::Relaxed));
        drop(teller.send(done));
    })?;
    loop {
        match py.detach(|| look(&mut told)) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| is_wanted.store(false, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => fail_as(py, worker),
        }
    }
}

/// What was told meanwhile.
fn look<T>(told: &mut Receiver<T>) -> Result<T, RecvTimeoutError> {
    told.recv_timeout(LOOK_EVERY)
}

/// Panics as the thread did, which told nothing.
fn fail_as(py: Python<'_>, worker: JoinHandle<()>) -> ! {
    match py.detach(|| worker.join()) {
        Err(panic) => resume_unwind(panic),
        Ok(()) => unreachable!("a thread that ends well has told what it made"),
    }
}
