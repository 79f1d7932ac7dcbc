//! Disciplines whose server may tell them late that it has run dry, each as a type of its own: a server that has much to tell
//! asks once which one it has, and not at every packet. What late means for a link is the crate `link`'s business.

use tailback_core::{BitRate, Bytes, Packet, QueueDiscipline, Time};

use crate::builtin::Discipline;
use crate::fair::PerFlow;
use crate::fair::round::RoundRobin;
use crate::fair::selfclocked::SelfClocked;
use crate::fair::tagged::ByTag;
use crate::fair::weighted::Fluid;

/// A discipline that [may hear late](Discipline::may_hear_late).
pub trait HearsLate: QueueDiscipline {
    /// The discipline in its own type, where it is of this type.
    fn of(discipline: &mut Discipline) -> Option<&mut Self>;

    /// What [`QueueDiscipline::dequeue`] gives: it asks nothing of its surroundings.
    fn take_next(&mut self, now: Time) -> Option<Packet>;

    /// How many packets wait.
    fn waiting(&self) -> u32;

    /// Whether a packet that finds a free server at `now`, and nothing waiting, may pass the discipline by: as long as nobody
    /// joins or looks, it need not hear of that packet, and where [`HearsLate::has_forgotten`] says so it never need.
    fn lets_pass(&mut self, now: Time, rate: BitRate) -> bool {
        let _ = (now, rate);
        false
    }

    /// Whether the discipline is at `now` as if the packet that passed it by at `then`, and has been transmitted, had never
    /// come.
    fn has_forgotten(&self, then: Time, now: Time, size: Bytes, rate: BitRate) -> bool {
        let _ = (then, now, size, rate);
        false
    }
}

impl HearsLate for PerFlow<RoundRobin> {
    #[inline]
    fn of(discipline: &mut Discipline) -> Option<&mut Self> {
        if let Discipline::RoundRobin(queue) = discipline { Some(queue) } else { None }
    }

    #[inline]
    fn take_next(&mut self, now: Time) -> Option<Packet> {
        self.take_next(now)
    }

    #[inline]
    fn waiting(&self) -> u32 {
        self.waiting()
    }

    #[inline]
    fn lets_pass(&mut self, _: Time, _: BitRate) -> bool {
        self.forgets_lone()
    }

    #[inline]
    fn has_forgotten(&self, _: Time, _: Time, _: Bytes, _: BitRate) -> bool {
        true
    }
}

impl HearsLate for PerFlow<ByTag<SelfClocked>> {
    #[inline]
    fn of(discipline: &mut Discipline) -> Option<&mut Self> {
        if let Discipline::SelfClocked(queue) = discipline { Some(queue) } else { None }
    }

    #[inline]
    fn take_next(&mut self, now: Time) -> Option<Packet> {
        self.take_next(now)
    }

    #[inline]
    fn waiting(&self) -> u32 {
        self.waiting()
    }
}

impl HearsLate for PerFlow<ByTag<Fluid>> {
    #[inline]
    fn of(discipline: &mut Discipline) -> Option<&mut Self> {
        if let Discipline::WeightedFair(queue) = discipline { Some(queue) } else { None }
    }

    #[inline]
    fn take_next(&mut self, now: Time) -> Option<Packet> {
        self.take_next(now)
    }

    #[inline]
    fn waiting(&self) -> u32 {
        self.waiting()
    }

    #[inline]
    fn lets_pass(&mut self, now: Time, rate: BitRate) -> bool {
        self.forgets_lone() && self.fluid_lets_pass(now, rate)
    }

    #[inline]
    fn has_forgotten(&self, then: Time, now: Time, size: Bytes, rate: BitRate) -> bool {
        self.fluid_has_served(then, now, size, rate)
    }
}

/// Any of them, for whoever has not asked which.
#[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
impl HearsLate for Discipline {
    #[inline]
    fn of(discipline: &mut Discipline) -> Option<&mut Self> {
        Some(discipline)
    }

    #[inline]
    fn take_next(&mut self, now: Time) -> Option<Packet> {
        match self {
            Self::RoundRobin(queue) => queue.take_next(now),
            Self::SelfClocked(queue) => queue.take_next(now),
            Self::WeightedFair(queue) => queue.take_next(now),
            _ => {
                debug_assert!(false, "only of a discipline that may hear late");
                None
            }
        }
    }

    #[inline]
    fn waiting(&self) -> u32 {
        match self {
            Self::RoundRobin(queue) => queue.waiting(),
            Self::SelfClocked(queue) => queue.waiting(),
            Self::WeightedFair(queue) => queue.waiting(),
            _ => self.backlog().packets,
        }
    }

    #[inline]
    fn lets_pass(&mut self, now: Time, rate: BitRate) -> bool {
        match self {
            Self::RoundRobin(queue) => HearsLate::lets_pass(&mut **queue, now, rate),
            Self::WeightedFair(queue) => HearsLate::lets_pass(&mut **queue, now, rate),
            _ => false,
        }
    }

    #[inline]
    fn has_forgotten(&self, then: Time, now: Time, size: Bytes, rate: BitRate) -> bool {
        match self {
            Self::RoundRobin(queue) => queue.has_forgotten(then, now, size, rate),
            Self::WeightedFair(queue) => queue.has_forgotten(then, now, size, rate),
            _ => false,
        }
    }
}
