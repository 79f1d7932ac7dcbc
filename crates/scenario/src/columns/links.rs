//! The table of links: names and data, then counters between two instants.

use std::sync::LazyLock;

use tailback_core::{Capacity, DropReason, Texts};
use tailback_link::LinkCounters;
use tailback_sim::{ColumnInfo, Unit};

use super::{Entry, columns_of, counted, given, level, mean};
use crate::snapshot::Snapshot;
use crate::table::{Column, Table};
use crate::topology::{Network, NetworkLink};

/// What the table is made of.
pub(crate) struct LinkRows<'a> {
    network: &'a Network,
    from: &'a Snapshot,
    to: &'a Snapshot,
}

/// How a column is made.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    /// By this function.
    Rows(fn(&LinkRows<'_>) -> Column),
    /// By counting what was dropped for this reason.
    Dropped(DropReason),
}

const fn column(info: ColumnInfo, of: fn(&LinkRows<'_>) -> Column) -> Entry<Of> {
    Entry { info, of: Of::Rows(of) }
}

/// The columns, in their order: those of reasons to drop packets stand behind all drops.
pub(crate) static COLUMNS: LazyLock<Vec<Entry<Of>>> = LazyLock::new(|| {
    let reasons = DropReason::ALL.iter().zip(DropReason::COUNTED);
    let dropped =
        reasons.map(|(reason, (key, about))| Entry { info: counted(key, about), of: Of::Dropped(*reason) });
    DATA_AND_DROPS.iter().copied().chain(dropped).chain(FURTHER.iter().copied()).collect()
});

const DATA_AND_DROPS: &[Entry<Of>] = &[
    column(given("name", "The link, by its ends."), |rows| rows.texts(|link| rows.network.link_name(link))),
    column(given("from", "The node that transmits."), |rows| rows.node(NetworkLink::from)),
    column(given("to", "The node at the far end."), |rows| rows.node(NetworkLink::to)),
    column(given("is_access", "Whether it is an access link of a template."), |rows| {
        rows.given(NetworkLink::is_access)
    }),
    column(given("is_traced", "Whether a delivery trace drives it.").undigested(), |rows| {
        rows.given(|link| link.config().trace.is_some())
    }),
    column(
        given("rate_bits", "The server's rate before any change; of a trace, its mean.").named("rate"),
        |rows| rows.given(|link| link.config().nominal_rate().bits_per_sec()),
    ),
    column(given("delay_seconds", "Propagation delay.").named("delay"), |rows| {
        rows.given(|link| link.delay.as_secs_f64())
    }),
    column(
        given("round_trip_seconds", "Mean propagation round trip time of the flows whose data crosses it.")
            .named("round_trip"),
        |rows| rows.network.mean_round_trips().into(),
    ),
    column(given("buffer_packets", "The buffer, where it is in packets."), |rows| {
        rows.given(|link| buffer_packets(link.buffer))
    }),
    column(given("buffer_bytes", "The buffer, where it is in bytes."), |rows| {
        rows.given(|link| buffer_bytes(link.buffer))
    }),
    column(counted("arrived_packets", "Packets offered to the link, dropped ones included."), |rows| {
        rows.change(|link| link.arrived.packets)
    }),
    column(counted("arrived_bytes", "Their bytes."), |rows| rows.change(|link| link.arrived.bytes.get())),
    column(counted("transmitted_packets", "Packets whose transmission ended."), |rows| {
        rows.change(|link| link.transmitted.packets)
    }),
    column(counted("transmitted_bytes", "Their bytes."), |rows| {
        rows.change(|link| link.transmitted.bytes.get())
    }),
    column(counted("delivered_packets", "Packets handed over at the far end, copies included."), |rows| {
        rows.change(|link| link.delivered.packets)
    }),
    column(counted("delivered_bytes", "Their bytes."), |rows| rows.change(|link| link.delivered.bytes.get())),
    column(counted("dropped_packets", "Packets dropped, for whatever reason."), |rows| {
        rows.change(|link| link.dropped_total().packets)
    }),
    column(counted("dropped_bytes", "Their bytes."), |rows| {
        rows.change(|link| link.dropped_total().bytes.get())
    }),
];

const FURTHER: &[Entry<Of>] = &[
    column(counted("duplicated_packets", "Copies that the link made."), |rows| {
        rows.change(|link| link.duplicated.packets)
    }),
    column(counted("marks", "Marks set by the discipline.").unit_of(Unit::Packets), |rows| {
        rows.change(|link| link.marked)
    }),
    column(level("waiting_packets", "Packets waiting at the end."), |rows| {
        rows.state(|link| link.waiting.packets)
    }),
    column(level("in_service_packets", "Packets in transmission at the end."), |rows| {
        rows.state(|link| link.in_service.packets)
    }),
    column(
        level("propagating_packets", "Packets transmitted and not yet at the far end, at the end."),
        |rows| rows.state(|link| link.propagating.packets),
    ),
    column(
        counted(
            "busy_seconds",
            "How long the server transmitted; 0 under a trace, whose opportunities take no time.",
        )
        .named("busy"),
        |rows| rows.pairs(|before, after| (after.busy - before.busy).as_secs_f64()),
    ),
    column(
        counted(
            "capacity_bytes",
            "What it could have transmitted: its rate over time, or its trace's opportunities.",
        )
        .undigested(),
        |rows| rows.change(|link| link.capacity.get()),
    ),
    column(
        mean(
            "mean_queue_packets",
            "Packets waiting, not counting the one in transmission, on average over time.",
        )
        .named("mean_queue"),
        |rows| {
            let time = rows.to.at.since(rows.from.at).as_nanos() as f64;
            rows.pairs(|before, after| after.waiting_area.wrapping_sub(before.waiting_area) as f64 / time)
        },
    ),
];

impl<'a> LinkRows<'a> {
    /// The table of what happened between two instants.
    pub(crate) fn table(network: &'a Network, from: &'a Snapshot, to: &'a Snapshot) -> Table {
        let rows = LinkRows { network, from, to };
        columns_of(&COLUMNS, |of| match of {
            Of::Rows(make) => make(&rows),
            Of::Dropped(reason) => rows.change(|link| link.dropped_for(*reason).packets),
        })
    }

    fn given<T>(&self, of: impl Fn(&NetworkLink) -> T) -> Column
    where
        Column: From<Vec<T>>,
    {
        self.network.links.iter().map(of).collect::<Vec<_>>().into()
    }

    fn texts<T: AsRef<str>>(&self, of: impl Fn(&NetworkLink) -> T) -> Column {
        self.network.links.iter().map(of).collect::<Texts>().into()
    }

    fn node(&self, of: fn(&NetworkLink) -> usize) -> Column {
        self.texts(|link| &self.network.nodes[of(link)])
    }

    fn pairs<T>(&self, of: impl Fn(&LinkCounters, &LinkCounters) -> T) -> Column
    where
        Column: From<Vec<T>>,
    {
        let links = 0..self.network.links.len();
        links.map(|link| of(self.from.link(link), self.to.link(link))).collect::<Vec<_>>().into()
    }

    fn change(&self, of: impl Fn(&LinkCounters) -> u64) -> Column {
        self.pairs(|before, after| of(after) - of(before))
    }

    fn state(&self, of: fn(&LinkCounters) -> u64) -> Column {
        self.pairs(|_, after| of(after))
    }
}

fn buffer_packets(capacity: Capacity) -> f64 {
    if let Capacity::Packets(packets) = capacity { f64::from(packets) } else { f64::NAN }
}

fn buffer_bytes(capacity: Capacity) -> f64 {
    if let Capacity::Bytes(bytes) = capacity { bytes.as_f64() } else { f64::NAN }
}
