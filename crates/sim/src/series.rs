//! Time series at a chosen bin: for every watched link and flow one row per bin, in columns that leave without
//! copying. Rates are counted, not sampled: a bin's bytes are the difference of exact counters at its two ends.

use tailback_core::{Bytes, FlowId, LinkId, Observation, Span, Time};

use crate::link::LinkCounters;
use crate::recorder::{Message, Recorder, View};

/// What happened at one link, bin by bin. Bin `i` covers `[i, i + 1) * bin`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSeries {
    /// Bytes transmitted in the bin.
    pub transmitted_bytes: Vec<u64>,
    /// Packets transmitted in the bin.
    pub transmitted_packets: Vec<u64>,
    /// Packets offered in the bin.
    pub arrived_packets: Vec<u64>,
    /// Packets dropped in the bin, for whatever reason.
    pub dropped_packets: Vec<u64>,
    /// Marks set in the bin.
    pub marks: Vec<u64>,
    /// Mean number of waiting packets over the bin.
    pub mean_queue_packets: Vec<f64>,
    /// Waiting packets at the bin's end.
    pub queue_packets: Vec<u64>,
    /// Waiting bytes at the bin's end.
    pub queue_bytes: Vec<u64>,
    /// What the queue discipline told of its state at the bin's end, by name; not a number where it told nothing.
    /// Empty unless asked for.
    pub state: Vec<(&'static str, Vec<f64>)>,
}

/// What happened to one flow, bin by bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Bytes that the sender put on the wire in the bin, headers and retransmissions included.
    pub sent_bytes: Vec<u64>,
    /// Bytes that the receiver got in the bin, duplicates included.
    pub received_bytes: Vec<u64>,
    /// Bytes delivered in order in the bin, each once.
    pub goodput_bytes: Vec<u64>,
    /// Packets sent again in the bin.
    pub retransmitted_packets: Vec<u64>,
    /// The congestion window at the bin's end, in bytes; not a number where there is none.
    pub window_bytes: Vec<f64>,
    /// The directed rate at the bin's end, in bit/s; not a number where there is none.
    pub rate_bits: Vec<f64>,
    /// Bytes believed in the network at the bin's end.
    pub in_flight_bytes: Vec<u64>,
    /// The newest round trip time sample at the bin's end, in seconds; not a number before the first.
    pub rtt_seconds: Vec<f64>,
    /// The smoothed round trip time at the bin's end, in seconds; not a number before the first sample.
    pub smoothed_rtt_seconds: Vec<f64>,
}

/// Which links and flows to watch, and how finely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesPlan {
    /// The bin; must not be zero.
    pub bin: Span,
    /// The links to watch.
    pub links: Vec<LinkId>,
    /// The flows to watch.
    pub flows: Vec<FlowId>,
    /// Whether the links' queue disciplines are asked for their state at the end of each bin.
    pub queue_state: bool,
}

/// What [`Series`] recorded, in columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSeries {
    /// The bins' ends.
    pub times: Vec<Time>,
    /// One series per watched link, in the plan's order.
    pub links: Vec<LinkSeries>,
    /// One series per watched flow, in the plan's order.
    pub flows: Vec<FlowSeries>,
    /// Completed messages, in the order of their ends.
    pub messages: Vec<Message>,
}

/// Records time series and completed messages.
#[derive(Debug)]
pub struct Series {
    plan: SeriesPlan,
    next: Time,
    columns: TimeSeries,
    /// What was seen of the flows and is not in columns yet, all flows of a bin side by side. A thousand flows with a
    /// column for each figure would be ten thousand places in memory to write to at the end of every bin.
    rows: Vec<FlowRow>,
    link_before: Vec<LinkCounters>,
    flow_before: Vec<FlowTotals>,
}

/// So many bins are gathered before they go into columns.
const GATHERED: usize = 16;

/// A flow as of the end of a bin.
#[derive(Clone, Copy, Debug)]
struct FlowRow {
    totals: FlowTotals,
    window_bytes: f64,
    rate_bits: f64,
    in_flight_bytes: u64,
    rtt_seconds: f64,
    smoothed_rtt_seconds: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct FlowTotals {
    sent: u64,
    received: u64,
    goodput: u64,
    retransmitted: u64,
}

impl Series {
    /// A recorder for this plan.
    ///
    /// # Panics
    /// When the bin is zero: it would never end.
    pub fn new(plan: SeriesPlan) -> Self {
        assert!(!plan.bin.is_zero(), "a bin must last");
        Self {
            next: Time::ZERO + plan.bin,
            columns: TimeSeries {
                links: vec![LinkSeries::default(); plan.links.len()],
                flows: vec![FlowSeries::default(); plan.flows.len()],
                ..TimeSeries::default()
            },
            rows: Vec::new(),
            link_before: vec![LinkCounters::default(); plan.links.len()],
            flow_before: vec![FlowTotals::default(); plan.flows.len()],
            plan,
        }
    }

