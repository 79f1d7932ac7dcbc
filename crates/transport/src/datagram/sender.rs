//! The sending endpoint of a datagram flow: application, controller and shaper composed; nothing is sent again.

use std::sync::Arc;

use tailback_control::AnyController;
use tailback_core::{
    Annex, AppInput, Bytes, Controller, Echoes, Endpoint, EndpointCx, Event, Feedback, FlowId, Gate, Input,
    Kind, Observation, Output, Packet, PairPosition, Recovery, Report, RttSample, Sent, Span, Time,
};

use super::DatagramConfig;
use super::acks::Ledger;
use super::queue::Queue;
use crate::config::{EcnMode, wire_size};
use crate::counters::SenderCounters;
use crate::shaper::Verdict;
use crate::source::{AnySource, Source, Told};
use crate::steering::Steering;
use crate::stream::Outcome;

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
    /// The application, not the window or the rate, ended the last round of sending.
    app_limited: bool,
    phase: Phase,
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
            app_limited: false,
            phase: Phase::Idle,
            counters: SenderCounters::default(),
            config,
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// The controller, for recorders.
    pub fn controller(&self) -> &C {
        &self.steering.controller
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

    fn on_ack(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) {
        let echo = packet.ecn_echo() && self.config.ecn != EcnMode::Off;
        let Some(outcome) = self.ledger.on_ack(now, packet.number, echo, &self.config) else { return };
        self.counters.acked_packets += 1;
        self.counters.acked += Bytes::new(outcome.advanced);
        self.counters.note(outcome.event);
        let echoes = Echoes::of(packet);
        self.tell(now, &outcome, echoes, cx);
    }

    fn tell(&mut self, now: Time, outcome: &Outcome, echoes: Echoes, cx: &mut EndpointCx<'_>) {
        let feedback = Feedback {
            acked: &self.ledger.acked,
            advanced: Bytes::new(outcome.advanced),
            lost: &self.ledger.lost,
            rtt: outcome.rtt,
            event: outcome.event,
            recovery: self.ledger.state(),
            echoes,
            flight: Bytes::new(outcome.flight),
            in_flight: Bytes::new(self.ledger.in_flight()),
            window_limited: !self.app_limited,
            report: None,
        };
        self.steering.tell(now, &feedback, cx);
    }

    fn on_report(&mut self, now: Time, packet: &Packet, report: &Report, cx: &mut EndpointCx<'_>) {
        self.steering.note_report(now, packet);
        let feedback = Feedback {
            rtt: self.report_rtt(now, report),
            recovery: Recovery::Open,
            flight: Bytes::new(self.ledger.in_flight()),
            in_flight: Bytes::new(self.ledger.in_flight()),
            window_limited: !self.app_limited,
            report: Some(report),
            ..Feedback::empty()
        };
        self.steering.tell(now, &feedback, cx);
    }

    /// A report that echoes a send time measures the round trip (RFC 5348 §4.3 step 1).
    fn report_rtt(&mut self, now: Time, report: &Report) -> Option<RttSample> {
        let Report::Loss { echo, held, .. } = report else { return None };
        let sent = *echo + *held;
        (sent > Time::ZERO && sent <= now).then(|| self.ledger.rtt.sample(now, sent, &self.config.rto))
    }

    fn on_timers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if let Some(outcome) = self.ledger.on_timeout(now, &self.config) {
            self.counters.timeouts += 1;
            self.steering.on_timeout(now, cx);
            self.tell(now, &outcome, Echoes::default(), cx);
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
                self.steering.stop();
                self.phase = Phase::Stopped;
            }
        }
        self.next_offer = self.source.next_offer().unwrap_or(Time::NEVER);
    }

    fn take_offers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if self.next_offer > now {
            return;
        }
        let size = self.config.segment_size;
        let payload = size.saturating_sub(self.config.header).as_f64() / size.as_f64().max(1.0);
        let rate = self.steering.rate(self.srtt()).map(|rate| rate.mul_f64(payload));
        self.source.tell(Told { rate, backlog: self.queue.bytes() });
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

    /// Data of the application: a closed gate or a full buffer discards it.
    fn offer(&mut self, now: Time, bytes: Bytes, report: bool, cx: &mut EndpointCx<'_>) {
        let closed = self.steering.shaper.as_ref().is_some_and(|shaper| shaper.gate() == Gate::Closed);
        let endless = bytes == Bytes::MAX;
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

    // ── output ──

    fn data_packet(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Packet> {
        self.wake = Time::NEVER;
        let payload = self.queue.next();
        self.app_limited = payload.is_none();
        let size =
            payload.map(|payload| self.header + payload as u16).filter(|size| self.fits(u64::from(*size)));
        let Some(size) = size else {
            if let Some(shaper) = &mut self.steering.shaper {
                shaper.pass();
            }
            return None;
        };
        let pair = self.shape(now, u64::from(size), cx)?;
        Some(self.transmit(now, size, pair, cx))
    }

    fn fits(&self, size: u64) -> bool {
        let (flight, window) = (self.ledger.in_flight(), self.steering.window);
        !self.config.acks || flight + size <= window || flight == 0 && window > 0
    }

    /// Asks the shaper; `None` if the datagram has to wait.
    fn shape(&mut self, now: Time, size: u64, cx: &mut EndpointCx<'_>) -> Option<PairPosition> {
        let Some(shaper) = &self.steering.shaper else { return Some(PairPosition::Single) };
        let behind = if shaper.wants_pairs() { self.queue.second() } else { None };
        let behind = behind.map(|payload| u64::from(self.header) + payload).filter(|b| self.fits(size + b));
        match self.steering.shaper.as_mut()?.ask(now, size, behind, None, cx.rng) {
            Verdict::Send(pair) => Some(pair),
            Verdict::Wait(at) => {
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
        let sent = Sent { number, size: bytes, in_flight, retransmission: false, pair, tag: 0 };
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
            packet.annex = cx.annexes.insert(Annex::Control(self.steering.stamp(now)));
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
                    _ if packet.kind() == Kind::Ack && self.config.acks => self.on_ack(now, &packet, cx),
                    _ => {}
                }
            }
            Input::Timeout => self.on_timers(now, cx),
            Input::App(input) => self.on_app(now, input, cx),
            Input::Passed { .. } => {}
        }
        self.take_offers(now, cx);
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if self.phase == Phase::Stopped {
            return Output::Wait(None);
        }
        if let Some(packet) = self.steering.control_packet(now, self.flow, self.counters.bytes, cx) {
            return Output::Transmit(packet);
        }
        // A source in a closed loop may have offered when its last datagram left.
        self.take_offers(now, cx);
        if let Some(packet) = self.data_packet(now, cx) {
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
            sent_bytes: counters.sent_bytes + self.config.header * self.steering.control_packets,
            window: self.window(),
            rate: self.steering.shaper.as_ref().and_then(|shaper| shaper.rate()),
            in_flight: Bytes::new(self.ledger.in_flight()),
            latest_rtt: self.latest_rtt(),
            smoothed_rtt: self.srtt(),
            ..counters
        }
    }
}
