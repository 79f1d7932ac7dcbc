//! A directed link: admission, queue, server, propagation. What a discipline decides lives in `qdisc`; the routing
//! between links and the endpoints' behaviour are the simulator's.
//!
//! A link has one of two forms, which agree packet by packet:
//!
//! * **direct** (`direct.rs`): a first-in first-out queue that acts on arrivals only, at a fixed rate. A packet's
//!   departure is known when it enters, so queue and wire are one ring and a hop costs one event.
//!   Without a bound there is nothing to decide, and nobody need know how much waits (`open.rs`); where links share the slots
//!   in which packets lie, it takes no ring (`shared.rs`).
//! * **staged** (`stage.rs`): any discipline, changing rates, delivery traces, links that an endpoint governs. The end
//!   of each transmission is an event of its own, but at a fixed rate, under the commonest fair queues, only where another
//!   packet waits for it and nobody finds out later (`ahead.rs`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailback_core::{
    Allowance, ArrivalPolicy, Backlog, BitRate, DropReason, Packet, QueueCx, RouteCursor, Span, Stream, Time,
    Verdict,
};
use tailback_qdisc::{Admission, Built, Limit};

use crate::counters::Count;
use crate::direct::Track;
use crate::driver::{LinkCx, LinkDriver, LinkTimers};
use crate::feed::Feed;
use crate::impairment::{LossState, Wear};
use crate::late::Late;
use crate::seen::Seen;
use crate::server::Server;
use crate::slots::{Chain, Slots};
use crate::spec::LinkSpec;
use crate::stage::{Governed, Stage};

/// What became of a packet offered to a link.
#[derive(Clone, Copy, Debug)]
pub enum Offer {
    /// It is behind others on its way.
    Queued,
    /// It is the only one on its way: this leaf must be armed for its arrival.
    Leads(u32, Time),
    /// A full buffer has no room for it.
    Overflow,
    /// It takes more than a plain link to say.
    AtLength,
}

/// How a packet enters a link: that never changes, so that whoever lays routes can note it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// Nothing is checked.
    Open,
    /// Drop-tail is checked at once.
    Plain,
    /// It takes more to say what becomes of it: [`Link::offer_at_length`].
    AtLength,
}

/// How a link treats what is offered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Drop-tail without a bound: nothing to check.
    Open,
    /// The same, of a link that feeds others.
    OpenFeeder,
    /// Drop-tail, nothing else: checked inline.
    Plain,
    /// Direct, under another arrival policy or with losses before the queue.
    Policed,
    /// Staged.
    Staged,
}

/// Whether a link is fed ahead of time (`fed.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// Packets enter when they arrive.
    No,
    /// They enter ahead of their time.
    Yes,
    /// And what it is fed goes on to a receiver ahead of time, too.
    HandsOver,
}

/// The rarely touched part of a link; a plain one has none before it drops its first packet.
#[derive(Debug, Default)]
pub(crate) struct Cold {
    pub(crate) dropped: [Count; DropReason::NAMES.len()],
    /// The part of the losses that the wire's own model made: these packets were transmitted.
    pub(crate) lost_on_wire: Count,
    pub(crate) duplicated: Count,
    pub(crate) marked: u64,
    // Each behind a pointer: most links have none, and a large network has many links.
    loss_before_queue: Option<Box<LossState>>,
    policy: Option<Box<Policy>>,
    pub(crate) staged: Option<Box<Stage>>,
    pub(crate) wear: Option<Box<Wear>>,
    pub(crate) late: BinaryHeap<Reverse<Late>>,
    pub(crate) late_count: u64,
    /// Of a link that feeds others.
    pub(crate) feed: Option<Feed>,
    /// Of a link without a bound with many packets on its wire.
    pub(crate) seen: Option<Box<Seen>>,
    /// Of drop-tail.
    limit: Option<Limit>,
    pub(crate) timers: LinkTimers,
}

impl Cold {
    /// Whether a packet may join what waits under drop-tail.
    #[inline(always)]
    pub(crate) fn admits(&self, packet: &Packet, backlog: &Backlog, idle: bool) -> bool {
        self.limit.is_none_or(|limit| limit.admits(packet, backlog, idle))
    }
}

/// An arrival policy with what it borrows.
#[derive(Debug)]
struct Policy {
    admission: Admission,
    rng: Stream,
    /// Stays empty: an arrival policy drops by its verdict.
    drops: Vec<(Packet, DropReason)>,
}

