//! The two-event form of a link: a queue discipline in front of a server whose every end of transmission is an
//! event. Serves any discipline, changing rates, delivery traces and governors. The wire behind it is `link.rs`'s.

use std::collections::VecDeque;

use tailback_core::{
    Allowance, Annexes, BitRate, Bytes, DropReason, Governor, Packet, QueueCx, QueueDiscipline, Span, Stream,
    Time,
};
use tailback_qdisc::Discipline;

use crate::counters::Count;
use crate::schedule::Change;
use crate::server::Server;
use crate::trace::{DeliveryTrace, TraceCursor};

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) discipline: Discipline,
    rng: Stream,
    pub(crate) in_service: Option<Packet>,
    /// When the packet in service leaves; `NEVER` while none is, or while a trace decides.
    pub(crate) service_end: Time,
    /// A transmission has begun that nobody was told of.
    begun: bool,
    /// Since when it has had nothing to do; [`Time::NEVER`] while it has.
    pub(crate) idle_since: Time,
    schedule: VecDeque<Change>,
    trace: Option<TraceCursor>,
    /// What the server could have transmitted before its rate last changed, the part of a byte beside it
    /// ([`BitRate::bytes_beside`]), and when that was.
    capacity: (Bytes, u64, Time),
    /// Who lets packets go in place of a rate.
    governor: Option<Box<Governed>>,
    /// Since when a governor keeps the packet in service.
    held_since: Time,
    /// Packets are on the wire as soon as their transmission begins (`ahead.rs`).
    pub(crate) ahead: bool,
    /// The packet in service has passed the discipline by (`ahead.rs`).
    pub(crate) passed: Option<Passed>,
    /// How many packets wait, where the link works ahead.
    pub(crate) waiting: u32,
    next_event: Time,
    /// What the service timer is set to.
    pub(crate) armed: Time,
    /// How long after the end of a transmission it may be found out what is transmitted next (`ahead.rs`).
    pub(crate) lag: Span,
    /// Whether arrivals are put off, and those that are (`put_off.rs`).
    pub(crate) puts_off: bool,
    pub(crate) put_off: Vec<Arrival>,
    area: u64,
    area_until: Time,
    // What `Link::after_stage` carries out.
    departures: VecDeque<Packet>,
    drops: Vec<(Packet, DropReason)>,
    new_delay: Option<Span>,
    marks: u32,
    pub(crate) busy: Span,
}

/// A packet in transmission that has passed its discipline by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// When it came, and left at once.
    pub(crate) at: Time,
    /// Since when the server had been idle; [`Time::NEVER`] where it had not.
    pub(crate) idle_since: Time,
}

/// A packet that has arrived and was not taken in yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// When it came.
    pub(crate) at: Time,
    /// By which leaf's event: what comes first of several things at one instant follows from that.
    pub(crate) leaf: u32,
    /// The packet, which goes on from its route behind the link.
    pub(crate) packet: Packet,
}

/// A governor with what it borrows.
#[derive(Debug)]
pub(crate) struct Governed {
    pub(crate) governor: Box<dyn Governor + Send>,
    pub(crate) rng: Stream,
}

impl Stage {
    pub(crate) fn new(
        discipline: Discipline,
        rng: Stream,
        schedule: Vec<Change>,
        trace: Option<DeliveryTrace>,
    ) -> Self {
        let trace = trace.map(TraceCursor::new);
        let mut stage = Self {
            discipline,
            rng,
            in_service: None,
            service_end: Time::NEVER,
            begun: false,
            idle_since: Time::ZERO,
            schedule: schedule.into(),
            trace,
            capacity: (Bytes::ZERO, 0, Time::ZERO),
            governor: None,
            held_since: Time::ZERO,
            ahead: false,
            passed: None,
            waiting: 0,
            next_event: Time::NEVER,
            armed: Time::NEVER,
            lag: Span::ZERO,
            puts_off: false,
            put_off: Vec::new(),
            area: 0,
            area_until: Time::ZERO,
            departures: VecDeque::new(),
            drops: Vec::new(),
            new_delay: None,
            marks: 0,
            busy: Span::ZERO,
        };
        stage.plan(BitRate::ZERO, Time::ZERO);
        stage
    }

