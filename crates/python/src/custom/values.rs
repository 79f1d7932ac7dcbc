//! What parts written in Python are told and what they answer, with the names and meanings of the Rust types. Times are
//! seconds, amounts bytes, rates bit/s, all as plain numbers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tailback_control::ControllerParams;
use tailback_core::{
    Acked, Arrival, BitRate, Burst, Bytes, Capacity, CongestionEvent, Directive, DropReason, Ecn, Feedback,
    Gate, Kind, Lane, Lost, Outgoing, Packet, PairPosition, Recovery, Report, RttSample, Sent, Span, Stream,
    Time, Tokens,
};
use tailback_qdisc::BuildCx;

/// Seconds since the start.
pub(crate) fn seconds(time: Time) -> f64 {
    time.as_secs_f64()
}

/// The time of so many seconds; `None` for what is none.
pub(crate) fn time_of(seconds: f64) -> Option<Time> {
    (seconds >= 0.0).then(|| Time::from_secs_f64(seconds))
}

fn positive(name: &str, value: f64, allowed: &str) -> PyResult<f64> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(PyValueError::new_err(format!("{name}: {value} is not allowed; expected {allowed}")))
}

/// What a controller or feedback policy knows of its connection.
#[pyclass(frozen, get_all, module = "tailback")]
pub(crate) struct Connection {
    segment: u64,
    initial_window: u64,
    initial_ssthresh: Option<u64>,
    max_window: u64,
}

impl Connection {
    pub(crate) fn new(params: &ControllerParams) -> Self {
        Self {
            segment: params.segment.get(),
            initial_window: params.initial_window.get(),
            initial_ssthresh: params.initial_ssthresh.map(Bytes::get),
            max_window: params.max_window.get(),
        }
    }
}

/// What a queue discipline knows of its link.
#[pyclass(name = "Link", frozen, get_all, module = "tailback")]
pub(crate) struct LinkInfo {
    buffer_packets: Option<u32>,
    buffer_bytes: Option<u64>,
    rate: u64,
    mean_packet: u64,
}

impl LinkInfo {
    pub(crate) fn new(cx: &BuildCx) -> Self {
        let (packets, bytes) = match cx.capacity {
            Capacity::Packets(packets) => (Some(packets), None),
            Capacity::Bytes(bytes) => (None, Some(bytes.get())),
            _ => (None, None),
        };
        Self {
            buffer_packets: packets,
            buffer_bytes: bytes,
            rate: cx.rate.bits_per_sec(),
            mean_packet: cx.mean_packet.get(),
        }
    }
}

/// What a controller tells the sender.
#[pyclass(name = "Directive", frozen, module = "tailback")]
pub(crate) struct PyDirective(pub(crate) Directive);

#[pymethods]
impl PyDirective {
    #[new]
    #[pyo3(signature = (window=None, rate=None, *, burst=0.0, tokens="constant", gate=true, timeout=None))]
    fn new(
        window: Option<f64>,
        rate: Option<f64>,
        burst: f64,
        tokens: &str,
        gate: bool,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        let bytes = |value| {
            positive("window", value, "bytes of at least 0, or None for no window").map(Bytes::from_f64)
        };
        let bits = |value| {
            positive("rate", value, "bit/s of at least 0, or None for no rate")
                .map(BitRate::from_bits_per_sec_f64)
        };
        let span =
            |value| positive("timeout", value, "seconds of at least 0, or None").map(Span::from_secs_f64);
        let tokens = match tokens {
            "constant" => Tokens::Constant,
            "poisson" => Tokens::Poisson,
            other => {
                let message = format!("tokens: {other:?} is not allowed; expected 'constant' or 'poisson'");
                return Err(PyValueError::new_err(message));
            }
        };
        Ok(Self(Directive {
            window: window.map(bytes).transpose()?,
            rate: rate.map(bits).transpose()?,
            burst: Burst { depth: Bytes::from_f64(positive("burst", burst, "bytes of at least 0")?), tokens },
            gate: if gate { Gate::Open } else { Gate::Closed },
            probe: None,
            timeout: timeout.map(span).transpose()?,
        }))
    }

    #[getter]
    fn window(&self) -> Option<u64> {
        self.0.window.map(Bytes::get)
    }

    #[getter]
    fn rate(&self) -> Option<u64> {
        self.0.rate.map(BitRate::bits_per_sec)
    }

    fn __repr__(&self) -> String {
        let shown = |value: Option<u64>| value.map_or_else(|| "None".to_owned(), |value| value.to_string());
        format!("Directive(window={}, rate={})", shown(self.window()), shown(self.rate()))
    }
}

/// A packet that leaves.
#[pyclass(name = "Sent", module = "tailback")]
pub(crate) struct PySent(pub(crate) Sent);

#[pymethods]
impl PySent {
    #[getter]
    fn number(&self) -> u64 {
        self.0.number
    }
    #[getter]
    fn size(&self) -> u64 {
        self.0.size.get()
    }
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight.get()
    }
    #[getter]
    fn retransmission(&self) -> bool {
        self.0.retransmission
    }
    #[getter]
    fn tag(&self) -> u32 {
        self.0.tag
    }
    #[setter]
    fn set_tag(&mut self, tag: u32) {
        self.0.tag = tag;
    }
}

