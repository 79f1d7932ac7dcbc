//! How a link changes while running: steps of rate and delay. The link's reaction is `stage.rs`'s business.

use tailback_core::{BitRate, Span, Time};

/// A step of a link's rate or delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// The new rate; zero stops the link until a later change.
    pub rate: Option<BitRate>,
    /// The new propagation delay. Packets do not overtake each other when it falls.
    pub delay: Option<Span>,
}
