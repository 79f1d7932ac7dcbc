//! A file to or from another host: moving it is `net`'s, making the endpoints and the tables `scenario`'s, and here the two meet
//! with the interpreter, which hears how far it is.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tailback_core::{Bytes, Observation, Span, Stream, Time};
use tailback_link::LinkCounters;
use tailback_net::secure::{Invitation, KeyPair};
use tailback_net::transfer::{
    self as moving, Offer, Phase, Prepared, ReceiveConfig, Seen, SendConfig, Sizes, Word, receive, send,
};
use tailback_net::udp::EdgeCounters;
use tailback_net::{Clock, shown};
use tailback_scenario::emulation::{Emulation, FlowCounts, SeenFlow};
use tailback_scenario::endpoints::piped;
use tailback_scenario::transfer::{flow_of, scenario_of};
use tailback_scenario::{Outcome, Problems, Scenario};
use tailback_transport::{Receiver, Sender};

use crate::convert::raise;
use crate::custom::RealRun;
use crate::offered;
use crate::real::spans;
use crate::result::RunResult;

create_exception!(tailback._core, TransferError, PyException, "A transfer has ended without its file.");

/// How often the interpreter hears.
const TELL_EVERY: Span = Span::from_millis(100);

/// This host's keys, as bytes.
#[derive(Deserialize)]
struct ToldKeys {
    private: Vec<u8>,
    public: Vec<u8>,
}

impl ToldKeys {
    fn pair(&self) -> PyResult<KeyPair> {
        Ok(KeyPair { private: sized(&self.private)?, public: sized(&self.public)? })
    }
}

fn sized<const N: usize>(bytes: &[u8]) -> PyResult<[u8; N]> {
    let wrong = |_| PyValueError::new_err(format!("{} bytes of a key; expected {N}", bytes.len()));
    bytes.try_into().map_err(wrong)
}

/// What to send, as Python says it.
#[derive(Deserialize)]
struct ToldSend {
    file: PathBuf,
    peers: Vec<SocketAddr>,
    keys: Option<ToldKeys>,
    invitation: Option<Vec<u8>>,
    patience_seconds: f64,
    packet_bytes: u64,
    longer_seconds: f64,
    /// By name, what the receiver must know of classes.
    classes: Map<String, Value>,
    /// Whether somebody wants the result.
    keeps: bool,
}

/// Where to receive.
#[derive(Deserialize)]
struct ToldReceive {
    folder: PathBuf,
    address: Option<IpAddr>,
    link: u32,
    port: u16,
    keys: Option<ToldKeys>,
    only: Option<Vec<u8>>,
    patience_seconds: f64,
    overwrite: bool,
    keeps: bool,
}

/// A new key pair: private and public bytes.
#[pyfunction]
pub(crate) fn new_keys() -> PyResult<(Vec<u8>, Vec<u8>)> {
    let pair = KeyPair::generate().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((pair.private.to_vec(), pair.public.to_vec()))
}

/// What the owner of a key pair gives to senders.
#[pyfunction]
#[pyo3(signature = (private, public, /))]
pub(crate) fn invitation(private: Vec<u8>, public: Vec<u8>) -> PyResult<Vec<u8>> {
    Ok(Invitation::of(&ToldKeys { private, public }.pair()?).to_bytes().to_vec())
}

/// Sends a file as `told` says in JSON, under the scheme of the scenario's one flow.
#[pyfunction]
#[pyo3(signature = (scenario, told, progress, /))]
pub(crate) fn send_file(
    py: Python<'_>,
    scenario: &str,
    told: &str,
    progress: &Bound<'_, PyAny>,
) -> PyResult<(Option<RunResult>, String)> {
    let scenario = Scenario::from_json(scenario).map_err(|problems| raise(py, &problems))?;
    let told: ToldSend = read(told)?;
    let keys = match (&told.keys, &told.invitation) {
        (Some(keys), Some(bytes)) => Some((keys.pair()?, Invitation::from_bytes(&sized(bytes)?))),
        (None, None) => None,
        // Never in the clear by mistake.
        _ => {
            return Err(PyValueError::new_err("keys or an invitation alone; expected both, or none of them"));
        }
    };
    let config = SendConfig {
        file: told.file,
        peers: told.peers,
        keys,
        patience: Span::from_secs_f64(told.patience_seconds),
        packet: Bytes::new(told.packet_bytes),
        longer: Span::from_secs_f64(told.longer_seconds),
    };
    let teller = Teller::new(progress);
    let (real, _entered) = RealRun::enter()?;
    let shared = &real;
    let (classes, keeps) = (told.classes, told.keeps);
    let (finished, teller) = py.detach(move || (sent(&config, &scenario, &classes, &teller, shared), teller));
    conclude(py, finished, &teller, &real, keeps)
}

