//! A link that is fed: packets enter it ahead of their time, from one other link alone. How that one does it is in `feeder.rs`.

use tailback_core::{BitRate, Span};

use crate::link::{Fed, Link, Mode};

impl Link {
    /// Whether packets enter ahead of their time, which only [`Link::counters_without`] then allows for.
    #[inline(always)]
    pub fn is_fed(&self) -> bool {
        self.fed != Fed::No
    }

    /// Whether they do, and whether they are handed over so, too.
    #[inline(always)]
    pub fn fed(&self) -> Fed {
        self.fed
    }

    /// From now on packets may enter ahead of their time. Only an [open](crate::Entrance::Open) link can be fed.
    pub fn begin_to_be_fed(&mut self) {
        debug_assert_eq!(self.mode, Mode::Open);
        self.fed = Fed::Yes;
    }

    /// How long a packet takes behind its transmission, of a link where that never changes.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// The rate, likewise.
    pub fn rate(&self) -> BitRate {
        self.server.rate()
    }

    /// Whether every packet passes later than it enters, also the smallest at the highest rate.
    pub fn takes_time(&self) -> bool {
        !self.track.delay.is_zero()
    }

    /// Whether every packet that has any bytes does: at this rate one byte takes a nanosecond.
    pub fn takes_time_for_bytes(&self) -> bool {
        self.takes_time() || self.server.rate() <= BitRate::from_bits_per_sec(8_000_000_000)
    }

    /// Whether packets are also handed over at the far end ahead of their time, as nothing happens to them on the wire.
    #[inline(always)]
    pub fn hands_over(&self) -> bool {
        self.fed == Fed::HandsOver
    }

    /// From now on packets are handed over ahead of their time, or no longer. Nothing changes where they do not enter so.
    pub fn set_to_hand_over(&mut self, hands_over: bool) {
        if self.is_fed() {
            self.fed = if hands_over { Fed::HandsOver } else { Fed::Yes };
        }
    }
}
