//! What came out of a run, as tables of columns. How the columns reach Python is decided there; nothing here is printed or
//! saved.

use tailback_core::{Capacity, Span, Time};
use tailback_sim::{
    AccumulationSeries, Count, FlowSeries, LinkCounters, LinkSeries, Message, PacketLog, SeriesPlan,
};

use crate::build::start_of;
use crate::hash::Digester;
use crate::run::{FlowSnapshot, Gathered, Snapshot, StateLog};
use crate::scenario::Scenario;
use crate::table::Table;
use crate::topology::{Network, NetworkAggregate, NetworkLink};

/// Everything that a run measured.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario, with the seed that was used.
    pub scenario: Scenario,
    /// A digest of all tables: equal for equal runs.
    pub hash: String,
    /// Events handled.
    pub events: u64,
    /// Per link, over the whole run.
    pub links: Table,
    /// Per link, from the end of the warm-up.
    pub links_measured: Table,
    /// Per flow, over the whole run.
    pub flows: Table,
    /// Per flow, from the end of the warm-up.
    pub flows_measured: Table,
    /// Per aggregate, over the whole run.
    pub aggregates: Table,
    /// Per aggregate, from the end of the warm-up.
    pub aggregates_measured: Table,
    /// Completed messages.
    pub messages: Table,
    /// The ends of the bins, in seconds.
    pub times: Vec<f64>,
    /// Per recorded link, its series.
    pub link_series: Vec<(String, Table)>,
    /// Per recorded flow, its series.
    pub flow_series: Vec<(String, Table)>,
    /// Per recorded aggregate, its series.
    pub aggregate_series: Vec<(String, Table)>,
    /// What controllers published, by the number of the flow; aggregates are numbered behind all flows.
    pub state: Table,
    /// The packet log; no columns where it is off.
    pub packets: Table,
}

/// Makes the tables of a run that has ended.
pub(crate) fn tell(
    scenario: Scenario,
    network: &Network,
    plan: &SeriesPlan,
    events: u64,
    (warm, last): (&Snapshot, &Snapshot),
    gathered: Gathered,
) -> Outcome {
    let start = Snapshot {
        at: Time::ZERO,
        links: vec![LinkCounters::default(); last.links.len()],
        flows: vec![FlowSnapshot::default(); last.flows.len()],
    };
    let series = gathered.series;
    let link_name = |index: usize| network.links[plan.links[index].index()].name.clone();
    let flow_name = |index: usize| {
        let flow = plan.flows[index].index();
        let aggregate = || &network.aggregates[flow - network.flows.len()].name;
        network.flows.get(flow).map_or_else(aggregate, |flow| &flow.name).clone()
    };
    let link_series = series.links.into_iter().enumerate();
    let mut accumulation = gathered.accumulation.into_iter();
    let flow_series = series.flows.into_iter().enumerate();
    let mut told_flows: Vec<_> = flow_series
        .map(|(index, columns)| (flow_name(index), with_accumulation(of_flow(columns), accumulation.next())))
        .collect();
    let real = plan.flows.iter().filter(|flow| flow.index() < network.flows.len()).count();
    let told_aggregates = told_flows.split_off(real);
    let mut outcome = Outcome {
        links: links(network, &start, last),
        links_measured: links(network, warm, last),
        flows: flows(&scenario, network, &start, last),
        flows_measured: flows(&scenario, network, warm, last),
        aggregates: aggregates(&scenario, network, &start, last),
        aggregates_measured: aggregates(&scenario, network, warm, last),
        messages: messages(&series.messages),
        times: series.times.iter().map(|time| time.as_secs_f64()).collect(),
        link_series: link_series.map(|(index, columns)| (link_name(index), of_link(columns))).collect(),
        flow_series: told_flows,
        aggregate_series: told_aggregates,
        state: gathered.state.map(of_state).unwrap_or_default(),
        packets: gathered.packets.map(of_packets).unwrap_or_default(),
        hash: String::new(),
        events,
        scenario,
    };
    outcome.hash = outcome.digest();
    outcome
}

impl Outcome {
    fn digest(&self) -> String {
        let mut digester = Digester::default();
        let plain = [&self.links, &self.flows, &self.aggregates, &self.messages, &self.state, &self.packets];
        let series = self.link_series.iter().chain(&self.flow_series).chain(&self.aggregate_series);
        let series = series.map(|(_, table)| table);
        plain.into_iter().chain(series).for_each(|table| table.digest(&mut digester));
        digester.finish()
    }
}

