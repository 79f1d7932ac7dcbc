//! What a controller written in Python tells the sender.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tailback_core::{
    AckFrequency, AckWish, BitRate, Burst, Bytes, Directive, Gate, ProbePlan, Span, Time, Tokens,
};

use super::ack_frequency::PyAckFrequency;
use super::given::{Call, Given, number, of_type, whole};
use super::{not_allowed, positive, refused, seconds};

/// No link is faster: what a directive asks for beyond leaves at one instant without end.
const MOST_RATE: f64 = 1e14;
/// A shorter time-out would make an event of every few nanoseconds.
const LEAST_TIMEOUT: f64 = 1e-6;
const DIRECTIVE: Call = Call(
    "Directive",
    &[
        "window",
        "rate",
        "burst",
        "tokens",
        "gate",
        "probe",
        "timeout",
        "until",
        "media",
        "ack_frequency",
        "immediate_ack",
    ],
);
const IDENTITY: &str = "0 to 18446744073709551615";

/// All data leaves as back-to-back pairs.
#[pyclass(frozen, from_py_object, module = "tailback")]
#[derive(Clone)]
pub(crate) struct DataPairs(Span);

#[pymethods]
impl DataPairs {
    #[new]
    #[pyo3(
        signature = (singleton_timeout=Given::LEFT_OUT, *further, **others),
        text_signature = "(singleton_timeout)"
    )]
    fn new(
        singleton_timeout: Given<'_>,
        further: &Bound<'_, PyTuple>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let call = Call("DataPairs", &["singleton_timeout"]);
        call.takes_no_others(further, others)?;
        let given = call.needs("singleton_timeout", singleton_timeout)?;
        let span = amount("singleton_timeout", &given, "seconds of at least 0")?;
        Ok(Self(Span::from_secs_f64(span)))
    }

    #[getter]
    fn singleton_timeout(&self) -> f64 {
        self.0.as_secs_f64()
    }

    fn __repr__(&self) -> String {
        format!("DataPairs(singleton_timeout={})", self.singleton_timeout())
    }
}

/// A pair of control packets leaves whenever the identity changes.
#[pyclass(frozen, get_all, from_py_object, module = "tailback")]
#[derive(Clone)]
pub(crate) struct ControlPair {
    id: u64,
}

#[pymethods]
impl ControlPair {
    #[new]
    #[pyo3(signature = (id=Given::LEFT_OUT, *further, **others), text_signature = "(id)")]
    fn new(
        id: Given<'_>,
        further: &Bound<'_, PyTuple>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let call = Call("ControlPair", &["id"]);
        call.takes_no_others(further, others)?;
        Ok(Self { id: whole("id", &call.needs("id", id)?, IDENTITY)? })
    }

    fn __repr__(&self) -> String {
        format!("ControlPair({})", self.id)
    }
}

/// So many bytes leave at a rate of their own whenever the identity changes.
#[pyclass(frozen, from_py_object, module = "tailback")]
#[derive(Clone)]
pub(crate) struct ProbeCluster {
    id: u64,
    rate: BitRate,
    bytes: Bytes,
}

#[pymethods]
impl ProbeCluster {
    #[new]
    #[pyo3(
        signature = (id=Given::LEFT_OUT, rate=Given::LEFT_OUT, bytes=Given::LEFT_OUT, *further, **others),
        text_signature = "(id, rate, bytes)"
    )]
    fn new(
        id: Given<'_>,
        rate: Given<'_>,
        bytes: Given<'_>,
        further: &Bound<'_, PyTuple>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let call = Call("ProbeCluster", &["id", "rate", "bytes"]);
        call.takes_no_others(further, others)?;
        let (id, rate, bytes) =
            (call.needs("id", id)?, call.needs("rate", rate)?, call.needs("bytes", bytes)?);
        Ok(Self {
            id: whole("id", &id, IDENTITY)?,
            rate: bit_rate("rate", &rate, "bit/s from 0 to 1e14, as of links")?,
            bytes: Bytes::from_f64(amount("bytes", &bytes, "bytes of at least 0")?),
        })
    }

    #[getter]
    const fn id(&self) -> u64 {
        self.id
    }

    #[getter]
    fn rate(&self) -> u64 {
        self.rate.bits_per_sec()
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    fn __repr__(&self) -> String {
        format!("ProbeCluster({}, {}, {})", self.id, self.rate(), self.bytes())
    }
}

/// What data leaves of the rate is padded.
#[pyclass(frozen, from_py_object, module = "tailback")]
#[derive(Clone)]
pub(crate) struct Padding;

