//! A receiver's feedback policy written in Python.

use pyo3::intern;
use pyo3::prelude::*;
use tailback_core::custom::Settings;
use tailback_core::{Arrival, Cx, FeedbackPolicy, Outgoing, Time};

use super::Maker;
use super::bridge::Bridge;
use super::controller::{timer, wrong};
use super::values::{Connection, PyArrival, PyOutgoing, seconds};

/// A policy behind the interpreter. Its timer is asked for once after each call and kept.
pub(crate) struct OwnPolicy {
    bridge: Bridge,
    has_timer: bool,
    timer: Option<Time>,
}

impl OwnPolicy {
    /// A policy for one connection.
    pub(crate) fn new(maker: &Maker, about: Connection, settings: &Settings) -> Self {
        let mut bridge = Python::attach(|py| Bridge::new(py, maker, about, settings));
        let has_timer = maker.has("next_timer");
        let timer = if has_timer { bridge.ask(timer).flatten() } else { None };
        Self { bridge, has_timer, timer }
    }
}

impl FeedbackPolicy for OwnPolicy {
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
        let answer = self.bridge.call_with(cx, |py, part, context| {
            let said = part.call_method1(intern!(py, "poll_report"), (seconds(now), context))?;
            let report = if said.is_none() {
                None
            } else {
                let outgoing = said.cast::<PyOutgoing>();
                let outgoing = outgoing
                    .map_err(|_| wrong(part, "poll_report", &said, "a tailback.Outgoing, or None"))?;
                Some(outgoing.get().0.clone())
            };
            Ok((report, if has_timer { timer(py, part)? } else { None }))
        });
        let (report, timer) = answer.unwrap_or((None, None));
        self.timer = timer;
        report
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }
}
