//! A scenario's links in the hands of somebody with a clock and real packets, and the tables of what they did: the same as of a
//! simulated run. Clocks, devices and namespaces are the driver's; simulated runs are `run.rs`'s.

use std::sync::Arc;

use tailback_core::{LinkId, Observation, Span, Time};
use tailback_link::{LinkCounters, LinkSpec};
use tailback_sim::{
    DelayRecorder, FlowBins, FlowSnapshot, LinkBins, PacketEvent, PacketLog, Recorded, Recorder, SeriesPlan,
    TimeSeries,
};

use crate::build::link_specs;
use crate::flow::FlowConfig;
use crate::outcome::{self, Outcome};
use crate::problems::Problems;
use crate::scenario::Scenario;
use crate::snapshot::Snapshot;
use crate::table::{Column, Table};
use crate::topology::Network;

mod driven;

pub use driven::DrivenFlow;

/// So many flows have rows in tables: those that came first.
pub const MOST_FLOWS: usize = 1000;
/// What the log of packets may take, in bytes.
const MOST_LOGGED: u64 = 1_000_000_000;
/// So many flows have a time series.
const MOST_SERIES: usize = 256;

/// A flow of somebody's programs.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenFlow {
    /// Its name in results.
    pub name: String,
    /// What stands in place of its scheme, which nobody knows: its protocol.
    pub protocol: String,
    /// The node where it comes from.
    pub from: String,
    /// The node where it goes.
    pub to: String,
    /// What it sent and what arrived of it.
    pub counts: FlowCounts,
}

/// What a flow has sent, and what has arrived of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowCounts {
    /// As its sender would tell.
    pub sender: Observation,
    /// As its receiver would.
    pub receiver: Observation,
}

/// Links that somebody drives, and what is recorded of them.
#[derive(Debug)]
pub struct Emulation {
    scenario: Scenario,
    network: Network,
    next: Time,
    times: Vec<Time>,
    links: Vec<LinkBins>,
    flows: Vec<FlowBins>,
    packets: Option<PacketLog>,
    delays: Option<DelayRecorder>,
    is_log_full: bool,
}

