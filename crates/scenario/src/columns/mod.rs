//! The tables of counters and logs that a run leaves: each column is one entry, which says its key, name, unit, kind and
//! label, and how its values are made. Time series are declared where they are recorded, in `sim`. What is computed from
//! columns (rates, shares) is the business of whoever shows them.

mod aggregates;
mod flows;
mod links;
mod logs;

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::{Value, json};
use tailback_sim::{AccumulationSeries, ColumnInfo, ColumnKind, FlowSeries, LinkSeries, Unit};

pub(crate) use aggregates::AggregateRows;
pub(crate) use flows::FlowRows;
pub(crate) use links::LinkRows;
pub(crate) use logs::{MESSAGES, decoded, of_packets, of_state};

use crate::table::{Column, Table};

/// One column of a table, and the function that makes its values of what the table is made of.
#[derive(Clone, Copy)]
pub(crate) struct Entry<Of> {
    info: ColumnInfo,
    of: Of,
}

/// An entry of a table.
pub(crate) const fn column<Of: Copy>(info: ColumnInfo, of: Of) -> Entry<Of> {
    Entry { info, of }
}

const fn given(key: &'static str, about: &'static str) -> ColumnInfo {
    ColumnInfo::new(key, ColumnKind::Given, about)
}

const fn counted(key: &'static str, about: &'static str) -> ColumnInfo {
    ColumnInfo::new(key, ColumnKind::Counted, about)
}

const fn mean(key: &'static str, about: &'static str) -> ColumnInfo {
    ColumnInfo::new(key, ColumnKind::Mean, about)
}

const fn level(key: &'static str, about: &'static str) -> ColumnInfo {
    ColumnInfo::new(key, ColumnKind::Level, about)
}

/// The table of these entries.
pub(crate) fn columns_of<Of>(entries: &[Entry<Of>], make: impl Fn(&Of) -> Column) -> Table {
    Table(entries.iter().map(|entry| (entry.info.key, make(&entry.of))).collect())
}

/// Whether a result's digest covers the columns of this key; it does where none is declared, as the state of queues.
pub(crate) fn is_digested(key: &str) -> bool {
    static LEFT_OUT: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let tables =
            infos_of(&links::COLUMNS).chain(infos_of(flows::COLUMNS)).chain(infos_of(aggregates::COLUMNS));
        let series = [LinkSeries::COLUMNS, FlowSeries::COLUMNS, AccumulationSeries::COLUMNS].concat();
        tables.copied().chain(series).filter(|info| !info.digested).map(|info| info.key).collect()
    });
    !LEFT_OUT.contains(key)
}

/// Whether the columns of this key are times of whole nanoseconds, in seconds: those that are given, and levels (an instant,
/// the last of some). Means and sums need not be.
pub(crate) fn is_whole_time(key: &str) -> bool {
    static WHOLE: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let tables =
            infos_of(&links::COLUMNS).chain(infos_of(flows::COLUMNS)).chain(infos_of(aggregates::COLUMNS));
        let all = tables.chain(infos_of(MESSAGES)).chain(logs::STATE);
        let is_level = |info: &ColumnInfo| matches!(info.kind, ColumnKind::Given | ColumnKind::Level);
        all.filter(|info| is_level(info) && info.unit() == Unit::Seconds).map(|info| info.key).collect()
    });
    WHOLE.contains(key)
}

fn infos_of<Of>(entries: &[Entry<Of>]) -> impl Iterator<Item = &ColumnInfo> {
    entries.iter().map(|entry| &entry.info)
}

/// Every column of every table, as JSON: by table a list with `key`, `name`, `unit` (empty where it has none), `kind`,
/// `label` and `about`, `values` where its values are numbers of names, and `qlog` where it has a name there. What queue
/// disciplines tell of their state is listed as `queue_state`.
pub fn columns() -> Value {
    let infos = |list: &[ColumnInfo]| -> Value { list.iter().map(described).collect() };
    json!({
        "links": listed(&links::COLUMNS),
        "flows": listed(flows::COLUMNS),
        "aggregates": listed(aggregates::COLUMNS),
        "messages": listed(MESSAGES),
        "state": infos(logs::STATE),
        "packets": infos(&logs::packets()),
        "link_series": infos(LinkSeries::COLUMNS),
        "flow_series": infos(&[FlowSeries::COLUMNS, AccumulationSeries::COLUMNS].concat()),
        "queue_state": queue_state(),
    })
}

fn listed<Of>(entries: &[Entry<Of>]) -> Value {
    entries.iter().map(|entry| described(&entry.info)).collect()
}

fn described(info: &ColumnInfo) -> Value {
    let label = if info.label.is_empty() { info.name.replace('_', " ") } else { info.label.to_owned() };
    let mut value = json!({
        "key": info.key,
        "name": info.name,
        "unit": info.unit().to_string(),
        "kind": info.kind.name(),
        "label": label,
        "about": info.about,
    });
    if !info.values.is_empty() {
        value["values"] = info.values.into();
    }
    if !info.qlog.is_empty() {
        value["qlog"] = info.qlog.into();
    }
    value
}

/// The names that disciplines tell of their state, each once; they end in their units too.
fn queue_state() -> Value {
    let mut names: Vec<_> = tailback_qdisc::ALL.iter().flat_map(tailback_qdisc::Registered::state).collect();
    names.sort_unstable();
    names.dedup();
    let described = |name: &str| {
        let unit = Unit::of(name).to_string();
        json!({"key": name, "name": name, "unit": unit, "kind": ColumnKind::Level.name(), "label": name.replace('_', " "), "about": "State of the queue discipline at the bin's end."})
    };
    names.into_iter().map(described).collect()
}
