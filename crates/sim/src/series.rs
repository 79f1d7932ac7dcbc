//! Time series at a chosen bin: for every watched link and flow one row per bin, in columns that leave without
//! copying. Rates are counted, not sampled: a bin's bytes are the difference of exact counters at its two ends.

use tailback_core::{Bytes, FlowId, LinkId, Observation, Span, Time};
use tailback_link::LinkCounters;

use crate::column::{Unit, series};
use crate::recorder::{Message, Recorder, View};

series! {
    /// What happened at one link, bin by bin. Bin `i` covers `[i, i + 1) * bin`.
    LinkSeries from LinkRow of LinkCounters {
        /// Bytes transmitted in the bin.
        transmitted_bytes: u64 => u64, counted, |link| link.transmitted.bytes.get();
        /// Packets transmitted in the bin.
        transmitted_packets: u64 => u64, counted, |link| link.transmitted.packets;
        /// Packets offered in the bin.
        arrived_packets: u64 => u64, counted, |link| link.arrived.packets;
        /// Packets dropped in the bin, for whatever reason.
        dropped_packets: u64 => u64, counted, |link| link.dropped_total().packets;
        /// Marks set in the bin.
        marks: u64 => u64, counted, .unit_of(Unit::Packets), |link| link.marked;
        /// Mean number of waiting packets over the bin.
        mean_queue_packets: u64 => f64, mean, .named("mean_queue"), |link| link.waiting_area;
        /// Waiting packets at the bin's end.
        queue_packets: u64 => u64, level, .label("queue"), |link| link.waiting.packets;
        /// Waiting bytes at the bin's end.
        queue_bytes: u64 => u64, level, |link| link.waiting.bytes.get();
        /// How long what waits at the bin's end takes to leave, by the rates and opportunities to come; not a number where
        /// nothing says so.
        drain_seconds: f64 => f64, level, .named("drain"), .label("queueing delay"), .undigested(), |link| seconds(link.drain);
        /// What the link could have transmitted in the bin.
        capacity_bytes: u64 => u64, counted, .undigested(), |link| link.capacity.get();
    }
}

