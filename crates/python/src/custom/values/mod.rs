//! What parts written in Python are told and what they answer, with the names and meanings of the Rust types. Times are
//! seconds, amounts bytes, rates bit/s, all as plain numbers. This file holds what the others share.

mod about;
mod ack_frequency;
mod arrivals;
mod context;
mod delivery;
mod directive;
mod feedback;
mod given;
mod queue;
mod receiver;

use pyo3::prelude::*;
use pyo3::types::PyBool;
use tailback_core::{Ecn, PairPosition, Time};

pub(crate) use about::{Connection, LinkInfo};
pub(crate) use ack_frequency::PyAckFrequency;
pub(crate) use arrivals::{PyArrivalReport, PyArrivalReports, PyArrivalWord};
pub(crate) use context::Context;
pub(crate) use delivery::{PyDelivery, PyLostThen};
pub(crate) use directive::{ControlPair, DataPairs, Padding, ProbeCluster, PyDirective};
pub(crate) use feedback::{PyAcked, PyEchoes, PyEnvelope, PyFeedback, PyLost, PyOneWay, PyRtt, PySent};
pub(crate) use queue::{Gone, PyPacket, QueueContext, Ticket};
pub(crate) use receiver::{PyArrival, PyControl, PyOutgoing};

/// Seconds since the start.
pub(crate) fn seconds(time: Time) -> f64 {
    time.as_secs_f64()
}

/// The time of so many seconds; `None` for what is none.
pub(crate) fn time_of(seconds: f64) -> Option<Time> {
    (seconds >= 0.0).then(|| Time::from_secs_f64(seconds))
}

/// A number; a truth is none, though Python counts with it.
pub(crate) fn plain_number(said: &Bound<'_, PyAny>) -> Option<f64> {
    said.extract().ok().filter(|_| !said.is_instance_of::<PyBool>())
}

/// A finite number of at least 0, or the error that names the field.
fn positive(name: &str, value: f64, allowed: &str) -> PyResult<f64> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(not_allowed(name, value, allowed))
}

/// The error that names the field.
fn not_allowed(name: &str, value: f64, allowed: &str) -> PyErr {
    refused(format!("{name}: {value} is not allowed; expected {allowed}"))
}

/// The package's error for an argument whose value is not allowed: a `ValueError`.
fn refused(message: String) -> PyErr {
    ours("ArgumentError", message)
}

/// The package's error for an argument of a wrong type: a `TypeError`.
fn mistyped(message: String) -> PyErr {
    ours("CallError", message)
}

fn ours(class: &str, message: String) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("tailback.errors")
            .and_then(|errors| errors.getattr(class))
            .and_then(|class| class.call1((message,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// A packet's place in a probe.
const fn place(pair: PairPosition) -> &'static str {
    PairPosition::NAMES[pair as usize]
}

/// The ECN field of a packet's header.
const fn codepoint(ecn: Ecn) -> &'static str {
    Ecn::NAMES[ecn as usize]
}
