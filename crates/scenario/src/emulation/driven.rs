//! An emulation whose flows are the scenario's own: their ends were driven by somebody who tells what they did. Flows of foreign
//! programs are told of in `emulation.rs`.

use std::sync::Arc;

use tailback_core::{Bytes, FlowId, LinkId, Span, Time};
use tailback_link::LinkCounters;
use tailback_sim::{FlowBins, FlowSnapshot, Message, SeriesPlan};

use super::{Emulation, FlowCounts, say, snapshot};
use crate::chosen::Chosen;
use crate::outcome::{self, Outcome};
use crate::snapshot::Snapshot;

/// What was recorded of a flow of the scenario by whoever drove its ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrivenFlow {
    /// What stands in place of its scheme, if anything does.
    pub scheme: Option<String>,
    /// Its counts at the ends of the bins.
    pub bins: Vec<FlowCounts>,
    /// Its counts at the end of the warm-up.
    pub warm: FlowCounts,
    /// Its counts at the end of the run.
    pub last: FlowCounts,
    /// When it had sent everything and all of it was acknowledged.
    pub finished: Option<Time>,
    /// What it carried completely: size, offered when, acknowledged when.
    pub messages: Vec<(Bytes, Time, Time)>,
}

impl Emulation {
    /// The tables of an emulation that ended at `end`, with the scenario's own flows as they were driven. `warm` are the links'
    /// counters at the end of the warm-up.
    pub fn finish_driven(
        mut self,
        end: Time,
        (warm, last): (Vec<LinkCounters>, Vec<LinkCounters>),
        flows: &[DrivenFlow],
    ) -> Outcome {
        let record = &self.scenario.record;
        let chosen = Chosen::new(&self.scenario, &self.network);
        let is_recorded = |flow: &usize| chosen.has_flow(&self.network.flows[*flow]);
        let of_flows: Vec<usize> = (0..flows.len()).filter(is_recorded).collect();
        let of_links: Vec<usize> =
            (0..last.len()).filter(|link| chosen.has_link(&self.network.links[*link])).collect();
        let plan = SeriesPlan {
            bin: record.bin,
            links: of_links.iter().copied().map(LinkId::from).collect(),
            flows: of_flows.iter().copied().map(FlowId::from).collect(),
            queue_state: record.queue_state,
        };
        let bins = self.times.len();
        let binned = |flow: &DrivenFlow| {
            let mut made = FlowBins::default();
            for counts in flow.bins.iter().chain(std::iter::repeat(&flow.last)).take(bins) {
                made.push(&counts.sender, &counts.receiver, plan.bin);
            }
            made
        };
        self.flows = of_flows.iter().map(|flow| binned(&flows[*flow])).collect();
        let mut links = std::mem::take(&mut self.links).into_iter().map(Some).collect::<Vec<_>>();
        self.links = of_links.iter().filter_map(|link| links[*link].take()).collect();
        let snapshot = |at, links, of: fn(&DrivenFlow) -> FlowCounts| {
            let flows = flows.iter().map(|flow| FlowSnapshot {
                finished_at: flow.finished.filter(|time| *time <= at),
                ..snapshot(&of(flow))
            });
            Snapshot { at, links, flows: flows.collect() }
        };
        let first = snapshot(Time::ZERO + self.scenario.warm_up, warm, |flow| flow.warm);
        let last = snapshot(end, last, |flow| flow.last);
        self.scenario.duration = end.since(Time::ZERO).max(Span::from_nanos(1));
        let mut recorded = self.recorded(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            let of = FlowId::from(index);
            let message = |&(size, began, ended)| Message { flow: of, size, began, ended };
            recorded.series.messages.extend(flow.messages.iter().map(message));
        }
        recorded.series.messages.sort_by_key(|message| message.ended);
        let mut outcome = outcome::tell(self.scenario, &self.network, &plan, 0, (first, last), recorded);
        for table in [&mut outcome.flows, &mut outcome.flows_measured] {
            say(Arc::make_mut(table), "scheme", |index| flows.get(index)?.scheme.as_deref());
        }
        outcome
    }
}
