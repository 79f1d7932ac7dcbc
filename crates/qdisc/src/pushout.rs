//! First-in first-out queues that make room for an arrival at the cost of a packet already waiting: drop-head and
//! random drop. A packet that the empty buffer could not hold pushes nobody out. Drop-tail, which turns the arrival
//! itself away, lives in `droptail`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Backlog, DropReason, Packet, QueueCx, QueueDiscipline, Time};

use crate::limit::Limit;
use crate::line::Line;
use crate::parts::{BuildCx, Info, QueueConfig};

/// First in, first out; an arrival at a full buffer pushes the oldest waiting packet out, so that a loss shows to its
/// sender as early as can be (Lakshman, Neidhardt and Ott, "The Drop from Front Strategy in TCP and in TCP over ATM",
/// 1996). It has no parameter but the link's buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropHeadConfig {}

impl QueueConfig for DropHeadConfig {
    type Queue = PushOut;

    fn info(&self) -> &'static Info {
        &Info {
            name: "drop-head",
            family: "first in, first out",
            summary: "An arrival at a full buffer pushes the oldest waiting packet out",
            source: "Lakshman, Neidhardt and Ott, The Drop from Front Strategy in TCP and in TCP over ATM, 1996",
        }
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        PushOut::new(Victim::Oldest, cx)
    }
}

/// First in, first out; an arrival at a full buffer pushes out one of the packets, itself included, each with the
/// same chance (Mankin, "Random Drop Congestion Control", 1990). It has no parameter but the link's buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RandomDropConfig {}

impl QueueConfig for RandomDropConfig {
    type Queue = PushOut;

    fn info(&self) -> &'static Info {
        &Info {
            name: "random-drop",
            family: "first in, first out",
            summary: "An arrival at a full buffer pushes any packet out, each with the same chance",
            source: "Mankin, Random Drop Congestion Control, 1990",
        }
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        PushOut::new(Victim::Random, cx)
    }
}

/// Who must go when the buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The oldest waiting packet.
    Oldest,
    /// Any waiting packet, each with the same chance.
    Random,
}

/// A first-in first-out queue that pushes waiting packets out.
#[derive(Clone, Debug)]
pub struct PushOut {
    limit: Limit,
    victim: Victim,
    line: Line,
}

impl PushOut {
    /// An empty queue for the link that `cx` describes.
    pub fn new(victim: Victim, cx: &BuildCx) -> Self {
        Self { limit: Limit::new(cx.capacity), victim, line: Line::new() }
    }
}

impl QueueDiscipline for PushOut {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        if self.limit.admits(&packet, &self.line.backlog(), cx.idle_since.is_some()) {
            self.line.push(packet);
            return;
        }
        if !self.limit.admits(&packet, &Backlog::default(), false) {
            // What the empty buffer could not hold pushes nobody out.
            cx.drop(packet, DropReason::Overflow);
            return;
        }
        self.line.push(packet);
        // A large packet may cost several small ones.
        while self.limit.exceeded_by(&self.line.backlog()) {
            let index = match self.victim {
                Victim::Oldest => 0,
                Victim::Random => cx.rng.below(self.line.backlog().packets.into()) as usize,
            };
            let Some(packet) = self.line.remove(index) else { return };
            cx.drop(packet, DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, _now: Time, _cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.line.pop()
    }

    fn backlog(&self) -> Backlog {
        self.line.backlog()
    }
}
