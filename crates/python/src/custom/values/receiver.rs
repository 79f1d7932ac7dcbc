//! What a feedback policy written in Python is told and what it reports.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use tailback_core::{Arrival, Bytes, ControlInfo, Ecn, Lane, Outgoing, Report, Span};

use super::given::{Call, Given, whole};
use super::{codepoint, mistyped, place, refused, seconds};

/// What a control packet or stamped data packet carries.
#[pyclass(name = "Control", frozen, get_all, module = "tailback")]
#[derive(Clone)]
pub(crate) struct PyControl {
    pair: u64,
    packets_sent: u64,
    bytes_sent: u64,
    in_flight: u64,
    virtual_delay: f64,
    sent_at: f64,
    echo: Option<f64>,
    held: f64,
    rtt: Option<f64>,
    app_rate: Option<f64>,
}

impl From<&ControlInfo> for PyControl {
    fn from(info: &ControlInfo) -> Self {
        Self {
            pair: info.pair,
            packets_sent: info.packets_sent,
            bytes_sent: info.bytes_sent.get(),
            in_flight: info.in_flight.get(),
            virtual_delay: info.virtual_delay.as_secs_f64(),
            sent_at: seconds(info.sent_at),
            echo: info.echo.map(seconds),
            held: info.held.as_secs_f64(),
            rtt: info.rtt.map(Span::as_secs_f64),
            app_rate: info.app_rate.map(|rate| rate.bits_per_sec() as f64),
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
    is_last: bool,
    ecn: &'static str,
    ce: bool,
    rho: bool,
    eta: bool,
    retransmitted: bool,
    lane: u8,
    pair: &'static str,
    control: Option<PyControl>,
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
            is_last: packet.is_last(),
            ecn: codepoint(packet.ecn()),
            ce: packet.ecn() == Ecn::Ce,
            rho: packet.rho(),
            eta: packet.eta(),
            retransmitted: packet.is_retransmitted(),
            lane: packet.lane().number(),
            pair: place(packet.pair()),
            control: arrival.control().map(PyControl::from),
            sent_at: arrival.control().map(|control| seconds(control.sent_at)),
        }
    }
}

/// A report on its way out: the numbers of the policy's type of reports, in the order of its fields.
#[pyclass(name = "Outgoing", frozen, module = "tailback")]
pub(crate) struct PyOutgoing {
    pub(crate) report: Py<PyAny>,
    pub(crate) outgoing: Outgoing,
}

#[pymethods]
impl PyOutgoing {
    #[new]
    #[pyo3(
        signature = (report=Given::LEFT_OUT, *further, lane=Given::LEFT_OUT, size=Given::LEFT_OUT, **others),
        text_signature = "(report, *, lane=1, size=40)"
    )]
    fn new(
        report: Given<'_>,
        further: &Bound<'_, PyTuple>,
        lane: Given<'_>,
        size: Given<'_>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let call = Call("Outgoing", &["report", "lane", "size"]);
        call.takes_no_others(further, others)?;
        let report = call.needs("report", report)?;
        let lane: u8 = lane.or(1, |given| whole("lane", given, "0 to 7"))?;
        let size: u16 = size.or(40, |given| whole("size", given, "0 to 65535 bytes"))?;
        let lane = Lane::new(lane)
            .ok_or_else(|| refused(format!("lane: {lane} is not allowed; expected 0 to 7")))?;
        let said = Report::Custom(numbers(&report)?.into_boxed_slice());
        let outgoing = Outgoing { report: said, lane, size: Bytes::new(size.into()) };
        Ok(Self { report: report.unbind(), outgoing })
    }
}

/// The fields of a data class, all of which are numbers.
fn numbers(report: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let fields = report.getattr("__dataclass_fields__").ok().filter(|_| !report.is_instance_of::<PyType>());
    let Some(fields) = fields else {
        let message = format!("report: {} is not allowed; expected a data class of numbers", report.repr()?);
        return Err(mistyped(message));
    };
    let mut found = Vec::new();
    for name in fields.try_iter()? {
        let name = name?.extract::<String>()?;
        let value = report.getattr(&name)?;
        let number = value
            .extract::<f64>()
            .map_err(|_| mistyped(format!("report.{name}: {value} is not allowed; expected a number")))?;
        if !number.is_finite() {
            // Frames over real sockets have no others.
            let message = format!("report.{name}: {value} is not allowed; expected a finite number");
            return Err(refused(message));
        }
        found.push(number);
    }
    Ok(found)
}
