//! The two enums that hold any discipline inline: a match instead of a virtual call for those built in, a box for
//! custom ones. No policy lives here.

use std::fmt;

use tailback_core::{ArrivalPolicy, Backlog, BitRate, Packet, QueueCx, QueueDiscipline, Time, Verdict};

use crate::avq::{Avd, Avq};
use crate::bucket::{Policer, TokenBucket};
use crate::cake::Cake;
use crate::codel::Codel;
use crate::droptail::DropTail;
use crate::dualpi2::DualPi2;
use crate::fair::PerFlow;
use crate::fair::clock::VirtualClock;
use crate::fair::framed::Framed;
use crate::fair::round::RoundRobin;
use crate::fair::selfclocked::SelfClocked;
use crate::fair::tagged::ByTag;
use crate::fair::weighted::Fluid;
use crate::fifo::Fifo;
use crate::fq_codel::FqCodel;
use crate::pi::Pi;
use crate::pie::Pie;
use crate::priority::Priority;
use crate::pushout::PushOut;
use crate::red::Red;
use crate::rem::Rem;
use crate::tdqm::Tdqm;
use crate::watched::{MayLook, Periodic, Watched};

/// A discipline at work, in the narrowest form that it has.
#[derive(Debug)]
pub enum Built {
    /// It acts on arrivals only: departures are known at entry.
    Arrival(Admission),
    /// It acts at departure, or keeps an order of its own.
    Full(Discipline),
}

impl Built {
    /// The discipline in its general form.
    pub fn into_discipline(self) -> Discipline {
        match self {
            Self::Arrival(policy) => Discipline::Fifo(Fifo::new(policy)),
            Self::Full(discipline) => discipline,
        }
    }

    /// The discipline in its general form, for a server that may leave it waiting: in a lane or class beside others, under a
    /// shaper, at a rate that changes. A law that looks at the queue at regular times sees it as it was then.
    pub fn into_attended(self) -> Discipline {
        match self {
            Self::Arrival(mut policy) => {
                let looks = policy.periodic().is_some();
                let queue = Fifo::new(policy);
                if looks {
                    Discipline::Watched(Box::new(Watched::new(queue)))
                } else {
                    Discipline::Fifo(queue)
                }
            }
            Self::Full(discipline) => discipline,
        }
    }

    /// The same, for a server whose rate nobody knows beforehand: a law that settles a delay measures it by the packets' time.
    pub fn into_timed(self) -> Discipline {
        let mut discipline = self.into_attended();
        discipline.measure_time();
        discipline
    }
}

impl MayLook for Admission {
    fn measure_time(&mut self) {
        if let Self::Pie(law) = self {
            law.measure_time();
        }
    }

    #[inline]
    fn periodic(&mut self) -> Option<&mut dyn Periodic> {
        match self {
            Self::Rem(law) => Some(&mut **law),
            Self::Pi(law) => Some(&mut **law),
            Self::Pie(law) => Some(&mut **law),
            _ => None,
        }
    }
}

impl Discipline {
    /// From here on, laws that settle a delay measure it by their packets' time in the queue.
    pub(crate) fn measure_time(&mut self) {
        match self {
            Self::Watched(queue) => queue.measure_time(),
            Self::Priority(lanes) => lanes.measure_time(),
            Self::TokenBucket(shaper) => shaper.measure_time(),
            _ => {}
        }
    }

    /// Whether it may ask how fast the line is: drop-tail alone, which lanes have most, does without.
    pub(crate) const fn asks_the_rate(&self) -> bool {
        !matches!(self, Self::Fifo(queue) if matches!(queue.policy(), Admission::DropTail(_)))
    }

    /// Whether a server that has run dry may tell so later, but before the next packet joins: what [`QueueDiscipline::dequeue`]
    /// then does is the same, no packet waits, and no timer is due meanwhile. So nothing need happen when the last packet
    /// has left.
    pub fn may_hear_late(&self) -> bool {
        matches!(self, Self::RoundRobin(_) | Self::SelfClocked(_) | Self::WeightedFair(_))
    }
}

/// Any arrival policy.
pub type BoxedPolicy = Box<dyn ArrivalPolicy + Send>;

/// Any discipline.
pub type BoxedQueue = Box<dyn QueueDiscipline + Send>;

impl From<BoxedPolicy> for Built {
    fn from(policy: BoxedPolicy) -> Self {
        Self::Arrival(Admission::Custom(policy))
    }
}

impl From<BoxedQueue> for Built {
    fn from(queue: BoxedQueue) -> Self {
        Self::Full(Discipline::Custom(queue))
    }
}

