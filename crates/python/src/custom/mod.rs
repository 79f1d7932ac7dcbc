//! Controllers, feedback policies and queue disciplines written in Python, behind the traits of `core`. The interpreter's
//! lock is taken for each call. What Python raises stops the part, and is raised again where the run was started.

mod answers;
mod bridge;
mod controller;
mod failure;
mod needs;
mod patience;
mod policy;
mod queue;
#[cfg(target_os = "linux")]
mod real_time;
pub(crate) mod values;

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailback_control::schemes::media::ArrivalReports;
use tailback_control::schemes::{FixedWindow, FixedWindowConfig};
use tailback_control::{BoxedPolicy, CUSTOM_SCHEMES, ControllerParams, CustomScheme};
use tailback_core::custom::{Setting, Settings};
use tailback_qdisc::{CUSTOM_QUEUES, CustomQueue};

pub(crate) use failure::take as take_failure;
#[cfg(target_os = "linux")]
pub(crate) use real_time::{PartFailedError, RealRun, last_resort, within};

use controller::CustomController;
use needs::Wants;
use policy::CustomPolicy;
use queue::CustomDiscipline;
use values::{Connection, LinkInfo, PyArrivalReports};

/// A Python callable that makes a part, and the methods that it overrides.
pub(crate) struct Maker {
    make: Py<PyAny>,
    calls: HashSet<String>,
    /// Of a controller, what makes reports from their numbers; of a policy, the type of its reports.
    report: Option<Py<PyAny>>,
}

impl Maker {
    /// Whether the part overrides a method.
    fn has(&self, method: &str) -> bool {
        self.calls.contains(method)
    }

    /// What it knows of reports, where the scheme has any.
    fn report(&self) -> Option<Py<PyAny>> {
        self.report.as_ref().map(|report| Python::attach(|py| report.clone_ref(py)))
    }

    /// A new part.
    fn part<'py, A: IntoPyObject<'py>>(
        &self,
        py: Python<'py>,
        about: A,
        settings: &Settings,
    ) -> PyResult<Py<PyAny>> {
        Ok(self.make.bind(py).call1((about, as_dict(py, settings)?))?.unbind())
    }
}

fn as_dict<'py>(py: Python<'py>, settings: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, setting) in settings {
        match setting {
            Setting::Truth(value) => dict.set_item(name, *value)?,
            Setting::Number(value) => dict.set_item(name, *value)?,
            Setting::Text(value) => dict.set_item(name, value)?,
        }
    }
    Ok(dict)
}

fn complaint(py: Python<'_>, check: &Py<PyAny>, settings: &Settings) -> Result<(), String> {
    let answer =
        as_dict(py, settings).and_then(|settings| check.bind(py).call1((settings,))?.extract::<String>());
    match answer {
        Ok(text) if text.is_empty() => Ok(()),
        Ok(text) => Err(text),
        Err(error) => Err(error.to_string()),
    }
}

/// How to make one half of a scheme, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Half {
    /// What makes it, of a connection and settings.
    make: Py<PyAny>,
    /// The methods that it overrides.
    calls: HashSet<String>,
    /// Of a controller, what makes reports from their numbers; of a policy, the type of its reports.
    report: Option<Py<PyAny>>,
}

impl Half {
    fn maker(self) -> Arc<Maker> {
        Arc::new(Maker { make: self.make, calls: self.calls, report: self.report })
    }
}

/// The receiver's half.
#[derive(FromPyObject)]
pub(crate) enum Receiver {
    /// One of the library's own, which reports arrivals.
    Arrivals(PyArrivalReports),
    /// One made by a Python callable.
    Made(Half),
}

impl Receiver {
    fn maker(self) -> tailback_control::custom::MakePolicy {
        match self {
            Self::Arrivals(PyArrivalReports { plan, .. }) => {
                Box::new(move |_, _| Box::new(ArrivalReports::new(plan)))
            }
            Self::Made(half) => {
                let maker = half.maker();
                Box::new(move |params: &ControllerParams, settings| -> BoxedPolicy {
                    Box::new(CustomPolicy::new(&maker, Connection::new(params), settings))
                })
            }
        }
    }
}

/// Enters a scheme whose controller, and feedback policy if there is one of its own, are made by Python callables.
#[pyfunction]
pub(crate) fn register_scheme(
    name: &str,
    controller: Half,
    policy: Option<Receiver>,
    needs: &Bound<'_, PyDict>,
    check: Py<PyAny>,
) -> PyResult<()> {
    let needs = Wants(needs).needs()?;
    let maker = controller.maker();
    let custom = CustomScheme {
        controller: Box::new(move |params, settings| {
            Box::new(CustomController::new(&maker, Connection::new(params), settings, params))
        }),
        policy: policy.map(Receiver::maker),
        needs,
        check: Box::new(move |settings| Python::attach(|py| complaint(py, &check, settings))),
    };
    CUSTOM_SCHEMES.enter(name, custom);
    Ok(())
}

/// Enters what a receiver needs of a scheme whose controller is at another host: reports of arrivals where it has some, and how to
/// acknowledge, stamp and echo.
#[pyfunction]
pub(crate) fn register_receiver(
    name: &str,
    reports: Option<PyArrivalReports>,
    needs: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let needs = Wants(needs).needs()?;
    let policy = reports.map(|reports| Receiver::Arrivals(reports).maker());
    // Nobody asks this controller for anything.
    let idle = CustomScheme::new(|params, _| FixedWindow::new(&FixedWindowConfig::default(), params));
    CUSTOM_SCHEMES.enter(name, CustomScheme { policy, needs, ..idle });
    Ok(())
}

/// Enters a queue discipline that is made by a Python callable.
#[pyfunction]
pub(crate) fn register_queue(name: &str, make: Py<PyAny>, calls: HashSet<String>, check: Py<PyAny>) {
    let maker = Arc::new(Maker { make, calls, report: None });
    let custom = CustomQueue {
        make: Box::new(move |cx, settings| {
            Box::new(CustomDiscipline::new(&maker, LinkInfo::new(cx), settings))
        }),
        check: Box::new(move |settings| Python::attach(|py| complaint(py, &check, settings))),
    };
    CUSTOM_QUEUES.enter(name, custom);
}
