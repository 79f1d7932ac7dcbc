//! The end of an aggregate where packets enter: its controller hears of each that passes and of the far end's reports,
//! and directs the link in front. Packets wait in that link, not here.

use tailback_control::AnyController;
use tailback_core::{
    Annex, AppInput, Bytes, CongestionEvent, Controller, Directive, Endpoint, EndpointCx, Feedback, FlowId,
    Gate, Input, Kind, Observation, Output, Packet, PairPosition, Recovery, Report, RttSample, Sent, Span,
    Time,
};

use super::EdgeConfig;
use crate::config::{RtoConfig, wire_size};
use crate::steering::Steering;
use crate::stream::rtt::RttEstimator;

/// The sending end of an aggregate.
pub struct Ingress<C = AnyController> {
    flow: FlowId,
    steering: Steering<C>,
    segment: Bytes,
    header: Bytes,
    is_running: bool,
    passed_packets: u64,
    passed: Bytes,
    /// Of these, no longer on the way.
    settled: Bytes,
    /// Others waited when the last packet passed.
    others_wait: bool,
    rtt: RttEstimator,
    timing: RtoConfig,
    /// The newest pair of control packets, and when it left.
    pair: Option<(u64, Time)>,
    /// When all that is on the way is given up, unless something is heard of it before.
    deadline: Time,
    timeouts: u32,
    /// What the link obeys.
    directed: Option<Directive>,
    /// The link has yet to hear of it.
    is_news: bool,
    heard: u64,
    heard_bytes: Bytes,
    expiries: u64,
}

impl<C: Controller> Ingress<C> {
    /// An end that lets nothing in before [`AppInput::Start`].
    pub fn new(flow: FlowId, config: &EdgeConfig, controller: C) -> Self {
        let timing = RtoConfig::default();
        Self {
            flow,
            steering: Steering::new(controller, wire_size(config.segment_size), wire_size(config.header)),
            segment: config.segment_size,
            header: config.header,
            is_running: false,
            passed_packets: 0,
            passed: Bytes::ZERO,
            settled: Bytes::ZERO,
            others_wait: false,
            rtt: RttEstimator::new(&timing, 0),
            timing,
            pair: None,
            deadline: Time::NEVER,
            timeouts: 0,
            directed: None,
            is_news: false,
            heard: 0,
            heard_bytes: Bytes::ZERO,
            expiries: 0,
        }
    }

    /// Whether the scheme directs a window, so that the far end must tell what is no longer on the way.
    pub fn keeps_window(&self) -> bool {
        self.steering.controller.directive().window.is_some()
    }

    fn in_flight(&self) -> Bytes {
        self.passed.saturating_sub(self.settled)
    }

    // ── input ──

    fn on_passed(&mut self, now: Time, packet: &Packet, others_wait: bool, cx: &mut EndpointCx<'_>) {
        let number = self.passed_packets;
        self.passed_packets += 1;
        self.passed += packet.size();
        self.others_wait = others_wait;
        if self.deadline.is_never() && self.keeps_window() {
            self.restart_timer(now);
        }
        let sent = Sent {
            number,
            size: packet.size(),
            in_flight: self.in_flight(),
            retransmission: false,
            pair: PairPosition::Single,
            tag: 0,
        };
        self.steering.sent(now, sent, cx);
    }

    fn on_packet(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) {
        self.heard += 1;
        self.heard_bytes += packet.size();
        match cx.take_annex(packet) {
            Some(Annex::Report(report)) if self.is_running => self.on_report(now, packet, &report, cx),
            None if packet.kind() == Kind::Ack => self.on_ack(now, Bytes::new(packet.number)),
            _ => {}
        }
    }

    fn on_ack(&mut self, now: Time, settled: Bytes) {
        // What overtook another says less, and nobody settles what has not entered.
        if settled <= self.settled || settled > self.passed {
            return;
        }
        self.settled = settled;
        self.timeouts = 0;
        self.restart_timer(now);
    }

    fn restart_timer(&mut self, now: Time) {
        let some = self.in_flight() > Bytes::ZERO;
        let timeout = self.rtt.timeout(&self.timing).max(Span::from_nanos(1));
        self.deadline = if some { now + timeout } else { Time::NEVER };
    }