/// The names and data of links, then their counters between two instants.
fn links(network: &Network, from: &Snapshot, to: &Snapshot) -> Table {
    let list = &network.links;
    let node = |of: fn(&NetworkLink) -> usize| -> Vec<String> {
        list.iter().map(|link| network.nodes[of(link)].clone()).collect()
    };
    let real = |of: &dyn Fn(&NetworkLink) -> f64| -> Vec<f64> { list.iter().map(of).collect() };
    let mut table = Table::default()
        .with("name", list.iter().map(|link| link.name.clone()).collect::<Vec<_>>())
        .with("from", node(|link| link.from))
        .with("to", node(|link| link.to))
        .with("is_access", list.iter().map(|link| link.is_access).collect::<Vec<_>>())
        .with("rate_bits", list.iter().map(|link| link.config.rate.bits_per_sec()).collect::<Vec<_>>())
        .with("delay_seconds", real(&|link| link.delay.as_secs_f64()))
        .with("round_trip_seconds", network.mean_round_trips())
        .with("buffer_packets", real(&|link| buffer_packets(link.buffer)))
        .with("buffer_bytes", real(&|link| buffer_bytes(link.buffer)));
    let pairs: Vec<_> = from.links.iter().zip(&to.links).collect();
    let change = |of: &dyn Fn(&LinkCounters) -> u64| -> Vec<u64> {
        pairs.iter().map(|(before, after)| of(after) - of(before)).collect()
    };
    let state = |of: &dyn Fn(&LinkCounters) -> u64| -> Vec<u64> {
        pairs.iter().map(|(_, after)| of(after)).collect()
    };
    table.push("arrived_packets", change(&|counters| counters.arrived.packets));
    table.push("arrived_bytes", change(&|counters| counters.arrived.bytes.get()));
    table.push("transmitted_packets", change(&|counters| counters.transmitted.packets));
    table.push("transmitted_bytes", change(&|counters| counters.transmitted.bytes.get()));
    table.push("delivered_packets", change(&|counters| counters.delivered.packets));
    table.push("delivered_bytes", change(&|counters| counters.delivered.bytes.get()));
    table.push("dropped_packets", change(&|counters| counters.dropped_total().packets));
    table.push("dropped_bytes", change(&|counters| counters.dropped_total().bytes.get()));
    for (index, name) in DROPPED.iter().enumerate() {
        table.push(name, change(&|counters| count(&counters.dropped, index)));
    }
    table.push("duplicated_packets", change(&|counters| counters.duplicated.packets));
    table.push("marks", change(&|counters| counters.marked));
    table.push("waiting_packets", state(&|counters| counters.waiting.packets));
    table.push("in_service_packets", state(&|counters| counters.in_service.packets));
    table.push("propagating_packets", state(&|counters| counters.propagating.packets));
    let busy = |pair: &(&LinkCounters, &LinkCounters)| (pair.1.busy - pair.0.busy).as_secs_f64();
    table.push("busy_seconds", pairs.iter().map(busy).collect::<Vec<_>>());
    let time = to.at.since(from.at).as_nanos() as f64;
    let area =
        |pair: &(&LinkCounters, &LinkCounters)| pair.1.waiting_area.wrapping_sub(pair.0.waiting_area) as f64;
    table.push("mean_queue_packets", pairs.iter().map(|pair| area(pair) / time).collect::<Vec<_>>());
    table
}

/// In the order of [`tailback_core::DropReason::ALL`].
const DROPPED: [&str; 5] = [
    "dropped_overflow_packets",
    "dropped_early_packets",
    "dropped_loss_packets",
    "dropped_corruption_packets",
    "dropped_unreachable_packets",
];

fn count(counts: &[Count; 5], index: usize) -> u64 {
    counts[index].packets
}

fn buffer_packets(capacity: Capacity) -> f64 {
    if let Capacity::Packets(packets) = capacity { f64::from(packets) } else { f64::NAN }
}

fn buffer_bytes(capacity: Capacity) -> f64 {
    if let Capacity::Bytes(bytes) = capacity { bytes.as_f64() } else { f64::NAN }
}

