//! The sending endpoint of a reliable byte stream: application, loss recovery, controller and shaper composed.
//! What is retransmitted is decided in `stream`, how much may be sent by the controller, when by the shaper.

mod input;
mod output;
mod straight;
mod train;

use std::sync::Arc;

use tailback_control::AnyController;
use tailback_core::{
    Annex, AppHint, Bytes, CongestionEvent, Controller, Endpoint, EndpointCx, Event, FlowId, Input, Kind,
    Lane, Observation, Output, Span, Time,
};

use crate::application::Application;
use crate::config::{StreamConfig, wire_size};
use crate::counters::SenderCounters;
use crate::pacing::Pacing;
use crate::source::{AnySource, Source};
use crate::steering::Steering;
use crate::stream::LossRecovery;
use crate::teller::{Books, Outcome, SoFar};
use train::Train;

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

/// How an acknowledgement, and the data after it, are dealt with (`straight.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By asking whatever can be asked.
    General,
    /// Straight: nothing is missing, and only a window is in force.
    Window,
    /// Straight: nothing is missing, and a window and a rate are in force, of a controller that may watch what is sent.
    Paced,
    /// Straight beside a hole: acknowledgements of one segment more beyond it, and new data while nothing is to be repaired.
    /// A window, or a window and a rate, is in force.
    Beside,
    /// The same, after a look that found nothing to repair: only an acknowledgement or a timer changes that.
    Repaired,
}

/// A reliable byte stream's sender.
#[expect(clippy::struct_excessive_bools, reason = "facts about a connection, independent of each other")]
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
    /// Which way the next acknowledgement goes, and whether any may go a straight one.
    way: Way,
    may_go_straight: bool,
    /// It stopped by itself, which the application has yet to hear.
    gave_up: bool,
    stamps: bool,
    /// Whether data may carry more than data: a stamp, or what the controller asks of the receiver.
    annotates: bool,
    /// The train that is leaving, where segments leave in trains.
    train: Option<Box<Train>>,
    /// The second in which the retransmission timer expired first since anything new was acknowledged; as much later as
    /// retransmissions were held back since.
    stalled_at: u32,
    /// The second in which it expired last.
    expired_at: u32,
    restart: Option<Restart<C>>,
    counters: SenderCounters,
}

