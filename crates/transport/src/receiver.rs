//! The receiving endpoint of a reliable byte stream: reassembly, acknowledgements, echoes of marks and the reports
//! of a feedback policy. What the reports say is decided by the policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use tailback_core::{
    Bytes, Ecn, Endpoint, EndpointCx, Event, FeedbackPolicy, FlowId, Input, Kind, Output, Packet, Time,
};

use crate::config::ReceiverConfig;
use crate::counters::ReceiverCounters;

/// A reliable byte stream's receiver.
pub struct Receiver {
    flow: FlowId,
    config: Arc<ReceiverConfig>,
    next: u64,
    waiting: BTreeMap<u64, u64>,
    ack: Option<Packet>,
    delivered: u64,
    policy: Option<Box<dyn FeedbackPolicy + Send>>,
    counters: ReceiverCounters,
}

impl Receiver {
    /// A receiver that expects segment 0.
    pub fn new(flow: FlowId, config: impl Into<Arc<ReceiverConfig>>) -> Self {
        Self {
            flow,
            config: config.into(),
            next: 0,
            waiting: BTreeMap::new(),
            ack: None,
            delivered: 0,
            policy: None,
            counters: ReceiverCounters::default(),
        }
    }

    /// Adds the receiver's half of a scheme, whose reports travel beside the acknowledgements.
    #[must_use]
    pub fn with_policy(mut self, policy: Box<dyn FeedbackPolicy + Send>) -> Self {
        self.policy = Some(policy);
        self
    }

    /// What was counted so far.
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }
}

impl Endpoint for Receiver {
    fn handle(&mut self, _: Time, input: Input, cx: &mut EndpointCx<'_>) {
        let Input::Packet(packet) = input else { return };
        drop(cx.take_annex(&packet));
        if packet.kind() != Kind::Data {
            return;
        }
        self.counters.packets += 1;
        self.counters.bytes += packet.size();
        self.counters.ce_marked += u64::from(packet.ecn() == Ecn::Ce);
        let payload = (packet.size() - self.config.header).get();
        if packet.number >= self.next {
            self.waiting.insert(packet.number, payload);
        } else {
            self.counters.duplicates += 1;
        }
        while let Some(payload) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.delivered += payload;
            self.counters.goodput += Bytes::new(payload);
        }
        self.ack = Some(Packet::new(Kind::Ack, self.flow, self.next, self.config.header));
        self.counters.acks += 1;
    }

    fn poll(&mut self, _: Time, _: &mut EndpointCx<'_>) -> Output {
        if let Some(ack) = self.ack.take() {
            return Output::Transmit(ack);
        }
        if self.config.delivery_events && self.delivered > 0 {
            return Output::Event(Event::Delivered(Bytes::new(std::mem::take(&mut self.delivered))));
        }
        Output::Wait(None)
    }
}
