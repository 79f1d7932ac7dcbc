//! A scenario with real packets on this machine: hosts, router and clocks are `net`'s, flows and tables are `scenario`'s, and
//! here they meet.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use tailback_core::{Observation, Packet, Stream, Time};
use tailback_link::{LinkCounters, StandaloneLink};
use tailback_net::lab::{End, FlowEnds, LabEnded, LabFlow, LabPlan, Window, congestion_controls, run};
use tailback_net::router::{Conduct, FlowTally, RouterEvent, RouterRecorder, Spans, Tally};
use tailback_scenario::emulation::{DrivenFlow, Emulation, FlowCounts};
use tailback_scenario::endpoints::{Assembly, Ends};
use tailback_scenario::lab::{self, Kernel, counterpart};
use tailback_scenario::topology::Network;
use tailback_scenario::{Outcome, Scenario};

use crate::convert::raise;
use crate::custom::{RealRun, last_resort, within};
use crate::real::{Allowed, Failure, file_of, recorded, spans};
use crate::result::RunResult;

/// What is to be known beside the scenario.
#[derive(Deserialize)]
struct Told {
    /// By group of flows, the kernel's congestion control that carries it.
    kernel: Kernel,
    /// The number of a file: the run ends when nobody holds its other end.
    held: u32,
    /// Where the result goes.
    folder: PathBuf,
    #[serde(flatten)]
    allowed: Allowed,
}

/// A scenario file in which flows may have the kernel's schemes, as JSON with counterparts of ours in their places, and what
/// they are: by group, the kernel's name of the scheme.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub(crate) fn load_lab(py: Python<'_>, path: &str) -> PyResult<(String, BTreeMap<String, String>)> {
    let (scenario, kernel) = lab::load(path.as_ref()).map_err(|problems| raise(py, &problems))?;
    Ok((scenario.to_json(), kernel))
}

/// The same of a scenario written as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, /))]
pub(crate) fn read_lab(py: Python<'_>, scenario: &str) -> PyResult<(String, BTreeMap<String, String>)> {
    let value = serde_json::from_str(scenario).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let (scenario, kernel) = lab::of_value(&value, Path::new("")).map_err(|problems| raise(py, &problems))?;
    Ok((scenario.to_json(), kernel))
}

/// The scenario with the headers of real packets, as JSON, where it can be had with real packets.
#[pyfunction]
#[pyo3(signature = (scenario, kernel, /))]
#[expect(clippy::needless_pass_by_value, reason = "Python hands over tables of its own")]
pub(crate) fn for_lab(py: Python<'_>, scenario: &str, kernel: Kernel) -> PyResult<String> {
    Scenario::from_json(scenario)
        .and_then(|scenario| scenario.for_lab(&kernel, &congestion_controls()))
        .map(|scenario| scenario.to_json())
        .map_err(|problems| raise(py, &problems))
}

/// The congestion controls that the kernel has, and the scheme of ours that does the same, where there is one.
#[pyfunction]
pub(crate) fn kernel_schemes() -> Vec<(String, Option<&'static str>)> {
    let names = congestion_controls();
    names.into_iter().map(|name| (name.clone(), counterpart(&name))).collect()
}

/// Runs a scenario with real packets, as `told` says in JSON, and gives the result and a report as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, told, /))]
pub(crate) fn laboratory(py: Python<'_>, scenario: &str, told: &str) -> PyResult<(RunResult, String)> {
    let scenario = Scenario::from_json(scenario).map_err(|problems| raise(py, &problems))?;
    let told: Told = serde_json::from_str(told).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let (real, _entered) = RealRun::enter()?;
    let done = py.detach(|| session(scenario, &told, &real));
    real.outcome(py)?;
    let (outcome, report) = done.map_err(|failure| failure.raised(py))?;
    Ok((RunResult::new(py, outcome)?, report.to_string()))
}

