//! One receiver of a multicast, as the sender knows it: its own loss recovery and its own controller. How the receivers'
//! wishes are combined is the sender's business.

use tailback_core::{Bytes, Controller, Directive, Echoes, EndpointCx, FlowId, Sent, Time};

use crate::stream::{LossRecovery, Outcome};

/// A receiver, as the sender knows it.
pub(super) struct Branch<C> {
    pub(super) flow: FlowId,
    pub(super) controller: C,
    pub(super) recovery: LossRecovery,
    pub(super) directive: Directive,
}

impl<C: Controller> Branch<C> {
    pub(super) fn window(&self) -> u64 {
        self.directive.window.map_or(u64::MAX, Bytes::get)
    }

    pub(super) fn obey(&mut self) {
        self.directive = self.controller.directive();
    }

    /// A packet for this receiver leaves; the controller's note.
    pub(super) fn on_sent(&mut self, now: Time, mut sent: Sent, cx: &mut EndpointCx<'_>) -> u32 {
        sent.in_flight = Bytes::new(self.recovery.in_flight()) + sent.size;
        self.controller.on_sent(now, &mut sent, &mut cx.control());
        self.obey();
        self.recovery.direct_timeout(self.directive.timeout);
        sent.tag
    }

    pub(super) fn tell(
        &mut self,
        now: Time,
        outcome: &Outcome,
        echoes: Echoes,
        limited: bool,
        cx: &mut EndpointCx<'_>,
    ) {
        let feedback = self.recovery.feedback(outcome, echoes, limited);
        self.controller.on_feedback(now, &feedback, &mut cx.control());
        self.obey();
    }
}
