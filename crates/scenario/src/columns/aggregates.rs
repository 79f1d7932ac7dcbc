//! The table of aggregates: names and data, then counters between two instants.

use tailback_core::Span;
use tailback_sim::FlowSnapshot;

use super::{Entry, column, columns_of, counted, given, level};
use crate::scenario::Scenario;
use crate::snapshot::Snapshot;
use crate::table::{Column, Table};
use crate::topology::{Network, NetworkAggregate};

/// What the table is made of.
pub(crate) struct AggregateRows<'a> {
    scenario: &'a Scenario,
    network: &'a Network,
    from: &'a Snapshot,
    to: &'a Snapshot,
}

/// How a column is made.
type Of = fn(&AggregateRows<'_>) -> Column;

/// The columns, in their order.
pub(crate) const COLUMNS: &[Entry<Of>] = &[
    column(given("name", "The aggregate."), |rows| rows.given(|one| one.name.clone())),
    column(given("scheme", "Its scheme."), |rows| {
        rows.scenario.aggregates.iter().map(|one| one.scheme.title().to_owned()).collect::<Vec<_>>().into()
    }),
    column(given("from", "The edge where packets enter."), |rows| {
        rows.given(|one| rows.network.nodes[one.ends.0].to_owned())
    }),
    column(given("to", "The edge where they leave."), |rows| {
        rows.given(|one| rows.network.nodes[one.ends.1].to_owned())
    }),
    column(given("link", "The link where packets wait to enter."), |rows| {
        rows.given(|one| rows.network.link_name(&rows.network.links[one.edge]))
    }),
    column(given("data_flows", "How many flows' data it takes in."), |rows| {
        rows.given(|one| one.members.0.len() as u64)
    }),
    column(given("return_flows", "How many flows' acknowledgements it takes in."), |rows| {
        rows.given(|one| one.members.1.len() as u64)
    }),
    column(given("round_trip_seconds", "Propagation round trip time.").named("round_trip"), |rows| {
        rows.given(|one| rows.network.delay_of(&one.forward, &one.reverse).as_secs_f64())
    }),
    column(counted("entered_packets", "Packets that entered."), |rows| {
        rows.change(|ends| ends.sender.goodput_packets)
    }),
    column(counted("entered_bytes", "Their bytes."), |rows| {
        rows.change(|ends| ends.sender.goodput_bytes.get())
    }),
    column(counted("left_packets", "Packets that left at the far edge."), |rows| {
        rows.change(|ends| ends.receiver.goodput_packets)
    }),
    column(counted("left_bytes", "Their bytes."), |rows| {
        rows.change(|ends| ends.receiver.goodput_bytes.get())
    }),
    column(counted("control_packets", "Control packets that the near edge sent."), |rows| {
        rows.change(|ends| ends.sender.sent_packets - ends.sender.goodput_packets)
    }),
    column(counted("feedback_packets", "Acknowledgements and reports that came back."), |rows| {
        rows.change(|ends| ends.sender.received_packets)
    }),
    column(
        level("smoothed_rtt_seconds", "The smoothed round trip time at the end.").named("smoothed_rtt"),
        |rows| {
            let rtt = |ends: &FlowSnapshot| ends.sender.smoothed_rtt.map_or(f64::NAN, Span::as_secs_f64);
            rows.pairs(|_, after| rtt(after))
        },
    ),
];

impl<'a> AggregateRows<'a> {
    /// The table of what happened between two instants; no columns where there are no aggregates.
    pub(crate) fn table(
        scenario: &'a Scenario,
        network: &'a Network,
        from: &'a Snapshot,
        to: &'a Snapshot,
    ) -> Table {
        if network.aggregates.is_empty() {
            return Table::default();
        }
        let rows = AggregateRows { scenario, network, from, to };
        columns_of(COLUMNS, |of| of(&rows))
    }

    fn given<T>(&self, of: impl Fn(&NetworkAggregate) -> T) -> Column
    where
        Column: From<Vec<T>>,
    {
        self.network.aggregates.iter().map(of).collect::<Vec<_>>().into()
    }

    fn pairs<T>(&self, of: impl Fn(&FlowSnapshot, &FlowSnapshot) -> T) -> Column
    where
        Column: From<Vec<T>>,
    {
        let first = self.network.flows.len();
        let rows = first..first + self.network.aggregates.len();
        rows.map(|row| of(self.from.flow(row), self.to.flow(row))).collect::<Vec<_>>().into()
    }

    fn change(&self, of: fn(&FlowSnapshot) -> u64) -> Column {
        self.pairs(|before, after| of(after) - of(before))
    }
}