#[pymethods]
impl Padding {
    #[new]
    #[pyo3(signature = (*further, **others), text_signature = "()")]
    fn new(further: &Bound<'_, PyTuple>, others: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Call("Padding", &[]).takes_no_others(further, others)?;
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "called by Python")]
    const fn __repr__(&self) -> &'static str {
        "Padding()"
    }
}

/// A finite number of at least 0.
fn amount(name: &str, given: &Bound<'_, PyAny>, allowed: &str) -> PyResult<f64> {
    positive(name, number(name, given, allowed)?, allowed)
}

fn bit_rate(name: &str, given: &Bound<'_, PyAny>, allowed: &str) -> PyResult<BitRate> {
    let rate = amount(name, given, allowed)?;
    if rate > MOST_RATE {
        return Err(not_allowed(name, rate, allowed));
    }
    Ok(BitRate::from_bits_per_sec_f64(rate))
}

fn bytes(given: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    amount("window", given, "bytes of at least 0, or None for no window").map(Bytes::from_f64)
}

fn kind_of_tokens(given: &Bound<'_, PyAny>) -> PyResult<Tokens> {
    let allowed = "'constant' or 'poisson'";
    match &*of_type::<String>("tokens", given, allowed)? {
        "constant" => Ok(Tokens::Constant),
        "poisson" => Ok(Tokens::Poisson),
        other => Err(refused(format!("tokens: {other:?} is not allowed; expected {allowed}"))),
    }
}

fn time_out(given: &Bound<'_, PyAny>) -> PyResult<Span> {
    let allowed = "seconds of at least 1e-6, or None for the transport's own";
    let timeout = amount("timeout", given, allowed)?;
    if timeout < LEAST_TIMEOUT {
        return Err(not_allowed("timeout", timeout, allowed));
    }
    Ok(Span::from_secs_f64(timeout))
}

fn frequency(given: &Bound<'_, PyAny>) -> PyResult<AckFrequency> {
    let allowed = "a tailback.AckFrequency, or None for as the receiver is configured";
    of_type::<PyAckFrequency>("ack_frequency", given, allowed).map(|asked| asked.0)
}

/// Any kind of probes.
#[derive(FromPyObject)]
enum Probe {
    Data(DataPairs),
    Control(ControlPair),
    Cluster(ProbeCluster),
    Padding(Padding),
}

fn plan(given: &Bound<'_, PyAny>) -> PyResult<ProbePlan> {
    let allowed = "a tailback.DataPairs, ControlPair, ProbeCluster or Padding, or None";
    Ok(match of_type("probe", given, allowed)? {
        Probe::Data(pairs) => ProbePlan::DataPairs { singleton_timeout: pairs.0 },
        Probe::Control(pair) => ProbePlan::ControlPair { id: pair.id },
        Probe::Cluster(cluster) => {
            ProbePlan::Cluster { id: cluster.id, rate: cluster.rate, bytes: cluster.bytes }
        }
        Probe::Padding(Padding) => ProbePlan::Padding,
    })
}

/// What a controller tells the sender.
#[pyclass(name = "Directive", frozen, module = "tailback")]
pub(crate) struct PyDirective(pub(crate) Directive, pub(crate) AckWish);

