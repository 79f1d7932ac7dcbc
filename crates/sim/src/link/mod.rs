//! A directed link: admission, queue, server, propagation. What a discipline decides lives in `qdisc`; the routing
//! between links and the endpoints' behaviour are the simulator's.
//!
//! A link has one of two forms, which agree packet by packet:
//!
//! * **direct** (`direct.rs`): a first-in first-out queue that acts on arrivals only, at a fixed rate. A packet's
//!   departure is known when it enters, so queue and wire are one ring and a hop costs one event.
//!   Without a bound there is nothing to decide, and nobody need know how much waits (`open.rs`).
//! * **staged** (`staged.rs`): any discipline, changing rates, delivery traces, links that an endpoint governs
//!   (`governor.rs`). The end of each transmission is an
//!   event of its own.

mod counters;
mod direct;
mod governor;
mod impairment;
mod late;
mod open;
mod schedule;
mod server;
mod spec;
mod staged;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailback_core::{
    Annexes, ArrivalPolicy, Directive, DropReason, LinkId, Packet, QueueCx, RouteCursor, Stream, Time,
    Verdict,
};
use tailback_qdisc::{Admission, Built, Limit};

use crate::event_queue::EventQueue;
use crate::recorder::{PacketEvent, Recorder};

pub use counters::{Count, LinkCounters};
pub use impairment::{Chance, Impairments, LossModel, PacketClass, Reordering};
pub use schedule::{Change, DeliveryTrace, TraceError};
pub use spec::LinkSpec;

use direct::Track;
use governor::Governor;
use impairment::{LossState, Wear};
use late::Late;
use server::Server;
use staged::Staged;

/// What a link borrows for one call.
pub(crate) struct LinkCx<'a, R> {
    pub(crate) now: Time,
    pub(crate) id: LinkId,
    pub(crate) events: &'a mut EventQueue,
    pub(crate) annexes: &'a mut Annexes,
    pub(crate) recorder: &'a mut R,
}

/// A packet on its way, and when it reaches the far end.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub(crate) struct Slot {
    pub(crate) time: Time,
    pub(crate) packet: Packet,
}

const _: () = assert!(size_of::<Slot>() == 32, "two slots per cache line");

/// The leaves of a link in the event queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkLeaves {
    /// The head of the wire reaches the far end.
    pub(crate) wire: u32,
    /// Ends of transmission, changes, the discipline's timers (staged form).
    pub(crate) service: u32,
    /// Packets held back on the wire.
    pub(crate) late: u32,
}

/// What became of a packet offered to a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer {
    /// It is behind others on its way.
    Queued,
    /// It is the only one on its way: this leaf must be armed for its arrival.
    Leads(u32, Time),
    /// A full buffer has no room for it.
    Overflow,
    /// It takes more than a plain link to say.
    AtLength,
}

/// How a link treats what is offered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Drop-tail without a bound: nothing to check.
    Open,
    /// Drop-tail, nothing else: checked inline.
    Plain,
    /// Direct, under another arrival policy or with losses before the queue.
    Policed,
    /// Staged.
    Staged,
}

/// The rarely touched part of a link; a plain one has none before it drops its first packet.
#[derive(Debug, Default)]
struct Cold {
    dropped: [Count; 5],
    /// The part of the losses that the wire's own model made: these packets were transmitted.
    lost_on_wire: Count,
    duplicated: Count,
    marked: u64,
    // Each behind a pointer: most links have none, and a large network has many links.
    loss_before_queue: Option<Box<LossState>>,
    policy: Option<Box<Policy>>,
    staged: Option<Box<Staged>>,
    wear: Option<Box<Wear>>,
    late: BinaryHeap<Reverse<Late>>,
    late_count: u64,
    leaves: LinkLeaves,
}

/// An arrival policy with what it borrows.
#[derive(Debug)]
struct Policy {
    admission: Admission,
    rng: Stream,
    /// Stays empty: an arrival policy drops by its verdict.
    drops: Vec<(Packet, DropReason)>,
}

/// A link at work: two cache lines that every packet touches, the first on its way out, both on its way in.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Link {
    track: Track,
    wire_leaf: u32,
    mode: Mode,
    /// Whether packets may be lost, damaged, copied or held back on the wire.
    is_rough: bool,
    server: Server,
    arrived: Count,
    limit: Limit,
    cold: Option<Box<Cold>>,
}

const _: () = assert!(size_of::<Link>() == 128, "two cache lines");

