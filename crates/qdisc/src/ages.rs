//! How long the oldest packet of a first-in first-out queue has waited, for a law that is told only how many packets wait. What
//! the law makes of it is its own business.

use std::collections::VecDeque;

use tailback_core::{Backlog, Time};

/// When the packets that wait came, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ages(VecDeque<Time>);

impl Ages {
    /// A packet has joined.
    pub(crate) fn join(&mut self, now: Time) {
        self.0.push_back(now);
    }

    /// When the oldest of those that wait came; the others have left.
    pub(crate) fn oldest(&mut self, backlog: &Backlog) -> Option<Time> {
        let left = self.0.len().saturating_sub(backlog.packets as usize);
        self.0.drain(..left);
        self.0.front().copied()
    }
}
