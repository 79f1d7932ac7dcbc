//! The end of an aggregate where packets leave it: the receiver's half of the scheme sees each that passes, and reports.

use tailback_core::{
    Endpoint, EndpointCx, FeedbackPolicy, FlowId, Input, Kind, Observation, Output, Packet, Time,
};

use crate::counters::ReceiverCounters;
use crate::receiver::reports::Reports;

/// The receiving end of an aggregate.
pub struct Egress {
    flow: FlowId,
    reports: Option<Reports>,
    counters: ReceiverCounters,
}

impl Egress {
    /// An end that has seen nothing, with the receiver's half of a scheme, where the scheme has one.
    pub fn new(flow: FlowId, policy: Option<Box<dyn FeedbackPolicy + Send>>) -> Self {
        Self { flow, reports: policy.map(Reports::new), counters: ReceiverCounters::default() }
    }

    /// A packet passed, data to the aggregate whatever it is to its own flow; its number is its place among all.
    fn on_passed(&mut self, now: Time, passed: &Packet, cx: &mut EndpointCx<'_>) {
        let mut packet = Packet::new(Kind::Data, self.flow, self.counters.packets, passed.size());
        packet.set_ecn(passed.ecn());
        packet.set_rho(passed.rho());
        packet.set_eta(passed.eta());
        self.counters.packets += 1;
        self.counters.bytes += packet.size();
        self.counters.delivered_packets += 1;
        self.counters.delivered += packet.size();
        if let Some(reports) = &mut self.reports {
            reports.on_arrival(now, &packet, None, true, cx);
        }
    }
}

impl Endpoint for Egress {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::Passed { packet, .. } => self.on_passed(now, &packet, cx),
            Input::Packet(packet) => {
                let annex = cx.take_annex(&packet);
                if packet.kind() == Kind::Control {
                    self.counters.control_packets += 1;
                    self.counters.control_bytes += packet.size();
                    if let Some(reports) = &mut self.reports {
                        reports.on_arrival(now, &packet, annex.as_ref(), true, cx);
                    }
                }
            }
            Input::Timeout | Input::App(_) => {}
        }
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        let Some(reports) = &mut self.reports else { return Output::Wait(None) };
        if let Some(report) = reports.poll(now, self.flow, cx) {
            self.counters.reports += 1;
            self.counters.sent_bytes += report.size();
            return Output::Transmit(report);
        }
        Output::Wait(reports.next_timer().finite())
    }

    fn observe(&self) -> Observation {
        self.counters.observe()
    }
}
