//! The table of flows: names and data, then counters between two instants.

use tailback_core::{Span, Texts, Time};
use tailback_sim::{ColumnInfo, FlowDelays, FlowSnapshot};

use super::{Entry, column, columns_of, counted, given, level};
use crate::endpoints::start_of;
use crate::flow::FlowConfig;
use crate::scenario::Scenario;
use crate::snapshot::Snapshot;
use crate::table::{Column, Table};
use crate::topology::Network;

/// What the table is made of.
pub(crate) struct FlowRows<'a> {
    scenario: &'a Scenario,
    network: &'a Network,
    from: &'a Snapshot,
    to: &'a Snapshot,
    delays: &'a [FlowDelays],
}

/// How a column is made.
type Of = fn(&FlowRows<'_>) -> Column;

/// The columns, in their order.
pub(crate) const COLUMNS: &[Entry<Of>] = &[
    column(given("name", "The flow."), |rows| rows.texts(|index| &rows.network.flows[index].name)),
    column(given("group", "The group that it is of."), |rows| rows.group(|group| &group.name)),
    column(given("scheme", "Its scheme."), |rows| rows.group(|group| group.scheme.title())),
    column(given("source", "Its source of data."), |rows| rows.group(|group| group.source.name())),
    column(given("from", "The node that sends."), |rows| rows.node(|ends| ends.0)),
    column(given("to", "The node that receives."), |rows| rows.node(|ends| ends.1)),
    column(given("start_seconds", "When it starts.").named("start"), |rows| {
        rows.each(|index| rows.start(index))
    }),
    column(given("round_trip_seconds", "Propagation round trip time.").named("round_trip"), |rows| {
        rows.each(|index| rows.network.round_trip(&rows.network.flows[index]).as_secs_f64())
    }),
    column(counted("sent_packets", "Packets that the sender sent, of any kind."), |rows| {
        rows.change(|flow| flow.sender.sent_packets)
    }),
    column(counted("sent_bytes", "Their bytes, headers included."), |rows| {
        rows.change(|flow| flow.sender.sent_bytes.get())
    }),
    column(counted("received_packets", "Packets that reached the receiver, duplicates included."), |rows| {
        rows.change(|flow| flow.receiver.received_packets)
    }),
    column(counted("received_bytes", "Their bytes, headers included."), |rows| {
        rows.change(|flow| flow.receiver.received_bytes.get())
    }),
    column(counted("goodput_packets", "Data packets delivered in order, each once."), |rows| {
        rows.change(|flow| flow.receiver.goodput_packets)
    }),
    column(counted("goodput_bytes", "Their bytes on the wire, headers included."), |rows| {
        rows.change(|flow| flow.receiver.goodput_bytes.get())
    }),
    column(
        counted("app_bytes", "The application's bytes among them, without headers.").undigested(),
        |rows| rows.change(|flow| flow.receiver.app_bytes.get()),
    ),
    column(counted("retransmitted_packets", "Packets retransmitted."), |rows| {
        rows.change(|flow| flow.sender.repeated_packets)
    }),
    column(counted("duplicate_packets", "Packets that the receiver had already."), |rows| {
        rows.change(|flow| flow.receiver.repeated_packets)
    }),
    column(counted("timeouts", "Expiries of the retransmission timer."), |rows| {
        rows.change(|flow| flow.sender.timeouts)
    }),
    column(
        counted("recoveries", "Recovery episodes begun by duplicate or selective acknowledgements."),
        |rows| rows.change(|flow| flow.sender.recoveries),
    ),
    column(counted("gated_packets", "Datagrams that a closed gate discarded at the source."), |rows| {
        rows.change(|flow| flow.sender.gated_packets)
    }),
    column(
        counted(
            "begun_messages",
            "Messages (files, bursts) that its application began to offer, whether or not they ended.",
        )
        .undigested(),
        |rows| rows.each(|index| rows.begun_messages(index)),
    ),
    column(
        counted("closings", "How many times the sender's gate was closed, so that no data left.")
            .undigested(),
        |rows| rows.change(|flow| flow.sender.gate.closings),
    ),
    column(
        counted("closed_seconds", "How long it was closed, all in all.")
            .named("closed")
            .label("time switched off")
            .undigested(),
        |rows| {
            let closed = |of: &Snapshot, index: usize| of.flow(index).sender.gate.closed_by(of.at);
            rows.each(|index| (closed(rows.to, index) - closed(rows.from, index)).as_secs_f64())
        },
    ),
    column(counted("discarded_packets", "Damaged packets that an endpoint discarded."), |rows| {
        rows.change(|flow| flow.discarded)
    }),
    column(
        level("smoothed_rtt_seconds", "The smoothed round trip time at the end.").named("smoothed_rtt"),
        |rows| rows.end(|flow| flow.sender.smoothed_rtt.map_or(f64::NAN, Span::as_secs_f64)),
    ),
    column(
        level("finished_seconds", "When it had sent everything and all of it was acknowledged.")
            .named("finished"),
        |rows| rows.end(|flow| flow.finished_at.map_or(f64::NAN, Time::as_secs_f64)),
    ),
    column(
        delay(
            "delay_mean_seconds",
            "Mean one-way delay of data packets that arrived, where `record.delays` is on.",
        )
        .named("one_way_delay")
        .label("mean one-way delay"),
        |rows| rows.delay(|flow| flow.one_way.mean()),
    ),
    column(
        delay("delay_p50_seconds", "Its median, within 0.4 %.")
            .named("one_way_delay_p50")
            .label("median one-way delay"),
        |rows| rows.delay(|flow| flow.one_way.quantile(0.5)),
    ),
    column(
        delay("delay_p95_seconds", "Its 95th percentile, within 0.4 %.")
            .named("one_way_delay_p95")
            .label("95th percentile of one-way delay"),
        |rows| rows.delay(|flow| flow.one_way.quantile(0.95)),
    ),
    column(
        delay("delay_p99_seconds", "Its 99th percentile, within 0.4 %.")
            .named("one_way_delay_p99")
            .label("99th percentile of one-way delay"),
        |rows| rows.delay(|flow| flow.one_way.quantile(0.99)),
    ),
    column(
        delay(
            "jitter_seconds",
            "Mean absolute difference between the one-way delays of consecutive arrivals.",
        )
        .named("jitter"),
        |rows| rows.delay(FlowDelays::jitter),
    ),
    column(
        delay(
            "rtt_p50_seconds",
            "Median of the round trip times that the sender sampled, within 0.4 %, where \
            `record.delays` is on.",
        )
        .named("rtt_p50")
        .label("median round trip time"),
        |rows| rows.delay(|flow| flow.round_trip.quantile(0.5)),
    ),
    column(
        delay("rtt_p95_seconds", "Their 95th percentile, within 0.4 %.")
            .named("rtt_p95")
            .label("95th percentile of round trip time"),
        |rows| rows.delay(|flow| flow.round_trip.quantile(0.95)),
    ),
    column(
        delay("rtt_p99_seconds", "Their 99th percentile, within 0.4 %.")
            .named("rtt_p99")
            .label("99th percentile of round trip time"),
        |rows| rows.delay(|flow| flow.round_trip.quantile(0.99)),
    ),
];

const fn delay(key: &'static str, about: &'static str) -> ColumnInfo {
    super::mean(key, about).undigested()
}

impl<'a> FlowRows<'a> {
    /// The table of what happened between two instants.
    pub(crate) fn table(
        scenario: &'a Scenario,
        network: &'a Network,
        (from, to): (&'a Snapshot, &'a Snapshot),
        delays: &'a [FlowDelays],
    ) -> Table {
        let rows = FlowRows { scenario, network, from, to, delays };
        columns_of(COLUMNS, |of| of(&rows))
    }

    fn each<T>(&self, of: impl Fn(usize) -> T) -> Column
    where
        Column: From<Vec<T>>,
    {
        (0..self.network.flows.len()).map(of).collect::<Vec<_>>().into()
    }

    fn config(&self, index: usize) -> &FlowConfig {
        &self.scenario.flows[self.network.flows[index].group]
    }

    fn texts<'b>(&'b self, of: impl Fn(usize) -> &'b str) -> Column {
        (0..self.network.flows.len()).map(of).collect::<Texts>().into()
    }

    fn group(&self, of: fn(&FlowConfig) -> &str) -> Column {
        self.texts(|index| of(self.config(index)))
    }

    fn node(&self, of: fn((usize, usize)) -> usize) -> Column {
        self.texts(|index| &self.network.nodes[of(self.network.flows[index].ends)])
    }

    fn start(&self, index: usize) -> f64 {
        start_of(self.config(index), &self.network.flows[index].name, self.scenario.seed).as_secs_f64()
    }

    /// Of sources whose data comes in messages.
    fn begun_messages(&self, index: usize) -> u64 {
        let begun = |of: &Snapshot| of.flow(index).sender.messages;
        if self.config(index).source.has_messages() {
            begun(self.to).saturating_sub(begun(self.from))
        } else {
            0
        }
    }

    fn change(&self, of: fn(&FlowSnapshot) -> u64) -> Column {
        self.each(|index| of(self.to.flow(index)).saturating_sub(of(self.from.flow(index))))
    }

    /// Not a number where it was not recorded, or nothing arrived.
    fn delay(&self, of: fn(&FlowDelays) -> Option<Span>) -> Column {
        self.each(|index| self.delays.get(index).and_then(of).map_or(f64::NAN, Span::as_secs_f64))
    }

    fn end(&self, of: fn(&FlowSnapshot) -> f64) -> Column {
        self.each(|index| of(self.to.flow(index)))
    }
}
