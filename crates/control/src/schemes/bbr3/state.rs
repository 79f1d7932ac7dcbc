//! The states of BBR version 3, with the gains of each (draft-ietf-ccwg-bbr-06, §5.6.1). What leads from one to the next is
//! elsewhere: `mod.rs`, `probe_bw.rs`, `probe_rtt.rs`, `loss.rs`.

/// What BBR does; the numbers are those of the note `state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Looks for the rate by doubling.
    Startup,
    /// Empties the queue that this made.
    Drain,
    /// Sends less than arrives, so that the queue drains.
    Down,
    /// Sends at the rate.
    Cruise,
    /// Fills the pipe for a round before a probe.
    Refill,
    /// Sends more, to see whether there is more.
    Up,
    /// Empties the pipe to see its round trip time.
    ProbeRtt,
}

impl State {
    /// The gains of pacing and window (draft, §5.6.1).
    pub(super) const fn gains(self) -> (f64, f64) {
        match self {
            Self::Startup => (2.77, 2.0),
            Self::Drain => (0.5, 2.0),
            Self::Down => (0.9, 2.0),
            Self::Cruise | Self::Refill => (1.0, 2.0),
            Self::Up => (1.25, 2.25),
            Self::ProbeRtt => (1.0, 0.5),
        }
    }

    /// One of the four of `ProbeBW`.
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether it looks for more, so that loss moves no short-term bound.
    pub(super) const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}