    /// The same, with packets let go by a governor where one is given.
    pub(crate) fn governed(self, governor: Option<Governed>) -> Self {
        Self { governor: governor.map(Box::new), ..self }
    }

    /// The same, working ahead where nothing forbids it.
    pub(crate) fn working_ahead(self) -> Self {
        Self { ahead: self.is_steady() && self.discipline.may_hear_late(), ..self }
    }

    /// Whether packets leave one by one at a rate, and rate and delay never change.
    pub(crate) fn is_steady(&self) -> bool {
        self.governor.is_none() && self.trace.is_none() && self.schedule.is_empty()
    }

    /// What the governor is allowed changes: the packet at the head asks again.
    pub(crate) fn allow(
        &mut self,
        allowance: &Allowance,
        server: &mut Server,
        now: Time,
        annexes: &mut Annexes,
    ) {
        let Some(Governed { governor, rng }) = self.governor.as_deref_mut() else { return };
        governor.allow(now, allowance, rng);
        // Disciplines that compute with the server's rate hear of the one in force.
        if let Some(rate) = allowance.rate.filter(|rate| *rate > BitRate::ZERO) {
            self.set_rate(rate, server, now, annexes);
        }
        if self.in_service.is_some() {
            self.service_end = now;
        }
        self.plan(server.rate(), now);
    }

    #[inline]
    pub(crate) fn next_event(&self) -> Time {
        self.next_event
    }

    #[inline]
    pub(crate) fn take_drops(&mut self) -> Vec<(Packet, DropReason)> {
        std::mem::take(&mut self.drops)
    }

    /// Whether there are drops to take.
    #[inline]
    pub(crate) fn has_drops(&self) -> bool {
        !self.drops.is_empty()
    }

    /// Returns the drop list's memory for the next call.
    #[inline]
    pub(crate) fn give_back(&mut self, drops: Vec<(Packet, DropReason)>) {
        if self.drops.is_empty() {
            self.drops = drops;
        }
    }

    #[inline]
    pub(crate) fn take_delay(&mut self) -> Option<Span> {
        self.new_delay.take()
    }

    #[inline]
    pub(crate) fn take_marks(&mut self) -> u32 {
        std::mem::take(&mut self.marks)
    }

    /// The packet whose transmission has just begun, once, and when that ends.
    #[inline]
    pub(crate) fn take_begun(&mut self) -> Option<(&Packet, Time)> {
        let begun = std::mem::take(&mut self.begun);
        self.in_service.as_ref().filter(|_| begun).map(|packet| (packet, self.service_end))
    }

    /// Whether a trace or a governor, not a rate, decides when packets leave.
    pub(crate) fn is_unforeseen(&self) -> bool {
        self.trace.is_some() || self.governor.is_some()
    }

    /// Service time of all transmissions begun.
    pub(crate) fn busy(&self) -> Span {
        self.busy
    }

    /// What could have been transmitted up to `now`, before which no change is due any more.
    pub(crate) fn capacity(&self, server: &Server, now: Time) -> Bytes {
        match &self.trace {
            Some(cursor) => cursor.trace.delivered_by(now),
            None => self.served(server, now).0,
        }
    }

    /// What the server could have transmitted up to `now`, and the part of a byte beside it.
    fn served(&self, server: &Server, now: Time) -> (Bytes, u64) {
        let (bytes, part, since) = self.capacity;
        let (more, part) = server.rate().bytes_beside(now.since(since), part);
        (bytes + more, part)
    }

