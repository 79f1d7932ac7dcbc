//! A packet that is held back on the wire, in the order of its arrival. Which are, decides `impairment.rs`; what holds
//! them back is in `rough.rs`.

use tailback_core::{Packet, Time};

/// A packet held back; ordered by time, then by when it was held.
#[derive(Debug)]
pub(crate) struct Late {
    pub(crate) time: Time,
    pub(crate) order: u64,
    pub(crate) packet: Packet,
    /// It has arrived, and waits only for its batch to be taken.
    pub(crate) has_arrived: bool,
}

impl PartialEq for Late {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.order) == (other.time, other.order)
    }
}
impl Eq for Late {}
impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Late {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.order).cmp(&(other.time, other.order))
    }
}
