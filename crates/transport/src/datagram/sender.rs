//! The sending endpoint of a datagram flow: application, controller and shaper composed; nothing is retransmitted.

use std::sync::Arc;

use tailback_control::AnyController;
use tailback_core::{
    Annex, AppHint, AppInput, Bytes, Controller, Echoes, Endpoint, EndpointCx, Envelope, Event, FlowId,
    Input, Kind, Observation, Output, Packet, PairPosition, Sent, Span, Time,
};

use super::DatagramConfig;
use super::acks::Ledger;
use super::queue::Queue;
use crate::config::wire_size;
use crate::counters::SenderCounters;
use crate::hints::Hints;
use crate::shaper::Verdict;
use crate::source::{AnySource, Source};
use crate::steering::Steering;
use crate::teller::{Books, Outcome, SoFar};

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
    Finished,
    Stopped,
}

/// A datagram flow's sender.
pub struct DatagramSender<C = AnyController, S = AnySource> {
    flow: FlowId,
    config: Arc<DatagramConfig>,
    steering: Steering<C>,
    source: S,
    queue: Queue,
    ledger: Ledger,
    next: u64,
    next_offer: Time,
    wake: Time,
    header: u16,
    phase: Phase,
    /// What a real application has heard, where one listens.
    hints: Option<Box<Hints>>,
    counters: SenderCounters,
}

impl<C: Controller, S: Source> DatagramSender<C, S> {
    /// A sender at rest until [`AppInput::Start`].
    pub fn new(flow: FlowId, config: impl Into<Arc<DatagramConfig>>, controller: C, source: S) -> Self {
        let config: Arc<DatagramConfig> = config.into();
        Self {
            flow,
            steering: Steering::new(controller, wire_size(config.segment_size), wire_size(config.header)),
            source,
            queue: Queue::new(config.segment_size.saturating_sub(config.header).get().max(1)),
            ledger: Ledger::new(flow, &config),
            next: 0,
            next_offer: Time::NEVER,
            wake: Time::NEVER,
            header: wire_size(config.header),
            phase: Phase::Idle,
            hints: None,
            counters: SenderCounters::default(),
            config,
        }
    }

    /// Announces by [`Event::Hint`] whatever the application may send, when it changes by more than a sixteenth; drivers
    /// with a real application switch it on. Without it, changes of a gate are announced and nothing else.
    #[must_use]
    pub fn with_hints(mut self) -> Self {
        self.hints = Some(Box::default());
        self
    }

    /// What was counted so far.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// The controller, for recorders.
    pub fn controller(&self) -> &C {
        &self.steering.teller.controller
    }

    /// The source, for recorders.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The window in force; `None` without any, or without acknowledgements that would fill it.
    pub fn window(&self) -> Option<Bytes> {
        (self.config.acks && self.steering.window != u64::MAX).then_some(Bytes::new(self.steering.window))
    }

    /// The smoothed round trip time, once measured.
    pub fn srtt(&self) -> Option<Span> {
        self.ledger.rtt.smoothed(&self.config.rto)
    }

    /// The newest round trip time, once measured.
    pub fn latest_rtt(&self) -> Option<Span> {
        self.ledger.rtt.latest()
    }

    // ── input ──

    fn on_ack(&mut self, now: Time, packet: &Packet, counted: Option<Echoes>, cx: &mut EndpointCx<'_>) {
        let flags = Echoes::of(packet);
        let Some(outcome) = self.ledger.on_ack(now, packet.number, flags, counted, &self.config) else {
            return;
        };
        self.counters.acked_packets += 1;
        self.counters.acked += Bytes::new(outcome.advanced);
        self.counters.note(outcome.event);
        self.steering.tell(now, &self.ledger, Some(&outcome), None, cx);
    }

    fn on_report(&mut self, now: Time, packet: &Packet, report: &Envelope, cx: &mut EndpointCx<'_>) {
        self.steering.teller.note_report(now, packet.number);
        // Without acknowledgements, a report is what measures the round trip.
        let left = report.left(now).filter(|_| !self.config.acks);
        let rtt = left.map(|left| self.ledger.rtt.sample(now, left, &self.config.rto));
        let outstanding = self.ledger.outstanding();
        let outcome = rtt.map(|rtt| Outcome { rtt: Some(rtt), outstanding, ..Outcome::default() });
        self.steering.tell(now, &self.ledger, outcome.as_ref(), Some(report), cx);
    }

