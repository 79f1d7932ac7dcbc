//! The trait of what lets packets leave a link in place of a rate. What waits and in which order is a queue discipline's
//! business, what a directive says its controller's.

use std::fmt;

use crate::controller::{Burst, Gate};
use crate::rng::Stream;
use crate::time::Time;
use crate::units::{BitRate, Bytes};

/// What a link may let go, as the edge of an aggregate allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// How many bytes may have left the link in all, since the beginning; `None` for no limit. What is still on the way is
    /// known to the edge only, so a window is told as this sum.
    pub total: Option<Bytes>,
    /// At most this rate; `None` for no limit.
    pub rate: Option<BitRate>,
    /// The bucket that meters `rate`.
    pub burst: Burst,
    /// Whether anything may leave at all.
    pub gate: Gate,
}

/// Lets packets leave a link, as an aggregate's edge allows.
pub trait Governor: fmt::Debug {
    /// Obeys this allowance from now on.
    fn allow(&mut self, now: Time, allowance: &Allowance, rng: &mut Stream);

    /// Whether a packet of `size` bytes leaves now.
    ///
    /// # Errors
    /// When to ask again; [`Time::NEVER`] if not before another allowance.
    fn ask(&mut self, now: Time, size: Bytes, rng: &mut Stream) -> Result<(), Time>;
}
