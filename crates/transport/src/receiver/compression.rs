//! Fewer acknowledgements beside a hole: how Linux compresses selective acknowledgements. What else is acknowledged, and when, is
//! in `receiver.rs`.
//!
//! Source: Linux's `__tcp_ack_snd_check` and `tcp_sack_new_ofo_skb` (Dumazet 2018, "tcp: add SACK compression"), read in a tree with
//! the fixed 5 % that Linux 6.18 has; `tcp_compressed_ack_kick` from memory. What a kernel was measured to do is in
//! docs/parity.md. Later kernels have a share of 0.33 in place of 0.05.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, EndpointCx, Span, Time};

use super::Receiver;

/// So many segments beside a hole are acknowledged at once before any waits: a sender that counts duplicates starts its repair
/// after as many (RFC 5681 §3.2).
const AT_ONCE: u8 = 3;

/// So many ranges are told for sure in an acknowledgement that is lost or late: before a change of any other range, what waits is
/// told.
const TOLD_FOR_SURE: usize = 2;

/// How acknowledgements of what lies beyond a hole wait for each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SackCompression {
    /// The longest wait; default 1 ms (`tcp_comp_sack_delay_ns`).
    pub delay: Span,
    /// The longest wait as a part of the round trip time that the handshake took; default 0.05. Without a handshake `delay`
    /// alone counts.
    pub rtt_share: f64,
    /// How much later the timer comes; default 100 us (`tcp_comp_sack_slack_ns`).
    pub slack: Span,
    /// So many segments wait at most; default 44 (`tcp_comp_sack_nr`).
    #[schemars(range(min = 1, max = 255))]
    pub count: u8,
}

impl Default for SackCompression {
    fn default() -> Self {
        Self { delay: Span::from_millis(1), rtt_share: 0.05, slack: Span::from_micros(100), count: 44 }
    }
}

impl SackCompression {
    /// Complains about every value that is not allowed.
    pub(super) fn check(&self, checker: &mut Checker) {
        let delay = self.delay;
        let allowed = !delay.is_zero() && delay <= Span::from_secs(1);
        checker.require(allowed, "delay", delay, "more than 0 s, at most 1 s");
        let share = self.rtt_share;
        checker.require(share > 0.0 && share <= 10.0, "rtt_share", share, "more than 0, at most 10");
        let slack = self.slack;
        checker.require(slack <= Span::from_secs(1), "slack", slack, "at most 1 s");
        checker.require(self.count > 0, "count", self.count, "1 to 255");
    }

    /// How long an acknowledgement waits.
    fn wait(&self, handshake: Option<Span>) -> Span {
        let share = handshake.map_or(self.delay, |rtt| rtt.mul_f64(self.rtt_share));
        self.delay.min(share) + self.slack
    }
}

/// What a receiver that compresses remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compressing {
    /// When the request for a connection was answered, until the next segment says how long the way there and back took.
    answered: Option<Time>,
    handshake: Option<Span>,
    /// The number that was missing when the last segment came beside a hole.
    missing: u64,
    /// So many were acknowledged at once since that number is missing.
    at_once: u8,
    /// So many wait.
    waiting: u8,
}

impl Receiver {
    /// A segment comes, with data or without: a request for a connection, which is answered now, or what follows one.
    #[cold]
    pub(super) fn time_handshake(&mut self, now: Time, is_request: bool) {
        let kept = &mut self.told.get_or_insert_default().compressing;
        if is_request {
            kept.answered = Some(now);
        } else if let Some(answered) = kept.answered.take() {
            kept.handshake = Some(now.since(answered));
        }
    }

    /// A segment comes that is about to change a range which is neither of the two that changed last: what waits leaves before.
    #[cold]
    pub(super) fn tell_before_ranges_are_forgotten(&mut self, number: u64, cx: &mut EndpointCx<'_>) {
        let waits = self.told.as_ref().is_some_and(|kept| kept.compressing.waiting > 0);
        let pending = waits && !self.ack_deadline.is_never() && !self.ack_due;
        if pending && number > self.stream.next() && !self.stream.is_among_newest(number, TOLD_FOR_SURE) {
            self.earlier = Some(Box::new(self.acknowledge(cx)));
        }
    }

    /// A segment filled a part of a hole, and so many segments became readable: where it is one, its acknowledgement is the first
    /// of those that leave at once. More than one are acknowledged by another rule unless their program must read them first.
    #[cold]
    pub(super) fn count_partial_fill(&mut self, readable: u64) {
        if self.stream.has_holes() && (readable == 1 || self.config.reading.is_some()) {
            let missing = self.stream.next();
            let kept = &mut self.told.get_or_insert_default().compressing;
            (kept.missing, kept.at_once) = (missing, 1);
        }
    }

    /// Whether the acknowledgement of a segment beside a hole waits; then the timer is armed.
    #[cold]
    pub(super) fn waits_beside_hole(&mut self, now: Time) -> bool {
        let config = &self.config;
        let Some(compression) = config.sack_compression.as_ref().filter(|_| config.max_sack_blocks > 0)
        else {
            return false;
        };
        let kept = &mut self.told.get_or_insert_default().compressing;
        // Nothing waits any more once an acknowledgement has left.
        if self.ack_deadline.is_never() {
            kept.waiting = 0;
        }
        if kept.waiting >= compression.count {
            return false;
        }
        let missing = self.stream.next();
        if kept.missing != missing {
            (kept.missing, kept.at_once) = (missing, 0);
        }
        if kept.at_once < AT_ONCE {
            kept.at_once += 1;
            return false;
        }
        kept.waiting += 1;
        if kept.waiting == 1 {
            self.ack_deadline = self.ack_deadline.min(now + compression.wait(kept.handshake));
        }
        true
    }
}
