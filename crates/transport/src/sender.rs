//! The sending endpoint of a reliable byte stream: application, loss recovery, controller and shaper composed.
//! What is retransmitted is decided in `stream`, how much may be sent by the controller, when by the shaper.

mod output;

use std::sync::Arc;

use tailback_control::AnyController;
use tailback_core::{
    Annex, AppInput, Bytes, CongestionEvent, Controller, Echoes, Endpoint, EndpointCx, Event, Feedback,
    FlowId, Input, Kind, Lane, Observation, Output, Packet, Report, Span, Time,
};

use crate::application::Application;
use crate::config::{EcnMode, RttSampling, SpuriousDetection, StreamConfig, wire_size};
use crate::counters::SenderCounters;
use crate::pacing::Pacing;
use crate::source::{AnySource, Source};
use crate::steering::Steering;
use crate::stream::{Ack, LossRecovery, Outcome};

/// How a fresh controller is made for a new connection on the same flow.
pub type Restart<C> = Arc<dyn Fn() -> C + Send + Sync>;

/// Where a connection's opening stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// A request must leave before data.
    Due,
    /// The request is on its way.
    Requested,
    /// Data may leave.
    Done,
}

/// A reliable byte stream's sender.
pub struct Sender<C = AnyController, S = AnySource> {
    recovery: LossRecovery,
    steering: Steering<C>,
    app: Application<S>,
    config: Arc<StreamConfig>,
    receive_window: u64,
    /// When the shaper or a random delay lets the next packet go.
    wake: Time,
    /// The end of a random delay before sending; [`Time::NEVER`] while none runs.
    jitter_end: Time,
    flow: FlowId,
    header: u16,
    payload: u16,
    opening: Opening,
    stopped: bool,
    stamps: bool,
    /// The application, not the window or the rate, ended the last round of sending.
    app_limited: bool,
    restart: Option<Restart<C>>,
    counters: SenderCounters,
}

impl<C: Controller, S: Source> Sender<C, S> {
    /// A sender at rest until [`AppInput::Start`].
    pub fn new(flow: FlowId, config: impl Into<Arc<StreamConfig>>, controller: C, source: S) -> Self {
        let config: Arc<StreamConfig> = config.into();
        Self {
            recovery: LossRecovery::new(flow, &config),
            steering: Steering::new(controller, wire_size(config.segment_size), wire_size(config.header))
                .paced(config.pacing.as_ref().map(|pacing| Pacing::new(pacing, config.segment_size))),
            app: Application::new(source),
            receive_window: config.receive_window_bytes(),
            wake: Time::NEVER,
            jitter_end: Time::NEVER,
            flow,
            header: wire_size(config.header),
            payload: wire_size(config.segment_size.saturating_sub(config.header)),
            opening: if config.handshake { Opening::Due } else { Opening::Done },
            stopped: false,
            stamps: config.stamps
                || config.rtt_sampling == RttSampling::Timestamps
                || config.spurious == SpuriousDetection::Eifel,
            app_limited: false,
            restart: None,
            counters: SenderCounters::default(),
            config,
        }
    }

    /// Sets what makes a fresh controller when the application begins a new connection on this flow; without it
    /// the controller keeps its state.
    #[must_use]
    pub fn with_restart(mut self, restart: Restart<C>) -> Self {
        self.restart = Some(restart);
        self
    }

    /// What was counted so far.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// The window in force, the smaller of the controller's and the configured limit; `None` without any.
    pub fn window(&self) -> Option<Bytes> {
        (self.steering.window != u64::MAX).then_some(Bytes::new(self.steering.window))
    }

