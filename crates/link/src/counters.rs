//! Exact counts of what happened at a link. They always balance; see [`LinkCounters::is_balanced`]. How a link makes them
//! is in `look.rs`.

use tailback_core::{Bytes, DropReason, Span};

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many packets.
    pub packets: u64,
    /// How many bytes on the wire.
    pub bytes: Bytes,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, size: Bytes) {
        self.packets += 1;
        // No run carries 2⁶⁴ bytes; saturating here costs every hop three instructions.
        self.bytes = Bytes::new(self.bytes.get().wrapping_add(size.get()));
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// A link's counters and state at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkCounters {
    /// Offered to the link, dropped ones included.
    pub arrived: Count,
    /// Transmissions ended.
    pub transmitted: Count,
    /// Handed over at the far end; copies made by duplication included.
    pub delivered: Count,
    /// Dropped, by [`DropReason`].
    pub dropped: [Count; DropReason::NAMES.len()],
    /// Copies made by duplication.
    pub duplicated: Count,
    /// Marks set by the discipline.
    pub marked: u64,
    /// Waiting, not counting the packet in transmission.
    pub waiting: Count,
    /// In transmission.
    pub in_service: Count,
    /// Transmitted and not yet at the far end.
    pub propagating: Count,
    /// How long the server has transmitted.
    pub busy: Span,
    /// What the link could have transmitted: its rate over time, or the opportunities of its trace. Of a governed link, at
    /// its nominal rate.
    pub capacity: Bytes,
    /// How long what waits will take to leave, if nothing overtakes it; `None` while nothing says when.
    pub drain: Option<Span>,
    /// The integral of waiting packets over time, in packet-nanoseconds: differences divided by time give means.
    pub waiting_area: u64,
}

impl LinkCounters {
    /// All drops.
    pub fn dropped_total(&self) -> Count {
        self.dropped.iter().fold(Count::default(), |sum, count| sum.plus(*count))
    }

    /// Drops for one reason.
    pub fn dropped_for(&self, reason: DropReason) -> Count {
        self.dropped[reason as usize]
    }

    /// Whether every packet that came in, or was copied, is accounted for exactly once.
    pub fn is_balanced(&self) -> bool {
        let into = self.arrived.plus(self.duplicated);
        let out = self
            .delivered
            .plus(self.dropped_total())
            .plus(self.waiting)
            .plus(self.in_service)
            .plus(self.propagating);
        into == out
    }
}
