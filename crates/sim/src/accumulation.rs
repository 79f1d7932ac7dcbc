//! The exact accumulation of flows, bin by bin: what estimators of it are measured by. How accumulation is estimated
//! is not decided here; estimates that controllers publish are averaged beside the truth.
//!
//! Source: Xia et al., "Accumulation-based Congestion Control", equation 1: the flow's bytes queued along its path,
//! each router seen as long ago as a signal from there needs to the end of the path,
//!
//! ```text
//! a(t) = Σ_j q_j(t - Σ_{k ≥ j} d_k)
//! ```
//!
//! with the receiver for the last node, so that `t` is the receiver's time, and the propagation delays `d_k` for the way
//! between nodes. Where a link's delay changes while running, the signal takes what is in force when it passes, and
//! overtakes nothing, as packets do not; while none arrives because the way has become longer, the last level stands.
//!
//! `q_j` counts what waits, as a queue's length does here. What is in transmission, of which the paper's fluid model
//! knows nothing, is kept beside it: only both together obey the law of conservation, by which they are what entered
//! the path a propagation delay ago less what has left it.
//!
//! Each stay in a queue is two steps, up and down, whose times may become known late and in any order; so bins gather
//! steps, and levels are summed at the end. All of it is integers: nothing is lost or rounded before the means.

use tailback_core::{DropReason, FlowId, Kind, LinkId, Packet, Span, Time};

use crate::column::series;
use crate::recorder::{PacketEvent, Recorder};

/// What a link adds to a signal's way, and how it loses packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The link.
    pub link: LinkId,
    /// Its propagation delay at the start.
    pub delay: Span,
    /// Its later delays, in the order of time.
    pub changes: Vec<(Time, Span)>,
    /// Whether its loss model strikes on the wire, behind the queue, so that what it loses had left the queue.
    pub loses_on_wire: bool,
}

/// The way of a flow's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The flow.
    pub flow: FlowId,
    /// The links that its data passes, in order.
    pub hops: Vec<Hop>,
    /// Of an aggregate, the flows whose packets are its data, whatever they are to these.
    pub members: Vec<FlowId>,
}

/// Whose accumulation is recorded, and how finely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccumulationPlan {
    /// The bin; must not be zero.
    pub bin: Span,
    /// How many bins the run has. The end of a transmission may lie far beyond them, and is not kept.
    pub bins: usize,
    /// The flows.
    pub flows: Vec<Path>,
}

series! {
    /// One flow's accumulation, bin by bin.
    AccumulationSeries {
        /// Xia et al., equation 1, at the bin's end: what the flow has waiting along its path.
        waiting_bytes as "accumulation_bytes": i64, level, .named("accumulation");
        /// Its mean over the bin.
        mean_waiting_bytes as "mean_accumulation_bytes": f64, mean, .named("mean_accumulation");
        /// The same sum over what is in transmission, at the bin's end.
        transmitting_bytes: i64, level, .named("transmitting");
        /// Its mean over the bin.
        mean_transmitting_bytes: f64, mean, .named("mean_transmitting");
        /// The mean of the estimates that the scheme published as `accumulation`; not a number where there was none.
        mean_estimate_bytes as "estimated_accumulation_bytes": f64, mean, .named("estimated_accumulation");
    }
}

/// The name under which controllers and feedback policies publish an estimate of accumulation, in bytes.
pub const ESTIMATE: &str = "accumulation";

/// Records the exact accumulation of flows.
#[derive(Debug)]
pub struct Accumulation {
    bin: Span,
    /// Steps in later bins are of no use to anybody.
    bins: usize,
    /// By flow, the rows of those whose data its packets are: its own, aggregates'.
    rows: Vec<Vec<u32>>,
    flows: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    flow: FlowId,
    hops: Vec<Way>,
    waiting: Steps,
    transmitting: Steps,
    /// Per bin, the sum and the number of estimates.
    estimates: Vec<(f64, u32)>,
}

