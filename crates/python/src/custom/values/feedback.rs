//! What a controller written in Python is told: packets that leave, and batches of feedback.

use pyo3::prelude::*;
use tailback_core::{
    Acked, CongestionEvent, Envelope, Feedback, Lost, OneWay, Recovery, Report, RttSample, Sent,
};

use super::{PyArrivalReport, PyDelivery, place, seconds};

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
    fn pair(&self) -> &'static str {
        place(self.0.pair)
    }
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
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
    pair: &'static str,
    tag: u32,
}

impl From<&Acked> for PyAcked {
    fn from(acked: &Acked) -> Self {
        Self {
            number: acked.number,
            size: acked.size.get(),
            sent_at: seconds(acked.sent_at),
            retransmitted: acked.retransmitted,
            pair: place(acked.pair),
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

/// A segment's way to the receiver, by two clocks.
#[pyclass(name = "OneWay", frozen, get_all, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyOneWay {
    sent_at: f64,
    arrived: f64,
}

impl From<OneWay> for PyOneWay {
    fn from(way: OneWay) -> Self {
        Self { sent_at: seconds(way.sent_at), arrived: seconds(way.arrived) }
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

/// What every report tells, whatever the scheme's.
#[pyclass(name = "Envelope", frozen, get_all, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyEnvelope {
    echo: Option<f64>,
    held: f64,
    arrived_bytes: u64,
    arrived_packets: u64,
}

impl From<&Envelope> for PyEnvelope {
    fn from(envelope: &Envelope) -> Self {
        Self {
            echo: envelope.echo.map(seconds),
            held: envelope.held.as_secs_f64(),
            arrived_bytes: envelope.arrived_bytes.get(),
            arrived_packets: envelope.arrived_packets,
        }
    }
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
    outstanding: u64,
    in_flight: u64,
    window_limited: bool,
    gain: f64,
    /// Makes a report of the policy's own type from its numbers.
    read: Option<Py<PyAny>>,
    asked: Option<Box<Asked>>,
}

/// What only those get who ask for it: others shall not carry it about.
struct Asked {
    /// One that Python can read.
    report: Option<Report>,
    envelope: Option<PyEnvelope>,
    delivery: Option<Py<PyDelivery>>,
    one_way: Option<PyOneWay>,
}

impl Asked {
    fn of(py: Python<'_>, feedback: &Feedback<'_>) -> PyResult<Option<Box<Self>>> {
        let Feedback { report, delivery, one_way, .. } = *feedback;
        if report.is_none() && delivery.is_none() && one_way.is_none() {
            return Ok(None);
        }
        let said = report.map(|envelope| &envelope.report);
        let read = said.filter(|said| matches!(said, Report::Custom(_) | Report::Arrivals { .. }));
        Ok(Some(Box::new(Self {
            report: read.cloned(),
            envelope: report.map(PyEnvelope::from),
            delivery: delivery.map(|sample| Py::new(py, PyDelivery(sample.clone()))).transpose()?,
            one_way: one_way.map(PyOneWay::from),
        })))
    }
}

impl PyFeedback {
    pub(crate) fn new(py: Python<'_>, feedback: &Feedback<'_>, read: Option<&Py<PyAny>>) -> PyResult<Self> {
        let asked = Asked::of(py, feedback)?;
        let echoes = feedback.echoes;
        Ok(Self {
            acked: feedback.acked.to_vec(),
            lost: feedback.lost.to_vec(),
            rtt: feedback.rtt,
            event: feedback.event,
            recovery: feedback.recovery,
            echoes: PyEchoes { ce: echoes.ce, rho: echoes.rho, eta: echoes.eta },
            advanced: feedback.advanced.get(),
            outstanding: feedback.outstanding.get(),
            in_flight: feedback.in_flight.get(),
            window_limited: feedback.window_limited,
            gain: feedback.gain,
            read: read.map(|read| read.clone_ref(py)),
            asked,
        })
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
            CongestionEvent::Idle => "idle",
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
    fn outstanding(&self) -> u64 {
        self.outstanding
    }
    #[getter]
    fn in_flight(&self) -> u64 {
        self.in_flight
    }
    #[getter]
    fn window_limited(&self) -> bool {
        self.window_limited
    }
    #[getter]
    fn gain(&self) -> f64 {
        self.gain
    }
    #[getter]
    fn envelope(&self) -> Option<PyEnvelope> {
        self.asked.as_ref()?.envelope.clone()
    }
    /// The receiver's report: as its policy's type of reports, or of arrivals.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match (self.asked.as_ref().and_then(|asked| asked.report.as_ref()), &self.read) {
            (Some(Report::Custom(numbers)), Some(read)) => read.bind(py).call1((numbers.to_vec(),)).map(Some),
            (Some(Report::Arrivals { first, left, words }), _) => {
                let report = PyArrivalReport { first: *first, left: *left, words: words.clone() };
                Ok(Some(Bound::new(py, report)?.into_any()))
            }
            _ => Ok(None),
        }
    }
    #[getter]
    fn delivery(&self, py: Python<'_>) -> Option<Py<PyDelivery>> {
        self.asked.as_ref()?.delivery.as_ref().map(|sample| sample.clone_ref(py))
    }
    #[getter]
    fn one_way(&self) -> Option<PyOneWay> {
        self.asked.as_ref()?.one_way.clone()
    }
}