/// What queue disciplines told of their state at the ends of the bins, by name; not a number where they told nothing.
pub type QueueState = Vec<(&'static str, Vec<f64>)>;

series! {
    /// What happened to one flow, bin by bin.
    FlowSeries from FlowRow of Ends {
        /// Bytes that the sender put on the wire in the bin, headers and retransmissions included.
        sent_bytes: u64 => u64, counted, |flow| flow.sender.sent_bytes.get();
        /// Bytes that the receiver got in the bin, duplicates included.
        received_bytes: u64 => u64, counted, |flow| flow.receiver.received_bytes.get();
        /// Bytes delivered in order in the bin, each once.
        goodput_bytes: u64 => u64, counted, |flow| flow.receiver.goodput_bytes.get();
        /// The application's bytes delivered in order in the bin, without headers.
        app_bytes: u64 => u64, counted, .undigested(), |flow| flow.receiver.app_bytes.get();
        /// Packets retransmitted in the bin.
        retransmitted_packets: u64 => u64, counted, |flow| flow.sender.repeated_packets;
        /// The congestion window at the bin's end; not a number where there is none.
        window_bytes: f64 => f64, level,
            .named("window"), .label("congestion window"), .qlog("congestion_window"),
            |flow| flow.sender.window.map_or(f64::NAN, Bytes::as_f64);
        /// The rate that the scheme directs at the bin's end; not a number where there is none.
        rate_bits: f64 => f64, level, .named("directed_rate"), .qlog("pacing_rate"),
            |flow| flow.sender.rate.map_or(f64::NAN, |rate| rate.bits_per_sec() as f64);
        /// Bytes believed in the network at the bin's end.
        in_flight_bytes: u64 => u64, level, .named("in_flight"), .qlog("bytes_in_flight"),
            |flow| flow.sender.in_flight.get();
        /// The newest round trip time sample at the bin's end; not a number before the first.
        rtt_seconds: f64 => f64, level, .named("rtt"), .label("round trip time"), .qlog("latest_rtt"),
            |flow| seconds(flow.sender.latest_rtt);
        /// The smoothed round trip time at the bin's end; not a number before the first sample.
        smoothed_rtt_seconds: f64 => f64, level, .named("smoothed_rtt"), .qlog("smoothed_rtt"),
            |flow| seconds(flow.sender.smoothed_rtt);
        /// How long in the bin the sender's gate was closed: its scheme let no data leave.
        closed_seconds: f64 => f64, counted, .named("closed"), .label("time switched off"), .undigested(),
            |flow| flow.sender.gate.closed_by(flow.now).as_secs_f64();
    }
}

/// What the two ends of a flow tell at one instant.
struct Ends {
    now: Time,
    sender: Observation,
    receiver: Observation,
}

fn seconds(span: Option<Span>) -> f64 {
    span.map_or(f64::NAN, Span::as_secs_f64)
}

/// The series of one link, of counters read at the ends of bins by whoever drives it.
#[derive(Debug, Default)]
pub struct LinkBins {
    before: LinkRow,
    series: LinkSeries,
    state: QueueState,
}

impl LinkBins {
    /// Appends a bin that has ended.
    pub fn push(&mut self, counters: &LinkCounters, bin: Span) {
        let now = LinkRow::read(counters);
        let before = std::mem::replace(&mut self.before, now);
        self.series.push(&before, &now, bin);
    }

    /// Adds to the last bin what the link's queue discipline tells of its state.
    pub fn push_state(&mut self, tell: impl FnOnce(&mut dyn FnMut(&'static str, f64))) {
        push_state(&mut self.state, self.series.queue_packets.len(), tell);
    }

    /// The columns, and those of the queue's state.
    pub fn finish(self) -> (LinkSeries, QueueState) {
        (self.series, self.state)
    }
}

/// The series of one flow, of what its ends are seen to do by whoever carries its packets.
#[derive(Debug, Default)]
pub struct FlowBins {
    now: Time,
    before: FlowRow,
    series: FlowSeries,
}

impl FlowBins {
    /// A flow that came after so many bins, in which it did nothing.
    pub fn after(bins: usize, bin: Span) -> Self {
        let mut made = Self::default();
        let nothing = Observation::default();
        (0..bins).for_each(|_| made.push(&nothing, &nothing, bin));
        made
    }

    /// Appends a bin that has ended.
    pub fn push(&mut self, sender: &Observation, receiver: &Observation, bin: Span) {
        self.now += bin;
        let now = FlowRow::read(&Ends { now: self.now, sender: *sender, receiver: *receiver });
        let before = std::mem::replace(&mut self.before, now);
        self.series.push(&before, &now, bin);
    }

    /// The columns.
    pub fn finish(self) -> FlowSeries {
        self.series
    }
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
    /// For each of them, what its queue discipline told of its state; empty unless asked for.
    pub states: Vec<QueueState>,
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
    links: Vec<LinkBins>,
    /// As of the last bin in columns; empty, as flows' columns are, before the first of them is.
    flow_before: Vec<FlowRow>,
    /// So many rows each column is to have room for.
    room: usize,
}

/// So many bins are gathered before they go into columns.
const GATHERED: usize = 16;

/// Room is asked for at most so many rows beforehand: a run may be given more time than it is meant to take.
const MOST_RESERVED: usize = 1 << 24;

impl Series {
    /// A recorder for this plan.
    ///
    /// # Panics
    /// When the bin is zero: it would never end.
    pub fn new(plan: SeriesPlan) -> Self {
        assert!(!plan.bin.is_zero(), "a bin must last");
        Self {
            next: Time::ZERO + plan.bin,
            columns: TimeSeries::default(),
            rows: Vec::new(),
            links: std::iter::repeat_with(LinkBins::default).take(plan.links.len()).collect(),
            flow_before: Vec::new(),
            room: 0,
            plan,
        }
    }

    /// With room for a run until `end`. Columns that grow are copied, and end with room that nobody needs; room that is
    /// not written to takes no memory.
    #[must_use]
    pub fn until(mut self, end: Time) -> Self {
        let rows = end.since(Time::ZERO).as_nanos() / self.plan.bin.as_nanos();
        let rows = usize::try_from(rows).unwrap_or(usize::MAX).min(MOST_RESERVED);
        let _ = self.columns.times.try_reserve_exact(rows);
        self.links.iter_mut().for_each(|bins| bins.series.reserve(rows));
        self.room = rows;
        self
    }

    /// What is watched.
    pub fn plan(&self) -> &SeriesPlan {
        &self.plan
    }

    /// What was recorded.
    pub fn finish(mut self) -> TimeSeries {
        self.put_into_columns();
        (self.columns.links, self.columns.states) = self.links.into_iter().map(LinkBins::finish).unzip();
        self.columns
    }

    /// Moves the rows that were gathered into the flows' columns.
    fn put_into_columns(&mut self) {
        let flows = self.plan.flows.len();
        if self.columns.flows.is_empty() {
            // Only now: a hundred thousand flows have a million columns.
            self.columns.flows.resize_with(flows, FlowSeries::default);
            self.columns.flows.iter_mut().for_each(|series| series.reserve(self.room));
            self.flow_before.resize_with(flows, FlowRow::default);
        }
        for (index, (series, before)) in self.columns.flows.iter_mut().zip(&mut self.flow_before).enumerate()
        {
            for now in self.rows.iter().skip(index).step_by(flows) {
                series.push(&std::mem::replace(before, *now), now, self.plan.bin);
            }
        }
        self.rows.clear();
    }
}

impl Recorder for Series {
    fn next_sample(&self) -> Time {
        self.next
    }

    fn looks(&self) -> bool {
        !(self.plan.links.is_empty() && self.plan.flows.is_empty())
    }

    fn sample(&mut self, view: &mut View<'_>) {
        self.columns.times.push(view.now());
        for (index, &id) in self.plan.links.iter().enumerate() {
            self.links[index].push(&view.link(id), self.plan.bin);
            if self.plan.queue_state {
                self.links[index].push_state(|note| view.queue_state(id, note));
            }
        }
        let ends =
            |&id: &FlowId| Ends { now: view.now(), sender: view.sender(id), receiver: view.receiver(id) };
        self.rows.extend(self.plan.flows.iter().map(|id| FlowRow::read(&ends(id))));
        if self.rows.len() >= GATHERED * self.plan.flows.len() {
            self.put_into_columns();
        }
        self.next += self.plan.bin;
    }

    fn message(&mut self, message: Message) {
        self.columns.messages.push(message);
    }
}

/// One value for each name that a discipline tells, in the last of `rows`.
fn push_state(state: &mut QueueState, rows: usize, tell: impl FnOnce(&mut dyn FnMut(&'static str, f64))) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_room_for_the_run_and_no_more() {
        let plan = SeriesPlan {
            bin: Span::from_millis(10),
            links: vec![LinkId(0)],
            flows: vec![FlowId(0)],
            queue_state: false,
        };
        let columns = Series::new(plan.clone()).until(Time::ZERO + Span::from_secs(20)).finish();
        let room = [
            columns.times.capacity(),
            columns.links[0].marks.capacity(),
            columns.flows[0].sent_bytes.capacity(),
        ];
        assert_eq!(room, [2000; 3]);
        let endless = Series::new(plan).until(Time::NEVER).finish();
        assert!(endless.times.capacity() <= MOST_RESERVED);
    }
}