impl Accumulation {
    /// A recorder for this plan.
    ///
    /// # Panics
    /// When the bin is zero: it would never end.
    pub fn new(plan: &AccumulationPlan) -> Self {
        assert!(!plan.bin.is_zero(), "a bin must last");
        let mut rows: Vec<Vec<u32>> = Vec::new();
        for (path, row) in plan.flows.iter().zip(0..) {
            for flow in path.members.iter().chain([&path.flow]) {
                grow(&mut rows, flow.index());
                rows[flow.index()].push(row);
            }
        }
        let flows = plan.flows.iter().map(Watched::new).collect();
        Self { bin: plan.bin, bins: plan.bins, rows, flows }
    }

    /// What was recorded in the first `bins` bins, in the plan's order.
    pub fn finish(self, bins: usize) -> Vec<AccumulationSeries> {
        let bin = self.bin;
        self.flows.into_iter().map(|flow| flow.finish(bins, bin)).collect()
    }

    /// Tells those whose data a packet is that it is at this hop of theirs.
    fn at(&mut self, link: LinkId, packet: &Packet, tell: impl Fn(&mut Watched, usize)) {
        let Some(rows) = self.rows.get(packet.flow.index()) else { return };
        for &row in rows {
            let watched = &mut self.flows[row as usize];
            let is_data = matches!(packet.kind(), Kind::Data | Kind::Control);
            let is_members = packet.flow != watched.flow;
            if (is_data || is_members)
                && let Some(hop) = watched.hops.iter().position(|hop| hop.link == link)
            {
                tell(watched, hop);
            }
        }
    }
}

impl Recorder for Accumulation {
    const PACKETS: bool = true;
    const NOTES: bool = true;

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        let bin = (self.bin, self.bins);
        match event {
            PacketEvent::Offered(link, packet) => {
                self.at(link, packet, |flow, hop| flow.waiting.step(flow.seen(hop, now), size(packet), bin));
            }
            PacketEvent::Served { link, packet, begins, ends } => {
                self.at(link, packet, |flow, hop| {
                    let (begins, ends) = (flow.seen(hop, begins), flow.seen(hop, ends));
                    flow.waiting.step(begins, -size(packet), bin);
                    flow.transmitting.step(begins, size(packet), bin);
                    flow.transmitting.step(ends, -size(packet), bin);
                });
            }
            PacketEvent::Dropped(link, packet, reason) => {
                self.at(link, packet, |flow, hop| {
                    if !(reason == DropReason::Loss && flow.hops[hop].loses_on_wire) {
                        flow.waiting.step(flow.seen(hop, now), -size(packet), bin);
                    }
                });
            }
            PacketEvent::Sent(..) | PacketEvent::Delivered(..) => {}
        }
    }

    fn note(&mut self, now: Time, flow: FlowId, name: &'static str, value: f64) {
        if name != ESTIMATE {
            return;
        }
        let index = bin_of(now, self.bin);
        if index >= self.bins {
            return;
        }
        for &row in self.rows.get(flow.index()).into_iter().flatten() {
            let watched = &mut self.flows[row as usize];
            if watched.flow != flow {
                continue;
            }
            grow(&mut watched.estimates, index);
            let (sum, count) = &mut watched.estimates[index];
            *sum += value;
            *count += 1;
        }
    }
}

impl Watched {
    fn new(path: &Path) -> Self {
        Self {
            flow: path.flow,
            hops: path.hops.iter().map(Way::new).collect(),
            waiting: Steps::default(),
            transmitting: Steps::default(),
            estimates: Vec::new(),
        }
    }

    /// When a signal that leaves hop `hop` at `at` reaches the receiver.
    fn seen(&self, hop: usize, at: Time) -> Time {
        self.hops[hop..].iter().fold(at, |at, way| way.arrival(at))
    }

    fn finish(self, bins: usize, bin: Span) -> AccumulationSeries {
        let (waiting_bytes, mean_waiting_bytes) = self.waiting.levels(bins, bin);
        let (transmitting_bytes, mean_transmitting_bytes) = self.transmitting.levels(bins, bin);
        let mean = |index: usize| match self.estimates.get(index) {
            Some(&(sum, count)) if count > 0 => sum / f64::from(count),
            _ => f64::NAN,
        };
        AccumulationSeries {
            waiting_bytes,
            mean_waiting_bytes,
            transmitting_bytes,
            mean_transmitting_bytes,
            mean_estimate_bytes: (0..bins).map(mean).collect(),
        }
    }
}