/// The names and data of flows, then their counters between two instants.
fn flows(scenario: &Scenario, network: &Network, from: &Snapshot, to: &Snapshot) -> Table {
    let list = &network.flows;
    let texts = |of: &dyn Fn(usize) -> String| -> Vec<String> { (0..list.len()).map(of).collect() };
    let group = |index: usize| &scenario.flows[list[index].group];
    let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_secs_f64);
    let start = |index| start_of(group(index), &list[index].name, scenario.seed).as_secs_f64();
    let mut table = Table::default()
        .with("name", texts(&|index| list[index].name.clone()))
        .with("group", texts(&|index| group(index).name.clone()))
        .with("scheme", texts(&|index| group(index).scheme.title().to_owned()))
        .with("source", texts(&|index| group(index).source.name().to_owned()))
        .with("from", texts(&|index| network.nodes[list[index].ends.0].clone()))
        .with("to", texts(&|index| network.nodes[list[index].ends.1].clone()))
        .with("start_seconds", (0..list.len()).map(start).collect::<Vec<_>>())
        .with(
            "round_trip_seconds",
            list.iter().map(|flow| network.round_trip(flow).as_secs_f64()).collect::<Vec<_>>(),
        );
    let (from, to) = (&from.flows[..list.len()], &to.flows[..list.len()]);
    let pairs: Vec<_> = from.iter().zip(to).collect();
    let change = |of: fn(&FlowSnapshot) -> u64| -> Vec<u64> {
        pairs.iter().map(|(before, after)| of(after).saturating_sub(of(before))).collect()
    };
    table.push("sent_packets", change(|flow| flow.sender.sent_packets));
    table.push("sent_bytes", change(|flow| flow.sender.sent_bytes.get()));
    table.push("received_packets", change(|flow| flow.receiver.received_packets));
    table.push("received_bytes", change(|flow| flow.receiver.received_bytes.get()));
    table.push("goodput_packets", change(|flow| flow.receiver.goodput_packets));
    table.push("goodput_bytes", change(|flow| flow.receiver.goodput_bytes.get()));
    table.push("retransmitted_packets", change(|flow| flow.sender.repeated_packets));
    table.push("duplicate_packets", change(|flow| flow.receiver.repeated_packets));
    table.push("timeouts", change(|flow| flow.sender.timeouts));
    table.push("recoveries", change(|flow| flow.sender.recoveries));
    table.push("gated_packets", change(|flow| flow.sender.gated_packets));
    table.push("discarded_packets", change(|flow| flow.discarded));
    let rtt = to.iter().map(|flow| seconds(flow.sender.smoothed_rtt));
    table.push("smoothed_rtt_seconds", rtt.collect::<Vec<_>>());
    let finished = to.iter().map(|flow| flow.finished_at.map_or(f64::NAN, Time::as_secs_f64));
    table.push("finished_seconds", finished.collect::<Vec<_>>());
    table
}

/// The names and data of aggregates, then their counters between two instants. No columns where there are none.
fn aggregates(scenario: &Scenario, network: &Network, from: &Snapshot, to: &Snapshot) -> Table {
    let list = &network.aggregates;
    if list.is_empty() {
        return Table::default();
    }
    let node = |of: fn(&NetworkAggregate) -> usize| -> Vec<String> {
        list.iter().map(|aggregate| network.nodes[of(aggregate)].clone()).collect()
    };
    let schemes = scenario.aggregates.iter().map(|config| config.scheme.title().to_owned());
    let counts =
        |of: fn(&NetworkAggregate) -> usize| list.iter().map(|one| of(one) as u64).collect::<Vec<_>>();
    let round_trip = |aggregate: &NetworkAggregate| network.delay_of(&aggregate.forward, &aggregate.reverse);
    let mut table = Table::default()
        .with("name", list.iter().map(|aggregate| aggregate.name.clone()).collect::<Vec<_>>())
        .with("scheme", schemes.collect::<Vec<_>>())
        .with("from", node(|aggregate| aggregate.ends.0))
        .with("to", node(|aggregate| aggregate.ends.1))
        .with("link", list.iter().map(|one| network.links[one.edge].name.clone()).collect::<Vec<_>>())
        .with("data_flows", counts(|aggregate| aggregate.members.0.len()))
        .with("return_flows", counts(|aggregate| aggregate.members.1.len()))
        .with(
            "round_trip_seconds",
            list.iter().map(|aggregate| round_trip(aggregate).as_secs_f64()).collect::<Vec<_>>(),
        );
    let first = network.flows.len();
    let pairs: Vec<_> = from.flows[first..].iter().zip(&to.flows[first..]).collect();
    let change = |of: fn(&FlowSnapshot) -> u64| -> Vec<u64> {
        pairs.iter().map(|(before, after)| of(after) - of(before)).collect()
    };
    table.push("entered_packets", change(|ends| ends.sender.goodput_packets));
    table.push("entered_bytes", change(|ends| ends.sender.goodput_bytes.get()));
    table.push("left_packets", change(|ends| ends.receiver.goodput_packets));
    table.push("left_bytes", change(|ends| ends.receiver.goodput_bytes.get()));
    table.push("control_packets", change(|ends| ends.sender.sent_packets - ends.sender.goodput_packets));
    table.push("feedback_packets", change(|ends| ends.sender.received_packets));
    let rtt = |ends: &FlowSnapshot| ends.sender.smoothed_rtt.map_or(f64::NAN, Span::as_secs_f64);
    table.push("smoothed_rtt_seconds", to.flows[first..].iter().map(rtt).collect::<Vec<_>>());
    table
}

