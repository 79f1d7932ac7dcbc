//! The straight ways through loss recovery: the next number is acknowledged while nothing is missing, or a segment more
//! beyond a hole, and new data leaves. They do what `ack.rs`, `choice.rs` and `mod.rs` do with the same input, without asking
//! what they ask; a property test holds them equal (`crates/transport/tests/straight.rs`). When it may be taken is decided in
//! `sender/straight.rs`.

use tailback_control::Reliability;
use tailback_core::{Acked, Bytes, Echoes, PairPosition, Ranges, Recovery, SeqRange, Time};

use super::ring::Record;
use super::spurious::Doubt;
use super::{LossRecovery, Own};
use crate::config::{RttSampling, StreamConfig};
use crate::teller::Next;

impl LossRecovery {
    /// Whether nothing unusual is asked for, nothing is in doubt, and nothing must leave at once. This stays so as long as the
    /// functions here are all that happens, and [`LossRecovery::on_beyond`] tells of no event.
    pub(crate) fn is_usual(&self, config: &StreamConfig) -> bool {
        config.rtt_sampling == RttSampling::EveryAck
            && self.own.as_deref().is_none_or(Own::may_go_straight)
            && !self.rtt.is_directed()
            && self.inflation == 0
            && !self.forced
            && self.doubt == Doubt::None
    }

    /// Fetches what an acknowledgement of the oldest segment and a segment that leaves touch of the records.
    #[inline(always)]
    pub(crate) fn fetch_records(&self) {
        self.ring.fetch_ends();
    }

    /// Whether ranges tell what is missing, and the window alone how much may leave beside a hole.
    pub(crate) fn counts_ranges(&self) -> bool {
        self.mode == Reliability::Sack && self.proportional().is_none()
    }

    /// Whether nothing is missing or under repair, where all is usual. This stays so as long as [`LossRecovery::on_next`] and
    /// [`LossRecovery::sent_next`] are all that happens.
    pub(crate) fn is_calm(&self) -> bool {
        let first = self.ring.first();
        let nothing_missing = self.state == Recovery::Open
            && self.sacked == 0
            && self.high_sacked <= first
            && self.lost_edge <= first
            && self.next_retransmit <= first;
        let is_calm = nothing_missing && self.dup_acks == 0 && self.limited == 0;
        debug_assert!(
            !is_calm || self.consecutive == 0,
            "an acknowledgement that advances ends a time-out's repair"
        );
        is_calm
    }

    /// Everything below `number` is acknowledged; nothing happens and `None` is given unless that is the oldest segment
    /// alone, and that was sent once.
    #[inline(always)]
    pub(crate) fn on_next(&mut self, now: Time, number: u64, config: &StreamConfig) -> Option<Next> {
        let first = self.ring.first();
        if number.wrapping_sub(1) != first {
            return None;
        }
        let record = self.ring.pop_if(Record::is_plain)?;
        let size = u64::from(record.size);
        let outstanding = self.outstanding;
        self.outstanding -= size;
        self.pipe -= size;
        self.lost_edge = number;
        self.next_retransmit = number;
        self.high_sacked = number;
        let sent_at = record.sent_at();
        let rtt = self.rtt.sample(now, sent_at, &config.rto);
        if self.ring.is_empty() {
            self.deadline = Time::NEVER;
        } else {
            self.restart_timer(now, config);
        }
        self.ring.tidy();
        let acked = Acked {
            number: first,
            size: Bytes::new(size),
            sent_at,
            retransmitted: false,
            pair: record.pair(),
            tag: record.tag,
        };
        Some(Next { acked, outstanding, rtt, event: None, one_way: None })
    }

