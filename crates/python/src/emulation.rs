//! Real packets over a scenario's links: the router and the programs at its ends are `net`'s, the tables are `scenario`'s, and here
//! the two meet.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use tailback_core::{Observation, Time};
use tailback_link::{LinkCounters, StandaloneLink};
use tailback_net::router::{
    Conduct, DeviceCounters, Ended, Ends, FarEnd, FlowKey, FlowTally, Program, RouterEvent, RouterRecorder,
    SessionConfig, Spans, Words,
};
use tailback_scenario::emulation::{Emulation, FlowCounts, SeenFlow};
use tailback_scenario::table::Column;
use tailback_scenario::{Outcome, Scenario};

use crate::convert::raise;
use crate::custom::{RealRun, last_resort};
use crate::real::{Allowed, Failure, file_of, recorded, spans};
use crate::result::RunResult;

/// A word of a command line, which may be any bytes, as the name of a file may.
type Written = Vec<u8>;

/// What runs at the ends, as Python says it.
#[derive(Deserialize)]
struct Told {
    /// Whether the far end is the network of this process, and not a host of its own.
    outside: bool,
    mtu: u16,
    command: Vec<Written>,
    server: Option<Vec<Written>>,
    /// The number of a file: the session ends when nobody holds its other end.
    held: u32,
    /// The number of a file from which something can be read once there was an interrupt.
    interrupts: u32,
    /// The folder of the result, where it is kept.
    record: Option<String>,
    #[serde(flatten)]
    allowed: Allowed,
}

impl Told {
    fn config(&self) -> SessionConfig {
        let program = |words: &[Written], is_interactive| Program {
            command: words.iter().cloned().map(OsString::from_vec).collect(),
            variables: Vec::new(),
            is_interactive,
        };
        SessionConfig {
            far: if self.outside { FarEnd::Outside } else { FarEnd::Host },
            mtu: self.mtu,
            program: program(&self.command, true),
            server: self.server.as_ref().map(|words| program(words, false)),
        }
    }
}

/// Records what a router does as an emulation's doing.
struct Recording {
    emulation: Emulation,
    /// Whether anybody wants to know of single packets.
    is_logged: bool,
}

impl RouterRecorder for Recording {
    fn packet(&mut self, now: Time, event: RouterEvent<'_>) {
        if !self.is_logged {
            return;
        }
        recorded(event, |event| self.emulation.packet(now, event));
    }

    fn next_sample(&self) -> Time {
        self.emulation.next_sample()
    }

