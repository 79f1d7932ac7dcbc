//! What a queue discipline written in Python is given: packets, and what it may do with them.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use tailback_core::{BitRate, DropReason, Ecn, Kind, Packet, Time};

use super::context::over;
use super::{Context, codepoint, place, seconds};

/// A packet in a queue.
#[pyclass(name = "Packet", frozen, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyPacket {
    pub(crate) serial: u64,
    pub(crate) packet: Packet,
    /// Shared by all copies of the object: when the last is gone, nobody can give the packet out any more.
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub(crate) ticket: Arc<Ticket>,
}

/// Tells the queue when no object of a packet is left.
pub(crate) struct Ticket {
    serial: u64,
    gone: Gone,
}

/// The serials of packets that no object stands for any more.
pub(crate) type Gone = Arc<Mutex<Vec<u64>>>;

impl Ticket {
    pub(crate) fn new(serial: u64, gone: &Gone) -> Arc<Self> {
        Arc::new(Self { serial, gone: Arc::clone(gone) })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Ok(mut gone) = self.gone.lock() {
            gone.push(self.serial);
        }
    }
}

#[pymethods]
impl PyPacket {
    #[getter]
    fn number(&self) -> u64 {
        self.packet.number
    }
    #[getter]
    fn flow(&self) -> u32 {
        self.packet.flow.0
    }
    #[getter]
    fn size(&self) -> u64 {
        self.packet.size().get()
    }
    #[getter]
    fn kind(&self) -> &'static str {
        match self.packet.kind() {
            Kind::Data => "data",
            Kind::Ack => "ack",
            Kind::Report => "report",
            Kind::Control => "control",
        }
    }
    #[getter]
    fn lane(&self) -> u8 {
        self.packet.lane().number()
    }
    #[getter]
    fn pair(&self) -> &'static str {
        place(self.packet.pair())
    }
    #[getter]
    fn ecn(&self) -> &'static str {
        codepoint(self.packet.ecn())
    }
    #[getter]
    fn is_ecn_capable(&self) -> bool {
        self.packet.is_ecn_capable()
    }
}

/// What a queue discipline borrows for one call.
#[pyclass(name = "QueueCx", module = "tailback")]
pub(crate) struct QueueContext {
    common: Py<Context>,
    rate: BitRate,
    idle_since: Option<Time>,
    pub(crate) drops: Vec<(u64, DropReason)>,
    pub(crate) marks: Vec<(u64, Packet)>,
    /// Nobody reads what comes after its call.
    is_over: bool,
}

impl QueueContext {
    pub(crate) fn new(common: Py<Context>, rate: BitRate, idle_since: Option<Time>) -> Self {
        Self { common, rate, idle_since, drops: Vec::new(), marks: Vec::new(), is_over: false }
    }

    /// Its call is over.
    pub(crate) const fn end(&mut self) {
        self.is_over = true;
    }

    fn check(&self) -> PyResult<()> {
        if self.is_over { Err(over()) } else { Ok(()) }
    }
}

#[pymethods]
impl QueueContext {
    /// The server's rate at this moment, in bit/s.
    #[getter]
    fn rate(&self) -> u64 {
        self.rate.bits_per_sec()
    }
    /// Since when the server is idle, in seconds; `None` while it transmits.
    #[getter]
    fn idle_since(&self) -> Option<f64> {
        self.idle_since.map(seconds)
    }
    /// Drops a packet: because the buffer is full, or early.
    #[pyo3(signature = (packet, *, early=false))]
    fn drop(&mut self, packet: &PyPacket, early: bool) -> PyResult<()> {
        self.check()?;
        self.drops.push((packet.serial, if early { DropReason::Early } else { DropReason::Overflow }));
        Ok(())
    }
    /// Marks a packet with congestion experienced; false where it is not ECN-capable.
    fn mark_ce(&mut self, packet: &PyPacket) -> PyResult<bool> {
        self.check()?;
        let capable = packet.packet.is_ecn_capable();
        if capable {
            let mut marked = packet.packet;
            marked.set_ecn(Ecn::Ce);
            self.marks.push((packet.serial, marked));
        }
        Ok(capable)
    }
    /// Uniform on [0, 1).
    fn uniform(&self, py: Python<'_>) -> PyResult<f64> {
        Context::hold(self.common.bind(py))?.uniform()
    }
    /// True with the given probability.
    fn chance(&self, py: Python<'_>, probability: f64) -> PyResult<bool> {
        Context::hold(self.common.bind(py))?.chance(probability)
    }
}
