//! The Python module `tailback._core`: thin wrappers over `scenario`, no logic of their own. What the functions mean to
//! Python is said in `python/tailback/_core.pyi`.

mod convert;
mod custom;
#[cfg(target_os = "linux")]
mod emulation;
mod estimators;
#[cfg(target_os = "linux")]
mod lab;
mod memory;
mod network;
#[cfg(target_os = "linux")]
mod offered;
mod probabilities;
#[cfg(target_os = "linux")]
mod real;
mod result;
#[cfg(target_os = "linux")]
mod transfer;
mod waiting;

use pyo3::pymodule;

/// The compiled core of Tailback.
#[pymodule]
mod _core {
    use std::path::PathBuf;

    use pyo3::prelude::*;
    use pyo3::types::PyDict;
    use tailback_scenario::{Run, Scenario, Start};

    use crate::convert::raise;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::custom::PartFailedError;
    use crate::custom::take_failure;
    #[pymodule_export]
    use crate::custom::values::{
        Connection, Context, ControlPair, DataPairs, LinkInfo, Padding, ProbeCluster, PyAckFrequency,
        PyAcked, PyArrival, PyArrivalReport, PyArrivalReports, PyArrivalWord, PyControl, PyDelivery,
        PyDirective, PyEchoes, PyEnvelope, PyFeedback, PyLost, PyLostThen, PyOneWay, PyOutgoing, PyPacket,
        PyRtt, PySent, QueueContext,
    };
    #[pymodule_export]
    use crate::custom::{register_queue, register_receiver, register_scheme};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::emulation::emulate;
    #[pymodule_export]
    use crate::estimators::estimate;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::lab::{for_lab, kernel_schemes, laboratory, load_lab, read_lab};
    #[pymodule_export]
    use crate::network::network;
    #[pymodule_export]
    use crate::probabilities::{probabilistic_receiver, probabilities};
    #[pymodule_export]
    use crate::result::RunResult as Result;
    #[pymodule_export]
    use crate::result::Series;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::transfer::{TransferError, invitation, new_keys, receive_file, send_file};

    use crate::waiting::{free, patiently};

    /// The least wall time between two calls of `progress`, in seconds.
    const PROGRESS_EVERY: f64 = 0.1;