/// A link as a signal sees it.
#[derive(Debug)]
struct Way {
    link: LinkId,
    loses_on_wire: bool,
    delays: Vec<Delay>,
}

#[derive(Clone, Copy, Debug)]
struct Delay {
    from: Time,
    length: Span,
    /// What left before this delay came arrives then at the latest, and is not overtaken.
    floor: Time,
}

impl Way {
    fn new(hop: &Hop) -> Self {
        let mut delays = vec![Delay { from: Time::ZERO, length: hop.delay, floor: Time::ZERO }];
        for &(from, length) in &hop.changes {
            let before = delays[delays.len() - 1];
            delays.push(Delay { from, length, floor: before.floor.max(from + before.length) });
        }
        Self { link: hop.link, loses_on_wire: hop.loses_on_wire, delays }
    }

    fn arrival(&self, leaves: Time) -> Time {
        let known = self.delays.partition_point(|delay| delay.from <= leaves);
        let Delay { length, floor, .. } = self.delays[known.saturating_sub(1)];
        (leaves + length).max(floor)
    }
}

/// Steps of a level, gathered by bin.
#[derive(Debug, Default)]
struct Steps {
    /// Per bin, the sum of its steps, and that of their heights times what was left of the bin.
    bins: Vec<(i64, i128)>,
}

impl Steps {
    /// A step in one of the first `bins` bins; a later one is forgotten.
    fn step(&mut self, at: Time, height: i64, (bin, bins): (Span, usize)) {
        let index = bin_of(at, bin);
        if index >= bins {
            return;
        }
        grow(&mut self.bins, index);
        let left = bin.as_nanos() - at.as_nanos() % bin.as_nanos();
        let (sum, area) = &mut self.bins[index];
        *sum += height;
        *area += i128::from(height) * i128::from(left);
    }

    /// The level at the ends of the first `bins` bins, and its means over them.
    fn levels(&self, bins: usize, bin: Span) -> (Vec<i64>, Vec<f64>) {
        let width = i128::from(bin.as_nanos());
        let mut level = 0_i64;
        let gathered = self.bins.iter().copied().chain(std::iter::repeat((0, 0)));
        let rows = gathered.take(bins).map(|(sum, area)| {
            let mean = (i128::from(level) * width + area) as f64 / width as f64;
            level += sum;
            (level, mean)
        });
        rows.unzip()
    }
}

fn size(packet: &Packet) -> i64 {
    packet.size().get().cast_signed()
}

fn bin_of(at: Time, bin: Span) -> usize {
    (at.as_nanos() / bin.as_nanos()) as usize
}

fn grow<T: Clone + Default>(bins: &mut Vec<T>, index: usize) {
    if bins.len() <= index {
        bins.resize(index + 1, T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn steps_make_levels_whatever_their_order() {
        let bin = Span::from_millis(10);
        let mut steps = Steps::default();
        // 100 from 4 ms to 25 ms, told backwards.
        steps.step(at(25), -100, (bin, 4));
        steps.step(at(4), 100, (bin, 4));
        assert_eq!(steps.levels(4, bin), (vec![100, 100, 0, 0], vec![60.0, 100.0, 50.0, 0.0]));
        // A step at a bin's end belongs to the next.
        steps.step(at(10), 7, (bin, 4));
        assert_eq!(steps.levels(2, bin), (vec![100, 107], vec![60.0, 107.0]));
        // What lies behind the last bin takes no memory, even if it is a million years.
        steps.step(at(u64::MAX / 2_000_000), 7, (bin, 4));
        assert_eq!(steps.bins.len(), 3);
    }

    #[test]
    fn a_signal_takes_the_delay_in_force_and_overtakes_nothing() {
        let way = Way::new(&Hop {
            link: LinkId(0),
            delay: Span::from_millis(50),
            changes: vec![(at(100), Span::from_millis(10)), (at(200), Span::from_millis(30))],
            loses_on_wire: false,
        });
        for (leaves, arrives) in [(0, 50), (99, 149), (100, 150), (120, 150), (145, 155), (200, 230)] {
            assert_eq!(way.arrival(at(leaves)), at(arrives), "{leaves}");
        }
    }
}
