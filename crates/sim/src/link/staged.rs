//! The two-event form of a link: a queue discipline in front of a server whose every end of transmission is an
//! event. Serves any discipline, changing rates, delivery traces and governors. The wire behind it is `mod.rs`'s.

use std::collections::VecDeque;

use tailback_core::{
    Annexes, BitRate, Bytes, Directive, DropReason, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::Discipline;

use super::Count;
use super::governor::Governor;
use super::schedule::{Change, DeliveryTrace};
use super::server::Server;

#[derive(Debug)]
pub(super) struct Staged {
    discipline: Discipline,
    rng: Stream,
    in_service: Option<Packet>,
    /// When the packet in service leaves; `NEVER` while none is, or while a trace decides.
    service_end: Time,
    /// A transmission has begun that nobody was told of.
    begun: bool,
    idle_since: Option<Time>,
    schedule: VecDeque<Change>,
    trace: Option<TraceCursor>,
    /// Who lets packets go in place of a rate.
    governor: Option<Box<Governor>>,
    /// Since when a governor keeps the packet in service.
    held_since: Time,
    next_event: Time,
    area: u64,
    area_until: Time,
    // What `Link::after_stage` carries out.
    departures: VecDeque<Packet>,
    drops: Vec<(Packet, DropReason)>,
    new_delay: Option<Span>,
    marks: u32,
    busy: Span,
}

#[derive(Debug)]
struct TraceCursor {
    trace: DeliveryTrace,
    next: u64,
    /// Bytes of the packet in service that earlier opportunities have delivered.
    delivered: Bytes,
}

impl Staged {
    pub(super) fn new(
        discipline: Discipline,
        rng: Stream,
        schedule: Vec<Change>,
        trace: Option<DeliveryTrace>,
    ) -> Self {
        let trace = trace.map(|trace| TraceCursor { trace, next: 0, delivered: Bytes::ZERO });
        let mut staged = Self {
            discipline,
            rng,
            in_service: None,
            service_end: Time::NEVER,
            begun: false,
            idle_since: Some(Time::ZERO),
            schedule: schedule.into(),
            trace,
            governor: None,
            held_since: Time::ZERO,
            next_event: Time::NEVER,
            area: 0,
            area_until: Time::ZERO,
            departures: VecDeque::new(),
            drops: Vec::new(),
            new_delay: None,
            marks: 0,
            busy: Span::ZERO,
        };
        staged.plan(Time::ZERO);
        staged
    }

    /// The same, with packets let go by a governor where one is given.
    pub(super) fn governed(self, governor: Option<Governor>) -> Self {
        Self { governor: governor.map(Box::new), ..self }
    }

    /// The governor's directive changes: the packet at the head asks again.
    pub(super) fn direct(&mut self, directive: &Directive, server: &mut Server, now: Time) {
        let Some(governor) = &mut self.governor else { return };
        governor.direct(now, directive);
        // Disciplines that reckon with the server's rate hear of the one in force.
        if let Some(rate) = directive.rate.filter(|rate| *rate > BitRate::ZERO) {
            server.set_rate(rate);
        }
        if self.in_service.is_some() {
            self.service_end = now;
        }
        self.plan(now);
    }

    pub(super) fn next_event(&self) -> Time {
        self.next_event
    }

    pub(super) fn take_drops(&mut self) -> Vec<(Packet, DropReason)> {
        std::mem::take(&mut self.drops)
    }

    /// Returns the drop list's memory for the next call.
    pub(super) fn give_back(&mut self, drops: Vec<(Packet, DropReason)>) {
        if self.drops.is_empty() {
            self.drops = drops;
        }
    }

    pub(super) fn take_delay(&mut self) -> Option<Span> {
        self.new_delay.take()
    }

    pub(super) fn take_marks(&mut self) -> u32 {
        std::mem::take(&mut self.marks)
    }

    /// The packet whose transmission has just begun, once, and when that ends.
    pub(super) fn take_begun(&mut self) -> Option<(&Packet, Time)> {
        let begun = std::mem::take(&mut self.begun);
        self.in_service.as_ref().filter(|_| begun).map(|packet| (packet, self.service_end))
    }

    /// Whether a trace or a governor, not a rate, decides when packets leave.
    pub(super) fn is_unforeseen(&self) -> bool {
        self.trace.is_some() || self.governor.is_some()
    }

    /// Service time of all transmissions begun.
    pub(super) fn busy(&self) -> Span {
        self.busy
    }

    pub(super) fn pop_departure(&mut self) -> Option<Packet> {
        self.departures.pop_front()
    }

    /// What waits and what is in transmission.
    pub(super) fn state(&self) -> (Count, Count) {
        let backlog = self.discipline.backlog();
        let mut in_service = Count::default();
        if let Some(packet) = &self.in_service {
            in_service.add(packet.size());
        }
        (Count { packets: u64::from(backlog.packets), bytes: backlog.bytes }, in_service)
    }

    pub(super) fn queue_state(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        self.discipline.observe(now, note);
    }

    pub(super) fn waiting_area(&mut self, now: Time) -> u64 {
        self.integrate(now);
        self.area
    }

    fn integrate(&mut self, now: Time) {
        let span = now.since(self.area_until).as_nanos();
        self.area += span * u64::from(self.discipline.backlog().packets);
        self.area_until = now;
    }

    /// Runs one call of the discipline with its context.
    fn with<T>(
        &mut self,
        rate: BitRate,
        annexes: &mut Annexes,
        call: impl FnOnce(&mut Discipline, &mut QueueCx<'_>) -> T,
    ) -> T {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes,
            rate,
            idle_since: self.idle_since,
            drops: &mut self.drops,
            marks: 0,
        };
        let result = call(&mut self.discipline, &mut cx);
        self.marks += cx.marks;
        result
    }

    pub(super) fn offer(&mut self, packet: Packet, server: &mut Server, now: Time, annexes: &mut Annexes) {
        self.integrate(now);
        self.with(server.rate(), annexes, |discipline, cx| discipline.enqueue(now, packet, cx));
        self.start(server, now, annexes);
        self.plan(now);
    }

    /// Something planned is due: the end of a transmission, a change, a timer, an opportunity.
    pub(super) fn serve(&mut self, server: &mut Server, now: Time, annexes: &mut Annexes) {
        self.integrate(now);
        if self.service_end <= now {
            self.end_service(now);
        }
        while let Some(change) = self.schedule.front().copied().filter(|change| change.at <= now) {
            self.schedule.pop_front();
            if let Some(rate) = change.rate {
                server.set_rate(rate);
            }
            self.new_delay = change.delay.or(self.new_delay);
        }
        if self.discipline.next_timer().is_some_and(|timer| timer <= now) {
            self.with(server.rate(), annexes, |discipline, cx| discipline.on_timer(now, cx));
        }
        self.use_opportunities(server.rate(), now, annexes);
        self.start(server, now, annexes);
        self.plan(now);
    }

    /// The packet in service leaves, unless a governor keeps it.
    fn end_service(&mut self, now: Time) {
        self.service_end = Time::NEVER;
        if let (Some(governor), Some(packet)) = (&mut self.governor, &self.in_service) {
            if let Err(ask_again) = governor.ask(now, packet.size()) {
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
    fn start(&mut self, server: &mut Server, now: Time, annexes: &mut Annexes) {
        if self.trace.is_some() || self.in_service.is_some() || server.rate() == BitRate::ZERO {
            return;
        }
        self.in_service = self.with(server.rate(), annexes, |discipline, cx| discipline.dequeue(now, cx));
        if let Some(packet) = &self.in_service {
            self.idle_since = None;
            if self.governor.is_some() {
                (self.service_end, self.held_since) = (now, now);
                return;
            }
            self.service_end = server.transmit(now, packet.size());
            self.busy += self.service_end.since(now);
            self.begun = true;
        } else if self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
    }

    /// Delivers what the trace's opportunities up to `now` deliver.
    fn use_opportunities(&mut self, rate: BitRate, now: Time, annexes: &mut Annexes) {
        let Some(mut cursor) = self.trace.take() else { return };
        while cursor.trace.time(cursor.next) <= now {
            cursor.next += 1;
            let mut budget = cursor.trace.opportunity();
            while budget > Bytes::ZERO {
                if self.in_service.is_none() {
                    self.in_service = self.with(rate, annexes, |discipline, cx| discipline.dequeue(now, cx));
                    cursor.delivered = Bytes::ZERO;
                }
                let Some(packet) = &self.in_service else { break };
                self.idle_since = None;
                let left = packet.size() - cursor.delivered;
                if left > budget {
                    cursor.delivered += budget;
                    break;
                }
                budget -= left;
                self.depart();
            }
        }
        if self.in_service.is_none() && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        self.trace = Some(cursor);
    }

    /// Finds the next instant at which something must happen without an arrival.
    fn plan(&mut self, now: Time) {
        let waits = self.discipline.backlog().packets > 0;
        let mut next = self.service_end;
        next = next.min(self.schedule.front().map_or(Time::NEVER, |change| change.at));
        next = next.min(self.discipline.next_timer().unwrap_or(Time::NEVER));
        if waits && self.in_service.is_none() && self.trace.is_none() {
            next = next.min(self.discipline.next_ready(now).unwrap_or(Time::NEVER));
        }
        if let Some(cursor) = &mut self.trace
            && (waits || self.in_service.is_some())
        {
            // Opportunities that found nothing are gone, including one at this very instant.
            cursor.skip_to_after(now);
            next = next.min(cursor.trace.time(cursor.next));
        }
        self.next_event = next;
    }
}

impl TraceCursor {
    fn skip_to_after(&mut self, now: Time) {
        if self.trace.time(self.next) > now {
            return;
        }
        // Gallop, then halve: a long idle stretch costs a logarithm.
        let mut step = 1;
        while self.trace.time(self.next + step) <= now {
            self.next += step;
            step *= 2;
        }
        while step > 0 {
            if self.trace.time(self.next + step) <= now {
                self.next += step;
            }
            step /= 2;
        }
        self.next += 1;
    }
}