fn messages(messages: &[Message]) -> Table {
    let seconds = |of: fn(&Message) -> Time| {
        messages.iter().map(|message| of(message).as_secs_f64()).collect::<Vec<_>>()
    };
    Table::default()
        .with("flow", messages.iter().map(|message| message.flow.0).collect::<Vec<_>>())
        .with("size_bytes", messages.iter().map(|message| message.size.get()).collect::<Vec<_>>())
        .with("began_seconds", seconds(|message| message.began))
        .with("ended_seconds", seconds(|message| message.ended))
}

fn of_link(series: LinkSeries) -> Table {
    let mut table = Table::default()
        .with("transmitted_bytes", series.transmitted_bytes)
        .with("transmitted_packets", series.transmitted_packets)
        .with("arrived_packets", series.arrived_packets)
        .with("dropped_packets", series.dropped_packets)
        .with("marks", series.marks)
        .with("mean_queue_packets", series.mean_queue_packets)
        .with("queue_packets", series.queue_packets)
        .with("queue_bytes", series.queue_bytes);
    for (name, values) in series.state {
        // A discipline of the user's own may name its state like a counter, which then stays what it is.
        if table.get(name).is_none() {
            table.push(name, values);
        }
    }
    table
}

fn of_flow(series: FlowSeries) -> Table {
    Table::default()
        .with("sent_bytes", series.sent_bytes)
        .with("received_bytes", series.received_bytes)
        .with("goodput_bytes", series.goodput_bytes)
        .with("retransmitted_packets", series.retransmitted_packets)
        .with("window_bytes", series.window_bytes)
        .with("rate_bits", series.rate_bits)
        .with("in_flight_bytes", series.in_flight_bytes)
        .with("rtt_seconds", series.rtt_seconds)
        .with("smoothed_rtt_seconds", series.smoothed_rtt_seconds)
}

/// The table of a flow with the columns of its accumulation, where that is recorded.
fn with_accumulation(table: Table, series: Option<AccumulationSeries>) -> Table {
    let Some(series) = series else { return table };
    let real = |bytes: Vec<i64>| bytes.into_iter().map(|bytes| bytes as f64).collect::<Vec<_>>();
    table
        .with("accumulation_bytes", real(series.waiting_bytes))
        .with("mean_accumulation_bytes", series.mean_waiting_bytes)
        .with("transmitting_bytes", real(series.transmitting_bytes))
        .with("mean_transmitting_bytes", series.mean_transmitting_bytes)
        .with("estimated_accumulation_bytes", series.mean_estimate_bytes)
}

fn of_state(log: StateLog) -> Table {
    Table::default()
        .with("time_seconds", log.time)
        .with("flow", log.flow)
        .with("name", log.name)
        .with("value", log.value)
}

fn of_packets(log: PacketLog) -> Table {
    Table::default()
        .with("time_nanoseconds", log.time)
        .with("kind", log.kind)
        .with("flow", log.flow)
        .with("link", log.link)
        .with("number", log.number)
        .with("size_bytes", log.size)
        .with("bits", log.bits)
        .with("reason", log.reason)
}
