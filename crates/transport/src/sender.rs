//! The sending endpoint of a reliable byte stream: application source, reliability, controller and shaper composed.
//! What is retransmitted is decided by the reliability, how much may be sent by the controller.

use std::collections::VecDeque;
use std::sync::Arc;

use tailback_core::{
    Acked, AppInput, Bytes, Controller, Endpoint, EndpointCx, Event, Feedback, FlowId, Input, Kind, Output,
    Packet, RttSample, Sent, Span, Time,
};

use crate::config::StreamConfig;
use crate::counters::SenderCounters;
use crate::source::{AnySource, Source};

struct Record {
    size: u16,
    sent_at: Time,
    tag: u32,
}

/// A reliable byte stream's sender.
pub struct Sender<C, S = AnySource> {
    flow: FlowId,
    config: Arc<StreamConfig>,
    controller: C,
    source: S,
    records: VecDeque<Record>,
    una: u64,
    resend: Option<u64>,
    flight: u64,
    window: Option<Bytes>,
    backlog: u64,
    deadline: Time,
    dupacks: u32,
    srtt: Span,
    latest: Span,
    finished: bool,
    message: Option<(u64, Time)>,
    counters: SenderCounters,
}

impl<C: Controller, S: Source> Sender<C, S> {
    /// A sender at rest until [`AppInput::Start`].
    pub fn new(flow: FlowId, config: impl Into<Arc<StreamConfig>>, controller: C, source: S) -> Self {
        let window = controller.directive().window;
        Self {
            flow,
            config: config.into(),
            controller,
            source,
            records: VecDeque::new(),
            una: 0,
            resend: None,
            flight: 0,
            window,
            backlog: 0,
            deadline: Time::NEVER,
            dupacks: 0,
            srtt: Span::ZERO,
            latest: Span::ZERO,
            finished: false,
            message: None,
            counters: SenderCounters::default(),
        }
    }

    /// Sets what makes a fresh controller when the application begins a new connection on this flow; without it
    /// the controller keeps its state.
    #[must_use]
    pub fn with_restart(self, fresh: Arc<dyn Fn() -> C + Send + Sync>) -> Self {
        drop(fresh);
        self
    }

    /// What was counted so far.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// The window in force, the smaller of the controller's and the configured limits; `None` without any.
    pub fn window(&self) -> Option<Bytes> {
        self.window
    }

    /// Bytes believed in the network.
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.flight)
    }

    /// The smoothed round trip time, once measured.
    pub fn srtt(&self) -> Option<Span> {
        (!self.srtt.is_zero()).then_some(self.srtt)
    }

    /// The newest round trip time, once measured.
    pub fn latest_rtt(&self) -> Option<Span> {
        (!self.latest.is_zero()).then_some(self.latest)
    }

    /// The controller, for recorders.
    pub fn controller(&self) -> &C {
        &self.controller
    }

    /// The source, for recorders.
    pub fn source(&self) -> &S {
        &self.source
    }

    fn on_ack(&mut self, now: Time, number: u64, cx: &mut EndpointCx<'_>) {
        if number == self.una && !self.records.is_empty() {
            self.dupacks += 1;
            if self.dupacks == 3 {
                self.resend = Some(self.una);
            }
            return;
        }
        let mut acked = Vec::new();
        let flight = Bytes::new(self.flight);
        while self.una < number {
            let Some(record) = self.records.pop_front() else { break };
            let size = Bytes::new(u64::from(record.size));
            self.flight -= size.get();
            acked.push(Acked {
                number: self.una,
                size,
                sent_at: record.sent_at,
                retransmitted: false,
                pair: tailback_core::PairPosition::Single,
                tag: record.tag,
            });
            self.una += 1;
        }
        if acked.is_empty() {
            return;
        }
        self.dupacks = 0;
        self.latest = now.since(acked[acked.len() - 1].sent_at);
        self.srtt = if self.srtt.is_zero() { self.latest } else { (self.srtt * 7 + self.latest) / 8 };
        let advanced: Bytes = acked.iter().map(|one| one.size).sum();
        self.counters.acked += advanced;
        let feedback = Feedback {
            acked: &acked,
            advanced,
            flight,
            in_flight: Bytes::new(self.flight),
            rtt: Some(RttSample { latest: self.latest, smoothed: self.srtt, min: self.latest }),
            ..Feedback::empty()
        };
        self.controller.on_feedback(now, &feedback, &mut cx.control());
        self.window = self.controller.directive().window;
        self.deadline = if self.records.is_empty() { Time::NEVER } else { now + self.config.rto.initial };
    }

    fn transmit(
        &mut self,
        now: Time,
        number: u64,
        size: Bytes,
        again: bool,
        cx: &mut EndpointCx<'_>,
    ) -> Output {
        let mut sent = Sent {
            number,
            size,
            in_flight: Bytes::new(self.flight),
            retransmission: again,
            pair: tailback_core::PairPosition::Single,
            tag: 0,
        };
        self.controller.on_sent(now, &mut sent, &mut cx.control());
        self.counters.packets += 1;
        self.counters.bytes += size;
        self.counters.retransmitted += u64::from(again);
        if self.deadline.is_never() {
            self.deadline = now + self.config.rto.initial;
        }
        let mut packet = Packet::new(Kind::Data, self.flow, number, size);
        packet.set_retransmitted(again);
        Output::Transmit(packet)
    }
}

