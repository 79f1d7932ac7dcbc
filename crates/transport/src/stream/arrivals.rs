//! Losses that a receiver's count of arrived bytes proves, without acknowledgements and without the timer. Who counts, and
//! when, is a scheme's business; what acknowledged ranges prove is in `sack.rs`.
//!
//! Now and then a packet of the scheme, the *mark*, leaves in the order of the data and is reported on with the number of
//! data bytes that had arrived before it. Source of the idea: the byte counts of Xia et al., "Accumulation-based Congestion
//! Control", §IV-B.1: "if the egress node receives fewer bytes than were transmitted, then packet loss is detected". There
//! a loss found so halves the window, and nothing is said of what is retransmitted. That it also tells *what* to retransmit is
//! an extension of ours:
//!
//! ```text
//! missing = sent before the mark - arrived before it - known lost before
//! unacked = bytes sent before the mark, neither acknowledged nor known lost
//! ```
//!
//! Where packets do not overtake each other, what is missing is among what is unacknowledged. If the two are equal, then
//! all of it is lost; if less is missing, acknowledgements are still on their way, and nothing can be said. So a window of
//! one packet, in which no duplicate acknowledgement can come, is repaired a round trip after its loss, and so is a
//! retransmission that was lost itself, for which SACK (RFC 6675) has the timer only. As counts are sums since the flow
//! began, lost marks and lost reports do no harm.
//!
//! A mark that overtakes data makes it look lost. So only what left an eighth of a round trip before the mark is retransmitted,
//! the time threshold of RFC 9002 §6.1.2 (and RFC 8985's reordering window): what is overtaken by less is never sent
//! needlessly, what is overtaken by more at most once per mark that overtakes it, as the next count finds it arrived.
//!
//! `counted_repair` in the transport's configuration switches all of it off.
//!
//! *Books.* Both sums may differ for good: by packets that the network duplicated, by losses believed too soon, by copies of
//! which nobody knows which arrived. The difference is learnt anew whenever everything sent before a mark is settled, and
//! from when something was acknowledged that had been sent more than once, and lost by the timer's opinion only, nothing is
//! concluded until then. What the network duplicates makes `missing` smaller and leaves the repair to the timer.
//!
//! *The timer's back-off* (RFC 6298 §5.5) stays as it is, although reports show that both ways are alive: it also
//! is what finds a round trip time that has grown beyond the time-out, and reports, which skip queues on the way back, say
//! nothing of that. It matters little here, since a loss waits for the timer only where a mark or its report is lost, too.

use std::cmp::Ordering;

use tailback_control::Reliability;
use tailback_core::{CongestionEvent, Recovery, Span, Time};

use super::ring::Record;
use super::spurious::Doubt;
use super::{LossRecovery, Outcome};
use crate::config::StreamConfig;

/// A packet in the order of the data that the receiver is to report on.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    /// Bytes of data that had left before it, copies included.
    sent: u64,
    /// What left before it, and how much of that is known lost, has become doubtful.
    void: bool,
}

/// The books. Sums wrap around, and so do their differences: no report can break them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals {
    mark: Mark,
    /// Bytes known lost, and how many of them left after the mark.
    known: u64,
    known_after: u64,
    /// What sent, arrived and known lost differ by where nothing is unsettled; unknown while that is doubtful.
    difference: Option<u64>,
}

impl Arrivals {
    /// A transmission of `size` bytes, of this time, is known lost.
    pub(super) fn lose(&mut self, sent_at: Time, size: u64) {
        self.known = self.known.wrapping_add(size);
        match sent_at.cmp(&self.mark.at) {
            Ordering::Less => {}
            // Before the mark or behind it? The next one will tell.
            Ordering::Equal => self.mark.void = true,
            Ordering::Greater => self.known_after += size,
        }
    }

    /// What was sent more than once is acknowledged, and it is not known which of it arrived. What is lost of it can be
    /// known at the next mark.
    pub(super) fn doubt(&mut self) {
        self.difference = None;
        self.mark.void = true;
    }
}

/// What left less than this part of a round trip before a mark may have been overtaken by it (RFC 9002 §6.1.2).
const OVERTAKING: u64 = 8;