/// A link at work: two cache lines. Where packets lie in shared slots they touch the first alone.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Link {
    pub(crate) server: Server,
    pub(crate) arrived: Count,
    /// Of a link without a bound, where it never changes: the track's, which stands in the second line.
    pub(crate) delay: Span,
    /// What is in shared slots; the track then has nothing.
    pub(crate) chain: Chain,
    pub(crate) mode: Mode,
    /// Whether packets may be lost, damaged, copied or held back on the wire.
    is_rough: bool,
    pub(crate) fed: Fed,
    /// What its driver wants to have at hand with it.
    note: u8,
    pub(crate) track: Track,
    pub(crate) cold: Option<Box<Cold>>,
}

const _: () = assert!(size_of::<Link>() == 128, "two cache lines");

impl Link {
    /// A link at rest; it works once it is [settled](Link::settle).
    pub fn new(spec: LinkSpec, seed: u64) -> Self {
        if spec.is_open() {
            return Self::open(spec.rate, spec.delay);
        }
        let stream = |what: &str| Stream::of_part(seed, &spec.name, what);
        let is_staged = spec.is_staged();
        let is_rough = !spec.impairments.is_none();
        let mut cold = Cold {
            loss_before_queue: spec
                .loss_before_queue
                .map(|model| Box::new(LossState::new(model, stream("loss before queue")))),
            wear: is_rough.then(|| Box::new(Wear::new(&spec.impairments, seed, &spec.name))),
            ..Cold::default()
        };
        let mode = match spec.queue {
            Built::Arrival(Admission::DropTail(drop_tail)) if !is_staged => {
                let limit = drop_tail.limit();
                cold.limit = Some(limit);
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
                let governor = spec.governor.map(|governor| Governed { governor, rng: stream("governor") });
                // At a constant rate, laws may compute how the queue drained since their last look, as in the other form.
                // Where the rate changes, they must look at it on time.
                let is_even = spec.schedule.is_empty() && governor.is_none();
                let discipline = match &spec.trace {
                    Some(_) => queue.into_timed(),
                    None if is_even => queue.into_discipline(),
                    None => queue.into_attended(),
                };
                let staged =
                    Stage::new(discipline, stream("queue"), spec.schedule, spec.trace).governed(governor);
                let staged = if spec.staged { staged } else { staged.working_ahead() };
                cold.staged = Some(Box::new(staged));
                Mode::Staged
            }
        };
        Self { mode, is_rough, cold: Some(Box::new(cold)), ..Self::open(spec.rate, spec.delay) }
    }

    /// A link at rest that has a rate and a delay, and nothing else.
    #[inline]
    pub(crate) fn open(rate: BitRate, delay: Span) -> Self {
        Self {
            server: Server::new(rate),
            arrived: Count::default(),
            delay,
            chain: Chain::default(),
            mode: Mode::Open,
            is_rough: false,
            fed: Fed::No,
            note: 0,
            track: Track::new(delay),
            cold: None,
        }
    }

    /// Takes the numbers of its timers, and sets the one that is due without a packet.
    pub fn settle(&mut self, timers: LinkTimers, driver: &mut impl LinkDriver) {
        self.track.timer = timers.wire;
        if let Some(cold) = &mut self.cold {
            cold.timers = timers;
            if let Some(staged) = &cold.staged {
                driver.arm(timers.service, staged.next_event());
            }
        }
    }

    /// Keeps what the driver wants to have at hand with the link.
    pub fn keep_note(&mut self, note: u8) {
        self.note = note;
    }

    /// What the driver keeps with the link; 0 before it does.
    #[inline(always)]
    pub fn note(&self) -> u8 {
        self.note
    }

    /// How packets enter.
    pub fn entrance(&self) -> Entrance {
        match self.mode {
            Mode::Open | Mode::OpenFeeder => Entrance::Open,
            Mode::Plain => Entrance::Plain,
            Mode::Policed | Mode::Staged => Entrance::AtLength,
        }
    }

    /// A packet is offered to the link; it will go on from `route` at the far end. Links with an open or plain
    /// `entrance`, which must be the link's own, answer at once, the others through [`Link::offer_at_length`].
    #[inline(always)]
    pub fn offer(&mut self, entrance: Entrance, now: Time, packet: Packet, route: RouteCursor) -> Offer {
        debug_assert_eq!(entrance, self.entrance());
        self.arrived.add(packet.size());
        match entrance {
            Entrance::Open => self.take_in(now, packet, route),
            Entrance::Plain => self.admit(now, packet, route),
            Entrance::AtLength => Offer::AtLength,
        }
    }

    /// Takes in a packet if the buffer has room.
    #[inline(always)]
    fn admit(&mut self, now: Time, packet: Packet, route: RouteCursor) -> Offer {
        let backlog = self.track.backlog(now);
        let idle = self.server.is_idle(now);
        if !self.cold.as_deref().is_none_or(|cold| cold.admits(&packet, &backlog, idle)) {
            return Offer::Overflow;
        }
        match self.accept(now, packet, route, idle) {
            None => Offer::Queued,
            Some(arrives) => Offer::Leads(self.track.timer, arrives),
        }
    }

