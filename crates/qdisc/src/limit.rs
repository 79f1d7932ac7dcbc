//! The size of a buffer as a pair of bounds that one comparison each checks. Which packet must go is not decided here.

use tailback_core::{Backlog, Bytes, Capacity, Packet};

/// How much may wait: both bounds hold at once. The packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    packets: u32,
    bytes: Bytes,
}

impl Limit {
    /// No bound but [`Capacity::MOST_PACKETS`], which keeps a queue that nothing drains from taking all memory.
    pub const UNLIMITED: Self = Self { packets: Capacity::MOST_PACKETS, bytes: Bytes::MAX };

    /// The bounds of a resolved capacity.
    ///
    /// A capacity in bandwidth-delay products must have been resolved by the caller, who knows the path; here it
    /// counts as unlimited.
    pub const fn new(capacity: Capacity) -> Self {
        match capacity {
            Capacity::Packets(packets) => Self { packets, bytes: Bytes::MAX },
            Capacity::Bytes(bytes) => Self { bytes, ..Self::UNLIMITED },
            Capacity::MilliBdp(_) | Capacity::Unlimited => Self::UNLIMITED,
        }
    }

    /// Whether there is no bound to speak of.
    pub const fn is_unlimited(&self) -> bool {
        self.packets >= Capacity::MOST_PACKETS && self.bytes.get() == u64::MAX
    }

    /// Whether `packet` may join `backlog`. At an idle server with nothing waiting it goes straight into
    /// transmission and needs no room.
    #[inline]
    pub fn admits(&self, packet: &Packet, backlog: &Backlog, idle: bool) -> bool {
        (backlog.packets < self.packets && backlog.bytes + packet.size() <= self.bytes)
            || (idle && backlog.packets == 0)
    }

    /// Whether `backlog` is more than may wait.
    #[inline]
    pub fn exceeded_by(&self, backlog: &Backlog) -> bool {
        backlog.packets > self.packets || backlog.bytes > self.bytes
    }

    /// Whether at most half of what may wait does.
    #[inline]
    pub(crate) fn is_half_empty(&self, backlog: &Backlog) -> bool {
        backlog.packets <= self.packets / 2 && backlog.bytes <= self.bytes / 2
    }
}