    /// What is watched.
    pub fn plan(&self) -> &SeriesPlan {
        &self.plan
    }

    /// What was recorded.
    pub fn finish(mut self) -> TimeSeries {
        self.put_into_columns();
        self.columns
    }

    /// Moves the rows that were gathered into the flows' columns.
    fn put_into_columns(&mut self) {
        let flows = self.plan.flows.len();
        for (index, (series, before)) in self.columns.flows.iter_mut().zip(&mut self.flow_before).enumerate()
        {
            series.extend(before, self.rows.iter().skip(index).step_by(flows));
        }
        self.rows.clear();
    }
}

impl Recorder for Series {
    fn next_sample(&self) -> Time {
        self.next
    }

    fn sample(&mut self, view: &mut View<'_>) {
        self.columns.times.push(view.now());
        for (index, &id) in self.plan.links.iter().enumerate() {
            let now = view.link(id);
            let before = std::mem::replace(&mut self.link_before[index], now);
            let series = &mut self.columns.links[index];
            series.push(&before, &now, self.plan.bin);
            if self.plan.queue_state {
                series.push_state(|note| view.queue_state(id, note));
            }
        }
        self.rows
            .extend(self.plan.flows.iter().map(|&id| FlowRow::new(&view.sender(id), &view.receiver(id))));
        if self.rows.len() >= GATHERED * self.plan.flows.len() {
            self.put_into_columns();
        }
        self.next += self.plan.bin;
    }

    fn message(&mut self, message: Message) {
        self.columns.messages.push(message);
    }
}

impl FlowRow {
    #[inline]
    fn new(sender: &Observation, receiver: &Observation) -> Self {
        let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_secs_f64);
        Self {
            totals: FlowTotals {
                sent: sender.sent_bytes.get(),
                received: receiver.received_bytes.get(),
                goodput: receiver.goodput_bytes.get(),
                retransmitted: sender.repeated_packets,
            },
            window_bytes: sender.window.map_or(f64::NAN, Bytes::as_f64),
            rate_bits: sender.rate.map_or(f64::NAN, |rate| rate.bits_per_sec() as f64),
            in_flight_bytes: sender.in_flight.get(),
            rtt_seconds: seconds(sender.latest_rtt),
            smoothed_rtt_seconds: seconds(sender.smoothed_rtt),
        }
    }
}

impl FlowSeries {
    /// Appends consecutive rows, of which the first follows on `before`.
    fn extend<'a>(&mut self, before: &mut FlowTotals, rows: impl Iterator<Item = &'a FlowRow>) {
        for row in rows {
            let (now, last) = (row.totals, std::mem::replace(before, row.totals));
            self.sent_bytes.push(now.sent - last.sent);
            self.received_bytes.push(now.received - last.received);
            self.goodput_bytes.push(now.goodput - last.goodput);
            self.retransmitted_packets.push(now.retransmitted - last.retransmitted);
            self.window_bytes.push(row.window_bytes);
            self.rate_bits.push(row.rate_bits);
            self.in_flight_bytes.push(row.in_flight_bytes);
            self.rtt_seconds.push(row.rtt_seconds);
            self.smoothed_rtt_seconds.push(row.smoothed_rtt_seconds);
        }
    }
}

impl LinkSeries {
    fn push(&mut self, before: &LinkCounters, now: &LinkCounters, bin: Span) {
        self.transmitted_bytes.push(now.transmitted.bytes.get() - before.transmitted.bytes.get());
        self.transmitted_packets.push(now.transmitted.packets - before.transmitted.packets);
        self.arrived_packets.push(now.arrived.packets - before.arrived.packets);
        self.dropped_packets.push(now.dropped_total().packets - before.dropped_total().packets);
        self.marks.push(now.marked - before.marked);
        let area = now.waiting_area.wrapping_sub(before.waiting_area);
        self.mean_queue_packets.push(area as f64 / bin.as_nanos() as f64);
        self.queue_packets.push(now.waiting.packets);
        self.queue_bytes.push(now.waiting.bytes.get());
    }

    /// One value for each name in the row that [`LinkSeries::push`] has just begun.
    fn push_state(&mut self, tell: impl FnOnce(&mut dyn FnMut(&'static str, f64))) {
        let (rows, state) = (self.queue_packets.len(), &mut self.state);
        tell(&mut |name, value| {
            let known = state.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                state.push((name, Vec::new()));
                state.len() - 1
            });
            let column = &mut state[known].1;
            if column.len() < rows {
                column.resize(rows - 1, f64::NAN);
                column.push(value);
            }
        });
        for (_, column) in state {
            column.resize(rows, f64::NAN);
        }
    }
}
