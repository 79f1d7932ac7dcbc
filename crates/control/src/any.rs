//! The controllers of which ten thousand run at once, or which are asked most at each packet, in an enum, the smallest inline
//! so that such flows stay small, and any other behind a pointer. Which of them make a scheme is said by each scheme's
//! configuration.

use tailback_core::{AckWish, Controller, Cx, Directive, Feedback, Sent, Time};

use crate::parts::BoxedController;
use crate::schemes::{
    Accumulation, Bbr1, Bbr3, Cubic, FixedRate, FixedWindow, PacketPair, PacketPairRemote, PacketPairSender,
    Reno, Vegas,
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
    /// BBR, version 1.
    Bbr1(Box<Bbr1>),
    /// BBR, version 3.
    Bbr3(Box<Bbr3>),
    /// Packet-pair.
    PacketPair(Box<PacketPair>),
    /// Packet-pair's sender where the receiver controls.
    PacketPairRemote(Box<PacketPairRemote>),
    /// A window that never changes.
    FixedWindow(FixedWindow),
    /// A rate that never changes.
    FixedRate(FixedRate),
    /// Any other.
    Custom(BoxedController),
}

macro_rules! each {
    ($self:ident, $controller:ident => $call:expr) => {
        match $self {
            Self::Reno($controller) => $call,
            Self::Cubic($controller) => $call,
            Self::Vegas($controller) => $call,
            Self::Accumulation($controller) => $call,
            Self::Bbr1($controller) => $call,
            Self::Bbr3($controller) => $call,
            Self::PacketPair($controller) => $call,
            Self::PacketPairRemote($controller) => $call,
            Self::FixedWindow($controller) => $call,
            Self::FixedRate($controller) => $call,
            Self::Custom($controller) => $call,
        }
    };
}

#[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
impl Controller for AnyController {
    #[inline]
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        each!(self, controller => controller.on_sent(now, sent, cx));
    }

    #[inline]
    fn hear_sent(
        &mut self,
        now: Time,
        sent: &mut Sent,
        cx: &mut Cx<'_>,
    ) -> Option<(Directive, Option<Time>)> {
        each!(self, controller => controller.hear_sent(now, sent, cx))
    }

    fn watches_sent(&self) -> bool {
        each!(self, controller => controller.watches_sent())
    }

    fn watches_pauses_only(&self) -> bool {
        each!(self, controller => controller.watches_pauses_only())
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        each!(self, controller => controller.on_feedback(now, feedback, cx));
    }

    /// Inline for the law that flows by the ten thousand have.
    #[expect(
        clippy::inline_always,
        reason = "its closures are the rest of a call that nearly every packet makes"
    )]
    #[inline(always)]
    fn answer<'a, T>(
        &mut self,
        now: Time,
        feedback: impl FnOnce() -> Feedback<'a>,
        cx: &mut Cx<'_>,
        obey: impl FnOnce(Option<(&Directive, Option<Time>)>) -> T,
    ) -> T {
        if let Self::Reno(reno) = self {
            return reno.answer(now, feedback, cx, obey);
        }
        // Of the others, these alone know when they direct the same.
        let orders = if matches!(self, Self::Accumulation(_) | Self::Bbr1(_) | Self::Bbr3(_)) {
            if !self.hear_feedback(now, &feedback(), cx) {
                return obey(None);
            }
            self.orders()
        } else {
            self.react(now, &feedback(), cx)
        };
        obey(Some((&orders.0, orders.1)))
    }

    #[inline]
    fn react(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> (Directive, Option<Time>) {
        each!(self, controller => controller.react(now, feedback, cx))
    }

    #[inline]
    fn hear_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> bool {
        each!(self, controller => controller.hear_feedback(now, feedback, cx))
    }

    #[inline]
    fn orders(&self) -> (Directive, Option<Time>) {
        each!(self, controller => controller.orders())
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

    fn ack_wish(&self) -> AckWish {
        each!(self, controller => controller.ack_wish())
    }
}

macro_rules! held {
    ($($variant:ident($state:ty) $(in $place:path)?;)*) => {$(
        impl From<$state> for AnyController {
            fn from(controller: $state) -> Self {
                Self::$variant($($place)?(controller))
            }
        }
    )*};
}

held! {
    Reno(Reno);
    Cubic(Cubic) in Box::new;
    Vegas(Vegas) in Box::new;
    Accumulation(Accumulation) in Box::new;
    Bbr1(Bbr1) in Box::new;
    Bbr3(Bbr3) in Box::new;
    FixedWindow(FixedWindow);
    FixedRate(FixedRate);
    Custom(BoxedController);
}

impl From<PacketPairSender> for AnyController {
    fn from(sender: PacketPairSender) -> Self {
        match sender {
            PacketPairSender::Controlling(controller) => Self::PacketPair(controller),
            PacketPairSender::Following(controller) => Self::PacketPairRemote(controller),
        }
    }
}