impl LossRecovery {
    /// A mark leaves, behind `sent` bytes of data since the flow began. Counts add to selective acknowledgements; with other
    /// kinds of recovery they say nothing.
    pub(crate) fn mark(&mut self, now: Time, sent: u64) {
        let mut mark = Mark { at: now, sent, void: false };
        if let Some(arrivals) = &mut self.arrivals {
            // Marks are told apart by their times: of several at one time none says anything, if data left between any two.
            let before = arrivals.mark;
            mark.void = before.at == now && (before.void || before.sent != sent);
            arrivals.mark = mark;
            arrivals.known_after = 0;
        } else if self.mode == Reliability::Sack {
            let arrivals = Arrivals { mark, known: 0, known_after: 0, difference: None };
            self.arrivals = Some(Box::new(arrivals));
        }
    }

    /// A report echoes a packet that left at `echo`: so many bytes of data had arrived before it. If that packet was the
    /// mark, what this proves lost, if anything, is in the lists.
    pub(crate) fn on_count(
        &mut self,
        now: Time,
        echo: Time,
        arrived: u64,
        config: &StreamConfig,
    ) -> Option<Outcome> {
        let mark = self.arrivals.as_ref()?.mark;
        if mark.at != echo || mark.void {
            return None;
        }
        let unacked = self.unacked(mark.at);
        let arrivals = self.arrivals.as_mut()?;
        let known = arrivals.known.wrapping_sub(arrivals.known_after);
        let difference = mark.sent.wrapping_sub(arrived).wrapping_sub(known);
        if unacked == 0 {
            arrivals.difference = Some(difference);
            return None;
        }
        let missing = difference.wrapping_sub(arrivals.difference?);
        if missing != unacked || self.state == Recovery::Open && !self.may_begin(config) {
            return None;
        }
        self.clear_lists();
        let outstanding = self.outstanding.saturating_sub(u64::from(self.limited));
        let again = self.lose_before(mark.at, now.since(mark.at) / OVERTAKING);
        if self.lost.is_empty() {
            return None;
        }
        let event = self.repair_counted(again, config);
        self.silence_alarm(now);
        self.restart_timer(now, config);
        Some(Outcome { outstanding, event, ..Outcome::default() })
    }

    /// Bytes in the network, by the records, that left at `at` or before.
    fn unacked(&self, at: Time) -> u64 {
        let mut sum = 0;
        let mut number = self.ring.first();
        while number < self.ring.end() {
            let record = self.ring.get(number);
            if record.is_sacked() {
                number = record.skip_to().max(number + 1);
                continue;
            }
            if record.sent_at() <= at {
                sum += record.in_network();
            } else if record.transmissions == 1 {
                // New data leaves in the order of its numbers: nothing beyond it is older.
                break;
            }
            number += 1;
        }
        sum
    }

    /// Everything unacknowledged that left `margin` before `at`, or earlier, is lost; whether some of it had been retransmitted.
    fn lose_before(&mut self, at: Time, margin: Span) -> bool {
        let (first, end) = (self.ring.first(), self.ring.end());
        let mut again = false;
        let mut number = first;
        while number < end {
            let record = *self.ring.get(number);
            let old = record.sent_at() <= at && at.since(record.sent_at()) >= margin;
            if record.is_sacked() {
                self.sacked_above -= u32::from(number >= self.lost_edge);
            } else if record.in_network() > 0 && old {
                again |= record.transmissions > 1;
                self.lose_by(number, Record::prove_lost);
                self.next_retransmit = self.next_retransmit.min(number);
            } else if number >= self.lost_edge && record.in_network() > 0 {
                break;
            }
            number += 1;
            self.lost_edge = self.lost_edge.max(number);
        }
        again
    }

    /// Begins an episode, or goes on with the one at hand. The loss of a retransmission counts once more (RFC 5681 §4.3).
    fn repair_counted(&mut self, again: bool, config: &StreamConfig) -> Option<CongestionEvent> {
        if matches!(self.doubt, Doubt::FirstAck | Doubt::SecondAck) {
            self.doubt = Doubt::None;
        }
        if self.state == Recovery::Open {
            let event = self.begin_episode();
            self.doubt_loss(config);
            return event;
        }
        let counts = again || self.state == Recovery::Timeout;
        if counts {
            self.note_reduction();
        }
        counts.then_some(CongestionEvent::Loss)
    }
}