    fn on_report(&mut self, now: Time, packet: &Packet, report: &Report, cx: &mut EndpointCx<'_>) {
        self.steering.note_report(now, packet);
        let feedback =
            Feedback { rtt: self.round_trip(now, report), report: Some(report), ..self.feedback() };
        self.steering.tell(now, &feedback, cx);
    }

    fn feedback(&self) -> Feedback<'static> {
        Feedback {
            recovery: if self.timeouts > 0 { Recovery::Timeout } else { Recovery::Open },
            flight: self.in_flight(),
            in_flight: self.in_flight(),
            window_limited: self.others_wait || self.is_shut(),
            ..Feedback::empty()
        }
    }

    /// From the newest pair of control packets to the report on it.
    fn round_trip(&mut self, now: Time, report: &Report) -> Option<RttSample> {
        let Report::Accumulation { pair, .. } = report else { return None };
        let (_, left) = self.pair.take_if(|(newest, _)| newest == pair)?;
        Some(self.rtt.sample(now, left, &self.timing))
    }

    fn on_timers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if now >= self.deadline {
            self.deadline = Time::NEVER;
            self.timeouts = self.timeouts.saturating_add(1);
            self.expiries += 1;
            self.rtt.back_off(&self.timing);
            let event = Some(CongestionEvent::Timeout { consecutive: self.timeouts });
            let feedback = Feedback { event, ..self.feedback() };
            self.settled = self.passed;
            self.steering.tell(now, &feedback, cx);
        }
        self.steering.on_timer(now, cx);
    }

    // ── output ──

    /// What the controller wants, in the link's terms.
    fn wanted(&self) -> Directive {
        let directive = self.steering.controller.directive();
        let limit = |window: Bytes| self.settled + window.max(self.segment);
        // Control packets leave from here.
        Directive { window: directive.window.map(limit), probe: None, timeout: None, ..directive }
    }

    /// Whether the link lets nothing go.
    fn is_shut(&self) -> bool {
        let shut = |directive: &Directive| {
            let full = directive.window.is_some_and(|limit| self.passed + self.segment > limit);
            directive.gate == Gate::Closed || full
        };
        self.directed.as_ref().is_none_or(shut)
    }

    fn direct(&mut self) {
        let wanted = self.wanted();
        if self.directed != Some(wanted) {
            self.directed = Some(wanted);
            self.is_news = true;
        }
    }
}

impl<C: Controller> Endpoint for Ingress<C> {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::Passed { packet, others_wait } => self.on_passed(now, &packet, others_wait, cx),
            Input::Packet(packet) => self.on_packet(now, &packet, cx),
            Input::Timeout => self.on_timers(now, cx),
            Input::App(AppInput::Start) => {
                self.is_running = true;
                self.steering.obey(now, cx);
            }
            Input::App(AppInput::Write(_) | AppInput::Close | AppInput::Stop) => {}
        }
        if self.is_running {
            self.direct();
        }
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if let Some(directive) = self.directed.filter(|_| std::mem::take(&mut self.is_news)) {
            return Output::Direct(Box::new(directive));
        }
        if let Some(packet) = self.steering.control_packet(now, self.flow, self.passed, cx) {
            if self.pair.is_none_or(|(pair, _)| pair != packet.number) {
                self.pair = Some((packet.number, now));
            }
            return Output::Transmit(packet);
        }
        Output::Wait(self.steering.timer().min(self.deadline).finite())
    }

    fn observe(&self) -> Observation {
        let control = self.steering.control_packets;
        Observation {
            sent_packets: self.passed_packets + control,
            sent_bytes: self.passed + self.header * control,
            received_packets: self.heard,
            received_bytes: self.heard_bytes,
            goodput_packets: self.passed_packets,
            goodput_bytes: self.passed,
            timeouts: self.expiries,
            window: (self.steering.window != u64::MAX).then_some(Bytes::new(self.steering.window)),
            rate: self.directed.and_then(|directive| directive.rate),
            in_flight: self.in_flight(),
            latest_rtt: self.rtt.latest(),
            smoothed_rtt: self.rtt.smoothed(&self.timing),
            ..Observation::default()
        }
    }
}