    /// The oldest segment is still missing, and ranges tell of one segment more, sent once, which begins a range or ends the
    /// one that is named first: `next` then says what that meant. Nothing happens, and `false` is given, if they tell of
    /// anything else.
    pub(crate) fn on_beyond(
        &mut self,
        now: Time,
        number: u64,
        said: &(impl Ranges + ?Sized),
        config: &StreamConfig,
        next: &mut Next,
    ) -> bool {
        let mut ranges = said.ranges();
        let Some(newest) = ranges.next() else { return false };
        let is_over = self.state != Recovery::Open && number >= self.recover;
        if number != self.ring.first() || is_over {
            return false;
        }
        let arrived = newest.end.wrapping_sub(1);
        if self.known_up_to(&newest) != Some(arrived) || !self.ring.get(arrived).is_plain() {
            return false;
        }
        for range in ranges {
            if self.known_up_to(&range).is_none_or(|known| known < range.end) {
                return false;
            }
        }
        self.lost.clear();
        next.outstanding = self.outstanding.saturating_sub(u64::from(self.limited));
        next.acked = self.take_beyond(newest.start, arrived);
        let sent_at = next.acked.sent_at;
        next.rtt = self.rtt.sample(now, sent_at, &config.rto);
        let before = self.state;
        let mut event = self.recover_by_ranges(0, true, config);
        if self.own.is_some() {
            if self.has_under_way() {
                self.find_overtaken_by(now, Some(sent_at), config);
            }
            event = self.begin_if_lost(false, config).or(event);
        }
        if self.state == Recovery::Fast && before != Recovery::Fast {
            self.restart_timer(now, config);
        }
        next.event = event;
        true
    }

    /// Up to where a range is known to have arrived, from its start on; `None` unless all of it is outstanding.
    #[inline(always)]
    fn known_up_to(&self, range: &SeqRange) -> Option<u64> {
        if range.start < self.ring.first() || range.start >= range.end || range.end > self.ring.end() {
            return None;
        }
        let head = self.ring.get(range.start);
        Some(if head.is_sacked() { head.skip_to() } else { range.start })
    }

    /// A segment sent once has arrived beyond a hole: the last one of a range that begins at `start`.
    #[inline(always)]
    fn take_beyond(&mut self, start: u64, number: u64) -> Acked {
        let end = number + 1;
        let record = self.ring.get_mut(number);
        let size = u64::from(record.size);
        let acked = Acked {
            number,
            size: Bytes::new(size),
            sent_at: record.sent_at(),
            retransmitted: false,
            pair: record.pair(),
            tag: record.tag,
        };
        record.sack(end);
        self.pipe -= size;
        self.sacked += 1;
        self.sacked_above += u32::from(number >= self.lost_edge);
        self.high_sacked = self.high_sacked.max(end);
        self.ring.get_mut(start).set_skip_to(end);
        acked
    }

    /// Whether something is to be retransmitted now.
    #[inline]
    pub(crate) fn has_repairs(&mut self) -> bool {
        // What lies beyond the lost is not retransmitted here: the general way settles before it looks there.
        if self.state == Recovery::Open || self.next_retransmit >= self.lost_edge {
            return false;
        }
        self.settle();
        self.next_retransmit < self.lost_edge
    }

    /// New data of `size` leaves, with the controller's note; its number.
    #[inline(always)]
    pub(crate) fn sent_next(&mut self, now: Time, size: u16, tag: u32, config: &StreamConfig) -> u64 {
        let number = self.ring.end();
        self.last_sent = now;
        self.ring.push(Record::new(now, size, tag, PairPosition::Single));
        self.outstanding += u64::from(size);
        self.pipe += u64::from(size);
        if self.dup_acks > 0 && self.state == Recovery::Open {
            self.limited = self.limited.saturating_add(u32::from(size));
        }
        if self.deadline.is_never() {
            self.restart_timer(now, config);
        }
        number
    }

    /// Whether a receiver's count of marks is no news.
    pub(crate) fn knows_of(&self, marks: Echoes) -> bool {
        marks == Echoes::NONE || self.marks.as_deref() == Some(&marks)
    }

    /// Bytes in the network by the records.
    #[inline(always)]
    pub(crate) fn pipe(&self) -> u64 {
        self.pipe
    }
}
