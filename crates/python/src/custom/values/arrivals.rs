//! Reports of arrivals (RFC 8888) for controllers written in Python: how the receiver makes them, and what one says. The
//! receiver itself is in `crates/control/src/schemes/media/reports.rs`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tailback_control::schemes::media::ReportPlan;
use tailback_core::{ArrivalWord, Checker, Span, Time};

use super::given::{Call, Given, number, of_type, whole};
use super::{positive, refused, seconds};

/// A receiver that reports arrivals, in the place of a policy of one's own.
#[pyclass(name = "ArrivalReports", frozen, from_py_object, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyArrivalReports {
    pub(crate) plan: ReportPlan,
    /// As it was given, in parts in a million: multiplied and divided it might come out as another number.
    clock_drift: f64,
}

#[pymethods]
impl PyArrivalReports {
    #[new]
    #[pyo3(
        signature = (
            interval=Given::LEFT_OUT, *further, overlap=Given::LEFT_OUT, after=Given::LEFT_OUT, after_frames=Given::LEFT_OUT,
            clock_drift=Given::LEFT_OUT, **others
        ),
        text_signature = "(interval=0.1, *, overlap=0, after=None, after_frames=False, clock_drift=0.0)"
    )]
    fn new(
        interval: Given<'_>,
        further: &Bound<'_, PyTuple>,
        overlap: Given<'_>,
        after: Given<'_>,
        after_frames: Given<'_>,
        clock_drift: Given<'_>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        Call("ArrivalReports", &["interval", "overlap", "after", "after_frames", "clock_drift"])
            .takes_no_others(further, others)?;
        let allowed = "seconds from 0.01 to 1";
        let interval = interval.or(0.1, |given| number("interval", given, allowed))?;
        let interval = Span::from_secs_f64(positive("interval", interval, allowed)?);
        let overlap = overlap.or(0, |given| whole("overlap", given, "0 to 10000"))?;
        let after = after.if_any(|given| whole("after", given, "at least 1 packet, or None"))?;
        let after_frames = after_frames.or(false, |given| of_type("after_frames", given, "True or False"))?;
        let allowed = "parts in a million from -1000 to 1000";
        let clock_drift = clock_drift.or(0.0, |given| number("clock_drift", given, allowed))?;
        let mut checker = Checker::default();
        ReportPlan::check(&mut checker, interval, overlap, clock_drift);
        checker.require(after != Some(0), "after", 0, "at least 1 packet, or None");
        if let Err(errors) = checker.finish() {
            let told = errors.iter().map(|error| {
                let field = error.field.trim_start_matches("report_");
                format!("{field}: {} is not allowed; expected {}", error.value, error.allowed)
            });
            return Err(refused(told.collect::<Vec<_>>().join("; ")));
        }
        let plan = ReportPlan { after, after_frames, ..ReportPlan::every(interval, overlap, clock_drift) };
        Ok(Self { plan, clock_drift })
    }

    /// What makes it again in another process: a class goes there by value, with its attributes.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((f64,), Bound<'py, PyDict>)> {
        let ReportPlan { interval, after, after_frames, overlap, .. } = self.plan;
        let named = PyDict::new(py);
        named.set_item("overlap", overlap)?;
        named.set_item("after", after)?;
        named.set_item("after_frames", after_frames)?;
        named.set_item("clock_drift", self.clock_drift)?;
        Ok(((interval.as_secs_f64(),), named))
    }

    fn __repr__(&self) -> String {
        let ReportPlan { interval, after, after_frames, overlap, .. } = self.plan;
        format!(
            "ArrivalReports({}, overlap={overlap}, after={}, after_frames={}, clock_drift={})",
            interval.as_secs_f64(),
            after.map_or_else(|| "None".to_owned(), |count| count.to_string()),
            if after_frames { "True" } else { "False" },
            self.clock_drift,
        )
    }
}

/// What a report says of one packet.
#[pyclass(name = "ArrivalWord", frozen, get_all, module = "tailback")]
pub(crate) struct PyArrivalWord {
    number: u64,
    received: bool,
    marked: bool,
    age: Option<f64>,
}

/// One report of arrivals; its words become Python's when somebody looks at them.
#[pyclass(name = "ArrivalReport", frozen, module = "tailback")]
pub(crate) struct PyArrivalReport {
    pub(crate) first: u64,
    pub(crate) left: Time,
    pub(crate) words: Box<[ArrivalWord]>,
}

#[pymethods]
impl PyArrivalReport {
    #[getter]
    fn left(&self) -> f64 {
        seconds(self.left)
    }
    #[getter]
    fn packets(&self) -> Vec<PyArrivalWord> {
        (self.first..=u64::MAX)
            .zip(&self.words)
            .map(|(number, word)| PyArrivalWord {
                number,
                received: word.is_received(),
                marked: word.is_marked(),
                age: word.age().map(Span::as_secs_f64),
            })
            .collect()
    }
}