fn session(scenario: Scenario, told: &Told, real: &RealRun) -> Result<(Outcome, Value), Failure> {
    let scenario = scenario.for_lab(&told.kernel, &congestion_controls())?;
    let (end, warm_up) = (scenario.end(), Time::ZERO + scenario.warm_up);
    let window = Window { bin: scenario.record.bin, warm_up, end };
    let emulation = Emulation::new(scenario)?;
    let plan = plan(&emulation, &told.kernel, window)?;
    let held = file_of(told.held)?;
    let recording = Recording::new(emulation, &plan, window);
    let _resort = last_resort(&held, Some(told.folder.clone()))?;
    real.check()?;
    let mut ended = run(plan, recording, &[held.as_fd(), real.failure()])?;
    let report = report(&mut ended, told, real.calls());
    let inside = ended.router.inside();
    let end = inside.now();
    let links = inside.recorder().emulation.network().links.len();
    let last = (0..links).map(|link| inside.link(link)).collect::<Vec<_>>();
    let ends = ended.flows;
    let Recording { emulation, warm, flows, .. } = ended.router.into_recorder();
    let scenario = emulation.scenario();
    let schemes = emulation.network().flows.iter().map(|flow| {
        let congestion = told.kernel.get(&scenario.flows[flow.group].name)?;
        Some(format!("kernel-{congestion}"))
    });
    let driven = ends
        .into_iter()
        .zip(flows)
        .zip(schemes)
        .map(|((ends, seen), scheme)| driven(ends, &seen, scheme))
        .collect::<Vec<_>>();
    let warm = warm.unwrap_or_else(|| vec![LinkCounters::default(); links]);
    Ok((emulation.finish_driven(end, (warm, last), &driven), report))
}

/// The hosts, links and flows of a scenario.
fn plan(emulation: &Emulation, kernel: &Kernel, window: Window) -> Result<LabPlan, Failure> {
    let (scenario, network) = (emulation.scenario(), emulation.network());
    let seed = scenario.seed;
    let links = emulation.link_specs()?.into_iter().map(|spec| StandaloneLink::new(spec, seed)).collect();
    let hosts = hosts(network);
    let assembly = Assembly::new(scenario, network, seed);
    let flow = |(index, flow): (usize, &tailback_scenario::topology::NetworkFlow)| {
        let Ends { sender, receiver, start, stop } = assembly.flow(index);
        let config = &scenario.flows[flow.group];
        let ends = if let Some(congestion) = kernel.get(&config.name) {
            FlowEnds::Kernel {
                congestion: congestion.clone(),
                source: config.source.build(),
                ecn: config.is_ecn_capable(),
            }
        } else {
            let of_datagrams = config.sends_datagrams();
            let header = if of_datagrams { config.datagram.header } else { config.transport.header };
            FlowEnds::Own { sender, receiver, header }
        };
        // The streams that the simulator gives them.
        let stream = |what: &str| Stream::of_part(seed, &flow.name, what);
        LabFlow {
            hosts: (hosts[&flow.ends.0], hosts[&flow.ends.1]),
            forward: flow.forward.clone(),
            reverse: flow.reverse.clone(),
            segment: config.packet_size(),
            start,
            stop,
            rngs: (stream("sender"), stream("receiver")),
            ends,
        }
    };
    let flows = network.flows.iter().enumerate().map(flow).collect();
    Ok(LabPlan { hosts: hosts.len(), links, flows, window, within: Arc::new(within) })
}

