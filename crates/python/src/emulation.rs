//! Real packets over a scenario's links: the router and the programs at its ends are `net`'s, the tables are `scenario`'s, and here
//! the two meet.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use tailback_core::{Observation, Packet, Span, Time};
use tailback_link::{LinkCounters, StandaloneLink};
use tailback_net::router::{
    Budget, DeviceCounters, Ended, Ends, FarEnd, FlowKey, FlowTally, Invalid, Program, RouterEvent,
    RouterRecorder, SessionConfig, Spans, serial,
};
use tailback_scenario::emulation::{Emulation, FlowCounts, SeenFlow};
use tailback_scenario::{Outcome, Problems, Scenario};
use tailback_sim::PacketEvent;

use crate::convert::raise;
use crate::custom::{RealRun, last_resort};
use crate::result::RunResult;

/// What runs at the ends, as Python says it.
#[derive(Deserialize)]
struct Told {
    /// Whether the far end is the network of this process, and not a host of its own.
    outside: bool,
    mtu: u16,
    command: Vec<String>,
    server: Option<Vec<String>>,
    /// The number of a file: the session ends when nobody holds its other end.
    held: u32,
    median_seconds: f64,
    p99_seconds: f64,
}

impl Told {
    fn config(&self) -> SessionConfig {
        let program = |words: &Vec<String>, is_interactive| Program {
            command: words.iter().map(Into::into).collect(),
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

    fn budget(&self) -> Budget {
        Budget {
            median: Span::from_secs_f64(self.median_seconds),
            p99: Span::from_secs_f64(self.p99_seconds),
        }
    }
}

/// Of fewer than these there is no 99th percentile. Endpoints whose packets answer others have few timers.
pub(crate) const FEW: u64 = 100;

/// Records what a router does as an emulation's doing.
struct Recording {
    emulation: Emulation,
    /// Whether anybody wants to know of single packets.
    is_logged: bool,
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

/// Runs programs at the ends of the links of a scenario's first flow, as `told` says in JSON, and gives the result, a report as
/// JSON, and the program's status.
#[pyfunction]
#[pyo3(signature = (scenario, told, /))]
pub(crate) fn emulate(py: Python<'_>, scenario: &str, told: &str) -> PyResult<(RunResult, String)> {
    let scenario = Scenario::from_json(scenario).map_err(|problems| raise(py, &problems))?;
    let told: Told = serde_json::from_str(told).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let (real, _entered) = RealRun::enter()?;
    let done = py.detach(|| session(scenario, &told, &real));
    real.outcome(py)?;
    let (outcome, report) = done.map_err(|failure| failure.raised(py))?;
    Ok((RunResult::new(py, outcome)?, report.to_string()))
}

/// The device of the end where the program runs.
const NEAR: usize = 0;

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

fn session(scenario: Scenario, told: &Told, real: &RealRun) -> Result<(Outcome, Value), Failure> {
    let seed = scenario.seed;
    let is_logged = scenario.record.packets || scenario.record.delays;
    let emulation = Emulation::new(scenario)?;
    let links = emulation.link_specs()?.into_iter().map(|spec| StandaloneLink::new(spec, seed)).collect();
    let flow = &emulation.network().flows[0];
    let routes = (flow.forward.clone(), flow.reverse.clone());
    let held: OwnedFd = File::open(format!("/proc/self/fd/{}", told.held))?.into();
    let config = told.config();
    let _resort = last_resort(&held, None)?;
    real.check()?;
    let ends = Ends::new(config.far, config.mtu)?;
    let recording = Recording { emulation, is_logged };
    let stops = [held.as_fd(), real.failure()];
    let mut ended = ends.run(&config, links, routes, recording, &stops)?;
    let report = report(&mut ended, &told.budget(), &real.calls());
    let inside = ended.router.inside();
    let end = inside.now();
    let counters =
        (0..inside.recorder().emulation.network().links.len()).map(|link| inside.link(link)).collect();
    let carried = inside.flows().iter().map(seen).collect();
    let outcome = ended.router.into_recorder().emulation.finish(end, counters, carried)?;
    Ok((outcome, report))
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
fn report(ended: &mut Ended<Recording>, budget: &Budget, calls: &Spans) -> Value {
    let router = &mut ended.router;
    let mut reasons = budget.judge(router.lateness());
    let devices = router.inside().devices().to_vec();
    let unread = ended.unread + devices.iter().map(|device| device.no_room).sum::<u64>();
    let unsent = devices.iter().map(|device| device.unsent).sum();
    reasons.extend((unread > 0).then_some(Invalid::Unread(unread)));
    reasons.extend((unsent > 0).then_some(Invalid::Unsent(unsent)));
    let mut reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    reasons.extend(late_calls(calls, budget));
    let directions = [("up", 0, 1), ("down", 1, 0)].map(|(name, from, to)| {
        let told = direction(&devices[from], &devices[to], &router.delays()[to]);
        (name.to_owned(), told)
    });
    json!({
        "status": ended.status,
        "stopped": ended.is_stopped,
        "valid": reasons.is_empty(),
        "reasons": reasons,
        "budget": {"median_seconds": budget.median.as_secs_f64(), "p99_seconds": budget.p99.as_secs_f64()},
        "lateness": spans(router.lateness()),
        "calls": spans(calls),
        "awake_seconds": router.margin().as_secs_f64(),
        "inside_packets": router.inside().inside(),
        "flows": router.inside().flows().len(),
        "is_log_full": router.inside().recorder().emulation.is_log_full(),
        "directions": Value::Object(directions.into_iter().collect()),
    })
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

/// Every reason why a run whose custom parts took so long does not count: whatever they do, packets leave later by that.
pub(crate) fn late_calls(calls: &Spans, budget: &Budget) -> Vec<String> {
    let late = if calls.count() < FEW { Vec::new() } else { budget.judge(calls) };
    late.iter()
        .map(|late| late.to_string().replace("packets left", "calls of custom parts came back"))
        .collect()
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
