//! CAKE (Høiland-Jørgensen, Täht and Morton, Piece of CAKE, 2018; tc-cake): the shaper and the choice of a tin. What happens
//! in a tin stands in `tin`, the law of each queue in `cobalt`, what a packet takes on the line in `framing`.
//!
//! | part | file |
//! | --- | --- |
//! | settings | `settings` |
//! | schedules of the shaper and of tins | `clock` |
//! | the shaper; what counts behind the bottleneck; the rate that arrives | `ingress` |
//! | overhead, cells | `framing` |
//! | codepoints, shares of tins | `tins` |
//! | flows, hosts, acknowledgements | `tin` |
//! | COBALT | `cobalt` |
//!
//! It follows Linux's `sch_cake` and its manual, tc-cake; of the paper only the beginning was at hand. What nothing here could
//! make use of is not there: `nat`, since no network here translates addresses; `wash`, since packets carry no codepoint from one
//! queue to the next (each CAKE has its own list, and the router leaves the field of a real packet as it is); firewall marks;
//! `split-gso`, since each packet is one. The buffer is the link's. The filter of acknowledgements compares numbers alone: what
//! says more than a number (ranges, stamps, marks), or has the newest's, stays, where Linux compares ranges.

mod clock;
mod cobalt;
pub mod framing;
mod ingress;
pub mod settings;
mod tin;
pub mod tins;

use tailback_core::{
    Backlog, BitRate, Bytes, Checker, DropReason, Kind, Lane, Packet, QueueCx, QueueDiscipline, Span, Time,
    rng,
};

pub use settings::CakeConfig;

use crate::fair::longest::Ranking;
use crate::fair::shares::FlowMap;
use crate::known::KnownFlows;
use crate::limit::Limit;
use crate::parts::{BuildCx, FlowLists, Info, QueueConfig, numbered};
use clock::Clock;
use cobalt::Constants;
use framing::Frame;
use ingress::{Arrivals, Shaper};
use settings::{AckFilter, Isolation};
use tin::{Hosts, QUEUES, Stamp, Tin};
use tins::{Codepoint, Share, Tins};

impl QueueConfig for CakeConfig {
    type Queue = Box<Cake>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "cake",
            family: "active",
            summary: "A shaper over tins, with fair queueing of hosts and flows and a COBALT law in each queue",
            source: "Høiland-Jørgensen, Täht and Morton, Piece of CAKE, 2018",
        }
    }

    fn check(&self, checker: &mut Checker) {
        self.check_all(checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(Cake::new(self, cx))
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        numbered("codepoints", self.codepoints.iter().map(|group| &group.flows))
    }
}

/// A full packet, as Linux counts it on Ethernet.
const FULL: u64 = 1514;
/// The least rate that an estimate may give, so that a line that was silent is not shut: that of Linux, 64 bytes per second.
const LEAST_RATE: BitRate = BitRate::from_bits_per_sec(512);
/// The least quantum of a flow.
const LEAST_QUANTUM: u64 = 300;

/// The constants of a tin's law, and what a flow may send in a round of it.
fn law(rtt: Span, rate: Option<BitRate>) -> (Constants, i64) {
    let full = rate.map_or(Span::ZERO, |rate| rate.span_of(Bytes::new(FULL)));
    let quantum = rate.map_or(FULL, |rate| (rate.bits_per_sec() / 8 / 4096).clamp(LEAST_QUANTUM, FULL));
    (Constants::new(rtt, full), quantum.cast_signed())
}

/// A tin with this share of the rate.
fn tin(config: &CakeConfig, share: &Share) -> Tin {
    // A part of next to nothing is not nothing, or a packet would take for ever.
    let rate = config.rate.map(|rate| rate.mul_f64(share.part).max(BitRate::from_bits_per_sec(1)));
    let keeping = (config.isolation, config.ingress);
    Tin::new((share.name, share.quantum), rate.map(Clock::new), law(config.rtt, rate), keeping)
}

/// CAKE.
#[derive(Clone, Debug)]
pub struct Cake {
    limit: Limit,
    frame: Frame,
    isolation: Isolation,
    ack_filter: AckFilter,
    mode: Tins,
    codepoint_of: FlowMap<Codepoint>,
    known: KnownFlows,
    /// What the hash is perturbed by, drawn for the first packet.
    perturbation: Option<u64>,
    shaper: Option<Shaper>,
    /// The estimate that the shaper follows, if it does.
    arrivals: Option<Arrivals>,
    ingress: bool,
    rtt: Span,
    tins: Vec<Tin>,
    /// The tin whose turn it is, where there is no rate.
    current: usize,
    backlog: Backlog,
    ranking: Ranking,
}

