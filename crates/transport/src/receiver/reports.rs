//! A feedback policy at work: it sees arrivals and its reports leave as packets. What they say is the policy's.

use tailback_core::{Annex, Arrival, EndpointCx, FeedbackPolicy, FlowId, Kind, Packet, Time};

/// A policy and its next timer.
pub(crate) struct Reports {
    policy: Box<dyn FeedbackPolicy + Send>,
    next_timer: Time,
}

impl Reports {
    pub(crate) fn new(policy: Box<dyn FeedbackPolicy + Send>) -> Self {
        let next_timer = policy.next_timer().unwrap_or(Time::NEVER);
        Self { policy, next_timer }
    }

    /// A packet arrived.
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        packet: &Packet,
        annex: Option<&Annex>,
        is_new: bool,
        cx: &mut EndpointCx<'_>,
    ) {
        self.policy.on_arrival(now, &Arrival { packet, annex, is_new }, &mut cx.control());
        self.next_timer = self.policy.next_timer().unwrap_or(Time::NEVER);
    }

    /// A report that is due, as a packet. Its number is the time it leaves, which the sender echoes in stamps and
    /// control packets, so that this side can measure the round trip time.
    pub(crate) fn poll(&mut self, now: Time, flow: FlowId, cx: &mut EndpointCx<'_>) -> Option<Packet> {
        let outgoing = self.policy.poll_report(now, &mut cx.control());
        self.next_timer = self.policy.next_timer().unwrap_or(Time::NEVER);
        let outgoing = outgoing?;
        let mut packet = Packet::new(Kind::Report, flow, now.as_nanos(), outgoing.size);
        packet.set_lane(outgoing.lane);
        packet.annex = cx.annexes.insert(Annex::Report(Box::new(outgoing.report)));
        Some(packet)
    }

    /// When the policy wants to be asked next.
    pub(crate) fn next_timer(&self) -> Time {
        self.next_timer
    }
}