#[pymethods]
impl PyDirective {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called from Python, with names")]
    #[pyo3(
        signature = (
            window=Given::LEFT_OUT, rate=Given::LEFT_OUT, *further, burst=Given::LEFT_OUT, tokens=Given::LEFT_OUT,
            gate=Given::LEFT_OUT, probe=Given::LEFT_OUT, timeout=Given::LEFT_OUT, until=Given::LEFT_OUT,
            media=Given::LEFT_OUT, ack_frequency=Given::LEFT_OUT, immediate_ack=Given::LEFT_OUT, **others
        ),
        text_signature = "(window=None, rate=None, *, burst=0.0, tokens='constant', gate=True, probe=None, timeout=None, until=None, media=None, ack_frequency=None, immediate_ack=0)"
    )]
    fn new(
        window: Given<'_>,
        rate: Given<'_>,
        further: &Bound<'_, PyTuple>,
        burst: Given<'_>,
        tokens: Given<'_>,
        gate: Given<'_>,
        probe: Given<'_>,
        timeout: Given<'_>,
        until: Given<'_>,
        media: Given<'_>,
        ack_frequency: Given<'_>,
        immediate_ack: Given<'_>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        DIRECTIVE.takes_no_others(further, others)?;
        let is_open = gate.or(true, |given| of_type("gate", given, "True or False"))?;
        let until = until.if_any(|given| amount("until", given, "seconds since the start, or None"))?;
        if is_open && until.is_some() {
            let message = "until: is not allowed while the gate is open; expected with gate=False";
            return Err(refused(message.to_owned()));
        }
        let closed = Gate::Closed { until: until.map(|at| Time::ZERO + Span::from_secs_f64(at)) };
        let asked = AckWish {
            frequency: ack_frequency.if_any(frequency)?,
            immediate: immediate_ack.or(0, |given| whole("immediate_ack", given, "0 to 4294967295"))?,
        };
        let directive = Directive {
            window: window.if_any(bytes)?,
            rate: rate.if_any(|given| {
                bit_rate("rate", given, "bit/s from 0 to 1e14, as of links, or None for no rate")
            })?,
            burst: Burst {
                depth: burst.or(Bytes::ZERO, |given| {
                    amount("burst", given, "bytes of at least 0").map(Bytes::from_f64)
                })?,
                tokens: tokens.or(Tokens::Constant, kind_of_tokens)?,
            },
            gate: if is_open { Gate::Open } else { closed },
            probe: probe.if_any(plan)?,
            media: media
                .if_any(|given| bit_rate("media", given, "bit/s from 0 to 1e14, or None for the rate"))?,
            timeout: timeout.if_any(time_out)?,
        };
        Ok(Self(directive, asked))
    }

    #[getter]
    fn window(&self) -> Option<u64> {
        self.0.window.map(Bytes::get)
    }

    #[getter]
    fn rate(&self) -> Option<u64> {
        self.0.rate.map(BitRate::bits_per_sec)
    }

    #[getter]
    fn burst(&self) -> u64 {
        self.0.burst.depth.get()
    }

    #[getter]
    fn tokens(&self) -> &'static str {
        match self.0.burst.tokens {
            Tokens::Constant => "constant",
            Tokens::Poisson => "poisson",
        }
    }

    #[getter]
    fn gate(&self) -> bool {
        self.0.gate.is_open()
    }

    #[getter]
    fn until(&self) -> Option<f64> {
        if let Gate::Closed { until } = self.0.gate { until.map(seconds) } else { None }
    }

    #[getter]
    fn probe<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self.0.probe {
            None => None,
            Some(ProbePlan::DataPairs { singleton_timeout }) => {
                Some(Bound::new(py, DataPairs(singleton_timeout))?.into_any())
            }
            Some(ProbePlan::ControlPair { id }) => Some(Bound::new(py, ControlPair { id })?.into_any()),
            Some(ProbePlan::Cluster { id, rate, bytes }) => {
                Some(Bound::new(py, ProbeCluster { id, rate, bytes })?.into_any())
            }
            Some(ProbePlan::Padding) => Some(Bound::new(py, Padding)?.into_any()),
        })
    }

    #[getter]
    fn media(&self) -> Option<u64> {
        self.0.media.map(BitRate::bits_per_sec)
    }

    #[getter]
    fn timeout(&self) -> Option<f64> {
        self.0.timeout.map(Span::as_secs_f64)
    }

    #[getter]
    fn ack_frequency(&self) -> Option<PyAckFrequency> {
        self.1.frequency.map(PyAckFrequency)
    }

    #[getter]
    const fn immediate_ack(&self) -> u32 {
        self.1.immediate
    }

    fn __repr__(&self) -> String {
        let shown = |value: Option<u64>| value.map_or_else(|| "None".to_owned(), |value| value.to_string());
        let timeout = self.timeout().map_or_else(String::new, |seconds| format!(", timeout={seconds}"));
        let until = self.until().map_or_else(String::new, |seconds| format!(", until={seconds}"));
        let probe = match self.0.probe {
            None => String::new(),
            Some(ProbePlan::DataPairs { singleton_timeout }) => {
                format!(", probe={}", DataPairs(singleton_timeout).__repr__())
            }
            Some(ProbePlan::ControlPair { id }) => format!(", probe={}", ControlPair { id }.__repr__()),
            Some(ProbePlan::Cluster { id, rate, bytes }) => {
                format!(", probe={}", ProbeCluster { id, rate, bytes }.__repr__())
            }
            Some(ProbePlan::Padding) => format!(", probe={}", Padding.__repr__()),
        };
        let media = self.media().map_or_else(String::new, |bits| format!(", media={bits}"));
        let asked = self.1.frequency.map_or_else(String::new, |asked| {
            format!(", ack_frequency={}", PyAckFrequency(asked).__repr__())
        });
        let at_once = if self.1.immediate == 0 {
            String::new()
        } else {
            format!(", immediate_ack={}", self.1.immediate)
        };
        format!(
            "Directive(window={}, rate={}, burst={}, tokens='{}', gate={}{until}{probe}{timeout}{media}{asked}{at_once})",
            shown(self.window()),
            shown(self.rate()),
            self.burst(),
            self.tokens(),
            if self.gate() { "True" } else { "False" },
        )
    }
}
