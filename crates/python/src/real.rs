//! What `lab.rs` and `emulation.rs` share: what Python says of every run with real packets, what is told of one when it is over,
//! and how it fails. Whether a run counts is decided in `net`.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tailback_core::{Packet, Span};
use tailback_net::router::{Budget, Conduct, RouterEvent, Spans, serial};
use tailback_scenario::Problems;
use tailback_sim::PacketEvent;

use crate::convert::raise;

/// How late a run may be that counts, as Python says it.
#[derive(Deserialize)]
pub(crate) struct Allowed {
    median_seconds: f64,
    p99_seconds: f64,
}

impl Allowed {
    fn budget(&self) -> Budget {
        Budget {
            median: Span::from_secs_f64(self.median_seconds),
            p99: Span::from_secs_f64(self.p99_seconds),
        }
    }

    /// What is told of every run with real packets: whether it counts, and all that speaks for or against it.
    pub(crate) fn judged(&self, conduct: &Conduct) -> Map<String, Value> {
        let reasons: Vec<String> = conduct.reasons(&self.budget()).iter().map(ToString::to_string).collect();
        let told = json!({
            "valid": reasons.is_empty(),
            "reasons": reasons,
            "budget": {"median_seconds": self.median_seconds, "p99_seconds": self.p99_seconds},
            "lateness": spans(&conduct.lateness),
            "calls": spans(&conduct.calls),
        });
        told.as_object().cloned().unwrap_or_default()
    }
}

/// Why a session failed.
pub(crate) enum Failure {
    Scenario(Problems),
    System(io::Error),
}

impl Failure {
    /// As Python's exception.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Scenario(problems) => raise(py, &problems),
            Self::System(error) => PyOSError::new_err(error.to_string()),
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Scenario(problems)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// A file that this process has under a number, once more.
pub(crate) fn file_of(number: u32) -> io::Result<OwnedFd> {
    File::open(format!("/proc/self/fd/{number}")).map(OwnedFd::from)
}

/// Tells of what happened in a router as simulators do. In logs, packets are numbered in the order in which they came.
pub(crate) fn recorded(event: RouterEvent<'_>, tell: impl FnOnce(PacketEvent<'_>)) {
    let numbered = |packet: &Packet| {
        let mut numbered = *packet;
        numbered.number = serial(packet);
        numbered
    };
    match event {
        RouterEvent::Arrived(_, packet) => tell(PacketEvent::Sent(packet.flow, &numbered(packet))),
        RouterEvent::Offered(link, packet) => tell(PacketEvent::Offered(link, &numbered(packet))),
        RouterEvent::Dropped(link, packet, reason) => {
            tell(PacketEvent::Dropped(link, &numbered(packet), reason));
        }
        RouterEvent::Left(_, packet) => tell(PacketEvent::Delivered(packet.flow, &numbered(packet))),
    }
}

pub(crate) fn spans(spans: &Spans) -> Value {
    json!({
        "packets": spans.count(),
        "mean_seconds": spans.mean().as_secs_f64(),
        "p50_seconds": spans.quantile(0.5).as_secs_f64(),
        "p90_seconds": spans.quantile(0.9).as_secs_f64(),
        "p99_seconds": spans.quantile(0.99).as_secs_f64(),
        "greatest_seconds": spans.greatest().as_secs_f64(),
    })
}
