//! The two enums that hold any discipline inline: a match instead of a virtual call for those built in, a box for
//! the user's own. No policy lives here.

use std::fmt;

use tailback_core::{ArrivalPolicy, Backlog, Packet, QueueCx, QueueDiscipline, Time, Verdict};

use crate::droptail::DropTail;
use crate::fifo::Fifo;
use crate::red::Red;

/// Any arrival policy.
pub enum Admission {
    /// Drop-tail.
    DropTail(DropTail),
    /// Random early detection.
    Red(Red),
    /// The user's own.
    Custom(Box<dyn ArrivalPolicy + Send>),
}

/// Any queue discipline.
pub enum Discipline {
    /// First in, first out, under any arrival policy.
    Fifo(Fifo<Admission>),
    /// The user's own.
    Custom(Box<dyn QueueDiscipline + Send>),
}

/// Calls the same method on whichever discipline is inside.
macro_rules! each_admission {
    ($self:expr, $policy:ident => $call:expr) => {
        match $self {
            Admission::DropTail($policy) => $call,
            Admission::Red($policy) => $call,
            Admission::Custom($policy) => $call,
        }
    };
}

impl ArrivalPolicy for Admission {
    #[inline]
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        each_admission!(self, policy => policy.admit(now, packet, backlog, cx))
    }

    fn reads_backlog(&self) -> bool {
        each_admission!(self, policy => policy.reads_backlog())
    }
}

/// Calls the same method on whichever discipline is inside.
macro_rules! each_discipline {
    ($self:expr, $queue:ident => $call:expr) => {
        match $self {
            Discipline::Fifo($queue) => $call,
            Discipline::Custom($queue) => $call,
        }
    };
}

impl QueueDiscipline for Discipline {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        each_discipline!(self, queue => queue.enqueue(now, packet, cx));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        each_discipline!(self, queue => queue.dequeue(now, cx))
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        each_discipline!(self, queue => queue.next_ready(now))
    }

    fn next_timer(&self) -> Option<Time> {
        each_discipline!(self, queue => queue.next_timer())
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        each_discipline!(self, queue => queue.on_timer(now, cx));
    }

    fn backlog(&self) -> Backlog {
        each_discipline!(self, queue => queue.backlog())
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DropTail(policy) => policy.fmt(f),
            Self::Red(policy) => policy.fmt(f),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

impl fmt::Debug for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fifo(queue) => queue.fmt(f),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}