/// The nodes where flows begin or end, with the numbers of their hosts.
fn hosts(network: &Network) -> BTreeMap<usize, usize> {
    let mut nodes: Vec<usize> = network.flows.iter().flat_map(|flow| [flow.ends.0, flow.ends.1]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().enumerate().map(|(host, node)| (node, host)).collect()
}

/// What the router saw of a flow: its packets from sender to receiver, at the ends of bins and at other instants.
#[derive(Clone, Debug, Default)]
struct Seen {
    hosts: (usize, usize),
    is_kernel: bool,
    now: (Tally, Tally),
    bins: Vec<(Tally, Tally)>,
    warm: (Tally, Tally),
}

/// Records what the router does.
struct Recording {
    emulation: Emulation,
    is_logged: bool,
    warm_up: Time,
    /// The links' counters at the end of the warm-up, which has come then.
    warm: Option<Vec<LinkCounters>>,
    flows: Vec<Seen>,
}

impl Recording {
    fn new(emulation: Emulation, plan: &LabPlan, window: Window) -> Self {
        let record = &emulation.scenario().record;
        let is_logged = record.packets || record.delays;
        let seen = |flow: &LabFlow| Seen {
            hosts: flow.hosts,
            is_kernel: matches!(flow.ends, FlowEnds::Kernel { .. }),
            ..Seen::default()
        };
        let flows = plan.flows.iter().map(seen).collect();
        Self { is_logged, warm_up: window.warm_up, warm: None, flows, emulation }
    }

    /// Counts the kernel's packets, of which the endpoints do not tell.
    fn count(&mut self, packet: &Packet, device: usize, arrived: bool) {
        let Some(seen) = self.flows.get_mut(packet.flow.index()).filter(|seen| seen.is_kernel) else {
            return;
        };
        let of = if arrived { (seen.hosts.0, &mut seen.now.0) } else { (seen.hosts.1, &mut seen.now.1) };
        if of.0 == device {
            of.1.packets += 1;
            of.1.bytes += packet.size();
        }
    }

    fn log(&mut self, now: Time, event: RouterEvent<'_>) {
        recorded(event, |event| self.emulation.packet(now, event));
    }
}

impl RouterRecorder for Recording {
    fn packet(&mut self, now: Time, event: RouterEvent<'_>) {
        match event {
            RouterEvent::Arrived(device, packet) => self.count(packet, device, true),
            RouterEvent::Left(device, packet) => self.count(packet, device, false),
            _ => {}
        }
        if self.is_logged {
            self.log(now, event);
        }
    }

    fn next_sample(&self) -> Time {
        let warm = if self.warm.is_none() { self.warm_up } else { Time::NEVER };
        self.emulation.next_sample().min(warm)
    }

    fn sample(&mut self, now: Time, links: &mut [StandaloneLink], _: &[FlowTally]) {
        let counters: Vec<LinkCounters> = links.iter_mut().map(StandaloneLink::counters).collect();
        if now >= self.emulation.next_sample() {
            let state =
                |index: usize, note: &mut dyn FnMut(&'static str, f64)| links[index].queue_state(note);
            self.emulation.sample(&counters, state, std::iter::empty());
            self.flows.iter_mut().for_each(|seen| seen.bins.push(seen.now));
        }
        if now >= self.warm_up && self.warm.is_none() {
            self.flows.iter_mut().for_each(|seen| seen.warm = seen.now);
            self.warm = Some(counters);
        }
    }
}

/// What became of a flow, by its ends and, where it is the kernel's, by the router.
fn driven((sender, receiver): (End, End), seen: &Seen, scheme: Option<String>) -> DrivenFlow {
    let counts = |sender: Observation, receiver: Observation, wire: (Tally, Tally)| {
        if !seen.is_kernel {
            return FlowCounts { sender, receiver };
        }
        let sender = Observation { sent_packets: wire.0.packets, sent_bytes: wire.0.bytes, ..sender };
        let received_packets = wire.1.packets;
        FlowCounts {
            sender,
            receiver: Observation { received_packets, received_bytes: wire.1.bytes, ..receiver },
        }
    };
    let (near, far) = (&sender.looks, &receiver.looks);
    let bins = near.bins.iter().zip(&far.bins).enumerate();
    let bins =
        bins.map(|(bin, (near, far))| counts(*near, *far, seen.bins.get(bin).copied().unwrap_or(seen.now)));
    let messages = sender.transfers.iter().map(|file| (file.size, file.began, file.ended));
    DrivenFlow {
        scheme,
        bins: bins.collect(),
        warm: counts(near.warm, far.warm, seen.warm),
        last: counts(near.last, far.last, seen.now),
        finished: sender.finished,
        messages: messages.collect(),
    }
}

/// All that is particular to real packets.
fn report(ended: &mut LabEnded<Recording>, told: &Told, calls: Spans) -> Value {
    let mut conduct = Conduct {
        calls,
        unreceived: ended.unreceived,
        is_stopped: ended.is_stopped,
        ..Conduct::of(&mut ended.router, ended.unread)
    };
    let inside = ended.router.inside();
    for (flow, (sender, receiver)) in inside.recorder().emulation.network().flows.iter().zip(&ended.flows) {
        for (end, what) in [(sender, "sender"), (receiver, "receiver")] {
            conduct.timers.merge(&end.timers);
            let early =
                end.error.iter().map(|error| format!("the {what} of {} ended early: {error}", flow.name));
            conduct.ended_early.extend(early);
        }
    }
    let is_log_full = inside.recorder().emulation.is_log_full();
    let mut report = told.allowed.judged(&conduct);
    let own = json!({
        "kind": "lab",
        "kernel": told.kernel,
        "encrypted": false,
        "stopped": ended.is_stopped,
        "timers": spans(&conduct.timers),
        "awake_seconds": ended.router.margin().as_secs_f64(),
        "is_log_full": is_log_full,
    });
    report.extend(own.as_object().cloned().unwrap_or_default());
    Value::Object(report)
}
