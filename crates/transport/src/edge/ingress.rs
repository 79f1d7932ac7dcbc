//! The end of an aggregate where packets enter: its controller hears of each that passes and of the far end's reports,
//! and directs the link in front. Packets wait in that link, not here.

use tailback_control::AnyController;
use tailback_core::{
    Acked, Allowance, Annex, AppInput, Bytes, CongestionEvent, Controller, EdgeEndpoint, Endpoint,
    EndpointCx, Envelope, FlowId, Input, Kind, Lost, Observation, Output, Packet, PairPosition, Recovery,
    Sent, Span, Time,
};

use super::EdgeConfig;
use crate::config::{RtoConfig, wire_size};
use crate::steering::Steering;
use crate::stream::rtt::RttEstimator;
use crate::teller::{Books, Outcome, SoFar};

/// What passed, and of it, what is no longer on the way.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    passed: Bytes,
    settled: Bytes,
    /// Expiries in a row.
    timeouts: u32,
}

impl Books for Passage {
    /// Packets are of many flows: none is known by its number.
    fn lists(&self) -> (&[Acked], &[Lost]) {
        (&[], &[])
    }

    fn state(&self) -> Recovery {
        if self.timeouts > 0 { Recovery::Timeout } else { Recovery::Open }
    }

    fn outstanding(&self) -> u64 {
        self.in_flight()
    }

    fn in_flight(&self) -> u64 {
        self.passed.saturating_sub(self.settled).get()
    }
}

/// The sending end of an aggregate.
pub struct Ingress<C = AnyController> {
    flow: FlowId,
    steering: Steering<C>,
    segment: Bytes,
    is_running: bool,
    passed_packets: u64,
    books: Passage,
    /// Others waited when the last packet passed.
    others_wait: bool,
    rtt: RttEstimator,
    timing: RtoConfig,
    /// When all that is on the way is given up, unless something is heard of it before.
    deadline: Time,
    /// What the link obeys.
    allowed: Option<Allowance>,
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
            is_running: false,
            passed_packets: 0,
            books: Passage::default(),
            others_wait: false,
            rtt: RttEstimator::new(&timing, 0),
            timing,
            deadline: Time::NEVER,
            allowed: None,
            is_news: false,
            heard: 0,
            heard_bytes: Bytes::ZERO,
            expiries: 0,
        }
    }

    /// Whether the scheme directs a window, so that the far end must tell what is no longer on the way.
    pub fn keeps_window(&self) -> bool {
        self.steering.teller.controller.directive().window.is_some()
    }

    fn in_flight(&self) -> Bytes {
        Bytes::new(self.books.in_flight())
    }

    // ── input ──

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
        if settled <= self.books.settled || settled > self.books.passed {
            return;
        }
        self.books.settled = settled;
        self.books.timeouts = 0;
        self.restart_timer(now);
    }

    fn restart_timer(&mut self, now: Time) {
        let some = self.in_flight() > Bytes::ZERO;
        let timeout = self.rtt.timeout(&self.timing).max(Span::from_nanos(1));
        self.deadline = if some { now + timeout } else { Time::NEVER };
    }

    fn on_report(&mut self, now: Time, packet: &Packet, report: &Envelope, cx: &mut EndpointCx<'_>) {
        self.steering.teller.note_report(now, packet.number);
        let rtt = report.left(now).map(|left| self.rtt.sample(now, left, &self.timing));
        let outcome = Outcome { rtt, outstanding: self.books.outstanding(), ..Outcome::default() };
        self.tell(now, &outcome, Some(report), cx);
    }

    fn tell(&mut self, now: Time, outcome: &Outcome, report: Option<&Envelope>, cx: &mut EndpointCx<'_>) {
        self.steering.teller.app_limited = !self.others_wait && !self.is_shut();
        self.steering.tell(now, &self.books, Some(outcome), report, cx);
    }

    fn so_far(&self) -> SoFar {
        SoFar {
            packets: self.passed_packets,
            bytes: self.books.passed,
            in_flight: self.books.in_flight(),
            rtt: self.rtt.smoothed(&self.timing),
            app_rate: None,
        }
    }

    fn on_timers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if now >= self.deadline {
            self.deadline = Time::NEVER;
            self.books.timeouts = self.books.timeouts.saturating_add(1);
            self.expiries += 1;
            self.rtt.back_off(&self.timing);
            let event = Some(CongestionEvent::Timeout { consecutive: self.books.timeouts });
            let outcome = Outcome { event, outstanding: self.books.outstanding(), ..Outcome::default() };
            self.tell(now, &outcome, None, cx);
            self.books.settled = self.books.passed;
        }
        self.steering.on_timer(now, cx);
    }

    // ── output ──

    /// What the controller wants, in the link's terms.
    fn wanted(&self) -> Allowance {
        let directive = self.steering.teller.controller.directive();
        let total = |window: Bytes| self.books.settled + window.max(self.segment);
        let total = directive.window.map(total);
        Allowance { total, rate: directive.rate, burst: directive.burst, gate: directive.gate }
    }

    /// Whether the link lets nothing go.
    fn is_shut(&self) -> bool {
        let shut = |allowed: &Allowance| {
            let full = allowed.total.is_some_and(|total| self.books.passed + self.segment > total);
            !allowed.gate.is_open() || full
        };
        self.allowed.as_ref().is_none_or(shut)
    }

    fn allow(&mut self) {
        if !self.is_running {
            return;
        }
        let wanted = self.wanted();
        if self.allowed != Some(wanted) {
            self.allowed = Some(wanted);
            self.is_news = true;
        }
    }
}

impl<C: Controller> Endpoint for Ingress<C> {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::Packet(packet) => self.on_packet(now, &packet, cx),
            Input::Timeout => self.on_timers(now, cx),
            Input::App(AppInput::Start) => {
                self.is_running = true;
                self.steering.obey(now, cx);
            }
            Input::App(AppInput::Write(_) | AppInput::Close | AppInput::Stop) => {}
        }
        self.allow();
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if self.steering.wants_control() {
            let so_far = self.so_far();
            if let Some(packet) = self.steering.control_packet(now, self.flow, &so_far, cx) {
                return Output::Transmit(packet);
            }
        }
        Output::Wait(self.steering.timer().min(self.deadline).finite())
    }

    fn observe(&self) -> Observation {
        let control = self.steering.control_packets;
        Observation {
            sent_packets: self.passed_packets + control,
            sent_bytes: self.books.passed + self.steering.control_bytes(),
            received_packets: self.heard,
            received_bytes: self.heard_bytes,
            goodput_packets: self.passed_packets,
            goodput_bytes: self.books.passed,
            timeouts: self.expiries,
            window: (self.steering.window != u64::MAX).then_some(Bytes::new(self.steering.window)),
            rate: self.allowed.and_then(|allowed| allowed.rate),
            in_flight: self.in_flight(),
            rtt_samples: self.rtt.samples(),
            latest_rtt: self.rtt.latest(),
            smoothed_rtt: self.rtt.smoothed(&self.timing),
            ..Observation::default()
        }
    }
}

impl<C: Controller> EdgeEndpoint for Ingress<C> {
    fn pass(&mut self, now: Time, packet: &Packet, others_wait: bool, cx: &mut EndpointCx<'_>) {
        let number = self.passed_packets;
        self.passed_packets += 1;
        self.books.passed += packet.size();
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
            app_limited: false,
            tag: 0,
        };
        self.steering.sent(now, sent, cx);
        self.allow();
    }

    fn take_allowance(&mut self) -> Option<Allowance> {
        self.allowed.filter(|_| std::mem::take(&mut self.is_news))
    }
}
