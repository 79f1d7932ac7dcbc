//! What came out of a run, as tables of columns. Which columns there are is said in `columns/` and where series are
//! recorded; how they reach Python is decided there; nothing here is printed or saved.

use std::sync::Arc;

use tailback_sim::{
    AccumulationSeries, ColumnInfo, FlowSeries, LinkSeries, QueueState, Recorded, SeriesColumn, SeriesPlan,
};

use crate::columns::{self, AggregateRows, FlowRows, LinkRows, columns_of};
use crate::hash::Digester;
use crate::scenario::Scenario;
use crate::snapshot::Snapshot;
use crate::table::{Column, Table};
use crate::topology::Network;

/// Everything that a run measured. Where there is no warm-up, what was measured after it is the same table as what was over the
/// whole run.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario, with the seed that was used.
    pub scenario: Scenario,
    /// A digest of all tables: equal for equal runs.
    pub hash: String,
    /// Events handled.
    pub events: u64,
    /// Per link, over the whole run.
    pub links: Arc<Table>,
    /// Per link, from the end of the warm-up.
    pub links_measured: Arc<Table>,
    /// Per flow, over the whole run.
    pub flows: Arc<Table>,
    /// Per flow, from the end of the warm-up.
    pub flows_measured: Arc<Table>,
    /// Per aggregate, over the whole run.
    pub aggregates: Arc<Table>,
    /// Per aggregate, from the end of the warm-up.
    pub aggregates_measured: Arc<Table>,
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
    (warm, last): (Snapshot, Snapshot),
    recorded: Recorded,
) -> Outcome {
    let series = recorded.series;
    let link_name = |index: usize| network.link_name(&network.links[plan.links[index].index()]);
    let flow_name = |index: usize| {
        let flow = plan.flows[index].index();
        let aggregate = || &network.aggregates[flow - network.flows.len()].name;
        network.flows.get(flow).map_or_else(aggregate, |flow| &flow.name).clone()
    };
    let link_series = series.links.into_iter().zip(series.states).enumerate();
    let mut accumulation = recorded.accumulation.into_iter();
    let flow_series = series.flows.into_iter().enumerate();
    let mut told_flows: Vec<_> = flow_series
        .map(|(index, columns)| (flow_name(index), of_flow(columns, accumulation.next())))
        .collect();
    let real = plan.flows.iter().filter(|flow| flow.index() < network.flows.len()).count();
    let told_aggregates = told_flows.split_off(real);
    let (start, is_whole) = (Snapshot::START, warm.is_start());
    let mut outcome = Outcome {
        links: Arc::new(LinkRows::table(network, &start, &last)),
        links_measured: Arc::default(),
        flows: Arc::new(FlowRows::table(&scenario, network, (&start, &last), &[])),
        flows_measured: Arc::default(),
        aggregates: Arc::new(AggregateRows::table(&scenario, network, &start, &last)),
        aggregates_measured: Arc::default(),
        messages: columns_of(columns::MESSAGES, |of| of(&series.messages)),
        times: series.times.iter().map(|time| time.as_nanos() as f64 / 1e9).collect(),
        link_series: link_series
            .map(|(index, (columns, state))| (link_name(index), of_link(columns, state)))
            .collect(),
        flow_series: told_flows,
        aggregate_series: told_aggregates,
        state: recorded.state.map(columns::of_state).unwrap_or_default(),
        packets: recorded.packets.map(columns::of_packets).unwrap_or_default(),
        hash: String::new(),
        events,
        scenario,
    };
    outcome.hash = outcome.digest();
    for table in [&mut outcome.links, &mut outcome.flows, &mut outcome.aggregates] {
        round_times(Arc::make_mut(table));
    }
    // Delays are recorded from the end of the warm-up on, and told of no other time.
    let scenario = &outcome.scenario;
    outcome.links_measured = measured(is_whole, &outcome.links, || LinkRows::table(network, &warm, &last));
    outcome.flows_measured = measured(is_whole && recorded.delays.is_empty(), &outcome.flows, || {
        FlowRows::table(scenario, network, (&warm, &last), &recorded.delays)
    });
    outcome.aggregates_measured =
        measured(is_whole, &outcome.aggregates, || AggregateRows::table(scenario, network, &warm, &last));
    drop((warm, last));
    outcome.packets = columns::decoded(std::mem::take(&mut outcome.packets));
    for table in [&mut outcome.messages, &mut outcome.state] {
        round_times(table);
    }
    outcome
}

/// What was counted from the end of the warm-up on; the same table where that is the whole run.
fn measured(is_whole: bool, whole: &Arc<Table>, make: impl FnOnce() -> Table) -> Arc<Table> {
    if is_whole {
        return Arc::clone(whole);
    }
    let mut table = make();
    round_times(&mut table);
    Arc::new(table)
}

/// Gives times as the numbers nearest to them: 15 s leaves as 15, and not as the 15.000000000000002 that nanoseconds times
/// 1e-9 come to. Whoever asks which flows are there at `warm_up` compares them with the scenario's own times. The digest
/// covers the numbers as they were before, so that hashes stay what they are.
fn round_times(table: &mut Table) {
    table.round_times(columns::is_whole_time);
}

impl Outcome {
    fn digest(&self) -> String {
        let mut digester = Digester::default();
        let counted = [&self.links, &self.flows, &self.aggregates].map(Arc::as_ref);
        let plain = counted.into_iter().chain([&self.messages, &self.state, &self.packets]);
        let series = self.link_series.iter().chain(&self.flow_series).chain(&self.aggregate_series);
        let series = series.map(|(_, table)| table);
        let tables = plain.chain(series);
        tables.for_each(|table| table.digest(&mut digester, columns::is_digested));
        digester.finish()
    }
}

/// A series under the keys of its columns.
fn series(infos: &'static [ColumnInfo], columns: impl Iterator<Item = SeriesColumn>) -> Table {
    let columns = columns.map(|column| match column {
        SeriesColumn::Counts(values) => Column::from(values),
        SeriesColumn::Quantities(values) => Column::from(values),
    });
    Table(infos.iter().map(|info| info.key).zip(columns).collect())
}

fn of_link(columns: LinkSeries, state: QueueState) -> Table {
    let mut table = series(LinkSeries::COLUMNS, columns.into_columns());
    for (name, values) in state {
        // A custom discipline may name its state like a counter, which then stays what it is.
        if table.get(name).is_none() {
            table.push(name, values);
        }
    }
    table
}

/// The series of a flow with the columns of its accumulation, where that is recorded.
fn of_flow(columns: FlowSeries, accumulation: Option<AccumulationSeries>) -> Table {
    let mut table = series(FlowSeries::COLUMNS, columns.into_columns());
    if let Some(accumulation) = accumulation {
        table.0.extend(series(AccumulationSeries::COLUMNS, accumulation.into_columns()).0);
    }
    table
}