impl<C: Controller, S: Source> Sender<C, S> {
    /// A sender at rest until [`AppInput::Start`](tailback_core::AppInput::Start).
    pub fn new(flow: FlowId, config: impl Into<Arc<StreamConfig>>, controller: C, source: S) -> Self {
        let config: Arc<StreamConfig> = config.into();
        let mut steering =
            Steering::new(controller, wire_size(config.segment_size), wire_size(config.header))
                .paced(config.pacing.as_ref().map(|pacing| Pacing::new(pacing, config.segment_size)));
        steering.teller.measure_delivery(config.delivery);
        steering.teller.ask_receiver(config.ack_requests);
        Self {
            recovery: LossRecovery::new(flow, &config),
            steering,
            app: Application::new(source),
            receive_window: config.receive_window_bytes(),
            wake: Time::NEVER,
            jitter_end: Time::NEVER,
            flow,
            header: wire_size(config.header),
            payload: wire_size(config.segment_size.saturating_sub(config.header)),
            opening: if config.handshake { Opening::Due } else { Opening::Done },
            stopped: false,
            way: Way::General,
            may_go_straight: true,
            gave_up: false,
            stalled_at: 0,
            expired_at: 0,
            stamps: config.stamps_data(),
            annotates: config.stamps_data() || config.ack_requests,
            train: config.segmentation_offload.then(Box::default),
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

    /// Announces by [`Event::Hint`] whatever the application may send, when it changes by more than a sixteenth; drivers
    /// with a real application switch it on. Without it, changes of a gate are announced and nothing else.
    #[must_use]
    pub fn with_hints(mut self) -> Self {
        self.app.listen();
        self
    }

    /// What was counted so far.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// The window in force, the smaller of the controller's and the configured limit; `None` without any.
    /// Where recovery reduces in proportion, it is the threshold meanwhile, and more may be in the network.
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

    /// How many probes for losses at the tail have left since the connection began.
    pub fn probes(&self) -> u64 {
        self.recovery.probes()
    }

    /// The controller, for recorders.
    pub fn controller(&self) -> &C {
        &self.steering.teller.controller
    }

    /// The controller, when all is over.
    pub fn into_controller(self) -> C {
        self.steering.teller.controller
    }

    /// The source, for recorders.
    pub fn source(&self) -> &S {
        self.app.source()
    }

    /// Offers that are due, of a source that knows what may be sent.
    #[inline(never)]
    fn take_offers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if self.app.next_offer() > now {
            return;
        }
        self.hint();
        self.app.take_offers(now, self.recovery.end(), cx.rng);
        for &(name, value) in self.app.source().notes() {
            cx.control().note(name, value);
        }
    }

    /// Data is about to leave, and the acknowledgements that would space it are gone (RFC 5681 §4.1).
    #[cold]
    fn restart_after_idle(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        self.tell(now, &Outcome { event: Some(CongestionEvent::Idle), ..Outcome::default() }, cx);
    }

    /// What a shaper wants besides data: that the application hears of the gate, and control packets.
    #[inline(never)]
    fn beside_data(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Output> {
        if self.steering.take_gate_change() {
            let hint = self.hint();
            self.app.hear(hint, true);
            return Some(Output::Event(Event::Hint(hint)));
        }
        if !self.steering.wants_control() {
            return None;
        }
        let so_far = self.so_far();
        let packet = self.steering.control_packet(now, self.flow, &so_far, cx)?;
        if packet.lane() == Lane::IN_BAND && self.config.counted_repair {
            self.recovery.mark(now, self.counters.bytes.get());
        }
        Some(Output::Transmit(packet))
    }

    /// What was sent so far, for stamps.
    fn so_far(&self) -> SoFar {
        SoFar {
            packets: self.counters.packets,
            bytes: self.counters.bytes,
            in_flight: self.recovery.in_flight(),
            rtt: self.srtt(),
            app_rate: self.app.source().stated_rate(),
        }
    }

    /// Tells the application what it may send.
    fn hint(&mut self) -> AppHint {
        let payload = f64::from(self.payload) / (f64::from(self.payload) + f64::from(self.header)).max(1.0);
        let rate = self.steering.rate(self.srtt()).map(|rate| rate.mul_f64(payload));
        self.app.tell(rate, self.steering.gate())
    }

    /// What a real application has yet to hear.
    #[cold]
    fn news(&mut self) -> Option<Output> {
        let hint = self.hint();
        self.app.hear(hint, false).then_some(Output::Event(Event::Hint(hint)))
    }

    /// What the application hears of, and what becomes due when everything is acknowledged.
    #[inline(always)]
    fn event(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Output> {
        if let Some((size, began)) = self.app.message_done(self.recovery.first(), now, cx.rng) {
            self.take_offers(now, cx);
            return Some(Output::Event(Event::MessageDone { size, began }));
        }
        if !self.recovery.is_idle() {
            return None;
        }
        let mut is_redirected = self.app.is_holding() && self.renew(now, cx);
        if self.config.restart_after_idle && self.app.has_data() && self.recovery.take_rest(now, &self.config)
        {
            self.restart_after_idle(now, cx);
            is_redirected = true;
        }
        if is_redirected && let Some(output) = self.redirected(now, cx) {
            return Some(output);
        }
        (self.recovery.is_idle() && self.app.finish()).then_some(Output::Event(Event::Finished))
    }

    /// The controller was called within a poll, and directs what leaves beside data at once, too: before the data, as ever.
    #[cold]
    fn redirected(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Output> {
        let beside = self.beside_data(now, cx);
        beside.or_else(|| if self.app.listens() { self.news() } else { None })
    }

    /// What to do, whatever that is.
    #[inline(always)]
    fn poll_any(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if self.stopped {
            let told = std::mem::take(&mut self.gave_up);
            return if told { Output::Event(Event::GaveUp) } else { Output::Wait(None) };
        }
        if self.steering.shaper.is_some()
            && let Some(output) = self.beside_data(now, cx)
        {
            return output;
        }
        if self.app.listens()
            && let Some(output) = self.news()
        {
            return output;
        }
        if let Some(output) = self.event(now, cx) {
            return output;
        }
        if let Some(packet) = self.data_packet(now, cx) {
            return Output::Transmit(packet);
        }
        let timers = self.recovery.deadline().min(self.steering.timer());
        Output::Wait(timers.min(self.wake).min(self.app.next_offer()).finite())
    }
}

impl<C: Controller, S: Source> Endpoint for Sender<C, S> {
    #[inline(always)]
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        if self.wake < now {
            self.steering.called_late(self.wake, now);
        }
        match input {
            Input::Packet(packet) => {
                self.counters.received += 1;
                self.counters.received_bytes += packet.size();
                if self.take_next(now, &packet, cx) {
                    if self.app.next_offer() <= now {
                        self.take_offers(now, cx);
                    }
                    return;
                }
                if self.stopped {
                    cx.annexes.free(packet.annex);
                } else if packet.kind() == Kind::Ack {
                    self.on_ack(now, &packet, cx);
                } else if let Some(Annex::Report(report)) = cx.take_annex(&packet) {
                    self.on_report(now, packet.number, &report, cx);
                }
            }
            Input::Timeout if self.is_shapers_time(now) => return,
            Input::Timeout => self.on_timers(now, cx),
            Input::App(input) => self.on_app(now, input, cx),
        }
        if self.app.next_offer() <= now {
            self.take_offers(now, cx);
        }
        self.way = self.way_now();
    }

    #[inline(always)]
    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if self.way == Way::Beside && !self.recovery.has_repairs() {
            self.way = Way::Repaired;
        }
        let next = match self.way {
            Way::General => return self.poll_any(now, cx),
            Way::Window => self.poll_next(now),
            Way::Paced | Way::Repaired => self.poll_paced(now, cx),
            Way::Beside => None,
        };
        if let Some(output) = next {
            return output;
        }
        let output = self.poll_any(now, cx);
        self.way = self.way_now();
        output
    }

    fn observe(&self) -> Observation {
        let counters = self.counters.observe();
        Observation {
            sent_packets: counters.sent_packets + self.steering.control_packets,
            sent_bytes: counters.sent_bytes + self.steering.control_bytes(),
            messages: self.app.begun(),
            gate: self.steering.gate_times(),
            window: self.window(),
            rate: self.steering.shaper.as_ref().and_then(|shaper| shaper.rate()),
            in_flight: self.in_flight(),
            rtt_samples: self.recovery.rtt().samples(),
            latest_rtt: self.latest_rtt(),
            smoothed_rtt: self.srtt(),
            ..counters
        }
    }
}
