//! A scheme of datagrams over a reliable stream: what is lost is retransmitted within the rate that the scheme allows, and the
//! scheme sees what it would see of datagrams: each number once, and reports. Repair lives in `transport`.

use tailback_core::{
    AckWish, Arrival, BitRate, Bytes, Controller, Cx, Directive, Feedback, FeedbackPolicy, Outgoing, Sent,
    Time,
};

use crate::any::AnyController;
use crate::by_parts::by_parts;
use crate::needs::{Needs, Reliability};
use crate::parts::{BoxedPolicy, Parts};

impl Needs {
    /// The same over a reliable stream, with selective acknowledgements where the scheme sends datagrams.
    #[must_use]
    pub fn over_stream(self) -> Self {
        let is_repaired = self.reliability != Reliability::Datagram;
        Self { reliability: if is_repaired { self.reliability } else { Reliability::Sack }, ..self }
    }
}

/// Both halves of a scheme of datagrams, for the endpoints of a stream.
pub fn over_stream(parts: Parts<AnyController>) -> Parts<AnyController> {
    let Parts { controller, policy } = parts;
    Parts {
        controller: AnyController::Custom(Box::new(FirstSent(controller))),
        policy: policy.map(|policy| -> BoxedPolicy { Box::new(FirstArrived(policy)) }),
    }
}

/// A sender's half that hears of first transmissions and of reports: acknowledgements are the stream's own business.
struct FirstSent<C>(C);

#[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
impl<C: Controller> Controller for FirstSent<C> {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        if !sent.retransmission {
            self.0.on_sent(now, sent, cx);
        }
    }

    by_parts!();

    fn watches_sent(&self) -> bool {
        self.0.watches_sent()
    }

    fn watches_pauses_only(&self) -> bool {
        self.0.watches_pauses_only()
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if feedback.report.is_some() {
            let Feedback { report, window_limited, gain, .. } = *feedback;
            self.0.on_feedback(now, &Feedback { report, window_limited, gain, ..Feedback::empty() }, cx);
        }
    }

    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.0.on_timer(now, cx);
    }

    fn next_timer(&self) -> Option<Time> {
        self.0.next_timer()
    }

    /// Of a rate for packets and one for the application the lower one, since there is always more to send. A window has no
    /// meaning for datagrams that nobody acknowledges, and has none here.
    fn directive(&self) -> Directive {
        let directive = self.0.directive();
        let rates = [directive.rate, directive.media];
        let rate = rates.into_iter().flatten().min_by_key(|rate: &BitRate| rate.bits_per_sec());
        Directive { rate, media: None, window: None, ..directive }
    }

    fn ack_wish(&self) -> AckWish {
        self.0.ack_wish()
    }
}

/// A receiver's half that sees first transmissions: one that was retransmitted would look like one that was very late.
struct FirstArrived(BoxedPolicy);

#[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
impl FeedbackPolicy for FirstArrived {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, cx: &mut Cx<'_>) {
        if !(arrival.is_data() && arrival.packet.is_retransmitted()) {
            self.0.on_arrival(now, arrival, cx);
        }
    }

    fn poll_report(&mut self, now: Time, cx: &mut Cx<'_>) -> Option<Outgoing> {
        self.0.poll_report(now, cx)
    }

    fn next_timer(&self) -> Option<Time> {
        self.0.next_timer()
    }

    /// Each arrival is looked at, whether it was retransmitted.
    fn sums_data(&self) -> bool {
        false
    }

    /// It only saves events, and streams under such a scheme are few.
    fn answers_at_once(&self) -> bool {
        false
    }

    fn add_data(&mut self, bytes: Bytes) {
        self.0.add_data(bytes);
    }
}
