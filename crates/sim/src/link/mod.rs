//! A directed link: admission, queue, server, propagation. What a discipline decides lives in `qdisc`; the routing
//! between links and the endpoints' behaviour are the simulator's.
//!
//! A link has one of two forms, which agree packet by packet:
//!
//! * **direct** (`direct.rs`): a first-in first-out queue that acts on arrivals only, at a fixed rate. A packet's
//!   departure is known when it enters, so queue and wire are one ring and a hop costs one event.
//! * **staged** (`staged.rs`): any discipline, changing rates, delivery traces. The end of each transmission is an
//!   event of its own.

mod counters;
mod direct;
mod impairment;
mod schedule;
mod server;
mod staged;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailback_core::{Annexes, BitRate, DropReason, LinkId, Packet, Span, Stream, Time};
use tailback_qdisc::{Admission, Built};

use crate::event_queue::EventQueue;
use crate::recorder::{PacketEvent, Recorder};
use crate::ring::Ring;

pub use counters::{Count, LinkCounters};
pub use impairment::{Chance, Impairments, LossModel, Reordering};
pub use schedule::{Change, DeliveryTrace, TraceError};

use direct::{Direct, Entry};
use impairment::{LossState, Wear};
use server::Server;
use staged::Staged;

/// What a link is made of.
#[derive(Debug)]
pub struct LinkSpec {
    /// Its name: seeds its random streams and labels its results.
    pub name: String,
    /// The server's rate; with a trace, only nominal.
    pub rate: BitRate,
    /// The propagation delay.
    pub delay: Span,
    /// The queue discipline.
    pub queue: Built,
    /// Loss before the queue, where the packet has used no capacity.
    pub loss_before_queue: Option<LossModel>,
    /// What happens on the wire.
    pub impairments: Impairments,
    /// Changes of rate and delay, in the order of time.
    pub schedule: Vec<Change>,
    /// Delivery opportunities in place of a rate.
    pub trace: Option<DeliveryTrace>,
    /// Spend an event on every end of transmission even where the direct form would do; results do not change.
    pub staged: bool,
}

impl LinkSpec {
    /// A plain link: fixed rate and delay, nothing lost but by the discipline.
    pub fn new(name: impl Into<String>, rate: BitRate, delay: Span, queue: Built) -> Self {
        Self {
            name: name.into(),
            rate,
            delay,
            queue,
            loss_before_queue: None,
            impairments: Impairments::default(),
            schedule: Vec::new(),
            trace: None,
            staged: false,
        }
    }

    pub(crate) fn is_staged(&self) -> bool {
        self.staged
            || self.trace.is_some()
            || !self.schedule.is_empty()
            || matches!(self.queue, Built::Full(_))
    }
}

/// What a link borrows for one call.
pub(crate) struct LinkCx<'a, R> {
    pub(crate) now: Time,
    pub(crate) id: LinkId,
    pub(crate) events: &'a mut EventQueue,
    pub(crate) annexes: &'a mut Annexes,
    pub(crate) recorder: &'a mut R,
}

/// A packet on its way, and when it reaches the far end.
#[derive(Clone, Copy, Debug)]
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

#[derive(Debug)]
enum Form {
    Direct(Direct),
    Staged(Box<Staged>),
}

/// The rarely touched part of a link.
#[derive(Debug)]
struct Cold {
    dropped: [Count; 5],
    /// The part of the losses that the wire's own model made: these packets were transmitted.
    lost_on_wire: Count,
    duplicated: Count,
    marked: u64,
    loss_before_queue: Option<LossState>,
    wear: Option<Wear>,
    late: BinaryHeap<Reverse<Late>>,
    late_count: u64,
    leaves: LinkLeaves,
}

/// A packet held back; ordered by time, then by when it was held.
#[derive(Debug)]
struct Late {
    time: Time,
    order: u64,
    packet: Packet,
}

impl PartialEq for Late {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.order) == (other.time, other.order)
    }
}
impl Eq for Late {}
impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Late {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.order).cmp(&(other.time, other.order))
    }
}

/// A link at work.
#[derive(Debug)]
pub(crate) struct Link {
    /// The wire, and in the direct form the queue behind it.
    ring: Ring<Slot>,
    server: Server,
    delay: Span,
    arrived: Count,
    delivered: Count,
    busy: Span,
    wire_leaf: u32,
    /// Whether anything but queueing and delay can happen to a packet here.
    is_rough: bool,
    form: Form,
    cold: Box<Cold>,
}

