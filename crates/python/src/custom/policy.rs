//! A receiver's feedback policy written in Python. What it is told, and what it reports, is in `values`.

use pyo3::intern;
use pyo3::prelude::*;
use tailback_core::custom::Settings;
use tailback_core::{Arrival, Cx, FeedbackPolicy, Outgoing, Time};

use super::Maker;
use super::answers::{timer, wrong};
use super::bridge::Bridge;
use super::patience::Patience;
use super::values::{Connection, PyArrival, PyOutgoing, seconds};

/// A policy behind the interpreter. Its timer is asked for once after each call and kept.
pub(crate) struct CustomPolicy {
    bridge: Bridge,
    has_timer: bool,
    /// The type of its reports.
    report: Option<Py<PyAny>>,
    timer: Option<Time>,
    patience: Patience,
}

impl CustomPolicy {
    /// A policy for one connection.
    pub(crate) fn new(maker: &Maker, about: Connection, settings: &Settings) -> Self {
        let mut bridge = Python::attach(|py| Bridge::new(py, maker, about, settings));
        let has_timer = maker.has("next_timer");
        let timer = if has_timer { bridge.ask(timer).flatten() } else { None };
        Self { bridge, has_timer, report: maker.report(), timer, patience: Patience::default() }
    }
}

impl FeedbackPolicy for CustomPolicy {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, cx: &mut Cx<'_>) {
        let has_timer = self.has_timer;
        let answer = self.bridge.call_with(cx, |py, part, context| {
            part.call_method1(intern!(py, "on_arrival"), (seconds(now), PyArrival::new(arrival), context))?;
            if has_timer { timer(py, part) } else { Ok(None) }
        });
        self.timer = answer.flatten();
    }

    fn poll_report(&mut self, now: Time, cx: &mut Cx<'_>) -> Option<Outgoing> {
        let has_timer = self.has_timer;
        let kind = self.report.as_ref();
        let answer = self.bridge.call_with(cx, |py, part, context| {
            let said = part.call_method1(intern!(py, "poll_report"), (seconds(now), context))?;
            let report = if said.is_none() { None } else { Some(outgoing(py, part, &said, kind)?) };
            Ok((report, if has_timer { timer(py, part)? } else { None }))
        });
        let (report, timer) = answer.unwrap_or((None, None));
        let lost = self.patience.is_lost(&mut self.bridge, "next_timer", now, timer);
        self.timer = if lost { None } else { timer };
        report
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }
}

/// What the policy said, if it is a report of its type.
fn outgoing(
    py: Python<'_>,
    part: &Bound<'_, PyAny>,
    said: &Bound<'_, PyAny>,
    kind: Option<&Py<PyAny>>,
) -> PyResult<Outgoing> {
    let Ok(found) = said.cast::<PyOutgoing>() else {
        return Err(wrong(part, "poll_report", said, "a tailback.Outgoing, or None"));
    };
    let report = found.get().report.bind(py);
    match kind.map(|kind| kind.bind(py)) {
        Some(kind) if report.get_type().is(kind) => Ok(found.get().outgoing.clone()),
        Some(kind) => {
            let allowed = format!("a report of the policy's type, {}", kind.getattr("__name__")?);
            Err(wrong(part, "poll_report", report, &allowed))
        }
        None => Err(wrong(part, "poll_report", report, "no report of a policy whose Report names no type")),
    }
}
