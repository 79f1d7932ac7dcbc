//! The one-event form of a link: queue and wire are one ring, since every departure is known at entry.
//! The ring's entries up to `started` have begun transmission; the rest wait.

use tailback_core::{
    ArrivalPolicy, Backlog, Bytes, DropReason, Packet, QueueCx, Span, Stream, Time, Verdict,
};
use tailback_qdisc::{Admission, Limit};

use super::server::Server;
use super::{Count, LinkCx, Slot, plain_limit};
use crate::ring::Ring;

/// What became of an offered packet.
pub(super) enum Entry {
    /// It will reach the far end at `arrives`, after `service` in transmission.
    Accepted {
        arrives: Time,
        service: Span,
    },
    Refused(DropReason),
}

#[derive(Debug)]
enum Policy {
    /// Drop-tail, checked inline.
    Limit(Limit),
    Any(Box<AnyPolicy>),
}

#[derive(Debug)]
struct AnyPolicy {
    admission: Admission,
    rng: Stream,
    drops: Vec<(Packet, DropReason)>,
    marked: u64,
}

#[derive(Debug)]
pub(super) struct Direct {
    /// Entries from the head of the ring that have begun transmission.
    started: u32,
    waiting_bytes: Bytes,
    /// Sum of transmission starts minus sum of arrivals, over packets that had to wait; wraps harmlessly. Adding
    /// `now` once per waiting packet gives the integral of the queue over time.
    area: u64,
    policy: Policy,
}

impl Direct {
    pub(super) fn new(admission: Admission, rng: impl FnOnce() -> Stream) -> Self {
        let policy = match plain_limit(&admission) {
            Some(limit) => Policy::Limit(limit),
            None => Policy::Any(Box::new(AnyPolicy { admission, rng: rng(), drops: Vec::new(), marked: 0 })),
        };
        Self { started: 0, waiting_bytes: Bytes::ZERO, area: 0, policy }
    }

    #[inline(always)]
    pub(super) fn admit<R>(
        &mut self,
        cx: &mut LinkCx<'_, R>,
        mut packet: Packet,
        ring: &mut Ring<Slot>,
        server: &mut Server,
        delay: Span,
    ) -> Entry {
        self.advance(ring, delay, cx.now);
        let idle = server.is_idle(cx.now);
        let backlog = Backlog { packets: ring.len() - self.started, bytes: self.waiting_bytes };
        let refusal = match &mut self.policy {
            Policy::Limit(limit) => {
                if limit.admits(&packet, &backlog, idle) {
                    None
                } else {
                    Some(DropReason::Overflow)
                }
            }
            Policy::Any(policy) => {
                // A copy, so that the packet need not have an address on the plain path.
                let mut marked = packet;
                let refusal = policy.admit(cx, &mut marked, &backlog, server, idle);
                packet = marked;
                refusal
            }
        };
        if let Some(reason) = refusal {
            return Entry::Refused(reason);
        }
        let start = if idle { cx.now } else { server.busy_until() };
        let departs = server.transmit(cx.now, packet.size());
        let arrives = departs + delay;
        ring.push(Slot { time: arrives, packet });
        if idle {
            self.started += 1;
        } else {
            self.waiting_bytes += packet.size();
            self.area = self.area.wrapping_sub(cx.now.as_nanos());
        }
        Entry::Accepted { arrives, service: departs.since(start) }
    }

    /// Lets begin what has begun by `now`. A waiting packet begins when the one before it departs.
    #[inline]
    fn advance(&mut self, ring: &Ring<Slot>, delay: Span, now: Time) {
        while self.started < ring.len() {
            let Some(before) = self.started.checked_sub(1).and_then(|index| ring.get(index)) else { break };
            let departs = before.time - delay;
            if departs > now {
                break;
            }
            self.begin(ring, departs);
        }
    }

    #[inline]
    fn begin(&mut self, ring: &Ring<Slot>, at: Time) {
        if let Some(slot) = ring.get(self.started) {
            self.waiting_bytes -= slot.packet.size();
            self.area = self.area.wrapping_add(at.as_nanos());
            self.started += 1;
        }
    }

    /// The head was taken from the ring. If nothing behind it had been seen to begin, the next began when it left.
    #[inline]
    pub(super) fn popped(&mut self, slot: &Slot, ring: &Ring<Slot>, delay: Span) {
        self.started -= 1;
        if self.started == 0 && !ring.is_empty() {
            self.begin(ring, slot.time - delay);
        }
    }

    /// What waits and what is in transmission just before `now`: readers come between events, when everything before
    /// `now` has happened and nothing at it.
    pub(super) fn state(
        &mut self,
        ring: &Ring<Slot>,
        server: &Server,
        delay: Span,
        now: Time,
    ) -> (Count, Count) {
        let before = now - Span::from_nanos(1);
        self.advance(ring, delay, before);
        let waiting = Count { packets: u64::from(ring.len() - self.started), bytes: self.waiting_bytes };
        let mut in_service = Count::default();
        if !server.is_idle(before)
            && let Some(slot) = self.started.checked_sub(1).and_then(|index| ring.get(index))
        {
            in_service.add(slot.packet.size());
        }
        (waiting, in_service)
    }

    /// The integral of waiting packets over time up to `now`; `waiting` is what [`Direct::state`] gave for `now`.
    pub(super) fn waiting_area(&self, now: Time, waiting: Count) -> u64 {
        self.area.wrapping_add(waiting.packets.wrapping_mul(now.as_nanos()))
    }

    pub(super) fn marked(&self) -> u64 {
        match &self.policy {
            Policy::Limit(_) => 0,
            Policy::Any(policy) => policy.marked,
        }
    }
}

impl AnyPolicy {
    fn admit<R>(
        &mut self,
        link: &mut LinkCx<'_, R>,
        packet: &mut Packet,
        backlog: &Backlog,
        server: &Server,
        idle: bool,
    ) -> Option<DropReason> {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: link.annexes,
            rate: server.rate(),
            idle_since: idle.then(|| server.busy_until()),
            drops: &mut self.drops,
            marks: 0,
        };
        let verdict = self.admission.admit(link.now, packet, backlog, &mut cx);
        let marks = cx.marks;
        debug_assert!(self.drops.is_empty(), "an arrival policy drops by its verdict");
        self.marked += u64::from(marks);
        match verdict {
            Verdict::Accept => None,
            Verdict::Drop(reason) => Some(reason),
        }
    }
}