macro_rules! admissions {
    ($($(#[$doc:meta])* $name:ident($inner:ty),)*) => {
        /// Any arrival policy.
        pub enum Admission {
            $($(#[$doc])* $name($inner),)*
            /// A custom one.
            Custom(Box<dyn ArrivalPolicy + Send>),
        }

        $(impl From<$inner> for Built {
            fn from(policy: $inner) -> Self {
                Self::Arrival(Admission::$name(policy))
            }
        })*

        #[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
        impl ArrivalPolicy for Admission {
            #[inline]
            fn admit(
                &mut self,
                now: Time,
                packet: &mut Packet,
                backlog: &Backlog,
                cx: &mut QueueCx<'_>,
            ) -> Verdict {
                match self {
                    $(Self::$name(policy) => policy.admit(now, packet, backlog, cx),)*
                    Self::Custom(policy) => policy.admit(now, packet, backlog, cx),
                }
            }

            fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
                match self {
                    $(Self::$name(policy) => policy.observe(now, note),)*
                    Self::Custom(policy) => policy.observe(now, note),
                }
            }
        }

        impl fmt::Debug for Admission {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name(policy) => policy.fmt(f),)*
                    Self::Custom(_) => f.write_str("Custom"),
                }
            }
        }
    };
}

admissions! {
    /// Drop-tail.
    DropTail(DropTail),
    /// Random early detection.
    Red(Red),
    /// Adaptive virtual queue.
    Avq(Avq),
    /// Adaptive virtual delay.
    Avd(Avd),
    /// Two-dimensional queue management.
    Tdqm(Box<Tdqm>),
    /// Random exponential marking.
    Rem(Box<Rem>),
    /// Proportional integral controller.
    Pi(Box<Pi>),
    /// PIE.
    Pie(Box<Pie>),
    /// Policer.
    Policer(Policer),
}

macro_rules! disciplines {
    ($($(#[$doc:meta])* $name:ident($inner:ty),)*) => {
        /// Any queue discipline.
        pub enum Discipline {
            $($(#[$doc])* $name($inner),)*
            /// A custom one.
            Custom(Box<dyn QueueDiscipline + Send>),
        }

        $(impl From<$inner> for Built {
            fn from(queue: $inner) -> Self {
                Self::Full(Discipline::$name(queue))
            }
        })*

        #[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
        impl QueueDiscipline for Discipline {
            #[inline]
            fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
                match self {
                    $(Self::$name(queue) => queue.enqueue(now, packet, cx),)*
                    Self::Custom(queue) => queue.enqueue(now, packet, cx),
                }
            }

            #[inline]
            fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
                match self {
                    $(Self::$name(queue) => queue.dequeue(now, cx),)*
                    Self::Custom(queue) => queue.dequeue(now, cx),
                }
            }

            fn next_ready(&self, now: Time) -> Option<Time> {
                match self {
                    $(Self::$name(queue) => queue.next_ready(now),)*
                    Self::Custom(queue) => queue.next_ready(now),
                }
            }

            fn next_timer(&self) -> Option<Time> {
                match self {
                    $(Self::$name(queue) => queue.next_timer(),)*
                    Self::Custom(queue) => queue.next_timer(),
                }
            }

            fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
                match self {
                    $(Self::$name(queue) => queue.on_timer(now, cx),)*
                    Self::Custom(queue) => queue.on_timer(now, cx),
                }
            }

            fn on_rate(&mut self, now: Time, rate: BitRate, cx: &mut QueueCx<'_>) {
                match self {
                    $(Self::$name(queue) => queue.on_rate(now, rate, cx),)*
                    Self::Custom(queue) => queue.on_rate(now, rate, cx),
                }
            }

            fn backlog(&self) -> Backlog {
                match self {
                    $(Self::$name(queue) => queue.backlog(),)*
                    Self::Custom(queue) => queue.backlog(),
                }
            }

            fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
                match self {
                    $(Self::$name(queue) => queue.observe(now, note),)*
                    Self::Custom(queue) => queue.observe(now, note),
                }
            }
        }

        impl fmt::Debug for Discipline {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name(queue) => queue.fmt(f),)*
                    Self::Custom(_) => f.write_str("Custom"),
                }
            }
        }
    };
}

disciplines! {
    /// First in, first out, under any arrival policy.
    Fifo(Fifo<Admission>),
    /// The same, where its server may leave it waiting and the policy looks at it at regular times.
    Watched(Box<Watched<Admission>>),
    /// Drop-head and random drop.
    PushOut(PushOut),
    /// Strict priority lanes.
    Priority(Box<Priority>),
    /// Round robin, weighted and deficit round robin.
    RoundRobin(Box<PerFlow<RoundRobin>>),
    /// Framed and hierarchical round robin.
    Framed(Box<PerFlow<Framed>>),
    /// Self-clocked fair queueing and cell-by-cell round robin.
    SelfClocked(Box<PerFlow<ByTag<SelfClocked>>>),
    /// Weighted fair queueing.
    WeightedFair(Box<PerFlow<ByTag<Fluid>>>),
    /// Virtual clock.
    VirtualClock(Box<PerFlow<ByTag<VirtualClock>>>),
    /// Controlled delay.
    Codel(Box<Codel>),
    /// FlowQueue-CoDel.
    FqCodel(Box<FqCodel>),
    /// CAKE.
    Cake(Box<Cake>),
    /// DualPI2.
    DualPi2(Box<DualPi2>),
    /// Token bucket shaper.
    TokenBucket(Box<TokenBucket>),
}