    /// How long these bytes take to leave, by the rates and opportunities that are to come; `None` where the link stands
    /// still for good, or a governor decides.
    pub(crate) fn drain(&self, server: &Server, now: Time, waiting: Bytes) -> Option<Span> {
        if waiting == Bytes::ZERO {
            return Some(Span::ZERO);
        }
        if self.governor.is_some() {
            return None;
        }
        if let Some(cursor) = &self.trace {
            let kept =
                self.in_service.as_ref().map_or(Bytes::ZERO, |packet| packet.size() - cursor.delivered);
            return Some(cursor.trace.time_to_deliver(waiting + kept, now).since(now));
        }
        let (mut left, mut at, mut rate) = (waiting, now, server.rate());
        for change in &self.schedule {
            let Some(next) = change.rate else { continue };
            let part = rate.bytes_in(change.at.since(at));
            if part >= left {
                break;
            }
            (left, at, rate) = (left - part, change.at, next);
        }
        (rate > BitRate::ZERO).then(|| at.since(now) + rate.span_of(left))
    }

    #[inline]
    pub(crate) fn pop_departure(&mut self) -> Option<Packet> {
        self.departures.pop_front()
    }

    /// Whether anything waits.
    pub(crate) fn waits(&self) -> bool {
        self.discipline.backlog().packets > 0
    }

    /// What waits and what is in transmission.
    pub(crate) fn state(&self, now: Time) -> (Count, Count) {
        let backlog = self.discipline.backlog();
        let mut in_service = Count::default();
        if let Some(packet) = self.in_service.as_ref().filter(|_| !self.ahead || self.service_end >= now) {
            in_service.add(packet.size());
        }
        (Count { packets: u64::from(backlog.packets), bytes: backlog.bytes }, in_service)
    }

    pub(crate) fn queue_state(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        self.discipline.observe(now, note);
    }

    pub(crate) fn waiting_area(&mut self, now: Time) -> u64 {
        self.integrate(now);
        self.area
    }

    #[inline]
    pub(crate) fn integrate(&mut self, now: Time) {
        self.integrate_over(now, self.discipline.backlog().packets);
    }

    /// The same, where it is known how many packets have been waiting.
    #[inline]
    pub(crate) fn integrate_over(&mut self, now: Time, waiting: u32) {
        self.area += now.since(self.area_until).as_nanos() * u64::from(waiting);
        self.area_until = now;
    }

    /// Runs one call of the discipline with its context.
    pub(crate) fn with<T>(
        &mut self,
        rate: BitRate,
        annexes: &mut Annexes,
        call: impl FnOnce(&mut Discipline, &mut QueueCx<'_>) -> T,
    ) -> T {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes,
            rate,
            idle_since: self.idle_since.finite(),
            drops: &mut self.drops,
            marks: 0,
        };
        let result = call(&mut self.discipline, &mut cx);
        self.marks += cx.marks;
        result
    }

    #[inline]
    pub(crate) fn offer(&mut self, packet: Packet, server: &mut Server, now: Time, annexes: &mut Annexes) {
        self.integrate(now);
        self.with(server.rate(), annexes, |discipline, cx| discipline.enqueue(now, packet, cx));
        self.start(server, now, annexes);
        self.plan(server.rate(), now);
    }

    /// Something planned is due: the end of a transmission, a change, a timer, an opportunity.
    #[inline]
    pub(crate) fn serve(&mut self, server: &mut Server, now: Time, annexes: &mut Annexes) {
        self.integrate(now);
        if self.service_end <= now {
            self.end_service(now);
        }
        while let Some(change) = self.schedule.front().copied().filter(|change| change.at <= now) {
            self.schedule.pop_front();
            if let Some(rate) = change.rate {
                self.set_rate(rate, server, change.at, annexes);
            }
            self.new_delay = change.delay.or(self.new_delay);
        }
        if self.discipline.next_timer().is_some_and(|timer| timer <= now) {
            self.with(server.rate(), annexes, |discipline, cx| discipline.on_timer(now, cx));
        }
        self.use_opportunities(server.rate(), now, annexes);
        self.start(server, now, annexes);
        self.plan(server.rate(), now);
    }

