//! The end of an aggregate where packets leave it: the receiver's half of the scheme sees each that passes, and reports;
//! and where there is a window, the near end is told how much is no longer on the way.

use tailback_core::{
    Annex, Bytes, EdgeEndpoint, Endpoint, EndpointCx, FeedbackPolicy, FlowId, Input, Kind, Lane, Observation,
    Output, Packet, Time,
};

use super::EdgeConfig;
use crate::counters::ReceiverCounters;
use crate::receiver::reports::Reports;

/// The receiving end of an aggregate.
pub struct Egress {
    flow: FlowId,
    reports: Option<Reports>,
    counters: ReceiverCounters,
    header: Bytes,
    /// Acknowledges every so many packets; `None` where there is no window.
    ack_every: Option<u32>,
    unacknowledged: u32,
    /// Bytes that had entered before the newest control packet, and those that had left when it came.
    settled: (u64, u64),
}

impl Egress {
    /// An end that has seen nothing, with the receiver's half of a scheme, where the scheme has one.
    pub fn new(
        flow: FlowId,
        config: &EdgeConfig,
        policy: Option<Box<dyn FeedbackPolicy + Send>>,
        keeps_window: bool,
    ) -> Self {
        Self {
            flow,
            reports: policy.map(Reports::new),
            counters: ReceiverCounters::default(),
            header: config.header,
            ack_every: keeps_window.then_some(config.ack_every),
            unacknowledged: 0,
            settled: (0, 0),
        }
    }

    /// What had entered before a control packet behind it has left or is lost.
    fn settle(&mut self, packet: &Packet, annex: Option<&Annex>) {
        if let Some(Annex::Control(info)) = annex
            && packet.lane() == Lane::IN_BAND
            && info.bytes_sent.get() >= self.settled.0
        {
            self.settled = (info.bytes_sent.get(), self.counters.bytes.get());
            self.unacknowledged = u32::MAX;
        }
    }

    /// Tells how many bytes, of all that entered, are no longer on the way: that is its number.
    fn acknowledge(&mut self) -> Option<Packet> {
        self.ack_every.filter(|every| self.unacknowledged >= *every)?;
        self.unacknowledged = 0;
        let (entered, left) = self.settled;
        let mut ack =
            Packet::new(Kind::Ack, self.flow, entered + self.counters.bytes.get() - left, self.header);
        ack.set_lane(Lane::OUT_OF_BAND);
        self.counters.acks += 1;
        self.counters.sent_bytes += ack.size();
        Some(ack)
    }
}

impl Endpoint for Egress {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::Packet(packet) => {
                let annex = cx.take_annex(&packet);
                if packet.kind() == Kind::Control {
                    self.counters.control_packets += 1;
                    self.counters.control_bytes += packet.size();
                    self.settle(&packet, annex.as_ref());
                    if let Some(reports) = &mut self.reports {
                        reports.on_arrival(now, &packet, annex.as_ref(), true, cx);
                    }
                }
            }
            Input::Timeout | Input::App(_) => {}
        }
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if let Some(ack) = self.acknowledge() {
            return Output::Transmit(ack);
        }
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

impl EdgeEndpoint for Egress {
    /// Data to the aggregate, whatever it is to its own flow; its number is its place among all.
    fn pass(&mut self, now: Time, passed: &Packet, _others_wait: bool, cx: &mut EndpointCx<'_>) {
        let mut packet = Packet::new(Kind::Data, self.flow, self.counters.packets, passed.size());
        packet.set_ecn(passed.ecn());
        packet.set_rho(passed.rho());
        packet.set_eta(passed.eta());
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        self.counters.packets += 1;
        self.counters.bytes += packet.size();
        self.counters.delivered_packets += 1;
        self.counters.delivered += packet.size();
        if let Some(reports) = &mut self.reports {
            reports.on_arrival(now, &packet, None, true, cx);
        }
    }
}