impl Cake {
    /// CAKE for the link that `cx` describes.
    pub fn new(config: &CakeConfig, cx: &BuildCx) -> Self {
        let groups = config.codepoints.iter();
        let codepoint_of = groups
            .flat_map(|group| cx.flows.numbers(&group.flows).map(|flow| (flow, group.codepoint)))
            .collect();
        Self {
            limit: Limit::new(cx.capacity),
            frame: Frame { framing: config.framing, overhead: config.overhead, least: config.least_frame },
            isolation: config.isolation,
            ack_filter: config.ack_filter,
            mode: config.tins,
            codepoint_of,
            known: cx.flows.clone(),
            perturbation: None,
            shaper: config.rate.map(|rate| Shaper::new(rate, config.ingress)),
            arrivals: config.autorate_ingress.then(|| Arrivals::new(config.rate)),
            ingress: config.ingress,
            rtt: config.rtt,
            tins: config.tins.shares().iter().map(|share| tin(config, share)).collect(),
            current: 0,
            backlog: Backlog::default(),
            ranking: Ranking::default(),
        }
    }

    /// The tin of a packet, by its flow's codepoint.
    fn tin_of(&self, packet: &Packet) -> usize {
        let out_of_band = packet.lane() == Lane::OUT_OF_BAND;
        let unnamed = if out_of_band { Codepoint::Cs6 } else { Codepoint::Cs0 };
        let own = self.codepoint_of.get(&packet.flow.0).copied();
        self.mode.of(own.unwrap_or(unnamed))
    }

    /// The hosts that a packet comes from and goes to.
    fn hosts_of(&self, packet: &Packet) -> Hosts {
        let (sender, receiver) = self.known.hosts_of(packet.flow.0);
        match packet.kind() {
            Kind::Data | Kind::Control => (sender, receiver),
            Kind::Ack | Kind::Report => (receiver, sender),
        }
    }

    /// Whose queue a packet joins.
    fn key(&self, packet: &Packet, hosts: Hosts) -> u64 {
        match self.isolation {
            Isolation::None => 0,
            Isolation::Source => u64::from(hosts.0),
            Isolation::Destination => u64::from(hosts.1),
            Isolation::Hosts => u64::from(hosts.0) << 32 | u64::from(hosts.1),
            _ => u64::from(packet.flow.0),
        }
    }

    /// Takes a packet that arrives, less one that the filter took out, into the estimate, and follows that.
    fn follow(&mut self, now: Time, size: Bytes, gone: Bytes) {
        let Some(rate) = self.arrivals.as_mut().and_then(|arrivals| arrivals.arrive(now, size, gone)) else {
            return;
        };
        let rate = rate.max(LEAST_RATE);
        match &mut self.shaper {
            Some(shaper) => shaper.keep(rate),
            none => {
                // In Linux a clock that nobody heeded stood still since packets began to wait, and would let as much go at once.
                let mut shaper = Shaper::new(rate, self.ingress);
                shaper.begin(now);
                *none = Some(shaper);
            }
        }
        for (tin, share) in self.tins.iter_mut().zip(self.mode.shares()) {
            let part = rate.mul_f64(share.part);
            tin.keep(now, part, law(self.rtt, Some(part)));
        }
    }

    /// What a tin has dropped counts for the shaper too, where it counts at all.
    fn charge_dropped(&mut self, tin: usize) {
        let dropped = self.tins[tin].take_dropped();
        if let Some(shaper) = self.shaper.as_mut().filter(|_| dropped > 0) {
            shaper.charge_dropped(dropped);
        }
    }