    /// The server has another rate from now on, and the discipline hears of it.
    fn set_rate(&mut self, rate: BitRate, server: &mut Server, now: Time, annexes: &mut Annexes) {
        self.with(server.rate(), annexes, |discipline, cx| discipline.on_rate(now, rate, cx));
        let (bytes, part) = self.served(server, now);
        self.capacity = (bytes, part, now);
        server.set_rate(rate);
    }

    /// The packet in service leaves, unless a governor keeps it.
    fn end_service(&mut self, now: Time) {
        self.service_end = Time::NEVER;
        if let (Some(Governed { governor, rng }), Some(packet)) =
            (self.governor.as_deref_mut(), &self.in_service)
        {
            if let Err(ask_again) = governor.ask(now, packet.size(), rng) {
                self.service_end = ask_again;
                return;
            }
            self.busy += now.since(self.held_since);
        }
        self.depart();
    }

    fn depart(&mut self) {
        self.departures.extend(self.in_service.take());
    }

    /// Begins the next transmission if the server is free.
    #[inline]
    pub(crate) fn start(&mut self, server: &mut Server, now: Time, annexes: &mut Annexes) {
        if self.trace.is_some() || self.in_service.is_some() {
            return;
        }
        if server.rate() == BitRate::ZERO {
            self.stand_still(now);
            return;
        }
        self.in_service = self.with(server.rate(), annexes, |discipline, cx| discipline.dequeue(now, cx));
        if let Some(packet) = &self.in_service {
            self.idle_since = Time::NEVER;
            if self.governor.is_some() {
                (self.service_end, self.held_since) = (now, now);
                return;
            }
            self.service_end = server.transmit(now, packet.size());
            self.busy += self.service_end.since(now);
            self.begun = true;
        } else if self.idle_since == Time::NEVER {
            self.idle_since = now;
        }
    }

    /// Without a rate no packet is asked for; where none waits, there is nothing to do all the same.
    #[cold]
    fn stand_still(&mut self, now: Time) {
        if self.idle_since == Time::NEVER && self.discipline.backlog().packets == 0 {
            self.idle_since = now;
        }
    }

    /// Delivers what the trace's opportunities up to `now` deliver.
    fn use_opportunities(&mut self, rate: BitRate, now: Time, annexes: &mut Annexes) {
        let Some(mut cursor) = self.trace.take() else { return };
        while cursor.time() <= now {
            cursor.next += 1;
            let mut budget = cursor.trace.opportunity();
            while budget > Bytes::ZERO {
                if self.in_service.is_none() {
                    self.in_service = self.with(rate, annexes, |discipline, cx| discipline.dequeue(now, cx));
                    cursor.delivered = Bytes::ZERO;
                }
                let Some(packet) = &self.in_service else { break };
                self.idle_since = Time::NEVER;
                let left = packet.size() - cursor.delivered;
                if left > budget {
                    cursor.delivered += budget;
                    break;
                }
                budget -= left;
                self.depart();
            }
        }
        if self.in_service.is_none() && self.idle_since == Time::NEVER {
            self.idle_since = now;
        }
        self.trace = Some(cursor);
    }

    /// Finds the next instant at which something must happen without an arrival. At a rate of zero no packet is asked for, however
    /// ready one is: the change of the rate is waited for.
    #[inline]
    fn plan(&mut self, rate: BitRate, now: Time) {
        let waits = self.discipline.backlog().packets > 0;
        let mut next = self.service_end;
        next = next.min(self.schedule.front().map_or(Time::NEVER, |change| change.at));
        next = next.min(self.discipline.next_timer().unwrap_or(Time::NEVER));
        if waits && self.in_service.is_none() && self.trace.is_none() && rate > BitRate::ZERO {
            next = next.min(self.discipline.next_ready(now).unwrap_or(Time::NEVER));
        }
        if let Some(cursor) = &mut self.trace
            && (waits || self.in_service.is_some())
        {
            // Opportunities that found nothing are gone, including one at this very instant.
            cursor.skip_to_after(now);
            next = next.min(cursor.time());
        }
        // What a discipline wants done earlier is late already; time does not go back for it.
        self.next_event = next.max(now);
    }
}