/// A packet newly acknowledged.
#[pyclass(name = "Acked", frozen, get_all, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyAcked {
    number: u64,
    size: u64,
    sent_at: f64,
    retransmitted: bool,
    tag: u32,
}

impl From<&Acked> for PyAcked {
    fn from(acked: &Acked) -> Self {
        Self {
            number: acked.number,
            size: acked.size.get(),
            sent_at: seconds(acked.sent_at),
            retransmitted: acked.retransmitted,
            tag: acked.tag,
        }
    }
}

/// A packet newly believed lost.
#[pyclass(name = "Lost", frozen, get_all, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyLost {
    number: u64,
    size: u64,
    sent_at: f64,
    tag: u32,
}

impl From<&Lost> for PyLost {
    fn from(lost: &Lost) -> Self {
        Self { number: lost.number, size: lost.size.get(), sent_at: seconds(lost.sent_at), tag: lost.tag }
    }
}

/// Round trip times.
#[pyclass(name = "RttSample", frozen, get_all, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyRtt {
    latest: f64,
    smoothed: f64,
    min: f64,
}

impl From<RttSample> for PyRtt {
    fn from(rtt: RttSample) -> Self {
        Self {
            latest: rtt.latest.as_secs_f64(),
            smoothed: rtt.smoothed.as_secs_f64(),
            min: rtt.min.as_secs_f64(),
        }
    }
}

/// Echoed marks, in packets.
#[pyclass(name = "Echoes", frozen, get_all, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyEchoes {
    ce: u32,
    rho: u32,
    eta: u32,
}

/// One batch of feedback; its lists become Python's when somebody looks at them.
#[pyclass(name = "Feedback", frozen, module = "tailback")]
pub(crate) struct PyFeedback {
    acked: Vec<Acked>,
    lost: Vec<Lost>,
    rtt: Option<RttSample>,
    event: Option<CongestionEvent>,
    recovery: Recovery,
    echoes: PyEchoes,
    advanced: u64,
    flight: u64,
    in_flight: u64,
    window_limited: bool,
    report: Option<Report>,
}

impl PyFeedback {
    pub(crate) fn new(feedback: &Feedback<'_>) -> Self {
        let echoes = feedback.echoes;
        Self {
            acked: feedback.acked.to_vec(),
            lost: feedback.lost.to_vec(),
            rtt: feedback.rtt,
            event: feedback.event,
            recovery: feedback.recovery,
            echoes: PyEchoes { ce: echoes.ce, rho: echoes.rho, eta: echoes.eta },
            advanced: feedback.advanced.get(),
            flight: feedback.flight.get(),
            in_flight: feedback.in_flight.get(),
            window_limited: feedback.window_limited,
            report: feedback.report.cloned(),
        }
    }
}

#[pymethods]
impl PyFeedback {
    #[getter]
    fn acked(&self) -> Vec<PyAcked> {
        self.acked.iter().map(PyAcked::from).collect()
    }
    #[getter]
    fn advanced(&self) -> u64 {
        self.advanced
    }
    #[getter]
    fn lost(&self) -> Vec<PyLost> {
        self.lost.iter().map(PyLost::from).collect()
    }
    #[getter]
    fn rtt(&self) -> Option<PyRtt> {
        self.rtt.map(PyRtt::from)
    }
    #[getter]
    fn event(&self) -> Option<&'static str> {
        self.event.map(|event| match event {
            CongestionEvent::Loss => "loss",
            CongestionEvent::Ecn => "ecn",
            CongestionEvent::Timeout { .. } => "timeout",
            CongestionEvent::RecoveryEnd => "recovery-end",
            CongestionEvent::Spurious => "spurious",
        })
    }
    #[getter]
    fn consecutive_timeouts(&self) -> u32 {
        if let Some(CongestionEvent::Timeout { consecutive }) = self.event { consecutive } else { 0 }
    }
    #[getter]
    fn recovery(&self) -> &'static str {
        match self.recovery {
            Recovery::Open => "open",
            Recovery::Fast => "fast",
            Recovery::Timeout => "timeout",
        }
    }
    #[getter]
    fn echoes(&self) -> PyEchoes {
        self.echoes.clone()
    }
    #[getter]
    fn flight(&self) -> u64 {
        self.flight
    }
    #[getter]
    fn in_flight(&self) -> u64 {
        self.in_flight
    }
    #[getter]
    fn window_limited(&self) -> bool {
        self.window_limited
    }
    /// The receiver's report as numbers whose meaning both ends know; other schemes' reports are not shown.
    #[getter]
    fn report(&self) -> Option<Vec<f64>> {
        match &self.report {
            Some(Report::Custom(numbers)) => Some(numbers.to_vec()),
            _ => None,
        }
    }
}