    #[pymodule_init]
    #[expect(clippy::unnecessary_wraps, reason = "pyo3's signature")]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::memory::give_back_soon();
        Ok(())
    }

    /// After how many milliseconds the core gives freed memory back to the system; nothing where the system decides it.
    #[pyfunction]
    fn purge_delay() -> Option<i64> {
        crate::memory::purge_delay()
    }

    /// The version of the compiled core, as in `Cargo.toml`.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// The revision of the source that the core was built from, where the build was told; else empty.
    #[pyfunction]
    fn revision() -> &'static str {
        option_env!("TAILBACK_REVISION").unwrap_or_default()
    }

    /// The JSON Schema of scenarios.
    #[pyfunction]
    fn schema() -> String {
        tailback_scenario::schema().to_string()
    }

    /// All schemes, queue disciplines and sources as JSON.
    #[pyfunction]
    fn registry() -> String {
        tailback_scenario::registry().to_string()
    }

    /// All columns of all tables of a result as JSON.
    #[pyfunction]
    fn columns() -> String {
        tailback_scenario::columns().to_string()
    }

    /// The fields by which a flow of ours does as one that the kernel carries, as JSON; nothing without a counterpart.
    #[pyfunction]
    #[pyo3(signature = (congestion, /))]
    fn kernel_counterpart(congestion: &str) -> Option<String> {
        tailback_scenario::lab::counterpart_fields(congestion).map(|fields| fields.to_string())
    }

    /// Everything that is wrong with a scenario written as JSON.
    #[pyfunction]
    #[pyo3(signature = (scenario, /))]
    fn check<'py>(py: Python<'py>, scenario: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let text = scenario.to_owned();
        let errors = patiently(py, move |go_on| Ok(Scenario::from_json_while(&text, go_on).err()))?;
        errors
            .map(|problems| problems.errors)
            .unwrap_or_default()
            .iter()
            .map(|error| {
                let dict = PyDict::new(py);
                dict.set_item("field", &error.field)?;
                dict.set_item("value", &error.value)?;
                dict.set_item("allowed", &error.allowed)?;
                Ok(dict)
            })
            .collect()
    }

    /// The scenario in a TOML file as canonical JSON.
    #[pyfunction]
    #[pyo3(signature = (path, /))]
    fn load_toml(py: Python<'_>, path: &str) -> PyResult<String> {
        let path = PathBuf::from(path);
        patiently(py, move |go_on| tailback_scenario::load_while(&path, go_on))
            .map(|scenario| scenario.to_json())
    }

    /// A scenario written as JSON, as TOML.
    #[pyfunction]
    #[pyo3(signature = (scenario, /))]
    fn to_toml(py: Python<'_>, scenario: &str) -> PyResult<String> {
        parse(py, scenario).map(|scenario| scenario.to_toml())
    }

    /// A complete scenario written as JSON, without its defaults.
    #[pyfunction]
    #[pyo3(signature = (scenario, /))]
    fn lean(py: Python<'_>, scenario: &str) -> PyResult<String> {
        Scenario::lean_json(scenario).map_err(|problems| raise(py, &problems))
    }

    /// A scenario written as JSON, checked and complete.
    #[pyfunction]
    #[pyo3(signature = (scenario, /))]
    fn canonical(py: Python<'_>, scenario: &str) -> PyResult<String> {
        parse(py, scenario).map(|scenario| scenario.to_json())
    }

    /// The digest of a scenario written as JSON.
    #[pyfunction]
    #[pyo3(signature = (scenario, /))]
    fn scenario_hash(py: Python<'_>, scenario: &str) -> PyResult<String> {
        parse(py, scenario).map(|scenario| scenario.hash())
    }

    /// Runs a scenario written as JSON.
    #[pyfunction]
    #[pyo3(signature = (scenario, /, seed=None, progress=None, memory=None, wheel=false))]
    fn run(
        py: Python<'_>,
        scenario: &str,
        seed: Option<u64>,
        progress: Option<&Bound<'_, PyAny>>,
        memory: Option<u64>,
        wheel: bool,
    ) -> PyResult<Result> {
        drop(take_failure());
        let budget = crate::memory::budget(memory);
        let text = scenario.to_owned();
        let mut run = patiently(py, move |go_on| Run::read(&text, Start { seed, budget, wheel, go_on }))?;
        take_failure().map_or(Ok(()), Err)?;
        if let Err(error) = drive(py, &mut run, progress) {
            free(run);
            return Err(error);
        }
        if let Some(progress) = progress {
            progress.call1((1.0,))?;
        }
        let outcome = patiently(py, |_| run.finish());
        take_failure().map_or(Ok(()), Err)?;
        Result::new(py, outcome?)
    }

    /// Takes a run to its end, or to a signal's or a part's exception.
    fn drive(py: Python<'_>, run: &mut Run, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        // The core reads no clock: the interpreter's own says when it is time to tell.
        let clock = py.import("time")?.getattr("monotonic")?;
        let now = || clock.call0().and_then(|time| time.extract::<f64>());
        let mut told = now()?;
        while run.now() < run.end() {
            let stepped = py.detach(|| run.step());
            take_failure().map_or(Ok(()), Err)?;
            stepped.map_err(|problems| raise(py, &problems))?;
            py.check_signals()?;
            if let Some(progress) = progress
                && now()? - told >= PROGRESS_EVERY
            {
                progress.call1((run.progress(),))?;
                told = now()?;
            }
        }
        Ok(())
    }

    fn parse(py: Python<'_>, scenario: &str) -> PyResult<Scenario> {
        let text = scenario.to_owned();
        patiently(py, move |go_on| Scenario::from_json_while(&text, go_on))
    }
}