    fn sample(&mut self, _now: Time, links: &mut [StandaloneLink], flows: &[FlowTally]) {
        let counters: Vec<LinkCounters> = links.iter_mut().map(StandaloneLink::counters).collect();
        let state = |index: usize, note: &mut dyn FnMut(&'static str, f64)| links[index].queue_state(note);
        self.emulation.sample(&counters, state, flows.iter().map(counts));
    }
}

/// Runs programs at the ends of the links of a scenario's first flow, as `told` says in JSON, and gives the result where it is
/// kept, and a report as JSON, with the program's status; nothing where it was stopped before the program began. Without a result
/// there are no arrays: numpy takes longer to import than many a command takes.
#[pyfunction]
#[pyo3(signature = (scenario, told, /))]
pub(crate) fn emulate(
    py: Python<'_>,
    scenario: &str,
    told: &str,
) -> PyResult<Option<(Option<RunResult>, String)>> {
    let scenario = Scenario::from_json(scenario).map_err(|problems| raise(py, &problems))?;
    let told: Told = serde_json::from_str(told).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let (real, _entered) = RealRun::enter()?;
    let done = py.detach(|| session(scenario, &told, &real));
    real.outcome(py)?;
    let Some((outcome, report)) = done.map_err(|failure| failure.raised(py))? else { return Ok(None) };
    let result = told.record.is_some().then(|| RunResult::new(py, outcome)).transpose()?;
    Ok(Some((result, report.to_string())))
}

/// The device of the end where the program runs.
const NEAR: usize = 0;

/// Nothing where it was stopped before the program began.
fn session(scenario: Scenario, told: &Told, real: &RealRun) -> Result<Option<(Outcome, Value)>, Failure> {
    let seed = scenario.seed;
    let is_logged = scenario.record.packets || scenario.record.delays;
    let emulation = Emulation::new(scenario)?;
    let links = emulation.link_specs()?.into_iter().map(|spec| StandaloneLink::new(spec, seed)).collect();
    let flow = &emulation.network().flows[0];
    let routes = (flow.forward.clone(), flow.reverse.clone());
    let (held, interrupts) = (file_of(told.held)?, file_of(told.interrupts)?);
    let config = told.config();
    let _resort = last_resort(&held, None)?;
    real.check()?;
    let ends = Ends::new(config.far, config.mtu)?;
    let recording = Recording { emulation, is_logged };
    let words = Words { stops: &[held.as_fd(), real.failure()], interrupts: interrupts.as_fd() };
    let Some(mut ended) = ends.run(&config, links, routes, recording, words)? else { return Ok(None) };
    let report = report(&mut ended, &told.allowed, real.calls());
    let inside = ended.router.inside();
    let end = inside.now();
    let counters =
        (0..inside.recorder().emulation.network().links.len()).map(|link| inside.link(link)).collect();
    let carried = inside.flows().iter().map(seen).collect();
    let outcome = ended.router.into_recorder().emulation.finish(end, counters, carried)?;
    let report = with_counters(report, &outcome);
    Ok(Some((outcome, report)))
}

/// The report with what a summary says of the tables.
fn with_counters(mut report: Value, outcome: &Outcome) -> Value {
    let links = &outcome.links_measured;
    let (dropped, sent) = (links.counts("dropped_packets"), links.counts("transmitted_bytes"));
    // A scenario of an emulation has one link in both directions, up first.
    for ((way, dropped), sent) in ["up", "down"].iter().zip(dropped).zip(sent) {
        report["directions"][way]["dropped_packets"] = json!(dropped);
        report["directions"][way]["transmitted_bytes"] = json!(sent);
    }
    report["seconds"] = json!(outcome.scenario.duration.as_secs_f64());
    let Some(Column::Text(flows)) = outcome.flows_measured.get("name") else { return report };
    report["flow_rows"] = json!(flows.len());
    report
}

fn counts(flow: &FlowTally) -> FlowCounts {
    let sender = Observation {
        sent_packets: flow.arrived.packets,
        sent_bytes: flow.arrived.bytes,
        ..Observation::default()
    };
    let receiver = Observation {
        received_packets: flow.left.packets,
        received_bytes: flow.left.bytes,
        // Of what programs say to each other only its bytes are seen.
        goodput_packets: flow.left.packets,
        goodput_bytes: flow.left.bytes,
        ..Observation::default()
    };
    FlowCounts { sender, receiver }
}

/// A flow as results name it.
fn seen(flow: &FlowTally) -> SeenFlow {
    let FlowKey { source, destination, protocol, ports } = flow.key;
    let protocol = match protocol {
        1 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        58 => "icmpv6".to_owned(),
        FlowKey::FRAGMENT => "fragments".to_owned(),
        other => format!("protocol {other}"),
    };
    // Names have no colons.
    let address = |address: std::net::IpAddr, port: u16| {
        let address = address.to_string().replace(':', "-");
        if ports == (0, 0) { address } else { format!("{address} {port}") }
    };
    let name = format!("{protocol} {} to {}", address(source, ports.0), address(destination, ports.1));
    let (inside, outside) = ("inside".to_owned(), "outside".to_owned());
    let (from, to) = if flow.device == NEAR { (inside, outside) } else { (outside, inside) };
    SeenFlow { name, protocol, from, to, counts: counts(flow) }
}

/// All that is particular to real packets.
fn report(ended: &mut Ended<Recording>, allowed: &Allowed, calls: Spans) -> Value {
    let conduct = Conduct { calls, ..Conduct::of(&mut ended.router, ended.unread) };
    let router = &mut ended.router;
    let devices = router.inside().devices().to_vec();
    let directions = [("up", 0, 1), ("down", 1, 0)].map(|(name, from, to)| {
        let told = direction(&devices[from], &devices[to], &router.delays()[to]);
        (name.to_owned(), told)
    });
    let server = ended.server.as_ref().map(|server| json!({"status": server.status, "said": server.said}));
    let mut told = allowed.judged(&conduct);
    let own = json!({
        "status": ended.status,
        "stopped": ended.is_stopped,
        "server": server,
        "awake_seconds": router.margin().as_secs_f64(),
        "inside_packets": router.inside().inside(),
        "flows": router.inside().flows().len(),
        "is_log_full": router.inside().recorder().emulation.is_log_full(),
        "directions": Value::Object(directions.into_iter().collect()),
    });
    told.extend(own.as_object().cloned().unwrap_or_default());
    Value::Object(told)
}

/// What happened to packets that came by one device and left by the other.
fn direction(from: &DeviceCounters, to: &DeviceCounters, delays: &Spans) -> Value {
    json!({
        "arrived_packets": from.arrived.packets,
        "arrived_bytes": from.arrived.bytes.get(),
        "malformed_packets": from.malformed,
        "link_local_packets": from.link_local,
        "delivered_packets": to.left.packets,
        "delivered_bytes": to.left.bytes.get(),
        "marked_packets": to.marked,
        "delay": spans(delays),
    })
}
