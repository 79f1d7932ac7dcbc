//! The receiving endpoint of a datagram flow: what arrives is delivered at once, acknowledged where that is wanted,
//! and reported on by a feedback policy.

use std::sync::Arc;

use tailback_control::EcnEcho;
use tailback_core::{
    AckBlocks, Annex, Annexes, Echoes, Ecn, Endpoint, EndpointCx, FeedbackPolicy, FlowId, Input, Kind,
    Observation, Output, Packet, Time,
};

use super::DatagramConfig;
use super::seen::Seen;
use crate::counters::ReceiverCounters;
use crate::receiver::reports::Reports;

/// A datagram flow's receiver.
pub struct DatagramReceiver {
    flow: FlowId,
    config: Arc<DatagramConfig>,
    seen: Seen,
    ack: Option<Packet>,
    /// Marks on data that arrived, copies included, since the flow began.
    marks: Echoes,
    reports: Option<Reports>,
    counters: ReceiverCounters,
}

impl DatagramReceiver {
    /// A receiver that has seen nothing, with the configuration of its sender.
    pub fn new(flow: FlowId, config: impl Into<Arc<DatagramConfig>>) -> Self {
        Self {
            flow,
            config: config.into(),
            seen: Seen::default(),
            ack: None,
            marks: Echoes::NONE,
            reports: None,
            counters: ReceiverCounters::default(),
        }
    }

    /// Adds the receiver's half of a scheme.
    #[must_use]
    pub fn with_policy(mut self, policy: Box<dyn FeedbackPolicy + Send>) -> Self {
        self.reports = Some(Reports::new(policy));
        self
    }

    /// What was counted so far.
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }

    /// A datagram arrived; whether for the first time.
    fn on_data(&mut self, packet: &Packet, annexes: &mut Annexes) -> bool {
        let size = packet.size();
        let marked = packet.ecn() == Ecn::Ce;
        self.counters.packets += 1;
        self.counters.bytes += size;
        self.counters.ce_marked += u64::from(marked);
        let fresh = self.seen.insert(packet.number);
        if fresh {
            self.counters.delivered_packets += 1;
            self.counters.delivered += size;
            self.counters.goodput += size.saturating_sub(self.config.header);
        } else {
            self.counters.duplicates += 1;
        }
        if self.config.acks {
            // A datagram's acknowledgement names it alone, by the number after it.
            let mut ack =
                Packet::new(Kind::Ack, self.flow, packet.number.saturating_add(1), self.config.header);
            self.echo(packet, &mut ack, annexes);
            self.counters.acks += 1;
            self.counters.sent_bytes += ack.size();
            self.ack = Some(ack);
        }
        fresh
    }

    /// Writes a datagram's marks into its acknowledgement, as flags or as the sum of all so far.
    fn echo(&mut self, packet: &Packet, ack: &mut Packet, annexes: &mut Annexes) {
        match self.config.ecn_echo {
            EcnEcho::Hidden => return,
            EcnEcho::Counted => self.marks.count(packet),
            EcnEcho::Codepoints => self.marks.count_shared(packet),
            // Each datagram has an acknowledgement of its own: the state that changes is its mark.
            EcnEcho::PerPacket | EcnEcho::StateChange | EcnEcho::Latched => {
                ack.set_ecn_echo(packet.ecn() == Ecn::Ce);
                ack.set_rho(packet.rho());
                ack.set_eta(packet.eta());
                return;
            }
        }
        ack.annex = annexes.insert(Annex::Blocks(AckBlocks { marks: self.marks, ..AckBlocks::default() }));
    }
}

impl Endpoint for DatagramReceiver {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        let Input::Packet(packet) = input else { return };
        let annex = cx.take_annex(&packet);
        let fresh = match packet.kind() {
            Kind::Data => self.on_data(&packet, cx.annexes),
            Kind::Control => {
                self.counters.control_packets += 1;
                self.counters.control_bytes += packet.size();
                true
            }
            Kind::Ack | Kind::Report => return,
        };
        if let Some(reports) = &mut self.reports {
            reports.on_arrival(now, &packet, annex.as_ref(), fresh, cx);
        }
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if let Some(ack) = self.ack.take() {
            return Output::Transmit(ack);
        }
        let mut timer = Time::NEVER;
        if let Some(reports) = &mut self.reports {
            if let Some(report) = reports.poll(now, self.flow, cx) {
                self.counters.reports += 1;
                self.counters.sent_bytes += report.size();
                return Output::Transmit(report);
            }
            timer = reports.next_timer();
        }
        Output::Wait(timer.finite())
    }

    fn observe(&self) -> Observation {
        self.counters.observe()
    }
}
