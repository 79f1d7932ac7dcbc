//! Parts that carry real packets: what they raise ends the run at once, and how long their calls take is kept. What is done
//! with packets is the business of `lab.rs`, `emulation.rs` and `transfer.rs`.

use std::io::{self, PipeReader, PipeWriter, pipe};
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use tailback_core::{Span, Time};
use tailback_net::Clock;
use tailback_net::last_resort::LastResort;
use tailback_net::router::Spans;

use super::failure::{self, RealTime, Shared};
use crate::waiting::has_custom_parts;

create_exception!(tailback._core, PartFailedError, PyException, "A custom part has raised its cause.");

/// What is said in place of what a part has raised.
const FAILED: &str = "a custom part has failed";
/// So long a run may take to end when it was told to: programs that do not heed a signal take a second.
const GRACE: Span = Span::from_secs(4);

/// What is kept of all calls.
struct Calls {
    clock: Clock,
    spans: Mutex<Spans>,
    /// Closed as soon as a part fails.
    open: Mutex<Option<PipeWriter>>,
}

impl RealTime for Arc<Calls> {
    fn begin(&self) -> Time {
        self.clock.now()
    }

    fn end(&self, began: Time) {
        let took = self.clock.now().since(began);
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).add(took);
    }

    fn fail(&self) {
        drop(self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// A run in real time of parts that this thread makes, from here on until it is dropped.
pub(crate) struct RealRun {
    calls: Arc<Calls>,
    shared: Arc<Shared>,
    failed: PipeReader,
}

/// The time in which it is this thread's.
pub(crate) struct Entered(PhantomData<*const ()>);

impl Drop for Entered {
    fn drop(&mut self) {
        failure::leave();
    }
}

impl RealRun {
    /// A run that begins now.
    pub(crate) fn enter() -> io::Result<(Self, Entered)> {
        let (failed, open) = pipe()?;
        let calls =
            Arc::new(Calls { clock: Clock::start(), spans: Mutex::default(), open: Mutex::new(Some(open)) });
        let shared = failure::enter(Box::new(Arc::clone(&calls)));
        Ok((Self { calls, shared, failed }, Entered(PhantomData)))
    }

    /// A file whose other end nobody holds any more as soon as a part fails.
    pub(crate) fn failure(&self) -> BorrowedFd<'_> {
        self.failed.as_fd()
    }

    /// Whether a part has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.calls.open.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Stops what need not begin any more.
    ///
    /// # Errors
    /// Where a part has failed; what it has raised is told by [`RealRun::outcome`].
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.has_failed() { Err(io::Error::other(FAILED)) } else { Ok(()) }
    }

    /// How long calls have taken, the wait for the interpreter included.
    pub(crate) fn calls(&self) -> Spans {
        self.calls.spans.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Raises what a part has raised.
    pub(crate) fn outcome(&self, py: Python<'_>) -> PyResult<()> {
        let Some(raised) = self.shared.take() else { return Ok(()) };
        if raised.is_instance_of::<PyKeyboardInterrupt>(py) {
            return Err(raised); // It has come while a part was at work.
        }
        let error = PartFailedError::new_err(FAILED);
        error.set_cause(py, Some(raised));
        Err(error)
    }
}

/// Sees to it that parts which do not come back do not keep the process alive when nobody holds the other end of `held` any
/// more; nor, where they do, the folder through which the process would have given its result.
pub(crate) fn last_resort(held: &OwnedFd, folder: Option<PathBuf>) -> io::Result<Option<LastResort>> {
    if has_custom_parts() {
        held.try_clone().and_then(|held| LastResort::new(held, GRACE, folder)).map(Some)
    } else {
        Ok(None)
    }
}

/// Runs a thread that calls parts: the interpreter then knows it all the time, and need not get to know it for each call.
pub(crate) fn within(run: &mut (dyn FnMut() + Send)) {
    if has_custom_parts() { Python::attach(|py| py.detach(run)) } else { run() }
}