/// A packet that arrived at the receiver.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the packet, read by name from Python")]
#[pyclass(name = "Arrival", frozen, get_all, module = "tailback")]
pub(crate) struct PyArrival {
    number: u64,
    size: u64,
    is_data: bool,
    is_new: bool,
    ce: bool,
    rho: bool,
    eta: bool,
    retransmitted: bool,
    pair: &'static str,
    sent_at: Option<f64>,
}

impl PyArrival {
    pub(crate) fn new(arrival: &Arrival<'_>) -> Self {
        let packet = arrival.packet;
        Self {
            number: packet.number,
            size: packet.size().get(),
            is_data: arrival.is_data(),
            is_new: arrival.is_new,
            ce: packet.ecn() == Ecn::Ce,
            rho: packet.rho(),
            eta: packet.eta(),
            retransmitted: packet.is_retransmitted(),
            pair: match packet.pair() {
                PairPosition::Single => "single",
                PairPosition::First => "first",
                PairPosition::Second => "second",
            },
            sent_at: arrival.control().map(|control| seconds(control.sent_at)),
        }
    }
}

/// A report on its way out.
#[pyclass(name = "Outgoing", frozen, module = "tailback")]
pub(crate) struct PyOutgoing(pub(crate) Outgoing);

#[pymethods]
impl PyOutgoing {
    #[new]
    #[pyo3(signature = (numbers, *, lane=1, size=40))]
    fn new(numbers: Vec<f64>, lane: u8, size: u16) -> PyResult<Self> {
        let lane =
            Lane::new(lane).ok_or_else(|| PyValueError::new_err("lane: expected a number from 0 to 7"))?;
        let report = Report::Custom(numbers.into_boxed_slice());
        Ok(Self(Outgoing { report, lane, size: Bytes::new(size.into()) }))
    }
}

/// A packet in a queue.
#[pyclass(name = "Packet", frozen, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyPacket {
    pub(crate) serial: u64,
    pub(crate) packet: Packet,
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
    fn is_ecn_capable(&self) -> bool {
        self.packet.is_ecn_capable()
    }
}

/// What a part borrows for one call.
#[pyclass(name = "Cx", module = "tailback")]
pub(crate) struct Context {
    stream: Option<Stream>,
    listens: bool,
    pub(crate) notes: Vec<(&'static str, f64)>,
}

impl Context {
    pub(crate) fn new() -> Self {
        Self { stream: None, listens: false, notes: Vec::new() }
    }

    pub(crate) fn lend(&mut self, stream: Stream, listens: bool) {
        self.stream = Some(stream);
        self.listens = listens;
    }

    pub(crate) fn take_back(&mut self) -> Option<Stream> {
        self.stream.take()
    }

    fn stream(&mut self) -> PyResult<&mut Stream> {
        let allowed = "a context is good for the call it was given to; keep what you need, not the context";
        self.stream.as_mut().ok_or_else(|| PyRuntimeError::new_err(allowed))
    }
}

#[pymethods]
impl Context {
    /// Uniform on [0, 1).
    fn uniform(&mut self) -> PyResult<f64> {
        Ok(self.stream()?.uniform())
    }
    /// Exponential with mean 1.
    fn exponential(&mut self) -> PyResult<f64> {
        Ok(self.stream()?.exponential())
    }
    /// True with the given probability.
    fn chance(&mut self, probability: f64) -> PyResult<bool> {
        Ok(self.stream()?.chance(probability))
    }
    /// Publishes a piece of internal state.
    fn note(&mut self, name: &str, value: f64) {
        if self.listens {
            self.notes.push((known(name), value));
        }
    }
}

/// A note's name for the life of the process; parts publish few different ones.
fn known(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashMap<String, &'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name.to_owned(), kept);
    kept
}

/// What a queue discipline borrows for one call.
#[pyclass(name = "QueueCx", module = "tailback")]
pub(crate) struct QueueContext {
    common: Py<Context>,
    rate: BitRate,
    idle_since: Option<Time>,
    pub(crate) drops: Vec<(u64, DropReason)>,
    pub(crate) marks: Vec<(u64, Packet)>,
}

impl QueueContext {
    pub(crate) fn new(common: Py<Context>, rate: BitRate, idle_since: Option<Time>) -> Self {
        Self { common, rate, idle_since, drops: Vec::new(), marks: Vec::new() }
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
    fn drop(&mut self, packet: &PyPacket, early: bool) {
        self.drops.push((packet.serial, if early { DropReason::Early } else { DropReason::Overflow }));
    }
    /// Marks a packet with congestion experienced; false where it is not ECN-capable.
    fn mark_ce(&mut self, packet: &PyPacket) -> bool {
        let capable = packet.packet.is_ecn_capable();
        if capable {
            let mut marked = packet.packet;
            marked.set_ecn(Ecn::Ce);
            self.marks.push((packet.serial, marked));
        }
        capable
    }
    /// Uniform on [0, 1).
    fn uniform(&self, py: Python<'_>) -> PyResult<f64> {
        self.common.bind(py).borrow_mut().uniform()
    }
    /// True with the given probability.
    fn chance(&self, py: Python<'_>, probability: f64) -> PyResult<bool> {
        self.common.bind(py).borrow_mut().chance(probability)
    }
}