/// What one end has of a transfer when it is over.
type Finished = Result<(Option<Recording>, Span, Value), moving::TransferError>;

fn sent(
    config: &SendConfig,
    scenario: &Scenario,
    classes: &Map<String, Value>,
    teller: &Teller,
    real: &RealRun,
) -> Finished {
    let recording = RefCell::new(None);
    let prepare = |sizes| {
        let (prepared, scenario) = sender(scenario.clone(), sizes)?;
        real.check().map_err(|error| error.to_string())?;
        let flow = offered::write(&flow_of(&scenario), classes)?;
        // Where another session follows, with packets of another length, the figures go on.
        let recording = &mut *recording.borrow_mut();
        if recording.is_none() {
            *recording = Some(Recording::new(scenario, true)?);
        }
        Ok((prepared, flow))
    };
    let sent = send(config, prepare, &mut |seen| watch(&recording, teller, seen) && !real.has_failed())?;
    let report = json!({
        "name": sent.name,
        "bytes": sent.size.get(),
        "sha256": hex(&sent.hash),
        "resumed_bytes": sent.resumed.get(),
        "peer": sent.peer.to_string(),
        "peer_key": config.keys.as_ref().map(|(_, invitation)| hex(&invitation.public)),
        "seconds": sent.span.as_secs_f64(),
        "packet_bytes": sent.packet.get(),
        "address_changes": sent.moves,
        "has_changed": sent.has_changed,
        "edge": edge(sent.edge),
        "calls": spans(&real.calls()),
    });
    Ok((recording.into_inner(), sent.span, report))
}

/// Receives a file as `told` says in JSON.
#[pyfunction]
#[pyo3(signature = (told, admit, progress, /))]
pub(crate) fn receive_file(
    py: Python<'_>,
    told: &str,
    admit: Py<PyAny>,
    progress: &Bound<'_, PyAny>,
) -> PyResult<(Option<RunResult>, String)> {
    let told: ToldReceive = read(told)?;
    let keeps = told.keeps;
    let config = ReceiveConfig {
        folder: told.folder,
        address: told.address,
        link: told.link,
        port: told.port,
        keys: told.keys.as_ref().map(ToldKeys::pair).transpose()?,
        only: told.only.as_deref().map(sized).transpose()?,
        patience: Span::from_secs_f64(told.patience_seconds),
        overwrite: told.overwrite,
    };
    let teller = Teller::new(progress);
    let (real, _entered) = RealRun::enter()?;
    let shared = &real;
    let (finished, teller) = py.detach(move || (received(&config, &admit, &teller, shared), teller));
    conclude(py, finished, &teller, &real, keeps)
}

fn received(config: &ReceiveConfig, admit: &Py<PyAny>, teller: &Teller, real: &RealRun) -> Finished {
    let (recording, offered) = (RefCell::new(None), RefCell::new(None));
    let prepare = |offer: &Offer| {
        let admitted = |classes: &str| teller.ask(admit, classes);
        let (prepared, scenario) = receiver(offer, admitted)?;
        real.check().map_err(|error| error.to_string())?;
        // Whether there is room for it is not known yet.
        *offered.borrow_mut() = Some(json!({"phase": "offer", "name": offer.name, "total": offer.size.get(),
            "scheme": scenario.flows[0].scheme.title()}));
        *recording.borrow_mut() = Some(Recording::new(scenario, false)?);
        Ok(prepared)
    };
    let tell = |word: Word<'_>| {
        let told = match word {
            Word::Listening(address) => Some(json!({"phase": "listening", "port": address.port()})),
            Word::Accepted => offered.take(),
            Word::Refused { name, why } => Some(json!({"phase": "refused", "name": name, "why": shown(why)})),
            Word::Differs { peer, why } => {
                Some(json!({"phase": "refused", "name": peer.to_string(), "why": why}))
            }
        };
        if let Some(told) = told {
            teller.tell(&told);
        }
    };
    let received =
        receive(config, tell, prepare, &mut |seen| watch(&recording, teller, seen) && !real.has_failed())?;
    let report = json!({
        "path": received.path,
        "bytes": received.size.get(),
        "sha256": hex(&received.hash),
        "resumed_bytes": received.resumed.get(),
        "other_partial_files": received.others,
        "peer": received.peer.to_string(),
        "peer_key": received.sender.map(|key| hex(&key)),
        "seconds": received.span.as_secs_f64(),
        "address_changes": received.moves,
        "edge": edge(received.edge),
        "calls": spans(&real.calls()),
    });
    Ok((recording.into_inner(), received.span, report))
}