    fn on_timers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if let Some(outcome) = self.ledger.on_timeout(now, &self.config) {
            self.counters.timeouts += 1;
            self.steering.on_timeout(now, cx);
            self.steering.tell(now, &self.ledger, Some(&outcome), None, cx);
        }
        self.steering.on_timer(now, cx);
    }

    fn on_app(&mut self, now: Time, input: AppInput, cx: &mut EndpointCx<'_>) {
        match input {
            AppInput::Start => {
                self.phase = Phase::Running;
                self.source.start(now, cx.rng);
                self.steering.obey(now, cx);
            }
            AppInput::Write(bytes) => self.offer(now, bytes, false, cx),
            AppInput::Close => self.source.stop(now),
            AppInput::Stop => {
                self.source.stop(now);
                self.queue.clear();
                self.steering.stop(now);
                self.phase = Phase::Stopped;
            }
        }
        self.next_offer = self.source.next_offer().unwrap_or(Time::NEVER);
    }

    fn take_offers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if self.next_offer > now {
            return;
        }
        self.hint();
        while self.next_offer <= now {
            if let Some(offer) = self.source.take_offer(now, cx.rng) {
                for &(name, value) in self.source.notes() {
                    cx.control().note(name, value);
                }
                self.offer(now, offer.bytes, offer.ends_message, cx);
            } else {
                self.next_offer = self.source.next_offer().unwrap_or(Time::NEVER);
                return;
            }
            self.next_offer = self.source.next_offer().unwrap_or(Time::NEVER);
        }
    }

    /// Tells the application what it may send.
    fn hint(&mut self) -> AppHint {
        let size = self.config.segment_size;
        let payload = size.saturating_sub(self.config.header).as_f64() / size.as_f64().max(1.0);
        let rate = self.steering.rate(self.srtt()).map(|rate| rate.mul_f64(payload));
        let hint = AppHint { rate, backlog: self.queue.bytes(), gate: self.steering.gate() };
        self.source.tell(hint);
        hint
    }

    /// The gate was opened or closed. What waits when it closes would leave stale when it opens: it is dropped here.
    fn on_gate(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Event {
        if !self.steering.gate().is_open() {
            let (datagrams, messages) = self.queue.discard();
            self.counters.gated += datagrams;
            for _ in 0..messages {
                self.source.on_message_done(now, cx.rng);
            }
        }
        let hint = self.hint();
        self.next_offer = self.source.next_offer().unwrap_or(Time::NEVER);
        if let Some(hints) = &mut self.hints {
            hints.note(hint);
        }
        Event::Hint(hint)
    }

    /// What a real application has yet to hear.
    #[cold]
    fn news(&mut self) -> Option<Event> {
        let hint = self.hint();
        let hints = self.hints.as_mut().filter(|hints| hints.is_news(&hint))?;
        hints.note(hint);
        Some(Event::Hint(hint))
    }

    /// Data of the application: a closed gate or a full buffer discards it.
    fn offer(&mut self, now: Time, bytes: Bytes, report: bool, cx: &mut EndpointCx<'_>) {
        let closed = !self.steering.gate().is_open();
        let endless = bytes == Bytes::MAX;
        if endless {
            self.steering.never_ends(now, cx);
        }
        if closed && !endless {
            self.counters.gated += self.queue.count(bytes);
        } else if bytes == Bytes::ZERO || !self.queue.push(bytes, report, self.config.buffer) {
            self.counters.overflowed += self.queue.count(bytes);
        } else {
            return;
        }
        // Gone is done: a source that waits for its message must not wait for ever.
        if report {
            self.source.on_message_done(now, cx.rng);
        }
    }

    /// What was sent so far, for stamps.
    fn so_far(&self) -> SoFar {
        SoFar {
            packets: self.counters.packets,
            bytes: self.counters.bytes,
            in_flight: self.ledger.in_flight(),
            rtt: self.srtt(),
            app_rate: self.source.stated_rate(),
        }
    }

    // ── output ──

    fn data_packet(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Packet> {
        self.wake = Time::NEVER;
        let payload = self.queue.next();
        let size =
            payload.map(|payload| self.header + payload as u16).filter(|size| self.fits(u64::from(*size)));
        let Some(size) = size else {
            self.steering.teller.app_limited = payload.is_none();
            if let Some(shaper) = &mut self.steering.shaper {
                shaper.pass();
            }
            return None;
        };
        let pair = self.shape(now, u64::from(size), None, cx)?;
        Some(self.transmit(now, size, pair, cx))
    }

    /// A packet of padding, where the shaper pads and no data waits. It has the next number, so that reports tell of it.
    fn padding(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Packet> {
        let pads = self.steering.shaper.as_ref().is_some_and(|shaper| shaper.pads());
        if !pads || self.phase != Phase::Running || self.config.acks || !self.queue.is_empty() {
            return None;
        }
        let size = wire_size(self.config.segment_size);
        // It has no partner, and waits for none.
        self.shape(now, u64::from(size), Some(Time::ZERO), cx)?;
        let (number, bytes) = (self.next, Bytes::new(u64::from(size)));
        self.next += 1;
        self.steering.pad(now, number, bytes, cx);
        let mut packet = Packet::new(Kind::Control, self.flow, number, bytes);
        packet.set_ecn(self.config.ecn.codepoint());
        Some(packet)
    }

    fn fits(&self, size: u64) -> bool {
        let (in_flight, window) = (self.ledger.in_flight(), self.steering.window);
        !self.config.acks || in_flight + size <= window || in_flight == 0 && window > 0
    }

    /// Asks the shaper; `None` if the datagram has to wait. A lone one waits for its partner from `since` on, or from now on.
    fn shape(
        &mut self,
        now: Time,
        size: u64,
        since: Option<Time>,
        cx: &mut EndpointCx<'_>,
    ) -> Option<PairPosition> {
        let Some(shaper) = &self.steering.shaper else { return Some(PairPosition::Single) };
        let behind = if shaper.wants_pairs() { self.queue.second() } else { None };
        let behind = behind.map(|payload| u64::from(self.header) + payload).filter(|b| self.fits(size + b));
        let (size, behind) = (Bytes::new(size), behind.map(Bytes::new));
        match self.steering.shaper.as_mut()?.ask(now, size, behind, since, cx.rng) {
            Verdict::Send(pair) => Some(pair),
            Verdict::Wait(at) => {
                self.steering.teller.app_limited = false;
                self.wake = at;
                None
            }
        }
    }

    fn transmit(&mut self, now: Time, size: u16, pair: PairPosition, cx: &mut EndpointCx<'_>) -> Packet {
        let number = self.next;
        self.next += 1;
        let bytes = Bytes::new(u64::from(size));
        let in_flight = Bytes::new(self.ledger.in_flight()) + bytes;
        let sent =
            Sent { number, size: bytes, in_flight, retransmission: false, pair, app_limited: false, tag: 0 };
        let tag = self.steering.sent(now, sent, cx);
        if self.config.acks {
            self.ledger.sent(now, size, tag, pair, &self.config);
        }
        let mut packet = Packet::new(Kind::Data, self.flow, number, bytes);
        packet.set_pair(pair);
        packet.set_ecn(self.config.ecn.codepoint());
        self.counters.packets += 1;
        self.counters.bytes += bytes;
        if self.config.stamps {
            let info = self.steering.teller.stamp(now, &self.so_far(), None);
            packet.annex = cx.annexes.insert(Annex::Control(info));
        }
        if self.queue.pop() {
            packet.set_last(true);
            self.source.on_message_done(now, cx.rng);
            self.next_offer = self.source.next_offer().unwrap_or(Time::NEVER);
        }
        packet
    }
}

impl<C: Controller, S: Source> Endpoint for DatagramSender<C, S> {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        if self.wake < now {
            self.steering.called_late(self.wake, now);
        }
        match input {
            Input::Packet(packet) => {
                self.counters.received += 1;
                self.counters.received_bytes += packet.size();
                let annex = cx.take_annex(&packet);
                if self.phase == Phase::Stopped {
                    return;
                }
                match annex {
                    Some(Annex::Report(report)) => self.on_report(now, &packet, &report, cx),
                    annex if packet.kind() == Kind::Ack && self.config.acks => {
                        let counted = match annex {
                            Some(Annex::Blocks(blocks)) => Some(blocks.marks),
                            _ => None,
                        };
                        self.on_ack(now, &packet, counted, cx);
                    }
                    _ => {}
                }
            }
            Input::Timeout => self.on_timers(now, cx),
            Input::App(input) => self.on_app(now, input, cx),
        }
        self.take_offers(now, cx);
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if self.phase == Phase::Stopped {
            return Output::Wait(None);
        }
        if self.steering.take_gate_change() {
            return Output::Event(self.on_gate(now, cx));
        }
        if self.hints.is_some()
            && let Some(event) = self.news()
        {
            return Output::Event(event);
        }
        if self.steering.wants_control() {
            let so_far = self.so_far();
            if let Some(packet) = self.steering.control_packet(now, self.flow, &so_far, cx) {
                return Output::Transmit(packet);
            }
        }
        // A source in a closed loop may have offered when its last datagram left.
        self.take_offers(now, cx);
        if let Some(packet) = self.data_packet(now, cx).or_else(|| self.padding(now, cx)) {
            return Output::Transmit(packet);
        }
        if self.phase == Phase::Running && self.queue.is_empty() && self.source.is_finished() {
            self.phase = Phase::Finished;
            return Output::Event(Event::Finished);
        }
        let timers = self.ledger.deadline().min(self.steering.timer());
        Output::Wait(timers.min(self.wake).min(self.next_offer).finite())
    }

    fn observe(&self) -> Observation {
        let counters = self.counters.observe();
        Observation {
            sent_packets: counters.sent_packets + self.steering.control_packets,
            sent_bytes: counters.sent_bytes + self.steering.control_bytes(),
            gate: self.steering.gate_times(),
            window: self.window(),
            rate: self.steering.shaper.as_ref().and_then(|shaper| shaper.rate()),
            in_flight: Bytes::new(self.ledger.in_flight()),
            rtt_samples: self.ledger.rtt.samples(),
            latest_rtt: self.latest_rtt(),
            smoothed_rtt: self.srtt(),
            ..counters
        }
    }
}