impl<C: Controller, S: Source> Endpoint for Sender<C, S> {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::Packet(packet) => {
                drop(cx.take_annex(&packet));
                if packet.kind() == Kind::Ack {
                    self.on_ack(now, packet.number, cx);
                }
            }
            Input::Timeout => {
                if self.deadline <= now {
                    self.deadline = now + self.config.rto.initial;
                    self.resend = (!self.records.is_empty()).then_some(self.una);
                    self.counters.timeouts += 1;
                }
            }
            Input::App(AppInput::Start) => self.source.start(now, cx.rng),
            Input::App(AppInput::Write(bytes)) => self.backlog = self.backlog.saturating_add(bytes.get()),
            Input::App(AppInput::Close | AppInput::Stop) => self.source.stop(now),
        }
        while self.source.next_offer().is_some_and(|at| at <= now) {
            let Some(offer) = self.source.take_offer(now, cx.rng) else { break };
            self.backlog = self.backlog.saturating_add(offer.bytes.get());
            self.message = offer.ends_message.then_some((offer.bytes.get(), now));
        }
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if let Some(number) = self.resend.take() {
            if let Some(record) = self.records.front_mut() {
                record.sent_at = now;
                let size = Bytes::new(u64::from(record.size));
                return self.transmit(now, number, size, true, cx);
            }
        }
        let payload = (self.config.segment_size - self.config.header).get().min(self.backlog);
        let size = self.config.header + Bytes::new(payload);
        if payload > 0 && self.window.is_none_or(|window| self.flight + size.get() <= window.get()) {
            if self.backlog != u64::MAX {
                self.backlog -= payload;
            }
            let number = self.una + self.records.len() as u64;
            self.flight += size.get();
            self.records.push_back(Record { size: size.get() as u16, sent_at: now, tag: 0 });
            return self.transmit(now, number, size, false, cx);
        }
        if self.backlog == 0 && self.records.is_empty() {
            if let Some((size, began)) = self.message.take() {
                self.source.on_message_done(now, cx.rng);
                return Output::Event(Event::MessageDone { size: Bytes::new(size), began });
            }
            if !self.finished && self.source.is_finished() {
                self.finished = true;
                return Output::Event(Event::Finished);
            }
        }
        let source = self.source.next_offer().unwrap_or(Time::NEVER);
        Output::Wait(self.deadline.min(source).finite())
    }
}