fn read<'a, T: Deserialize<'a>>(told: &'a str) -> PyResult<T> {
    serde_json::from_str(told).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |shown, byte| shown + &format!("{byte:02x}"))
}

fn edge(edge: EdgeCounters) -> Value {
    json!({
        "sent_datagrams": edge.sent,
        "unsent_datagrams": edge.unsent,
        "received_datagrams": edge.received,
        "marked_datagrams": edge.marked,
        "refused_datagrams": edge.refused,
    })
}

// ── endpoints ──

/// The sending endpoint of the scenario's flow on a way that carries packets of this size, and the scenario with that size.
fn sender(mut scenario: Scenario, sizes: Sizes) -> Result<(Prepared<Sender>, Scenario), String> {
    let flow = one_flow(&mut scenario)?;
    let annex = flow.transport.clone().serving(&flow.scheme.needs()).longest_annex();
    flow.transport.segment_size = sizes.packet;
    flow.transport.header = sizes.around + Bytes::new(annex as u64);
    let (endpoint, _) = piped(flow).ok_or(NO_STREAM)?;
    let header = flow.transport.header;
    let rng = Stream::new(scenario.seed, "transfer sender");
    Ok((Prepared { endpoint, header, rng }, scenario))
}

/// The receiving endpoint of the flow that a sender offers; `admitted` hears of its classes in Python.
fn receiver(
    offer: &Offer,
    admitted: impl FnOnce(&str) -> Result<(), String>,
) -> Result<(Prepared<Receiver>, Scenario), String> {
    let (flow, classes) = offered::read(&offer.flow)?;
    if let Some(classes) = classes {
        admitted(&classes)?;
    }
    let mut scenario = scenario_of(&offer.name, &flow).map_err(|problems| in_a_line(&problems))?;
    let flow = one_flow(&mut scenario)?;
    let (_, endpoint) = piped(flow).ok_or(NO_STREAM)?;
    let header = flow.transport.header;
    let rng = Stream::new(scenario.seed, "transfer receiver");
    Ok((Prepared { endpoint, header, rng }, scenario))
}

/// All complaints, as both ends are told them.
fn in_a_line(problems: &Problems) -> String {
    let errors: Vec<String> = problems.errors.iter().map(ToString::to_string).collect();
    errors.join("; ")
}

const NO_STREAM: &str =
    "this scheme sends datagrams, of which some get lost; expected a scheme with a reliable stream";

fn one_flow(scenario: &mut Scenario) -> Result<&mut tailback_scenario::flow::FlowConfig, String> {
    if let [flow] = &scenario.flows[..]
        && flow.count == 1
    {
        return Ok(&mut scenario.flows[0]);
    }
    Err(format!("{} groups of flows; expected one flow", scenario.flows.len()))
}

// ── recording ──

/// What one end sees of its flow, as the tables of a run.
struct Recording {
    emulation: Emulation,
    links: usize,
    is_sender: bool,
    last: Option<Seen>,
    first: Option<Bytes>,
}

impl Recording {
    fn new(scenario: Scenario, is_sender: bool) -> Result<Self, String> {
        let emulation = Emulation::new(scenario).map_err(|problems| problems.to_string())?;
        let links = emulation.network().links.len();
        Ok(Self { emulation, links, is_sender, last: None, first: None })
    }

    fn see(&mut self, seen: &Seen) {
        self.first.get_or_insert(seen.done);
        self.last = Some(*seen);
        let counts = self.counts(seen);
        while self.emulation.next_sample() <= seen.now {
            // Nothing is known of the network between.
            let links = vec![LinkCounters::default(); self.links];
            self.emulation.sample(&links, |_, _| {}, std::iter::once(counts));
        }
    }

    /// What the other end must have seen, as far as this one knows.
    fn counts(&self, seen: &Seen) -> FlowCounts {
        let own = seen.observation;
        let app_bytes = seen.done.saturating_sub(self.first.unwrap_or(seen.done));
        if self.is_sender {
            let receiver = Observation {
                received_packets: own.goodput_packets,
                received_bytes: own.goodput_bytes,
                goodput_packets: own.goodput_packets,
                goodput_bytes: own.goodput_bytes,
                app_bytes,
                ..Observation::default()
            };
            return FlowCounts { sender: own, receiver };
        }
        let sender = Observation {
            sent_packets: own.received_packets,
            sent_bytes: own.received_bytes,
            ..Observation::default()
        };
        FlowCounts { sender, receiver: own }
    }