    pub(crate) fn cold(&mut self) -> &mut Cold {
        self.cold.get_or_insert_default()
    }

    /// When the server will have transmitted all that it took on.
    pub fn busy_until(&self) -> Time {
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
            Some(arrives) => Offer::Leads(self.track.timer, arrives),
        }
    }

    /// Takes in a packet; when it arrives at the far end, if it is the only one on its way.
    #[inline(always)]
    fn accept(&mut self, now: Time, packet: Packet, route: RouteCursor, idle: bool) -> Option<Time> {
        let departs = self.server.transmit(now, packet.size());
        self.track.push(now, idle, departs, packet, route)
    }

    /// [`Link::offer`] and [`Link::offer_at_length`] in one, of a link of the staged form: what nearly always happens has no
    /// call between. The packet knows its route by now: what is written in parts just before it is read whole is waited for.
    #[inline(always)]
    pub fn offer_to_stage<D: LinkDriver>(
        &mut self,
        packet: Packet,
        cx: &mut LinkCx<'_, D>,
    ) -> Option<(Packet, Time)> {
        self.arrived.add(packet.size());
        let straight = |cold: &Cold| {
            cold.loss_before_queue.is_none() && cold.staged.as_ref().is_some_and(|staged| staged.ahead)
        };
        if self.cold.as_deref().is_some_and(straight) {
            return self.offered_ahead(packet, cx);
        }
        self.offer_at_length(packet, packet.route, cx)
    }

    /// Goes on where [`Link::offer`] stopped. Gives a packet that has left the queue, and when it reaches the far end, where
    /// the link [feeds](Link::begin_to_feed) others; of any other link it is on the wire.
    #[inline(never)]
    pub fn offer_at_length<D: LinkDriver>(
        &mut self,
        mut packet: Packet,
        route: RouteCursor,
        cx: &mut LinkCx<'_, D>,
    ) -> Option<(Packet, Time)> {
        if self.is_lost_before_queue(&packet, cx.now) {
            self.drop(packet, DropReason::Loss, cx);
            return None;
        }
        if self.mode == Mode::Staged {
            packet.route = route;
            if self.works_ahead() {
                return self.offered_ahead(packet, cx);
            }
        }
        if let Some(staged) = self.cold.as_mut().and_then(|cold| cold.staged.as_mut()) {
            staged.offer(packet, &mut self.server, cx.now, cx.annexes);
            return self.after_stage(cx);
        }
        let idle = self.server.is_idle(cx.now);
        match self.police(&mut packet, idle, cx) {
            Verdict::Accept => {
                let begins = self.server.busy_until().max(cx.now);
                let arrives = self.accept(cx.now, packet, route, idle);
                if D::PACKETS {
                    let ends = self.server.busy_until();
                    cx.driver.served(cx.now, cx.id, &packet, begins, ends);
                }
                if let Some(arrives) = arrives {
                    cx.driver.arm(self.track.timer, arrives);
                }
            }
            Verdict::Drop(reason) => self.drop(packet, reason, cx),
        }
        None
    }

    /// Whether packets may be lost before the queue.
    pub(crate) fn loses_before_queue(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.loss_before_queue.is_some())
    }

    /// Whether a packet is lost before the queue.
    pub(crate) fn is_lost_before_queue(&mut self, packet: &Packet, now: Time) -> bool {
        self.cold().loss_before_queue.as_mut().is_some_and(|model| model.loses(now, packet))
    }

    /// Asks the arrival policy, or drop-tail where there is none.
    pub(crate) fn police<D>(&mut self, packet: &mut Packet, idle: bool, link: &mut LinkCx<'_, D>) -> Verdict {
        let backlog = self.backlog(link.now);
        let Some(cold) = self.cold.as_deref_mut() else { return Verdict::Accept };
        let Some(policy) = &mut cold.policy else {
            let admitted = cold.admits(packet, &backlog, idle);
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
        cold.marked += u64::from(cx.marks);
        debug_assert!(policy.drops.is_empty(), "an arrival policy drops by its verdict");
        verdict
    }

    /// The service leaf is due (staged form). Gives what [`Link::offer_at_length`] does.
    pub fn serve<D: LinkDriver>(&mut self, cx: &mut LinkCx<'_, D>) -> Option<(Packet, Time)> {
        if self.works_ahead() {
            return self.served_ahead(cx);
        }
        let staged = self.cold.as_mut().and_then(|cold| cold.staged.as_mut())?;
        staged.serve(&mut self.server, cx.now, cx.annexes);
        self.after_stage(cx)
    }

    /// What a governed link may let go changes.
    pub fn allow<D: LinkDriver>(&mut self, allowance: &Allowance, cx: &mut LinkCx<'_, D>) {
        if let Some(staged) = self.cold.as_mut().and_then(|cold| cold.staged.as_mut()) {
            staged.allow(allowance, &mut self.server, cx.now, cx.annexes);
            let departed = self.after_stage(cx);
            debug_assert!(departed.is_none(), "a governed link feeds no other");
        }
    }

    /// Whether packets wait in a link of the staged form.
    pub fn has_waiting(&self) -> bool {
        let staged = self.cold.as_ref().and_then(|cold| cold.staged.as_ref());
        staged.is_some_and(|staged| staged.waits())
    }

    /// Carries out what the staged form decided: drops, departures, a new delay, the next event. Gives what has departed and
    /// may enter another link.
    fn after_stage<D: LinkDriver>(&mut self, cx: &mut LinkCx<'_, D>) -> Option<(Packet, Time)> {
        let cold = self.cold.as_deref_mut()?;
        let staged = cold.staged.as_mut()?;
        let mut departed = None;
        let drops = staged.take_drops();
        if let Some(delay) = staged.take_delay() {
            self.track.set_delay(delay);
        }
        cold.marked += u64::from(staged.take_marks());
        if D::PACKETS
            && let Some((packet, ends)) = staged.take_begun()
        {
            cx.driver.served(cx.now, cx.id, packet, cx.now, ends);
        }
        while let Some(packet) = staged.pop_departure() {
            if D::PACKETS && staged.is_unforeseen() {
                cx.driver.served(cx.now, cx.id, &packet, cx.now, cx.now);
            }
            // At a rate, one departs at a time.
            if cold.feed.is_some() {
                debug_assert!(departed.is_none());
                departed = Some((packet, cx.now.after(self.track.delay)));
            } else if let Some(arrives) = self.track.push_transmitted(cx.now, packet) {
                cx.driver.arm(self.track.timer, arrives);
            }
        }
        cx.driver.arm(cold.timers.service, staged.next_event());
        self.drop_all(drops, cx);
        departed
    }

    /// Drops what the discipline gave up.
    #[cold]
    pub(crate) fn drop_given_up<D: LinkDriver>(&mut self, cx: &mut LinkCx<'_, D>) {
        let staged = self.cold.as_mut().and_then(|cold| cold.staged.as_mut());
        if let Some(drops) = staged.map(|staged| staged.take_drops()) {
            self.drop_all(drops, cx);
        }
    }

    fn drop_all<D: LinkDriver>(&mut self, mut drops: Vec<(Packet, DropReason)>, cx: &mut LinkCx<'_, D>) {
        for (packet, reason) in drops.drain(..) {
            self.drop(packet, reason, cx);
        }
        if let Some(staged) = self.cold.as_mut().and_then(|cold| cold.staged.as_mut()) {
            staged.give_back(drops);
        }
    }

    /// The timer of the head of the wire.
    #[inline(always)]
    pub fn wire_timer(&self) -> u32 {
        self.track.timer
    }

    /// Takes the head of the wire, and says when the next one arrives. Only where [`Link::is_rough`] is there more to
    /// it.
    #[inline(always)]
    pub fn take_head(&mut self) -> (Packet, Time) {
        self.track.pop()
    }

    /// The packet at the head of the wire, or a little behind where many are on it; one that was there before if none is.
    #[inline(always)]
    pub fn upcoming<'a>(&'a self, slots: &'a Slots) -> Option<&'a Packet> {
        if self.is_open() { slots.upcoming(self.chain.wire) } else { self.track.upcoming() }
    }

    /// Whether packets may be lost, damaged, copied or held back on the wire.
    #[inline(always)]
    pub fn is_rough(&self) -> bool {
        self.is_rough
    }

    /// A packet is dropped.
    #[cold]
    pub fn drop<D: LinkDriver>(&mut self, packet: Packet, reason: DropReason, cx: &mut LinkCx<'_, D>) {
        self.cold().dropped[reason as usize].add(packet.size());
        if D::PACKETS {
            cx.driver.dropped(cx.now, cx.id, &packet, reason);
        }
        cx.annexes.free(packet.annex);
    }

    /// What the queue discipline tells of its state at `now`.
    pub fn queue_state(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        let Some(cold) = &self.cold else { return };
        if let Some(staged) = &cold.staged {
            staged.queue_state(now, note);
        } else if let Some(policy) = &cold.policy {
            policy.admission.observe(now, note);
        }
    }
}
