//! Drop-tail: a packet that finds the buffer full is dropped. The ring itself is [`Fifo`](crate::Fifo)'s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{ArrivalPolicy, Backlog, Capacity, DropReason, Packet, QueueCx, Time, Verdict};

use crate::limit::Limit;
use crate::parts::{BuildCx, Info, QueueConfig};

/// First in, first out; what finds the buffer full is dropped. It has no parameter but the link's buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTailConfig {}

impl QueueConfig for DropTailConfig {
    type Queue = DropTail;

    fn info(&self) -> &'static Info {
        &Info {
            name: "drop-tail",
            family: "first in, first out",
            summary: "An arrival at a full buffer is dropped",
            source: "common practice",
        }
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        DropTail::new(cx.capacity)
    }
}

/// Drop-tail with a buffer in packets or bytes.
#[derive(Clone, Copy, Debug)]
pub struct DropTail {
    limit: Limit,
}

impl DropTail {
    /// A queue in which at most `capacity` waits.
    pub const fn new(capacity: Capacity) -> Self {
        Self { limit: Limit::new(capacity) }
    }
}

impl DropTail {
    /// The buffer's bounds, for links that check them inline.
    pub const fn limit(&self) -> Limit {
        self.limit
    }
}

impl ArrivalPolicy for DropTail {
    #[inline]
    fn admit(&mut self, _now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        if self.limit.admits(packet, backlog, cx.idle_since.is_some()) {
            Verdict::Accept
        } else {
            Verdict::Drop(DropReason::Overflow)
        }
    }
}
