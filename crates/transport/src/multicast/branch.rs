//! One receiver of a multicast, as the sender knows it: its own loss recovery and its own controller. How the receivers'
//! wishes are combined is the sender's business.

use tailback_core::{Bytes, Controller, Directive, EndpointCx, FlowId, Sent, Time};

use crate::stream::LossRecovery;
use crate::teller::{Books, Outcome, Teller};

/// A receiver, as the sender knows it.
pub(super) struct Branch<C> {
    pub(super) flow: FlowId,
    pub(super) teller: Teller<C>,
    pub(super) recovery: LossRecovery,
    pub(super) directive: Directive,
}

impl<C: Controller> Branch<C> {
    pub(super) fn window(&self) -> u64 {
        self.directive.window.map_or(u64::MAX, Bytes::get)
    }

    /// When its timer, or its controller's, is due.
    pub(super) fn timer(&self) -> Time {
        self.recovery.deadline().min(self.teller.controller.next_timer().unwrap_or(Time::NEVER))
    }

    pub(super) fn obey(&mut self) {
        self.directive = self.teller.controller.directive();
    }

    /// A packet for this receiver leaves; the controller's note.
    pub(super) fn on_sent(&mut self, now: Time, mut sent: Sent, cx: &mut EndpointCx<'_>) -> u32 {
        sent.in_flight = Bytes::new(self.recovery.in_flight()) + sent.size;
        let (tag, _) = self.teller.sent(now, sent, cx);
        self.obey();
        self.recovery.direct_timeout(self.directive.timeout);
        tag
    }

    pub(super) fn tell(&mut self, now: Time, outcome: &Outcome, app_limited: bool, cx: &mut EndpointCx<'_>) {
        self.teller.app_limited = app_limited;
        self.teller.tell(now, &self.recovery, Some(outcome), None, cx);
        self.obey();
    }
}