    /// Bytes believed in the network.
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.recovery.in_flight())
    }

    /// The smoothed round trip time, once measured.
    pub fn srtt(&self) -> Option<Span> {
        self.recovery.rtt().smoothed(&self.config.rto)
    }

    /// The newest round trip time, once measured.
    pub fn latest_rtt(&self) -> Option<Span> {
        self.recovery.rtt().latest()
    }

    /// The retransmission time-out in force, back-off included.
    pub fn timeout(&self) -> Span {
        self.recovery.rtt().timeout(&self.config.rto)
    }

    /// The controller, for recorders.
    pub fn controller(&self) -> &C {
        &self.steering.controller
    }

    /// The source, for recorders.
    pub fn source(&self) -> &S {
        self.app.source()
    }

    // ── input ──

    #[inline(always)]
    fn on_ack(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) {
        let annex = if packet.annex.is_some() { cx.take_annex(packet) } else { None };
        let ecn_echo = packet.ecn_echo() && self.config.ecn != EcnMode::Off;
        let ack = Ack::read(packet.number, annex.as_ref(), ecn_echo);
        self.take_ack(now, packet, &ack, cx);
    }

    #[inline(always)]
    fn take_ack(&mut self, now: Time, packet: &Packet, ack: &Ack<'_>, cx: &mut EndpointCx<'_>) {
        let before = self.recovery.first();
        let Some(mut outcome) = self.recovery.on_ack(now, ack, &self.config) else { return };
        self.counters.acked_packets += self.recovery.first() - before;
        self.counters.acked += Bytes::new(outcome.advanced);
        if self.opening == Opening::Requested && outcome.advanced > 0 {
            // The request's acknowledgement does not open the window (RFC 5681 §3.1).
            self.opening = Opening::Done;
            outcome.advanced = 0;
        }
        self.counters.note(outcome.event);
        let echoes = Echoes::of(packet);
        // An echo that halves a window of one segment cannot make it smaller: the sender waits instead.
        let at_one = outcome.event == Some(CongestionEvent::Ecn) && self.steering.window_is_one();
        self.tell_controller(now, &outcome, echoes, cx);
        if at_one && self.recovery.fall_silent(now, &self.config) {
            self.steering.fall_silent();
        }
    }

    #[inline(always)]
    fn tell_controller(&mut self, now: Time, outcome: &Outcome, echoes: Echoes, cx: &mut EndpointCx<'_>) {
        let feedback = self.recovery.feedback(outcome, echoes, !self.app_limited);
        self.steering.tell(now, &feedback, cx);
    }

    fn on_report(&mut self, now: Time, packet: &Packet, report: &Report, cx: &mut EndpointCx<'_>) {
        self.steering.note_report(now, packet);
        let limited = !self.app_limited;
        let found = match *report {
            Report::Accumulation { pair, arrived, .. } => {
                self.recovery.on_count(now, pair, arrived.get(), &self.config)
            }
            _ => None,
        };
        let feedback = if let Some(outcome) = &found {
            self.counters.note(outcome.event);
            self.recovery.feedback(outcome, Echoes::default(), limited)
        } else {
            Feedback {
                recovery: self.recovery.state(),
                flight: Bytes::new(self.recovery.flight()),
                in_flight: Bytes::new(self.recovery.in_flight()),
                window_limited: limited,
                ..Feedback::empty()
            }
        };
        self.steering.tell(now, &Feedback { report: Some(report), ..feedback }, cx);
    }

    fn on_timers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if let Some(outcome) = self.recovery.on_timeout(now, &self.config) {
            self.counters.timeouts += 1;
            self.steering.on_timeout(now, cx);
            self.tell_controller(now, &outcome, Echoes::default(), cx);
        } else if self.recovery.end_silence(now) {
            self.steering.end_silence(now, cx);
        }
        self.steering.on_timer(now, cx);
    }

    fn on_app(&mut self, now: Time, input: AppInput, cx: &mut EndpointCx<'_>) {
        match input {
            AppInput::Start => {
                self.app.start(now, cx.rng);
                self.steering.obey(now, cx);
            }
            AppInput::Write(bytes) => self.app.write(bytes, false, now, self.recovery.end()),
            AppInput::Close => self.app.close(now),
            AppInput::Stop => {
                self.app.stop(now);
                self.stopped = true;
                self.steering.stop();
            }
        }
    }

    /// Everything is acknowledged and the next offer wants a new connection: fresh state, numbers go on.
    fn renew(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if !self.app.release_held(self.recovery.end()) {
            return;
        }
        self.recovery.restart(self.flow, &self.config);
        let fresh = self.restart.as_ref().map(|restart| restart());
        self.opening = if self.config.handshake { Opening::Due } else { Opening::Done };
        self.steering.restart(now, fresh, cx);
    }

    /// Offers that are due, of a source that knows what may be sent.
    #[inline(never)]
    fn take_offers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if self.app.next_offer() > now {
            return;
        }
        let payload = f64::from(self.payload) / (f64::from(self.payload) + f64::from(self.header)).max(1.0);
        let rate = self.steering.rate(self.srtt()).map(|rate| rate.mul_f64(payload));
        self.app.tell(rate);
        self.app.take_offers(now, self.recovery.end(), cx.rng);
        for &(name, value) in self.app.source().notes() {
            cx.control().note(name, value);
        }
    }

    /// Data is about to leave, and the acknowledgements that would space it are gone (RFC 5681 §4.1).
    #[cold]
    fn restart_after_idle(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        let event = Some(CongestionEvent::Idle);
        let recovery = self.recovery.state();
        self.steering.tell(now, &Feedback { event, recovery, ..Feedback::empty() }, cx);
    }

    #[inline(always)]
    fn event(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Event> {
        if let Some((size, began)) = self.app.message_done(self.recovery.first(), now, cx.rng) {
            self.take_offers(now, cx);
            return Some(Event::MessageDone { size, began });
        }
        if !self.recovery.is_idle() {
            return None;
        }
        if self.app.is_holding() {
            self.renew(now, cx);
        }
        if self.config.restart_after_idle && self.app.has_data() && self.recovery.take_rest(now, &self.config)
        {
            self.restart_after_idle(now, cx);
        }
        (self.recovery.is_idle() && self.app.finish()).then_some(Event::Finished)
    }
}