impl Emulation {
    /// The emulation of a checked scenario.
    ///
    /// # Errors
    /// What is wrong with its network after all.
    pub fn new(scenario: Scenario) -> Result<Self, Problems> {
        let (network, errors) = Network::new(&scenario);
        if !errors.is_empty() {
            return Err(Problems { source: "scenario".to_owned(), errors });
        }
        let record = &scenario.record;
        Ok(Self {
            next: Time::ZERO + record.bin,
            times: Vec::new(),
            links: std::iter::repeat_with(LinkBins::default).take(network.links.len()).collect(),
            flows: Vec::new(),
            packets: record.packets.then(PacketLog::default),
            delays: record.delays.then(|| DelayRecorder::new(MOST_FLOWS, Time::ZERO + scenario.warm_up)),
            is_log_full: false,
            scenario,
            network,
        })
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Nodes, links and routes.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// What the links are made of, in the network's order.
    ///
    /// # Errors
    /// A trace that was not loaded.
    pub fn link_specs(&self) -> Result<Vec<LinkSpec>, Problems> {
        link_specs(&self.scenario, &self.network)
    }

    /// When [`Emulation::sample`] is to be called next.
    pub fn next_sample(&self) -> Time {
        self.next
    }

    /// A bin has ended. `links` are all links' counters, `state` tells of a link's queue, and `flows` are the flows' counts
    /// in the order of their numbers.
    pub fn sample(
        &mut self,
        links: &[LinkCounters],
        state: impl Fn(usize, &mut dyn FnMut(&'static str, f64)),
        flows: impl Iterator<Item = FlowCounts>,
    ) {
        let bin = self.scenario.record.bin;
        for (index, (bins, counters)) in self.links.iter_mut().zip(links).enumerate() {
            bins.push(counters, bin);
            if self.scenario.record.queue_state {
                bins.push_state(|note| state(index, note));
            }
        }
        for (index, counts) in flows.take(MOST_SERIES).enumerate() {
            if index == self.flows.len() {
                self.flows.push(FlowBins::after(self.times.len(), bin));
            }
            self.flows[index].push(&counts.sender, &counts.receiver, bin);
        }
        self.times.push(self.next);
        self.next += bin;
    }

    /// Something happened to a packet.
    pub fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        if let Some(delays) = &mut self.delays {
            delays.packet(now, event);
        }
        if let Some(log) = &mut self.packets {
            self.is_log_full |= log.bytes() >= MOST_LOGGED;
            if !self.is_log_full {
                log.packet(now, event);
            }
        }
    }

    /// Whether the log of packets grew to what it may have, and ends there.
    pub fn is_log_full(&self) -> bool {
        self.is_log_full
    }

    /// The tables of an emulation that ended at `end`, with the flows that were seen in place of the scenario's own.
    ///
    /// # Errors
    /// Flows that the scenario's network cannot carry.
    pub fn finish(
        mut self,
        end: Time,
        links: Vec<LinkCounters>,
        mut seen: Vec<SeenFlow>,
    ) -> Result<Outcome, Problems> {
        seen.truncate(MOST_FLOWS);
        if !seen.is_empty() {
            let like = self.scenario.flows[0].clone();
            self.scenario.flows = seen.iter().map(|flow| named(&like, flow)).collect();
        }
        self.scenario.duration = end.since(Time::ZERO).max(Span::from_nanos(1));
        let (network, errors) = Network::new(&self.scenario);
        if !errors.is_empty() {
            return Err(Problems { source: "scenario".to_owned(), errors });
        }
        let counts: Vec<FlowCounts> = if seen.is_empty() {
            vec![FlowCounts::default(); network.flows.len()]
        } else {
            seen.iter().map(|flow| flow.counts).collect()
        };
        let plan = SeriesPlan {
            bin: self.scenario.record.bin,
            links: (0..self.links.len()).map(LinkId::from).collect(),
            flows: (0..self.flows.len()).map(Into::into).collect(),
            queue_state: self.scenario.record.queue_state,
        };
        let last = Snapshot { at: end, links, flows: counts.iter().map(snapshot).collect() };
        let recorded = self.recorded(network.flows.len());
        let mut outcome = outcome::tell(self.scenario, &network, &plan, 0, (Snapshot::START, last), recorded);
        for table in [&mut outcome.flows, &mut outcome.flows_measured] {
            let table = Arc::make_mut(table);
            say(table, "scheme", |index| seen.get(index).map(|flow| &*flow.protocol));
            say(table, "source", |index| seen.get(index).map(|_| "program"));
        }
        Ok(outcome)
    }

    /// What was recorded, of so many flows.
    fn recorded(&mut self, flows: usize) -> Recorded {
        let (links, states) = std::mem::take(&mut self.links).into_iter().map(LinkBins::finish).unzip();
        let series = TimeSeries {
            times: std::mem::take(&mut self.times),
            links,
            states,
            flows: std::mem::take(&mut self.flows).into_iter().map(FlowBins::finish).collect(),
            messages: Vec::new(),
        };
        let mut delays = self.delays.take().map(DelayRecorder::finish).unwrap_or_default();
        delays.truncate(flows);
        Recorded { series, packets: self.packets.take(), state: None, accumulation: Vec::new(), delays }
    }
}

/// A flow of this name and way, in all else like another.
fn named(like: &FlowConfig, flow: &SeenFlow) -> FlowConfig {
    FlowConfig {
        name: flow.name.clone(),
        from: Some(flow.from.clone()),
        to: Some(flow.to.clone()),
        count: 1,
        ..like.clone()
    }
}

fn snapshot(counts: &FlowCounts) -> FlowSnapshot {
    FlowSnapshot { sender: counts.sender, receiver: counts.receiver, ..FlowSnapshot::default() }
}

/// Puts other words into a column, where there are any.
fn say<'a>(table: &mut Table, name: &str, word: impl Fn(usize) -> Option<&'a str>) {
    if let Some((_, Column::Text(said))) = table.0.iter_mut().find(|(known, _)| *known == name) {
        *said = said.iter().enumerate().map(|(row, before)| word(row).unwrap_or(before)).collect();
    }
}