impl Link {
    /// A link at rest; it works once it is [settled](Link::settle).
    pub(crate) fn new(spec: LinkSpec, seed: u64) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("{} {what}", spec.name));
        let is_staged = spec.is_staged();
        let is_rough = !spec.impairments.is_none();
        let mut cold = Cold {
            loss_before_queue: spec
                .loss_before_queue
                .map(|model| Box::new(LossState::new(model, stream("loss before queue")))),
            wear: is_rough.then(|| Box::new(Wear::new(&spec.impairments, seed, &spec.name))),
            ..Cold::default()
        };
        let mut limit = Limit::UNLIMITED;
        let mode = match spec.queue {
            Built::Arrival(Admission::DropTail(drop_tail)) if !is_staged => {
                limit = drop_tail.limit();
                if cold.loss_before_queue.is_some() {
                    Mode::Policed
                } else if limit.is_unlimited() {
                    Mode::Open
                } else {
                    Mode::Plain
                }
            }
            Built::Arrival(admission) if !is_staged => {
                cold.policy = Some(Box::new(Policy { admission, rng: stream("queue"), drops: Vec::new() }));
                Mode::Policed
            }
            queue => {
                let governor = spec.governed.map(|packet| Governor::new(packet, stream("governor")));
                let staged = Staged::new(queue.into_discipline(), stream("queue"), spec.schedule, spec.trace)
                    .governed(governor);
                cold.staged = Some(Box::new(staged));
                Mode::Staged
            }
        };
        Self {
            track: Track::new(spec.delay),
            wire_leaf: 0,
            mode,
            is_rough,
            server: Server::new(spec.rate),
            arrived: Count::default(),
            limit,
            cold: (is_rough || matches!(mode, Mode::Policed | Mode::Staged)).then(|| Box::new(cold)),
        }
    }

    /// Takes its leaves in the event queue, and arms what is due without a packet.
    pub(crate) fn settle(&mut self, leaves: LinkLeaves, events: &mut EventQueue) {
        self.wire_leaf = leaves.wire;
        if let Some(cold) = &mut self.cold {
            cold.leaves = leaves;
            if let Some(staged) = &cold.staged {
                events.arm(leaves.service, staged.next_event());
            }
        }
    }

    /// A packet is offered to the link; it will go on from `route` at the far end. Plain links answer at once, the
    /// others through [`Link::offer_at_length`].
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, packet: Packet, route: RouteCursor) -> Offer {
        self.arrived.add(packet.size());
        if self.mode == Mode::Open {
            return self.take_in(now, packet, route);
        }
        if self.mode != Mode::Plain {
            return Offer::AtLength;
        }
        let backlog = self.track.backlog(now);
        let idle = self.server.is_idle(now);
        if !self.limit.admits(&packet, &backlog, idle) {
            return Offer::Overflow;
        }
        match self.accept(now, packet, route, idle) {
            None => Offer::Queued,
            Some(arrives) => Offer::Leads(self.wire_leaf, arrives),
        }
    }

    fn cold(&mut self) -> &mut Cold {
        self.cold.get_or_insert_default()
    }

    /// When the server will have transmitted all that it took on.
    pub(crate) fn busy_until(&self) -> Time {
        self.server.busy_until()
    }

    /// Takes in a packet without a look at what waits.
    #[inline(always)]
    fn take_in(&mut self, now: Time, packet: Packet, route: RouteCursor) -> Offer {
        if self.track.is_full() {
            return Offer::Overflow;
        }
        let wait = self.server.busy_until().since(now);
        let departs = self.server.transmit(now, packet.size());
        match self.track.push_open(wait, departs, packet, route) {
            None => Offer::Queued,
            Some(arrives) => Offer::Leads(self.wire_leaf, arrives),
        }
    }

    /// Takes in a packet; when it arrives at the far end, if it is the only one on its way.
    #[inline(always)]
    fn accept(&mut self, now: Time, packet: Packet, route: RouteCursor, idle: bool) -> Option<Time> {
        let departs = self.server.transmit(now, packet.size());
        self.track.push(now, idle, departs, packet, route)
    }

    /// Goes on where [`Link::offer`] stopped.
    #[inline(never)]
    pub(crate) fn offer_at_length<R: Recorder>(
        &mut self,
        mut packet: Packet,
        route: RouteCursor,
        cx: &mut LinkCx<'_, R>,
    ) {
        if self.cold().loss_before_queue.as_mut().is_some_and(|model| model.loses(&packet)) {
            self.drop(packet, DropReason::Loss, cx);
            return;
        }
        if let Some(staged) = self.cold.as_mut().and_then(|cold| cold.staged.as_mut()) {
            packet.route = route;
            staged.offer(packet, &mut self.server, cx.now, cx.annexes);
            self.after_stage(cx);
            return;
        }
        let idle = self.server.is_idle(cx.now);
        match self.police(&mut packet, idle, cx) {
            Verdict::Accept => {
                let begins = self.server.busy_until().max(cx.now);
                let arrives = self.accept(cx.now, packet, route, idle);
                if R::PACKETS {
                    let ends = self.server.busy_until();
                    let served = PacketEvent::Served { link: cx.id, packet: &packet, begins, ends };
                    cx.recorder.packet(cx.now, served);
                }
                if let Some(arrives) = arrives {
                    cx.events.arm(self.wire_leaf, arrives);
                }
            }
            Verdict::Drop(reason) => self.drop(packet, reason, cx),
        }
    }

    /// Asks the arrival policy, or drop-tail where there is none.
    fn police<R>(&mut self, packet: &mut Packet, idle: bool, link: &mut LinkCx<'_, R>) -> Verdict {
        let backlog = self.track.backlog(link.now);
        let (mut policy, mut marked) = (None, &mut 0);
        if let Some(cold) = self.cold.as_deref_mut() {
            (policy, marked) = (cold.policy.as_mut(), &mut cold.marked);
        }
        let Some(policy) = policy else {
            let admitted = self.limit.admits(packet, &backlog, idle);
            return if admitted { Verdict::Accept } else { Verdict::Drop(DropReason::Overflow) };
        };
        let mut cx = QueueCx {
            rng: &mut policy.rng,
            annexes: link.annexes,
            rate: self.server.rate(),
            idle_since: idle.then(|| self.server.busy_until()),
            drops: &mut policy.drops,
            marks: 0,
        };
        let verdict = policy.admission.admit(link.now, packet, &backlog, &mut cx);
        *marked += u64::from(cx.marks);
        debug_assert!(policy.drops.is_empty(), "an arrival policy drops by its verdict");
        verdict
    }

    /// The service leaf is due (staged form).
    pub(crate) fn serve<R: Recorder>(&mut self, cx: &mut LinkCx<'_, R>) {
        if let Some(staged) = self.cold.as_mut().and_then(|cold| cold.staged.as_mut()) {
            staged.serve(&mut self.server, cx.now, cx.annexes);
            self.after_stage(cx);
        }
    }

    /// A governed link's directive changes.
    pub(crate) fn direct<R: Recorder>(&mut self, directive: &Directive, cx: &mut LinkCx<'_, R>) {
        if let Some(staged) = self.cold.as_mut().and_then(|cold| cold.staged.as_mut()) {
            staged.direct(directive, &mut self.server, cx.now);
            self.after_stage(cx);
        }
    }

    /// Whether packets wait in a link of the staged form.
    pub(crate) fn has_waiting(&self) -> bool {
        let staged = self.cold.as_ref().and_then(|cold| cold.staged.as_ref());
        staged.is_some_and(|staged| staged.state().0.packets > 0)
    }

    /// Carries out what the staged form decided: drops, departures, a new delay, the next event.
    fn after_stage<R: Recorder>(&mut self, cx: &mut LinkCx<'_, R>) {
        let Some(cold) = self.cold.as_deref_mut() else { return };
        let Some(staged) = &mut cold.staged else { return };
        let mut drops = staged.take_drops();
        if let Some(delay) = staged.take_delay() {
            self.track.set_delay(delay);
        }
        cold.marked += u64::from(staged.take_marks());
        if R::PACKETS
            && let Some((packet, ends)) = staged.take_begun()
        {
            cx.recorder.packet(cx.now, PacketEvent::Served { link: cx.id, packet, begins: cx.now, ends });
        }
        while let Some(packet) = staged.pop_departure() {
            if R::PACKETS && staged.is_unforeseen() {
                let served =
                    PacketEvent::Served { link: cx.id, packet: &packet, begins: cx.now, ends: cx.now };
                cx.recorder.packet(cx.now, served);
            }
            if let Some(arrives) = self.track.push_transmitted(cx.now, packet) {
                cx.events.arm(self.wire_leaf, arrives);
            }
        }
        cx.events.arm(cold.leaves.service, staged.next_event());
        for (packet, reason) in drops.drain(..) {
            self.drop(packet, reason, cx);
        }
        if let Some(staged) = self.cold.as_mut().and_then(|cold| cold.staged.as_mut()) {
            staged.give_back(drops);
        }
    }

    /// Takes the head of the wire, and says when the next one arrives. Only where [`Link::is_rough`] is there more to
    /// it.
    #[inline(always)]
    pub(crate) fn take_head(&mut self) -> (Packet, Time) {
        self.track.pop()
    }

    /// Whether packets may be lost, damaged, copied or held back on the wire.
    #[inline(always)]
    pub(crate) fn is_rough(&self) -> bool {
        self.is_rough
    }

    /// A packet is dropped.
    #[cold]
    pub(crate) fn drop<R: Recorder>(&mut self, packet: Packet, reason: DropReason, cx: &mut LinkCx<'_, R>) {
        self.cold().dropped[reason as usize].add(packet.size());
        if R::PACKETS {
            cx.recorder.packet(cx.now, PacketEvent::Dropped(cx.id, &packet, reason));
        }
        cx.annexes.free(packet.annex);
    }

    /// What the queue discipline tells of its state at `now`.
    pub(crate) fn queue_state(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        let Some(cold) = &self.cold else { return };
        if let Some(staged) = &cold.staged {
            staged.queue_state(now, note);
        } else if let Some(policy) = &cold.policy {
            policy.admission.observe(now, note);
        }
    }
}
