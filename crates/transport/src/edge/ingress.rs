//! The end of an aggregate where packets enter: its controller hears of each that passes and of the far end's reports,
//! and directs the link in front. Packets wait in that link, not here.

use tailback_control::AnyController;
use tailback_core::{
    Annex, AppInput, BitRate, Bytes, Controller, Directive, Endpoint, EndpointCx, Feedback, FlowId, Gate,
    Input, Observation, Output, Packet, PairPosition, Report, RttSample, Sent, Time,
};

use super::EdgeConfig;
use crate::config::{RtoConfig, wire_size};
use crate::steering::Steering;
use crate::stream::rtt::RttEstimator;

/// The sending end of an aggregate.
pub struct Ingress<C = AnyController> {
    flow: FlowId,
    steering: Steering<C>,
    header: Bytes,
    is_running: bool,
    passed_packets: u64,
    passed: Bytes,
    /// What had passed when the last report came.
    passed_before: Bytes,
    /// Others waited when the last packet passed.
    others_wait: bool,
    rtt: RttEstimator,
    timing: RtoConfig,
    /// The newest pair of control packets, and when it left.
    pair: Option<(u64, Time)>,
    /// What the link obeys.
    directed: Option<Directive>,
    /// The link has yet to hear of it.
    is_news: bool,
    reports: u64,
    report_bytes: Bytes,
}

impl<C: Controller> Ingress<C> {
    /// An end that lets nothing in before [`AppInput::Start`].
    pub fn new(flow: FlowId, config: &EdgeConfig, controller: C) -> Self {
        let timing = RtoConfig::default();
        Self {
            flow,
            steering: Steering::new(controller, wire_size(config.segment_size), wire_size(config.header)),
            header: config.header,
            is_running: false,
            passed_packets: 0,
            passed: Bytes::ZERO,
            passed_before: Bytes::ZERO,
            others_wait: false,
            rtt: RttEstimator::new(&timing, 0),
            timing,
            pair: None,
            directed: None,
            is_news: false,
            reports: 0,
            report_bytes: Bytes::ZERO,
        }
    }

    fn on_passed(&mut self, now: Time, packet: &Packet, others_wait: bool, cx: &mut EndpointCx<'_>) {
        let number = self.passed_packets;
        self.passed_packets += 1;
        self.passed += packet.size();
        self.others_wait = others_wait;
        let sent = Sent {
            number,
            size: packet.size(),
            in_flight: self.passed.saturating_sub(self.passed_before),
            retransmission: false,
            pair: PairPosition::Single,
            tag: 0,
        };
        self.steering.sent(now, sent, cx);
    }

    fn on_report(&mut self, now: Time, packet: &Packet, report: &Report, cx: &mut EndpointCx<'_>) {
        self.reports += 1;
        self.report_bytes += packet.size();
        self.steering.note_report(now, packet);
        let passed = self.passed.saturating_sub(self.passed_before);
        self.passed_before = self.passed;
        let feedback = Feedback {
            rtt: self.round_trip(now, report),
            flight: passed,
            in_flight: passed,
            window_limited: self.others_wait || self.is_shut(),
            report: Some(report),
            ..Feedback::empty()
        };
        self.steering.tell(now, &feedback, cx);
    }

    /// From the newest pair of control packets to the report on it.
    fn round_trip(&mut self, now: Time, report: &Report) -> Option<RttSample> {
        let Report::Accumulation { pair, .. } = report else { return None };
        let (_, left) = self.pair.take_if(|(newest, _)| newest == pair)?;
        Some(self.rtt.sample(now, left, &self.timing))
    }

    /// What the controller wants, as the link can do it: it knows no window, and control packets leave from here.
    fn wanted(&self) -> Directive {
        let mut directive = self.steering.controller.directive();
        if let (None, Some(window)) = (directive.rate, directive.window) {
            directive.rate = self.rtt.smoothed(&self.timing).map(|rtt| BitRate::of(window, rtt));
            // The first window is not followed by another before a round trip has been measured.
            if directive.rate.is_none() && self.passed >= window {
                directive.gate = Gate::Closed;
            }
        }
        Directive { window: None, probe: None, timeout: None, ..directive }
    }

    /// Whether the link lets nothing go.
    fn is_shut(&self) -> bool {
        self.directed.is_none_or(|directive| directive.gate == Gate::Closed)
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
            Input::Packet(packet) => {
                if let Some(Annex::Report(report)) = cx.take_annex(&packet)
                    && self.is_running
                {
                    self.on_report(now, &packet, &report, cx);
                }
            }
            Input::Timeout => self.steering.on_timer(now, cx),
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
        Output::Wait(self.steering.timer().finite())
    }

    fn observe(&self) -> Observation {
        let control = self.steering.control_packets;
        Observation {
            sent_packets: self.passed_packets + control,
            sent_bytes: self.passed + self.header * control,
            received_packets: self.reports,
            received_bytes: self.report_bytes,
            goodput_packets: self.passed_packets,
            goodput_bytes: self.passed,
            window: (self.steering.window != u64::MAX).then_some(Bytes::new(self.steering.window)),
            rate: self.directed.and_then(|directive| directive.rate),
            latest_rtt: self.rtt.latest(),
            smoothed_rtt: self.rtt.smoothed(&self.timing),
            ..Observation::default()
        }
    }
}
