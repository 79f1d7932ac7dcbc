//! What a controller written in Python tells the sender.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use tailback_core::{AckWish, BitRate, Burst, Bytes, Directive, Gate, ProbePlan, Span, Time, Tokens};

use super::ack_frequency::PyAckFrequency;
use super::{not_allowed, positive, seconds};

/// No link is faster: what a directive asks for beyond leaves at one instant without end.
const MOST_RATE: f64 = 1e14;
/// A shorter time-out would make an event of every few nanoseconds.
const LEAST_TIMEOUT: f64 = 1e-6;

/// A number of this unit: what is none is refused with the unit, since Python's own words name none.
macro_rules! numbers {
    ($($name:ident: $unit:literal,)*) => {
        $(
            #[derive(Clone, Copy)]
            struct $name(f64);

            impl<'a, 'py> FromPyObject<'a, 'py> for $name {
                type Error = PyErr;

                fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
                    given.extract::<f64>().map(Self).map_err(|_| {
                        let shown = given.repr().map_or_else(|_| "this".to_owned(), |text| text.to_string());
                        PyTypeError::new_err(format!(concat!("{} is not allowed; expected a number, in ", $unit), shown))
                    })
                }
            }
        )*
    };
}
numbers! {
    InBytes: "bytes",
    InBits: "bit/s",
    InSeconds: "seconds",
}

/// All data leaves as back-to-back pairs.
#[pyclass(frozen, from_py_object, module = "tailback")]
#[derive(Clone)]
pub(crate) struct DataPairs(Span);

#[pymethods]
impl DataPairs {
    #[new]
    fn new(singleton_timeout: InSeconds) -> PyResult<Self> {
        let span = positive("singleton_timeout", singleton_timeout.0, "seconds of at least 0")?;
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
    const fn new(id: u64) -> Self {
        Self { id }
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
    fn new(id: u64, rate: InBits, bytes: InBytes) -> PyResult<Self> {
        let bytes = Bytes::from_f64(positive("bytes", bytes.0, "bytes of at least 0")?);
        Ok(Self { id, rate: bit_rate("rate", rate.0, "bit/s from 0 to 1e14, as of links")?, bytes })
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
    const fn new() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "called by Python")]
    const fn __repr__(&self) -> &'static str {
        "Padding()"
    }
}

fn bit_rate(name: &str, value: f64, allowed: &str) -> PyResult<BitRate> {
    let rate = positive(name, value, allowed)?;
    if rate > MOST_RATE {
        return Err(not_allowed(name, rate, allowed));
    }
    Ok(BitRate::from_bits_per_sec_f64(rate))
}

/// Any kind of probes, as a directive takes them.
#[derive(FromPyObject)]
enum Probe {
    Data(DataPairs),
    Control(ControlPair),
    Cluster(ProbeCluster),
    Padding(Padding),
}

impl Probe {
    fn plan(self) -> ProbePlan {
        match self {
            Self::Data(pairs) => ProbePlan::DataPairs { singleton_timeout: pairs.0 },
            Self::Control(pair) => ProbePlan::ControlPair { id: pair.id },
            Self::Cluster(cluster) => {
                ProbePlan::Cluster { id: cluster.id, rate: cluster.rate, bytes: cluster.bytes }
            }
            Self::Padding(Padding) => ProbePlan::Padding,
        }
    }
}

/// What a controller tells the sender.
#[pyclass(name = "Directive", frozen, module = "tailback")]
pub(crate) struct PyDirective(pub(crate) Directive, pub(crate) AckWish);

#[pymethods]
impl PyDirective {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called from Python, with names")]
    #[pyo3(signature = (window=None, rate=None, *, burst=InBytes(0.0), tokens="constant", gate=true, probe=None, timeout=None, until=None, media=None, ack_frequency=None, immediate_ack=0))]
    fn new(
        window: Option<InBytes>,
        rate: Option<InBits>,
        burst: InBytes,
        tokens: &str,
        gate: bool,
        probe: Option<Probe>,
        timeout: Option<InSeconds>,
        until: Option<InSeconds>,
        media: Option<InBits>,
        ack_frequency: Option<PyAckFrequency>,
        immediate_ack: i64,
    ) -> PyResult<Self> {
        if gate && until.is_some() {
            let message = "until: is not allowed while the gate is open; expected with gate=False";
            return Err(PyValueError::new_err(message));
        }
        let until = until
            .map(|InSeconds(at)| positive("until", at, "seconds since the start, or None"))
            .transpose()?;
        let bytes = |InBytes(value)| {
            positive("window", value, "bytes of at least 0, or None for no window").map(Bytes::from_f64)
        };
        let bits =
            |InBits(value)| bit_rate("rate", value, "bit/s from 0 to 1e14, as of links, or None for no rate");
        let made = |InBits(value)| bit_rate("media", value, "bit/s from 0 to 1e14, or None for the rate");
        let span = |InSeconds(value)| {
            let allowed = "seconds of at least 1e-6, or None for the transport's own";
            let timeout = positive("timeout", value, allowed)?;
            if timeout < LEAST_TIMEOUT {
                Err(not_allowed("timeout", timeout, allowed))
            } else {
                Ok(Span::from_secs_f64(timeout))
            }
        };
        let tokens = match tokens {
            "constant" => Tokens::Constant,
            "poisson" => Tokens::Poisson,
            other => {
                let message = format!("tokens: {other:?} is not allowed; expected 'constant' or 'poisson'");
                return Err(PyValueError::new_err(message));
            }
        };
        let asked = AckWish {
            frequency: ack_frequency.map(|asked| asked.0),
            immediate: u32::try_from(immediate_ack).map_err(|_| {
                let message =
                    format!("immediate_ack: {immediate_ack} is not allowed; expected 0 to {}", u32::MAX);
                PyValueError::new_err(message)
            })?,
        };
        let directive = Directive {
            window: window.map(bytes).transpose()?,
            rate: rate.map(bits).transpose()?,
            burst: Burst {
                depth: Bytes::from_f64(positive("burst", burst.0, "bytes of at least 0")?),
                tokens,
            },
            gate: if gate {
                Gate::Open
            } else {
                Gate::Closed { until: until.map(|at| Time::ZERO + Span::from_secs_f64(at)) }
            },
            probe: probe.map(Probe::plan),
            media: media.map(made).transpose()?,
            timeout: timeout.map(span).transpose()?,
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
