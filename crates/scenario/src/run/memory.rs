//! Whether a run keeps to its budget of memory, and what takes most where it does not. The budget itself, and what a
//! scenario needs from the beginning, are in `crate::memory`.

use tailback_core::{Capacity, FlowId, LinkId};
use tailback_sim::{FlowSeries, LinkSeries};

use super::Run;
use crate::memory::{ALSO, COPIES, Gigabytes};
use crate::problems::Problems;

/// A packet that waits, or is under way: its place in a link and its record at the sender.
const PACKET: u64 = 64;

/// A part of what a run takes, and the field that would change it.
struct Part {
    field: String,
    value: String,
    what: String,
    bytes: u64,
    /// What else would do.
    also: &'static str,
}

impl Run {
    /// Complains where the run has outgrown its budget.
    ///
    /// What is recorded will be there several times at the end, so it counts as often already.
    pub(super) fn keep_within(&mut self) -> Result<(), Problems> {
        if let Some(flow) = self.simulation.endless() {
            return Err(self.without_end(flow));
        }
        let logged = self.simulation.logged();
        let recorded = (logged.packets + logged.state).saturating_add(self.series());
        let ahead = (COPIES - 1).saturating_mul(recorded);
        let measured = (self.limit.in_use)().saturating_add(ahead);
        let expected = COPIES.saturating_mul(recorded);
        let is_over = measured > self.limit.most || expected > self.budget.most.get();
        if is_over || self.simulation.is_stopped() { Err(self.outgrown()) } else { Ok(()) }
    }

    /// The complaint about a flow that sends more at one instant than any window holds.
    fn without_end(&self, flow: FlowId) -> Problems {
        let now = self.now();
        let allowed = format!("one that waits: it sends without end {now} into the run");
        match self.network.flows.get(flow.index()) {
            Some(flow) => {
                let scheme = self.scenario.flows[flow.group].scheme.name();
                Problems::one(format!("flows[{}].scheme", flow.group), format!("{scheme:?}"), allowed)
            }
            None => Problems::one("aggregates", "an aggregate", allowed),
        }
    }

    /// What the series have taken so far.
    fn series(&self) -> u64 {
        let rows = self.now().as_nanos() / self.plan.bin.as_nanos();
        let columns = self.plan.links.len() * LinkSeries::COLUMNS.len()
            + self.plan.flows.len() * FlowSeries::COLUMNS.len();
        rows.saturating_mul((columns * size_of::<f64>()) as u64)
    }

    /// The complaint that names what takes most.
    fn outgrown(&mut self) -> Problems {
        let logged = self.simulation.logged();
        let switch = |name: &str, bytes: u64, fewer: &str| Part {
            field: format!("record.{name}"),
            value: "true".to_owned(),
            what: format!(
                "less: what it records takes {} with its tables; {fewer} records less",
                Gigabytes(bytes)
            ),
            bytes,
            also: "",
        };
        let bin = self.scenario.record.bin.to_string();
        let bytes = COPIES * self.series();
        let series = Part {
            field: "record.bin".to_owned(),
            value: format!("{bin} with {} flows and {} links", self.plan.flows.len(), self.plan.links.len()),
            what: format!("a longer one: time series take {} with their tables", Gigabytes(bytes)),
            bytes,
            also: ALSO,
        };
        let parts = [
            switch("packets", COPIES * logged.packets, "fewer of `record.links`"),
            switch("state", COPIES * logged.state, "fewer of `record.flows`"),
            series,
            self.fullest_link(),
        ];
        let Some(part) = parts.into_iter().max_by_key(|part| part.bytes) else {
            return Problems::one("scenario", "what it holds", "less");
        };
        let what = format!("{} {} into the run", part.what, self.now());
        self.budget.exceeded(part.field, part.value, &what, part.also)
    }

    /// The link with most packets on it. Those of one configuration count together: thousands of hosts' links may share
    /// what none of them holds alone.
    fn fullest_link(&mut self) -> Part {
        let mut held = std::collections::BTreeMap::<_, (u64, Capacity)>::new();
        for index in 0..self.network.links.len() {
            let counters = self.simulation.link(LinkId::from(index));
            let link = &self.network.links[index];
            let packets = counters.waiting.packets + counters.propagating.packets;
            let entry = held.entry(link.path().clone()).or_insert((0, link.buffer));
            entry.0 += packets;
        }
        let most = held.into_iter().max_by_key(|(_, (packets, _))| *packets);
        let (path, (packets, buffer)) = most.unwrap_or(("topology".into(), (0, Capacity::Unlimited)));
        Part {
            field: format!("{path}.buffer"),
            value: buffer.to_string(),
            what: format!("less: {packets} packets wait there or are under way"),
            bytes: packets.saturating_mul(PACKET),
            also: "",
        }
    }
}