    fn count_out(&mut self, size: Bytes) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= size;
    }

    /// Drops the oldest packet of the longest queue of all tins.
    fn relieve(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        let tins = &self.tins;
        let all = (0..)
            .zip(tins)
            .flat_map(|(tin, held)| held.waiting().into_iter().map(move |queue| tin * QUEUES + queue));
        let length = |slot: u32| tins[(slot / QUEUES) as usize].length(slot % QUEUES).get();
        let Some(slot) = self.ranking.longest(all, length) else { return };
        let tin = &mut self.tins[(slot / QUEUES) as usize];
        let Some(packet) = tin.drop_oldest(now, slot % QUEUES) else { return };
        if tin.length(slot % QUEUES) == Bytes::ZERO {
            self.ranking.emptied(slot);
        }
        self.count_out(packet.size());
        self.charge_dropped((slot / QUEUES) as usize);
        cx.drop(packet, DropReason::Overflow);
    }

    /// The tin to serve where there is a rate: the last in the list that is within its schedule, or else the one whose
    /// schedule comes first. The list has the tins in order of priority.
    fn by_schedule(&self, now: Time) -> Option<usize> {
        let waiting = self.tins.iter().enumerate().filter(|(_, tin)| !tin.is_idle());
        let dues = waiting.filter_map(|(index, tin)| tin.clock.as_ref().map(|clock| (index, clock.next())));
        dues.reduce(|best, next| if next.1 <= now || next.1 <= best.1 { next } else { best })
            .map(|(index, _)| index)
    }

    /// The tin to serve where there is none: each in turn, for its part of the bytes.
    fn by_turns(&mut self) -> Option<usize> {
        if self.tins.iter().all(Tin::is_idle) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.credit >= 0 && !tin.is_idle() {
                return Some(self.current);
            }
            if tin.credit <= 0 {
                tin.credit += tin.turn;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }
}

impl QueueDiscipline for Cake {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let is_empty = self.backlog.packets == 0;
        let straight = cx.idle_since.is_some() && is_empty;
        if let Some(shaper) = self.shaper.as_mut().filter(|_| is_empty) {
            shaper.begin(now);
        }
        let perturbation = *self.perturbation.get_or_insert_with(|| rng::mix(cx.rng.below(1 << 32)));
        let hosts = self.hosts_of(&packet);
        let key = self.key(&packet, hosts);
        let number = self.tin_of(&packet);
        let stamp = Stamp { arrived: now, length: self.frame.length(packet.size()) };
        let tin = &mut self.tins[number];
        let queue = tin.push(packet, stamp, (key, rng::mix(key ^ perturbation)), hosts);
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
        let mut gone = Bytes::ZERO;
        if let Some(filtered) = tin.filter(now, queue, self.ack_filter) {
            gone = filtered.size();
            self.count_out(gone);
            self.charge_dropped(number);
            cx.drop(filtered, DropReason::Early);
        }
        self.follow(now, packet.size(), gone);
        let tin = &mut self.tins[number];
        // By the new rate, where the packet brought one, as in Linux.
        tin.enlist(queue, hosts);
        let length = tin.length(queue).get();
        self.ranking.grown(number as u32 * QUEUES + queue, length, &self.backlog, &self.limit);
        while !straight && self.limit.exceeded_by(&self.backlog) {
            self.relieve(now, cx);
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        loop {
            // Asked again after each empty queue: behind the bottleneck, what a tin has dropped on the way to it counts.
            if self.backlog.packets == 0 || self.next_ready(now).is_some() {
                return None;
            }
            let number = if self.shaper.is_some() { self.by_schedule(now) } else { self.by_turns() }?;
            let (already, tin) = (cx.drops.len(), &mut self.tins[number]);
            let taken = tin.take(now, cx);
            for at in already..cx.drops.len() {
                self.count_out(cx.drops[at].0.size());
            }
            self.charge_dropped(number);
            let Some((packet, length, queue)) = taken else { continue };
            let tin = &mut self.tins[number];
            tin.charge(now, length);
            if let Some(shaper) = &mut self.shaper {
                shaper.charge(length);
            }
            if tin.length(queue) == Bytes::ZERO {
                self.ranking.emptied(number as u32 * QUEUES + queue);
            }
            self.count_out(packet.size());
            return Some(packet);
        }
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        let next = self.shaper.as_ref().filter(|_| self.backlog.packets > 0)?.next();
        (next > now).then_some(next)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn observe(&self, _: Time, note: &mut dyn FnMut(&'static str, f64)) {
        let (sparse, bulk) = self.tins.iter().map(Tin::flows).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        note("sparse_queues", sparse as f64);
        note("bulk_queues", bulk as f64);
        if let Some(arrivals) = &self.arrivals {
            note("arriving_bits", arrivals.rate().bits_per_sec() as f64);
        }
        for tin in &self.tins {
            note(tin.name, f64::from(tin.packets()));
        }
    }
}