    fn finish(self, span: Span) -> Result<Outcome, Problems> {
        let counts = self.last.map(|seen| self.counts(&seen)).unwrap_or_default();
        let flow = &self.emulation.scenario().flows[0];
        let seen = SeenFlow {
            name: flow.name.clone(),
            protocol: flow.scheme.title().to_owned(),
            from: flow.from.clone().unwrap_or_default(),
            to: flow.to.clone().unwrap_or_default(),
            counts,
        };
        let links = vec![LinkCounters::default(); self.links];
        self.emulation.finish(Time::ZERO + span, links, vec![seen])
    }
}

/// Records, and tells the interpreter every now and then; whether to go on.
fn watch(recording: &RefCell<Option<Recording>>, teller: &Teller, seen: &Seen) -> bool {
    if matches!(seen.phase, Phase::Moving | Phase::Checking)
        && let Some(recording) = &mut *recording.borrow_mut()
    {
        recording.see(seen);
    }
    teller.tell_sometimes(seen)
}

/// Tells the interpreter, and hears whether it wants to go on.
struct Teller {
    progress: Py<PyAny>,
    clock: Clock,
    state: RefCell<Telling>,
}

#[derive(Default)]
struct Telling {
    told: Option<Time>,
    phase: Option<Phase>,
    stopped: Option<PyErr>,
}

impl Teller {
    fn new(progress: &Bound<'_, PyAny>) -> Self {
        Self { progress: progress.clone().unbind(), clock: Clock::start(), state: RefCell::default() }
    }

    fn tell_sometimes(&self, seen: &Seen) -> bool {
        let now = self.clock.now();
        {
            let state = &mut *self.state.borrow_mut();
            let is_due = state.told.is_none_or(|told| now.since(told) >= TELL_EVERY);
            if !is_due && state.phase == Some(seen.phase) {
                return state.stopped.is_none();
            }
            (state.told, state.phase) = (Some(now), Some(seen.phase));
        }
        let phase = match seen.phase {
            Phase::Hashing => "hashing",
            Phase::Waiting => "waiting",
            Phase::Moving => "moving",
            Phase::Checking => "checking",
        };
        self.tell(&json!({"phase": phase, "done": seen.done.get(), "total": seen.total.get(),
            "rtt_seconds": seen.observation.smoothed_rtt.map(Span::as_secs_f64),
            "packet_bytes": seen.packet.map(Bytes::get)}))
    }

    /// Asks whether what an offer says is admitted; an error says why not.
    fn ask(&self, admit: &Py<PyAny>, what: &str) -> Result<(), String> {
        let answer = Python::attach(|py| admit.call1(py, (what,))?.extract::<String>(py));
        match answer {
            Ok(why) if why.is_empty() => Ok(()),
            Ok(why) => Err(why),
            Err(raised) => {
                let why = raised.to_string();
                self.state.borrow_mut().stopped.get_or_insert(raised);
                Err(why)
            }
        }
    }

    /// Whether to go on.
    fn tell(&self, what: &Value) -> bool {
        let text = what.to_string();
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.progress.call1(py, (text,)).map(drop)
        });
        let state = &mut *self.state.borrow_mut();
        state.stopped = state.stopped.take().or(told.err());
        state.stopped.is_none()
    }
}

/// From what happened to what Python gets: arrays of results where they are kept alone, since numpy takes longer to import than
/// many a file takes to arrive.
fn conclude(
    py: Python<'_>,
    finished: Finished,
    teller: &Teller,
    real: &RealRun,
    keeps: bool,
) -> PyResult<(Option<RunResult>, String)> {
    real.outcome(py)?;
    if let Some(stopped) = teller.state.borrow_mut().stopped.take() {
        return Err(stopped);
    }
    let (recording, span, report) = finished.map_err(|error| TransferError::new_err(error.to_string()))?;
    let recording = recording.ok_or_else(|| TransferError::new_err("nothing was recorded"))?;
    let outcome = recording.finish(span).map_err(|problems| raise(py, &problems))?;
    let result = keeps.then(|| RunResult::new(py, outcome)).transpose()?;
    Ok((result, report.to_string()))
}
