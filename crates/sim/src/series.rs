//! Time series at a chosen bin: for every watched link and flow one row per bin, in columns that leave without
//! copying. Rates are counted, not sampled: a bin's bytes are the difference of exact counters at its two ends.

use tailback_core::{Bytes, FlowId, LinkId, Span, Time};

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

/// Records time series and completed messages.
#[derive(Debug)]
pub struct Series {
    plan: SeriesPlan,
    next: Time,
    /// The bins' ends.
    pub times: Vec<Time>,
    /// One series per watched link, in the plan's order.
    pub links: Vec<LinkSeries>,
    /// One series per watched flow, in the plan's order.
    pub flows: Vec<FlowSeries>,
    /// Completed messages, in the order of their ends.
    pub messages: Vec<Message>,
    link_before: Vec<LinkCounters>,
    flow_before: Vec<FlowTotals>,
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
            times: Vec::new(),
            links: vec![LinkSeries::default(); plan.links.len()],
            flows: vec![FlowSeries::default(); plan.flows.len()],
            messages: Vec::new(),
            link_before: vec![LinkCounters::default(); plan.links.len()],
            flow_before: vec![FlowTotals::default(); plan.flows.len()],
            plan,
        }
    }

    /// What is watched.
    pub fn plan(&self) -> &SeriesPlan {
        &self.plan
    }
}

impl Recorder for Series {
    fn next_sample(&self) -> Time {
        self.next
    }

    fn sample(&mut self, view: &mut View<'_>) {
        self.times.push(view.now());
        for (index, &id) in self.plan.links.iter().enumerate() {
            let now = view.link(id);
            let before = std::mem::replace(&mut self.link_before[index], now);
            self.links[index].push(&before, &now, self.plan.bin);
            if self.plan.queue_state {
                self.links[index].push_state(|note| view.queue_state(id, note));
            }
        }
        for (index, &id) in self.plan.flows.iter().enumerate() {
            let (sender, receiver) = (view.sender(id), view.receiver(id));
            let now = FlowTotals {
                sent: sender.sent_bytes.get(),
                received: receiver.received_bytes.get(),
                goodput: receiver.goodput_bytes.get(),
                retransmitted: sender.repeated_packets,
            };
            let before = std::mem::replace(&mut self.flow_before[index], now);
            let series = &mut self.flows[index];
            series.sent_bytes.push(now.sent - before.sent);
            series.received_bytes.push(now.received - before.received);
            series.goodput_bytes.push(now.goodput - before.goodput);
            series.retransmitted_packets.push(now.retransmitted - before.retransmitted);
            series.window_bytes.push(sender.window.map_or(f64::NAN, Bytes::as_f64));
            series.rate_bits.push(sender.rate.map_or(f64::NAN, |rate| rate.bits_per_sec() as f64));
            series.in_flight_bytes.push(sender.in_flight.get());
            let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_secs_f64);
            series.rtt_seconds.push(seconds(sender.latest_rtt));
            series.smoothed_rtt_seconds.push(seconds(sender.smoothed_rtt));
        }
        self.next += self.plan.bin;
    }

    fn message(&mut self, message: Message) {
        self.messages.push(message);
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