impl<C: Controller, S: Source> Endpoint for Sender<C, S> {
    #[inline(always)]
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::Packet(packet) => {
                self.counters.received += 1;
                self.counters.received_bytes += packet.size();
                if self.stopped {
                    cx.annexes.free(packet.annex);
                } else if packet.kind() == Kind::Ack {
                    self.on_ack(now, &packet, cx);
                } else if let Some(Annex::Report(report)) = cx.take_annex(&packet) {
                    self.on_report(now, &packet, &report, cx);
                }
            }
            Input::Timeout => self.on_timers(now, cx),
            Input::App(input) => self.on_app(now, input, cx),
            Input::Passed { .. } => {}
        }
        if self.app.next_offer() <= now {
            self.take_offers(now, cx);
        }
    }

    #[inline(always)]
    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if self.stopped {
            return Output::Wait(None);
        }
        if let Some(packet) = self.steering.control_packet(now, self.flow, self.counters.bytes, cx) {
            if packet.lane() == Lane::IN_BAND {
                self.recovery.mark(now, packet.number, self.counters.bytes.get());
            }
            return Output::Transmit(packet);
        }
        if let Some(event) = self.event(now, cx) {
            return Output::Event(event);
        }
        if let Some(packet) = self.data_packet(now, cx) {
            return Output::Transmit(packet);
        }
        let timers = self.recovery.deadline().min(self.steering.timer());
        Output::Wait(timers.min(self.wake).min(self.app.next_offer()).finite())
    }

    fn observe(&self) -> Observation {
        let counters = self.counters.observe();
        Observation {
            sent_packets: counters.sent_packets + self.steering.control_packets,
            sent_bytes: counters.sent_bytes + self.config.header * self.steering.control_packets,
            window: self.window(),
            rate: self.steering.shaper.as_ref().and_then(|shaper| shaper.rate()),
            in_flight: self.in_flight(),
            latest_rtt: self.latest_rtt(),
            smoothed_rtt: self.srtt(),
            ..counters
        }
    }
}