impl Link {
    pub(crate) fn new(spec: LinkSpec, seed: u64, leaves: LinkLeaves, events: &mut EventQueue) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("{} {what}", spec.name));
        let is_staged = spec.is_staged();
        let is_rough = spec.loss_before_queue.is_some() || !spec.impairments.is_none();
        let cold = Box::new(Cold {
            dropped: [Count::default(); 5],
            lost_on_wire: Count::default(),
            duplicated: Count::default(),
            marked: 0,
            loss_before_queue: spec
                .loss_before_queue
                .map(|model| LossState::new(model, stream("loss before queue"))),
            wear: (!spec.impairments.is_none()).then(|| Wear::new(&spec.impairments, seed, &spec.name)),
            late: BinaryHeap::new(),
            late_count: 0,
            leaves,
        });
        let form = match spec.queue {
            Built::Arrival(admission) if !is_staged => {
                Form::Direct(Direct::new(admission, || stream("queue")))
            }
            queue => {
                let staged = Staged::new(queue.into_discipline(), stream("queue"), spec.schedule, spec.trace);
                events.arm(leaves.service, staged.first_event());
                Form::Staged(Box::new(staged))
            }
        };
        Self {
            ring: Ring::new(),
            server: Server::new(spec.rate),
            delay: spec.delay,
            arrived: Count::default(),
            delivered: Count::default(),
            busy: Span::ZERO,
            wire_leaf: leaves.wire,
            is_rough,
            form,
            cold,
        }
    }

    /// A packet is offered to the link.
    #[inline(always)]
    pub(crate) fn offer<R: Recorder>(&mut self, packet: Packet, cx: &mut LinkCx<'_, R>) {
        self.arrived.add(packet.size());
        if R::PACKETS {
            cx.recorder.packet(cx.now, PacketEvent::Offered(cx.id, &packet));
        }
        if self.is_rough && self.lost_before_queue() {
            self.drop(packet, DropReason::Loss, cx);
            return;
        }
        match &mut self.form {
            Form::Direct(direct) => {
                let wire_was_empty = self.ring.is_empty();
                match direct.admit(cx, packet, &mut self.ring, &mut self.server, self.delay) {
                    Entry::Accepted { arrives, service } => {
                        self.busy += service;
                        if wire_was_empty {
                            cx.events.arm(self.wire_leaf, arrives);
                        }
                    }
                    Entry::Refused(reason) => self.drop(packet, reason, cx),
                }
            }
            Form::Staged(staged) => {
                staged.offer(packet, &mut self.server, cx.now, cx.annexes);
                self.after_stage(cx);
            }
        }
    }

    /// The service leaf is due (staged form).
    pub(crate) fn serve<R: Recorder>(&mut self, cx: &mut LinkCx<'_, R>) {
        if let Form::Staged(staged) = &mut self.form {
            staged.serve(&mut self.server, cx.now, cx.annexes);
            self.after_stage(cx);
        }
    }

    /// Carries out what the staged form decided: drops, departures, a new delay, the next event.
    fn after_stage<R: Recorder>(&mut self, cx: &mut LinkCx<'_, R>) {
        let Form::Staged(staged) = &mut self.form else { return };
        let mut drops = staged.take_drops();
        if let Some(delay) = staged.take_delay() {
            self.delay = delay;
        }
        self.cold.marked += u64::from(staged.take_marks());
        self.busy += staged.take_busy();
        while let Some(packet) = staged.pop_departure() {
            // No packet overtakes another on the wire, also when the delay falls.
            let last = self.ring.len().checked_sub(1).and_then(|i| self.ring.get(i)).map(|slot| slot.time);
            let time = (cx.now + self.delay).max(last.unwrap_or(Time::ZERO));
            if self.ring.is_empty() {
                cx.events.arm(self.wire_leaf, time);
            }
            self.ring.push(Slot { time, packet });
        }
        cx.events.arm(self.cold.leaves.service, staged.next_event());
        for (packet, reason) in drops.drain(..) {
            self.drop(packet, reason, cx);
        }
        if let Form::Staged(staged) = &mut self.form {
            staged.give_back(drops);
        }
    }

    /// The head of the wire has reached the far end. Re-arms the wire before the packet is handled, so that taking
    /// it and arming are one walk through the event queue.
    #[inline(always)]
    pub(crate) fn arrive<R: Recorder>(&mut self, cx: &mut LinkCx<'_, R>) -> Option<Packet> {
        let slot = self.ring.pop()?;
        let next = self.ring.front().map_or(Time::NEVER, |head| head.time);
        cx.events.arm(self.wire_leaf, next);
        if let Form::Direct(direct) = &mut self.form {
            direct.popped(&slot, &self.ring, self.delay);
        }
        if self.is_rough {
            return self.wear(slot.packet, cx);
        }
        self.delivered.add(slot.packet.size());
        Some(slot.packet)
    }

    /// A packet held back on the wire is due.
    pub(crate) fn arrive_late<R: Recorder>(&mut self, cx: &mut LinkCx<'_, R>) -> Option<Packet> {
        let Reverse(late) = self.cold.late.pop()?;
        let next = self.cold.late.peek().map_or(Time::NEVER, |Reverse(late)| late.time);
        cx.events.arm(self.cold.leaves.late, next);
        self.delivered.add(late.packet.size());
        Some(late.packet)
    }

    fn lost_before_queue(&mut self) -> bool {
        self.cold.loss_before_queue.as_mut().is_some_and(LossState::loses)
    }

    /// Strikes a packet at the far end.
    fn wear<R: Recorder>(&mut self, mut packet: Packet, cx: &mut LinkCx<'_, R>) -> Option<Packet> {
        let Some(wear) = &mut self.cold.wear else {
            self.delivered.add(packet.size());
            return Some(packet);
        };
        let fate = wear.strike(&mut packet);
        if fate.lost {
            self.cold.lost_on_wire.add(packet.size());
            self.drop(packet, DropReason::Loss, cx);
            return None;
        }
        if fate.copied {
            let mut copy = packet;
            if let Some(annex) = cx.annexes.get(packet.annex).cloned() {
                copy.annex = cx.annexes.insert(annex);
            }
            self.cold.duplicated.add(copy.size());
            self.hold(copy, cx.now + fate.held, cx.events);
        }
        if fate.held > Span::ZERO {
            self.hold(packet, cx.now + fate.held, cx.events);
            return None;
        }
        self.delivered.add(packet.size());
        Some(packet)
    }

    fn hold(&mut self, packet: Packet, time: Time, events: &mut EventQueue) {
        self.cold.late_count += 1;
        self.cold.late.push(Reverse(Late { time, order: self.cold.late_count, packet }));
        let next = self.cold.late.peek().map_or(Time::NEVER, |Reverse(late)| late.time);
        events.arm(self.cold.leaves.late, next);
    }

    #[cold]
    fn drop<R: Recorder>(&mut self, packet: Packet, reason: DropReason, cx: &mut LinkCx<'_, R>) {
        self.cold.dropped[reason as usize].add(packet.size());
        if R::PACKETS {
            cx.recorder.packet(cx.now, PacketEvent::Dropped(cx.id, &packet, reason));
        }
        cx.annexes.free(packet.annex);
    }

    /// Everything countable, as of `now`.
    pub(crate) fn counters(&mut self, now: Time) -> LinkCounters {
        let (waiting, in_service, waiting_area, marked) = match &mut self.form {
            Form::Direct(direct) => {
                let (waiting, in_service) = direct.state(&self.ring, &self.server, self.delay, now);
                (waiting, in_service, direct.waiting_area(now, waiting), direct.marked())
            }
            Form::Staged(staged) => {
                let (waiting, in_service) = staged.state();
                (waiting, in_service, staged.waiting_area(now), self.cold.marked)
            }
        };
        let mut propagating = Count::default();
        let on_wire = match self.form {
            Form::Direct(_) => self.ring.len() - (waiting.packets + in_service.packets) as u32,
            Form::Staged(_) => self.ring.len(),
        };
        for slot in self.ring.iter().take(on_wire as usize) {
            propagating.add(slot.packet.size());
        }
        for Reverse(late) in &self.cold.late {
            propagating.add(late.packet.size());
        }
        let refused = self.cold.dropped.iter().fold(Count::default(), |sum, count| sum.plus(*count));
        let transmitted =
            self.arrived.minus(refused.minus(self.cold.lost_on_wire)).minus(waiting).minus(in_service);
        // Service time promised and not yet spent does not count.
        let ahead = self.server.busy_until().since(now);
        LinkCounters {
            arrived: self.arrived,
            transmitted,
            delivered: self.delivered,
            dropped: self.cold.dropped,
            duplicated: self.cold.duplicated,
            marked,
            waiting,
            in_service,
            propagating,
            busy: self.busy.saturating_sub(ahead),
            waiting_area,
        }
    }
}

/// Whether a policy is plain drop-tail, which the direct form checks inline.
fn plain_limit(admission: &Admission) -> Option<tailback_qdisc::Limit> {
    match admission {
        Admission::DropTail(drop_tail) => Some(drop_tail.limit()),
        _ => None,
    }
}
