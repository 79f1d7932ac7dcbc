//! Every controller and feedback policy of this library in an enum, the smallest inline so that ten thousand flows of
//! them stay small, and any other behind a pointer.
//! Which of them make a scheme is said in `scheme.rs`.

use tailback_core::{Arrival, Controller, Cx, Directive, Feedback, FeedbackPolicy, Outgoing, Sent, Time};

use crate::schemes::{
    Accumulation, Cubic, FixedRate, FixedWindow, MonacoPolicy, PacketPair, PacketPairPolicy,
    PacketPairRemote, Reno, Vegas,
};

/// A controller.
pub enum AnyController {
    /// Reno's window law.
    Reno(Reno),
    /// CUBIC's window law.
    Cubic(Box<Cubic>),
    /// TCP Vegas and Vegas-k.
    Vegas(Box<Vegas>),
    /// The window laws on accumulation.
    Accumulation(Box<Accumulation>),
    /// Packet-pair.
    PacketPair(Box<PacketPair>),
    /// Packet-pair's sender where the receiver controls.
    PacketPairRemote(Box<PacketPairRemote>),
    /// A window that never changes.
    FixedWindow(FixedWindow),
    /// A rate that never changes.
    FixedRate(FixedRate),
    /// A controller from outside this library.
    Custom(Box<dyn Controller + Send>),
}

macro_rules! each {
    ($self:ident, $controller:ident => $call:expr) => {
        match $self {
            Self::Reno($controller) => $call,
            Self::Cubic($controller) => $call,
            Self::Vegas($controller) => $call,
            Self::Accumulation($controller) => $call,
            Self::PacketPair($controller) => $call,
            Self::PacketPairRemote($controller) => $call,
            Self::FixedWindow($controller) => $call,
            Self::FixedRate($controller) => $call,
            Self::Custom($controller) => $call,
        }
    };
}

impl Controller for AnyController {
    #[inline]
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        each!(self, controller => controller.on_sent(now, sent, cx));
    }

    fn watches_sent(&self) -> bool {
        each!(self, controller => controller.watches_sent())
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        each!(self, controller => controller.on_feedback(now, feedback, cx));
    }

    #[inline]
    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        each!(self, controller => controller.on_timer(now, cx));
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        each!(self, controller => controller.next_timer())
    }

    #[inline]
    fn directive(&self) -> Directive {
        each!(self, controller => controller.directive())
    }
}

/// A feedback policy.
pub enum AnyPolicy {
    /// Monaco's estimate of accumulation.
    Monaco(Box<MonacoPolicy>),
    /// Packet-pair, run at the receiver.
    PacketPair(Box<PacketPairPolicy>),
    /// A policy from outside this library.
    Custom(Box<dyn FeedbackPolicy + Send>),
}

impl FeedbackPolicy for AnyPolicy {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, cx: &mut Cx<'_>) {
        match self {
            Self::Monaco(policy) => policy.on_arrival(now, arrival, cx),
            Self::PacketPair(policy) => policy.on_arrival(now, arrival, cx),
            Self::Custom(policy) => policy.on_arrival(now, arrival, cx),
        }
    }

    fn poll_report(&mut self, now: Time, cx: &mut Cx<'_>) -> Option<Outgoing> {
        match self {
            Self::Monaco(policy) => policy.poll_report(now, cx),
            Self::PacketPair(policy) => policy.poll_report(now, cx),
            Self::Custom(policy) => policy.poll_report(now, cx),
        }
    }

    fn next_timer(&self) -> Option<Time> {
        match self {
            Self::Monaco(policy) => policy.next_timer(),
            Self::PacketPair(policy) => policy.next_timer(),
            Self::Custom(policy) => policy.next_timer(),
        }
    }
}
