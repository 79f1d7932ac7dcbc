//! Whether a run keeps to its budget of memory, and what takes most where it does not. The budget itself, and what a
//! scenario needs from the beginning, are in `crate::memory`.

use tailback_core::{Capacity, FlowId, LinkId};
use tailback_sim::{FlowSeries, LinkSeries};

use super::Run;
use crate::memory::{COPIES, Gigabytes};
use crate::problems::Problems;

/// A packet that waits, or is under way: its place in a link and its record at the sender.
const PACKET: u64 = 64;

/// A part of what a run takes, and the field that would change it.
struct Part {
    field: String,
    value: String,
    what: String,
    bytes: u64,
}

impl Run {
    /// Complains where the run has outgrown its budget.
    ///
    /// What is recorded will be there several times at the end, so it counts as often already.
    pub(super) fn keep_within(&mut self) -> Result<(), Problems> {
        if let Some(flow) = self.engine.endless() {
            return Err(self.without_end(flow));
        }
        let logged = self.engine.logged();
        let recorded = (logged.packets + logged.state).saturating_add(self.series());
        let ahead = (COPIES - 1).saturating_mul(recorded);
        let measured = (self.limit.in_use)().saturating_add(ahead);
        let reckoned = COPIES.saturating_mul(recorded);
        let is_over = measured > self.limit.most || reckoned > self.budget.most.get();
        if is_over || self.engine.is_stopped() { Err(self.outgrown()) } else { Ok(()) }
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
        let logged = self.engine.logged();
        let switch = |name: &str, bytes: u64, fewer: &str| Part {
            field: format!("record.{name}"),
            value: "true".to_owned(),
            what: format!("what it records takes {} with its tables; {fewer} records less", Gigabytes(bytes)),
            bytes,
        };
        let bin = self.scenario.record.bin.to_string();
        let bytes = COPIES * self.series();
        let series = Part {
            field: "record.bin".to_owned(),
            value: bin,
            what: format!("time series take {} with their tables", Gigabytes(bytes)),
            bytes,
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
        self.budget.exceeded(part.field, part.value, &what)
    }

    /// The link with most packets on it. Those of one configuration count together: thousands of hosts' links may share
    /// what none of them holds alone.
    fn fullest_link(&mut self) -> Part {
        let mut held = std::collections::BTreeMap::<_, (u64, Capacity)>::new();
        for index in 0..self.network.links.len() {
            let counters = self.engine.link(LinkId::from(index));
            let link = &self.network.links[index];
            let packets = counters.waiting.packets + counters.propagating.packets;
            let entry = held.entry(link.path.clone()).or_insert((0, link.buffer));
            entry.0 += packets;
        }
        let most = held.into_iter().max_by_key(|(_, (packets, _))| *packets);
        let (path, (packets, buffer)) = most.unwrap_or(("topology".into(), (0, Capacity::Unlimited)));
        Part {
            field: format!("{path}.buffer"),
            value: buffer.to_string(),
            what: format!("{packets} packets wait there or are under way"),
            bytes: packets.saturating_mul(PACKET),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tailback_core::Bytes;

    use super::super::{PACKET_ROW, Start};
    use super::*;
    use crate::memory::Budget;
    use crate::outcome::Outcome;
    use crate::scenario::Scenario;

    thread_local! {
        /// What a test says is in use: more with every question.
        static GROWTH: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }

    fn in_use() -> u64 {
        GROWTH.with(|growth| {
            let (now, step) = growth.get();
            growth.set((now + step, step));
            now
        })
    }

    fn run(text: &str, most: u64, step: u64) -> Result<Outcome, Problems> {
        GROWTH.set((0, step));
        let budget = Budget { most: Bytes::new(most), in_use };
        let start = Start { seed: None, budget, wheel: false, go_on: &mut || true };
        Run::start(Scenario::from_json(text)?, start)?.finish()
    }

    fn complaint(text: &str, most: u64, step: u64) -> String {
        let problems = run(text, most, step).expect_err("too much");
        assert_eq!(problems.errors.len(), 1, "{problems}");
        problems.errors[0].to_string()
    }

    const LOGGED: &str = r#"{"duration": "1 s", "topology": {"template": "dumbbell"}, "record": {"packets": true, "state": true},
        "flows": [{"name": "a", "scheme": "reno", "count": 2}]}"#;

    #[test]
    fn logs_end_a_run_before_they_fill_memory() {
        let whole = run(LOGGED, u64::MAX, 0).expect("a second's packets");
        let rows = whole.packets.counts("time_nanoseconds").len() as u64;
        assert!(rows > 1000);
        assert!(run(LOGGED, 10 * COPIES * PACKET_ROW * rows, 0).is_ok());
        let message = complaint(LOGGED, COPIES * PACKET_ROW * rows / 2, 0);
        assert!(
            message.starts_with("record.packets: true is not allowed; expected less: what it records takes"),
            "{message}"
        );
    }

    #[test]
    fn memory_ends_a_run_within_a_step_and_names_the_fullest_link() {
        // Ten thousand events are more than one look and less than one step.
        let text = r#"{"duration": "2 s", "topology": {"template": "dumbbell", "rate": "1 Mbit/s", "buffer": "unlimited"},
            "record": {"flows": "none", "links": "none"},
            "flows": [{"name": "a", "scheme": {"name": "fixed-window", "window": "100000 packets"}}]}"#;
        assert!(run(text, 1_000_000_000, 0).is_ok());
        let message = complaint(text, 1_000_000_000, 300_000_000);
        assert!(
            message.contains("access.buffer: unlimited") || message.contains("topology.buffer: unlimited"),
            "{message}"
        );
        assert!(message.contains("a run may take 1.0 GB"), "{message}");
    }

    #[test]
    fn what_is_sure_to_be_too_much_is_refused_before_anything_is_built() {
        let with = |flows: &str, rest: &str| {
            format!(
                r#"{{"duration": "1 s", "topology": {{"template": "dumbbell"}}, "flows": [{flows}] {rest}}}"#
            )
        };
        let windows = r#"{"name": "a", "scheme": "reno", "count": 1000, "transport": {"initial_window": "1048576 packets"}}"#;
        let held = r#"{"name": "a", "scheme": {"name": "fixed-window", "window": "16777216 packets"}, "count": 100}"#;
        let many = r#"{"name": "a", "scheme": "reno", "count": 1000000, "source": "files"}"#;
        let one = r#"{"name": "a", "scheme": "reno", "count": 10}"#;
        let fine = r#", "record": {"bin": "200 ns"}"#;
        for (text, field) in [
            (with(windows, ""), "flows[0].transport.initial_window: 1048576 packets for each of 1000 flows"),
            (with(held, ""), "flows[0].scheme.window: 16777216 packets for each of 100 flows"),
            (with(many, ""), "flows[0].count: 1000000"),
            (with(one, fine), "record.bin: 200 ns with 10 flows and 2 links"),
        ] {
            let message = complaint(&text, 1_000_000_000, 0);
            assert!(message.starts_with(field), "{message}");
            assert!(message.contains("a run may take 1.0 GB"), "{message}");
        }
    }
}
