//! Retransmissions that are lost themselves, found by what left after them and arrived. RFC 6675 leaves these to the timer; what
//! a receiver's count of bytes proves is in `arrivals.rs`, and where all losses are found by time, `rack.rs` takes its place.
//!
//! Source: RFC 8985 §6.2, for retransmissions alone: one is lost where a packet is acknowledged that left later than it by more
//! than a reordering window. That window is an eighth of a round trip, as the time threshold of RFC 9002 §6.1.2. An
//! acknowledgement of what was sent more than once counts only if it cannot be of an earlier copy: not sooner than the least
//! round trip time after the newest (RFC 8985 §6.2 step 2).
//!
//! *No further congestion event.* The lost are told to the controller, which may count them; that the window be lowered once
//! more (RFC 5681 §4.3) is no rule of RFC 8985. Only schemes that say so in their needs have this: who follows RFC 6675 to the
//! letter, as the textbook schemes here and ns-2's do, waits for the timer.

use tailback_core::{Span, Time};

use super::LossRecovery;
use super::ring::Record;
use super::spurious::Doubt;
use super::under_way::{UnderWay, is_under_way};
use crate::config::StreamConfig;

/// A packet that left less than this part of a round trip later may have overtaken (RFC 9002 §6.1.2).
const OVERTAKING: u64 = 8;

/// Retransmissions that may yet be overtaken.
#[derive(Debug, Default)]
pub(super) struct Overtaken {
    pub(super) under_way: UnderWay,
}

impl LossRecovery {
    /// What is known of retransmissions under way, where lost ones are found here.
    #[inline]
    pub(super) fn overtaken(&self) -> Option<&Overtaken> {
        self.own.as_deref()?.ranges()?.overtaken.as_ref()
    }

    /// How many retransmissions are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.overtaken().map_or(0, |overtaken| overtaken.under_way.len())
    }

    /// Believes lost what the segments newly acknowledged have overtaken.
    pub(super) fn find_overtaken(&mut self, now: Time, config: &StreamConfig) {
        if self.has_under_way() {
            let newest = self.newest_arrived(now);
            self.find_overtaken_by(now, newest, config);
        }
    }

    /// Whether a retransmission may be under way.
    #[inline]
    pub(super) fn has_under_way(&self) -> bool {
        self.overtaken().is_some_and(|overtaken| !overtaken.under_way.is_empty())
    }

    /// Believes lost what segments have overtaken of which the newest left at `newest`.
    #[inline]
    pub(super) fn find_overtaken_by(&mut self, now: Time, newest: Option<Time>, config: &StreamConfig) {
        let Some(overtaken) = self.overtaken() else { return };
        // Mostly not even the oldest of them could be overtaken, whatever became of it.
        if let (Some(newest), Some((_, oldest))) = (newest, overtaken.under_way.front())
            && oldest + now.since(newest) / OVERTAKING >= newest
        {
            return;
        }
        self.lose_overtaken(now, newest, config);
    }

    #[inline(never)]
    fn lose_overtaken(&mut self, now: Time, newest: Option<Time>, config: &StreamConfig) {
        let before = self.lost.len();
        let Some(newest) = newest else { return };
        let margin = now.since(newest) / OVERTAKING;
        while let Some((number, sent)) = self.overtaken().and_then(|overtaken| overtaken.under_way.front()) {
            let waits = is_under_way(&self.ring, number, sent);
            if waits && sent + margin >= newest {
                break;
            }
            if let Some(under_way) = self.under_way() {
                under_way.pop_front();
            }
            // What is beyond was retransmitted without being believed lost (RFC 6675 `NextSeg` rules 3 and 4).
            if waits && number < self.lost_edge {
                self.lose_by(number, Record::prove_lost);
                self.go_back_to(number);
            }
        }
        if self.lost.len() > before {
            // The repair goes on: F-RTO would hold it back.
            if matches!(self.doubt, Doubt::FirstAck | Doubt::SecondAck) {
                self.doubt = Doubt::None;
            }
            self.restart_timer(now, config);
        }
    }

    /// When the newest of the segments newly acknowledged left.
    fn newest_arrived(&self, now: Time) -> Option<Time> {
        // Before any sample nothing is sure.
        let least = self.rtt.least().unwrap_or(Span::MAX);
        let sure = |one: &&tailback_core::Acked| !one.retransmitted || now.since(one.sent_at) >= least;
        self.acked.iter().filter(sure).map(|one| one.sent_at).max()
    }
}
